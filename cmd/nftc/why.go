package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/ir"
)

// reason says why a rule did not match: in the ruleset's language what was
// looked at, what the packet had and what the rule wants. Fields that do not
// apply are empty; Text says all in one line.
type reason struct {
	Field  string
	Got    string
	Wanted string
	Text   string
	// held is how many comparisons of the rule were met before.
	held int
}

// explainer finds the statement behind an expression that failed and words it.
type explainer struct {
	rules map[*bytecode.Rule]*ir.Rule
	stmts map[*bytecode.Rule][]ir.Stmt // by expression
	words *ir.Words
}

// newExplainer pairs the rules of a program with those that it was compiled
// from: both hold the same tables, chains and rules in the same order.
func newExplainer(program *bytecode.Ruleset, rs *ir.Ruleset, machine ir.Options) *explainer {
	x := &explainer{
		rules: make(map[*bytecode.Rule]*ir.Rule), stmts: make(map[*bytecode.Rule][]ir.Stmt), words: ir.NewWords(machine),
	}
	for i, t := range rs.Tables {
		for j, c := range t.Chains {
			for k, r := range c.Rules {
				x.rules[program.Tables[i].Chains[j].Rules[k]] = r
			}
		}
	}
	return x
}

// origins are the statements that a rule's expressions come from.
func (x *explainer) origins(r *bytecode.Rule) []ir.Stmt {
	out, ok := x.stmts[r]
	if !ok {
		if src := x.rules[r]; src != nil {
			out = compile.Origins(src)
		}
		x.stmts[r] = out
	}
	return out
}

// stmt is the statement that an expression of a rule comes from, or nil.
func (x *explainer) stmt(r *bytecode.Rule, instr int) ir.Stmt {
	if all := x.origins(r); instr >= 0 && instr < len(all) {
		return all[instr]
	}
	return nil
}

// heldBefore counts the comparisons in front of an expression, but for those
// that other statements imply.
func (x *explainer) heldBefore(r *bytecode.Rule, instr int) int {
	n := 0
	all := x.origins(r)
	for i := 1; i <= instr && i < len(all); i++ {
		if all[i] == all[i-1] {
			continue
		}
		if m, ok := all[i-1].(*ir.Match); ok && !m.Implicit {
			n++
		}
	}
	return n
}

// miss is one failure at hand.
type miss struct {
	*explainer
	*eval.Failure
	probe *eval.Probe
}

// reason words a failure. The probe reads the packet as the rule saw it.
func (x *explainer) reason(f *eval.Failure, p *eval.Probe) reason {
	m := &miss{x, f, p}
	r := m.reasonOf(x.stmt(f.Rule, f.Instr))
	if r.Text == "" {
		r.Text = f.String()
	}
	r.held = x.heldBefore(f.Rule, f.Instr)
	return r
}

