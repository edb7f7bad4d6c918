package ir

import (
	"fmt"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// exprText prints an expression. numeric prints numbers in place of names, as
// nft does inside of ranges.
func (l *lister) exprText(e Expr, numeric bool) string {
	switch e := e.(type) {
	case *Value:
		return l.valueText(e, numeric)
	case *Prefix:
		if e.Len == e.X.Bits {
			return l.valueText(e.X, numeric)
		}
		return fmt.Sprintf("%s/%d", l.valueText(e.X, numeric), e.Len)
	case *RangeValue:
		return l.valueText(e.From, true) + "-" + l.valueText(e.To, true)
	case *Concat:
		parts := make([]string, len(e.Items))
		for i, it := range e.Items {
			parts[i] = l.exprText(it, numeric)
		}
		return strings.Join(parts, " . ")
	case *SetRef:
		return l.setRefText(e.Set)
	case *Map:
		word := "map"
		if e.Set.DataKind == bytecode.DataVerdict {
			word = "vmap"
		}
		return fmt.Sprintf("%s %s %s", l.exprText(e.Key, numeric), word, l.setRefText(e.Set))
	case *Payload:
		return payloadText(e)
	case *Exthdr:
		return exthdrText(e)
	case *Meta:
		name, bare := MetaKeyName(e.Key)
		if !bare {
			name = "meta " + name
		}
		return innerText(e.Inner) + name
	case *CT:
		return ctText(e)
	case *RT:
		return rtText(e)
	case *Fib:
		return fibText(e)
	case *Socket:
		return socketText(e)
	case *Osf:
		return osfText(e)
	case *Numgen:
		mode := "inc"
		if e.Random {
			mode = "random"
		}
		return fmt.Sprintf("numgen %s mod %d%s", mode, e.Modulus, offsetText(e.Offset))
	case *Hash:
		if e.X == nil {
			return fmt.Sprintf("symhash mod %d%s", e.Modulus, offsetText(e.Offset))
		}
		seed := ""
		if e.SeedSet {
			seed = fmt.Sprintf(" seed 0x%x", e.Seed)
		}
		return fmt.Sprintf("jhash %s mod %d%s%s", l.exprText(e.X, numeric), e.Modulus, seed, offsetText(e.Offset))
	case *Xfrm:
		return xfrmText(e)
	case *Tunnel:
		if e.Key == 0 {
			return "tunnel path"
		}
		return "tunnel id"
	case *Binary:
		return l.binaryText(e, numeric)
	case *Byteorder:
		return l.exprText(e.X, numeric)
	case *Verdict:
		return l.verdictText(e)
	case *ObjectName:
		return `"` + e.Name + `"`
	}
	return ""
}

func offsetText(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" offset %d", n)
}

func innerText(in *InnerProto) string {
	if in == nil {
		return ""
	}
	return in.Name + " "
}

// valueText prints a constant; flags of a bitmask are joined by |.
func (l *lister) valueText(v *Value, numeric bool) string {
	numeric = numeric || l.opt.Numeric
	t := v.Type
	if t == nil {
		t = TypeInteger
	}
	if t.IsString() {
		return stringText(v)
	}
	switch {
	case t.IsBitmask():
		if flags := l.flags(v, numeric); len(flags) > 1 && len(flags) < v.Bits {
			return strings.Join(flags, " | ")
		}
		numeric = numeric || len(v.Bytes) > 0 && v.Bytes[0] == 0xff
	case t.ID == IDICMPCode || t.ID == IDICMPv6Code:
		// What a code means depends on the type: nft lists numbers.
		numeric = true
	}
	return t.FormatWith(&l.opt.Machine, v.Bytes, numeric)
}

// flags prints each bit of a bitmask, lowest first.
func (l *lister) flags(v *Value, numeric bool) []string {
	var out []string
	for i := len(v.Bytes) - 1; i >= 0; i-- {
		for bit := 0; bit < 8; bit++ {
			if v.Bytes[i]>>bit&1 == 0 {
				continue
			}
			one := make([]byte, len(v.Bytes))
			one[i] = 1 << bit
			out = append(out, v.Type.FormatWith(&l.opt.Machine, one, numeric || l.opt.Numeric))
		}
	}
	return out
}

