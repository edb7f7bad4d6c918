package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// assign resolves `X set Y`.
func (c *ruleCtx) assign(s *parser.Assign) {
	switch t := s.Target.(type) {
	case *parser.Meta:
		k := metaKeyNamed(t.Key.Text)
		if k == nil {
			c.unknownWord("unknown-key", t.Key, "meta key", metaKeyNames())
			return
		}
		if _, fromCT := s.Value.(*parser.CT); k.Key == bytecode.MetaSecmark && !fromCT {
			c.assignObject(s, "secmark")
			return
		}
		c.assignKey(s, newMeta(k, t.Span), "meta")
	case *parser.CT:
		switch t.Key.Text {
		case "helper", "timeout", "expectation":
			c.assignObject(s, "ct "+t.Key.Text)
			return
		}
		x, ok := c.buildCT(t).(*CT)
		if !ok {
			return
		}
		c.assignKey(s, x, "ct")
	case *parser.Payload, *parser.RawPayload:
		if x, ok := c.build(t).(*Payload); ok {
			c.assignPayload(s, x)
		}
	case *parser.Exthdr, *parser.Option:
		if x, ok := c.build(t).(*Exthdr); ok {
			c.assignExthdr(s, x)
		}
	default:
		c.fail("bad-target", s.Target.Pos(), "this cannot be set")
	}
}

// assignObject is an assignment that refers to a named object.
func (c *ruleCtx) assignObject(s *parser.Assign, kind string) {
	c.otherStmt(&parser.ObjRef{Node: s.Node, Kind: kind, X: s.Value})
}

// assignKey sets a meta or conntrack key (stmt_evaluate_meta,
// stmt_evaluate_ct).
func (c *ruleCtx) assignKey(s *parser.Assign, target Expr, name string) {
	a := target.Common()
	c.stmtBits = a.Bits
	y := c.stmtArg(s.Value, a.Type, a.Bits, a.Order, s.Span)
	if y == nil {
		return
	}
	if ct, ok := target.(*CT); ok && ct.Key == bytecode.CTSecmark && isConstant(y) {
		c.fail("secmark", s.Span, "ct secmark must not be set to constant value")
		return
	}
	if _, ok := y.(*RangeValue); ok {
		c.fail("bad-range", y.Common().Span, "%s: range argument not supported", name)
		return
	}
	c.emit(&Assign{StmtSpan: StmtSpan{s.Span}, Target: target, Value: y})
}

// stmtArg resolves the operand of a statement that takes values of a type
// (stmt_evaluate_arg). nil after an error.
func (c *ruleCtx) stmtArg(e parser.Expr, t *Datatype, bits int, order ByteOrder, stmt diag.Span) Expr {
	switch e := c.follow(e).(type) {
	case *parser.SetLit:
		return c.fail("unexpected-set", e.Span, "you cannot use a set here, unknown value to use")
	case *parser.SetRef:
		return c.fail("unexpected-set", e.Span, "you cannot reference a set here, unknown value to use")
	}
	c.setContext(t, order, bits, 0)
	y := c.eval(e)
	if y == nil {
		return nil
	}
	a := y.Common()
	if p, ok := y.(*Payload); ok && p.Type.ID == IDInteger && (t.direct().ID != IDInteger || p.Bits != bits) {
		return c.fail("type-mismatch", a.Span, "datatype mismatch: expected %s, expression has type %s with length %d", t.Desc, a.Type.Desc, a.Bits)
	}
	if a.Type == nil || !t.compatible(a.Type) {
		got := "invalid"
		if a.Type != nil {
			got = a.Type.Desc
		}
		return c.fail("type-mismatch", a.Span, "datatype mismatch: expected %s, expression has type %s", t.Desc, got)
	}
	if t.ID == IDMark && !isConstant(y) {
		return c.convertOrder(y, order)
	}
	switch x := y.(type) {
	case *RT:
		return c.convertOrder(x, order)
	case *Prefix:
		return prefixToRange(x)
	case *Numgen:
		if t.ID == IDIPv4Addr {
			return c.convertOrder(x, order)
		}
	}
	return y
}

// prefixToRange makes the range that a prefix stands for
// (stmt_prefix_conversion).
func prefixToRange(p *Prefix) Expr {
	to := *p.X
	to.Bytes = append([]byte(nil), p.X.Bytes...)
	for i := 0; i < p.X.Bits-p.Len; i++ {
		to.Bytes[len(to.Bytes)-1-i/8] |= 1 << (i % 8)
	}
	if string(to.Bytes) == string(p.X.Bytes) {
		return p.X
	}
	return &RangeValue{Attr: p.Attr, From: p.X, To: &to}
}

// assignExthdr writes a field of a TCP option (stmt_evaluate_exthdr).
func (c *ruleCtx) assignExthdr(s *parser.Assign, x *Exthdr) {
	t := c.exthdrBits(x)
	if t == nil {
		return
	}
	target, ok := t.(*Exthdr)
	if !ok {
		target = x
	}
	y := c.stmtArg(s.Value, target.Type, target.Bits, OrderBig, s.Span)
	if y == nil {
		return
	}
	if _, ok := y.(*RangeValue); ok {
		c.fail("bad-range", y.Common().Span, "exthdr: range argument not supported")
		return
	}
	c.emit(&Assign{StmtSpan: StmtSpan{s.Span}, Target: target, Value: y})
}

