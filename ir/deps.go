package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// protoCtx is what is known of a packet's headers at a point of a rule, by
// layer; there is one for the packet and one for what is inside a tunnel.
type protoCtx struct {
	family bytecode.Family
	layer  [bytecode.BaseInner + 1]struct {
		proto *Protocol
		// seen are all transport protocols that were tested for; more than
		// one is ambiguous.
		seen []*Protocol
	}
	stacked  []*Protocol // link headers in front of the current one
	icmpType uint8       // 0: not tested
}

// maxTracked is how many protocols of a layer nft keeps (PROTO_CTX_NUM_PROTOS).
const maxTracked = 16

// hookBase is the layer that a family's hooks start with and what it is.
func hookBase(f bytecode.Family) (bytecode.PayloadBase, *Protocol) {
	switch f {
	case bytecode.FamilyBridge:
		return bytecode.BaseLink, protoEther
	case bytecode.FamilyNetdev:
		return bytecode.BaseLink, protoNetdev
	case bytecode.FamilyInet:
		return bytecode.BaseLink, protoInet
	case bytecode.FamilyIP6:
		return bytecode.BaseNetwork, protoIP6
	case bytecode.FamilyARP:
		return bytecode.BaseNetwork, protoArp
	}
	return bytecode.BaseNetwork, protoIP
}

func newProtoCtx(f bytecode.Family) protoCtx {
	p := protoCtx{family: f}
	base, proto := hookBase(f)
	p.layer[base].proto = proto
	return p
}

// update notes that a layer is known to be proto.
func (p *protoCtx) update(base bytecode.PayloadBase, proto *Protocol) {
	l := &p.layer[base]
	if base == bytecode.BaseTransport && len(l.seen) < maxTracked {
		known := false
		for _, s := range l.seen {
			known = known || s == proto
		}
		if !known {
			l.seen = append(l.seen, proto)
		}
	}
	l.proto = proto
}

// pc is the context of the headers that are looked at: the packet's or, inside
// a tunnel, the inner ones.
func (c *ruleCtx) pc() *protoCtx {
	if c.inner != nil {
		return &c.pctx[1]
	}
	return &c.pctx[0]
}

// protoAt returns what is known of a layer of the packet, nil for nothing.
func (c *ruleCtx) protoAt(base bytecode.PayloadBase) *Protocol {
	return c.pctx[0].layer[base].proto
}

// baseName is nft's word for a layer in messages.
func baseName(b bytecode.PayloadBase) string {
	switch b {
	case bytecode.BaseLink:
		return "link layer"
	case bytecode.BaseNetwork:
		return "network layer"
	case bytecode.BaseTransport:
		return "transport layer"
	}
	return "payload data"
}

// insertDep puts a dependency in front of the current statement.
func (c *ruleCtx) insertDep(m *Match) bool {
	c.emit(m)
	return !c.depConflict(m)
}

// prependDep puts a dependency at the start of the rule.
func (c *ruleCtx) prependDep(m *Match) {
	c.rule.Stmts = append([]Stmt{m}, c.rule.Stmts...)
}

// depConflict refuses a dependency on a header field that was compared with
// something else before (stmt_dep_conflict).
func (c *ruleCtx) depConflict(m *Match) bool {
	dep, ok := m.X.(*Payload)
	if !ok {
		return false
	}
	for _, s := range c.rule.Stmts {
		o, ok := s.(*Match)
		if !ok || o == m {
			continue
		}
		x, ok := o.X.(*Payload)
		if _, val := o.Y.(*Value); !ok || !val || x.Bits != dep.Bits {
			continue
		}
		if x.Proto == dep.Proto && x.Inner == dep.Inner && x.Base == dep.Base && x.Offset == dep.Offset {
			c.fail("conflicting-statements", o.Span.Join(m.Span), "conflicting statements")
			return true
		}
	}
	return false
}

// depMatch makes the comparison of a dependency without evaluating it.
func depMatch(x Expr, v uint64) *Match {
	a := x.Common()
	y := &Value{Attr: *a, Bytes: uintBytes(v, (a.Bits+7)/8)}
	return &Match{StmtSpan: StmtSpan{a.Span}, X: x, Op: MatchEq, Y: y, Implicit: true}
}

