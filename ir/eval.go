package ir

import (
	"fmt"
	"math/big"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// exprCtx is what the expressions evaluated so far make of the next constant:
// its datatype, byte order, length in bits and greatest value (0: what the
// length allows). key is the expression that constants are compared with.
type exprCtx struct {
	typ   *Datatype
	order ByteOrder
	bits  int
	max   uint32
	key   Expr
}

// maxConcatBits is the longest key (NFT_MAX_EXPR_LEN_BITS).
const maxConcatBits = 64 * 8

// maxRegisterBits is the longest value of one expression (NFT_REG_SIZE).
const maxRegisterBits = 16 * 8

// maxNesting bounds the depth of operators (NFT_MAX_EXPR_RECURSION).
const maxNesting = 16

// fail reports an error and returns nil.
func (c *ruleCtx) fail(code string, at diag.Span, format string, args ...any) Expr {
	c.diags.Errorf(code, at, format, args...)
	return nil
}

func (c *ruleCtx) setContext(t *Datatype, o ByteOrder, bits int, max uint32) {
	c.ectx = exprCtx{typ: t, order: o, bits: bits, max: max}
}

// primaryContext makes an expression the context of the constants that follow.
func (c *ruleCtx) primaryContext(x Expr) Expr {
	a := x.Common()
	c.setContext(a.Type, a.Order, a.Bits, 0)
	return x
}

// primary resolves an expression that stands on its own (a left side, a map
// key, the argument of typeof). It adds the dependencies that the expression
// needs to the rule. nil after an error, which is reported. Outside of rules
// (typeof) the expression is taken as it is: no dependencies, no shifts.
func (c *ruleCtx) primary(e parser.Expr) Expr {
	c.ectx = exprCtx{}
	if c.chain == nil {
		return c.typeofExpr(e)
	}
	return c.eval(e)
}

// value resolves an expression where a value of a known type is expected: a
// right side, an element's key or data, an address of dnat. Constants are
// parsed by the type. nil after an error, which is reported.
func (c *ruleCtx) value(e parser.Expr, w want) Expr {
	c.ectx = exprCtx{typ: w.Type, order: w.Order, bits: w.Bits}
	return c.eval(e)
}

// isConstant tells whether an expression is known without a packet. A map
// counts as one for nft, once it has its elements.
func isConstant(x Expr) bool {
	switch x := x.(type) {
	case *Value, *Prefix, *RangeValue, *Verdict, *ObjectName, *SetRef:
		return true
	case *Map:
		return x.Set != nil
	case *Concat:
		for _, i := range x.Items {
			if !isConstant(i) {
				return false
			}
		}
		return true
	}
	return false
}

// isSingleton tells whether a constant is one value.
func isSingleton(x Expr) bool {
	switch x := x.(type) {
	case *Value:
		return !x.Wildcard
	case *Verdict, *ObjectName:
		return true
	case *Concat:
		for _, i := range x.Items {
			if !isSingleton(i) {
				return false
			}
		}
		return true
	}
	return false
}

// exprName is nft's word for a kind of expression in messages.
func exprName(x Expr) string {
	switch x := x.(type) {
	case *Value:
		if x.Wildcard {
			return "prefix"
		}
		return "value"
	case *Prefix:
		return "prefix"
	case *RangeValue:
		return "range"
	case *Concat:
		return "concat"
	case *SetRef:
		return "set reference"
	case *Map:
		return "map"
	case *Payload:
		return "payload"
	case *Exthdr:
		return "exthdr"
	case *Meta:
		return "meta"
	case *CT:
		return "ct"
	case *RT:
		return "rt"
	case *Fib:
		return "fib"
	case *Socket:
		return "socket"
	case *Osf:
		return "osf"
	case *Numgen:
		return "numgen"
	case *Hash:
		return "hash"
	case *Xfrm:
		return "xfrm"
	case *Tunnel:
		return "tunnel"
	case *Binary:
		return "binop"
	case *Byteorder:
		return "unary"
	case *Verdict:
		return "verdict"
	case *ObjectName:
		return "value"
	default:
		return fmt.Sprintf("%T", x)
	}
}

// eval resolves an expression in the current context (expr_evaluate).
func (c *ruleCtx) eval(e parser.Expr) Expr {
	switch e := e.(type) {
	case *parser.Symbol:
		return c.symbol(e)
	case *parser.Variable:
		v := c.follow(e)
		if v == nil {
			return nil
		}
		return c.eval(v)
	case *parser.Prefix:
		return c.prefix(e)
	case *parser.Range:
		return c.rangeValue(e)
	case *parser.Concat:
		return c.concat(e)
	case *parser.List:
		return c.list(e)
	case *parser.Binary:
		return c.binary(e)
	case *parser.SetRef:
		return c.setRef(e)
	case *parser.Map:
		return c.mapExpr(e)
	case *parser.Verdict:
		return c.verdict(e)
	case *parser.SetLit:
		return c.fail("unexpected-set", e.Span, "you cannot use a set here, unknown value to use")
	case *parser.Wildcard:
		return c.fail("unexpected-wildcard", e.Span, "the catch-all element * is only valid in sets and maps")
	case *parser.SlashMask:
		return c.fail("unexpected-mask", e.Span, "a mask after / is only valid on the right side of a match")
	case *parser.Hash:
		return c.hash(e)
	}
	x := c.build(e)
	if x == nil {
		return nil
	}
	return c.evalBuilt(x)
}

// evalBuilt resolves an expression that reads from the packet or its
// surroundings.
func (c *ruleCtx) evalBuilt(x Expr) Expr {
	switch x := x.(type) {
	case *Payload:
		return c.payload(x)
	case *Exthdr:
		return c.exthdr(x)
	case *Meta:
		return c.meta(x)
	case *CT:
		return c.ct(x)
	case *RT:
		return c.rt(x)
	case *Socket:
		a := x.Common()
		max := uint32(0)
		for _, k := range socketKeys {
			if k.Key == x.Key {
				max = k.max
			}
		}
		c.setContext(a.Type, a.Order, a.Bits, max)
		return x
	case *Xfrm:
		switch c.pc().family {
		case bytecode.FamilyIP, bytecode.FamilyIP6, bytecode.FamilyInet:
		default:
			return c.fail("unsupported-family", x.Span, "ipsec expression is only valid in ip/ip6/inet tables")
		}
	case *Numgen:
		c.takeContextType(&x.Attr)
		c.setContext(x.Type, x.Order, x.Bits, x.Modulus+x.Offset-1)
		return x
	}
	return c.primaryContext(x)
}

// takeContextType gives a computed number the type that is expected, when that
// is a kind of 4-byte integer (expr_dtype_integer_compatible).
func (c *ruleCtx) takeContextType(a *Attr) {
	if c.ectx.typ != nil && c.ectx.typ.Base == TypeInteger && c.ectx.bits == 32 {
		a.Type, a.Bits = c.ectx.typ, c.ectx.bits
	}
}

// keywordConstants are words of the grammar that have a type of their own
// wherever they stand.
var keywordConstants = map[string]struct {
	typ *Datatype
	val byte
}{
	"tcp": {TypeInetProto, 6}, "udp": {TypeInetProto, 17}, "udplite": {TypeInetProto, 136},
	"esp": {TypeInetProto, 50}, "ah": {TypeInetProto, 51}, "icmp": {TypeInetProto, 1},
	"igmp": {TypeInetProto, 2}, "icmpv6": {TypeInetProto, 58}, "gre": {TypeInetProto, 47},
	"comp": {TypeInetProto, 108}, "dccp": {TypeInetProto, 33}, "sctp": {TypeInetProto, 132},
	"redirect": {TypeICMPType, 5},
	"exists":   {TypeBoolean, 1}, "missing": {TypeBoolean, 0},
}

// symbol resolves a word by the expected type.
func (c *ruleCtx) symbol(e *parser.Symbol) Expr {
	if !e.Quoted {
		if k, ok := keywordConstants[e.Text]; ok {
			v := &Value{Attr: Attr{Span: e.Span, Type: k.typ, Order: OrderHost, Bits: k.typ.Bits}, Bytes: []byte{k.val}}
			return c.integer(v)
		}
	}
	if c.ectx.typ == nil {
		return c.fail("unknown-type", e.Span, "No symbol type information")
	}
	text := e.Text
	if e.Number && !e.Quoted {
		// Numbers reach datatypes in decimal, also those for which that is
		// something else.
		if n, isNum, ok := parseUintC(text); isNum && ok {
			text = uitoa(n)
		}
	}
	k, err := c.ectx.typ.parseConst(&c.opt, text)
	if err != nil {
		d := diag.Diagnostic{Code: "bad-value", Span: e.Span, Message: err.Error()}
		d.Suggest = c.suggestValue(e.Text)
		c.diags.Add(d)
		return nil
	}
	v := &Value{Attr: Attr{Span: e.Span, Type: k.Type, Order: k.Type.Order, Bits: len(k.Bytes) * 8}, Bytes: k.Bytes}
	if k.Type.IsString() {
		return c.stringValue(v)
	}
	return c.integer(v)
}

// suggestValue is the nearest named constant of the expected type.
func (c *ruleCtx) suggestValue(text string) string {
	for d := c.ectx.typ; d != nil; d = d.Base {
		if d.Symbols != nil {
			return diag.Nearest(text, d.Symbols.Names())
		}
	}
	return ""
}

// integer checks the range of a numeric constant and gives it the length and
// order of the context (expr_evaluate_integer).
func (c *ruleCtx) integer(v *Value) Expr {
	if !v.Type.IsInteger() {
		return c.fail("bad-value", v.Span, "Unexpected datatype %s", v.Type.Name)
	}
	if c.ectx.max > 0 && (bitLen(v.Bytes) > 32 || bytesUint(v.Bytes) > uint64(c.ectx.max)) {
		return c.fail("value-out-of-range", v.Span, "Value %s exceeds valid range 0-%d", new(big.Int).SetBytes(v.Bytes), c.ectx.max)
	}
	bits := max(c.ectx.bits, c.stmtBits)
	b, err := fitBits(v.Bytes, bits)
	if err != nil {
		return c.fail("value-out-of-range", v.Span, "%s", err)
	}
	v.Bytes, v.Bits, v.Order = b, bits, c.ectx.order
	return v
}

// stringValue checks the length of a string and takes a trailing * for a
// prefix (expr_evaluate_string).
func (c *ruleCtx) stringValue(v *Value) Expr {
	if c.ectx.bits > 0 {
		if (len(v.Bytes)+1)*8 > c.ectx.bits {
			return c.fail("string-too-long", v.Span, "String exceeds maximum length of %d", c.ectx.bits/8)
		}
	}
	if len(v.Bytes) == 0 {
		return c.fail("empty-string", v.Span, "Empty string is not allowed")
	}
	v.Bits = (len(v.Bytes) + 1) * 8
	if c.ectx.bits > 0 {
		v.Bits = c.ectx.bits
	}
	v.Type, v.Order = c.ectx.typ, OrderHost
	n := len(v.Bytes) - 1
	if v.Bytes[n] != '*' {
		return v
	}
	if n == 0 {
		return c.fail("bad-wildcard", v.Span, "All-wildcard strings are not supported")
	}
	if v.Bytes[n-1] == '\\' {
		v.Bytes = append(v.Bytes[:n-1:n-1], '*')
		return v
	}
	v.Bytes, v.Wildcard = v.Bytes[:n], true
	return v
}

// prefix resolves X/len.
func (c *ruleCtx) prefix(e *parser.Prefix) Expr {
	x := c.eval(e.X)
	if x == nil {
		return nil
	}
	a := x.Common()
	v, ok := x.(*Value)
	if !ok {
		return c.fail("bad-prefix", e.Span, "Prefix expression is undefined for non-constant expressions")
	}
	if !a.Type.IsInteger() && !a.Type.IsString() {
		return c.fail("bad-prefix", e.Span, "Prefix expression is undefined for %s types", a.Type.Desc)
	}
	n, ok := c.plainNumber(e.Len)
	if !ok {
		return nil
	}
	if n > uint64(a.Bits) {
		return c.fail("bad-prefix", e.Span, "Prefix length %d is invalid for type of %d bits width", n, a.Bits)
	}
	p := &Prefix{Attr: *a, Len: int(n)}
	p.Span = e.Span
	if a.Type.IsString() {
		if v.Wildcard {
			return c.fail("bad-prefix", v.Span, "Binary operation (&) is undefined for prefix expressions")
		}
		b := make([]byte, int(n+7)/8)
		copy(b, v.Bytes)
		if n%8 != 0 {
			// Strings count as numbers whose first byte is the least.
			b[len(b)-1] &= 1<<(n%8) - 1
		}
		v.Bytes, v.Wildcard = b, true
		return v
	}
	if c.ectx.max > 0 {
		// The mask is a value too, and must lie in the valid range.
		mask := Value{Attr: v.Attr, Bytes: maskBytes(maskNumber(v.Bits, 0, v.Bits), v.Bits, int(n))}
		if c.integer(&mask) == nil {
			return nil
		}
	}
	v.Bytes = maskBytes(v.Bytes, v.Bits, int(n))
	p.X = v
	return p
}

// maskBytes clears the bits of a number below its first n of bits.
func maskBytes(b []byte, bits, n int) []byte {
	out := append([]byte(nil), b...)
	for i := 0; i < bits-n; i++ {
		out[len(out)-1-i/8] &^= 1 << (i % 8)
	}
	return out
}

// plainNumber reads a number that is part of the syntax, perhaps by variable.
func (c *ruleCtx) plainNumber(e parser.Expr) (uint64, bool) {
	s, ok := c.follow(e).(*parser.Symbol)
	if !ok {
		if e != nil {
			c.fail("bad-value", e.Pos(), "expected a number")
		}
		return 0, false
	}
	n, isNum, fits := parseUintC(s.Text)
	if !isNum || !fits {
		c.fail("bad-value", s.Span, "expected a number, not %q", s.Text)
		return 0, false
	}
	return n, true
}

// rangeValue resolves From-To (expr_evaluate_range).
func (c *ruleCtx) rangeValue(e *parser.Range) Expr {
	from, to := c.rangeEnds(e)
	if from == nil || to == nil {
		return nil
	}
	switch cmp := compareNumbers(from.Bytes, to.Bytes); {
	case cmp > 0:
		return c.fail("empty-range", e.Span, "Range negative size")
	case cmp == 0:
		return from
	}
	r := &RangeValue{Attr: from.Attr, From: from, To: to}
	r.Span = e.Span
	return r
}

func (c *ruleCtx) rangeEnds(e *parser.Range) (from, to *Value) {
	ctx := c.ectx
	end := func(e2 parser.Expr) *Value {
		c.ectx = ctx
		x := c.eval(e2)
		if x == nil {
			return nil
		}
		if t := x.Common().Type; !t.IsInteger() {
			c.fail("bad-range", x.Common().Span, "Range expression is undefined for %s types", t.Desc)
			return nil
		}
		v, ok := x.(*Value)
		if !ok {
			if isConstant(x) {
				c.fail("bad-range", x.Common().Span, "cannot use %s in a range", exprName(x))
			} else {
				c.fail("bad-range", x.Common().Span, "Range is not constant")
			}
			return nil
		}
		return v
	}
	if from = end(e.From); from == nil {
		return nil, nil
	}
	to = end(e.To)
	return from, to
}

// compareNumbers compares numbers of any length.
func compareNumbers(a, b []byte) int {
	n := max(len(a), len(b))
	a, b = resize(a, n), resize(b, n)
	for i := range a {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// list resolves `a,b,c`: the union of flags.
func (c *ruleCtx) list(e *parser.List) Expr {
	ctx := c.ectx
	if ctx.typ == nil {
		return c.fail("unknown-type", e.Span, "No symbol type information")
	}
	sum := make([]byte, (ctx.bits+7)/8)
	for _, item := range e.Items {
		c.ectx = ctx
		c.nested++
		x := c.eval(item)
		c.nested--
		if x == nil {
			return nil
		}
		v, ok := x.(*Value)
		if !ok {
			return c.fail("bad-list", x.Common().Span, "List member must be a constant value")
		}
		if v.Type.direct().ID != IDBitmask {
			return c.fail("bad-list", v.Span, "Basetype of type %s is not bitmask", v.Type.Desc)
		}
		b := resize(v.Bytes, len(sum))
		for i := range sum {
			sum[i] |= b[i]
		}
	}
	return &Value{Attr: Attr{Span: e.Span, Type: ctx.typ, Order: OrderHost, Bits: ctx.bits}, Bytes: sum}
}

// setRef resolves @name.
func (c *ruleCtx) setRef(e *parser.SetRef) Expr {
	s := c.findSet(e.Name)
	if s == nil {
		return nil
	}
	bits := s.Key.Bits
	c.setContext(s.Key, s.Key.Order, bits, 0)
	c.ectx.key = nestedKey
	if s.KeyExpr != nil {
		c.ectx.key = s.KeyExpr
	}
	return &SetRef{Attr: Attr{Span: e.Span, Type: s.Key, Order: s.Key.Order, Bits: bits}, Set: s}
}

// verdict resolves a verdict as a value.
func (c *ruleCtx) verdict(e *parser.Verdict) Expr {
	v := &Verdict{Attr: Attr{Span: e.Span, Type: TypeVerdict}}
	switch e.Kind {
	case "accept":
		v.Code = bytecode.Accept
	case "drop":
		v.Code = bytecode.Drop
	case "continue":
		v.Code = bytecode.Continue
	case "return":
		v.Code = bytecode.Return
	case "jump":
		v.Code = bytecode.Jump
	case "goto":
		v.Code = bytecode.Goto
	default:
		return c.fail("bad-value", e.Span, "unknown verdict %q", e.Kind)
	}
	if e.Block != nil {
		if v.Anon = c.anonChain(e.Block); v.Anon == nil {
			return nil
		}
		return v
	}
	if v.Code != bytecode.Jump && v.Code != bytecode.Goto {
		return v
	}
	s, ok := c.follow(e.Chain).(*parser.Symbol)
	if !ok {
		if e.Chain != nil {
			c.fail("bad-value", e.Chain.Pos(), "not a value expression")
		}
		return nil
	}
	const maxName = 128 // NFT_CHAIN_MAXNAMELEN
	if s.Text == "" {
		return c.fail("bad-value", s.Span, "chain name length 0 not allowed")
	}
	if len(s.Text) >= maxName {
		return c.fail("bad-value", s.Span, "chain name too long (%d, max %d)", len(s.Text), maxName)
	}
	v.ChainName = s.Text
	v.ChainSpan = e.Chain.Pos()
	return v
}
