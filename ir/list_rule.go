package ir

import (
	"fmt"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// rule prints a rule on one line (more for anonymous chains), without indent.
func (l *lister) rule(f bytecode.Family, r *Rule) string {
	rl := &ruleLister{lister: l, family: f}
	rl.ctx.pctx[0] = newProtoCtx(f)
	rl.ctx.pctx[1] = newProtoCtx(bytecode.FamilyBridge)
	rl.forget()
	for _, s := range r.Reduced(f) {
		if m, ok := s.(*Match); ok && m.Merged != nil {
			for _, part := range m.Merged {
				rl.match(part)
			}
			continue
		}
		rl.stmt(s)
	}
	var parts []string
	for _, it := range rl.items {
		switch {
		case it.dropped:
		case it.match != nil:
			parts = append(parts, rl.matchText(it.match))
		default:
			parts = append(parts, it.text)
		}
	}
	if r.CommentSet {
		parts = append(parts, `comment "`+r.Comment+`"`)
	}
	return strings.Join(parts, " ")
}

// listItem is a statement of a rule that is being printed: a match as it is
// listed, or the text of another statement.
type listItem struct {
	match   *Match
	text    string
	dropped bool
}

// layers is what is known of the headers of a packet, or of those inside of a
// tunnel: the matches that told what a layer is and may be dropped, by that
// layer (payload_dep_ctx), and the ICMP message type that was tested for.
type layers struct {
	deps     [bytecode.BaseInner + 1]*listItem
	icmpType int
}

// ruleLister prints one rule. Like nft, it follows what the matches tell of the
// protocols and drops a match once a later one implies it.
type ruleLister struct {
	*lister
	family bytecode.Family
	ctx    ruleCtx // only its protocol contexts are used
	items  []*listItem
	outer  layers
	inner  layers
	// prev is the statement before, for ranges written as two comparisons.
	prev *listItem
}

// forget drops what is known of dependencies: behind a statement with side
// effects matches in front of it must stay (rule_maybe_reset_payload_deps).
func (r *ruleLister) forget() {
	r.outer = layers{icmpType: -1}
	r.inner = layers{icmpType: -1}
	r.prev = nil
}

// enter chooses the headers of the packet, or with a tunnel those inside of it.
func (r *ruleLister) enter(in *InnerProto) *layers {
	r.ctx.inner = nil
	if in == nil {
		return &r.outer
	}
	r.ctx.inner = ProtocolNamed(in.Name)
	return &r.inner
}

func (r *ruleLister) stmt(s Stmt) {
	if m, ok := s.(*Match); ok {
		r.match(m)
		return
	}
	it := &listItem{text: r.stmtText(r.operands(s))}
	r.items = append(r.items, it)
	r.forget()
}

// operands brings the expressions of a statement to the form in which they are
// listed: fields in them imply their protocols too.
func (r *ruleLister) operands(s Stmt) Stmt {
	switch s := s.(type) {
	case *VerdictStmt:
		out := *s
		out.X = r.listed(s.X)
		return &out
	case *Assign:
		return r.listedAssign(s)
	case *ObjRef:
		out := *s
		out.X = r.listed(s.X)
		return &out
	case *NAT:
		out := *s
		out.Addr, out.Port = r.listed(s.Addr), r.listed(s.Port)
		return &out
	case *TProxy:
		out := *s
		out.Addr = r.listed(s.Addr)
		if s.Port != nil {
			r.forget()
			out.Port = r.listed(s.Port)
		}
		return &out
	case *Dup:
		out := *s
		out.Addr, out.Dev = r.listed(s.Addr), r.listed(s.Dev)
		return &out
	case *Fwd:
		out := *s
		out.Dev, out.Addr = r.listed(s.Dev), r.listed(s.Addr)
		return &out
	case *Queue:
		out := *s
		out.Num = r.listed(s.Num)
		return &out
	case *SetUpdate:
		out := *s
		out.Key, out.Data = r.listed(s.Key), r.listed(s.Data)
		return &out
	case *Simple:
		if rej, ok := s.Instr.(*bytecode.Reject); ok {
			r.rejectDeps(rej)
		}
	}
	return s
}

// rejectDeps drops the match that a reject brought or implies
// (stmt_reject_postprocess).
func (r *ruleLister) rejectDeps(in *bytecode.Reject) {
	switch r.family {
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		if in.Type == bytecode.RejectTCPReset {
			r.outer.release(r, bytecode.BaseTransport)
		}
	case bytecode.FamilyInet, bytecode.FamilyBridge, bytecode.FamilyNetdev:
		if in.Type != bytecode.RejectICMPX {
			r.outer.release(r, bytecode.BaseNetwork)
		}
	}
}

// listed brings an expression to the form in which it is listed, and lets every
// header field in it drop what it implies.
func (r *ruleLister) listed(e Expr) Expr {
	switch e := canonical(e).(type) {
	case *Payload:
		p := r.named(e)
		r.kill(p)
		return p
	case *Exthdr:
		r.killExthdr(e)
		return e
	case *Meta:
		r.leaveTunnelDep(e.Inner)
		return e
	case *Concat:
		for i, it := range e.Items {
			e.Items[i] = r.listed(it)
		}
		return e
	case *Map:
		out := *e
		if cat, ok := e.Key.(*Concat); ok {
			turnConstants(cat, e.Set)
		}
		out.Key = r.listed(e.Key)
		ref := &SetRef{Attr: e.Attr, Set: e.Set}
		if x, y := r.unshift(out.Key, ref); y != nil {
			out.Key = x
			out.Set = y.(*SetRef).Set
		}
		return &out
	case *Binary:
		e.X, e.Y = r.listed(e.X), r.listed(e.Y)
		return e
	case *Byteorder:
		e.X = r.listed(e.X)
		return e
	case *Hash:
		out := *e
		out.X = r.listed(e.X)
		return &out
	case nil:
		return nil
	default:
		return e
	}
}

// turnConstants gives constants in the key of an interval set their numbers
// back: they are compared in network order. The key is a copy of the rule's.
func turnConstants(key *Concat, s *Set) {
	if s.Flags&bytecode.SetInterval == 0 {
		return
	}
	for i, it := range key.Items {
		if v, ok := it.(*Value); ok && v.Order == OrderHost && !v.Type.IsString() {
			turned := *v
			turned.Bytes = numberOf(v.Bytes, OrderHost)
			key.Items[i] = &turned
		}
	}
}

// named gives a raw header field the name that the protocols known so far give
// it (payload_expr_complete).
func (r *ruleLister) named(p *Payload) *Payload {
	if !p.Raw {
		return p
	}
	if f, desc := r.fieldAt(p, p.Offset, p.Bits); f != nil {
		out := *p
		out.Proto, out.Field, out.Raw, out.Type = desc, f, false, f.Type
		return &out
	}
	return p
}

// fieldAt finds the field of the header that is known to be there.
func (r *ruleLister) fieldAt(p *Payload, offset, bits int) (*HeaderField, *Protocol) {
	r.enter(p.Inner)
	pc := r.ctx.pc()
	desc := pc.layer[p.Base].proto
	if desc == nil {
		return nil, nil
	}
	if p.Base == bytecode.BaseLink {
		for _, st := range pc.stacked {
			if offset < st.Length {
				desc = st
				break
			}
			offset -= st.Length
		}
	}
	for i := range desc.Fields {
		f := &desc.Fields[i]
		if f.Offset != offset || f.Bits != bits {
			continue
		}
		if f.dep != icmpAny && pc.icmpType != 0 && pc.icmpType != f.dep.representative() {
			continue
		}
		return f, desc
	}
	return nil, nil
}

// dep returns the match that told what a layer is, if it may still be dropped.
func (y *layers) dep(base bytecode.PayloadBase) *listItem {
	if d := y.deps[base]; d != nil {
		return d
	}
	if base == bytecode.BaseTransport {
		return y.deps[bytecode.BaseInner]
	}
	return nil
}

func (y *layers) release(r *ruleLister, base bytecode.PayloadBase) {
	if y.deps[base] == nil && base == bytecode.BaseTransport {
		base = bytecode.BaseInner
	}
	if d := y.deps[base]; d != nil {
		d.dropped = true
		if r.prev == d {
			r.prev = nil
		}
		y.deps[base] = nil
	}
}

// kill drops the match that a header field implies (payload_dependency_kill).
func (r *ruleLister) kill(p *Payload) {
	r.leaveTunnelDep(p.Inner)
	if p.Raw && p.Proto != protoTH || p.Proto == nil || p.Field == nil {
		return
	}
	y := r.enter(p.Inner)
	if d := y.dep(p.Base); d != nil && r.mayKill(y, d, p) {
		y.release(r, p.Base)
	}
}

// leaveTunnelDep drops `meta l4proto gre` in front of fields inside of a GRE
// tunnel (payload_outer_may_dependency_kill).
func (r *ruleLister) leaveTunnelDep(in *InnerProto) {
	if in == nil || in.Name != "gre" && in.Name != "gretap" {
		return
	}
	d := r.outer.deps[bytecode.BaseTransport]
	if d == nil || d.match == nil {
		return
	}
	const protoNumberGRE = 47
	x, ok := d.match.X.(*Meta)
	v, ok2 := d.match.Y.(*Value)
	if ok && ok2 && x.Key == bytecode.MetaL4Proto && bytesUint(v.Bytes) == protoNumberGRE {
		r.outer.release(r, bytecode.BaseTransport)
	}
}

// mayKill tells whether a field makes a match redundant
// (payload_may_dependency_kill).
func (r *ruleLister) mayKill(y *layers, d *listItem, p *Payload) bool {
	dep, isPayload := d.match.X.(*Payload)
	switch r.ctx.pc().family {
	case bytecode.FamilyBridge, bytecode.FamilyNetdev, bytecode.FamilyInet:
		if !isPayload {
			break
		}
		// `ip protocol tcp` also says that it is IPv4.
		if dep.Base == bytecode.BaseNetwork && (dep.Proto == protoIP || dep.Proto == protoIP6) &&
			p.Base == bytecode.BaseTransport {
			return false
		}
		if isEquality(d.match.Op) && p.Base == dep.Base {
			if p.Field.protocol {
				return false
			}
			if p.Base == bytecode.BaseLink {
				return killsLink(d.match, dep)
			}
		}
	}
	if p.Base != bytecode.BaseTransport {
		return true
	}
	if p.Proto == protoTH {
		return false
	}
	if !isPayload || dep.Base != bytecode.BaseTransport {
		return true
	}
	if dep.Proto == protoICMP || dep.Proto == protoICMPv6 {
		types := p.Field.dep.types()
		return len(types) == 1 && dep.Proto == p.Proto && int(types[0]) == y.icmpType
	}
	return true
}

// killsLink tells whether `vlan …` implies a match on the ether type
// (payload_may_dependency_kill_ll).
func killsLink(m *Match, dep *Payload) bool {
	const etherTypeVlan = 0x8100
	if dep.Proto == protoVlan {
		return false
	}
	if v, ok := m.Y.(*Value); ok && dep.Proto == protoEther && len(v.Bytes) == 2 {
		return bytesUint(v.Bytes) == etherTypeVlan
	}
	return true
}

func (r *ruleLister) killExthdr(e *Exthdr) {
	switch e.Op {
	case bytecode.ExthdrTCPOpt:
		r.outer.release(r, bytecode.BaseTransport)
	case bytecode.ExthdrIPv6, bytecode.ExthdrIPv4:
		r.outer.release(r, bytecode.BaseNetwork)
	}
}

func isEquality(op MatchOp) bool { return op == MatchEq || op == MatchImplicit }

// match takes a match into the listing.
func (r *ruleLister) match(m *Match) {
	out := *m
	it := &listItem{match: &out}
	r.items = append(r.items, it)
	out.X, out.Y = r.unshift(canonical(m.X), m.Y)
	r.reverseHours(&out)
	v, single := out.Y.(*Value)
	switch x := out.X.(type) {
	case *Payload:
		x = r.named(x)
		out.X = x
		y := r.enter(x.Inner)
		if single && isEquality(out.Op) {
			stacked := r.isStacked(x, v)
			r.ctx.updateProtocol(&out)
			r.kill(x)
			if x.Field != nil && x.Field.protocol && !x.Raw {
				y.storePayload(it, x, v, stacked)
			}
		} else {
			r.kill(x)
			r.icmpSet(x, out.Y)
		}
	case *Meta:
		r.leaveTunnelDep(x.Inner)
		r.enter(x.Inner).metaOrCT(r, it, metaLayer(x.Key))
	case *CT:
		r.outer.metaOrCT(r, it, ctLayer(x.Key))
	case *Concat:
		if ref, ok := out.Y.(*SetRef); ok {
			turnConstants(x, ref.Set)
		}
		out.X = r.listed(x)
	default:
		out.X = r.listed(out.X)
	}
	r.mergeRange(it)
	r.prev = it
}

// reverseHours turns a range of hours that UTC wraps around midnight back: the
// kernel has it as the opposite of what is left of the day.
func (r *ruleLister) reverseHours(m *Match) {
	x, ok := stripOrder(m.X).(*Meta)
	rng, ok2 := m.Y.(*RangeValue)
	if !ok || !ok2 || x.Key != bytecode.MetaTimeHour || m.Op != MatchNeq {
		return
	}
	if bytesUint(rng.From.Bytes) > bytesUint(rng.To.Bytes) {
		return
	}
	swapped := *rng
	swapped.From, swapped.To = rng.To, rng.From
	m.Y, m.Op = &swapped, MatchImplicit
}

// icmpSet notes the message type when an anonymous set of them is tested: its
// first element stands for all (payload_icmp_check).
func (r *ruleLister) icmpSet(x *Payload, y Expr) {
	ref, ok := y.(*SetRef)
	if !ok || ref.Set.Flags&bytecode.SetAnonymous == 0 || x.Field == nil || !x.Field.protocol {
		return
	}
	if x.Proto != protoICMP && x.Proto != protoICMPv6 {
		return
	}
	if es := sortedElements(ref.Set); len(es) > 0 && es[0].To == nil && len(es[0].From) > 0 {
		r.enter(x.Inner)
		r.ctx.pc().icmpType = es[0].From[0]
	}
}

// isStacked tells whether a link header's type leads to another link header.
func (r *ruleLister) isStacked(x *Payload, v *Value) bool {
	if x.Field == nil || !x.Field.protocol {
		return false
	}
	desc := r.ctx.pc().layer[x.Base].proto
	if desc == nil {
		return false
	}
	next := desc.find(uint32(bytesUint(v.Bytes)))
	return next != nil && next.Base == desc.Base
}

// storePayload remembers a header field that told the next protocol
// (payload_dependency_store).
func (y *layers) storePayload(it *listItem, x *Payload, v *Value, stacked bool) {
	t := int(bytesUint(v.Bytes))
	switch x.Proto {
	case protoICMP:
		if t == 0 {
			t = 8
		}
		y.icmpType = t
		if t == 8 {
			return
		}
	case protoICMPv6:
		y.icmpType = t
		if t == 128 || t == 129 {
			return
		}
	}
	base := x.Base + 1
	if stacked {
		base = x.Base
	}
	if int(base) < len(y.deps) {
		y.deps[base] = it
	}
}

// keyLayer is what a meta or ct key tells of: base is the layer whose protocol
// field it stands for, and tells whether it says what the next layer is.
type keyLayer struct {
	base  bytecode.PayloadBase
	valid bool // base is meaningful
	tells bool
}

func metaLayer(k bytecode.MetaKey) keyLayer {
	switch k {
	case bytecode.MetaIIFType:
		return keyLayer{tells: true}
	case bytecode.MetaNFProto, bytecode.MetaProtocol:
		return keyLayer{bytecode.BaseLink, true, true}
	case bytecode.MetaL4Proto:
		return keyLayer{bytecode.BaseNetwork, true, true}
	}
	return keyLayer{}
}

func ctLayer(k bytecode.CTKey) keyLayer {
	switch k {
	case bytecode.CTL3Protocol:
		return keyLayer{bytecode.BaseLink, true, true}
	case bytecode.CTProtocol:
		return keyLayer{bytecode.BaseNetwork, true, true}
	case bytecode.CTSrc, bytecode.CTDst, bytecode.CTSrcIP, bytecode.CTDstIP, bytecode.CTSrcIP6, bytecode.CTDstIP6:
		return keyLayer{bytecode.BaseNetwork, true, false}
	}
	return keyLayer{}
}

// metaOrCT handles matches of meta and ct keys (ct_meta_common_postprocess).
func (y *layers) metaOrCT(r *ruleLister, it *listItem, of keyLayer) {
	m := it.match
	if _, single := m.Y.(*Value); !single || !isEquality(m.Op) {
		return
	}
	r.ctx.updateProtocol(m)
	if of.valid && y.dep(of.base) != nil && r.keyMayKill(y, m) {
		y.release(r, of.base)
	}
	if !of.tells {
		return
	}
	store := bytecode.BaseLink
	if of.valid {
		store = of.base + 1
	}
	y.deps[store] = it
}

// keyMayKill tells whether a meta or ct match makes the match on the network
// protocol redundant (ct_meta_may_dependency_kill): in mixed families only where
// the key can belong to that protocol alone.
func (r *ruleLister) keyMayKill(y *layers, m *Match) bool {
	d := y.dep(bytecode.BaseNetwork)
	if d == nil {
		return true
	}
	fam, known := networkOf(d.match)
	if !known {
		return true
	}
	switch own := r.ctx.pc().family; own {
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		return own == fam
	case bytecode.FamilyInet, bytecode.FamilyNetdev, bytecode.FamilyBridge:
	default:
		return true
	}
	switch x := m.X.(type) {
	case *Meta:
		if x.Key != bytecode.MetaL4Proto {
			return true
		}
		const icmp, icmpv6 = 1, 58
		switch v, _ := m.Y.(*Value); bytesUint(v.Bytes) {
		case icmp:
			return fam == bytecode.FamilyIP
		case icmpv6:
			return fam == bytecode.FamilyIP6
		}
		return false
	case *CT:
		switch x.Key {
		case bytecode.CTSrc, bytecode.CTDst:
			return x.Bits == 32 && fam == bytecode.FamilyIP || x.Bits == 128 && fam == bytecode.FamilyIP6
		case bytecode.CTSrcIP, bytecode.CTDstIP:
			return fam == bytecode.FamilyIP
		case bytecode.CTSrcIP6, bytecode.CTDstIP6:
			return fam == bytecode.FamilyIP6
		}
		return false
	}
	return true
}

// networkOf gives the network protocol that a match tests for, 0 for others
// than IP; known is false when it tests something else.
func networkOf(m *Match) (fam bytecode.Family, known bool) {
	v, ok := m.Y.(*Value)
	if !ok {
		return 0, false
	}
	n := bytesUint(v.Bytes)
	etherType := func() bytecode.Family {
		switch n {
		case 0x0800:
			return bytecode.FamilyIP
		case 0x86dd:
			return bytecode.FamilyIP6
		}
		return 0
	}
	switch x := m.X.(type) {
	case *Meta:
		switch x.Key {
		case bytecode.MetaNFProto:
			return bytecode.Family(n), true
		case bytecode.MetaProtocol:
			return etherType(), true
		}
	case *Payload:
		if x.Base == bytecode.BaseLink && x.Type == TypeEtherType {
			return etherType(), true
		}
	}
	return 0, false
}

// mergeRange joins `X >= a` and `X <= b` to a range (expr_may_merge_range; nft
// does not look at what X is beyond its kind).
func (r *ruleLister) mergeRange(it *listItem) {
	if r.prev == nil || r.prev.match == nil || r.prev.dropped {
		return
	}
	a, b := r.prev.match, it.match
	if fmt.Sprintf("%T", stripOrder(a.X)) != fmt.Sprintf("%T", stripOrder(b.X)) {
		return
	}
	lo, ok := a.Y.(*Value)
	hi, ok2 := b.Y.(*Value)
	if !ok || !ok2 {
		return
	}
	op := MatchEq
	switch {
	case a.Op == MatchGte && b.Op == MatchLte:
	case a.Op == MatchLt && b.Op == MatchGt:
		op = MatchNeq
	default:
		return
	}
	r.prev.dropped = true
	it.match = &Match{StmtSpan: b.StmtSpan, X: b.X, Op: op, Y: &RangeValue{Attr: hi.Attr, From: lo, To: hi}}
}

func stripOrder(e Expr) Expr {
	for {
		b, ok := e.(*Byteorder)
		if !ok {
			return e
		}
		e = b.X
	}
}

// matchText prints a match.
func (r *ruleLister) matchText(m *Match) string {
	op := m.Op
	if op == MatchImplicit {
		op = MatchEq
	}
	x, y := m.X, typedAs(m.Y, listedType(m.X))
	v, isValue := y.(*Value)
	if p, ok := y.(*Prefix); ok && !p.X.Type.Prefix {
		// Only addresses are listed with a prefix length.
		mask := &Value{Attr: p.X.Attr, Bytes: prefixMask(p.X.Bits, p.Len)}
		x, y = &Binary{Attr: p.Attr, Op: OpAnd, X: x, Y: mask}, p.X
	}
	if b, ok := x.(*Binary); ok && b.Op == OpAnd && isValue && (op == MatchEq || op == MatchNeq) {
		if mask, ok := b.Y.(*Value); ok {
			typ := listedType(b.X)
			mask = typedAs(mask, typ).(*Value)
			switch {
			case typ.IsBitmask() && isZero(v.Bytes):
				// `X & flags != 0` is a test for any of the flags.
				word := " "
				if op == MatchEq {
					word = " ! "
				}
				return r.exprText(b.X, false) + word + r.flagList(mask)
			case typ.Prefix:
				if n, ok := maskPrefix(mask.Bytes); ok {
					neq := " "
					if op == MatchNeq {
						neq = " != "
					}
					return fmt.Sprintf("%s%s%s/%d", r.exprText(b.X, false), neq, r.valueText(v, false), n)
				}
			}
		}
	}
	_, leftBinary := x.(*Binary)
	if f, shift := bitFieldOfExpr(x); f != nil && shift == 0 {
		leftBinary = false
	}
	if isValue && v.Type.IsBitmask() {
		switch m.Op {
		case MatchImplicit:
			if !leftBinary && !isZero(v.Bytes) {
				return r.exprText(x, false) + " " + r.flagList(v)
			}
		case MatchNeg:
			return r.exprText(x, false) + " ! " + r.flagList(v)
		}
	}
	left := r.exprText(x, false)
	if op == MatchEq && !leftBinary && !(isValue && v.Type.IsBitmask() && plainFlag(v)) {
		return left + " " + r.exprText(y, false)
	}
	return left + " " + op.String() + " " + r.exprText(y, false)
}

// plainFlag tells whether a bitmask is listed as one number or name.
func plainFlag(v *Value) bool {
	n := popCount(v.Bytes)
	return n < 2 || n == v.Bits
}

// typedAs gives constants the type of what they are compared with.
func typedAs(e Expr, t *Datatype) Expr {
	if t == nil || t.Parts != nil {
		return e
	}
	switch e := e.(type) {
	case *Value:
		out := *e
		out.Type = t
		return &out
	case *RangeValue:
		out := *e
		out.From, out.To = typedAs(e.From, t).(*Value), typedAs(e.To, t).(*Value)
		return &out
	case *Prefix:
		out := *e
		out.X = typedAs(e.X, t).(*Value)
		return &out
	}
	return e
}

// prefixMask is a mask of n ones in a number of bits.
func prefixMask(bits, n int) []byte { return maskNumber(n, bits-n, bits) }

// flagList prints flags with commas between them.
func (r *ruleLister) flagList(v *Value) string {
	if fs := r.flags(v, false); len(fs) > 0 {
		return strings.Join(fs, ",")
	}
	return r.valueText(v, false)
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// maskPrefix tells whether a mask is ones followed by zeros, and how many ones.
func maskPrefix(mask []byte) (int, bool) {
	rest := make([]byte, len(mask))
	for i := range mask {
		rest[i] = ^mask[i]
	}
	return prefixLen(make([]byte, len(mask)), rest)
}
