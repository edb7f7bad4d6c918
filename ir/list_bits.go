package ir

import (
	"math/big"

	"github.com/nftc/nftc/compile/bytecode"
)

// canonical brings an expression to the form in which the kernel gives it back:
// masks, ors and xors with constants are one operation
// (netlink_gen_bitwise_mask_xor, netlink_parse_bitwise_mask_xor).
func canonical(e Expr) Expr {
	switch e := e.(type) {
	case *Byteorder:
		x := *e
		x.X = canonical(e.X)
		return &x
	case *Binary:
		if e.Op == OpLshift || e.Op == OpRshift {
			x := *e
			x.X = canonical(e.X)
			return &x
		}
		if _, ok := e.Y.(*Value); !ok {
			x := *e
			x.X, x.Y = canonical(e.X), canonical(e.Y)
			return &x
		}
		return foldMasks(e)
	case *Concat:
		x := *e
		x.Items = make([]Expr, len(e.Items))
		for i, it := range e.Items {
			x.Items[i] = canonical(it)
		}
		return &x
	case *Map:
		x := *e
		x.Key = canonical(e.Key)
		return &x
	}
	return e
}

// foldMasks joins nested operations with constants to (x & m) ^ n, and splits
// that as nft lists it: an and for the zeros of m, a xor, an or for bits that
// are cleared first and then set.
func foldMasks(e *Binary) Expr {
	bits := e.Bits
	if b := e.X.Common().Bits; bits < b {
		bits = b
	}
	if v := e.Y.(*Value); bits < v.Bits {
		bits = v.Bits
	}
	ones := onesNumber(bits)
	mask, xor := new(big.Int).Set(ones), new(big.Int)
	var chain []*Binary
	var x Expr = e
	for {
		b, ok := x.(*Binary)
		if !ok || b.Op == OpLshift || b.Op == OpRshift {
			break
		}
		if _, ok := b.Y.(*Value); !ok {
			break
		}
		chain = append(chain, b)
		x = b.X
	}
	for i := len(chain) - 1; i >= 0; i-- {
		n := new(big.Int).SetBytes(chain[i].Y.(*Value).Bytes)
		switch chain[i].Op {
		case OpAnd:
			mask.And(mask, n)
			xor.And(xor, n)
		case OpOr:
			mask.AndNot(mask, n)
			xor.Or(xor, n)
		case OpXor:
			xor.Xor(xor, n)
		}
	}
	or := new(big.Int).AndNot(xor, mask)
	mask.Or(mask, or)
	xor.AndNot(xor, or)
	out := canonical(x)
	attr := e.Attr
	join := func(op BinaryOp, n *big.Int) {
		v := &Value{Attr: Attr{Span: e.Span, Type: e.Type, Order: e.Order, Bits: bits}, Bytes: n.FillBytes(make([]byte, (bits+7)/8))}
		out = &Binary{Attr: attr, Op: op, X: out, Y: v}
	}
	if mask.Cmp(ones) != 0 || xor.Sign() == 0 && or.Sign() == 0 {
		if mask.Cmp(ones) != 0 {
			join(OpAnd, mask)
		}
	}
	if xor.Sign() != 0 {
		join(OpXor, xor)
	}
	if or.Sign() != 0 {
		join(OpOr, or)
	}
	return out
}

func onesNumber(bits int) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	return n.Sub(n, big.NewInt(1))
}

// bitFieldOf recognises a header field that is cut out of the bytes that hold
// it: a mask, and perhaps a shift. shift is by how much a value must still be
// moved right to be the field's; nil when e is something else.
func bitFieldOf(e *Binary) (field Expr, shift int) {
	if e.Op == OpRshift {
		n, ok := e.Y.(*Value)
		and, ok2 := stripOrder(e.X).(*Binary)
		if !ok || !ok2 || and.Op != OpAnd {
			return nil, 0
		}
		if field, shift = bitFieldOf(and); field != nil && uint64(shift) == bytesUint(n.Bytes) {
			return field, 0
		}
		return nil, 0
	}
	mask, ok := e.Y.(*Value)
	if e.Op != OpAnd || !ok {
		return nil, 0
	}
	bits, offset := 0, 0
	switch x := e.X.(type) {
	case *Payload:
		if x.Field == nil || x.Raw {
			return nil, 0
		}
		bits, offset = x.Field.Bits, x.Field.Offset
	case *Exthdr:
		if x.Field == nil {
			return nil, 0
		}
		bits, offset = x.Field.Bits, x.Field.Offset
	default:
		return nil, 0
	}
	if offset%8 == 0 && bits%8 == 0 {
		return nil, 0
	}
	shift, _ = offsetShift(bits, offset)
	if new(big.Int).SetBytes(mask.Bytes).Cmp(new(big.Int).Lsh(onesNumber(bits), uint(shift))) != 0 {
		return nil, 0
	}
	return e.X, shift
}

