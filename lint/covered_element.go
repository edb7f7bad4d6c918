package lint

import (
	"bytes"
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// maxPairs bounds the comparisons of concatenated elements in one set.
const maxPairs = 1 << 20

// coveredElement reports elements of concatenated ranges that another element
// of the set contains: lookups find whatever they find without it.
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
			p.report(b.Span, "this element has no effect: another one covers it",
				diag.Note{Span: a.Span, Message: fmt.Sprintf("this element of the %s covers it", setWord(s))})
			break
		}
	}
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
