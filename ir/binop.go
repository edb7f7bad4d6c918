package ir

import (
	"math/big"

	"github.com/nftc/nftc/parser"
)

var binaryOps = map[string]BinaryOp{
	"&": OpAnd, "|": OpOr, "^": OpXor, "<<": OpLshift, ">>": OpRshift,
}

// convertOrder brings an integer to a byte order: constants are relabelled,
// what comes from the packet gets a conversion (byteorder_conversion). nil
// after an error.
func (c *ruleCtx) convertOrder(x Expr, to ByteOrder) Expr {
	a := x.Common()
	if cat, ok := x.(*Concat); ok {
		for i, it := range cat.Items {
			ia := it.Common()
			if ia.Order == OrderBig || ia.Type.IsString() {
				continue
			}
			if v, ok := it.(*Value); ok {
				// The number is turned around, not relabelled.
				if ia.Order == OrderHost {
					v.Bytes = numberOf(v.Bytes, OrderHost)
				}
				continue
			}
			if isConstant(it) {
				setOrder(it, OrderBig)
				continue
			}
			if (ia.Bits+7)/8 >= 2 {
				cat.Items[i] = swapped(it, OrderBig)
			}
		}
		return cat
	}
	if a.Order == to {
		return x
	}
	if a.Type.IsString() {
		return x
	}
	if !a.Type.IsInteger() {
		return c.fail("byteorder", a.Span, "Byteorder mismatch: %s expected %s, %s got %s", to, exprName(x), exprName(x), a.Order)
	}
	if isConstant(x) || (a.Bits+7)/8 < 2 {
		setOrder(x, to)
		return x
	}
	if a.Order == OrderInvalid {
		a.Order = to
		return x
	}
	return swapped(x, to)
}

func swapped(x Expr, to ByteOrder) Expr {
	a := x.Common()
	return &Byteorder{
		Attr: Attr{Span: a.Span, Type: a.Type, Order: to, Bits: a.Bits},
		Hton: to == OrderBig, X: x, Size: swapUnit(a.Bits),
	}
}

// setOrder labels an expression and the constants in it.
func setOrder(x Expr, to ByteOrder) {
	x.Common().Order = to
	switch x := x.(type) {
	case *Prefix:
		x.X.Order = to
	case *RangeValue:
		x.From.Order, x.To.Order = to, to
	}
}

// binary resolves X op Y (expr_evaluate_binop).
func (c *ruleCtx) binary(e *parser.Binary) Expr {
	op, ok := binaryOps[e.Op]
	if !ok {
		return c.fail("unsupported-expression", e.OpSpan, "operator %s is not valid here", e.Op)
	}
	c.binops++
	defer func() { c.binops-- }()
	if c.binops > 4096 {
		return c.fail("too-deep", e.Span, "Binary operation limit %d reached", 4096)
	}
	shiftBits := c.ectx.bits
	x := c.eval(e.X)
	if x == nil {
		return nil
	}
	if op == OpLshift || op == OpRshift {
		a := x.Common()
		c.setContext(TypeInteger, a.Order, max(shiftBits, a.Bits), 0)
	}
	y := c.eval(e.Y)
	if y == nil {
		return nil
	}
	out := c.binop(op, x, y, e)
	if out != nil && c.binops == 1 {
		depth := 0
		for b, ok := out.(*Binary); ok; b, ok = b.X.(*Binary) {
			if depth++; depth >= maxNesting {
				return c.fail("too-deep", e.Span, "Binary operation limit %d reached", maxNesting)
			}
		}
	}
	return out
}

