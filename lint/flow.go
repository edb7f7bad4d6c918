package lint

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// maxDepth is how deep calls are followed: the kernel's jump stack
// (NFT_JUMP_STACK_SIZE).
const maxDepth = 16

// changes are what a rule may change in itself and in the chains that it calls.
func (p *pass) changes(t *ir.Table, r *rule) assigned {
	out := r.assigns
	if r.open {
		out.packet, out.ct = true, true
	}
	if len(r.calls) > 0 {
		var all assigned
		all.add(out)
		for _, name := range r.calls {
			all.add(p.chainChanges(t, name, 0))
		}
		return all
	}
	return out
}

// chainChanges are what the rules of a chain may change.
func (p *pass) chainChanges(t *ir.Table, name string, depth int) assigned {
	key := chainName{t, name}
	if got, ok := p.effects[key]; ok {
		return got
	}
	var out assigned
	ch := p.uses.byName[key]
	if ch == nil || depth > maxDepth {
		return assigned{packet: true, ct: true}
	}
	p.effects[key] = out
	for _, r := range ch.Rules {
		a := p.rule(r)
		out.add(a.assigns)
		if a.open {
			out.packet, out.ct = true, true
		}
		for _, s := range r.Stmts {
			verdicts(s, func(v *ir.Verdict) {
				if v.ChainName != "" {
					out.add(p.chainChanges(t, v.ChainName, depth+1))
				}
			})
		}
	}
	p.effects[key] = out
	return out
}

// ends tells whether a chain never returns to the one that jumped to it: some
// rule that every packet reaches and matches accepts or drops.
func (p *pass) ends(t *ir.Table, name string, depth int) bool {
	ch := p.uses.byName[chainName{t, name}]
	if ch == nil || depth > maxDepth {
		return false
	}
	for _, r := range ch.Rules {
		a := p.rule(r)
		if a.open || a.returns {
			return false
		}
		if a.unconditional() && (a.terminal || p.jumpEnds(t, r, depth)) {
			return true
		}
	}
	return false
}

// jumpEnds tells whether a rule jumps to a chain that never returns.
func (p *pass) jumpEnds(t *ir.Table, r *ir.Rule, depth int) bool {
	if len(r.Stmts) == 0 {
		return false
	}
	vs, ok := r.Stmts[len(r.Stmts)-1].(*ir.VerdictStmt)
	if !ok {
		return false
	}
	v, ok := vs.X.(*ir.Verdict)
	return ok && v.Code == bytecode.Jump && v.Anon == nil && p.ends(t, v.ChainName, depth+1)
}

// hooksOf finds the hooks at which each chain of a table can run; a table with
// a verdict map that can grow gives none, since any chain may be called then.
func (p *pass) hooksOf(t *ir.Table) map[*ir.Chain]hookSet {
	out := make(map[*ir.Chain]hookSet)
	if p.uses.openVmap[t] {
		return out
	}
	var visit func(ch *ir.Chain, h hookSet, depth int)
	visit = func(ch *ir.Chain, h hookSet, depth int) {
		if ch == nil || depth > maxDepth || out[ch]&h == h {
			return
		}
		out[ch] |= h
		for _, r := range ch.Rules {
			for _, s := range r.Stmts {
				verdicts(s, func(v *ir.Verdict) {
					switch {
					case v.Anon != nil:
						visit(v.Anon, h, depth+1)
					case v.ChainName != "":
						visit(p.uses.byName[chainName{t, v.ChainName}], h, depth+1)
					}
				})
				for _, e := range operands(s) {
					if set := setOf(e); set != nil && set.Flags&bytecode.SetAnonymous == 0 {
						walkElements(set, func(e ir.Expr) {
							if v, ok := e.(*ir.Verdict); ok && v.ChainName != "" {
								visit(p.uses.byName[chainName{t, v.ChainName}], h, depth+1)
							}
						})
					}
				}
			}
		}
	}
	for _, ch := range t.Chains {
		if ch.Base != nil {
			visit(ch, 1<<ch.Base.Hook, 0)
		}
	}
	return out
}

// hookSet is a set of bytecode.Hook, one bit each.
type hookSet uint32
