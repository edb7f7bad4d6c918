package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
	"slices"
)

// tableKey names a table.
type tableKey struct {
	family bytecode.Family
	name   string
}

// tableCache is what nft knows of a table while it evaluates commands: names
// are entered when their definition is evaluated and removed by delete, before
// the kernel has seen anything.
type tableCache struct {
	table      *Table
	chains     map[string]*Chain
	sets       map[string]*Set
	objects    map[objectKey]*Object
	flowtables map[string]*Flowtable
	// rules in their order, for `index`.
	rules map[*Chain][]*Rule
}

type objectKey struct {
	typ  bytecode.ObjectType
	name string
}

func newTableCache(t *Table) *tableCache {
	return &tableCache{
		table:      t,
		chains:     make(map[string]*Chain),
		sets:       make(map[string]*Set),
		objects:    make(map[objectKey]*Object),
		flowtables: make(map[string]*Flowtable),
		rules:      make(map[*Chain][]*Rule),
	}
}

// families by name, as in front of a table's name.
var families = map[string]bytecode.Family{
	"ip": bytecode.FamilyIP, "ip6": bytecode.FamilyIP6, "inet": bytecode.FamilyInet,
	"arp": bytecode.FamilyARP, "bridge": bytecode.FamilyBridge, "netdev": bytecode.FamilyNetdev,
}

// objectTypes by the word of their command.
var objectTypes = map[string]bytecode.ObjectType{
	"counter": bytecode.ObjCounter, "quota": bytecode.ObjQuota, "limit": bytecode.ObjLimit,
	"ct helper": bytecode.ObjCTHelper, "ct timeout": bytecode.ObjCTTimeout,
	"ct expectation": bytecode.ObjCTExpect, "synproxy": bytecode.ObjSynproxy,
	"secmark": bytecode.ObjSecmark, "tunnel": bytecode.ObjTunnel,
}

// items evaluates the items of a file or included file in order.
func (r *resolver) items(items []parser.Item) {
	var cmds []*parser.Command
	each(items, func(it parser.Item) {
		if c, ok := it.(*parser.Command); ok {
			cmds = append(cmds, c)
		}
	})
	for i := 0; i < len(cmds); i++ {
		c := cmds[i]
		if lit := literalElements(c); lit != nil {
			c, i = collapse(cmds, i)
		}
		r.command(c)
	}
}

// literalElements returns the elements of an `add element` with braces.
func literalElements(c *parser.Command) *parser.SetLit {
	if c.Kind != "element" || c.Verb != parser.VerbAdd && c.Verb != parser.VerbCreate {
		return nil
	}
	lit, _ := c.Body.(*parser.SetLit)
	return lit
}

// collapse joins the element commands that follow cmds[i] on the same set to
// one; last is the index of the last of them (nft_cmd_collapse_elems).
func collapse(cmds []*parser.Command, i int) (joined *parser.Command, last int) {
	first := cmds[i]
	last = i
	var elems []*parser.Elem
	for j := i + 1; j < len(cmds); j++ {
		c := cmds[j]
		lit := literalElements(c)
		if lit == nil || c.Verb != first.Verb || c.Family.Text != first.Family.Text ||
			c.Table.Text != first.Table.Text || c.Object.Text != first.Object.Text {
			break
		}
		if last == i {
			elems = append(elems, first.Body.(*parser.SetLit).Elems...)
		}
		elems = append(elems, lit.Elems...)
		last = j
	}
	if last == i {
		return first, i
	}
	c := *first
	c.Body = &parser.SetLit{Node: first.Body.(*parser.SetLit).Node, Elems: elems}
	return &c, last
}

// where is the place that a command speaks of: family and table, with spans
// for messages.
type where struct {
	cmd    *parser.Command
	family bytecode.Family
	table  parser.Name
}

func (r *resolver) where(c *parser.Command) where {
	w := where{cmd: c, family: bytecode.FamilyIP, table: c.Table}
	if f, ok := families[c.Family.Text]; ok {
		w.family = f
	}
	return w
}

func (w where) key() tableKey { return tableKey{w.family, w.table.Text} }

// step appends a change.
func (r *resolver) step(w where, s Step) {
	s.Family = w.family
	s.TableName = w.table.Text
	if s.Table == nil {
		if tc := r.cache[w.key()]; tc != nil {
			s.Table = tc.table
		}
	}
	if !s.Span.Valid() {
		s.Span = w.cmd.Span
	}
	if !s.TableSpan.Valid() {
		s.TableSpan = w.table.Span
	}
	if n := len(r.out.Steps); n == cap(r.out.Steps) {
		r.out.Steps = slices.Grow(r.out.Steps, n+16) // by twice: there is one a rule
	}
	r.out.Steps = append(r.out.Steps, s)
}