// binop combines two evaluated operands.
func (c *ruleCtx) binop(op BinaryOp, x, y Expr, e *parser.Binary) Expr {
	if isConstant(x) && !isConstant(y) {
		x, y = y, x
	}
	xa, ya := x.Common(), y.Common()
	if xa.Type == nil || ya.Type == nil {
		return nil
	}
	if !xa.Type.IsInteger() && !xa.Type.IsString() {
		return c.fail("bad-operator", xa.Span, "Binary operation (%s) is undefined for %s types", op, xa.Type.Desc)
	}
	if isConstant(x) && !isSingleton(x) {
		return c.fail("bad-operator", xa.Span, "Binary operation (%s) is undefined for %s expressions", op, exprName(x))
	}
	if xb, yb := xa.Type.Root(), ya.Type.Root(); !xb.Equal(yb) {
		return c.fail("bad-operator", xa.Span, "Binary operation (%s) with different base types (%s vs %s) is not supported", op, xb.Name, yb.Name)
	}
	if isConstant(y) && !isSingleton(y) {
		return c.fail("bad-operator", xa.Span, "Binary operation (%s) is undefined for %s expressions", op, exprName(y))
	}
	b := &Binary{Op: op, X: x, Y: y}
	b.Span = xa.Span.Join(ya.Span)
	if e != nil {
		b.Span = e.Span
	}
	if op == OpLshift || op == OpRshift {
		if !isConstant(y) {
			return c.fail("bad-operator", ya.Span, "Right hand side of binary operation (%s) must be constant", op)
		}
		return c.shift(b)
	}
	return c.bitwise(b)
}

// shift finishes a shift: both sides in host order (expr_evaluate_shift).
func (c *ruleCtx) shift(b *Binary) Expr {
	v, ok := b.Y.(*Value)
	if !ok {
		return c.fail("bad-operator", b.Y.Common().Span, "Binary operation (%s) is undefined for %s expressions", b.Op, exprName(b.Y))
	}
	xa := b.X.Common()
	word := "Right"
	if b.Op == OpLshift {
		word = "Left"
	}
	maxLen := max(xa.Bits, c.stmtBits)
	if bitLen(v.Bytes) > 32 {
		return c.fail("bad-shift", v.Span, "shifts exceeding %d bits are not supported", uint32(1<<32-1))
	}
	n := int(bytesUint(v.Bytes))
	if n >= maxLen {
		return c.fail("bad-shift", v.Span, "%s shift of %d bits is undefined for type of %d bits width", word, n, maxLen)
	}
	if n == 0 {
		return b.X
	}
	if b.X = c.convertOrder(b.X, OrderHost); b.X == nil {
		return nil
	}
	if b.Y = c.convertOrder(b.Y, OrderHost); b.Y == nil {
		return nil
	}
	b.Type, b.Order, b.Bits = TypeInteger, OrderHost, maxLen
	return c.fold(b)
}

// bitwise finishes &, | and ^ (expr_evaluate_bitwise).
func (c *ruleCtx) bitwise(b *Binary) Expr {
	xa := b.X.Common()
	typ, order, bits := xa.Type, xa.Order, xa.Bits
	if c.stmtBits > xa.Bits {
		typ, order, bits = TypeInteger, OrderHost, c.stmtBits
		if b.X = c.convertOrder(b.X, OrderHost); b.X == nil {
			return nil
		}
	}
	if b.Y = c.convertOrder(b.Y, order); b.Y == nil {
		return nil
	}
	b.Type, b.Order, b.Bits = typ, order, bits
	return c.fold(b)
}

// fold computes an operation on two constants (constant_binop_simplify).
func (c *ruleCtx) fold(b *Binary) Expr {
	x, ok1 := b.X.(*Value)
	y, ok2 := b.Y.(*Value)
	if !ok1 || !ok2 {
		return b
	}
	v := &Value{Attr: b.Attr, Bytes: foldBytes(b.Op, x.Bytes, y.Bytes, b.Bits)}
	if v.Type.IsString() {
		return v
	}
	return c.integer(v)
}

// foldBytes computes an operation on numbers, cut to a length in bits.
func foldBytes(op BinaryOp, xb, yb []byte, bits int) []byte {
	x, y := new(big.Int).SetBytes(xb), new(big.Int).SetBytes(yb)
	mask := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	mask.Sub(mask, big.NewInt(1))
	switch op {
	case OpAnd:
		x.And(x, y)
	case OpOr:
		x.Or(x, y)
	case OpXor:
		x.Xor(x, y)
	case OpLshift:
		x.Lsh(x, uint(y.Uint64()))
	case OpRshift:
		x.And(x, mask)
		x.Rsh(x, uint(y.Uint64()))
	}
	x.And(x, mask)
	return resize(x.Bytes(), (bits+7)/8)
}

