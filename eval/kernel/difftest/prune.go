package difftest

// prune leaves out what the compiler refuses: generated pieces need not make
// sense in their place (an icmp field behind a tcp one, a set of a type that
// has no name). Rules are judged one by one beside the table's declarations.
func prune(c *Case) {
	for _, t := range c.Tables {
		var decls []string
		for _, d := range t.Decls {
			probe := &Case{Tables: []*Table{{Family: t.Family, Name: t.Name, Decls: append(append([]string(nil), decls...), d)}}}
			if _, err := Compile(probe.Text()); err == nil {
				decls = append(decls, d)
			}
		}
		t.Decls = decls
		for _, ch := range t.Chains {
			var rules []string
			for _, rule := range ch.Rules {
				probe := &Table{Family: t.Family, Name: t.Name, Decls: decls}
				for _, other := range t.Chains {
					n := &Chain{Name: other.Name, Hook: other.Hook}
					if other == ch {
						n.Rules = []string{rule}
					}
					probe.Chains = append(probe.Chains, n)
				}
				if _, err := Compile((&Case{Tables: []*Table{probe}}).Text()); err == nil {
					rules = append(rules, rule)
				}
			}
			ch.Rules = rules
		}
	}
}
