package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// jumpStack is NFT_JUMP_STACK_SIZE: a chain this many jumps below a base chain
// is refused.
const jumpStack = 16

// validation walks from every base chain through all jumps and checks each
// statement against the base chain (nft_table_validate, nft_chain_validate).
type validation struct {
	*kernel
	kt   *kernelTable
	base *Chain
	// deepest is the level at which a chain was found valid already, plus one.
	deepest map[*Chain]int
}

// refusal is what is wrong with a statement, and where.
type refusal struct {
	errno string
	span  diag.Span
	// path are the rules from the refused statement back to the base chain.
	path []*Rule
}

// last returns the rule of the path that came last: before it, the kernel had
// nothing to refuse. Handles grow in the order of messages.
func (ref *refusal) last() *Rule {
	var last *Rule
	for _, r := range ref.path {
		if last == nil || r.Handle > last.Handle {
			last = r
		}
	}
	return last
}

// validate checks the tables as they are after the last message
// (nf_tables_validate). The kernel reports the first error, at the message
// after which it came up: usually that of the statement, or of the jump that
// connected it with a base chain.
func (k *kernel) validate() {
	for _, kt := range k.order {
		for _, ch := range kt.t.Chains {
			if ch.Base == nil {
				continue
			}
			v := &validation{kernel: k, kt: kt, base: ch, deepest: make(map[*Chain]int)}
			if ref := v.chain(ch, 0); ref != nil {
				d := diag.Diagnostic{Code: "kernel-refuses", Span: ref.span, Message: "Could not process rule: " + ref.errno}
				if last := ref.last(); last != nil && last.stmtsSpan() != ref.span {
					d.Span = last.stmtsSpan()
					d.Notes = append(d.Notes, diag.Note{Span: ref.span, Message: "this is refused"})
				}
				if note := v.explain(ref); note != "" {
					d.Notes = append(d.Notes, diag.Note{Span: ch.Span, Message: note})
				}
				k.diags.Add(d)
				return
			}
		}
	}
}

// stmtsSpan is the text of the statements, from the first to the last.
func (r *Rule) stmtsSpan() diag.Span {
	var sp diag.Span
	for _, s := range r.Stmts {
		sp = sp.Join(s.Pos())
	}
	if !sp.Valid() {
		return r.Span
	}
	return sp
}

// explain says in words what the base chain is.
func (v *validation) explain(ref *refusal) string {
	switch ref.errno {
	case errNotSupp:
		return "not allowed in a chain of type " + v.base.Base.Type + " at hook " + v.base.Base.Hook.String() +
			" of family " + v.kt.t.Family.String() + ", from which this rule is reached"
	case errLoops:
		return "the jumps that start at this chain form a loop or are more than 15 deep"
	}
	return ""
}

func (v *validation) chain(ch *Chain, level int) *refusal {
	if level == jumpStack {
		return &refusal{errno: errLoops}
	}
	if level > 0 {
		if ch.Base != nil {
			return &refusal{errno: errDepth}
		}
		if v.deepest[ch] > level {
			return nil
		}
	}
	for _, r := range ch.Rules {
		for _, st := range r.Stmts {
			if ref := v.stmt(st, level); ref != nil {
				if !ref.span.Valid() {
					ref.span = st.Pos()
				}
				ref.path = append(ref.path, r)
				return ref
			}
		}
	}
	v.deepest[ch] = level + 1
	return nil
}

// verdict follows a jump.
func (v *validation) verdict(x *Verdict, level int) *refusal {
	if x.Code != bytecode.Jump && x.Code != bytecode.Goto {
		return nil
	}
	ch := v.kt.chains[x.ChainName]
	if x.Anon != nil {
		ch = v.kt.anon[x.Anon.ID]
	}
	if ch == nil {
		return nil
	}
	return v.chain(ch, level+1)
}

// elements follows the jumps of a verdict map (nft_lookup_validate).
func (v *validation) elements(s *Set, level int) *refusal {
	if s.DataKind != bytecode.DataVerdict {
		return nil
	}
	es := v.kt.elements(s)
	if s.Flags&bytecode.SetAnonymous == 0 {
		if named := v.kt.sets[s.Name]; named != nil {
			es = v.kt.elements(named)
		}
	}
	for i := range es {
		if es[i].Data == nil {
			continue
		}
		x, ok := es[i].Data.Expr.(*Verdict)
		if !ok {
			continue
		}
		if ref := v.verdict(x, level); ref != nil {
			if !ref.span.Valid() {
				ref.span = es[i].Span
			}
			return ref
		}
	}
	return nil
}

