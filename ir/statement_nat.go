package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// natFlags are the words behind a NAT statement.
var natFlags = map[string]uint32{
	"random": bytecode.NATRandom, "fully-random": bytecode.NATFullyRandom, "persistent": bytecode.NATPersistent,
}

// nfProtos are the families that may stand before `to`.
var nfProtos = map[string]bytecode.Family{
	"": 0, "ip": bytecode.FamilyIP, "ip6": bytecode.FamilyIP6,
}

// nat resolves snat, dnat, masquerade and redirect (stmt_evaluate_nat).
func (c *ruleCtx) nat(s *parser.NAT) {
	word := c.keyword(s.Span, 1)
	n := &NAT{StmtSpan: StmtSpan{word}, Kind: s.Kind, ConcatAddrPort: s.AddrPort, Prefix: s.Prefix}
	if s.Prefix {
		n.Flags |= bytecode.NATNetmap
	}
	for i := range s.Flags {
		f, ok := natFlags[s.Flags[i].Text]
		if !ok {
			c.unknownWord("unknown-nat-flag", s.Flags[i], "flag", []string{"random", "fully-random", "persistent"})
			return
		}
		n.Flags |= f
	}
	fam, ok := nfProtos[s.Family.Text]
	if !ok {
		c.unknownWord("unknown-family", s.Family, "family", []string{"ip", "ip6"})
		return
	}
	n.Family = fam
	switch c.family() {
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		if n.Family == 0 {
			n.Family = c.family()
		}
	case bytecode.FamilyInet:
		switch {
		case s.Addr == nil:
			n.Family = bytecode.FamilyInet
		case n.Family == 0:
			n.Family = c.networkFamily()
		}
	default:
		c.diags.Errorf("nat-family", word, "NAT is only supported for IPv4/IPv6")
		return
	}
	if s.Addr != nil {
		if !c.sameNetwork(word, s.Kind, n.Family) {
			return
		}
		if n.ConcatAddrPort || c.natConcatMap(s.Addr) {
			n.ConcatAddrPort = true
			if c.natAddrPort(s, n, word) {
				c.emit(n)
			}
			return
		}
		if n.Addr = c.natAddr(word, s.Kind, &n.Family, s.Addr); n.Addr == nil {
			return
		}
		if m, ok := n.Addr.(*Map); ok {
			n.Interval = m.Set.DataInterval
		}
	}
	if s.Port != nil {
		if n.Port = c.natPort(s.Port, n.Addr); n.Port == nil {
			return
		}
		n.Flags |= bytecode.NATProtoSpecified
	}
	c.emit(n)
}

// sameNetwork checks the family of an address against the network protocol of
// the rule so far (stmt_evaluate_l3proto).
func (c *ruleCtx) sameNetwork(at diag.Span, stmt string, fam bytecode.Family) bool {
	net := c.networkFamily()
	if net == 0 || net == fam {
		return true
	}
	name := "unknown"
	if fam != 0 {
		name = fam.String()
	}
	c.diags.Errorf("conflicting-protocols", at,
		"conflicting protocols specified: %s vs. %s. You must specify ip or ip6 family in %s statement",
		net, name, stmt)
	return false
}

// addrType is the type of addresses of a family, nil for others.
func addrType(fam bytecode.Family) *Datatype {
	switch fam {
	case bytecode.FamilyIP:
		return TypeIPv4Addr
	case bytecode.FamilyIP6:
		return TypeIPv6Addr
	}
	return nil
}

// natAddr resolves the address of a NAT or tproxy statement
// (stmt_evaluate_addr). In an inet table the family may be told by the key of a
// map only.
func (c *ruleCtx) natAddr(at diag.Span, stmt string, fam *bytecode.Family, e parser.Expr) Expr {
	if c.family() == bytecode.FamilyInet {
		if *fam == bytecode.FamilyInet || *fam == 0 {
			c.inferFamily(e, fam)
		}
	}
	// In ip and ip6 tables the address is of the table's family, whatever the
	// statement says.
	of := c.family()
	if of == bytecode.FamilyInet {
		of = *fam
	}
	typ := addrType(of)
	if typ == nil {
		c.ambiguousFamily(at, stmt)
		return nil
	}
	return c.argument(e, want{Type: typ, Order: OrderBig, Bits: typ.Bits})
}