// stringText prints a string in quotes: a wildcard with its star, a star that
// belongs to the name with a backslash.
func stringText(v *Value) string {
	s := strings.TrimRight(string(v.Bytes), "\x00")
	switch {
	case v.Wildcard:
		s += "*"
	case strings.HasSuffix(s, "*"):
		s = s[:len(s)-1] + `\*`
	}
	return `"` + s + `"`
}

func payloadText(p *Payload) string {
	inner := innerText(p.Inner)
	if p.Inner != nil && p.Proto != nil && p.Proto.Name == p.Inner.Name {
		inner = "" // a field of the tunnel's own header
	}
	if p.Proto != nil && p.Field != nil && (!p.Raw || p.Proto == protoTH) {
		name := p.Field.Name
		if a, ok := listedFields[p.Proto.Name+" "+name]; ok {
			name = a
		}
		return inner + p.Proto.Name + " " + name
	}
	return fmt.Sprintf("%s@%s,%d,%d", inner, rawBase(p), p.Offset, p.Bits)
}

// listedFields are fields that have a second name, which listings use.
var listedFields = map[string]string{"vlan cfi": "dei"}

// rawBase is the word for a header in raw payload expressions.
func rawBase(p *Payload) string {
	switch p.Base {
	case bytecode.BaseLink:
		return "ll"
	case bytecode.BaseNetwork:
		return "nh"
	case bytecode.BaseTransport:
		return "th"
	case bytecode.BaseInner:
		return "ih"
	}
	return "unknown"
}

func exthdrText(e *Exthdr) string {
	name, field := "", ""
	if e.Proto != nil {
		name = e.Proto.Name
	}
	if e.Field != nil {
		field = " " + e.Field.Name
	}
	switch e.Op {
	case bytecode.ExthdrTCPOpt:
		name = sackName(e, strings.TrimPrefix(name, "tcp option "))
		if name == "" {
			name = fmt.Sprint(e.Number)
		}
		if e.Field == nil && !e.Present {
			return fmt.Sprintf("tcp option @%d,%d,%d", e.Number, e.Offset, e.Bits)
		}
		if e.Present {
			field = ""
		}
		return "tcp option " + name + field
	case bytecode.ExthdrIPv4:
		name = strings.TrimPrefix(name, "ip option ")
		if e.Present {
			field = ""
		}
		return "ip option " + name + field
	case bytecode.ExthdrSCTP:
		name = strings.TrimPrefix(name, "sctp chunk ")
		if e.Present {
			field = ""
		}
		return "sctp chunk " + name + field
	case bytecode.ExthdrDCCP:
		return fmt.Sprintf("dccp option %d", e.Number)
	}
	if e.Present {
		return "exthdr " + name
	}
	return name + field
}

// sackName numbers the blocks of a selective acknowledgement: the kernel knows
// the offset only.
func sackName(e *Exthdr, name string) string {
	const sack, header, block = 5, 16, 64
	if e.Number != sack || e.Field == nil || e.Present || e.Offset < header+block {
		return name
	}
	return fmt.Sprintf("sack%d", (e.Offset-header)/block)
}

func ctText(e *CT) string {
	s := "ct "
	dir := e.Dir
	if e.Key == bytecode.CTProtocol || e.Key == bytecode.CTL3Protocol {
		dir = -1 // the kernel drops it: both directions are the same
	}
	switch dir {
	case 0:
		s += "original "
	case 1:
		s += "reply "
	}
	switch e.Key {
	case bytecode.CTSrcIP, bytecode.CTDstIP:
		s += "ip "
	case bytecode.CTSrcIP6, bytecode.CTDstIP6:
		s += "ip6 "
	case bytecode.CTSrc, bytecode.CTDst:
		if e.NFProto != 0 {
			s += e.NFProto.String() + " "
		}
	}
	return s + CTKeyName(e.Key)
}

func rtText(e *RT) string {
	switch e.Key {
	case bytecode.RTClassID:
		return "rt classid"
	case bytecode.RTNextHop4:
		return "rt ip nexthop"
	case bytecode.RTNextHop6:
		return "rt ip6 nexthop"
	case bytecode.RTTCPMSS:
		return "rt mtu"
	case bytecode.RTIPsec:
		return "rt ipsec"
	}
	return "rt unknown"
}

