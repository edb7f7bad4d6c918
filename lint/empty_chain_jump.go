package lint

import (
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// emptyChainJump reports jumps to chains without rules, which do nothing.
func emptyChainJump(p *pass) {
	p.chains(func(ch *ir.Chain) {
		for _, r := range ch.Rules {
			for _, s := range r.Stmts {
				verdicts(s, func(v *ir.Verdict) {
					p.emptyTarget(ch.Table, s, v)
				})
			}
		}
	})
}

func (p *pass) emptyTarget(t *ir.Table, s ir.Stmt, v *ir.Verdict) {
	if v.Code != bytecode.Jump && v.Code != bytecode.Goto {
		return
	}
	at := v.Span
	if !at.Valid() {
		at = s.Pos()
	}
	if v.Anon != nil {
		if len(v.Anon.Rules) == 0 {
			p.report(at, fmt.Sprintf("%s to a chain without rules", v.Code))
		}
		return
	}
	to := p.uses.byName[chainName{t, v.ChainName}]
	if to != nil && len(to.Rules) == 0 {
		p.report(at, fmt.Sprintf("%s to chain %q, which has no rules", v.Code, v.ChainName),
			diag.Note{Span: to.Span, Message: "the chain is defined here"})
	}
}