// transferable tells whether the shift or xor on the left side of a match with
// a constant can be done on the constant in its place (binop_can_transfer).
// impossible is set for a comparison that can never hold.
func transferable(b *Binary, y Expr) (ok, impossible bool) {
	v, isVal := y.(*Value)
	if !isVal {
		if r, isRange := y.(*RangeValue); isRange {
			ok, impossible = transferable(b, r.From)
			if !ok || impossible {
				return ok, impossible
			}
			return transferable(b, r.To)
		}
		return false, false
	}
	n, isConst := b.Y.(*Value)
	switch b.Op {
	case OpLshift:
		if !isConst {
			return false, false
		}
		if bitLen(v.Bytes) > 0 && lowestBit(v.Bytes) < int(bytesUint(n.Bytes)) {
			return false, true
		}
		return true, false
	case OpRshift, OpXor:
		return isConst, false
	}
	return false, false
}

// transferOne undoes the left side's operation on a constant
// (binop_transfer_one).
func (c *ruleCtx) transferOne(b *Binary, y Expr) Expr {
	switch y := y.(type) {
	case *RangeValue:
		from, ok1 := c.transferOne(b, y.From).(*Value)
		if !ok1 {
			return nil
		}
		to, ok2 := c.transferOne(b, y.To).(*Value)
		if !ok2 {
			return nil
		}
		r := &RangeValue{Attr: from.Attr, From: from, To: to}
		r.Span = y.Span
		return r
	case *Value:
		op := b.Op
		switch op {
		case OpLshift:
			op = OpRshift
		case OpRshift:
			op = OpLshift
		}
		n := *b.Y.(*Value)
		v := *y
		if v.Type.IsInteger() {
			w, isNum := c.integer(&v).(*Value)
			if !isNum {
				return nil
			}
			y = w
		}
		if op != OpXor {
			c.setContext(TypeInteger, y.Order, max(c.ectx.bits, y.Bits), 0)
		}
		return c.binop(op, y, &n, nil)
	}
	return nil
}

// transferLeft is what remains of the left side (binop_transfer_handle_lhs).
func transferLeft(b *Binary) Expr {
	n := b.Y.(*Value)
	if b.Op == OpRshift {
		xa := b.X.Common()
		shift := int(bytesUint(n.Bytes))
		mask := *n
		mask.Bits = max(xa.Bits, 8)
		mask.Bytes = maskNumber(xa.Bits, shift, xa.Bits+shift)
		out := *b
		out.Op, out.Y = OpAnd, &mask
		return &out
	}
	b.X.Common().Type = b.Type
	return b.X
}

// transfer moves a shift or xor from the left side of a match to the constant
// on the right (binop_transfer).
func (c *ruleCtx) transfer(x, y Expr) (Expr, Expr, bool) {
	b, ok := x.(*Binary)
	if !ok {
		return x, y, true
	}
	if ref, isSet := y.(*SetRef); isSet {
		return c.transferSet(b, ref)
	}
	can, impossible := transferable(b, y)
	if impossible {
		c.fail("always-false", y.Common().Span, "Comparison is always false")
		return nil, nil, false
	}
	if !can {
		return x, y, true
	}
	c.growContext(b, y)
	if y = c.transferOne(b, y); y == nil {
		return nil, nil, false
	}
	return transferLeft(b), y, true
}

// growContext widens the context by the shift that will be undone.
func (c *ruleCtx) growContext(b *Binary, y Expr) {
	if b.Op != OpRshift {
		return
	}
	n := int(bytesUint(b.Y.(*Value).Bytes))
	ends := []Expr{y}
	if r, ok := y.(*RangeValue); ok {
		ends = []Expr{r.From, r.To}
	}
	for _, e := range ends {
		if c.ectx.bits < e.Common().Bits+n {
			c.ectx.bits += n
		}
	}
}