func verbFlags(v parser.Verb) bytecode.OpFlags {
	switch v {
	case parser.VerbCreate:
		return bytecode.OpCreate
	case parser.VerbDestroy:
		return bytecode.OpDestroy
	case parser.VerbInsert:
		return bytecode.OpInsert
	}
	return 0
}

// command evaluates one command.
func (r *resolver) command(c *parser.Command) {
	w := r.where(c)
	switch c.Verb {
	case parser.VerbNone, parser.VerbAdd, parser.VerbCreate:
		r.add(w)
	case parser.VerbInsert, parser.VerbReplace:
		r.ruleCommand(w)
	case parser.VerbDelete, parser.VerbDestroy:
		r.delete(w)
	case parser.VerbFlush:
		r.flush(w)
	case parser.VerbRename:
		r.rename(w)
	case parser.VerbList, parser.VerbReset:
		r.listed(w)
	case parser.VerbGet:
		if c.Kind == "element" {
			r.getElements(w)
		}
	}
}

func (r *resolver) add(w where) {
	c := w.cmd
	switch c.Kind {
	case "table":
		r.addTable(w)
	case "chain":
		ch := r.addChain(w, c)
		if b, ok := c.Body.(*parser.ChainBlock); ok && ch != nil {
			r.chainRules(w, ch, b)
		}
	case "rule":
		r.ruleCommand(w)
	case "set", "map":
		r.addSet(w, c)
	case "element":
		r.addElements(w)
	case "flowtable":
		r.addFlowtable(w, c)
	default:
		if t, ok := objectTypes[c.Kind]; ok {
			r.addObject(w, c, t)
		}
	}
}

// inTable makes the command of a table's member look like one that names the
// table.
func (w where) member(c *parser.Command) where {
	return where{cmd: c, family: w.family, table: w.table}
}

// addTable evaluates a table and what is in its block, in the order in which
// nft sends it: chains, objects, sets, flowtables, rules.
func (r *resolver) addTable(w where) {
	c := w.cmd
	tc := r.cache[w.key()]
	t := &Table{Family: w.family, Name: w.table.Text, Span: w.table.Span}
	body, _ := c.Body.(*parser.TableBlock)
	var chains, objects, sets, flowtables []*parser.Command
	if body != nil {
		each(body.Items, func(it parser.Item) {
			switch it := it.(type) {
			case *parser.Flags:
				t.Flags |= r.tableFlags(it)
			case *parser.CommentStmt:
				t.Comment, t.CommentSet = it.Text.Text, true
				r.checkComment(it)
			case *parser.Command:
				switch it.Kind {
				case "chain":
					chains = append(chains, it)
				case "set", "map":
					sets = append(sets, it)
				case "flowtable":
					flowtables = append(flowtables, it)
				default:
					objects = append(objects, it)
				}
			}
		})
	}
	if tc == nil {
		r.cache[w.key()] = newTableCache(t)
	}
	r.step(w, Step{Kind: bytecode.OpNewTable, Flags: verbFlags(c.Verb), Table: t})
	made := make([]*Chain, len(chains))
	for i, m := range chains {
		made[i] = r.addChain(w.member(m), m)
	}
	for _, m := range objects {
		if typ, ok := objectTypes[m.Kind]; ok {
			r.addObject(w.member(m), m, typ)
		}
	}
	for _, m := range sets {
		r.addSet(w.member(m), m)
	}
	for _, m := range flowtables {
		r.addFlowtable(w.member(m), m)
	}
	for i, m := range chains {
		if b, ok := m.Body.(*parser.ChainBlock); ok && made[i] != nil {
			r.chainRules(w.member(m), made[i], b)
		}
	}
}

// each calls f for the items of a block and of the files included in it.
func each(items []parser.Item, f func(parser.Item)) {
	for _, it := range items {
		if inc, ok := it.(*parser.Include); ok {
			each(inc.Items, f)
			continue
		}
		f(it)
	}
}

// maxComment is NFTNL_UDATA_COMMENT_MAXLEN.
const maxComment = 128

func (r *resolver) checkComment(c *parser.CommentStmt) {
	if len(c.Text.Text) > maxComment {
		r.diags.Errorf("comment-too-long", c.Text.Span, "comment too long, %d characters maximum allowed", maxComment)
	}
}

// tableFlagBits are NFT_TABLE_F_*.
var tableFlagBits = map[string]uint32{"dormant": 1, "owner": 2, "persist": 4}

