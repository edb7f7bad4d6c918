package lint

import (
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// duplicateRule reports rules that repeat an earlier rule of the chain: those
// with a final verdict anywhere in it, others where nothing between them can
// make a difference.
func duplicateRule(p *pass) {
	p.chains(func(ch *ir.Chain) {
		for _, c := range p.coverings(ch) {
			if c.same {
				p.duplicate(c.rule, c.by)
			}
		}
		var before *ir.Rule
		for _, r := range p.reachable(ch) {
			if before != nil && p.repeats(before, r) {
				p.duplicate(r, before)
			}
			before = r
		}
	})
}

func (p *pass) duplicate(r, first *ir.Rule) {
	p.report(r.Span, "this rule repeats an earlier one", diag.Note{Span: first.Span, Message: "this is the first"})
}

// repeats tells whether b directly after a does once more what a did.
func (p *pass) repeats(ra, rb *ir.Rule) bool {
	a, b := p.rule(ra), p.rule(rb)
	return !a.terminal && !b.terminal && a.described && b.described &&
		a.repeatable && b.repeatable && a.assigns.none() && a.effect == b.effect && a.effect != "" &&
		covers(a, b) && covers(b, a)
}
