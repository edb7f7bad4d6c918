package ir

import (
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// scope holds the definitions of one block; lookups go outwards.
type scope struct {
	outer *scope
	vars  map[string]*parser.Define
}

func (s *scope) lookup(name string) *parser.Define {
	for ; s != nil; s = s.outer {
		if d, ok := s.vars[name]; ok {
			return d
		}
	}
	return nil
}

func (s *scope) bind(d *parser.Define) {
	if s.vars == nil {
		s.vars = make(map[string]*parser.Define)
	}
	s.vars[d.Name.Text] = d
}

// unbind removes the innermost definition of a name (symbol_unbind).
func (s *scope) unbind(name string) bool {
	for ; s != nil; s = s.outer {
		if _, ok := s.vars[name]; ok {
			delete(s.vars, name)
			return true
		}
	}
	return false
}

// names returns all visible names, for suggestions.
func (s *scope) names() []string {
	var out []string
	for ; s != nil; s = s.outer {
		for n := range s.vars {
			out = append(out, n)
		}
	}
	return out
}

// variable returns the expression that a `$name` at this place stands for: the
// definition that counted there when the file was read, unevaluated. nil when
// there is none, which binder has reported.
func (r *resolver) variable(at diag.Span) parser.Expr {
	if d := r.bound[at.Start]; d != nil {
		return d.Value
	}
	return nil
}

// follow replaces a variable by what it stands for, through any number of
// definitions; other expressions are returned as they are. nil after an unknown
// variable.
func (r *resolver) follow(e parser.Expr) parser.Expr {
	for {
		v, ok := e.(*parser.Variable)
		if !ok {
			return e
		}
		if e = r.variable(v.Span); e == nil {
			return nil
		}
	}
}

// word returns the text of a name, following `$x` to a symbol. ok is false when
// the variable does not stand for a single word.
func (r *resolver) word(n parser.Name) (text string, ok bool) {
	if !n.Var {
		return n.Text, true
	}
	e := r.variable(n.Span)
	if e != nil {
		e = r.follow(e)
	}
	if s, ok := e.(*parser.Symbol); ok {
		return s.Text, true
	}
	return "", false
}

// binder walks the tree in source order, as nft's parser does, and connects
// every `$name` with the definition that counts at its place: definitions are
// bound when they are read, evaluated when they are used.
type binder struct {
	r     *resolver
	scope *scope
}

// bindVariables fills r.bound.
func (r *resolver) bindVariables(items []parser.Item) {
	r.bound = make(map[diag.Pos]*parser.Define)
	b := &binder{r: r, scope: &scope{}}
	b.items(items)
	r.scope = b.scope
}

func (b *binder) open() { b.scope = &scope{outer: b.scope} }

func (b *binder) close() { b.scope = b.scope.outer }

func (b *binder) use(at diag.Span, name string) {
	d := b.scope.lookup(name)
	if d != nil {
		b.r.bound[at.Start] = d
		return
	}
	sp := at
	if b.r.files.Text(diag.Span{Start: at.Start, End: at.Start + 1}) == "$" {
		sp.Start++
	}
	near := diag.Nearest(name, b.scope.names())
	msg := "unknown identifier '" + name + "'"
	if near != "" {
		msg += "; did you mean identifier '" + near + "'?"
	}
	b.r.diags.Add(diag.Diagnostic{Code: "unknown-identifier", Span: sp, Message: msg, Suggest: near})
}

func (b *binder) name(n parser.Name) {
	if n.Var {
		b.use(n.Span, n.Text)
	}
}

func (b *binder) names(ns []parser.Name) {
	for _, n := range ns {
		b.name(n)
	}
}

func (b *binder) define(d *parser.Define) {
	b.expr(d.Value)
	switch d.Kind {
	case parser.DefineNew:
		if b.scope.lookup(d.Name.Text) != nil {
			b.r.diags.Errorf("redefinition", d.Name.Span, "redefinition of symbol '%s'", d.Name.Text)
			return
		}
		b.scope.bind(d)
	case parser.Redefine:
		b.scope.unbind(d.Name.Text)
		b.scope.bind(d)
	case parser.Undefine:
		b.scope.unbind(d.Name.Text) // nothing to undefine is no error
	}
}

func (b *binder) items(items []parser.Item) {
	for _, it := range items {
		switch it := it.(type) {
		case *parser.Include:
			b.items(it.Items)
		case *parser.Define:
			b.define(it)
		case *parser.Command:
			b.command(it)
		case *parser.Flags:
			b.names(it.Names)
		case *parser.CommentStmt:
			b.name(it.Text)
		case *parser.HookSpec:
			b.name(it.Type)
			b.name(it.Hook)
			b.expr(it.Devices)
			b.expr(it.Priority)
		case *parser.PolicySpec:
			b.name(it.Policy)
		case *parser.DevicesSpec:
			b.expr(it.Devices)
		case *parser.SetType:
			b.expr(it.Key)
			b.expr(it.Data)
		case *parser.Duration:
			b.name(it.Value)
		case *parser.SizeSpec:
			b.expr(it.Value)
		case *parser.AutoMerge, *parser.Word:
		case *parser.Elements:
			b.expr(it.Value)
		case *parser.SetStmt:
			b.stmt(it.Stmt)
		case *parser.Property:
			for _, a := range it.Args {
				b.expr(a)
			}
			b.items(it.Items)
		case *parser.Rule:
			b.rule(it)
		}
	}
}

func (b *binder) command(c *parser.Command) {
	b.name(c.Table)
	b.name(c.Object)
	b.name(c.NewName)
	switch body := c.Body.(type) {
	case *parser.TableBlock:
		b.open()
		b.items(body.Items)
		b.close()
	case *parser.ChainBlock:
		b.open()
		b.items(body.Items)
		b.close()
	case *parser.SetBlock:
		b.items(body.Items)
	case *parser.FlowtableBlock:
		b.items(body.Items)
	case *parser.ObjectBlock:
		b.items(body.Items)
	case *parser.Rule:
		b.rule(body)
	case *parser.SetLit:
		b.expr(body)
	case *parser.ElementsVar:
		b.expr(&body.Variable)
	}
}

func (b *binder) rule(r *parser.Rule) {
	for _, s := range r.Stmts {
		b.stmt(s)
	}
}

func (b *binder) exprs(es []parser.Expr) {
	for _, e := range es {
		b.expr(e)
	}
}

func (b *binder) elem(e *parser.Elem) {
	if e == nil {
		return
	}
	if _, ok := e.Key.(*parser.Symbol); !ok {
		b.expr(e.Key)
	}
	if e.Data != nil {
		b.expr(e.Data)
	}
	if e.Opts != nil {
		for _, s := range e.Opts.Stmts {
			b.stmt(s)
		}
	}
}

func (b *binder) expr(e parser.Expr) {
	switch e := e.(type) {
	case nil:
	case *parser.Variable:
		b.use(e.Span, e.Name)
	case *parser.Prefix:
		b.expr(e.X)
		b.expr(e.Len)
	case *parser.Range:
		b.expr(e.From)
		b.expr(e.To)
	case *parser.Concat:
		b.exprs(e.Items)
	case *parser.List:
		b.exprs(e.Items)
	case *parser.Binary:
		b.expr(e.X)
		b.expr(e.Y)
	case *parser.SlashMask:
		b.expr(e.Value)
		b.expr(e.Mask)
	case *parser.SetLit:
		for _, el := range e.Elems {
			b.elem(el)
		}
	case *parser.SetRef:
		b.name(e.Name)
	case *parser.Map:
		b.expr(e.X)
		b.expr(e.Maps)
	case *parser.Payload:
		b.expr(e.Inner)
	case *parser.Hash:
		b.expr(e.X)
	case *parser.Verdict:
		b.expr(e.Chain)
		if e.Block != nil {
			b.open()
			b.items(e.Block.Items)
			b.close()
		}
	}
}

func (b *binder) stmt(s parser.Stmt) {
	switch s := s.(type) {
	case *parser.Match:
		b.expr(s.X)
		b.expr(s.Y)
	case *parser.VMap:
		b.expr(s.X)
		b.expr(s.Maps)
	case *parser.Assign:
		b.expr(s.Target)
		b.expr(s.Value)
	case *parser.ObjRef:
		b.expr(s.X)
	case *parser.Log:
		if s.Prefix != nil {
			b.name(*s.Prefix)
			if !s.Prefix.Var {
				for _, v := range prefixVars(s.Prefix) {
					b.use(v.at, v.name)
				}
			}
		}
		b.expr(s.PrefixExpr)
	case *parser.Reject:
		b.expr(s.Code)
	case *parser.NAT:
		b.expr(s.Addr)
		b.expr(s.Port)
	case *parser.TProxy:
		b.expr(s.Addr)
		b.expr(s.Port)
	case *parser.Dup:
		b.expr(s.To)
		b.expr(s.Dev)
	case *parser.Fwd:
		b.expr(s.Addr)
		b.expr(s.Dev)
	case *parser.Queue:
		b.expr(s.Num)
	case *parser.FlowAdd:
		b.name(s.Flowtable)
	case *parser.SetUpdate:
		b.elem(s.Elem)
		if s.Set != nil {
			b.expr(s.Set)
		}
	case *parser.Meter:
		b.name(s.Name)
		b.elem(s.Elem)
	case *parser.Reset:
		b.expr(s.Target)
	case *parser.VerdictStmt:
		if s.Verdict != nil {
			b.expr(s.Verdict)
		}
	}
}
