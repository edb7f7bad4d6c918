package ir

import (
	"strconv"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

func newMeta(k *metaKey, at diag.Span) *Meta {
	return &Meta{Attr: Attr{Span: at, Type: k.Type, Order: k.Order, Bits: k.Bits}, Key: k.Key}
}

func newPayload(p *Protocol, f *HeaderField, at diag.Span) *Payload {
	return &Payload{
		Attr: Attr{Span: at, Type: f.Type, Order: f.Order, Bits: f.Bits},
		Base: p.Base, Offset: f.Offset, Proto: p, Field: f,
	}
}

func newExthdr(p *Protocol, f *HeaderField, at diag.Span) *Exthdr {
	return &Exthdr{
		Attr: Attr{Span: at, Type: f.Type, Order: OrderBig, Bits: f.Bits},
		Op:   p.Op, Proto: p, Field: f, Number: p.Number, Offset: f.Offset,
	}
}

// build makes the expression that reads what e names, without looking at the
// context. nil after an error, which is reported.
func (c *ruleCtx) build(e parser.Expr) Expr {
	switch e := e.(type) {
	case *parser.Payload:
		return c.buildPayload(e)
	case *parser.RawPayload:
		return c.buildRaw(e)
	case *parser.Exthdr:
		return c.buildExthdr(e)
	case *parser.Option:
		return c.buildOption(e)
	case *parser.Meta:
		k := metaKeyNamed(e.Key.Text)
		if k == nil {
			return c.unknownWord("unknown-key", e.Key, "meta key", metaKeyNames())
		}
		return newMeta(k, e.Span)
	case *parser.CT:
		return c.buildCT(e)
	case *parser.RT:
		k := rtKeyNamed(e.Key.Text, familyWord(e.Family.Text))
		if k == nil {
			return c.unknownWord("unknown-key", e.Key, "rt key", []string{"classid", "nexthop", "mtu", "ipsec"})
		}
		return &RT{Attr: Attr{Span: e.Span, Type: k.Type, Order: k.Order, Bits: k.Bits}, Key: k.Key}
	case *parser.Fib:
		return c.buildFib(e)
	case *parser.Socket:
		for i := range socketKeys {
			if k := &socketKeys[i]; k.Name == e.Key.Text {
				x := &Socket{Attr: Attr{Span: e.Span, Type: k.Type, Order: k.Order, Bits: k.Bits}, Key: k.Key}
				if e.Level != nil {
					x.Level = uint32(e.Level.Value)
				}
				return x
			}
		}
		return c.unknownWord("unknown-key", e.Key, "socket key", []string{"transparent", "mark", "wildcard", "cgroupv2"})
	case *parser.Osf:
		x := &Osf{Attr: Attr{Span: e.Span, Type: TypeString, Order: OrderHost, Bits: 128}}
		switch e.TTL.Text {
		case "loose":
			x.TTL = 1
		case "skip":
			x.TTL = 2
		}
		if e.Key.Text == "version" {
			x.Flags = 1
		}
		return x
	case *parser.Numgen:
		return c.buildNumgen(e)
	case *parser.IPsec:
		for i := range xfrmKeys {
			if k := &xfrmKeys[i]; k.Name == e.Key.Text && k.Family == familyWord(e.Family.Text) {
				x := &Xfrm{Attr: Attr{Span: e.Span, Type: k.Type, Order: k.Order, Bits: k.Bits}, Key: k.Key}
				if e.Dir.Text == "out" {
					x.Dir = 1
				}
				if e.SPNum != nil {
					x.SP = uint32(e.SPNum.Value)
				}
				return x
			}
		}
		return c.unknownWord("unknown-key", e.Key, "ipsec key", []string{"reqid", "spi", "saddr", "daddr"})
	case *parser.Tunnel:
		x := &Tunnel{Attr: Attr{Span: e.Span, Type: TypeInteger, Order: OrderHost, Bits: 32}, Key: 1}
		if e.Key.Text == "path" {
			x.Key, x.Type, x.Bits = 0, TypeBoolean, 8
		}
		return x
	}
	return c.fail("unsupported-expression", e.Pos(), "this expression cannot stand here")
}

// unknownWord reports a word that is none of those that may stand there.
func (c *ruleCtx) unknownWord(code string, n parser.Name, what string, valid []string) Expr {
	d := diag.Diagnostic{Code: code, Span: n.Span, Message: "unknown " + what + " \"" + n.Text + "\""}
	if d.Suggest = diag.Nearest(n.Text, valid); d.Suggest != "" {
		d.Message += "; did you mean \"" + d.Suggest + "\"?"
	}
	c.diags.Add(d)
	return nil
}

// fieldAliases are words of the language for fields that nft lists otherwise.
var fieldAliases = map[string]string{"param-problem": "parameter-problem"}

func (c *ruleCtx) buildPayload(e *parser.Payload) Expr {
	p := ProtocolNamed(e.Proto.Text)
	if p == nil {
		return c.unknownWord("unknown-protocol", e.Proto, "protocol", protocolNames(payloadProtocols))
	}
	if e.Inner != nil {
		var x Expr
		if in, ok := e.Inner.(*parser.Payload); ok {
			x = c.buildPayload(in)
		} else {
			x = c.build(e.Inner)
		}
		if x == nil {
			return nil
		}
		y, ok := x.(*Payload)
		if !ok {
			return c.fail("unsupported-expression", e.Span, "%s cannot be matched inside %s", exprName(x), p.Name)
		}
		y.Span = e.Span
		y.Inner, y.tunnel = p.Inner, p
		return y
	}
	name := e.Field.Text
	if a, ok := fieldAliases[name]; ok {
		name = a
	}
	f := p.Field(name)
	if f == nil {
		return c.unknownWord("unknown-field", e.Field, "field of "+p.Name, p.FieldNames())
	}
	x := newPayload(p, f, e.Span)
	// `th` needs no dependency: it is whatever has ports.
	x.Raw = p == protoTH
	if p.Base == bytecode.BaseInner {
		// fields of the tunnel's own header
		x.Inner, x.tunnel = p.Inner, p
	}
	return x
}

func (c *ruleCtx) buildRaw(e *parser.RawPayload) Expr {
	x := &Payload{
		Attr:   Attr{Span: e.Span, Type: TypeXInteger, Order: OrderBig, Bits: int(e.Len.Value)},
		Offset: int(e.Offset.Value), Raw: true,
	}
	switch e.Base.Text {
	case "ll":
		x.Base = bytecode.BaseLink
	case "nh":
		x.Base = bytecode.BaseNetwork
	case "th":
		x.Base = bytecode.BaseTransport
	case "ih":
		x.Base = bytecode.BaseInner
	default:
		return c.unknownWord("unknown-base", e.Base, "raw payload base", []string{"ll", "nh", "th", "ih"})
	}
	if x.Base == bytecode.BaseTransport && x.Bits == 16 && (x.Offset == 0 || x.Offset == 16) {
		x.Proto, x.Field, x.Type = protoTH, &protoTH.Fields[x.Offset/16], TypeInetService
	}
	return x
}

func (c *ruleCtx) buildExthdr(e *parser.Exthdr) Expr {
	p := exthdrNamed(e.Header.Text)
	if p == nil {
		return c.unknownWord("unknown-protocol", e.Header, "extension header", protocolNames(exthdrProtocols))
	}
	if e.Field.Text == "" {
		x := newExthdr(p, &p.Fields[0], e.Span)
		x.Present = true
		return x
	}
	name := e.Field.Text
	if e.Index != nil {
		name += "[" + uitoa(e.Index.Value) + "]"
	}
	f := p.Field(name)
	if f == nil {
		n := e.Field
		n.Text = name
		return c.unknownWord("unknown-field", n, "field of "+p.Name, p.FieldNames())
	}
	return newExthdr(p, f, e.Span)
}

func uitoa(n uint64) string { return strconv.FormatUint(n, 10) }

func (c *ruleCtx) buildOption(e *parser.Option) Expr {
	var list []*Protocol
	shift := 0
	kind := e.Kind.Text
	switch e.Proto.Text {
	case "tcp":
		list = tcpOptions
		if a, ok := tcpOptionAliases[kind]; ok {
			kind, shift = a.name, a.offset
		}
	case "ip":
		list = ipOptions
	case "sctp":
		list = sctpChunks
	case "dccp":
		list = []*Protocol{dccpOption}
	}
	p := optionNamed(list, kind)
	if n, isNum, ok := parseUintC(kind); isNum {
		if !ok || n > 255 {
			return c.fail("value-too-large", e.Kind.Span, "value too large")
		}
		if p = optionNumbered(list, uint8(n)); p == nil || p == dccpOption {
			other := *tcpOptionOther
			if e.Proto.Text == "dccp" {
				other = *dccpOption
			}
			other.Number = uint8(n)
			p = &other
		}
	}
	if p == nil {
		return c.unknownWord("unknown-option", e.Kind, e.Proto.Text+" option", protocolNames(list))
	}
	if e.Raw != nil {
		return &Exthdr{
			Attr: Attr{Span: e.Span, Type: TypeInteger, Order: OrderBig, Bits: int(e.Raw.Len.Value)},
			Op:   p.Op, Proto: p, Number: p.Number, Offset: int(e.Raw.Offset.Value),
		}
	}
	if e.Field.Text == "" {
		x := newExthdr(p, &p.Fields[0], e.Span)
		x.Present = true
		return x
	}
	f := p.Field(e.Field.Text)
	if f == nil {
		return c.unknownWord("unknown-field", e.Field, "field of "+e.Proto.Text+" option "+kind, p.FieldNames())
	}
	x := newExthdr(p, f, e.Span)
	x.Present = p.Op == bytecode.ExthdrIPv4 && f.Offset == 0
	if f.Offset >= 16 {
		x.Offset += shift
	}
	return x
}

func (c *ruleCtx) buildCT(e *parser.CT) Expr {
	fam := familyWord(e.Family.Text)
	k := ctKeyNamed(e.Key.Text, fam)
	if k == nil {
		return c.unknownWord("unknown-key", e.Key, "ct key", ctKeyNames())
	}
	x := &CT{Attr: Attr{Span: e.Span, Type: k.Type, Order: k.Order, Bits: k.Bits}, Key: k.Key, Dir: -1, NFProto: fam}
	switch e.Dir.Text {
	case "original":
		x.Dir = 0
	case "reply":
		x.Dir = 1
	}
	return x
}

func (c *ruleCtx) buildFib(e *parser.Fib) Expr {
	x := &Fib{Attr: Attr{Span: e.Span, Order: OrderHost}}
	bits := map[string]uint32{"saddr": 1, "daddr": 2, "mark": 4, "iif": 8, "oif": 16}
	for _, n := range e.Flags {
		b, ok := bits[n.Text]
		if !ok {
			return c.unknownWord("unknown-key", n, "fib key", []string{"saddr", "daddr", "mark", "iif", "oif"})
		}
		x.Flags |= b
	}
	switch e.Result.Text {
	case "oif":
		x.Result, x.Type, x.Bits = 1, TypeIfIndex, 32
	case "check":
		x.Result, x.Type, x.Bits = 1, TypeBoolean, 8
		x.Flags |= fibPresent
	case "oifname":
		x.Result, x.Type, x.Bits = 2, TypeIfName, 128
	case "type":
		x.Result, x.Type, x.Bits = 3, TypeFibAddrType, 32
	default:
		return c.unknownWord("unknown-key", e.Result, "fib result", []string{"oif", "oifname", "type", "check"})
	}
	return x
}

// fibPresent is NFTA_FIB_F_PRESENT.
const fibPresent = 32

func (c *ruleCtx) buildNumgen(e *parser.Numgen) Expr {
	x := &Numgen{Attr: Attr{Span: e.Span, Type: TypeInteger, Order: OrderHost, Bits: 32}, Random: e.Mode.Text == "random"}
	x.Modulus = uint32(e.Mod.Value)
	if e.Offset != nil {
		x.Offset = uint32(e.Offset.Value)
	}
	return x
}
