package lint

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// chainName names a chain of a table.
type chainName struct {
	table *ir.Table
	name  string
}

// uses is what rules and elements refer to.
type uses struct {
	sets   map[*ir.Set]bool
	chains map[chainName]bool
	// openVmap tells of tables with a verdict map that may get more elements
	// after loading, and so jumps to any chain.
	openVmap map[*ir.Table]bool
	hasRules map[*ir.Table]bool
	byName   map[chainName]*ir.Chain
}

func findUses(rs *ir.Ruleset) *uses {
	u := &uses{
		sets: make(map[*ir.Set]bool), chains: make(map[chainName]bool),
		openVmap: make(map[*ir.Table]bool), hasRules: make(map[*ir.Table]bool),
		byName: make(map[chainName]*ir.Chain),
	}
	for _, t := range rs.Tables {
		note := func(e ir.Expr) {
			if s := setOf(e); s != nil {
				u.sets[s] = true
			}
			if v, ok := e.(*ir.Verdict); ok && v.ChainName != "" {
				u.chains[chainName{t, v.ChainName}] = true
			}
		}
		for _, s := range t.Sets {
			walkElements(s, note)
			if s.DataKind == bytecode.DataVerdict && s.Flags&bytecode.SetConstant == 0 {
				u.openVmap[t] = true
			}
		}
		for _, ch := range t.Chains {
			u.byName[chainName{t, ch.Name}] = ch
			u.chain(t, ch, note)
		}
	}
	return u
}

func (u *uses) chain(t *ir.Table, ch *ir.Chain, note func(ir.Expr)) {
	for _, r := range ch.Rules {
		u.hasRules[t] = true
		for _, s := range r.Stmts {
			if up, ok := s.(*ir.SetUpdate); ok {
				u.sets[up.Set] = true
			}
			for _, e := range operands(s) {
				walk(e, note)
			}
			verdicts(s, func(v *ir.Verdict) {
				if v.Anon != nil {
					u.chain(t, v.Anon, note)
				}
			})
		}
	}
}