// assignPayload writes a header field (stmt_evaluate_payload). What is not a
// number of whole bytes, or an odd number where a checksum must be mended, is
// read, changed and written back.
func (c *ruleCtx) assignPayload(s *parser.Assign, x *Payload) {
	const unsupported = "payload statement for this expression is not supported"
	if x.tunnel != nil {
		c.fail("unsupported-expression", x.Span, "%s", unsupported)
		return
	}
	if !c.payloadDependencies(x) {
		return
	}
	c.payloadStmt = true
	defer func() { c.payloadStmt = false }()
	y := c.stmtArg(s.Value, x.Type, x.Bits, x.Order, s.Span)
	if y == nil {
		return
	}
	if !isConstant(y) {
		if y = c.convertOrder(y, x.Order); y == nil {
			return
		}
	}
	if _, ok := y.(*RangeValue); ok {
		c.fail("bad-range", y.Common().Span, "payload: range argument not supported")
		return
	}
	emit := func(target *Payload, value Expr) {
		c.emit(&Assign{StmtSpan: StmtSpan{s.Span}, Target: target, Value: value})
	}
	// Checksums are sums of 16-bit words; VLAN tags are written whole
	// (nft_payload_set_vlan).
	even := x.Base == bytecode.BaseInner || x.Proto != nil && (x.Proto.Checksum != nil || x.Proto == protoVlan)
	if x.Offset%8 == 0 && x.Bits%8 == 0 && (!even || x.Bits/8%2 == 0) {
		emit(x, y)
		return
	}
	shift, extra := offsetShift(x.Bits, x.Offset)
	off := x.Offset / 8
	size := (x.Bits + extra + 7) / 8
	if size > maxRegisterBits/8 {
		c.fail("too-long", x.Span, "uneven load cannot span more than %d bytes, got %d", maxRegisterBits/8, size)
		return
	}
	if even && size%2 != 0 {
		size++
		if off%2 != 0 {
			off--
		} else {
			shift += 8
		}
	}
	bits := size * 8
	keep := foldBytes(OpXor, maskNumber(x.Bits, shift, bits), maskNumber(bits, 0, bits), bits)
	switch v := y.(type) {
	case *Value:
		v.Bytes = foldBytes(OpLshift, v.Bytes, uintBytes(uint64(shift), 4), bits)
		v.Bits = bits
	case *Binary:
		in := v
		for b, ok := in.X.(*Binary); ok; b, ok = in.X.(*Binary) {
			in = b
		}
		p, ok := in.X.(*Payload)
		if !ok || p.Proto != x.Proto || p.Field != x.Field || p.Base != x.Base || p.Offset != x.Offset {
			break
		}
		c.payloadInPlace(in, p, off*8, bits, shift, keep, unsupported)
		if in.Y == nil {
			return
		}
		resizeChain(v, in, bits)
		target := *p
		emit(&target, v)
		return
	default:
		c.fail("unsupported-expression", y.Common().Span, "%s", unsupported)
		return
	}
	a := Attr{Span: x.Span, Type: TypeXInteger, Order: x.Order, Bits: bits}
	raw := &Payload{Attr: a, Base: x.Base, Offset: off * 8, Proto: x.Proto, Raw: true}
	and := &Binary{Attr: a, Op: OpAnd, X: raw, Y: &Value{Attr: a, Bytes: keep}}
	target := *x
	target.Offset, target.Bits = off*8, bits
	emit(&target, &Binary{Attr: a, Op: OpXor, X: and, Y: y})
}

// payloadInPlace widens `field op constant` to the whole bytes that are
// written. in.Y is nil after an error.
func (c *ruleCtx) payloadInPlace(in *Binary, p *Payload, offset, bits, shift int, keep []byte, unsupported string) {
	v, ok := in.Y.(*Value)
	if !ok {
		c.fail("unsupported-expression", in.Y.Common().Span, "%s", unsupported)
		in.Y = nil
		return
	}
	p.Offset, p.Bits, p.Raw = offset, bits, true
	if in.Op == OpLshift || in.Op == OpRshift {
		// nft takes the distance for a value to be written and moves it, too.
		word := map[BinaryOp]string{OpLshift: "Left", OpRshift: "Right"}[in.Op]
		if n := bytesUint(v.Bytes) << shift; n >= uint64(bits) {
			c.fail("bad-shift", v.Span, "%s shift of %d bits is undefined for type of %d bits width", word, n, bits)
			in.Y = nil
		} else {
			in.Y = &Value{Attr: v.Attr, Bytes: uintBytes(n, 4)}
		}
		return
	}
	n := foldBytes(OpLshift, v.Bytes, uintBytes(uint64(shift), 4), bits)
	if in.Op == OpAnd {
		n = foldBytes(OpOr, n, keep, bits)
	}
	in.Y = &Value{Attr: Attr{Span: v.Span, Type: v.Type, Order: p.Order, Bits: bits}, Bytes: n}
}

// resizeChain gives the operators from outer to inner a new length.
func resizeChain(outer, inner *Binary, bits int) {
	for b := outer; ; {
		b.Bits = bits
		if v, ok := b.Y.(*Value); ok {
			v.Bits = bits
			v.Bytes = resize(v.Bytes, (bits+7)/8)
		}
		if b == inner {
			return
		}
		next, ok := b.X.(*Binary)
		if !ok {
			return
		}
		b = next
	}
}
