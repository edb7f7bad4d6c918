package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/parser"
)

// payload resolves a header field: what it needs is tested first, fields that
// do not begin or end at a byte are cut out (expr_evaluate_payload).
func (c *ruleCtx) payload(x *Payload) Expr {
	key := c.ectx.key
	if x.tunnel != nil && !c.enterTunnel(x) {
		return nil
	}
	if !c.payloadDependencies(x) {
		return nil
	}
	c.primaryContext(x)
	c.ectx.key = key
	if x.Offset%8 != 0 || x.Bits%8 != 0 {
		return c.bitField(x, x.Offset)
	}
	return x
}

// enterTunnel makes the rule test for the tunnel and moves the context inside
// (expr_evaluate_inner).
func (c *ruleCtx) enterTunnel(x *Payload) bool {
	pc := c.pc()
	t := x.tunnel
	desc := pc.layer[bytecode.BaseTransport].proto
	if desc == nil && t.Base < bytecode.BaseInner {
		below := pc.layer[t.Base-1].proto
		if below == nil {
			below = protoIP
		}
		n, ok := below.numberOf(t)
		if !ok || t.metaKey == nil {
			c.fail("conflicting-protocols", x.Span, "conflicting protocols specified: %s vs. %s", below.Name, t.Name)
			return false
		}
		if !c.insertDep(depMatch(newMeta(t.metaKey, x.Span), uint64(n))) {
			return false
		}
		pc.update(bytecode.BaseTransport, t)
	}
	if t.Base == bytecode.BaseInner {
		if desc == nil {
			c.fail("no-transport", x.Span, "no transport protocol specified")
			return false
		}
		if _, ok := desc.numberOf(t); !ok {
			c.fail("no-transport", x.Span, "unexpected transport protocol %s", desc.Name)
			return false
		}
		pc.update(bytecode.BaseInner, t)
	}
	if x.Base != bytecode.BaseInner {
		c.inner = t
	}
	return true
}

// bitField masks and shifts a field that is not a number of whole bytes
// (expr_evaluate_bits). offset is its bit offset.
func (c *ruleCtx) bitField(x Expr, offset int) Expr {
	if c.payloadStmt {
		return x
	}
	a := x.Common()
	bits := a.Bits
	shift, extra := offsetShift(bits, offset)
	maskBits := bits + shift
	if maskBits > maxRegisterBits {
		return c.fail("too-long", a.Span, "mask length %d exceeds allowed maximum of %d", maskBits, maxRegisterBits)
	}
	mask := &Value{Attr: Attr{Span: a.Span, Type: a.Type.Root(), Order: OrderHost, Bits: maskBits}, Bytes: maskNumber(bits, shift, maskBits)}
	and := &Binary{Attr: Attr{Span: a.Span, Type: a.Type, Order: a.Order, Bits: maskBits}, Op: OpAnd, X: x, Y: mask}
	var out Expr = and
	if shift != 0 {
		order := a.Order
		if (c.ectx.key != nil || c.stmtBits > 0) && (maskBits+7)/8 > 1 {
			out = &Byteorder{Attr: Attr{Span: a.Span, Type: a.Type, Order: OrderHost, Bits: maskBits}, X: and, Size: swapUnit(maskBits)}
			order = OrderHost
		}
		out = &Binary{
			Attr: Attr{Span: a.Span, Type: a.Type, Order: order, Bits: maskBits}, Op: OpRshift, X: out,
			Y: &Value{Attr: Attr{Span: a.Span, Type: a.Type.Root(), Order: OrderHost, Bits: 8}, Bytes: []byte{byte(shift)}},
		}
	}
	a.Bits += extra
	return out
}

// offsetShift tells how far a bit field must be shifted right in the whole
// bytes that hold it, and how many bits must be loaded beyond its own
// (expr_offset_shift).
func offsetShift(bits, offset int) (shift, extra int) {
	shift = (bits+7)/8*8 - (offset%8 + bits)
	for shift < 0 {
		shift += 8
		extra += 8
	}
	return shift, extra
}

// maskNumber is a number of total bits with n ones, shift bits from the right.
func maskNumber(n, shift, total int) []byte {
	out := make([]byte, (total+7)/8)
	for i := shift; i < shift+n && i < len(out)*8; i++ {
		out[len(out)-1-i/8] |= 1 << (i % 8)
	}
	return out
}

// swapUnit is the size in bytes in which a value of that length is swapped.
func swapUnit(bits int) int {
	switch {
	case bits%64 == 0:
		return 8
	case bits%32 == 0:
		return 4
	}
	return 2
}

// exthdr resolves a field of an extension header or option
// (expr_evaluate_exthdr).
func (c *ruleCtx) exthdr(x *Exthdr) Expr {
	var dep *Protocol
	switch x.Op {
	case bytecode.ExthdrIPv4:
		dep = protoIP
	case bytecode.ExthdrIPv6:
		dep = protoIP6
	default:
		return c.exthdrBits(x)
	}
	pc := c.pc()
	switch cur := pc.layer[bytecode.BaseNetwork].proto; {
	case cur == dep:
		return c.exthdrBits(x)
	case cur != nil:
		return c.fail("conflicting-protocols", x.Span, "cannot use exthdr with %s", cur.Name)
	}
	below := pc.layer[bytecode.BaseLink].proto
	if below == nil {
		return c.fail("ambiguous-payload", x.Span, "Cannot generate dependency: no %s protocol specified", baseName(bytecode.BaseLink))
	}
	m := c.addDependency(below, dep, x.Span)
	if m == nil {
		return nil
	}
	c.prependDep(m)
	c.ectx.key = nil
	return c.exthdrBits(x)
}

