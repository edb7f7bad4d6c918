package lint

import (
	"slices"
	"strings"

	"github.com/nftc/nftc/ir"
)

// covering is a rule and an earlier one that takes all its packets.
type covering struct {
	rule, by *ir.Rule
	// same tells that both have the same conditions and the same effect.
	same bool
}

// Limits that keep the search linear in long chains: a rule is compared with
// that many candidates of a group, and that many groups are kept.
const (
	maxCandidates = 512
	maxGroups     = 64
)

// group are terminal rules that bound the same fields.
type group struct {
	fields []field
	// exact finds rules with one value for each field and nothing opaque.
	exact map[string]*ir.Rule
	list  []*ir.Rule
}

// coverings finds, for each rule that is reached, the first earlier rule of the
// chain that matches every packet that it matches and ends the chain for them.
func (p *pass) coverings(ch *ir.Chain) []covering {
	if got, ok := p.covered[ch]; ok {
		return got
	}
	var out []covering
	groups := make(map[string]*group)
	for _, r := range p.reachable(ch) {
		b := p.rule(r)
		if b.contradiction == nil {
			for _, g := range groups {
				if a := p.find(g, b); a != nil {
					by := p.rule(a)
					out = append(out, covering{r, a, b.described && b.terminal && covers(b, by) && by.effect == b.effect})
					break
				}
			}
		}
		p.forget(groups, p.changes(ch.Table, b))
		if b.terminal && b.described && !b.unconditional() && b.contradiction == nil {
			add(groups, r, b)
		}
	}
	p.covered[ch] = out
	return out
}

func (b *rule) fields() []field {
	fs := make([]field, 0, len(b.bounds))
	for f := range b.bounds {
		fs = append(fs, f)
	}
	slices.Sort(fs)
	return fs
}

// exactKey names the values of fields when each has one.
func (b *rule) exactKey(fs []field) (string, bool) {
	var s strings.Builder
	for _, f := range fs {
		v, ok := b.bounds[f].values.one()
		if !ok {
			return "", false
		}
		s.Write(v)
	}
	return s.String(), true
}

func add(groups map[string]*group, r *ir.Rule, b *rule) {
	fs := b.fields()
	var name strings.Builder
	for _, f := range fs {
		name.WriteString(string(f) + ";")
	}
	g := groups[name.String()]
	if g == nil {
		if len(groups) == maxGroups {
			return
		}
		g = &group{fields: fs, exact: make(map[string]*ir.Rule)}
		groups[name.String()] = g
	}
	if key, ok := b.exactKey(fs); ok && len(b.opaque) == 0 {
		if g.exact[key] == nil {
			g.exact[key] = r
		}
	} else if len(g.list) < maxCandidates {
		g.list = append(g.list, r)
	}
}

// find returns a rule of the group that covers b.
func (p *pass) find(g *group, b *rule) *ir.Rule {
	for _, f := range g.fields {
		if _, ok := b.bounds[f]; !ok {
			return nil
		}
	}
	if key, ok := b.exactKey(g.fields); ok {
		if r := g.exact[key]; r != nil {
			return r
		}
	}
	for _, r := range g.list {
		if covers(p.rule(r), b) {
			return r
		}
	}
	return nil
}

// covers tells whether every packet that matches b matches a.
func covers(a, b *rule) bool {
	for f, bound := range a.bounds {
		if other, ok := b.bounds[f]; !ok || !bound.values.contains(other.values) {
			return false
		}
	}
	for _, t := range a.opaque {
		if !slices.Contains(b.opaque, t) {
			return false
		}
	}
	return true
}

// forget drops what no longer holds after changes to the packet.
func (p *pass) forget(groups map[string]*group, by assigned) {
	if by.none() {
		return
	}
	for name, g := range groups {
		if slices.ContainsFunc(g.fields, by.touches) {
			delete(groups, name)
			continue
		}
		g.list = slices.DeleteFunc(g.list, func(r *ir.Rule) bool { return len(p.rule(r).opaque) > 0 })
	}
}