// matched words what a rule that matched found in sets and maps; empty when it
// looked nothing up, or may have changed what it read.
func (x *explainer) matched(r *bytecode.Rule, p *eval.Probe) string {
	m := &miss{x, &eval.Failure{Rule: r}, p}
	var parts []string
	var last ir.Stmt
	for _, s := range x.origins(r) {
		if s == last {
			continue
		}
		last = s
		switch s := s.(type) {
		case *ir.Match:
			if ref, ok := s.Y.(*ir.SetRef); ok && s.Op != ir.MatchNeq && !s.Implicit {
				parts = append(parts, m.found(s.X, ref))
			}
		case *ir.VerdictStmt:
			if mp, ok := s.X.(*ir.Map); ok {
				parts = append(parts, m.found(mp.Key, &ir.SetRef{Set: mp.Set}))
			}
		case *ir.Assign, *ir.Reset:
			return ""
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// found words a key that is in a set.
func (m *miss) found(x ir.Expr, ref *ir.SetRef) string {
	key := m.load(x)
	if key == nil {
		return ""
	}
	c := ir.Compared(x, ref)
	set := c.Y.(*ir.SetRef).Set
	key = c.Shifted(key)
	got := m.words.Lookup(set, key)
	if name := m.deviceName(c.Field); name != "" {
		got = name
	}
	s := m.words.Expr(c.Field) + " is " + got
	anonymous := set.Flags&bytecode.SetAnonymous != 0
	if !anonymous {
		s += ", in @" + set.Name
	}
	if el := holder(set, key); el != nil {
		if at := m.words.Key(set, el); at != got {
			if anonymous {
				s += ", in the set"
			}
			s += " as " + at
		}
	}
	return s
}

func (m *miss) reasonOf(s ir.Stmt) reason {
	if m.Kind == eval.FailAbsent {
		return m.absent(s)
	}
	if mp := m.mapOf(s); mp != nil && m.Kind == eval.FailSet {
		return m.lookup(ir.Compared(mp.Key, &ir.SetRef{Set: mp.Set}), false)
	}
	switch s := s.(type) {
	case *ir.Match:
		return m.match(s)
	case *ir.Stateful:
		return m.stateful(m.words.Stateful(s.Instr), s.Instr)
	case *ir.SetUpdate:
		return m.update(s)
	case *ir.VerdictStmt:
		if m.Kind == eval.FailState {
			return reason{Text: "the counter, limit or quota of the element says no"}
		}
	case *ir.ObjRef:
		if n, ok := s.X.(*ir.ObjectName); ok && m.Kind == eval.FailState {
			return reason{Field: s.Type.String() + " name " + n.Name, Text: fmt.Sprintf("%s %q says no", s.Type, n.Name)}
		}
	case *ir.Simple:
		switch s.Instr.(type) {
		case *bytecode.FlowOffload:
			return reason{Text: "the flow is not offloaded: it is offloaded already, or not an established TCP or UDP connection without helper"}
		case *bytecode.Synproxy:
			return reason{Text: "synproxy: neither a TCP SYN nor an ACK"}
		}
	case *ir.TProxy:
		return reason{Text: "tproxy: neither TCP nor UDP of its address family"}
	case *ir.Fwd:
		return reason{Text: "fwd: not of its address family"}
	}
	return reason{}
}

// mapOf is the map of a statement in which the lookup failed, or nil.
func (m *miss) mapOf(s ir.Stmt) *ir.Map {
	name, id := m.Set, uint32(0)
	switch in := m.instr().(type) {
	case *bytecode.Lookup:
		id = in.SetID
	case *bytecode.ObjrefMap:
		id = in.SetID
	default:
		return nil
	}
	var found *ir.Map
	for _, e := range operands(s) {
		eachExpr(e, func(e ir.Expr) {
			if mp, ok := e.(*ir.Map); ok && mp.Set.Name == name && mp.Set.ID == id {
				found = mp
			}
		})
	}
	return found
}

func (m *miss) instr() bytecode.Instr {
	if m.Instr < 0 || m.Instr >= len(m.Rule.Instrs) {
		return nil
	}
	return m.Rule.Instrs[m.Instr]
}

// match words a comparison that does not hold.
func (m *miss) match(s *ir.Match) reason {
	if s.Merged != nil {
		return m.merged(s)
	}
	c := ir.Compared(s.X, s.Y)
	if ref, ok := c.Y.(*ir.SetRef); ok {
		if m.Kind == eval.FailState {
			return reason{Field: m.words.Expr(c.Field), Text: "the counter, limit or quota of the element says no"}
		}
		return m.lookup(c, s.Op == ir.MatchNeq && ref != nil)
	}
	wanted, want := m.words.Expr(c.Y), ""
	if m.Why != eval.CauseNone {
		r := reason{Field: m.words.Expr(c.Field), Wanted: wantedWord(s.Op, c.Y) + wanted}
		r.Text = fmt.Sprintf("%s is not stated; it is not, or is taken not to be, %s", r.Field, r.Wanted)
		return r
	}
	got := m.load(c.X)
	if got == nil {
		return reason{}
	}
	v := c.Loaded(got)
	flags, isFlags := c.Y.(*ir.Value)
	isFlags = isFlags && flags.Type.IsBitmask()
	b, isOp := c.X.(*ir.Binary)
	switch {
	case isFlags && c.Whole != nil && isOp && b.Op == ir.OpAnd && allZero(flags.Bytes):
		// `X & flags == 0` and `X & flags != 0` test for none or any of them.
		if mask, ok := b.Y.(*ir.Value); ok {
			mask := *mask
			mask.Type = flags.Type
			c.Field, c.Whole = c.Whole, nil
			if whole := m.load(c.Field); whole != nil {
				v = ir.ValueOf(c.Field, whole)
			}
			if want = m.anyOf(&mask); s.Op == ir.MatchEq || s.Op == ir.MatchImplicit {
				want = m.noneOf(&mask)
			}
		}
	case isFlags && s.Op == ir.MatchImplicit && c.Whole == nil:
		want = m.anyOf(flags)
	case isFlags && s.Op == ir.MatchNeg:
		want = m.noneOf(flags)
	}
	if want == "" {
		want = wantedWord(s.Op, c.Y) + wanted
	}
	field := m.words.Expr(c.Field)
	r := reason{Field: field, Got: m.valueText(v), Wanted: want}
	if name := m.deviceName(c.Field); name != "" {
		r.Got = name
	}
	r.Text = m.is(c.Field, r.Got)
	if s.Implicit && s.Op != ir.MatchNeq {
		r.Text = "not " + wanted + ": " + r.Text
		return r
	}
	if c.Whole != nil {
		if whole := m.load(c.Whole); whole != nil {
			if got := m.valueText(ir.ValueOf(c.Whole, whole)); got != r.Got {
				r.Text = m.is(c.Whole, got) + "; " + r.Text
			}
		}
	}
	r.Text += "; wanted " + want
	return r
}

// merged words a comparison of neighbouring fields by those that differ.
func (m *miss) merged(s *ir.Match) reason {
	var out reason
	for _, part := range s.Merged {
		y, ok := part.Y.(*ir.Value)
		if got := m.load(part.X); !ok || got == nil || bytes.Equal(ir.ValueOf(part.X, got).Bytes, y.Bytes) {
			continue
		}
		r := m.match(part)
		if out.Text == "" {
			out = r
		} else {
			out.Text += "; " + r.Text
		}
	}
	return out
}

// wantedWord stands in front of what was wanted.
func wantedWord(op ir.MatchOp, y ir.Expr) string {
	switch op {
	case ir.MatchNeq:
		if _, ok := y.(*ir.Value); ok {
			return "anything but "
		}
		return "outside of "
	case ir.MatchLt:
		return "less than "
	case ir.MatchGt:
		return "more than "
	case ir.MatchLte:
		return "at most "
	case ir.MatchGte:
		return "at least "
	}
	return ""
}

// anyOf lists the flags of a mask as alternatives.
func (m *miss) anyOf(v *ir.Value) string {
	if fs := m.words.Flags(v); len(fs) > 0 {
		return orList(fs)
	}
	return m.words.Value(v)
}

// noneOf says that no flag of a mask may be set.
func (m *miss) noneOf(v *ir.Value) string {
	if fs := m.words.Flags(v); len(fs) > 1 {
		return "none of " + strings.Join(fs, ", ")
	}
	return "no " + m.words.Value(v)
}

// is says what an expression's value is.
func (m *miss) is(e ir.Expr, got string) string { return m.words.Expr(e) + " is " + got }

// valueText words a value of the packet. Names that are empty and interface
// indexes of 0 say that there is none.
func (m *miss) valueText(v *ir.Value) string {
	if none := v.Type != nil && (v.Type.IsString() || v.Type.ID == ir.IDIfIndex) && allZero(v.Bytes); none {
		return "none"
	}
	return m.words.Value(v)
}

// deviceName is the name of a device whose index a field is: it may have an index
// that no rule names. Empty for other fields.
func (m *miss) deviceName(field ir.Expr) string {
	x, ok := field.(*ir.Meta)
	if !ok || x.Key != bytecode.MetaIIF && x.Key != bytecode.MetaOIF {
		return ""
	}
	name := *x
	if name.Key = bytecode.MetaIIFName; x.Key == bytecode.MetaOIF {
		name.Key = bytecode.MetaOIFName
	}
	name.Type, name.Order, name.Bits = ir.TypeIfName, ir.OrderHost, ir.TypeIfName.Bits
	b := m.load(&name)
	if b == nil {
		return ""
	}
	return m.valueText(ir.ValueOf(&name, b))
}

// load reads the value of an expression from the packet; nil where there is
// none or it is not known.
func (m *miss) load(e ir.Expr) []byte {
	if m.probe == nil {
		return nil
	}
	b, missing, cause := m.probe.Load(compile.Load(e), (e.Common().Bits+7)/8)
	if missing != packet.None || cause != eval.CauseNone {
		return nil
	}
	return b
}

// fewElements is how many elements of an anonymous set are listed, and
// elementsWidth how long the list may be.
const (
	fewElements   = 12
	elementsWidth = 160
)

// lookup words a key that is not in a set, or in one that it should not be in.
func (m *miss) lookup(c ir.Comparison, excluded bool) reason {
	set := c.Y.(*ir.SetRef).Set
	key := c.Shifted(m.Loaded)
	got := m.words.Lookup(set, key)
	switch {
	case allZero(key) && set.Key != nil && (set.Key.IsString() || set.Key.ID == ir.IDIfIndex):
		got = "none"
	default:
		if name := m.deviceName(c.Field); name != "" {
			got = name
		}
	}
	r := reason{Field: m.words.Expr(c.Field), Got: got}
	r.Text = r.Field + " is " + got + "; "
	anonymous := set.Flags&bytecode.SetAnonymous != 0
	name := "@" + set.Name
	if anonymous {
		name = fmt.Sprintf("the set of %d", m.Size)
	}
	switch {
	case excluded:
		r.Wanted = "not in " + name
		if el := holder(set, key); el != nil {
			at := m.words.Key(set, el)
			switch {
			case anonymous:
				r.Wanted = "anything but " + m.elementList(set)
				r.Text += "wanted " + r.Wanted
				return r
			case at != got:
				r.Text += "in " + name + " as " + at + ", wanted outside of it"
				return r
			}
		}
		r.Text += "in " + name + ", wanted outside of it"
		return r
	case anonymous:
		if r.Wanted = m.elementList(set); r.Wanted != "" {
			r.Text += "wanted " + r.Wanted
			return r
		}
		r.Wanted = "one of " + count(m.Size, "element")
		r.Text += "wanted " + r.Wanted
	default:
		r.Wanted = "in " + name
		r.Text += "not in " + name
		if m.Size == 0 {
			r.Text += ", which is empty"
		} else {
			r.Text += " (" + count(m.Size, "element") + ")"
		}
	}
	if near, field := nearest(set, key); near != nil {
		r.Text += fmt.Sprintf("; nearest is %s, which differs in %s", m.words.Key(set, near), m.fieldName(c.Field, field))
	}
	return r
}

// elementList lists the elements of a set if they are few.
func (m *miss) elementList(set *ir.Set) string {
	if len(set.Elements) > fewElements {
		return ""
	}
	var list []string
	for i := range set.Elements {
		list = append(list, m.words.Key(set, &set.Elements[i]))
	}
	if s := orList(list); len(s) <= elementsWidth {
		return s
	}
	return ""
}

// holder is the element of the source that holds a key, or nil.
func holder(set *ir.Set, key []byte) *ir.Element {
	for i := range set.Elements {
		e := &set.Elements[i]
		if e.Catchall {
			continue
		}
		all := true
		for _, held := range set.Holds(e, key) {
			all = all && held
		}
		if all {
			return e
		}
	}
	return nil
}

// nearest is the first element of a set of concatenations that differs from a
// key in one field only, and that field.
func nearest(set *ir.Set, key []byte) (near *ir.Element, field int) {
	if len(set.KeyFields) < 2 {
		return nil, 0
	}
	for i := range set.Elements {
		e := &set.Elements[i]
		if e.Catchall {
			continue
		}
		differs := 0
		for k, held := range set.Holds(e, key) {
			if !held {
				differs++
				field = k
			}
		}
		if differs == 1 {
			return e, field
		}
	}
	return nil, 0
}

// fieldName is the name of one part of a concatenation.
func (m *miss) fieldName(e ir.Expr, i int) string {
	c, ok := e.(*ir.Concat)
	if !ok || i >= len(c.Items) {
		return fmt.Sprintf("field %d", i+1)
	}
	item := ir.Compared(c.Items[i], nil)
	return m.words.Expr(item.Field)
}

// stateful words a counter, quota, limit or count that says no.
func (m *miss) stateful(text string, in bytecode.Instr) reason {
	r := reason{Field: text}
	switch in := in.(type) {
	case *bytecode.Limit:
		if r.Got = "used up"; in.Over {
			r.Got = "not used up"
		}
	case *bytecode.Quota:
		if r.Got = "used up"; in.Over {
			r.Got = "not used up"
		}
	case *bytecode.Connlimit:
		if r.Got = fmt.Sprintf("more than %s", count(int(in.Count), "connection")); in.Over {
			r.Got = fmt.Sprintf("not more than %s", count(int(in.Count), "connection"))
		}
	default:
		return reason{}
	}
	r.Text = text + ": " + r.Got
	return r
}

// update words an element that could not be added, or whose limit says no.
func (m *miss) update(s *ir.SetUpdate) reason {
	r := reason{Field: m.words.Expr(s.Key), Got: m.words.Lookup(s.Set, m.Loaded)}
	if m.Kind == eval.FailSet {
		r.Text = fmt.Sprintf("@%s takes no more elements: it has %d", s.Set.Name, m.Size)
		return r
	}
	r.Text = fmt.Sprintf("%s is %s; the element of @%s says no", r.Field, r.Got, s.Set.Name)
	if s.Opts == nil {
		return r
	}
	for _, st := range s.Opts.Stmts {
		if st, ok := st.(*ir.Stateful); ok {
			if one := m.stateful(m.words.Stateful(st.Instr), st.Instr); one.Text != "" {
				r.Text = fmt.Sprintf("%s is %s; for it in @%s: %s", r.Field, r.Got, s.Set.Name, one.Text)
			}
		}
	}
	return r
}

// absent words a field that the packet does not have.
func (m *miss) absent(s ir.Stmt) reason {
	field, missing := m.absentField(s)
	if field == nil {
		return reason{Text: absentWords(nil, m.Absent)}
	}
	r := reason{Field: m.words.Expr(field), Got: "none"}
	r.Text = r.Field + ": " + absentWords(field, missing)
	match, ok := s.(*ir.Match)
	if !ok {
		return r
	}
	if y, ok := match.Y.(*ir.Value); ok {
		c := ir.Compared(match.X, y)
		r.Field = m.words.Expr(c.Field)
		r.Wanted = wantedWord(match.Op, c.Y) + m.words.Expr(c.Y)
		r.Text = r.Field + ": " + absentWords(field, missing)
		if match.Implicit {
			r.Text = "not " + r.Wanted + ": " + absentWords(field, missing)
		}
	}
	return r
}

// absentField is the expression of a statement that the packet has not.
func (m *miss) absentField(s ir.Stmt) (field ir.Expr, missing packet.Absent) {
	if m.probe == nil {
		return nil, m.Absent
	}
	for _, e := range operands(s) {
		eachExpr(e, func(e ir.Expr) {
			if field != nil || !isLoad(e) {
				return
			}
			if _, a, _ := m.probe.Load(compile.Load(e), (e.Common().Bits+7)/8); a != packet.None {
				field, missing = e, a
			}
		})
	}
	return field, missing
}

// absentWords says what is not there.
func absentWords(field ir.Expr, a packet.Absent) string {
	switch a {
	case packet.Fragment:
		return "no transport header: a later fragment"
	case packet.PastEnd:
		return "the packet ends before it"
	case packet.NotFound:
		switch e := field.(type) {
		case *ir.Exthdr:
			if e.Op == bytecode.ExthdrTCPOpt || e.Op == bytecode.ExthdrIPv4 || e.Op == bytecode.ExthdrDCCP {
				return "the packet has no such option"
			}
			return "the packet has no such header"
		case *ir.CT:
			return "no connection is tracked for the packet"
		case *ir.Socket:
			return "the packet has no socket"
		case *ir.Fib, *ir.RT:
			return "the packet has no route"
		}
		return "the packet has none"
	}
	return a.String()
}

// isLoad tells whether an expression reads something of the packet.
func isLoad(e ir.Expr) bool {
	switch e.(type) {
	case *ir.Payload, *ir.Exthdr, *ir.Meta, *ir.CT, *ir.RT, *ir.Fib, *ir.Socket, *ir.Osf, *ir.Xfrm, *ir.Tunnel:
		return true
	}
	return false
}

// operands are the expressions that a statement computes, in order.
func operands(s ir.Stmt) []ir.Expr {
	switch s := s.(type) {
	case *ir.Match:
		return []ir.Expr{s.X}
	case *ir.VerdictStmt:
		return []ir.Expr{s.X}
	case *ir.Assign:
		return []ir.Expr{s.Value, s.Target}
	case *ir.ObjRef:
		return []ir.Expr{s.X}
	case *ir.NAT:
		return []ir.Expr{s.Addr, s.Port}
	case *ir.TProxy:
		return []ir.Expr{s.Addr, s.Port}
	case *ir.Dup:
		return []ir.Expr{s.Addr, s.Dev}
	case *ir.Fwd:
		return []ir.Expr{s.Addr, s.Dev}
	case *ir.Queue:
		return []ir.Expr{s.Num}
	case *ir.SetUpdate:
		return []ir.Expr{s.Key, s.Data}
	case *ir.Reset:
		return []ir.Expr{s.Target}
	}
	return nil
}

// eachExpr calls f for an expression and those that it is made of, inner ones
// last.
func eachExpr(e ir.Expr, f func(ir.Expr)) {
	if e == nil {
		return
	}
	f(e)
	for _, part := range ir.Parts(e) {
		eachExpr(part, f)
	}
}

// orList joins alternatives: a, b or c.
func orList(list []string) string {
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " or " + list[n-1]
	}
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// rawHex is a register's content as JSON gives it; empty for none.
func rawHex(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return "0x" + hex.EncodeToString(b)
}