func (c *ruleCtx) exthdrBits(x *Exthdr) Expr {
	key := c.ectx.key
	if x.Present {
		x.Type = TypeBoolean
	}
	c.primaryContext(x)
	c.ectx.key = key
	total := x.Offset
	if x.Field != nil {
		total += x.Field.Bits
	}
	var out Expr = x
	if x.Offset%8 != 0 || x.Bits%8 != 0 {
		if out = c.bitField(x, x.Offset); out == nil {
			return nil
		}
	}
	const maxTCPOptions, maxIPOptions = (15*4 - 20) * 8, 40 * 8
	switch {
	case x.Op == bytecode.ExthdrTCPOpt && total > maxTCPOptions:
		return c.fail("too-long", x.Span, "offset and size %d exceeds max tcp headerlen (%d)", total, maxTCPOptions)
	case x.Op == bytecode.ExthdrIPv4 && total > maxIPOptions:
		return c.fail("too-long", x.Span, "offset and size %d exceeds max ip option len (%d)", total, maxIPOptions)
	}
	return out
}

// meta resolves a meta key (expr_evaluate_meta).
func (c *ruleCtx) meta(x *Meta) Expr {
	switch x.Key {
	case bytecode.MetaNFProto:
		if c.pc().family != bytecode.FamilyInet {
			return c.fail("unsupported-family", x.Span, "meta nfproto is only useful in the inet family")
		}
	case bytecode.MetaTimeDay:
		c.setContext(x.Type, x.Order, x.Bits, 6)
		return x
	}
	return c.primaryContext(x)
}

// ct resolves a conntrack key (expr_evaluate_ct).
func (c *ruleCtx) ct(x *CT) Expr {
	net := c.pc().layer[bytecode.BaseNetwork].proto
	switch x.Key {
	case bytecode.CTSrc, bytecode.CTDst:
		if !c.ctNetwork(x) {
			return nil
		}
		switch c.pc().layer[bytecode.BaseNetwork].proto {
		case protoIP:
			x.Type, x.NFProto = TypeIPv4Addr, bytecode.FamilyIP
		case protoIP6:
			x.Type, x.NFProto = TypeIPv6Addr, bytecode.FamilyIP6
		}
		x.Bits = x.Type.Bits
	case bytecode.CTSrcIP, bytecode.CTDstIP:
		if net == protoIP6 {
			return c.fail("conflicting-protocols", x.Span, "conflicting protocols specified: ip6 vs. ip")
		}
	case bytecode.CTSrcIP6, bytecode.CTDstIP6:
		if net == protoIP {
			return c.fail("conflicting-protocols", x.Span, "conflicting protocols specified: ip vs. ip6")
		}
	}
	return c.primaryContext(x)
}

// ctNetwork finds out whether a conntrack address is IPv4 or IPv6
// (ct_gen_nh_dependency).
func (c *ruleCtx) ctNetwork(x *CT) bool {
	switch c.pc().layer[bytecode.BaseNetwork].proto {
	case protoIP, protoIP6:
		return true
	case nil:
		word := "s"
		if x.Key == bytecode.CTDst {
			word = "d"
		}
		c.fail("ambiguous-family", x.Span, "cannot determine ip protocol version, use \"ip %saddr\" or \"ip6 %saddr\" instead", word, word)
		return false
	}
	return true
}

// rt resolves a routing key (expr_evaluate_rt).
func (c *ruleCtx) rt(x *RT) Expr {
	pc := c.pc()
	const ambiguous = "cannot determine ip protocol version, use \"ip nexthop\" or \"ip6 nexthop\" instead"
	if x.Key == bytecode.RTNextHop4 {
		switch pc.layer[bytecode.BaseNetwork].proto {
		case protoIP:
			x.Type, x.Bits = TypeIPv4Addr, 32
		case protoIP6:
			x.Key, x.Type, x.Bits = bytecode.RTNextHop6, TypeIPv6Addr, 128
		}
	}
	switch {
	case x.Key == bytecode.RTNextHop4 && x.Type != TypeIPv4Addr:
		return c.fail("ambiguous-family", x.Span, ambiguous)
	case x.Key == bytecode.RTNextHop4 && pc.family == bytecode.FamilyIP6:
		return c.fail("conflicting-protocols", x.Span, "ip nexthop will not match")
	case x.Key == bytecode.RTNextHop6 && pc.family == bytecode.FamilyIP:
		return c.fail("conflicting-protocols", x.Span, "ip6 nexthop will not match")
	}
	return c.primaryContext(x)
}

// hash resolves jhash and symhash (expr_evaluate_hash).
func (c *ruleCtx) hash(e *parser.Hash) Expr {
	x := &Hash{Attr: Attr{Span: e.Span, Type: TypeInteger, Order: OrderHost, Bits: 32}, Modulus: uint32(e.Mod.Value)}
	if e.Offset != nil {
		x.Offset = uint32(e.Offset.Value)
	}
	if e.Seed != nil {
		x.Seed, x.SeedSet = uint32(e.Seed.Value), true
	}
	c.takeContextType(&x.Attr)
	if e.X != nil {
		c.ectx = exprCtx{}
		if x.X = c.eval(e.X); x.X == nil {
			return nil
		}
	}
	c.setContext(x.Type, x.Order, x.Bits, x.Modulus+x.Offset-1)
	return x
}
