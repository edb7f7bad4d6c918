package ir

import (
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// chainTypeHooks are the hooks of the kernel's chain types by family
// (nft_chain_filter_*, nft_chain_nat_*, nft_chain_route_*).
var chainTypeHooks = map[string]map[bytecode.Family][]bytecode.Hook{
	"filter": {
		bytecode.FamilyIP:     inetHooks,
		bytecode.FamilyIP6:    inetHooks,
		bytecode.FamilyInet:   append(slices.Clone(inetHooks), bytecode.HookIngress),
		bytecode.FamilyBridge: inetHooks,
		bytecode.FamilyARP:    {bytecode.HookInput, bytecode.HookOutput},
		bytecode.FamilyNetdev: {bytecode.HookIngress, bytecode.HookEgress},
	},
	"nat": {
		bytecode.FamilyIP:   natHooks,
		bytecode.FamilyIP6:  natHooks,
		bytecode.FamilyInet: natHooks,
	},
	"route": {
		bytecode.FamilyIP:   {bytecode.HookOutput},
		bytecode.FamilyIP6:  {bytecode.HookOutput},
		bytecode.FamilyInet: {bytecode.HookOutput},
	},
}

var (
	inetHooks = []bytecode.Hook{bytecode.HookPrerouting, bytecode.HookInput, bytecode.HookForward,
		bytecode.HookOutput, bytecode.HookPostrouting}
	natHooks = []bytecode.Hook{bytecode.HookPrerouting, bytecode.HookInput, bytecode.HookOutput, bytecode.HookPostrouting}
)

// natLowest: priorities of nat chains must be above that of conntrack
// (NF_IP_PRI_CONNTRACK, nft_chain_parse_hook).
const natLowest = -200

func (k *kernel) newChain(kt *kernelTable, s *Step) {
	spec := s.Chain
	if s.Rename {
		// The kernel finds the chain by a handle, which nft does not know for
		// chains of the same transaction.
		k.kernelError(s.Span, errNoEntry)
		return
	}
	if spec.ID != 0 {
		spec.Handle = kt.handle()
		kt.anon[spec.ID] = spec
		kt.t.Chains = append(kt.t.Chains, spec)
		return
	}
	old := kt.chains[spec.Name]
	if old == nil {
		if !k.nameOK(spec.Name, s.NameSpan) {
			return
		}
		k.baseOK(spec, s) // a refused chain stands for its name all the same
		spec.Handle = kt.handle()
		kt.chains[spec.Name] = spec
		kt.t.Chains = append(kt.t.Chains, spec)
		return
	}
	if s.Flags&bytecode.OpCreate != 0 {
		k.kernelError(s.NameSpan, errExists)
		return
	}
	if spec == old || spec.Base == nil {
		return
	}
	k.updateChain(old, spec)
}

// baseOK checks a new chain's hook (nft_chain_parse_hook, nf_tables_addchain).
func (k *kernel) baseOK(ch *Chain, s *Step) bool {
	b := ch.Base
	if b == nil {
		if ch.Flags&chainFlagOffload != 0 {
			k.kernelError(s.NameSpan, errNotSupp)
			return false
		}
		return true
	}
	if ch.PolicyOnly || ch.DevicesOnly {
		sp := ch.PolicyDefSpan
		if !sp.Valid() {
			sp = ch.DevicesSpan
		}
		k.kernelError(sp, errNotSupp)
		return false
	}
	byFamily := chainTypeHooks[b.Type]
	hooks, ok := byFamily[s.Family]
	switch {
	case !ok:
		k.kernelError(s.NameSpan, errNoEntry)
		return false
	case b.Type == "nat" && b.Priority <= natLowest:
		k.diags.Errorf("nat-priority", ch.PrioritySpan, "Chains of type \"nat\" must have a priority value above -200")
		return false
	case !has(hooks, b.Hook):
		k.unsupported(ch.BaseSpan, b.Type)
		return false
	case ch.Flags&chainFlagOffload != 0 && (s.Family != bytecode.FamilyNetdev || b.Hook != bytecode.HookIngress):
		k.unsupported(ch.BaseSpan, b.Type)
		return false
	}
	seen := make(map[string]bool)
	for _, d := range b.Devices {
		if seen[d] {
			k.kernelError(ch.DevicesSpan, errExists)
			return false
		}
		seen[d] = true
	}
	return true
}

func (k *kernel) unsupported(sp diag.Span, typ string) {
	k.diags.Errorf("chain-not-supported", sp, "Chain of type \"%s\" is not supported, perhaps kernel support is missing?", typ)
}

// updateChain changes policy and devices of a chain; nothing else may differ
// (nf_tables_updchain).
func (k *kernel) updateChain(old, spec *Chain) {
	b, n := old.Base, spec.Base
	if b == nil {
		if spec.PolicyOnly {
			k.kernelError(spec.PolicyDefSpan, errNotSupp)
		} else {
			k.unsupported(spec.BaseSpan, n.Type)
		}
		return
	}
	if !spec.PolicyOnly && !spec.DevicesOnly && (n.Type != b.Type || n.Hook != b.Hook || n.Priority != b.Priority) {
		k.unsupported(spec.BaseSpan, n.Type)
		return
	}
	if n.PolicySet {
		b.Policy, b.PolicySet = n.Policy, true
	}
	for _, d := range n.Devices {
		if !has(b.Devices, d) {
			b.Devices = append(b.Devices, d)
		}
	}
}

func (k *kernel) delChain(kt *kernelTable, s *Step) {
	var ch *Chain
	if s.Handle != 0 {
		for _, x := range kt.t.Chains {
			if x.Handle == s.Handle {
				ch = x
			}
		}
	} else {
		ch = kt.chains[s.Name]
	}
	if ch == nil {
		k.missing(s)
		return
	}
	if s.Chain != nil && s.Chain != ch && s.Chain.Base != nil && len(s.Chain.Base.Devices) > 0 {
		if ch.Base == nil {
			k.kernelError(s.NameSpan, errNotSupp)
			return
		}
		for _, d := range s.Chain.Base.Devices {
			if !has(ch.Base.Devices, d) {
				k.kernelError(s.Chain.DevicesSpan, errNoEntry)
				return
			}
			ch.Base.Devices = slices.DeleteFunc(ch.Base.Devices, func(x string) bool { return x == d })
		}
		return
	}
	if k.chainUsed(kt, ch) {
		k.kernelError(s.nameOrHandle(), errBusy)
		return
	}
	delete(kt.chains, ch.Name)
	kt.t.Chains = slices.DeleteFunc(kt.t.Chains, func(x *Chain) bool { return x == ch })
}

// chainUsed tells whether a rule of another chain or an element jumps to a
// chain.
func (k *kernel) chainUsed(kt *kernelTable, ch *Chain) bool {
	to := func(v *Verdict) bool {
		return v != nil && (v.Code == bytecode.Jump || v.Code == bytecode.Goto) && v.Anon == nil && v.ChainName == ch.Name
	}
	for _, c := range kt.t.Chains {
		if c == ch {
			continue
		}
		for _, r := range c.Rules {
			for _, st := range r.Stmts {
				if v, ok := st.(*VerdictStmt); ok {
					if x, ok := v.X.(*Verdict); ok && to(x) {
						return true
					}
				}
			}
		}
	}
	for _, s := range kt.t.Sets {
		if s.DataKind != bytecode.DataVerdict {
			continue
		}
		for _, e := range kt.elements(s) {
			if e.Data == nil {
				continue
			}
			if v, ok := e.Data.Expr.(*Verdict); ok && to(v) {
				return true
			}
		}
	}
	return false
}

func (k *kernel) newRule(kt *kernelTable, s *Step) {
	ch := kt.chains[s.Chain.Name]
	if s.Chain.ID != 0 {
		ch = kt.anon[s.Chain.ID]
	}
	if ch == nil {
		k.kernelError(s.NameSpan, errNoEntry)
		return
	}
	at := -1
	if s.Handle != 0 {
		for i, x := range ch.Rules {
			if x.Handle == s.Handle && !s.sameBatch(x) {
				at = i
			}
		}
		if at < 0 {
			k.kernelError(s.Span, errNoEntry)
			return
		}
	}
	if s.Position != nil {
		if at = slices.Index(ch.Rules, s.Position); at < 0 {
			k.kernelError(s.Span, errNoEntry)
			return
		}
	}
	if !k.refsOK(kt, s) {
		return
	}
	rule := s.Rule
	rule.Chain = ch
	rule.Handle = kt.handle()
	switch {
	case s.Kind == bytecode.OpReplaceRule && at >= 0:
		ch.Rules[at] = rule
	case s.Flags&bytecode.OpInsert != 0:
		if at < 0 {
			at = 0
		}
		ch.Rules = slices.Insert(ch.Rules, at, rule)
	case at >= 0:
		ch.Rules = slices.Insert(ch.Rules, at+1, rule)
	default:
		ch.Rules = append(ch.Rules, rule)
	}
}

// sameBatch: handles of rules that the transaction itself makes are not known
// to the kernel's lookup (__nft_rule_lookup skips none, but nft's own check of
// handles against its cache refuses them).
func (s *Step) sameBatch(*Rule) bool { return true }

func (k *kernel) delRule(kt *kernelTable, s *Step) {
	ch := kt.chains[s.Name]
	if ch == nil {
		if s.Flags&bytecode.OpDestroy == 0 {
			k.kernelError(s.NameSpan, errNoEntry)
		}
		return
	}
	if s.Rule != nil {
		ch.Rules = slices.DeleteFunc(ch.Rules, func(x *Rule) bool { return x == s.Rule })
		return
	}
	for i, x := range ch.Rules {
		if x.Handle == s.Handle {
			ch.Rules = slices.Delete(ch.Rules, i, i+1)
			return
		}
	}
	k.missing(s)
}

// refsOK checks that what a rule names is there: chains, objects, flowtables
// (nft_verdict_init, nft_objref_init, nft_flow_offload_init).
func (k *kernel) refsOK(kt *kernelTable, s *Step) bool {
	for _, st := range s.Rule.Stmts {
		switch st := st.(type) {
		case *VerdictStmt:
			v, ok := st.X.(*Verdict)
			if !ok {
				continue
			}
			if errno := kt.jumpTarget(v); errno != "" {
				sp := v.ChainSpan
				if !sp.Valid() {
					sp = st.Span
				}
				k.kernelError(sp, errno)
				return false
			}
		case *ObjRef:
			if n, ok := st.X.(*ObjectName); ok && kt.objects[objectKey{st.Type, n.Name}] == nil {
				sp := n.Span
				if !sp.Valid() {
					sp = st.Span
				}
				k.noObject(kt, st.Type, n.Name, sp)
				return false
			}
		case *Simple:
			if off, ok := st.Instr.(*bytecode.FlowOffload); ok && kt.flowtables[off.Flowtable] == nil {
				k.kernelError(st.Span, errNoEntry)
				return false
			}
		}
	}
	return true
}

// noObject reports a reference to an object that is not there.
func (k *kernel) noObject(kt *kernelTable, typ bytecode.ObjectType, name string, sp diag.Span) {
	var near []string
	for key := range kt.objects {
		if key.typ == typ {
			near = append(near, key.name)
		}
	}
	k.diags.Add(diag.Diagnostic{Code: "unknown-object", Span: sp,
		Message: "Could not process rule: " + errNoEntry + " (there is no " + typ.String() + " " + name + " in table " + kt.t.Name + ")",
		Suggest: diag.Nearest(name, near)})
}

// jumpTarget checks the target of a jump or goto: it must be there and not be
// a base chain (nft_verdict_init).
func (kt *kernelTable) jumpTarget(v *Verdict) (errno string) {
	if v.Code != bytecode.Jump && v.Code != bytecode.Goto || v.Anon != nil {
		return ""
	}
	ch := kt.chains[v.ChainName]
	if ch == nil {
		return errNoEntry
	}
	if ch.Base != nil {
		return errNotSupp
	}
	return ""
}