func (r *resolver) tableFlags(f *parser.Flags) uint32 {
	var out uint32
	for _, n := range f.Names {
		bit, ok := tableFlagBits[n.Text]
		if !ok {
			r.diags.Add(diag.Diagnostic{Code: "unknown-flag", Span: n.Span, Message: "unknown table option " + n.Text,
				Suggest: diag.Nearest(n.Text, []string{"dormant", "owner", "persist"})})
		}
		out |= bit
	}
	return out
}

// chainRules evaluates the rules of a chain's block.
func (r *resolver) chainRules(w where, ch *Chain, b *parser.ChainBlock) {
	if free := cap(r.out.Steps) - len(r.out.Steps); free < len(b.Items) {
		r.out.Steps = slices.Grow(r.out.Steps, max(len(b.Items), len(r.out.Steps)))
	}
	each(b.Items, func(it parser.Item) {
		if pr, ok := it.(*parser.Rule); ok {
			rw := w
			rw.table.Span = pr.Span
			r.addRule(rw, ch, pr, ruleStep{})
		}
	})
}

// ruleStep says where a rule goes and which names its command gave.
type ruleStep struct {
	verb      parser.Verb
	pos       *parser.Command // with Handle, Position or Index; nil in blocks
	chainName parser.Name
}

// ruleTable is the table that rules are resolved in: the known one, or one
// that has nothing but a name.
func (r *resolver) ruleTable(w where) *Table {
	if tc := r.cache[w.key()]; tc != nil {
		return tc.table
	}
	return &Table{Family: w.family, Name: w.table.Text}
}

func (r *resolver) ruleCommand(w where) {
	c := w.cmd
	pr, ok := c.Body.(*parser.Rule)
	if !ok {
		return
	}
	var ch *Chain
	if tc := r.cache[w.key()]; tc != nil {
		ch = tc.chains[c.Object.Text]
	}
	if ch == nil {
		ch = &Chain{Name: c.Object.Text, Table: r.ruleTable(w)}
	}
	r.addRule(w, ch, pr, ruleStep{verb: c.Verb, pos: c, chainName: c.Object})
}

// addRule evaluates a rule and enters it in the order of its chain
// (rule_evaluate, rule_cache_update).
func (r *resolver) addRule(w where, ch *Chain, pr *parser.Rule, at ruleStep) {
	old := r.at
	r.at = w
	rule := r.resolveRule(r.ruleTable(w), ch, pr)
	r.at = old
	if rule == nil {
		return
	}
	s := Step{Kind: bytecode.OpNewRule, Chain: ch, Rule: rule, Span: pr.Span,
		Flags: verbFlags(at.verb), NameSpan: at.chainName.Span}
	if !s.NameSpan.Valid() {
		s.NameSpan = pr.Span
	}
	if at.verb == parser.VerbCreate {
		s.Flags = bytecode.OpCreate
	}
	if at.pos != nil {
		s.Span = at.pos.Span
		p := at.pos
		switch {
		case p.Index != nil:
			ref := r.ruleByIndex(w, ch, p.Index)
			if ref == nil {
				return
			}
			if ref.ID == 0 {
				r.ruleRefs++
				ref.ID = r.ruleRefs
			}
			s.Position = ref
		case p.Handle != nil:
			s.Handle, s.HandleSpan = p.Handle.Value, p.Handle.Span
		case p.Position != nil:
			s.Handle, s.HandleSpan = p.Position.Value, p.Position.Span
		}
		if at.verb == parser.VerbReplace {
			s.Kind = bytecode.OpReplaceRule
		}
	}
	if tc := r.cache[w.key()]; tc != nil && ch.ID == 0 {
		list := tc.rules[ch]
		i := len(list)
		if at.verb == parser.VerbInsert {
			i = 0
		}
		if s.Position != nil {
			if j := slices.Index(list, s.Position); j >= 0 {
				i = j
				if at.verb != parser.VerbInsert {
					i++
				}
			}
		}
		list = append(list, nil)
		copy(list[i+1:], list[i:])
		list[i] = rule
		tc.rules[ch] = list
	}
	r.step(w, s)
}

// ruleByIndex finds the rule that `index N` names. nil after an error.
func (r *resolver) ruleByIndex(w where, ch *Chain, n *parser.Number) *Rule {
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return nil
	}
	if tc.chains[ch.Name] == nil {
		r.chainNotFound(w, w.cmd.Object)
		return nil
	}
	list := tc.rules[ch]
	if n.Value >= uint64(len(list)) {
		r.diags.Errorf("unknown-rule", r.withKeyword(n.Span, w.cmd.Span, "index"), "Could not process rule: No such file or directory")
		return nil
	}
	return list[n.Value]
}

