package lint

import (
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// rule is what the lints know about one rule.
type rule struct {
	// bounds are the values that fields of a matching packet can have.
	bounds map[field]bound
	// opaque are conditions that only their text tells apart, in order.
	opaque []string
	// described tells that whether a packet matches follows from bounds and
	// opaque conditions: nothing else decides it.
	described bool
	// terminal tells that the chain does not go on behind the rule when a
	// packet matches.
	terminal bool
	// contradiction is the first condition that the ones before exclude.
	contradiction *contradiction
	// effect is the text of what the rule does to a packet that matches;
	// repeatable tells that doing it twice is the same as doing it once.
	effect     string
	repeatable bool
	// assigns are the fields that the rule may change, also in chains that it
	// calls.
	assigns assigned
	calls   []string
	// returns tells that the rule may return from its chain or go to another;
	// open that it may do anything (an anonymous chain, a map that can grow).
	returns, open bool
	// stack tells that the family's packets have passed the checks of the
	// network stack.
	stack bool
}

// unconditional tells whether every packet matches.
func (a *rule) unconditional() bool {
	return a.described && len(a.bounds) == 0 && len(a.opaque) == 0
}

// bound are the values of a field, and the condition that gave them last.
type bound struct {
	values values
	span   diag.Span
}

// contradiction is a condition that cannot hold together with an earlier one.
type contradiction struct {
	span, earlier diag.Span
}

// assigned is what rules change while a packet passes.
type assigned struct {
	packet bool // bytes of the packet
	ct     bool // the connection, or whether it is tracked
	fields map[field]bool
	sets   map[*ir.Set]bool
}

func (a *assigned) add(b assigned) {
	a.packet = a.packet || b.packet
	a.ct = a.ct || b.ct
	for f := range b.fields {
		a.field(f)
	}
	for s := range b.sets {
		a.set(s)
	}
}

func (a *assigned) field(f field) {
	if a.fields == nil {
		a.fields = make(map[field]bool)
	}
	a.fields[f] = true
}

func (a *assigned) set(s *ir.Set) {
	if a.sets == nil {
		a.sets = make(map[*ir.Set]bool)
	}
	a.sets[s] = true
}

func (a *assigned) none() bool {
	return !a.packet && !a.ct && len(a.fields) == 0 && len(a.sets) == 0
}

// touches tells whether a field may have another value after the assignments.
// A change of packet bytes may change everything that is looked up by them.
func (a *assigned) touches(f field) bool {
	s := string(f)
	switch {
	case a.fields[f]:
		return true
	case strings.HasPrefix(s, "ct "):
		return a.ct || a.packet
	case strings.HasPrefix(s, "meta "):
		return f == fieldL4Proto && a.packet
	case strings.HasPrefix(s, "payload "), strings.HasPrefix(s, "exthdr "):
		return a.packet
	}
	return a.packet || len(a.fields) > 0
}

// rule analyses a rule once.
func (p *pass) rule(r *ir.Rule) *rule {
	if got := p.rules[r]; got != nil {
		return got
	}
	a := &rule{bounds: make(map[field]bound), described: true, repeatable: true}
	if r.Chain != nil && r.Chain.Table != nil {
		f := r.Chain.Table.Family
		a.stack = f == bytecode.FamilyIP || f == bytecode.FamilyInet
	}
	p.rules[r] = a
	var effect strings.Builder
	for _, s := range r.Stmts {
		a.stmt(s, &effect)
	}
	a.effect = effect.String()
	return a
}

func (a *rule) stmt(s ir.Stmt, effect *strings.Builder) {
	switch s := s.(type) {
	case *ir.Match:
		a.match(s)
	case *ir.VerdictStmt:
		a.verdict(s, effect)
	case *ir.Assign:
		a.assign(s.Target)
		a.describeEffect(effect, "set ", s.Target, s.Value)
		if _, ok := s.Target.(*ir.Meta); !ok {
			a.described = false // a store past the end breaks the rule
		}
	case *ir.Stateful:
		switch s.Instr.(type) {
		case *bytecode.Counter, *bytecode.Last:
			effect.WriteString("counter;")
		default:
			a.described, a.repeatable = false, false
		}
	case *ir.Simple:
		switch s.Instr.(type) {
		case *bytecode.Log:
			effect.WriteString("log;")
			a.repeatable = false
		case *bytecode.Notrack:
			effect.WriteString("notrack;")
			a.assigns.ct = true
		case *bytecode.Reject:
			effect.WriteString("reject;")
			a.terminal = true
		default:
			a.described, a.repeatable = false, false
		}
	case *ir.ObjRef:
		if s.Type == bytecode.ObjCounter {
			a.describeEffect(effect, "counter ", s.X)
			break
		}
		a.described, a.repeatable = false, false
	case *ir.NAT:
		a.terminal = true
		a.described = a.described && constantOrNone(s.Addr) && constantOrNone(s.Port)
		a.repeatable = false
	case *ir.Fwd:
		a.terminal = true
		a.described = a.described && constantOrNone(s.Addr) && constantOrNone(s.Dev)
		a.repeatable = false
	case *ir.Queue:
		a.terminal = true
		a.described = a.described && constantOrNone(s.Num)
		a.repeatable = false
	case *ir.SetUpdate:
		a.assigns.set(s.Set)
		a.described, a.repeatable = false, false
	case *ir.Reset:
		a.assigns.packet = true
		a.described, a.repeatable = false, false
	default:
		a.described, a.repeatable = false, false
	}
}

// constantOrNone tells whether an operand needs nothing from the packet that
// could be missing.
func constantOrNone(e ir.Expr) bool {
	switch e.(type) {
	case nil, *ir.Value, *ir.RangeValue, *ir.Prefix:
		return true
	}
	return false
}

func (a *rule) describeEffect(b *strings.Builder, word string, es ...ir.Expr) {
	b.WriteString(word)
	for _, e := range es {
		t, ok := text(e)
		if !ok {
			a.repeatable = false
		}
		b.WriteString(t + ";")
		for _, p := range ir.Parts(e) {
			if _, ok := text(p); !ok {
				a.repeatable = false
			}
		}
	}
}

// assign notes a change. What the rule's later conditions say about the field
// holds for the new value, so they are not mixed with the earlier ones.
func (a *rule) assign(target ir.Expr) {
	switch t := target.(type) {
	case *ir.Meta:
		if f, _, ok := fieldOf(t); ok {
			a.assigns.field(f)
		}
	case *ir.CT:
		a.assigns.ct = true
	default:
		a.assigns.packet = true
	}
}

// match adds a condition.
func (a *rule) match(m *ir.Match) {
	if f, bits, vs, ok := condition(m); ok {
		if a.assigns.touches(f) {
			a.described = false
			return
		}
		a.bind(f, bits, vs, m.Span)
		if pl, ok := unwrap(m.X).(*ir.Payload); ok && a.stack && isIPProtocol(pl) {
			// nft_set_pktinfo_ipv4: the transport protocol is the header's.
			a.bind(fieldL4Proto, bits, vs, m.Span)
		}
		return
	}
	if !a.assigns.none() {
		a.described = false
		return
	}
	for f, b := range projections(m) {
		a.bind(f, b.bits, b.values, m.Span)
	}
	t, ok := matchText(m)
	if !ok {
		a.described = false
		return
	}
	a.opaque = append(a.opaque, t)
}

// isIPProtocol tells whether a field is the protocol of the IPv4 header.
func isIPProtocol(e *ir.Payload) bool {
	return e.Inner == nil && e.Proto != nil && e.Proto.Name == "ip" && e.Field != nil && e.Field.Name == "protocol"
}

func matchText(m *ir.Match) (string, bool) {
	x, ok1 := text(m.X)
	if m.Y == nil {
		return x, ok1
	}
	y, ok2 := text(m.Y)
	return x + m.Op.String() + " " + y, ok1 && ok2
}

// bind narrows the bound of a field.
func (a *rule) bind(f field, bits int, vs values, sp diag.Span) {
	old, had := a.bounds[f]
	b := bound{values: vs, span: sp}
	switch {
	case had:
		b.values = old.values.intersect(vs)
	case f == fieldCTState:
		b.values = domain(f, bits).intersect(vs)
	}
	if len(b.values) == 0 && a.contradiction == nil {
		a.contradiction = &contradiction{span: sp, earlier: old.span}
	}
	a.bounds[f] = b
}

// verdict adds a verdict or verdict map. A map is terminal when all its
// verdicts are; a key without an entry ends the rule.
func (a *rule) verdict(s *ir.VerdictStmt, effect *strings.Builder) {
	switch x := s.X.(type) {
	case *ir.Verdict:
		effect.WriteString(x.Code.String() + " " + x.ChainName + ";")
		a.outcome(x)
		a.terminal = final(x)
		if x.Code == bytecode.Jump {
			a.repeatable = false
		}
	case *ir.Map:
		t, ok := text(x)
		effect.WriteString("vmap " + t + ";")
		a.repeatable = false
		a.open = a.open || !ok || !constant(x.Set)
		a.described = a.described && ok
		allFinal := constant(x.Set)
		walkElements(x.Set, func(e ir.Expr) {
			if v, ok := e.(*ir.Verdict); ok {
				a.outcome(v)
				allFinal = allFinal && final(v)
			}
		})
		a.terminal = allFinal
		f, bits, isField := fieldOf(unwrap(x.Key))
		if keys, ok := setValues(x.Set, bits); isField && ok && !a.assigns.touches(f) {
			a.bind(f, bits, keys, s.Span)
			return
		}
		a.opaque = append(a.opaque, t)
	default:
		a.described = false
	}
}

// final tells whether a verdict ends the chain that it is given in.
func final(v *ir.Verdict) bool {
	switch v.Code {
	case bytecode.Accept, bytecode.Drop, bytecode.Return, bytecode.Queue, bytecode.Goto:
		return true
	}
	return false
}

// outcome notes what a verdict of the rule leads to.
func (a *rule) outcome(v *ir.Verdict) {
	switch {
	case v.Anon != nil:
		a.open = true
	case v.Code == bytecode.Jump:
		a.calls = append(a.calls, v.ChainName)
	case v.Code == bytecode.Goto, v.Code == bytecode.Return:
		a.returns = true
	}
}