// addDependency makes the match that says that desc carries upper and updates
// the context (payload_add_dependency). nil after an error.
func (c *ruleCtx) addDependency(desc, upper *Protocol, at diag.Span) *Match {
	n, ok := desc.numberOf(upper)
	if !ok {
		c.fail("conflicting-protocols", at, "conflicting protocols specified: %s vs. %s", desc.Name, upper.Name)
		return nil
	}
	var x Expr
	var inner *InnerProto
	if c.inner != nil {
		inner = c.inner.Inner
	}
	if desc.metaKey != nil {
		m := newMeta(desc.metaKey, at)
		m.Inner = inner
		x = m
	} else if desc.key != nil {
		p := newPayload(desc, desc.key, at)
		p.Inner = inner
		for _, s := range c.pc().stacked {
			if desc.Base == bytecode.BaseLink {
				p.Offset += s.Length
			}
		}
		x = p
	} else {
		c.fail("conflicting-protocols", at, "conflicting protocols specified: %s vs. %s", desc.Name, upper.Name)
		return nil
	}
	m := depMatch(x, uint64(n))
	c.updateProtocol(m)
	return m
}

// linkHeader is the pseudo protocol of a mixed family's link layer
// (payload_get_get_ll_hdr).
func linkHeader(f bytecode.Family) *Protocol {
	switch f {
	case bytecode.FamilyInet:
		return protoInet
	case bytecode.FamilyBridge:
		return protoEther
	case bytecode.FamilyNetdev:
		return protoNetdev
	}
	return nil
}

// genDependency makes the match on the layer below that a header needs
// (payload_gen_dependency). nil after an error.
func (c *ruleCtx) genDependency(p *Payload) *Match {
	pc := c.pc()
	hook, _ := hookBase(pc.family)
	if p.Base < hook {
		if p.Base+1 < hook {
			c.fail("invalid-base", p.Span, "payload base is invalid for this family")
			return nil
		}
		return c.ifTypeDependency(p)
	}
	var desc *Protocol
	if p.Base > 0 {
		desc = pc.layer[p.Base-1].proto
	}
	if desc == nil {
		var ok bool
		if desc, ok = c.specialDependency(p); !ok {
			return nil
		}
	}
	if desc == nil {
		name := "invalid"
		if p.Base > 0 {
			name = baseName(p.Base - 1)
		}
		c.fail("ambiguous-payload", p.Span, "ambiguous payload specification: no %s protocol specified", name)
		return nil
	}
	if pc.family == bytecode.FamilyBridge && desc == protoEther && (p.Proto == protoIP || p.Proto == protoIP6) {
		desc = protoNetdev
	}
	return c.addDependency(desc, p.Proto, p.Span)
}

// specialDependency picks the lower layer where a mixed family leaves it open
// (payload_gen_special_dependency).
func (c *ruleCtx) specialDependency(p *Payload) (*Protocol, bool) {
	pc := c.pc()
	switch p.Base {
	case bytecode.BaseLink:
		return linkHeader(pc.family), true
	case bytecode.BaseTransport:
		if p.Proto != protoICMP && p.Proto != protoICMPv6 && p.Proto != protoIGMP {
			return protoInetService, true
		}
		desc := pc.layer[bytecode.BaseLink].proto
		if desc == nil {
			desc = linkHeader(pc.family)
		}
		if desc == nil {
			return nil, true
		}
		if p.Inner != nil && p.Inner.Flags&innerLL == 0 {
			desc = protoNetdev
		}
		upper := protoIP6
		if p.Proto == protoICMP || p.Proto == protoIGMP {
			upper = protoIP
		}
		m := c.addDependency(desc, upper, p.Span)
		if m == nil {
			return nil, false
		}
		c.emit(m)
		return upper, true
	}
	return nil, true
}

// ifTypeDependency makes `meta iiftype ether` for headers below the family's
// hooks (meta_stmt_meta_iiftype).
func (c *ruleCtx) ifTypeDependency(p *Payload) *Match {
	_, above := protoEther.numberOf(p.Proto)
	if p.Proto != protoEther && !above {
		c.fail("invalid-base", p.Span, "protocol specification is invalid for this family")
		return nil
	}
	x := newMeta(metaIIFType, p.Span)
	if c.inner != nil {
		x.Inner = c.inner.Inner
	}
	m := depMatch(x, 1)
	c.updateProtocol(m)
	return m
}