func (c *ruleCtx) ambiguousFamily(at diag.Span, stmt string) {
	c.diags.Errorf("ambiguous-family", at, "specify `%s ip' or '%s ip6' in %s table to disambiguate",
		stmt, stmt, c.family())
}

// inferFamily takes the family from the fields that a map is keyed with
// (expr_family_infer).
func (c *ruleCtx) inferFamily(e parser.Expr, fam *bytecode.Family) {
	m, ok := e.(*parser.Map)
	if !ok {
		return
	}
	keys := []parser.Expr{m.X}
	if cc, ok := m.X.(*parser.Concat); ok {
		keys = cc.Items
	}
	for _, k := range keys {
		if p, ok := k.(*parser.Payload); ok && p.Inner == nil {
			switch p.Proto.Text {
			case "ip":
				*fam = bytecode.FamilyIP
			case "ip6":
				*fam = bytecode.FamilyIP6
			}
		}
	}
}

// natConcatMap tells whether a map gives `address . port` (nat_concat_map).
func (c *ruleCtx) natConcatMap(e parser.Expr) bool {
	m, ok := e.(*parser.Map)
	if !ok {
		return false
	}
	switch maps := m.Maps.(type) {
	case *parser.SetLit:
		for _, el := range maps.Elems {
			if _, ok := el.Data.(*parser.Concat); ok {
				return true
			}
		}
	case *parser.SetRef:
		if set := c.setNamed(maps.Name.Text); set != nil {
			return len(set.DataFields) > 1
		}
	}
	return false
}

// natAddrPort resolves a NAT whose map gives address and port together
// (stmt_evaluate_nat_map).
func (c *ruleCtx) natAddrPort(s *parser.NAT, n *NAT, word diag.Span) bool {
	if s.Port != nil {
		c.diags.Errorf("nat-map-and-port", word, "nat map and protocol are mutually exclusive")
		return false
	}
	if n.Family == bytecode.FamilyInet || n.Family == 0 {
		c.inferFamily(s.Addr, &n.Family)
	}
	addr := addrType(n.Family)
	if addr == nil {
		c.ambiguousFamily(word, s.Kind)
		return false
	}
	typ := ConcatType([]*Datatype{addr, TypeInetService})
	if n.Addr = c.value(s.Addr, want{Type: typ, Order: OrderBig, Bits: typ.Bits}); n.Addr == nil {
		return false
	}
	m, isMap := n.Addr.(*Map)
	if c.protoAt(bytecode.BaseTransport) == nil && !hasTransportKey(n.Addr) {
		c.noTransport(n.Addr.Common().Span)
		return false
	}
	if !isMap {
		return true
	}
	n.Interval = m.Set.DataInterval
	parts := m.Set.Data.Parts
	if len(parts) != 2 || !addr.compatible(parts[0]) || !TypeInetService.compatible(parts[1]) {
		c.mismatch(typ, m.Set.Data, m.Span)
		return false
	}
	return true
}

func (c *ruleCtx) noTransport(at diag.Span) {
	c.diags.Errorf("no-transport-protocol", at,
		"transport protocol mapping is only valid after transport protocol match")
}

// natPort resolves the port of a NAT or tproxy statement
// (nat_evaluate_transport).
func (c *ruleCtx) natPort(e parser.Expr, addr Expr) Expr {
	x := c.argument(e, want{Type: TypeInetService, Order: OrderBig, Bits: 16})
	if x == nil {
		return nil
	}
	if c.protoAt(bytecode.BaseTransport) == nil && !hasTransportKey(addr) {
		c.noTransport(x.Common().Span)
		return nil
	}
	return x
}