func (v *validation) stmt(s Stmt, level int) *refusal {
	if errno := v.allowed(s); errno != "" {
		return &refusal{errno: errno}
	}
	var bad *refusal
	walkStmt(s, func(set *Set) {
		if bad == nil {
			bad = v.elements(set, level)
		}
	})
	if bad != nil {
		return bad
	}
	if vs, ok := s.(*VerdictStmt); ok {
		if x, ok := vs.X.(*Verdict); ok {
			return v.verdict(x, level)
		}
	}
	return nil
}

// Hooks by the check that the kernel makes.
var (
	receiveHooks  = []bytecode.Hook{bytecode.HookPrerouting, bytecode.HookInput, bytecode.HookForward}
	sendHooks     = []bytecode.Hook{bytecode.HookForward, bytecode.HookOutput, bytecode.HookPostrouting}
	localHooks    = []bytecode.Hook{bytecode.HookInput, bytecode.HookForward}
	rejectHooks   = []bytecode.Hook{bytecode.HookInput, bytecode.HookForward, bytecode.HookOutput, bytecode.HookPrerouting}
	socketHooks   = []bytecode.Hook{bytecode.HookPrerouting, bytecode.HookInput, bytecode.HookOutput}
	netdevHooks   = []bytecode.Hook{bytecode.HookIngress, bytecode.HookEgress}
	ingressHook   = []bytecode.Hook{bytecode.HookIngress}
	prerouting    = []bytecode.Hook{bytecode.HookPrerouting}
	postrouting   = []bytecode.Hook{bytecode.HookPostrouting}
	forwardHook   = []bytecode.Hook{bytecode.HookForward}
	snatHooks     = []bytecode.Hook{bytecode.HookPostrouting, bytecode.HookInput}
	dnatHooks     = []bytecode.Hook{bytecode.HookPrerouting, bytecode.HookOutput}
	queueFamilies = []bytecode.Family{bytecode.FamilyIP, bytecode.FamilyIP6, bytecode.FamilyInet, bytecode.FamilyBridge}
	osfFamilies   = []bytecode.Family{bytecode.FamilyIP, bytecode.FamilyInet}
)

// in answers for a place: nothing, or the kernel's error.
func (v *validation) in(families []bytecode.Family, hooks []bytecode.Hook) string {
	if families != nil && !has(families, v.kt.t.Family) {
		return errNotSupp
	}
	if !has(hooks, v.base.Base.Hook) {
		return errNotSupp
	}
	return ""
}

// inNAT is in for chains of type nat (nft_chain_validate_dependency).
func (v *validation) inNAT(hooks []bytecode.Hook) string {
	if v.base.Base.Type != "nat" {
		return errNotSupp
	}
	return v.in(inetFamilies, hooks)
}

// allowed checks a statement and the expressions in it.
func (v *validation) allowed(s Stmt) string {
	switch s := s.(type) {
	case *Match:
		return first(v.expr(s.X), v.expr(s.Y))
	case *VerdictStmt:
		return v.expr(s.X)
	case *Assign:
		return first(v.target(s.Target), v.expr(s.Value))
	case *ObjRef:
		// nft_objref_validate_obj_type
		if s.Type == bytecode.ObjSynproxy {
			if errno := v.in(inetFamilies, localHooks); errno != "" {
				return errno
			}
		}
		return v.expr(s.X)
	case *NAT:
		return v.nat(s)
	case *TProxy:
		// nft_tproxy_validate
		return first(v.in(inetFamilies, prerouting), v.expr(s.Addr), v.expr(s.Port))
	case *Fwd:
		// nft_fwd_validate
		return first(v.in([]bytecode.Family{bytecode.FamilyNetdev}, netdevHooks), v.expr(s.Addr), v.expr(s.Dev))
	case *Dup:
		return first(v.expr(s.Addr), v.expr(s.Dev))
	case *Queue:
		// nft_queue_validate
		return first(v.in(queueFamilies, inetHooks), v.expr(s.Num))
	case *SetUpdate:
		return first(v.expr(s.Key), v.expr(s.Data))
	case *Simple:
		return v.simple(s.Instr)
	}
	return ""
}

func first(errs ...string) string {
	for _, e := range errs {
		if e != "" {
			return e
		}
	}
	return ""
}