// payloadDependencies makes a rule test what a header field needs, and moves
// the field behind stacked link headers (__expr_evaluate_payload).
func (c *ruleCtx) payloadDependencies(p *Payload) bool {
	if p.Raw {
		return true
	}
	pc := c.pc()
	desc := pc.layer[p.Base].proto
	if desc == nil {
		m := c.genDependency(p)
		if m == nil || !c.insertDep(m) {
			return false
		}
		desc = pc.layer[p.Base].proto
		if desc == p.Proto {
			return c.icmpDependency(desc, p)
		}
		if p.Base == bytecode.BaseLink {
			m := c.linkConflict(desc, p)
			if m == nil {
				if desc != nil {
					c.fail("conflicting-protocols", p.Span, "conflicting protocols specified: %s vs. %s", desc.Name, p.Proto.Name)
				}
				return false
			}
			if len(pc.stacked) > 0 {
				p.Offset += pc.stacked[0].Length
			}
			return c.insertDep(m)
		}
		return c.icmpDependency(desc, p)
	}
	if p.Base == desc.Base && len(pc.layer[p.Base].seen) > 1 {
		other := desc
		for _, s := range pc.layer[p.Base].seen {
			if s != p.Proto {
				other = s
				break
			}
		}
		c.fail("conflicting-protocols", p.Span, "conflicting protocols specified: %s vs. %s", other.Name, p.Proto.Name)
		return false
	}
	if desc == p.Proto {
		if p.Base == bytecode.BaseLink {
			for _, s := range pc.stacked {
				p.Offset += s.Length
			}
		}
		return c.icmpDependency(desc, p)
	}
	if p.Base == bytecode.BaseLink {
		done, ok := c.resolveLinkConflict(desc, p)
		if done || !ok {
			return ok
		}
		if pc.layer[p.Base].proto == p.Proto {
			return true
		}
	}
	c.fail("conflicting-protocols", p.Span, "conflicting %s protocols specified: %s vs. %s",
		baseName(p.Base), pc.layer[p.Base].proto.Name, p.Proto.Name)
	return false
}

// linkConflict makes the match on the current link header's type that leads to
// another link header (ll_conflict_resolution_gen_dependency); nil when the
// header does not lead there.
func (c *ruleCtx) linkConflict(desc *Protocol, p *Payload) *Match {
	n, ok := desc.numberOf(p.Proto)
	cur := c.pc().layer[bytecode.BaseLink].proto
	if !ok || cur == nil || cur.key == nil {
		return nil
	}
	x := newPayload(cur, cur.key, p.Span)
	for _, s := range c.pc().stacked {
		x.Offset += s.Length
	}
	m := depMatch(x, uint64(n))
	c.updateProtocol(m)
	if c.inner != nil {
		x.Inner = c.inner.Inner
	}
	return m
}

// resolveLinkConflict handles a link header other than the current one
// (resolve_ll_protocol_conflict). done tells that nothing more is to do.
func (c *ruleCtx) resolveLinkConflict(desc *Protocol, p *Payload) (done, ok bool) {
	pc := c.pc()
	if desc == protoInet || desc == protoNetdev {
		if c.inner != nil {
			pc.update(bytecode.BaseLink, protoEther)
		} else {
			m := c.ifTypeDependency(p)
			if m == nil {
				return true, false
			}
			desc = p.Proto
			if !c.insertDep(m) {
				return true, false
			}
		}
	} else {
		for _, s := range pc.stacked {
			if s == p.Proto {
				return true, true
			}
		}
	}
	m := c.linkConflict(desc, p)
	if m == nil {
		return false, true
	}
	for _, s := range pc.stacked {
		p.Offset += s.Length
	}
	return true, c.insertDep(m)
}

// icmpDependency tests the message type for fields that only some messages
// have (payload_gen_icmp_dependency).
func (c *ruleCtx) icmpDependency(desc *Protocol, p *Payload) bool {
	if desc != protoICMP && desc != protoICMPv6 || p.Field == nil || p.Field.dep == icmpAny {
		return true
	}
	pc := c.pc()
	dep := p.Field.dep
	rep := dep.representative()
	switch {
	case pc.icmpType == rep:
		return true
	case dep == icmp6Echo || dep == icmp6Address:
		for _, t := range dep.types() {
			if pc.icmpType == t {
				return true
			}
		}
	}
	if pc.icmpType != 0 {
		c.fail("conflicting-protocols", p.Span, "incompatible icmp match: rule has %d, need %d", pc.icmpType, rep)
		return false
	}
	pc.icmpType = rep
	x := newPayload(p.Proto, p.Proto.key, p.Span)
	var m *Match
	if types := dep.types(); len(types) == 1 {
		m = depMatch(x, uint64(types[0]))
	} else {
		m = c.depSet(x, types)
	}
	if m == nil {
		return false
	}
	if c.inner != nil {
		x.Inner = c.inner.Inner
	}
	return c.insertDep(m)
}

