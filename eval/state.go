package eval

import (
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	tables "github.com/nftc/nftc/compile/set"
)

// snapshot is the expression with the state it has now.
func (s *stateful) snapshot(e *Engine) bytecode.Instr {
	switch in := s.src.(type) {
	case *bytecode.Counter:
		return &bytecode.Counter{Packets: s.packets, Bytes: s.bytes}
	case *bytecode.Quota:
		return &bytecode.Quota{Bytes: in.Bytes, Consumed: s.bytes, Over: in.Over}
	case *bytecode.Last:
		out := &bytecode.Last{Set: s.everSet}
		if s.everSet {
			out.Msecs = uint64(max(e.now-s.last, 0)) / 1e6
		}
		return out
	}
	return s.src
}

// State returns the present state of an expression of a rule or of a named
// object's Instr: a Counter, Quota or Last with its figures. ok is false for
// expressions without state, and for those of other rulesets. The instruction
// is told by its identity.
func (e *Engine) State(in bytecode.Instr) (now bytecode.Instr, ok bool) {
	if e.bySource == nil {
		e.bySource = make(map[bytecode.Instr]*stateful)
		for _, s := range e.states {
			e.bySource[s.src] = s
		}
		for _, o := range e.objects {
			if o.state != nil {
				e.bySource[o.state.src] = o.state
			}
		}
	}
	s := e.bySource[in]
	if s == nil {
		return nil, false
	}
	return s.snapshot(e), true
}

// Elements returns the elements that a set of the ruleset has now, with what
// is left of their timeouts and the state of their expressions; nil for sets
// of other rulesets. Interval ends are included.
func (e *Engine) Elements(src *bytecode.Set) []bytecode.Element {
	for _, s := range e.sets {
		if s.src != src {
			continue
		}
		if s.src.Flags&(bytecode.SetTimeout|bytecode.SetEval) == 0 && s.extra == nil {
			return s.src.Elements
		}
		var out []bytecode.Element
		if s.src.Flags&(bytecode.SetTimeout|bytecode.SetEval) == 0 {
			for i := range s.src.Elements {
				out = append(out, e.elementNow(s, tables.Ref(i), s.src.Elements[i]))
			}
			return out
		}
		s.tab.Walk(func(r tables.Ref) bool {
			out = append(out, e.elementNow(s, r, *s.tab.Element(r)))
			return true
		})
		for i := range s.src.Elements {
			if f := s.src.Elements[i].Flags; f&(bytecode.ElemCatchall|bytecode.ElemIntervalEnd) != 0 {
				out = append(out, e.elementNow(s, tables.Ref(i), s.src.Elements[i]))
			}
		}
		return out
	}
	return nil
}

func (e *Engine) elementNow(s *set, r tables.Ref, el bytecode.Element) bytecode.Element {
	x := s.extraOf(r)
	ends := s.tab.Expires(r)
	if (x == nil || len(x.states) == 0) && ends == 0 {
		return el
	}
	attrs := bytecode.ElementAttrs{}
	if el.Attrs != nil {
		attrs = *el.Attrs
	}
	if ends != 0 {
		attrs.Expires = time.Duration(max(ends-e.setClock(), 0))
	}
	if x != nil && len(x.states) > 0 {
		attrs.Exprs = nil
		for _, st := range x.states {
			attrs.Exprs = append(attrs.Exprs, st.snapshot(e))
		}
	}
	el.Attrs = &attrs
	return el
}
