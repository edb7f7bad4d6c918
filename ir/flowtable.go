package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/parser"
)

const (
	flowtableOffload uint32 = 1
	flowtableCounter uint32 = 2
)

// addFlowtable evaluates a flowtable (flowtable_evaluate).
func (r *resolver) addFlowtable(w where, c *parser.Command) {
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return
	}
	body, _ := c.Body.(*parser.FlowtableBlock)
	ft := r.flowtableSpec(w, c, body)
	if ft == nil {
		return
	}
	if tc.flowtables[ft.Name] == nil {
		if !ft.HookSpan.Valid() && ft.Devices == nil {
			r.diags.Errorf("missing-hook", c.Span, "missing hook and priority in flowtable declaration")
			return
		}
		tc.flowtables[ft.Name] = ft
	}
	r.step(w, Step{Kind: bytecode.OpNewFlowtable, Flags: verbFlags(c.Verb) & bytecode.OpCreate, Flowtable: ft, NameSpan: c.Object.Span})
}

// flowtableSpec evaluates a flowtable's block; nil after an error.
func (r *resolver) flowtableSpec(w where, c *parser.Command, body *parser.FlowtableBlock) *Flowtable {
	ft := &Flowtable{Table: r.ruleTable(w), Name: c.Object.Text, Span: c.Object.Span}
	if body == nil {
		return ft
	}
	before := r.diags.Errors()
	each(body.Items, func(it parser.Item) {
		switch it := it.(type) {
		case *parser.HookSpec:
			if it.Devices != nil {
				ft.Devices = append(ft.Devices, r.devices(it.Devices)...)
			}
			if it.Hook.Text == "" {
				return
			}
			ft.HookSpan = it.Hook.Span
			hk, ok := hook(it.Hook.Text, bytecode.FamilyNetdev)
			if !ok {
				r.diags.Errorf("unknown-hook", it.Span, "invalid hook %s", it.Hook.Text)
				return
			}
			ft.Hook = hk
			if it.Priority == nil {
				return
			}
			v, ok := r.priority(it.Priority, bytecode.FamilyNetdev, hk)
			if !ok {
				r.badPriority(it.Priority, it.Priority.Pos(), bytecode.FamilyNetdev, hk, ".")
				return
			}
			ft.Priority = v
		case *parser.DevicesSpec:
			ft.Devices = append(ft.Devices, r.devices(it.Devices)...)
		case *parser.Flags:
			for _, n := range it.Names {
				switch n.Text {
				case "offload":
					ft.Flags |= flowtableOffload
				default:
					r.diags.Errorf("unknown-flag", n.Span, "unknown flowtable flag %s", n.Text)
				}
			}
		case *parser.Word:
			if it.Text == "counter" {
				ft.Flags |= flowtableCounter
			}
		case *parser.SetStmt:
			if _, ok := it.Stmt.(*parser.Counter); ok {
				ft.Flags |= flowtableCounter
			}
		}
	})
	if r.diags.Errors() != before {
		return nil
	}
	return ft
}
