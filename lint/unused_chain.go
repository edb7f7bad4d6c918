package lint

import (
	"fmt"
	"slices"

	"github.com/nftc/nftc/ir"
)

// unusedChain reports chains without a hook that nothing jumps or goes to. A
// verdict map that can grow may call any chain of its table, and a table without
// base chains is a part that others build on.
func unusedChain(p *pass) {
	for _, t := range p.rs.Tables {
		if p.uses.openVmap[t] || !slices.ContainsFunc(t.Chains, func(ch *ir.Chain) bool { return ch.Base != nil }) {
			continue
		}
		for _, ch := range t.Chains {
			if ch.Base == nil && ch.ID == 0 && !p.uses.chains[chainName{t, ch.Name}] {
				p.report(ch.Span, fmt.Sprintf("nothing jumps to chain %q, and it has no hook", ch.Name))
			}
		}
	}
}