// fibFlagNames are NFTA_FIB_F_* in the order of listings.
var fibFlagNames = []struct {
	flag uint32
	name string
}{{1, "saddr"}, {2, "daddr"}, {4, "mark"}, {8, "iif"}, {16, "oif"}}

func fibText(e *Fib) string {
	var parts []string
	for _, f := range fibFlagNames {
		if e.Flags&f.flag != 0 {
			parts = append(parts, f.name)
		}
	}
	result := "unknown"
	switch e.Result {
	case 1:
		result = "oif"
		if e.Flags&fibPresent != 0 {
			result = "check"
		}
	case 2:
		result = "oifname"
	case 3:
		result = "type"
	}
	return fmt.Sprintf("fib %s %s", strings.Join(parts, " . "), result)
}

func socketText(e *Socket) string {
	for _, k := range socketKeys {
		if k.Key == e.Key {
			if e.Key == bytecode.SocketCgroupV2 {
				return fmt.Sprintf("socket cgroupv2 level %d", e.Level)
			}
			return "socket " + k.Name
		}
	}
	return "socket unknown"
}

func osfText(e *Osf) string {
	s := "osf "
	switch e.TTL {
	case 1:
		s += "ttl loose "
	case 2:
		s += "ttl skip "
	}
	if e.Flags&1 != 0 {
		return s + "version"
	}
	return s + "name"
}

func xfrmText(e *Xfrm) string {
	s := "ipsec in "
	if e.Dir != 0 {
		s = "ipsec out "
	}
	if e.SP != 0 {
		s += fmt.Sprintf("spnum %d ", e.SP)
	}
	for _, k := range xfrmKeys {
		if k.Key == e.Key {
			if k.Family != 0 {
				s += k.Family.String() + " "
			}
			return s + k.Name
		}
	}
	return s + "unknown"
}

// precedence of operators; a lower one binds tighter.
func (o BinaryOp) precedence() int {
	switch o {
	case OpLshift, OpRshift:
		return 1
	case OpAnd:
		return 2
	case OpXor:
		return 3
	}
	return 4
}

func (l *lister) binaryText(e *Binary, numeric bool) string {
	if f, shift := bitFieldOf(e); f != nil && shift == 0 {
		return l.exprText(f, numeric)
	}
	left := l.operandText(e.Op, e.X, numeric)
	y := e.Y
	if v, ok := y.(*Value); ok {
		typed := *v
		typed.Type = TypeInteger
		if e.Op != OpLshift && e.Op != OpRshift {
			typed.Type = listedType(e.X)
		}
		y = &typed
	}
	return left + " " + e.Op.String() + " " + l.operandText(e.Op, y, numeric)
}

// listedType is the type that constants beside an expression are listed in.
func listedType(e Expr) *Datatype {
	switch e := e.(type) {
	case *Binary:
		if f, shift := bitFieldOf(e); f != nil && shift == 0 {
			return f.Common().Type
		}
		if e.Op == OpLshift || e.Op == OpRshift {
			return TypeXInteger
		}
		return listedType(e.X)
	case *Byteorder:
		return listedType(e.X)
	}
	if t := e.Common().Type; t != nil {
		return t
	}
	return TypeInteger
}

// operandText prints an operand of op, in parentheses where it binds less.
func (l *lister) operandText(op BinaryOp, e Expr, numeric bool) string {
	s := l.exprText(e, numeric)
	inner := -1
	switch e := e.(type) {
	case *Binary:
		if f, shift := bitFieldOf(e); f == nil || shift != 0 {
			inner = e.Op.precedence()
		}
	case *Value:
		// Several flags are an or of them.
		if e.Type != nil && e.Type.IsBitmask() && strings.Contains(s, " | ") {
			inner = OpOr.precedence()
		}
	}
	if inner > op.precedence() {
		return "(" + s + ")"
	}
	return s
}

func (l *lister) verdictText(v *Verdict) string {
	switch v.Code {
	case bytecode.Jump, bytecode.Goto:
		return v.Code.String() + " " + v.ChainName
	}
	return v.Code.String()
}
