package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// dynsetOps are the verbs of set statements.
var dynsetOps = map[string]bytecode.DynsetOp{
	"add": bytecode.DynsetAdd, "update": bytecode.DynsetUpdate, "delete": bytecode.DynsetDelete,
}

// maxDynsetExprs is NFT_SET_EXPR_MAX: more stateful statements per element the
// kernel refuses.
const maxDynsetExprs = 2

// setUpdate resolves `add|update|delete @set { … }` (stmt_evaluate_set,
// stmt_evaluate_map).
func (c *ruleCtx) setUpdate(s *parser.SetUpdate) {
	if s.Set == nil || s.Elem == nil {
		return
	}
	op, ok := dynsetOps[s.Op]
	if !ok {
		c.diags.Errorf("unknown-set-operation", s.Span, "unknown operation %q on a set", s.Op)
		return
	}
	name := s.Set.Name
	text, ok := c.word(name)
	if !ok {
		c.diags.Errorf("not-a-set", name.Span, "Expression does not refer to a set")
		return
	}
	name.Text, name.Var = text, false
	set := c.findSet(name)
	if set == nil {
		return
	}
	u := &SetUpdate{StmtSpan: StmtSpan{s.Span}, Op: op, Set: set}
	if s.Elem.Data != nil && set.Flags&bytecode.SetMap == 0 {
		c.diags.Errorf("not-a-map", name.Span, "%s is not a map", set.Name)
		return
	}
	if u.Key = c.setKey(s.Elem.Key, set); u.Key == nil {
		return
	}
	if o := s.Elem.Opts; o != nil && o.Comment != nil {
		c.diags.Errorf("comment-here", s.Elem.Key.Pos(), "Key expression comments are not supported")
		return
	}
	if s.Elem.Data != nil {
		w := want{Type: set.Data, Order: typeOrder(set.Data), Bits: set.Data.Bits}
		if set.DataExpr != nil {
			a := set.DataExpr.Common()
			w = want{Type: a.Type, Order: a.Order, Bits: a.Bits}
		}
		if u.Data = c.argument(s.Elem.Data, w); u.Data == nil {
			return
		}
	}
	if u.Opts, ok = c.updateOpts(s.Elem.Opts); !ok {
		return
	}
	if set.Flags&bytecode.SetMap == 0 {
		// nft mends the set so that the kernel picks a back end that allows
		// updates from the packet path.
		set.Flags |= bytecode.SetEval
	}
	c.dynsetRefused(s, u)
	c.emit(u)
}

// setKey resolves the key of a set statement: an expression of the set's type.
func (c *ruleCtx) setKey(e parser.Expr, set *Set) Expr {
	w := want{Type: set.Key, Order: typeOrder(set.Key), Bits: set.Key.Bits}
	if set.KeyExpr != nil {
		a := set.KeyExpr.Common()
		w = want{Type: a.Type, Order: a.Order, Bits: a.Bits}
	}
	return c.argument(e, w)
}

// typeOrder is the byte order in which a set holds values of a type.
func typeOrder(t *Datatype) ByteOrder {
	if t.Order == OrderInvalid {
		return OrderBig
	}
	return t.Order
}

// updateOpts resolves the options of an element in a set statement.
func (c *ruleCtx) updateOpts(o *parser.ElemOpts) (*ElementOpts, bool) {
	if o == nil {
		return nil, true
	}
	out := &ElementOpts{}
	if o.Timeout != nil {
		d, ok := c.duration(*o.Timeout)
		if !ok {
			return nil, false
		}
		out.Timeout, out.TimeoutSet = d, true
	}
	for _, st := range o.Stmts {
		in := c.stateful(st)
		if in == nil {
			return nil, false
		}
		out.Stmts = append(out.Stmts, &Stateful{StmtSpan: StmtSpan{st.Pos()}, Instr: in})
	}
	return out, true
}

