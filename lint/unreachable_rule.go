package lint

import (
	"fmt"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// unreachableRule reports the first rule behind one that ends the chain for
// every packet.
func unreachableRule(p *pass) {
	p.chains(func(ch *ir.Chain) {
		for i, r := range ch.Rules[:max(len(ch.Rules)-1, 0)] {
			a := p.rule(r)
			if !a.unconditional() || !a.terminal && !p.jumpEnds(ch.Table, r, 0) {
				continue
			}
			msg := "no packet reaches this rule"
			if more := len(ch.Rules) - i - 2; more > 0 {
				msg += fmt.Sprintf(" and the %d after it in the chain", more)
			}
			why := "every packet ends here"
			if !a.terminal {
				why = "every packet ends in this chain, which never returns"
			}
			p.report(ch.Rules[i+1].Span, msg, diag.Note{Span: r.Span, Message: why})
			return
		}
	})
}

// reachable are the rules of a chain up to the one that ends it for every
// packet.
func (p *pass) reachable(ch *ir.Chain) []*ir.Rule {
	for i, r := range ch.Rules {
		if a := p.rule(r); a.unconditional() && (a.terminal || p.jumpEnds(ch.Table, r, 0)) {
			return ch.Rules[:i+1]
		}
	}
	return ch.Rules
}
