package lint

import (
	"bytes"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// enumerable is the widest field whose conditions are worked out by trying
// every value.
const enumerable = 8

// unwrap takes conversions of byte order off a field: constants are written
// most significant byte first whatever the order.
func unwrap(e ir.Expr) ir.Expr {
	for {
		b, ok := e.(*ir.Byteorder)
		if !ok {
			return e
		}
		e = b.X
	}
}

// baseField finds the one field that an expression is computed from. A part of
// a byte is taken out by operators; without them it is not understood.
func baseField(e ir.Expr) (f field, bits int, ok bool) {
	e = unwrap(e)
	computed := false
	for {
		b, isBinary := e.(*ir.Binary)
		if !isBinary {
			break
		}
		e, computed = unwrap(b.X), true
	}
	f, bits, whole, ok := loadOf(e)
	return f, bits, ok && (whole || computed)
}

// condition turns a match into the values of a field for which it holds. ok is
// false when it is not a condition on one field, or not understood.
func condition(m *ir.Match) (f field, bits int, vs values, ok bool) {
	f, bits, ok = baseField(m.X)
	if !ok || m.Y == nil || bits <= 0 {
		return f, bits, nil, false
	}
	if v, ok := equals(m, f, bits); ok {
		return f, bits, v, true
	}
	if f == fieldCTState || bits <= enumerable {
		if vs, ok := enumerate(m, f, bits); ok {
			return f, bits, vs, true
		}
	}
	x := unwrap(m.X)
	if b, isBinary := x.(*ir.Binary); isBinary {
		vs, ok = maskedPrefix(m, b, bits)
		return f, bits, vs, ok
	}
	vs, ok = constValues(m.Y, bits)
	if !ok || len(vs) == 0 && !isSet(m.Y) {
		return f, bits, nil, false
	}
	switch m.Op {
	case ir.MatchEq, ir.MatchImplicit:
		if m.Op == ir.MatchImplicit && isBitmask(m.X.Common().Type) && !isSet(m.Y) {
			return f, bits, nil, false
		}
		return f, bits, vs, true
	case ir.MatchNeq:
		return f, bits, vs.complement(bits), true
	}
	v, single := vs.one()
	if !single {
		return f, bits, nil, false
	}
	var iv interval
	ok = true
	switch m.Op {
	case ir.MatchLt:
		iv.lo = bottom(bits)
		iv.hi, ok = predecessor(v)
	case ir.MatchLte:
		iv = interval{bottom(bits), v}
	case ir.MatchGt:
		iv.hi = top(bits)
		iv.lo, ok = successor(v)
	case ir.MatchGte:
		iv = interval{v, top(bits)}
	default:
		return f, bits, nil, false
	}
	if !ok {
		return f, bits, nil, true // nothing is below zero or above the top
	}
	return f, bits, newValues([]interval{iv}), true
}

// equals is the frequent case of condition: a whole field and one value of it.
func equals(m *ir.Match, f field, bits int) (values, bool) {
	v, ok := m.Y.(*ir.Value)
	if !ok || v.Wildcard || len(v.Bytes)*8 != bits || f == fieldCTState || m.X != unwrap(m.X) ||
		m.Op != ir.MatchEq && (m.Op != ir.MatchImplicit || isBitmask(m.X.Common().Type)) || !isPlain(m.X) {
		return nil, false
	}
	return single(v.Bytes), true
}

func isSet(e ir.Expr) bool { _, ok := e.(*ir.SetRef); return ok }

func isBitmask(t *ir.Datatype) bool {
	for ; t != nil; t = t.Base {
		if t.Name == "bitmask" {
			return true
		}
	}
	return false
}

// maskedPrefix handles `field & mask == value` where the mask is a prefix.
func maskedPrefix(m *ir.Match, b *ir.Binary, bits int) (values, bool) {
	mask, ok1 := b.Y.(*ir.Value)
	val, ok2 := m.Y.(*ir.Value)
	if b.Op != ir.OpAnd || !ok1 || !ok2 || bits%8 != 0 ||
		len(mask.Bytes) != bits/8 || len(val.Bytes) != bits/8 {
		return nil, false
	}
	if _, _, plain := fieldOf(unwrap(b.X)); !plain || !isPrefixMask(mask.Bytes) {
		return nil, false
	}
	hi := bytes.Clone(val.Bytes)
	for i := range hi {
		if val.Bytes[i]&^mask.Bytes[i] != 0 {
			return nil, false
		}
		hi[i] |= ^mask.Bytes[i]
	}
	vs := values{{val.Bytes, hi}}
	switch m.Op {
	case ir.MatchEq, ir.MatchImplicit:
		return vs, true
	case ir.MatchNeq:
		return vs.complement(bits), true
	}
	return nil, false
}

func isPrefixMask(mask []byte) bool {
	seenZero := false
	for _, b := range mask {
		for i := 7; i >= 0; i-- {
			one := b>>i&1 == 1
			if one && seenZero {
				return false
			}
			seenZero = seenZero || !one
		}
	}
	return true
}

// enumerate tries every value of a narrow field.
func enumerate(m *ir.Match, f field, bits int) (values, bool) {
	n := (bits + 7) / 8
	var ivs []interval
	var set values
	if s, ok := m.Y.(*ir.SetRef); ok {
		if set, ok = setValues(s.Set, m.X.Common().Bits); !ok {
			return nil, false
		}
	}
	for _, d := range domain(f, bits) {
		for v := number(d.lo); ; v++ {
			got, ok := compute(m.X, v)
			if !ok {
				return nil, false
			}
			hit, ok := holds(m, got, set)
			if !ok {
				return nil, false
			}
			if hit {
				b := numberBytes(v, n)
				ivs = append(ivs, interval{b, b})
			}
			if v >= number(d.hi) {
				break
			}
		}
	}
	return newValues(ivs), true
}

// number reads a value of up to eight bytes; longer ones keep the last eight.
func number(b []byte) uint64 {
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

func numberBytes(v uint64, n int) []byte {
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i] = byte(v)
		v >>= 8
	}
	return b
}