// dynsetRefused notes why the kernel does not take a set statement, as far as it
// depends on the statement (nft_dynset_init).
func (c *ruleCtx) dynsetRefused(s *parser.SetUpdate, u *SetUpdate) {
	const unsupported, invalid = "Operation not supported", "Invalid argument"
	isMap := u.Set.Flags&bytecode.SetMap != 0
	var stmts []Stmt
	timeout := false
	if u.Opts != nil {
		stmts = u.Opts.Stmts
		timeout = u.Opts.Timeout != 0
	}
	switch {
	case u.Set.Flags&bytecode.SetObject != 0:
		c.kernelRefuses(s.Span, invalid, "a map of objects cannot be changed by a rule")
	case isMap && u.Data == nil:
		c.kernelRefuses(s.Span, invalid, u.Set.Name+" is a map, the statement gives no data")
	case isMap && u.Set.DataKind == bytecode.DataVerdict:
		c.kernelRefuses(s.Span, unsupported, "a verdict map cannot be changed by a rule")
	case u.Set.Flags&bytecode.SetInterval != 0:
		c.kernelRefuses(u.Set.Span, unsupported, "an interval set cannot be changed by a rule")
	case isMap && u.Set.Flags&(bytecode.SetEval|bytecode.SetTimeout) == 0 && u.Set.Size != 0:
		c.kernelRefuses(s.Span, unsupported, "map "+u.Set.Name+" lacks the flag dynamic")
	case timeout && u.Set.Flags&bytecode.SetTimeout == 0 && u.Set.Timeout == 0:
		c.kernelRefuses(s.Span, unsupported, u.Set.Name+" lacks the flag timeout")
	case len(stmts) > maxDynsetExprs:
		c.kernelRefuses(s.Span, "Argument list too long", "an element has at most two stateful statements")
	case isMap && len(stmts) > 1:
		// nft does not set NFT_DYNSET_F_EXPR for maps.
		c.kernelRefuses(s.Span, invalid, "an element of a map has at most one stateful statement")
	case len(u.Set.Stmts) > 0 && len(stmts) > 0 && !sameKinds(u.Set.Stmts, stmts):
		c.kernelRefuses(s.Span, unsupported, "the stateful statements are not those of the set")
	}
}

func sameKinds(a, b []Stmt) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, ok := a[i].(*Stateful)
		y, ok2 := b[i].(*Stateful)
		if !ok || !ok2 || x.Instr.Name() != y.Instr.Name() {
			return false
		}
	}
	return true
}

// meter resolves `meter name { key statement }`: it makes the dynamic set, or
// uses the one that is there (stmt_evaluate_meter).
func (c *ruleCtx) meter(s *parser.Meter) {
	if s.Elem == nil {
		return
	}
	existing := c.setNamed(s.Name.Text)
	if existing != nil && (existing.Flags&bytecode.SetEval == 0 || existing.Flags&bytecode.SetMap != 0) {
		kind := "set"
		if existing.Flags&bytecode.SetMap != 0 {
			kind = "map"
		}
		c.diags.Errorf("name-in-use", s.Span, "File exists; meter '%s' overlaps an existing %s '%s' in family %s",
			s.Name.Text, kind, existing.Name, c.family())
		return
	}
	key := c.primary(s.Elem.Key)
	if key == nil {
		return
	}
	at := s.Elem.Key.Pos()
	if isConstant(key) {
		c.diags.Errorf("constant-key", at, "Meter key expression can not be constant")
		return
	}
	if s.Elem.Opts != nil && s.Elem.Opts.Comment != nil {
		c.diags.Errorf("comment-here", at, "Meter key expression can not contain comments")
		return
	}
	opts, ok := c.updateOpts(s.Elem.Opts)
	if !ok {
		return
	}
	switch s.Stmt.(type) {
	case *parser.Counter, *parser.Quota, *parser.Limit, *parser.CTCount, *parser.Last:
	default:
		at := s.Span
		if s.Stmt != nil {
			at = s.Stmt.Pos()
		}
		c.diags.Errorf("not-stateful", at, "meter statement must be stateful")
		return
	}
	in := c.stateful(s.Stmt)
	if in == nil {
		return
	}
	if opts == nil {
		opts = &ElementOpts{}
	}
	opts.Stmts = []Stmt{&Stateful{StmtSpan: StmtSpan{s.Stmt.Pos()}, Instr: in}}
	timeout := opts.Timeout != 0
	size := uint32(number(s.Size))
	set := existing
	if set != nil {
		has := set.Flags&bytecode.SetTimeout != 0
		switch {
		case has && !timeout:
			c.diags.Errorf("meter-conflict", at, "existing set '%s' has timeout flag", set.Name)
			return
		case !has && timeout:
			c.diags.Errorf("meter-conflict", at, "existing set '%s' lacks timeout flag", set.Name)
			return
		case size > 0 && set.Size != size:
			c.diags.Errorf("meter-conflict", at, "existing set '%s' has size %d, meter has %d", set.Name, set.Size, size)
			return
		}
	} else {
		set = c.meterSet(s, key, timeout, size)
	}
	op := bytecode.DynsetAdd
	if timeout {
		op = bytecode.DynsetUpdate
	}
	c.emit(&SetUpdate{StmtSpan: StmtSpan{s.Span}, Op: op, Set: set, Key: key, Opts: opts, Meter: true})
}