// hasTransportKey tells whether a map's key contains a field that ties the rule
// to a transport protocol (nat_evaluate_addr_has_th_expr).
func hasTransportKey(e Expr) bool {
	m, ok := e.(*Map)
	if !ok {
		return false
	}
	key, ok := m.Key.(*Concat)
	if !ok {
		return false
	}
	for _, it := range key.Items {
		switch it := it.(type) {
		case *Payload:
			if it.Base == bytecode.BaseTransport && it.Proto != nil && it.Proto.Name != "th" {
				return true
			}
			if it.Base == bytecode.BaseNetwork && it.Field != nil &&
				(it.Field.Name == "protocol" || it.Field.Name == "nexthdr") {
				return true
			}
		case *Meta:
			if it.Key == bytecode.MetaL4Proto {
				return true
			}
		}
	}
	return false
}

// argument resolves the operand of a statement. A range of one value is that
// value.
func (c *ruleCtx) argument(e parser.Expr, w want) Expr {
	x := c.stmtArg(e, w.Type, w.Bits, w.Order, e.Pos())
	if r, ok := x.(*RangeValue); ok && string(r.From.Bytes) == string(r.To.Bytes) {
		return r.From
	}
	return x
}

func (c *ruleCtx) mismatch(want, got *Datatype, at diag.Span) {
	c.diags.Errorf("type-mismatch", at, "datatype mismatch: expected %s, expression has type %s", want.Desc, got.Desc)
}

// tproxy resolves `tproxy to` (stmt_evaluate_tproxy).
func (c *ruleCtx) tproxy(s *parser.TProxy) {
	t := &TProxy{StmtSpan: StmtSpan{s.Span}}
	fam, ok := nfProtos[s.Family.Text]
	if !ok {
		c.unknownWord("unknown-family", s.Family, "family", []string{"ip", "ip6"})
		return
	}
	t.Family = fam
	switch c.family() {
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		if t.Family == 0 {
			t.Family = c.family()
		}
	case bytecode.FamilyInet:
	default:
		c.diags.Errorf("tproxy-family", s.Span, "tproxy is only supported for IPv4/IPv6/INET")
		return
	}
	switch {
	case c.protoAt(bytecode.BaseTransport) == nil:
		c.diags.Errorf("no-transport-protocol", s.Span, "Transparent proxy support requires transport protocol match")
		return
	case s.Addr == nil && s.Port == nil:
		c.diags.Errorf("tproxy-target", s.Span, "Either address or port must be specified!")
		return
	case !c.sameNetwork(s.Span, "tproxy", t.Family):
		return
	}
	if s.Addr != nil {
		if t.Addr = c.natAddr(s.Span, "tproxy", &t.Family, s.Addr); t.Addr == nil {
			return
		}
		if _, isRange := t.Addr.(*RangeValue); isRange {
			c.diags.Errorf("tproxy-range", s.Span, "Address ranges are not supported for tproxy.")
			return
		}
	}
	if s.Port != nil {
		if t.Port = c.natPort(s.Port, nil); t.Port == nil {
			return
		}
		if _, isRange := t.Port.(*RangeValue); isRange {
			c.diags.Errorf("tproxy-range", s.Span, "Port ranges are not supported for tproxy.")
			return
		}
	}
	c.emit(t)
}

// device resolves an interface as operand of a statement.
func (c *ruleCtx) device(s diag.Span, e parser.Expr) Expr {
	x := c.argument(e, want{Type: TypeIfIndex, Order: OrderHost, Bits: 32})
	if x == nil || c.refuseRange(s, x) {
		return nil
	}
	return x
}

// address resolves an address as operand of dup and fwd.
func (c *ruleCtx) address(s diag.Span, fam bytecode.Family, e parser.Expr) Expr {
	typ := addrType(fam)
	x := c.argument(e, want{Type: typ, Order: OrderBig, Bits: typ.Bits})
	if x == nil || c.refuseRange(s, x) {
		return nil
	}
	return x
}

