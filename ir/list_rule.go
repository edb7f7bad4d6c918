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
	rl.ctx.pctx[1] = newProtoCtx(f)
	rl.forget()
	for _, s := range r.Stmts {
		rl.stmt(s)
	}
	var parts []string
	for _, it := range rl.items {
		if !it.dropped {
			parts = append(parts, it.text())
		}
	}
	if r.Comment != "" {
		parts = append(parts, `comment "`+r.Comment+`"`)
	}
	return strings.Join(parts, " ")
}

// listItem is a statement of a rule that is being printed.
type listItem struct {
	stmt    Stmt
	match   *Match // what is printed for a match, after merging
	dropped bool
	text    func() string
}

// ruleLister prints one rule. Like nft, it follows what the matches tell of the
// protocols and drops a match once a later one implies it.
type ruleLister struct {
	*lister
	family bytecode.Family
	ctx    ruleCtx // only its protocol contexts are used
	items  []*listItem
	// deps are the matches that told what a layer is and may be dropped, by
	// that layer (payload_dep_ctx).
	deps [bytecode.BaseInner + 1]*listItem
	// icmpType is the message type that was tested for.
	icmpType int
	// prev is the statement before, for ranges written as two comparisons.
	prev *listItem
}

// forget drops what is known of dependencies: behind a statement with side
// effects matches in front of it must stay (rule_maybe_reset_payload_deps).
func (r *ruleLister) forget() {
	r.deps = [bytecode.BaseInner + 1]*listItem{}
	r.icmpType = -1
	r.prev = nil
}

func (r *ruleLister) stmt(s Stmt) {
	it := &listItem{stmt: s}
	if m, ok := s.(*Match); ok {
		r.match(it, m)
		return
	}
	it.text = func() string { return r.stmtText(s) }
	r.operands(s)
	r.items = append(r.items, it)
	r.forget()
}

// operands walks the expressions of a statement: fields in them imply their
// protocols too.
func (r *ruleLister) operands(s Stmt) {
	switch s := s.(type) {
	case *VerdictStmt:
		r.walk(s.X)
	case *Assign:
		r.walk(s.Target)
		r.walk(s.Value)
	case *ObjRef:
		r.walk(s.X)
	case *NAT:
		r.walk(s.Addr)
		r.walk(s.Port)
	case *TProxy:
		r.walk(s.Addr)
		if s.Port != nil {
			r.forget()
			r.walk(s.Port)
		}
	case *Dup:
		r.walk(s.Addr)
		r.walk(s.Dev)
	case *Fwd:
		r.walk(s.Dev)
		r.walk(s.Addr)
	case *Queue:
		r.walk(s.Num)
	case *SetUpdate:
		r.walk(s.Key)
		r.walk(s.Data)
	case *Simple:
		if rej, ok := s.Instr.(*bytecode.Reject); ok {
			r.rejectDeps(rej)
		}
	}
}

// rejectDeps drops the match that a reject brought or implies
// (stmt_reject_postprocess).
func (r *ruleLister) rejectDeps(in *bytecode.Reject) {
	switch r.family {
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		if in.Type == bytecode.RejectTCPReset {
			r.release(bytecode.BaseTransport)
		}
	case bytecode.FamilyInet, bytecode.FamilyBridge, bytecode.FamilyNetdev:
		if in.Type != bytecode.RejectICMPX {
			r.release(bytecode.BaseNetwork)
		}
	}
}

// walk lets every header field in an expression drop what it implies.
func (r *ruleLister) walk(e Expr) {
	switch e := e.(type) {
	case *Payload:
		r.kill(e)
	case *Exthdr:
		r.killExthdr(e)
	case *Concat:
		for _, it := range e.Items {
			r.walk(it)
		}
	case *Map:
		r.walk(e.Key)
	case *Binary:
		r.walk(e.X)
		r.walk(e.Y)
	case *Byteorder:
		r.walk(e.X)
	case *Hash:
		r.walk(e.X)
	}
}

// dep returns the match that told what a layer is, if it may still be dropped.
func (r *ruleLister) dep(base bytecode.PayloadBase) *listItem {
	if d := r.deps[base]; d != nil {
		return d
	}
	if base == bytecode.BaseTransport {
		return r.deps[bytecode.BaseInner]
	}
	return nil
}

func (r *ruleLister) release(base bytecode.PayloadBase) {
	if r.deps[base] == nil && base == bytecode.BaseTransport {
		base = bytecode.BaseInner
	}
	if d := r.deps[base]; d != nil {
		d.dropped = true
		if r.prev == d {
			r.prev = nil
		}
		r.deps[base] = nil
	}
}

// kill drops the match that a header field implies (payload_dependency_kill).
func (r *ruleLister) kill(p *Payload) {
	if p.Raw || p.Proto == nil || p.Field == nil {
		return
	}
	if d := r.dep(p.Base); d != nil && r.mayKill(d, p) {
		r.release(p.Base)
	}
}