// compute evaluates an expression whose field has the value v.
func compute(e ir.Expr, v uint64) (uint64, bool) {
	switch e := e.(type) {
	case *ir.Byteorder:
		return compute(e.X, v)
	case *ir.Value:
		return number(e.Bytes), len(e.Bytes) <= 8
	case *ir.Binary:
		x, ok1 := compute(e.X, v)
		y, ok2 := compute(e.Y, v)
		if !ok1 || !ok2 {
			return 0, false
		}
		switch e.Op {
		case ir.OpAnd:
			return x & y, true
		case ir.OpOr:
			return x | y, true
		case ir.OpXor:
			return x ^ y, true
		case ir.OpRshift:
			return x >> y, true
		}
		return 0, false
	}
	return v, isLoad(e)
}

// holds tells whether the match is true for a computed left side.
func holds(m *ir.Match, x uint64, set values) (hit, ok bool) {
	switch y := m.Y.(type) {
	case *ir.SetRef:
		in := set.contains(single(numberBytes(x, (m.X.Common().Bits+7)/8)))
		switch m.Op {
		case ir.MatchEq, ir.MatchImplicit:
			return in, true
		case ir.MatchNeq:
			return !in, true
		}
		return false, false
	case *ir.Prefix, *ir.RangeValue:
		vs, ok := constValues(y, m.X.Common().Bits)
		if !ok {
			return false, false
		}
		in := vs.contains(single(numberBytes(x, len(vs[0].lo))))
		switch m.Op {
		case ir.MatchEq, ir.MatchImplicit:
			return in, true
		case ir.MatchNeq:
			return !in, true
		}
		return false, false
	}
	y, ok := compute(m.Y, 0)
	if !ok || !isConst(m.Y) {
		return false, false
	}
	switch m.Op {
	case ir.MatchImplicit:
		if isBitmask(m.X.Common().Type) && isPlain(m.X) {
			return x&y != 0, true
		}
		return x == y, true
	case ir.MatchEq:
		return x == y, true
	case ir.MatchNeq:
		return x != y, true
	case ir.MatchLt:
		return x < y, true
	case ir.MatchGt:
		return x > y, true
	case ir.MatchLte:
		return x <= y, true
	case ir.MatchGte:
		return x >= y, true
	case ir.MatchNeg:
		return x&y == 0, true
	}
	return false, false
}

func isPlain(e ir.Expr) bool { _, _, ok := fieldOf(unwrap(e)); return ok }

// isConst tells whether an expression loads no field.
func isConst(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Value:
		return true
	case *ir.Binary:
		return isConst(e.X) && isConst(e.Y)
	}
	return false
}

// projection are the values that a concatenation leaves to one of its fields.
type projection struct {
	bits   int
	values values
}

// projections gives, for membership of a concatenation in a constant set, what
// each field can be: less than the condition says, but true.
func projections(m *ir.Match) map[field]projection {
	c, ok := m.X.(*ir.Concat)
	s, isRef := m.Y.(*ir.SetRef)
	if !ok || !isRef || !constant(s.Set) || m.Op != ir.MatchEq && m.Op != ir.MatchImplicit {
		return nil
	}
	out := make(map[field]projection)
	at := 0
	for _, it := range c.Items {
		f, bits, ok := fieldOf(it)
		n := (bits + 7) / 8
		if ok {
			if vs, ok := column(s.Set, at, n, it.Common()); ok {
				out[f] = projection{bits, vs}
			}
		}
		at += (n + 3) &^ 3
	}
	return out
}

// column are the values of one field of a concatenation in a set.
func column(s *ir.Set, at, n int, a *ir.Attr) (values, bool) {
	host := a.Order == ir.OrderHost && !isString(a.Type) && s.Flags&bytecode.SetInterval == 0
	var ivs []interval
	for i := range s.Elements {
		el := &s.Elements[i]
		if el.Catchall || at+n > len(el.From) {
			return nil, false
		}
		lo, hi := el.From[at:at+n], el.From[at:at+n]
		if el.To != nil {
			if at+n > len(el.To) {
				return nil, false
			}
			hi = el.To[at : at+n]
		}
		if host {
			lo, hi = reversed(lo), reversed(hi)
		}
		ivs = append(ivs, interval{lo, hi})
	}
	return newValues(ivs), true
}
