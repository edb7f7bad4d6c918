package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/parser"
)

// keyWant describes a key expression as sets take it.
func keyWant(x Expr) want {
	a := x.Common()
	return want{Type: a.Type, Order: a.Order, Bits: a.Bits}
}

// elementWant is the context that the elements of an anonymous set are
// evaluated in: the left side's before bits were cut out of it.
func (c *ruleCtx) elementWant(x Expr) want {
	if cat, ok := x.(*Concat); ok {
		return want{Type: cat.Type, Bits: cat.Bits}
	}
	return want{Type: c.ectx.typ, Order: c.ectx.order, Bits: c.ectx.bits}
}

// ctAddress refuses conntrack addresses of unstated family, also inside a
// concatenation.
func (c *ruleCtx) ctAddress(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.CT:
		if (e.Key.Text == "saddr" || e.Key.Text == "daddr") && e.Family.Text == "" {
			c.fail("ambiguous-family", e.Span, "specify either ip or ip6 for address matching")
			return true
		}
	case *parser.Concat:
		for _, it := range e.Items {
			if c.ctAddress(it) {
				return true
			}
		}
	}
	return false
}

// mapExpr resolves `X map { … }` and `X map @m` (expr_evaluate_map).
func (c *ruleCtx) mapExpr(e *parser.Map) Expr {
	data := c.ectx
	if c.ctAddress(e.X) {
		return nil
	}
	c.ectx = exprCtx{}
	x := c.eval(e.X)
	if x == nil {
		return nil
	}
	if isConstant(x) {
		return c.fail("constant-key", x.Common().Span, "Map expression can not be constant")
	}
	c.stmtBits = 0
	m := &Map{Key: x}
	m.Span = e.Span
	switch maps := c.follow(e.Maps).(type) {
	case *parser.SetLit:
		if data.typ == nil {
			return c.fail("unknown-type", e.Span, "Implicit map expression without known datatype")
		}
		w := want{Type: data.typ, Order: data.order, Bits: data.bits}
		for _, el := range flatElems(c, maps) {
			if el.Data == nil {
				return c.fail("bad-map", el.Span, "expected mapping, not set element")
			}
		}
		set := c.anonSetCtx(maps, c.elementWant(x), &w)
		if set == nil {
			return nil
		}
		m.Set = set
		y, ok := c.transferAnon(x, set)
		if !ok {
			return nil
		}
		m.Key = y
	case *parser.SetRef:
		ref, ok := c.setRef(maps).(*SetRef)
		if !ok {
			return nil
		}
		if ref.Set.Flags&(bytecode.SetMap|bytecode.SetObject) == 0 {
			return c.fail("not-a-map", maps.Span, "Expression is not a map")
		}
		m.Set = ref.Set
	case nil:
		return nil
	default:
		return c.fail("not-a-map", maps.Pos(), "invalid mapping expression value")
	}
	if kt := m.Key.Common().Type; m.Set.Key != nil && !m.Set.Key.compatible(kt) {
		return c.fail("type-mismatch", e.Maps.Pos(), "datatype mismatch, map expects %s, mapping expression has type %s", m.Set.Key.Desc, kt.Desc)
	}
	m.Type = m.Set.Data
	if m.Type == nil {
		m.Type = TypeInvalid
	}
	if len(m.Set.DataFields) == 1 {
		m.Order = m.Set.DataFields[0].Order
	}
	if m.Set.Flags&bytecode.SetInterval != 0 {
		if m.Key = c.convertOrder(m.Key, OrderBig); m.Key == nil {
			return nil
		}
	}
	return m
}

// flatElems lists elements with those of lists inside.
func flatElems(c *ruleCtx, lit *parser.SetLit) []*parser.Elem {
	nested := false
	for _, el := range lit.Elems {
		switch el.Key.(type) {
		case *parser.SetLit, *parser.Variable:
			nested = true
		}
	}
	if !nested {
		return lit.Elems
	}
	var out []*parser.Elem
	for _, el := range lit.Elems {
		if in, ok := c.follow(el.Key).(*parser.SetLit); ok && el.Data == nil {
			out = append(out, flatElems(c, in)...)
			continue
		}
		out = append(out, el)
	}
	return out
}

// anonSetCtx makes an anonymous set, keeping what is known of the packet.
func (c *ruleCtx) anonSetCtx(lit *parser.SetLit, key want, data *want) *Set {
	save, inSet, bits := c.ectx, c.inSet, c.stmtBits
	c.inSet = true
	if save.max > 0 && data == nil {
		for _, el := range flatElems(c, lit) {
			if s, ok := el.Key.(*parser.Symbol); ok {
				c.ectx = save
				if c.eval(s) == nil {
					return nil
				}
			}
		}
	}
	set := c.anonSet(lit, key, data)
	c.ectx, c.inSet, c.stmtBits = save, inSet, bits
	return set
}

// transferAnon fits an anonymous set to a left side that was shifted: the
// elements become as long as the left side, and take over its shift where
// every one of them can.
func (c *ruleCtx) transferAnon(x Expr, set *Set) (Expr, bool) {
	b, ok := x.(*Binary)
	if !ok || len(set.KeyFields) != 1 {
		return x, true
	}
	f := &set.KeyFields[0]
	n := (b.Bits + 7) / 8
	number := func(v []byte) []byte { return numberOf(v, f.Order) }
	can := b.Op == OpLshift || b.Op == OpRshift || b.Op == OpXor
	y, isConst := b.Y.(*Value)
	can = can && isConst
	for i := range set.Elements {
		e := &set.Elements[i]
		if e.Catchall || e.To != nil {
			can = false
			continue
		}
		if can && b.Op == OpLshift && bitLen(e.From) > 0 && lowestBit(number(e.From)) < int(bytesUint(y.Bytes)) {
			c.fail("always-false", e.Span, "Comparison is always false")
			return nil, false
		}
	}
	if !can && set.isMap() {
		// The key of a map stays as long as the field.
		return x, true
	}
	foldBits := b.Bits
	if can && b.Op == OpRshift {
		// Elements grow by the shift that is undone.
		foldBits = max(foldBits, f.Bits+int(bytesUint(y.Bytes)))
	}
	fit := func(v []byte) []byte {
		if v == nil {
			return nil
		}
		num := number(v)
		if can {
			op := b.Op
			switch op {
			case OpLshift:
				op = OpRshift
			case OpRshift:
				op = OpLshift
			}
			num = foldBytes(op, num, y.Bytes, foldBits)
		}
		return numberOf(resize(num, n), f.Order)
	}
	for i := range set.Elements {
		e := &set.Elements[i]
		if !e.Catchall {
			e.From, e.To = fit(e.From), fit(e.To)
		}
	}
	f.Bits = b.Bits
	if f.Type != nil {
		f.Type = fieldType(f.Type, &Attr{Bits: b.Bits, Order: f.Order})
	}
	if !can {
		return x, true
	}
	return transferLeft(b), true
}

// transferSet is transferAnon for the right side of a match.
func (c *ruleCtx) transferSet(b *Binary, ref *SetRef) (Expr, Expr, bool) {
	if ref.Set.Flags&bytecode.SetAnonymous == 0 {
		return b, ref, true
	}
	x, ok := c.transferAnon(b, ref.Set)
	return x, ref, ok
}
