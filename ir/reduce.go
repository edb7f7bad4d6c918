package ir

import (
	"sort"

	"github.com/nftc/nftc/compile/bytecode"
)

// Reduced returns the rule's statements as nft sends them: comparisons of
// neighbouring header fields are merged into one, and `meta protocol` tests
// that the family implies are left out. The rule itself is not changed; a
// merged Match lists what it was made of in Merged, in the order of the fields
// (rule_postprocess).
func (r *Rule) Reduced(f bytecode.Family) []Stmt {
	out := make([]Stmt, 0, len(r.Stmts))
	var run []int // indexes in out of comparisons that may be merged
	var gone []bool
	drop := -1 // a superfluous statement; it goes when another one follows
	flush := func() {
		if len(run) > 1 {
			mergeRun(out, gone, run)
		}
		run = run[:0]
	}
	for _, s := range r.Stmts {
		if drop >= 0 {
			gone[drop] = true
			drop = -1
		}
		out = append(out, s)
		gone = append(gone, false)
		m, ok := s.(*Match)
		if !ok {
			flush()
			continue
		}
		v, ok := m.Y.(*Value)
		if !ok || m.Op != MatchEq && m.Op != MatchImplicit || v.Wildcard {
			continue
		}
		switch x := m.X.(type) {
		case *Payload:
			run = append(run, len(out)-1)
		case *Meta:
			if n := bytesUint(v.Bytes); x.Key == bytecode.MetaProtocol && x.Inner == nil &&
				(f == bytecode.FamilyIP && n == 0x0800 || f == bytecode.FamilyIP6 && n == 0x86dd) {
				drop = len(out) - 1
			}
		}
	}
	flush()
	kept := out[:0]
	for i, s := range out {
		if !gone[i] {
			kept = append(kept, s)
		}
	}
	return kept
}

// mergeRun merges neighbours among comparisons (payload_do_merge). Two merge
// into the place of the first field, unless the second tells the next protocol:
// then into that one's place, so that what depends on it stays behind.
func mergeRun(out []Stmt, gone []bool, run []int) {
	at := append([]int(nil), run...)
	field := func(i int) *Payload { return out[i].(*Match).X.(*Payload) }
	sort.SliceStable(at, func(a, b int) bool {
		x, y := field(at[a]), field(at[b])
		if x.Base != y.Base {
			return x.Base < y.Base
		}
		return x.Offset < y.Offset
	})
	last := at[0]
	for _, this := range at[1:] {
		a, b := out[last].(*Match), out[this].(*Match)
		x, y := a.X.(*Payload), b.X.(*Payload)
		if !mergeable(x, y) {
			last = this
			continue
		}
		keep, remove := last, this
		if y.Field != nil && y.Field.protocol && !y.Raw {
			keep, remove = this, last
		}
		out[keep] = joinMatches(out[keep].(*Match), a, b)
		gone[remove] = true
		last = keep
	}
}

// mergeable tells whether two loads may become one (payload_can_merge): the
// kernel's fast path takes up to four bytes, so larger ones pay only for link
// headers and where one is larger already.
func mergeable(x, y *Payload) bool {
	if x.Inner != y.Inner || x.Base != y.Base || x.Offset+x.Bits != y.Offset {
		return false
	}
	if x.Offset%8 != 0 || x.Bits%8 != 0 || y.Offset%8 != 0 || y.Bits%8 != 0 {
		return false
	}
	switch total := x.Bits + y.Bits; {
	case total > maxRegisterBits:
		return false
	case total <= 32, x.Base == bytecode.BaseLink:
		return true
	}
	return x.Bits > 32 || y.Bits > 32
}

// joinMatches makes one comparison of two neighbours; keep gives the place.
func joinMatches(keep, a, b *Match) *Match {
	x, y := a.X.(*Payload), b.X.(*Payload)
	p := *x
	p.Bits += y.Bits
	p.Type, p.Order = TypeInvalid, OrderBig
	p.Proto, p.Field, p.Raw = nil, nil, true
	v := &Value{Attr: p.Attr}
	for _, m := range [...]*Match{a, b} {
		o := m.Y.(*Value)
		v.Bytes = append(v.Bytes, resize(o.Bytes, (m.X.Common().Bits+7)/8)...)
	}
	m := &Match{StmtSpan: StmtSpan{a.Span.Join(b.Span)}, X: &p, Op: keep.Op, Y: v, Implicit: a.Implicit && b.Implicit}
	for _, o := range [...]*Match{a, b} {
		if o.Merged != nil {
			m.Merged = append(m.Merged, o.Merged...)
		} else {
			m.Merged = append(m.Merged, o)
		}
	}
	return m
}
