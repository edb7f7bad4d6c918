package lint

import (
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
)

// unusedSet reports named sets and maps that no rule of their table uses. A
// table without rules is a collection for others to build on.
func unusedSet(p *pass) {
	for _, t := range p.rs.Tables {
		if !p.uses.hasRules[t] {
			continue
		}
		for _, s := range t.Sets {
			if s.Flags&bytecode.SetAnonymous != 0 || p.uses.sets[s] {
				continue
			}
			word := "set"
			if s.DataKind != bytecode.DataNone {
				word = "map"
			}
			p.report(s.Span, fmt.Sprintf("no rule uses %s %q", word, s.Name))
		}
	}
}