// bitFieldOfExpr is bitFieldOf for any expression.
func bitFieldOfExpr(e Expr) (field Expr, shift int) {
	if b, ok := e.(*Binary); ok {
		return bitFieldOf(b)
	}
	return nil, 0
}

// unshift undoes a match on a header field that lies between bytes: the mask
// goes, the constants move to the right. known gives the protocols of the
// layers for fields written as raw offsets.
func (r *ruleLister) unshift(x, y Expr) (Expr, Expr) {
	b, ok := x.(*Binary)
	if !ok {
		return x, y
	}
	field, shift := bitFieldOf(b)
	if field == nil {
		return r.trimRaw(b, y)
	}
	typ := field.Common().Type
	down := func(v *Value) *Value { return shiftedValue(v, shift, typ) }
	switch v := y.(type) {
	case *Value:
		return field, down(v)
	case *RangeValue:
		out := *v
		out.From, out.To = down(v.From), down(v.To)
		return field, &out
	case *SetRef:
		if shift == 0 {
			return field, y
		}
		if v.Set.Flags&bytecode.SetAnonymous != 0 {
			out := *v
			out.Set = shiftedSet(v.Set, shift, typ)
			return field, &out
		}
	}
	return x, y
}

// shiftedValue moves a constant to the right.
func shiftedValue(v *Value, shift int, typ *Datatype) *Value {
	out := *v
	out.Type = typ
	n := new(big.Int).SetBytes(v.Bytes)
	n.Rsh(n, uint(shift))
	out.Bytes = n.FillBytes(make([]byte, len(v.Bytes)))
	return &out
}

// shiftedSet moves the keys of an anonymous set to the right.
func shiftedSet(s *Set, shift int, typ *Datatype) *Set {
	out := *s
	out.Key = typ
	if len(s.KeyFields) != 1 {
		return s
	}
	f := s.KeyFields[0]
	f.Type = typ
	out.KeyFields = []SetField{f}
	out.Elements = make([]Element, len(s.Elements))
	move := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		n := new(big.Int).SetBytes(numberOf(b, f.Order))
		n.Rsh(n, uint(shift))
		return numberOf(n.FillBytes(make([]byte, len(b))), f.Order)
	}
	for i, e := range s.Elements {
		e.From, e.To = move(e.From), move(e.To)
		out.Elements[i] = e
	}
	return &out
}

// trimRaw turns a mask on a raw header field into a shorter field, where the
// mask leaves the first bits out (payload_expr_trim_force).
func (r *ruleLister) trimRaw(b *Binary, y Expr) (Expr, Expr) {
	p, ok := b.X.(*Payload)
	mask, ok2 := b.Y.(*Value)
	if !ok || !ok2 || b.Op != OpAnd || p.Field != nil && !p.Raw {
		return b, y
	}
	whole := wholeBytes(p)
	m := new(big.Int).SetBytes(mask.Bytes)
	low := lowestBit(mask.Bytes)
	top := low
	for m.Bit(top) == 1 {
		top++
	}
	if m.Sign() != 0 {
		// The mask may cut out a field with a name (payload_expr_trim).
		if f, desc := r.fieldAt(whole, whole.Offset+whole.Bits-top, top-low); f != nil {
			named := *whole
			named.Proto, named.Field, named.Raw, named.Type = desc, f, false, f.Type
			if v, ok := y.(*Value); ok {
				return &named, shiftedValue(v, low, f.Type)
			}
		}
	}
	b2 := *b
	b2.X = whole
	v, ok := y.(*Value)
	if !ok || m.Sign() == 0 || whole.Bits <= top {
		return &b2, y
	}
	const maxOffset = 255
	out := *whole
	out.Offset += whole.Bits - top
	if (out.Offset+7)/8*8 > maxOffset {
		return &b2, y
	}
	out.Bits = popCount(mask.Bytes)
	return &out, shiftedValue(v, low, listedType(p))
}

// wholeBytes is the field that the kernel loads for one that does not begin
// and end at a byte.
func wholeBytes(p *Payload) *Payload {
	out := *p
	out.Offset = p.Offset / 8 * 8
	out.Bits = (p.Bits + 7) / 8 * 8
	return &out
}

func popCount(b []byte) int {
	n := 0
	for _, c := range b {
		for ; c != 0; c &= c - 1 {
			n++
		}
	}
	return n
}

