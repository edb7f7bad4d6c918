package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/parser"
)

func (r *resolver) addObject(w where, c *parser.Command, typ bytecode.ObjectType) {
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return
	}
	o := &Object{Table: tc.table, Name: c.Object.Text, Type: typ, Span: c.Object.Span}
	cx := r.newRuleCtx(tc.table, nil)
	var items []parser.Item
	if b, ok := c.Body.(*parser.ObjectBlock); ok {
		items = b.Items
	}
	before := r.diags.Errors()
	cx.objectSpec(o, items)
	if r.diags.Errors() != before {
		return
	}
	k := objectKey{typ, o.Name}
	if tc.objects[k] == nil {
		tc.objects[k] = o
	}
	r.step(w, Step{Kind: bytecode.OpNewObject, Flags: verbFlags(c.Verb) & bytecode.OpCreate, Object: o, ObjType: typ, Span: c.Span, NameSpan: c.Object.Span})
}

// objectSpec evaluates the definition of a named object.
func (c *ruleCtx) objectSpec(o *Object, items []parser.Item) {
	each(items, func(it parser.Item) {
		switch it := it.(type) {
		case *parser.CommentStmt:
			o.Comment = it.Text.Text
			c.checkComment(it)
		case *parser.SetStmt:
			if in := c.stateful(it.Stmt); in != nil {
				o.Spec = in
			}
		}
	})
	if o.Spec == nil {
		switch o.Type {
		case bytecode.ObjCounter:
			o.Spec = &bytecode.Counter{}
		}
	}
}
