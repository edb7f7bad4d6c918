package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

var cmpOps = map[ir.MatchOp]bytecode.CmpOp{
	ir.MatchImplicit: bytecode.CmpEq, ir.MatchEq: bytecode.CmpEq, ir.MatchNeq: bytecode.CmpNeq,
	ir.MatchLt: bytecode.CmpLt, ir.MatchGt: bytecode.CmpGt, ir.MatchLte: bytecode.CmpLte, ir.MatchGte: bytecode.CmpGte,
}

// match compiles a comparison (netlink_gen_relational).
func (g *gen) match(s *ir.Match) {
	reg := bytecode.SlotRegister(0)
	switch y := s.Y.(type) {
	case *ir.RangeValue:
		g.expr(s, s.X, 0)
		g.emit(s, &bytecode.Range{Neg: s.Op == ir.MatchNeq, Src: reg, From: constant(y.From), To: constant(y.To)})
	case *ir.SetRef:
		g.expr(s, s.X, 0)
		g.emit(s, &bytecode.Lookup{Src: reg, Set: y.Set.Name, SetID: y.Set.ID, Invert: s.Op == ir.MatchNeq})
	case *ir.Prefix:
		g.prefix(s, y)
	case *ir.Value:
		switch {
		case y.Wildcard:
			g.expr(s, shortened(s.X, len(y.Bytes)*8), 0)
			g.emit(s, &bytecode.Cmp{Op: cmpOps[s.Op], Src: reg, Data: bytecode.Data{Bytes: y.Bytes}})
		case (s.Op == ir.MatchImplicit || s.Op == ir.MatchNeg) && y.Type.IsBitmask():
			g.flags(s, y)
		default:
			g.expr(s, s.X, 0)
			g.emit(s, &bytecode.Cmp{Op: cmpOps[s.Op], Src: reg, Data: constant(y)})
		}
	}
}

// flags compiles the test that any flag of a mask is set, or with Neg that none
// is (netlink_gen_flagcmp). Behind a mask of its own it is a plain comparison.
func (g *gen) flags(s *ir.Match, y *ir.Value) {
	reg := bytecode.SlotRegister(0)
	g.expr(s, s.X, 0)
	if _, masked := s.X.(*ir.Binary); masked {
		g.emit(s, &bytecode.Cmp{Op: bytecode.CmpEq, Src: reg, Data: constant(y)})
		return
	}
	n := byteLen(s.X.Common().Bits)
	zero := number(nil, n, y.Order)
	g.emit(s, &bytecode.Bitwise{Op: bytecode.BitwiseMaskXor, Src: reg, Dst: reg, Len: uint32(n), Mask: constant(y), Xor: zero})
	op := bytecode.CmpNeq
	if s.Op == ir.MatchNeg {
		op = bytecode.CmpEq
	}
	g.emit(s, &bytecode.Cmp{Op: op, Src: reg, Data: zero})
}

// prefix compiles a comparison with a prefix: a prefix of whole bytes compares
// only those, others need a mask.
func (g *gen) prefix(s *ir.Match, y *ir.Prefix) {
	reg := bytecode.SlotRegister(0)
	want := constant(y.X)
	if y.Order == ir.OrderBig && y.Len > 0 && y.Len%8 == 0 {
		g.expr(s, shortened(s.X, y.Len), 0)
		want.Bytes = want.Bytes[:min(y.Len/8, len(want.Bytes))]
		g.emit(s, &bytecode.Cmp{Op: cmpOps[s.Op], Src: reg, Data: want})
		return
	}
	g.expr(s, s.X, 0)
	n := byteLen(y.Bits)
	mask := make([]byte, n)
	for i := y.Bits - y.Len; i < y.Bits; i++ {
		mask[n-1-i/8] |= 1 << (i % 8)
	}
	g.emit(s, &bytecode.Bitwise{
		Op: bytecode.BitwiseMaskXor, Src: reg, Dst: reg, Len: uint32(n), Mask: number(mask, n, y.Order), Xor: number(nil, n, y.Order),
	})
	g.emit(s, &bytecode.Cmp{Op: cmpOps[s.Op], Src: reg, Data: want})
}

// shortened is an expression that loads only the first bits.
func shortened(x ir.Expr, bits int) ir.Expr {
	switch x := x.(type) {
	case *ir.Payload:
		c := *x
		c.Bits = bits
		return &c
	case *ir.Exthdr:
		c := *x
		c.Bits = bits
		return &c
	case *ir.Binary:
		c := *x
		c.Bits = bits
		return &c
	}
	return x
}
