package ir

import (
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// concatItems follows variables in a concatenation; one may stand for several
// parts.
func (c *ruleCtx) concatItems(items []parser.Expr) []parser.Expr {
	out := make([]parser.Expr, 0, len(items))
	for _, it := range items {
		switch x := c.follow(it).(type) {
		case *parser.Concat:
			out = append(out, c.concatItems(x.Items)...)
		case nil:
		default:
			out = append(out, x)
		}
	}
	return out
}

// concat resolves `A . B` (expr_evaluate_concat): every part gets the type of
// its place in the key that is expected, if one is.
func (c *ruleCtx) concat(e *parser.Concat) Expr {
	want := c.ectx.typ
	off := 0
	if want != nil {
		off = len(want.Parts)
	}
	key, _ := c.ectx.key.(*Concat)
	items := c.concatItems(e.Items)
	out := &Concat{}
	out.Span = e.Span
	parts := make([]*Datatype, 0, len(items))
	size := 0
	for i, it := range items {
		if key != nil && i >= len(key.Items) {
			return c.fail("concatenation-length", e.Span, "too many concatenation components")
		}
		var typ *Datatype
		order, bits := OrderInvalid, 0
		switch {
		case key != nil:
			a := key.Items[i].Common()
			typ, order, bits = a.Type, a.Order, a.Bits
			off--
		case want == nil || off == 0:
			typ = TypeInvalid
		default:
			typ = want.Parts[len(want.Parts)-off]
			off--
			order, bits = typ.Order, typ.Bits
		}
		if ct, ok := it.(*parser.CT); ok && c.ctAddress(ct) {
			return nil
		}
		c.setContext(typ, order, bits, 0)
		if typ == TypeInvalid {
			c.ectx.typ = TypeInvalid
		}
		c.ectx.key = nestedKey
		c.nested++
		x := c.eval(it)
		c.nested--
		if x == nil {
			return nil
		}
		a := x.Common()
		switch x := x.(type) {
		case *Prefix, *RangeValue:
			if c.nested == 0 && !c.inSet {
				return c.fail("bad-concatenation", a.Span, "cannot use %s in concatenation", exprName(x))
			}
		case *Verdict, *SetRef, *ObjectName:
			return c.fail("bad-concatenation", a.Span, "cannot use %s in concatenation", exprName(x))
		}
		if a.Type == nil {
			return c.fail("bad-concatenation", a.Span, "cannot use %s in concatenation, lacks datatype", exprName(x))
		}
		t := a.Type
		if key == nil && t.ID == IDInteger {
			t = t.Sized(a.Bits, a.Order)
		}
		if want == nil && t.Bits == 0 {
			return c.fail("unqualified-type", a.Span, "can not use variable sized data types (%s) in concat expressions", t.Name)
		}
		n := bits
		if n == 0 {
			n = t.Bits
		}
		parts = append(parts, fieldType(t, a))
		size += paddedBits(n)
		c.inner = nil
		if size > maxConcatBits {
			return c.fail("key-too-long", a.Span, "Concatenation of size %d exceeds maximum size of %d", size, maxConcatBits)
		}
		out.Items = append(out.Items, x)
	}
	out.Type = ConcatType(parts)
	out.Bits = size
	if off > 0 {
		return c.fail("type-mismatch", e.Span, "datatype mismatch, expected %s, expression has type %s", want.Desc, out.Type.Desc)
	}
	if want != nil && len(want.Parts) == 0 && want != TypeInvalid && isConstant(out) {
		return c.fail("unexpected-concatenation", e.Span, "unexpected concat component, expecting %s", want.Desc)
	}
	c.ectx = exprCtx{typ: out.Type, order: OrderInvalid, bits: out.Bits, key: out}
	if key != nil {
		c.ectx.key = key
	}
	return out
}

// nestedKey marks that an expression is part of a concatenation: bit fields
// are then turned to host order before they are shifted.
var nestedKey Expr = &Value{}

// fieldType is the type of a concatenation's part with the part's own length
// and order.
func fieldType(t *Datatype, a *Attr) *Datatype {
	if a.Bits > 0 && (t.Bits != a.Bits || t.Order != a.Order) && t.Parts == nil {
		c := *t
		c.Bits, c.Order = a.Bits, a.Order
		return &c
	}
	return t
}

// typeSpec resolves the `A . B` of `type A . B`. nil after an error, which is
// reported.
func (r *resolver) typeSpec(e parser.Expr) *Datatype {
	switch e := r.follow(e).(type) {
	case *parser.Symbol:
		t := DatatypeByName(e.Text)
		if t == nil || t.ID == IDInvalid {
			d := diag.Diagnostic{Code: "unknown-datatype", Span: e.Span, Message: "unknown datatype " + e.Text}
			if d.Suggest = diag.Nearest(e.Text, DatatypeNames()); d.Suggest != "" {
				d.Message += "; did you mean " + d.Suggest + "?"
			}
			r.diags.Add(d)
			return nil
		}
		return t
	case *parser.Concat:
		parts := make([]*Datatype, 0, len(e.Items))
		for _, it := range e.Items {
			t := r.typeSpec(it)
			if t == nil {
				return nil
			}
			parts = append(parts, t)
		}
		return ConcatType(parts)
	case nil:
		return nil
	default:
		r.diags.Errorf("unknown-datatype", e.Pos(), "not a datatype")
		return nil
	}
}

// typeofExpr takes an expression for its type only: nothing is tested, shifted
// or converted.
func (c *ruleCtx) typeofExpr(e parser.Expr) Expr {
	switch e := e.(type) {
	case *parser.Concat:
		out := &Concat{}
		out.Span = e.Span
		var parts []*Datatype
		for _, it := range e.Items {
			x := c.typeofExpr(it)
			if x == nil {
				return nil
			}
			a := x.Common()
			out.Items = append(out.Items, x)
			parts = append(parts, fieldType(a.Type, a))
			out.Bits += paddedBits(max(a.Bits, a.Type.Bits))
		}
		out.Type = ConcatType(parts)
		return out
	case *parser.Verdict:
		return c.verdict(e)
	case *parser.Hash:
		return c.hash(e)
	case *parser.Symbol:
		if e.Text == "queue" {
			return &Value{Attr: Attr{Span: e.Span, Type: TypeQueue, Order: OrderHost, Bits: 16}, Bytes: make([]byte, 2)}
		}
		return c.eval(e)
	case *parser.Binary, *parser.Map, *parser.Variable, *parser.Prefix, *parser.Range, *parser.List, *parser.SetRef, *parser.SetLit:
		return c.eval(e)
	}
	x := c.build(e)
	if ct, ok := x.(*CT); ok && (ct.Key == 8 || ct.Key == 9) {
		return c.fail("ambiguous-family", ct.Span, "specify either ip or ip6 for address matching")
	}
	return x
}