// delete takes names out of nft's cache; whether they exist is the kernel's
// business (cmd_evaluate_delete).
func (r *resolver) delete(w where) {
	c := w.cmd
	tc := r.cache[w.key()]
	s := Step{Flags: verbFlags(c.Verb) & bytecode.OpDestroy, Name: c.Object.Text, NameSpan: c.Object.Span}
	if c.Handle != nil {
		s.Handle, s.HandleSpan = c.Handle.Value, c.Handle.Span
	}
	switch c.Kind {
	case "table":
		s.Kind = bytecode.OpDelTable
		if c.Handle == nil {
			delete(r.cache, w.key())
		}
		if tc != nil {
			s.Table = tc.table
		}
	case "chain":
		s.Kind = bytecode.OpDelChain
		if b, ok := c.Body.(*parser.ChainBlock); ok && len(b.Items) > 0 {
			s.Chain = r.chainSpec(w, c, b)
			break
		}
		if tc != nil {
			s.Chain = tc.chains[c.Object.Text]
			delete(tc.chains, c.Object.Text)
		}
	case "rule":
		s.Kind = bytecode.OpDelRule
		if tc != nil {
			s.Chain = tc.chains[c.Object.Text]
		}
		if c.Index != nil {
			ch := s.Chain
			if ch == nil {
				ch = &Chain{Name: c.Object.Text}
			}
			if s.Rule = r.ruleByIndex(w, ch, c.Index); s.Rule == nil {
				return
			}
			list := tc.rules[ch]
			for i, x := range list {
				if x == s.Rule {
					tc.rules[ch] = append(list[:i:i], list[i+1:]...)
					break
				}
			}
		}
	case "set", "map":
		s.Kind = bytecode.OpDelSet
		if tc != nil {
			s.Set = tc.sets[c.Object.Text]
			delete(tc.sets, c.Object.Text)
		}
	case "element":
		r.deleteElements(w)
		return
	case "flowtable":
		s.Kind = bytecode.OpDelFlowtable
		if tc != nil {
			s.Flowtable = tc.flowtables[c.Object.Text]
			if b, ok := c.Body.(*parser.FlowtableBlock); ok && len(b.Items) > 0 {
				s.Flowtable = r.flowtableSpec(w, c, b)
				break
			}
			delete(tc.flowtables, c.Object.Text)
		}
	default:
		typ, ok := objectTypes[c.Kind]
		if !ok {
			return
		}
		s.Kind = bytecode.OpDelObject
		s.ObjType = typ
		if tc != nil {
			k := objectKey{typ, c.Object.Text}
			s.Object = tc.objects[k]
			delete(tc.objects, k)
		}
	}
	r.step(w, s)
}

func (r *resolver) flush(w where) {
	c := w.cmd
	tc := r.cache[w.key()]
	s := Step{Name: c.Object.Text, NameSpan: c.Object.Span}
	switch c.Kind {
	case "ruleset":
		s.Kind = bytecode.OpFlushRuleset
		if c.Family.Text != "" {
			s.OnlyFamily = true
		}
		// nft's cache keeps what the file defined before (cmd_evaluate_flush);
		// sets may be defined again.
		for k, tc := range r.cache {
			if !s.OnlyFamily || k.family == w.family {
				for _, set := range tc.sets {
					set.stale = true
				}
				clear(tc.rules)
			}
		}
	case "table":
		s.Kind = bytecode.OpFlushTable
		if tc != nil {
			clear(tc.rules)
		}
	case "chain":
		s.Kind = bytecode.OpFlushChain
		if tc != nil {
			s.Chain = tc.chains[c.Object.Text]
			delete(tc.rules, s.Chain)
		}
	case "set", "map", "meter":
		s.Kind = bytecode.OpFlushSet
		s.Set = r.commandSet(w, c.Kind)
		if s.Set == nil {
			return
		}
		s.Set.init, s.Set.hasInit, s.Set.declared = nil, false, false
	default:
		return
	}
	r.step(w, s)
}

// commandSet looks up the set that a command on sets names, of the right kind.
// nil after an error.
func (r *resolver) commandSet(w where, kind string) *Set {
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return nil
	}
	c := w.cmd
	set := tc.sets[c.Object.Text]
	if set == nil {
		r.setNotFound(w.family, c.Object)
		return nil
	}
	isMap := set.Flags&(bytecode.SetMap|bytecode.SetObject) != 0
	ok := true
	switch kind {
	case "set":
		ok = !isMap
	case "map":
		ok = isMap
	case "meter":
		ok = set.Flags&bytecode.SetEval != 0
	}
	if !ok {
		r.diags.Errorf("unknown-set", c.Object.Span, "No such file or directory")
		return nil
	}
	return set
}

