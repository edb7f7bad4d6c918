package main

import (
	"io"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// printCounters prints the ruleset as it would be listed after the packets.
func (e *evaluation) printCounters(engine *eval.Engine, rs *ir.Ruleset) error {
	fillState(engine, rs)
	text := ir.List(rs, ir.ListOptions{State: true, Machine: e.app.machineOf(rs)})
	if e.app.global.JSON {
		return writeJSONLine(e.out, struct {
			Version int    `json:"version"`
			Ruleset string `json:"ruleset"`
		}{diag.JSONVersion, text})
	}
	_, err := io.WriteString(e.out, text)
	return err
}

// fillState puts the state that the engine holds into the typed ruleset:
// counters of rules and objects, elements that packets added.
func fillState(engine *eval.Engine, rs *ir.Ruleset) {
	sets := make(map[string]*bytecode.Set)
	key := func(f bytecode.Family, table, name string) string { return f.String() + " " + table + " " + name }
	for _, t := range engine.Ruleset().Tables {
		for _, s := range t.Sets {
			sets[key(t.Family, t.Name, s.Name)] = s
		}
	}
	for _, t := range rs.Tables {
		for _, o := range t.Objects {
			if now, ok := engine.State(o.Spec); ok {
				o.Spec = now
			}
		}
		for _, ch := range t.Chains {
			fillChain(engine, ch)
		}
		for _, s := range t.Sets {
			if b := sets[key(t.Family, t.Name, s.Name)]; b != nil && s.Flags&bytecode.SetAnonymous == 0 {
				fillSet(s, engine.Elements(b))
			}
		}
	}
}

func fillChain(engine *eval.Engine, ch *ir.Chain) {
	for _, r := range ch.Rules {
		for _, s := range r.Stmts {
			switch s := s.(type) {
			case *ir.Stateful:
				if now, ok := engine.State(s.Instr); ok {
					s.Instr = now
				}
			case *ir.VerdictStmt:
				if v, ok := s.X.(*ir.Verdict); ok && v.Anon != nil {
					fillChain(engine, v.Anon)
				}
			}
		}
	}
}

// fillSet gives elements their state and adds those that packets added. Sets of
// plain intervals hold points and keep no state that packets change.
func fillSet(s *ir.Set, now []bytecode.Element) {
	known := make(map[string]int, len(s.Elements))
	for i := range s.Elements {
		known[string(s.Elements[i].From)] = i
	}
	for i := range now {
		el := &now[i]
		if el.Flags&bytecode.ElemIntervalEnd != 0 {
			continue
		}
		at, ok := known[string(el.Key)]
		switch {
		case !ok && s.Flags&bytecode.SetEval != 0:
			s.Elements = append(s.Elements, ir.Element{From: el.Key, To: el.KeyEnd})
			at = len(s.Elements) - 1
		case !ok || el.Attrs == nil:
			continue
		}
		if el.Attrs == nil {
			continue
		}
		opts := new(ir.ElementOpts)
		if old := s.Elements[at].Opts; old != nil {
			*opts = *old
		}
		opts.Timeout, opts.TimeoutSet = el.Attrs.Timeout, el.Attrs.TimeoutSet
		opts.Expires, opts.ExpiresSet = el.Attrs.Expires, el.Attrs.Expires != 0
		if len(el.Attrs.Exprs) > 0 {
			opts.Stmts = nil
			for _, x := range el.Attrs.Exprs {
				opts.Stmts = append(opts.Stmts, &ir.Stateful{Instr: x})
			}
		}
		s.Elements[at].Opts = opts
	}
}
