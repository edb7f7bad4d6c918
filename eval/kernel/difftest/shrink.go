package difftest

import "strings"

// maxShrinkRuns bounds the runs that making one case smaller may take.
const maxShrinkRuns = 300

// shrinker holds the smallest finding so far.
type shrinker struct {
	best *Finding
	st   Stats
}

// Shrink takes pieces out of a case while some difference remains, and returns
// the smallest finding: large pieces first, halves before single ones.
func Shrink(f *Finding) *Finding {
	s := &shrinker{best: f}
	if f.Packet >= 0 {
		c := f.Case.clone()
		c.Packets = c.Packets[f.Packet : f.Packet+1]
		if !s.try(c) { // earlier packets matter
			c = f.Case.clone()
			c.Packets = c.Packets[:f.Packet+1]
			s.try(c)
		}
	}
	for s.pass() && s.st.Rulesets+s.st.NotLoaded < maxShrinkRuns {
	}
	return s.best
}

// try runs a smaller case and keeps it when it still differs.
func (s *shrinker) try(c *Case) bool {
	if s.st.Rulesets+s.st.NotLoaded >= maxShrinkRuns || len(c.Packets) == 0 {
		return false
	}
	got, err := Run(c, &s.st)
	if err != nil || got == nil || (got.Packet < 0) != (s.best.Packet < 0) {
		return false
	}
	s.best = got
	return true
}

// list shortens one list of the case: of returns it, for a case that may be
// changed. Runs of half its length go first, then shorter ones.
func (s *shrinker) list(longest int, of func(*Case) *[]string) (changed bool) {
	n := len(*of(s.best.Case))
	for size := min(longest, max(1, n/2)); size > 0; size /= 2 {
		for at := 0; at < len(*of(s.best.Case)); {
			c := s.best.Case.clone()
			l := of(c)
			*l = append(append([]string(nil), (*l)[:at]...), (*l)[min(at+size, len(*l)):]...)
			if s.try(c) {
				changed = true
				continue
			}
			at += size
		}
	}
	return changed
}

// pass tries every kind of cut once.
func (s *shrinker) pass() (changed bool) {
	for ti := len(s.best.Case.Tables) - 1; ti >= 0 && len(s.best.Case.Tables) > 1; ti-- {
		c := s.best.Case.clone()
		c.Tables = append(c.Tables[:ti], c.Tables[ti+1:]...)
		changed = s.try(c) || changed
	}
	for ti := range s.best.Case.Tables {
		for ci := len(s.best.Case.Tables[ti].Chains) - 1; ci >= 0; ci-- {
			c := s.best.Case.clone()
			t := c.Tables[ti]
			t.Chains = append(t.Chains[:ci], t.Chains[ci+1:]...)
			changed = s.try(c) || changed
		}
		for ci := range s.best.Case.Tables[ti].Chains {
			changed = s.list(1<<10, func(c *Case) *[]string { return &c.Tables[ti].Chains[ci].Rules }) || changed
		}
		changed = s.list(1<<10, func(c *Case) *[]string { return &c.Tables[ti].Decls }) || changed
	}
	if len(s.best.Case.Packets) > 1 {
		changed = s.list(1<<10, func(c *Case) *[]string { return &c.Packets }) || changed
	}
	for ti := range s.best.Case.Tables {
		for ci := range s.best.Case.Tables[ti].Chains {
			for ri := range s.best.Case.Tables[ti].Chains[ci].Rules {
				changed = s.words(ti, ci, ri) || changed
			}
		}
	}
	return changed
}

// words takes words out of a rule.
func (s *shrinker) words(ti, ci, ri int) (changed bool) {
	rule := func() []string { return strings.Fields(s.best.Case.Tables[ti].Chains[ci].Rules[ri]) }
	for size := min(8, len(rule())-1); size > 0; size-- {
		for at := 0; at+size <= len(rule()) && size < len(rule()); {
			w := rule()
			c := s.best.Case.clone()
			c.Tables[ti].Chains[ci].Rules[ri] = strings.Join(append(append([]string(nil), w[:at]...), w[at+size:]...), " ")
			if s.try(c) {
				changed = true
				continue
			}
			at++
		}
	}
	return changed
}