// rename changes a chain's name. The kernel only knows chains of earlier
// transactions for this (nf_tables_updchain finds the chain by its handle,
// which nft has not for a chain made in the same file).
func (r *resolver) rename(w where) {
	c := w.cmd
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return
	}
	ch := tc.chains[c.Object.Text]
	if ch == nil {
		r.chainNotFound(w, c.Object)
		return
	}
	r.step(w, Step{Kind: bytecode.OpNewChain, Chain: ch, Rename: true, Name: c.NewName.Text, NameSpan: c.NewName.Span})
}

// listed checks that what list and reset name is there
// (cmd_evaluate_list, cmd_evaluate_reset).
func (r *resolver) listed(w where) {
	c := w.cmd
	tc := r.cache[w.key()]
	switch c.Kind {
	case "table":
		if c.Table.Text != "" && tc == nil {
			r.tableNotFound(w)
		}
	case "chain":
		if tc == nil {
			r.tableNotFound(w)
		} else if tc.chains[c.Object.Text] == nil {
			r.chainNotFound(w, c.Object)
		}
	case "set", "map", "meter":
		r.commandSet(w, c.Kind)
	case "element":
		r.getElements(w)
	case "flowtable":
		if tc == nil {
			r.tableNotFound(w)
		} else if tc.flowtables[c.Object.Text] == nil {
			r.diags.Errorf("no-such-object", c.Object.Span, "No such file or directory")
		}
	case "ruleset", "tables", "chains", "maps", "meters", "hooks":
	case "rule", "rules", "sets", "flowtables", "counters", "quotas", "limits", "secmarks", "synproxys",
		"ct helpers", "ct timeouts", "ct expectations", "tunnels":
		if c.Table.Text != "" && tc == nil {
			r.tableNotFound(w)
		}
	default:
		typ, ok := objectTypes[c.Kind]
		if !ok {
			return
		}
		if tc == nil {
			r.tableNotFound(w)
		} else if tc.objects[objectKey{typ, c.Object.Text}] == nil {
			r.diags.Errorf("no-such-object", c.Object.Span, "No such file or directory")
		}
	}
}

// tableNotFound reports a table that nft's cache does not have (table_not_found).
func (r *resolver) tableNotFound(w where) {
	names := make([]string, 0, len(r.cache))
	fam := map[string]bytecode.Family{}
	for k := range r.cache {
		names = append(names, k.name)
		fam[k.name] = k.family
		if k.name == w.table.Text {
			r.notFound("unknown-table", w.table.Span, "table '"+k.name+"' in family "+k.family.String()+"?", k.name)
			return
		}
	}
	near := diag.Nearest(w.table.Text, names)
	if near == "" {
		r.notFound("unknown-table", w.table.Span, "", "")
		return
	}
	r.notFound("unknown-table", w.table.Span, "table '"+near+"' in family "+fam[near].String()+"?", near)
}

func (r *resolver) notFound(code string, sp diag.Span, hint, suggest string) {
	msg := "No such file or directory"
	if hint != "" {
		msg += "; did you mean " + hint
	}
	r.diags.Add(diag.Diagnostic{Code: code, Span: sp, Message: msg, Suggest: suggest})
}

func (r *resolver) chainNotFound(w where, name parser.Name) {
	var names []string
	in := map[string]*Table{}
	for k, tc := range r.cache {
		if k.family != w.family {
			continue
		}
		for n := range tc.chains {
			names = append(names, n)
			in[n] = tc.table
		}
	}
	near := diag.Nearest(name.Text, names)
	if t := in[name.Text]; t != nil {
		near = name.Text
	}
	hint := ""
	if near != "" {
		hint = "chain '" + near + "' in table " + in[near].Family.String() + " '" + in[near].Name + "'?"
	}
	r.notFound("unknown-chain", name.Span, hint, near)
}

// setNotFound reports a set that nft's cache does not have (set_not_found).
func (r *resolver) setNotFound(family bytecode.Family, name parser.Name) {
	var names []string
	in := map[string]*Set{}
	for _, tc := range r.cache {
		for n, s := range tc.sets {
			names = append(names, n)
			in[n] = s
		}
	}
	near := diag.Nearest(name.Text, names)
	if in[name.Text] != nil {
		near = name.Text
	}
	hint := ""
	if near != "" {
		s := in[near]
		hint = s.kindWord() + " '" + near + "' in table " + s.Table.Family.String() + " '" + s.Table.Name + "'?"
	}
	r.notFound("unknown-set", name.Span, hint, near)
}