// meterSet declares the set of a meter in front of the rule.
func (c *ruleCtx) meterSet(s *parser.Meter, key Expr, timeout bool, size uint32) *Set {
	set := &Set{
		Table: c.table, Name: s.Name.Text, Flags: bytecode.SetEval,
		Key: key.Common().Type, Size: size, Span: s.Name.Span,
	}
	if timeout {
		set.Flags |= bytecode.SetTimeout
	}
	set.KeyFields = exprFields(key)
	if tc := c.tableCache(); tc != nil {
		tc.sets[set.Name] = set
	}
	c.setCount++
	set.ID = c.setCount
	c.step(c.at, Step{Kind: bytecode.OpNewSet, Set: set, Span: c.at.cmd.Span, NameSpan: s.Name.Span})
	return set
}

// tableCache is what is known of the rule's table at this point.
func (c *ruleCtx) tableCache() *tableCache {
	return c.cache[tableKey{c.table.Family, c.table.Name}]
}

// setNamed finds a set in the rule's table without complaining.
func (c *ruleCtx) setNamed(name string) *Set {
	if tc := c.tableCache(); tc != nil {
		return tc.sets[name]
	}
	return nil
}

// objRefTo resolves a reference to a named object, given by name or by a map
// (stmt_evaluate_objref).
func (c *ruleCtx) objRefTo(sp diag.Span, typ bytecode.ObjectType, e parser.Expr) {
	if e = c.follow(e); e == nil {
		return
	}
	if m, ok := e.(*parser.Map); ok {
		if x := c.objRefMap(typ, m); x != nil {
			c.emit(&ObjRef{StmtSpan: StmtSpan{sp}, Type: typ, X: x})
		}
		return
	}
	name, ok := c.stringOf(e)
	if !ok {
		return
	}
	// Whether the object is there is the kernel's question (kernel.refsOK).
	x := &ObjectName{Attr: Attr{Span: e.Pos(), Type: TypeString}, ObjType: typ, Name: name}
	c.emit(&ObjRef{StmtSpan: StmtSpan{sp}, Type: typ, X: x})
}

// objRefMap resolves `key map { … : "object" }`.
func (c *ruleCtx) objRefMap(typ bytecode.ObjectType, m *parser.Map) Expr {
	key := c.primary(m.X)
	if key == nil {
		return nil
	}
	if isConstant(key) {
		c.diags.Errorf("constant-key", m.X.Pos(), "Map expression can not be constant")
		return nil
	}
	a := key.Common()
	var set *Set
	switch maps := c.follow(m.Maps).(type) {
	case *parser.SetLit:
		set = c.anonObjectMap(maps, want{Type: a.Type, Order: a.Order, Bits: a.Bits}, typ)
	case *parser.SetRef:
		set = c.findSet(maps.Name)
		if set != nil && set.Flags&bytecode.SetObject == 0 {
			c.diags.Errorf("not-a-map", maps.Pos(), "Expression is not a map with objects")
			return nil
		}
	case nil:
		return nil
	default:
		c.diags.Errorf("not-a-map", maps.Pos(), "Expression is not a map")
		return nil
	}
	if set == nil {
		return nil
	}
	if !set.Key.compatible(a.Type) {
		c.diags.Errorf("type-mismatch", m.Maps.Pos(), "datatype mismatch, map expects %s, mapping expression has type %s",
			set.Key.Desc, a.Type.Desc)
		return nil
	}
	if set.Flags&bytecode.SetInterval != 0 {
		if key = c.convertOrder(key, OrderBig); key == nil {
			return nil
		}
	}
	return &Map{Attr: Attr{Span: m.Span, Type: TypeString}, Key: key, Set: set}
}