// refuseRange reports a range where only one value can be used
// (stmt_error_range).
func (c *ruleCtx) refuseRange(stmt diag.Span, x Expr) bool {
	if _, ok := x.(*RangeValue); !ok {
		return false
	}
	c.diags.Errorf("range-as-value", x.Common().Span, "%s: range argument not supported",
		c.files.Text(c.keyword(stmt, 1)))
	return true
}

// dup resolves `dup to` (stmt_evaluate_dup).
func (c *ruleCtx) dup(s *parser.Dup) {
	d := &Dup{StmtSpan: StmtSpan{s.Span}}
	switch fam := c.family(); fam {
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		if s.To == nil {
			c.diags.Errorf("dup-target", s.Span, "missing destination address")
			return
		}
		if d.Addr = c.address(s.Span, fam, s.To); d.Addr == nil {
			return
		}
		if s.Dev != nil {
			if d.Dev = c.device(s.Span, s.Dev); d.Dev == nil {
				return
			}
		}
	case bytecode.FamilyNetdev:
		switch {
		case s.To == nil:
			c.diags.Errorf("dup-target", s.Span, "missing destination interface")
			return
		case s.Dev != nil:
			c.diags.Errorf("dup-target", s.Span, "cannot specify device")
			return
		}
		if d.Dev = c.device(s.Span, s.To); d.Dev == nil {
			return
		}
	default:
		c.diags.Errorf("unsupported-family", s.Span, "unsupported family")
		return
	}
	c.emit(d)
}

// fwd resolves `fwd to` (stmt_evaluate_fwd).
func (c *ruleCtx) fwd(s *parser.Fwd) {
	if c.family() != bytecode.FamilyNetdev {
		c.diags.Errorf("unsupported-family", s.Span, "unsupported family")
		return
	}
	f := &Fwd{StmtSpan: StmtSpan{s.Span}}
	if s.Dev == nil {
		c.diags.Errorf("fwd-target", s.Span, "missing destination interface")
		return
	}
	if f.Dev = c.device(s.Span, s.Dev); f.Dev == nil {
		return
	}
	if s.Addr != nil {
		f.Family = nfProtos[s.Family.Text]
		if f.Family == 0 {
			c.diags.Errorf("fwd-target", s.Span, "missing family")
			return
		}
		if f.Addr = c.address(s.Span, f.Family, s.Addr); f.Addr == nil {
			return
		}
	}
	c.emit(f)
}

// queueFlags are the words of `queue flags`.
var queueFlags = map[string]uint16{"bypass": bytecode.QueueBypass, "fanout": bytecode.QueueFanout}

// queue resolves queue (stmt_evaluate_queue).
func (c *ruleCtx) queue(s *parser.Queue) {
	sp := s.Span
	q := &Queue{StmtSpan: StmtSpan{sp}}
	for i := range s.Flags {
		f, ok := queueFlags[s.Flags[i].Text]
		if !ok {
			c.unknownWord("unknown-queue-flag", s.Flags[i], "flag", []string{"bypass", "fanout"})
			return
		}
		q.Flags |= f
	}
	if s.Num != nil {
		q.Num = c.argument(s.Num, want{Type: TypeInteger, Order: OrderHost, Bits: 16})
		if q.Num == nil {
			return
		}
		_, isRange := q.Num.(*RangeValue)
		if q.Flags&bytecode.QueueFanout != 0 && !isRange {
			c.diags.Errorf("queue-fanout", q.Num.Common().Span, "fanout requires a range to be specified")
			return
		}
		var highest uint64
		switch x := q.Num.(type) {
		case *Numgen:
			highest = uint64(x.Modulus) + uint64(x.Offset) - 1
		case *Hash:
			highest = uint64(x.Modulus) + uint64(x.Offset) - 1
		}
		if highest > 0xffff {
			c.diags.Errorf("queue-number", q.Num.Common().Span, "queue expression max value exceeds %d", 0xffff)
			return
		}
	}
	c.emit(q)
}
