package ir

import (
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// hooksByName are the names of hooks.
var hooksByName = map[string]bytecode.Hook{
	"prerouting": bytecode.HookPrerouting, "input": bytecode.HookInput, "forward": bytecode.HookForward,
	"output": bytecode.HookOutput, "postrouting": bytecode.HookPostrouting,
	"ingress": bytecode.HookIngress, "egress": bytecode.HookEgress,
}

// hook looks a hook's name up in a family, as nft's str2hooknum: arp has a
// forward hook there, which the kernel then refuses.
func hook(name string, f bytecode.Family) (bytecode.Hook, bool) {
	h, ok := hooksByName[name]
	if !ok {
		return 0, false
	}
	if f == bytecode.FamilyARP && h == bytecode.HookForward {
		return h, true
	}
	_, ok = h.Num(f)
	return h, ok
}

// chainFlagBits are NFT_CHAIN_*.
var chainFlagBits = map[string]uint32{"offload": 2}

const (
	chainFlagOffload uint32 = 2
	chainFlagBinding uint32 = 4
)

// addChain evaluates a chain's definition without its rules. It returns the
// chain that rules go to; nil after an error.
func (r *resolver) addChain(w where, c *parser.Command) *Chain {
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return nil
	}
	body, _ := c.Body.(*parser.ChainBlock)
	spec := r.chainSpec(w, c, body)
	known := tc.chains[c.Object.Text]
	if known == nil {
		known = spec
		if known == nil {
			known = &Chain{Table: tc.table, Name: c.Object.Text, Span: c.Object.Span}
		}
		tc.chains[c.Object.Text] = known
	}
	if spec == nil {
		return nil
	}
	r.step(w, Step{Kind: bytecode.OpNewChain, Flags: verbFlags(c.Verb) & bytecode.OpCreate, Chain: spec, NameSpan: c.Object.Span})
	return known
}

// chainSpec evaluates the properties in a chain's block (chain_evaluate); nil
// after an error.
func (r *resolver) chainSpec(w where, c *parser.Command, body *parser.ChainBlock) *Chain {
	ch := &Chain{Table: r.ruleTable(w), Name: c.Object.Text, Span: c.Object.Span, DefSpan: c.Span}
	if body == nil {
		return ch
	}
	before := r.diags.Errors()
	var devices parser.Expr
	var policy *parser.PolicySpec
	each(body.Items, func(it parser.Item) {
		switch it := it.(type) {
		case *parser.HookSpec:
			if it.Hook.Text == "" {
				if it.Devices != nil {
					devices = it.Devices
				}
				return
			}
			if it.Devices != nil {
				devices = it.Devices
			}
			r.chainHook(ch, it)
		case *parser.PolicySpec:
			if policy != nil {
				r.diags.Errorf("duplicate-policy", it.Span, "you cannot set chain policy twice")
			}
			policy = it
		case *parser.DevicesSpec:
			devices = it.Devices
		case *parser.Flags:
			for _, n := range it.Names {
				bit, ok := chainFlagBits[n.Text]
				if !ok {
					r.diags.Errorf("unknown-flag", n.Span, "unknown chain flag")
				}
				ch.Flags |= bit
			}
		case *parser.CommentStmt:
			ch.Comment, ch.CommentSet = it.Text.Text, true
			r.checkComment(it)
		}
	})
	if policy != nil {
		r.chainPolicy(ch, policy)
	}
	if devices != nil {
		r.chainDevices(ch, devices)
	}
	if r.diags.Errors() != before {
		return nil
	}
	return ch
}

func (r *resolver) chainHook(ch *Chain, h *parser.HookSpec) {
	f := ch.Table.Family
	ch.Base = &bytecode.Base{Type: h.Type.Text, Policy: bytecode.Accept}
	ch.HookSpan = h.Hook.Span
	ch.BaseSpan = h.Span
	ch.TypeSpan = h.Type.Span
	switch h.Type.Text {
	case "filter", "nat", "route":
	default:
		r.diags.Add(diag.Diagnostic{Code: "unknown-chain-type", Span: h.Type.Span, Message: "unknown chain type",
			Suggest: diag.Nearest(h.Type.Text, []string{"filter", "nat", "route"})})
		return
	}
	hk, ok := hook(h.Hook.Text, f)
	if !ok {
		var words []string
		for n := range hooksByName {
			if _, ok := hook(n, f); ok {
				words = append(words, n)
			}
		}
		r.diags.Add(diag.Diagnostic{Code: "unknown-hook", Span: h.Hook.Span,
			Message: "The " + f.String() + " family does not support this hook", Suggest: diag.Nearest(h.Hook.Text, words)})
		return
	}
	ch.Base.Hook = hk
	if h.Priority != nil {
		ch.PrioritySpan = r.withKeyword(h.Priority.Pos(), h.Span, "priority")
		v, ok := r.priority(h.Priority, f, hk)
		if !ok {
			r.badPriority(h.Priority, ch.PrioritySpan, f, hk, " in this context.")
			return
		}
		ch.Base.Priority = v
	}
}

