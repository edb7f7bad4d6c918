package lint

import (
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// shadowedRule reports rules all of whose packets an earlier rule of the chain
// has already accepted, dropped or sent elsewhere.
func shadowedRule(p *pass) {
	p.chains(func(ch *ir.Chain) {
		for _, c := range p.coverings(ch) {
			if !c.same {
				p.report(c.rule.Span, "this rule has no effect: an earlier rule decides about all its packets",
					diag.Note{Span: c.by.Span, Message: "this rule matches them first"})
			}
		}
	})
}