// mayKill tells whether a field makes a match redundant
// (payload_may_dependency_kill).
func (r *ruleLister) mayKill(d *listItem, p *Payload) bool {
	dep, isPayload := d.match.X.(*Payload)
	switch r.family {
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
	if p.Proto.Name == "th" {
		return false
	}
	if !isPayload || dep.Base != bytecode.BaseTransport {
		return true
	}
	if dep.Proto == protoICMP || dep.Proto == protoICMPv6 {
		return p.Field.dep != icmpAny && dep.Proto == p.Proto && int(p.Field.dep.representative()) == r.icmpType
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
		r.release(bytecode.BaseTransport)
	case bytecode.ExthdrIPv6, bytecode.ExthdrIPv4:
		r.release(bytecode.BaseNetwork)
	}
}

func isEquality(op MatchOp) bool { return op == MatchEq || op == MatchImplicit }

// match takes a match into the listing.
func (r *ruleLister) match(it *listItem, m *Match) {
	it.match = m
	it.text = func() string { return r.matchText(it.match) }
	r.items = append(r.items, it)
	_, single := m.Y.(*Value)
	switch x := m.X.(type) {
	case *Payload:
		if single && isEquality(m.Op) {
			stacked := r.isStacked(x, m.Y.(*Value))
			r.ctx.updateProtocol(m)
			r.kill(x)
			if x.Field != nil && x.Field.protocol && !x.Raw {
				r.storePayload(it, x, m.Y.(*Value), stacked)
			}
		} else {
			r.kill(x)
			r.icmpSet(x, m.Y)
		}
	case *Meta:
		r.metaOrCT(it, m, metaLayer(x.Key))
	case *CT:
		r.metaOrCT(it, m, ctLayer(x.Key))
	default:
		r.walk(m.X)
	}
	r.walk(m.Y)
	r.mergeRange(it)
	r.prev = it
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
		r.ctx.pctx[0].icmpType = es[0].From[0]
	}
}

// isStacked tells whether a link header's type leads to another link header.
func (r *ruleLister) isStacked(x *Payload, v *Value) bool {
	if x.Field == nil || !x.Field.protocol {
		return false
	}
	desc := r.ctx.pctx[0].layer[x.Base].proto
	next := desc.find(uint32(bytesUint(v.Bytes)))
	return next != nil && next.Base == desc.Base
}

// storePayload remembers a header field that told the next protocol
// (payload_dependency_store).
func (r *ruleLister) storePayload(it *listItem, x *Payload, v *Value, stacked bool) {
	t := int(bytesUint(v.Bytes))
	switch x.Proto {
	case protoICMP:
		if t == 0 {
			t = 8
		}
		r.icmpType = t
		if t == 8 {
			return
		}
	case protoICMPv6:
		r.icmpType = t
		if t == 128 || t == 129 {
			return
		}
	}
	base := x.Base + 1
	if stacked {
		base = x.Base
	}
	if int(base) < len(r.deps) {
		r.deps[base] = it
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
func (r *ruleLister) metaOrCT(it *listItem, m *Match, of keyLayer) {
	if _, single := m.Y.(*Value); !single || !isEquality(m.Op) {
		return
	}
	r.ctx.updateProtocol(m)
	if of.valid && r.dep(of.base) != nil && r.keyMayKill(m) {
		r.release(of.base)
	}
	if !of.tells {
		return
	}
	store := bytecode.BaseLink
	if of.valid {
		store = of.base + 1
	}
	r.deps[store] = it
}

// keyMayKill tells whether a meta or ct match makes the match on the network
// protocol redundant (ct_meta_may_dependency_kill): in mixed families only where
// the key can belong to that protocol alone.
func (r *ruleLister) keyMayKill(m *Match) bool {
	d := r.dep(bytecode.BaseNetwork)
	if d == nil {
		return true
	}
	fam, known := networkOf(d.match)
	if !known {
		return true
	}
	switch r.family {
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		return r.family == fam
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
	x, y := r.unshift(canonical(m.X), m.Y)
	numeric := false
	if op == MatchImplicit {
		op = MatchEq
	}
	v, isValue := y.(*Value)
	if b, ok := x.(*Binary); ok && b.Op == OpAnd && isValue && (op == MatchEq || op == MatchNeq) {
		if mask, ok := b.Y.(*Value); ok {
			typ := b.X.Common().Type
			switch {
			case typ != nil && typ.IsBitmask() && isZero(v.Bytes):
				// `X & flags != 0` is a test for any of the flags.
				word := " "
				if op == MatchEq {
					word = " ! "
				}
				return r.exprText(b.X, false) + word + r.flagList(mask)
			case typ != nil && typ.Prefix && isEquality(op) || typ != nil && typ.Prefix && op == MatchNeq:
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
	if isValue && v.Type != nil && v.Type.IsBitmask() {
		switch m.Op {
		case MatchImplicit:
			if _, plain := x.(*Binary); !plain {
				return r.exprText(x, false) + " " + r.flagList(v)
			}
		case MatchNeg:
			return r.exprText(x, false) + " ! " + r.flagList(v)
		}
	}
	left := r.exprText(x, numeric)
	_, leftBinary := x.(*Binary)
	if op == MatchEq && !leftBinary && !(isValue && v.Type != nil && v.Type.IsBitmask() && len(r.flags(v, false)) < 2) {
		return left + " " + r.exprText(y, numeric)
	}
	return left + " " + op.String() + " " + r.exprText(y, numeric)
}

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