// withKeyword widens a span to the left, to the keyword in front of it.
func (r *resolver) withKeyword(sp, within diag.Span, word string) diag.Span {
	text := r.files.Text(diag.Span{Start: within.Start, End: sp.Start})
	if i := strings.LastIndex(text, word); i >= 0 {
		sp.Start = within.Start + diag.Pos(i)
	}
	return sp
}

func (r *resolver) chainPolicy(ch *Chain, p *parser.PolicySpec) {
	ch.PolicySpan = p.Policy.Span
	ch.PolicyDefSpan = p.Span
	word, ok := r.word(p.Policy)
	var code bytecode.Code
	switch {
	case ok && word == "accept":
		code = bytecode.Accept
	case ok && word == "drop":
		code = bytecode.Drop
	default:
		r.diags.Add(diag.Diagnostic{Code: "invalid-policy", Span: p.Policy.Span,
			Message: "invalid policy expression value", Suggest: diag.Nearest(word, []string{"accept", "drop"})})
		return
	}
	if ch.Base == nil {
		// A policy alone changes that of an existing base chain.
		ch.PolicyOnly = true
		ch.Base = &bytecode.Base{}
	}
	ch.Base.Policy, ch.Base.PolicySet = code, true
}

func (r *resolver) chainDevices(ch *Chain, e parser.Expr) {
	if ch.Base == nil {
		ch.DevicesOnly = true
		ch.Base = &bytecode.Base{}
	}
	f := ch.Table.Family
	if f != bytecode.FamilyNetdev && (f != bytecode.FamilyInet || ch.Base.Hook != bytecode.HookIngress) {
		r.diags.Errorf("device-not-allowed", e.Pos(), "This chain type cannot be bound to device")
		return
	}
	ch.Base.Devices = r.devices(e)
	ch.DevicesSpan = e.Pos()
}

// ifNameMax is IFNAMSIZ with the terminating zero.
const ifNameMax = 16

// devices evaluates a device or list of devices, variables included
// (evaluate_device_expr).
func (r *resolver) devices(e parser.Expr) []string {
	switch x := r.follow(e).(type) {
	case *parser.Symbol:
		if len(x.Text) >= ifNameMax || x.Text == "" {
			r.diags.Errorf("invalid-device", e.Pos(), "String exceeds maximum length of %d", ifNameMax)
			return nil
		}
		return []string{x.Text}
	case *parser.SetLit:
		var out []string
		for _, el := range x.Elems {
			out = append(out, r.devices(el.Key)...)
		}
		return out
	case *parser.List:
		var out []string
		for _, it := range x.Items {
			out = append(out, r.devices(it)...)
		}
		return out
	case nil:
		return nil
	default:
		r.diags.Errorf("invalid-device", e.Pos(), "not a device name")
		return nil
	}
}

// anonChain evaluates the chain of `jump { … }`: the chain and its rules go in
// front of the rule that jumps (stmt_evaluate_chain).
func (c *ruleCtx) anonChain(b *parser.ChainBlock) *Chain {
	r := c.resolver
	r.chainID++
	ch := &Chain{Table: c.table, ID: r.chainID, Flags: chainFlagBinding, Span: b.Span, DefSpan: b.Span}
	w := r.at
	r.step(w, Step{Kind: bytecode.OpNewChain, Chain: ch, Span: b.Span})
	before := r.diags.Errors()
	each(b.Items, func(it parser.Item) {
		if pr, ok := it.(*parser.Rule); ok {
			rw := w
			rw.table.Span = pr.Span
			r.addRule(rw, ch, pr, ruleStep{})
		}
	})
	if r.diags.Errors() != before {
		return nil
	}
	return ch
}
