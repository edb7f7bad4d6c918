package lint

import (
	"bytes"
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// maxPairs bounds the comparisons of elements in one set.
const maxPairs = 1 << 20

// coveredElement reports elements that another element of the set contains, or
// that stand there twice: lookups find whatever they find without them. What
// auto-merge joins in a named set was meant to be joined.
func coveredElement(p *pass) {
	seen := make(map[*ir.Set]bool)
	visit := func(s *ir.Set) {
		if s != nil && !seen[s] {
			seen[s] = true
			p.coveredIn(s)
		}
	}
	for _, t := range p.rs.Tables {
		for _, s := range t.Sets {
			visit(s)
		}
	}
	p.chains(func(ch *ir.Chain) {
		for _, r := range ch.Rules {
			for _, s := range r.Stmts {
				for _, e := range operands(s) {
					walk(e, func(e ir.Expr) { visit(setOf(e)) })
				}
			}
		}
	})
}

func (p *pass) coveredIn(s *ir.Set) {
	for _, c := range s.Covered {
		p.reportCovered(s, c.Span, c.By)
	}
	if s.Flags&bytecode.SetConcat == 0 || s.Flags&bytecode.SetInterval == 0 || s.Key == nil {
		return
	}
	n := len(s.Elements)
	if n*n > maxPairs {
		return
	}
	for i := range s.Elements {
		for j := range s.Elements {
			a, b := &s.Elements[i], &s.Elements[j]
			if i == j || !contains(s, a, b) || contains(s, b, a) && i > j {
				continue
			}
			p.reportCovered(s, b.Span, a.Span)
			break
		}
	}
}

func (p *pass) reportCovered(s *ir.Set, sp, by diag.Span) {
	p.report(sp, "this element has no effect: another one covers it",
		diag.Note{Span: by, Message: fmt.Sprintf("this element of the %s covers it", setWord(s))})
}

func setWord(s *ir.Set) string {
	if s.DataKind == bytecode.DataNone {
		return "set"
	}
	return "map"
}

// contains tells whether element a contains b, field by field.
func contains(s *ir.Set, a, b *ir.Element) bool {
	if a.Catchall || b.Catchall || len(a.From) != len(b.From) {
		return false
	}
	aTo, bTo := a.To, b.To
	if aTo == nil {
		aTo = a.From
	}
	if bTo == nil {
		bTo = b.From
	}
	at := 0
	for _, part := range s.Key.Parts {
		n := (part.Bits + 7) / 8
		if at+n > len(a.From) || at+n > len(aTo) || at+n > len(bTo) {
			return false
		}
		if bytes.Compare(a.From[at:at+n], b.From[at:at+n]) > 0 || bytes.Compare(aTo[at:at+n], bTo[at:at+n]) < 0 {
			return false
		}
		at += (n + 3) &^ 3
	}
	return at > 0
}