// listedAssign brings a write to a header field back to the field: what lies
// beside it in the bytes that are written is kept by a mask
// (stmt_payload_binop_postprocess).
func (r *ruleLister) listedAssign(s *Assign) Stmt {
	out := *s
	target, ok := s.Target.(*Payload)
	if !ok {
		out.Target, out.Value = r.listed(s.Target), typedAs(r.listed(s.Value), s.Target.Common().Type)
		return &out
	}
	target = r.named(target)
	value := canonical(s.Value)
	if b, ok := value.(*Binary); ok {
		if field, v := r.writtenField(target, b); field != nil {
			target, value = field, v
		}
	}
	r.kill(target)
	if _, isValue := value.(*Value); isValue {
		value = typedAs(value, target.Type)
	} else {
		value = r.listed(value)
	}
	out.Target, out.Value = target, value
	return &out
}

// writtenField finds the field that a read, mask and write of whole bytes
// changes, and the value that it gets; nil when it cannot be told.
func (r *ruleLister) writtenField(target *Payload, b *Binary) (*Payload, Expr) {
	keep, set := onesNumber(target.Bits), new(big.Int)
	var ops []*Binary
	var e Expr = b
	for {
		op, ok := e.(*Binary)
		if !ok {
			break
		}
		v, ok := op.Y.(*Value)
		if !ok {
			return nil, nil
		}
		n := new(big.Int).SetBytes(v.Bytes)
		switch op.Op {
		case OpAnd:
			keep.And(keep, n)
		case OpOr, OpXor:
			set.Or(set, n)
		default:
			return nil, nil
		}
		ops = append(ops, op)
		e = op.X
	}
	p, ok := e.(*Payload)
	if !ok || p.Base != target.Base || p.Offset != target.Offset || p.Bits != target.Bits || len(ops) == 0 {
		return nil, nil
	}
	changed := new(big.Int).Not(keep)
	changed.And(changed, onesNumber(target.Bits))
	changed.Or(changed, set)
	if changed.Sign() == 0 {
		return nil, nil
	}
	low := int(changed.TrailingZeroBits())
	top := changed.BitLen()
	if f, desc, shift := r.fieldAround(target, low, top); f != nil {
		field := *target
		field.Proto, field.Field, field.Raw, field.Type = desc, f, false, f.Type
		if top-low == f.Bits && popCount(changed.Bytes()) == f.Bits && !onlyChanges(ops, keep, set, target.Bits) {
			return &field, shiftedValue(&Value{Attr: field.Attr, Bytes: set.Bytes()}, shift, f.Type)
		}
		// The field is combined with constants.
		var out Expr = &field
		for i := len(ops) - 1; i >= 0; i-- {
			v := shiftedValue(ops[i].Y.(*Value), shift, f.Type)
			n := new(big.Int).SetBytes(v.Bytes)
			n.And(n, onesNumber(f.Bits))
			v.Bytes, v.Bits = n.FillBytes(make([]byte, (f.Bits+7)/8)), f.Bits
			out = &Binary{Attr: field.Attr, Op: ops[i].Op, X: out, Y: v}
		}
		return &field, out
	}
	if top == target.Bits || popCount(changed.Bytes()) != top-low {
		return nil, nil
	}
	field := *target
	field.Offset += target.Bits - top
	field.Bits = top - low
	field.Raw, field.Proto, field.Field, field.Type = true, nil, nil, TypeXInteger
	return &field, shiftedValue(&Value{Attr: field.Attr, Bytes: set.Bytes()}, low, TypeXInteger)
}

// onlyChanges tells whether the operations change bits of the field and leave
// others: `field | constant` with all bits set is a plain write all the same.
func onlyChanges(ops []*Binary, keep, set *big.Int, bits int) bool {
	return len(ops) == 1 && ops[0].Op != OpAnd && keep.Cmp(onesNumber(bits)) == 0 && set.Sign() == 0
}

// fieldAround finds the field that holds the bits low..top-1, counted from the
// right, of the bytes that are written; shift is how far it lies from the right.
func (r *ruleLister) fieldAround(p *Payload, low, top int) (f *HeaderField, desc *Protocol, shift int) {
	r.enter(p.Inner)
	desc = r.ctx.pc().layer[p.Base].proto
	if desc == nil {
		return nil, nil, 0
	}
	base := p.Offset
	if p.Base == bytecode.BaseLink {
		for _, st := range r.ctx.pc().stacked {
			if base < st.Length {
				desc = st
				break
			}
			base -= st.Length
		}
	}
	first, end := base+p.Bits-top, base+p.Bits-low
	for i := range desc.Fields {
		f := &desc.Fields[i]
		if f.Offset <= first && end <= f.Offset+f.Bits {
			return f, desc, base + p.Bits - (f.Offset + f.Bits)
		}
	}
	return nil, nil, 0
}