// updateProtocol notes what a match tells of the packet's headers
// (relational_expr_pctx_update).
func (c *ruleCtx) updateProtocol(m *Match) {
	switch y := m.Y.(type) {
	case *Value:
		c.noteProtocol(m.X, y)
	case *SetRef:
		if y.Set == nil {
			return
		}
		if y.Set.Flags&bytecode.SetAnonymous != 0 {
			for i := range y.Set.Elements {
				if e := &y.Set.Elements[i]; e.To == nil && !e.Catchall {
					a := m.X.Common()
					c.noteProtocol(m.X, &Value{Attr: *a, Bytes: numberOf(e.From, a.Order)})
				}
			}
		} else if x, ok := m.X.(*Meta); ok {
			c.noteProtocol(m.X, &Value{Attr: x.Attr, Bytes: make([]byte, (x.Bits+7)/8)})
		}
	}
}

// numberOf turns bytes as they lie in a register into a number.
func numberOf(b []byte, o ByteOrder) []byte {
	if o != OrderHost {
		return b
	}
	r := make([]byte, len(b))
	for i := range b {
		r[len(b)-1-i] = b[i]
	}
	return r
}

func (c *ruleCtx) noteProtocol(x Expr, v *Value) {
	pc := c.pc()
	n := uint32(bytesUint(v.Bytes))
	switch x := x.(type) {
	case *Payload:
		if x.Field == nil || !x.Field.protocol || x.Raw {
			return
		}
		cur := pc.layer[x.Base].proto
		next := cur.find(n)
		if next == nil {
			switch {
			case cur == protoICMP:
				// Type 0, echo reply, stands for echo: 0 means not tested.
				if n == 0 {
					n = 8
				}
				pc.icmpType = uint8(n)
			case cur == protoICMPv6:
				if n == 129 {
					n = 128
				}
				pc.icmpType = uint8(n)
			}
			return
		}
		if next.Base == cur.Base && next.Base == bytecode.BaseLink && len(pc.stacked) < maxTracked {
			pc.stacked = append(pc.stacked, cur)
		}
		pc.update(next.Base, next)
	case *Meta:
		c.noteMeta(pc, x, n)
	case *CT:
		var base bytecode.PayloadBase
		switch x.Key {
		case bytecode.CTL3Protocol:
			base = bytecode.BaseLink
		case bytecode.CTProtocol:
			base = bytecode.BaseNetwork
		default:
			return
		}
		if next := pc.layer[base].proto.find(n); next != nil {
			pc.update(base+1, next)
		}
	}
}

// noteMeta is noteProtocol for meta keys (meta_expr_pctx_update).
func (c *ruleCtx) noteMeta(pc *protoCtx, x *Meta, n uint32) {
	hook, hookProto := hookBase(pc.family)
	known := func(p *Protocol) *Protocol {
		if p == nil {
			return protoUnknown
		}
		return p
	}
	switch x.Key {
	case bytecode.MetaIIFType:
		if hook < bytecode.BaseNetwork && pc.family != bytecode.FamilyInet && pc.family != bytecode.FamilyNetdev {
			return
		}
		p := protoUnknown
		if n == 1 {
			p = protoEther
		}
		pc.update(bytecode.BaseLink, p)
	case bytecode.MetaNFProto:
		if n == 2 && hookProto == protoIP || n == 10 && hookProto == protoIP6 {
			return
		}
		p := hookProto.find(n)
		if p == nil {
			p = protoUnknown
			if n == uint32(pc.family) && hook == bytecode.BaseNetwork {
				p = hookProto
			}
		}
		pc.update(bytecode.BaseNetwork, p)
	case bytecode.MetaL4Proto:
		pc.update(bytecode.BaseTransport, known(protoInetService.find(n)))
	case bytecode.MetaProtocol:
		if hook != bytecode.BaseLink || pc.family != bytecode.FamilyNetdev && pc.family != bytecode.FamilyBridge {
			return
		}
		pc.update(bytecode.BaseNetwork, known(hookProto.find(n)))
	}
}