func (v *validation) nat(s *NAT) string {
	hooks := dnatHooks
	switch s.Kind {
	case "snat":
		hooks = snatHooks // nft_nat_validate
	case "masquerade":
		hooks = postrouting // nft_masq_validate
	}
	return first(v.inNAT(hooks), v.expr(s.Addr), v.expr(s.Port))
}

func (v *validation) simple(in bytecode.Instr) string {
	switch in.(type) {
	case *bytecode.Reject:
		f := v.kt.t.Family
		switch f {
		case bytecode.FamilyNetdev:
			return v.in(nil, ingressHook) // nft_reject_netdev_validate
		case bytecode.FamilyBridge:
			// nft_reject_bridge_validate
			return v.in(nil, []bytecode.Hook{bytecode.HookPrerouting, bytecode.HookInput})
		case bytecode.FamilyInet:
			if v.base.Base.Hook == bytecode.HookIngress {
				return "" // nft_reject_inet_validate
			}
		}
		return v.in(inetFamilies, rejectHooks) // nft_reject_validate
	case *bytecode.Synproxy:
		return v.in(inetFamilies, localHooks) // nft_synproxy_validate
	case *bytecode.FlowOffload:
		return v.in(inetFamilies, forwardHook) // nft_flow_offload_validate
	}
	return ""
}

// target checks what a value is stored to (nft_meta_set_validate).
func (v *validation) target(e Expr) string {
	m, ok := e.(*Meta)
	if !ok {
		return ""
	}
	switch m.Key {
	case bytecode.MetaPktType:
		switch v.kt.t.Family {
		case bytecode.FamilyNetdev:
			return v.in(nil, ingressHook)
		case bytecode.FamilyARP:
			return errNotSupp
		}
		return v.in(nil, prerouting)
	case bytecode.MetaBriBroute:
		return v.in(bridgeFamily, prerouting)
	}
	return ""
}

// expr checks an expression and those in it.
func (v *validation) expr(e Expr) string {
	switch e := e.(type) {
	case nil:
	case *Concat:
		for _, it := range e.Items {
			if errno := v.expr(it); errno != "" {
				return errno
			}
		}
	case *Map:
		return v.expr(e.Key)
	case *Binary:
		return first(v.expr(e.X), v.expr(e.Y))
	case *Byteorder:
		return v.expr(e.X)
	case *Hash:
		return v.expr(e.X)
	case *Meta:
		return v.meta(e)
	case *Fib:
		return v.fib(e)
	case *Socket:
		return v.in(inetFamilies, socketHooks) // nft_socket_validate
	case *Osf:
		return v.in(osfFamilies, receiveHooks) // nft_osf_validate
	case *RT:
		// nft_rt_validate
		if !has(inetFamilies, v.kt.t.Family) {
			return errNotSupp
		}
		if e.Key == bytecode.RTTCPMSS {
			return v.in(nil, sendHooks)
		}
	case *Xfrm:
		// nft_xfrm_validate
		if e.Dir == 0 {
			return v.in(inetFamilies, receiveHooks)
		}
		return v.in(inetFamilies, sendHooks)
	}
	return ""
}

// meta is nft_meta_get_validate.
func (v *validation) meta(e *Meta) string {
	switch e.Key {
	case bytecode.MetaSecpath:
		if v.kt.t.Family == bytecode.FamilyNetdev {
			return v.in(nil, ingressHook)
		}
		return v.in(inetFamilies, receiveHooks)
	case bytecode.MetaSDIF, bytecode.MetaSDIFName:
		return v.in(inetFamilies, localHooks)
	case bytecode.MetaBriIIFHWAddr:
		return v.in(bridgeFamily, prerouting)
	}
	return ""
}

// Results and flags of fib (NFT_FIB_RESULT_*, NFTA_FIB_F_*).
const (
	fibAddrType = 3
	fibIIF      = 8
	fibOIF      = 16
)

// fib is nft_fib_validate and nft_fib_netdev_validate.
func (v *validation) fib(e *Fib) string {
	netdev := v.kt.t.Family == bytecode.FamilyNetdev
	families := inetFamilies
	in, out, any := receiveHooks, sendHooks, inetHooks
	if netdev {
		families = nil
		in, out, any = ingressHook, []bytecode.Hook{bytecode.HookEgress}, netdevHooks
	}
	switch {
	case e.Result != fibAddrType, e.Flags&fibIIF != 0:
		return v.in(families, in)
	case e.Flags&fibOIF != 0:
		return v.in(families, out)
	}
	return v.in(families, any)
}
