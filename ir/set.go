package ir

import (
	"strconv"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// setFlagBits are the flags that a declaration may state.
var setFlagBits = map[string]bytecode.SetFlags{
	"constant": bytecode.SetConstant, "interval": bytecode.SetInterval,
	"timeout": bytecode.SetTimeout, "dynamic": bytecode.SetEval,
}

// setExpr is NFT_SET_EXPR: elements may have several stateful expressions.
const setExpr bytecode.SetFlags = 0x100

// addSet evaluates a set or map and then its elements (set_evaluate,
// elems_evaluate).
func (r *resolver) addSet(w where, c *parser.Command) {
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return
	}
	set := &Set{Table: tc.table, Name: c.Object.Text, Span: c.Object.Span}
	if c.Kind == "map" {
		set.Flags |= bytecode.SetMap
	}
	cx := r.newRuleCtx(tc.table, nil)
	var elements []*parser.Elements
	if body, ok := c.Body.(*parser.SetBlock); ok {
		elements = cx.setProperties(set, body)
	}
	if set.Key == nil {
		if !set.broken {
			r.setError(set, "no-key", "%s definition does not specify key", set.kindWord())
		}
		return
	}
	existing := tc.sets[set.Name]
	if existing == nil {
		tc.sets[set.Name] = set
	} else if existing.Flags&bytecode.SetEval != 0 && existing.Flags&^bytecode.SetEval == set.Flags&^bytecode.SetEval {
		set.Flags |= bytecode.SetEval
	}
	if existing != nil && existing.stale {
		tc.sets[set.Name] = set
	}
	if !r.finishSet(set, existing) {
		set.broken = true
		return
	}
	r.setCount++
	set.ID = r.setCount
	r.step(w, Step{Kind: bytecode.OpNewSet, Flags: verbFlags(c.Verb) & bytecode.OpCreate, Set: set, Span: c.Span, NameSpan: c.Object.Span})
	if len(elements) == 0 {
		return
	}
	var all []Element
	for _, es := range elements {
		ev, ok := cx.evalElements(set, es.Value)
		if !ok {
			set.broken = true
			return
		}
		if all == nil {
			all = ev.out
		} else {
			all = append(all, ev.out...)
		}
	}
	orderKeys(set, all)
	if set.pointSet() {
		var ok bool
		if existing != nil {
			// The kernel merges the definition into the set it has.
			existing.Flags |= set.Flags & bytecode.SetInterval
		}
		all, ok = r.addIntervals(w, set, all, false)
		if !ok {
			set.broken = true
			return
		}
	}
	set.init, set.hasInit, set.declared = all, true, len(all) > 0
	set.stepAt = len(r.out.Steps) + 1
	r.declared = append(r.declared, set)
	set.DescSize = uint32(len(all))
	r.step(w, Step{Kind: bytecode.OpNewElements, Set: set, Elements: all, First: true, Declared: true, Span: c.Span, NameSpan: c.Object.Span})
}

func (r *resolver) setError(s *Set, code, format string, args ...any) {
	r.diags.Errorf(code, s.Span, format, args...)
}

// setProperties reads a set's block. It returns the element lists.
func (c *ruleCtx) setProperties(set *Set, body *parser.SetBlock) []*parser.Elements {
	var elements []*parser.Elements
	var stmts []parser.Stmt
	each(body.Items, func(it parser.Item) {
		switch it := it.(type) {
		case *parser.SetType:
			c.setType(set, it)
		case *parser.Flags:
			for _, n := range it.Names {
				bit, ok := setFlagBits[n.Text]
				if !ok {
					c.diags.Add(diag.Diagnostic{Code: "unknown-flag", Span: n.Span, Message: "unknown set flag " + n.Text,
						Suggest: diag.Nearest(n.Text, []string{"constant", "interval", "timeout", "dynamic"})})
				}
				set.Flags |= bit
			}
		case *parser.Duration:
			d, ok := c.duration(it.Value)
			if !ok {
				set.broken = true
				return
			}
			if it.Keyword == "gc-interval" {
				set.GC = d
			} else {
				set.Timeout = d
			}
		case *parser.SizeSpec:
			if s, ok := c.follow(it.Value).(*parser.Symbol); ok {
				n, err := strconv.ParseUint(s.Text, 0, 32)
				if err != nil {
					c.diags.Errorf("invalid-size", it.Value.Pos(), "invalid size")
				}
				set.Size = uint32(n)
			}
		case *parser.PolicySpec:
			switch word, _ := c.word(it.Policy); word {
			case "performance":
				set.Policy, set.PolicySet = bytecode.PolicyPerformance, true
			case "memory":
				set.Policy, set.PolicySet = bytecode.PolicyMemory, true
			default:
				c.diags.Add(diag.Diagnostic{Code: "unknown-policy", Span: it.Policy.Span, Message: "unknown set policy " + word,
					Suggest: diag.Nearest(word, []string{"performance", "memory"})})
			}
		case *parser.AutoMerge:
			set.AutoMerge = true
		case *parser.Elements:
			elements = append(elements, it)
		case *parser.CommentStmt:
			set.Comment, set.CommentSet = it.Text.Text, true
			c.checkComment(it)
		case *parser.SetStmt:
			stmts = append(stmts, it.Stmt)
		}
	})
	for _, st := range stmts {
		if in := c.stateful(st); in != nil {
			set.Stmts = append(set.Stmts, &Stateful{StmtSpan: StmtSpan{st.Pos()}, Instr: in})
		}
	}
	return elements
}

// setType evaluates `type …` or `typeof …`.
func (c *ruleCtx) setType(set *Set, t *parser.SetType) {
	if t.Typeof {
		if set.KeyExpr = c.primary(t.Key); set.KeyExpr == nil {
			set.broken = true
			return
		}
		set.Key = set.KeyExpr.Common().Type
		set.KeyFields = exprFields(set.KeyExpr)
		if set.Key != nil && len(set.KeyFields) == 1 {
			set.Key = set.Key.Sized(set.KeyFields[0].Bits, set.KeyFields[0].Order)
		}
	} else {
		if set.Key = c.typeSpec(t.Key); set.Key == nil {
			set.broken = true
			return
		}
		set.KeyFields = typeFields(set.Key)
	}
	switch {
	case t.Object != "":
		set.Flags = set.Flags&^bytecode.SetMap | bytecode.SetObject
		set.DataKind = bytecode.DataObject
		set.ObjType = objectTypes[t.Object]
	case t.Data == nil:
	case t.Typeof:
		if isVerdictWord(t.Data) {
			set.Data, set.DataKind = DatatypeByID(IDVerdict), bytecode.DataVerdict
			break
		}
		if set.DataExpr = c.primary(t.Data); set.DataExpr == nil {
			set.broken = true
			return
		}
		set.Data, set.DataKind = set.DataExpr.Common().Type, bytecode.DataValue
		set.DataFields = exprFields(set.DataExpr)
		set.DataInterval = t.Interval
	default:
		if set.Data = c.typeSpec(t.Data); set.Data == nil {
			set.broken = true
			return
		}
		set.DataInterval = t.Interval
		if set.Data.ID == IDVerdict {
			set.DataKind = bytecode.DataVerdict
			break
		}
		set.DataKind = bytecode.DataValue
		set.DataFields = typeFields(set.Data)
	}
}

func isVerdictWord(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.Symbol:
		return e.Text == "verdict"
	case *parser.Verdict:
		return true
	}
	return false
}

func typeFields(t *Datatype) []SetField {
	if len(t.Parts) == 0 {
		return []SetField{{Type: t, Order: fieldOrder(t, t.Order), Bits: t.Bits}}
	}
	out := make([]SetField, len(t.Parts))
	for i, p := range t.Parts {
		out[i] = SetField{Type: p, Order: fieldOrder(p, p.Order), Bits: p.Bits}
	}
	return out
}

func exprFields(e Expr) []SetField {
	if cat, ok := e.(*Concat); ok {
		var out []SetField
		for _, it := range cat.Items {
			out = append(out, exprFields(it)...)
		}
		return out
	}
	a := e.Common()
	bits := a.Bits
	if bits == 0 && a.Type != nil {
		bits = a.Type.Bits
	}
	t := a.Type
	if t != nil {
		t = t.Sized(bits, a.Order)
	}
	return []SetField{{Type: t, Order: fieldOrder(t, a.Order), Bits: bits}}
}

// fieldOrder: strings lie as they are read, whatever their type says.
func fieldOrder(t *Datatype, o ByteOrder) ByteOrder {
	if t != nil && t.IsString() {
		return OrderBig
	}
	return o
}

// finishSet checks a declaration as a whole and derives flags from it.
func (r *resolver) finishSet(set, existing *Set) bool {
	before := r.diags.Errors()
	kind := set.kindWord()
	if set.AutoMerge && set.Flags&bytecode.SetInterval == 0 {
		r.setError(set, "auto-merge", "auto-merge only works with interval sets")
		return false
	}
	for _, f := range set.KeyFields {
		if f.Bits == 0 {
			r.unqualified(set, f.Type, kind, len(set.KeyFields) > 1)
			return false
		}
	}
	if len(set.KeyFields) == 0 || set.Key.ID == IDVerdict {
		r.unqualified(set, set.Key, kind, false)
		return false
	}
	if n := fieldsLen(set.KeyFields); n > bytecode.RegisterBytes {
		r.setError(set, "key-too-long", "Concatenation of size %d exceeds maximum size of %d", n*8, bytecode.RegisterBytes*8)
		return false
	}
	if set.Flags&bytecode.SetInterval != 0 && set.isConcat() {
		set.Flags |= bytecode.SetConcat
		set.AutoMerge = false
	}
	if set.Flags&bytecode.SetInterval != 0 {
		for i := range set.KeyFields {
			set.KeyFields[i].native, set.KeyFields[i].Order = set.KeyFields[i].Order, OrderBig
		}
	}
	if set.Flags&bytecode.SetMap != 0 {
		if set.DataKind == bytecode.DataNone {
			r.setError(set, "no-data", "map definition does not specify mapping data type")
			return false
		}
		for _, f := range set.DataFields {
			if f.Bits == 0 {
				r.unqualified(set, f.Type, kind, len(set.DataFields) > 1)
				return false
			}
		}
	}
	if set.Timeout != 0 {
		set.Flags |= bytecode.SetTimeout
	}
	if len(set.Stmts) > 1 {
		set.Flags |= setExpr
	}
	if existing != nil {
		r.compatible(set, existing, kind)
	}
	return r.diags.Errors() == before
}

func (r *resolver) unqualified(set *Set, t *Datatype, kind string, concat bool) {
	name, hint := "", ""
	if t != nil {
		name = t.Name
		if t.Bits == 0 {
			hint = ". Try \"typeof expression\" instead of \"type datatype\"."
		}
	}
	if concat {
		r.setError(set, "unqualified-type", "can not use variable sized data types (%s) in concat expressions", name)
		return
	}
	r.setError(set, "unqualified-type", "unqualified type %s specified in %s definition%s", name, kind, hint)
}

// compatible checks a declaration of a set that is there already.
func (r *resolver) compatible(set, old *Set, kind string) {
	switch {
	case set.Flags&bytecode.SetInterval != 0 && old.Flags&bytecode.SetInterval == 0:
		r.setError(set, "set-redefined", "existing %s lacks interval flag", kind)
	case set.Data != nil && old.Data != nil && !set.Data.Equal(old.Data):
		r.setError(set, "set-redefined", "%s already exists with different datatype (%s vs %s)", kind, old.Data.Desc, set.Data.Desc)
	case !set.Key.Equal(old.Key):
		r.setError(set, "set-redefined", "%s already exists with different datatype (%s vs %s)", kind, old.Key.Desc, set.Key.Desc)
	case set.Flags&(bytecode.SetMap|bytecode.SetObject) != old.Flags&(bytecode.SetMap|bytecode.SetObject):
		r.setError(set, "set-redefined", "Cannot merge %s with incompatible existing %s of same name", kind, old.kindWord())
	}
}

// elementCommand looks up the set of an element command and evaluates the
// elements. nil after an error.
func (r *resolver) elementCommand(w where) (*Set, []Element) {
	c := w.cmd
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return nil, nil
	}
	set := tc.sets[c.Object.Text]
	if set == nil {
		r.setNotFound(w.family, c.Object)
		return nil, nil
	}
	if set.Key == nil || set.KeyFields == nil {
		return nil, nil
	}
	var e parser.Expr
	switch b := c.Body.(type) {
	case *parser.SetLit:
		e = b
	case *parser.ElementsVar:
		e = &b.Variable
	default:
		return nil, nil
	}
	ev, ok := r.newRuleCtx(tc.table, nil).evalElements(set, e)
	if !ok {
		return nil, nil
	}
	orderKeys(set, ev.out)
	return set, ev.out
}

// addElements evaluates `add element` (setelem_evaluate).
func (r *resolver) addElements(w where) {
	set, es := r.elementCommand(w)
	if set == nil {
		return
	}
	if set.pointSet() {
		var ok bool
		if es, ok = r.addIntervals(w, set, es, true); !ok {
			return
		}
	}
	r.step(w, Step{Kind: bytecode.OpNewElements, Flags: verbFlags(w.cmd.Verb) & bytecode.OpCreate, Set: set, Elements: es,
		First: !set.declared, NameSpan: w.cmd.Object.Span})
}

// deleteElements evaluates `delete element`. Cutting a piece out of a merged
// interval deletes the interval and adds what is left of it.
func (r *resolver) deleteElements(w where) {
	set, es := r.elementCommand(w)
	if set == nil {
		return
	}
	var add []Element
	if set.pointSet() {
		var ok bool
		if es, add, ok = r.deleteIntervals(set, es); !ok {
			return
		}
	}
	r.step(w, Step{Kind: bytecode.OpDelElements, Flags: verbFlags(w.cmd.Verb) & bytecode.OpDestroy, Set: set, Elements: es,
		NameSpan: w.cmd.Object.Span})
	if len(add) > 0 {
		r.step(w, Step{Kind: bytecode.OpNewElements, Set: set, Elements: add, First: !set.declared, Internal: true})
	}
}

// getElements evaluates `get element` and `reset element`, which change
// nothing here.
func (r *resolver) getElements(w where) { r.elementCommand(w) }

// findSet looks a named set up in the rule's table; an error is reported.
func (c *ruleCtx) findSet(name parser.Name) *Set {
	text, ok := c.word(name)
	if !ok {
		c.notFound("unknown-set", name.Span, "", "")
		return nil
	}
	name.Text = text
	tc := c.cache[tableKey{c.table.Family, c.table.Name}]
	if tc == nil {
		w := c.at
		c.tableNotFound(w)
		return nil
	}
	if s := tc.sets[text]; s != nil {
		return s
	}
	c.setNotFound(c.table.Family, name)
	return nil
}

// anonSet makes the anonymous set or map of a rule from `{ … }`. key is the
// left side's type; data is nil for a set. The set is recorded in the steps in
// front of the rule.
func (c *ruleCtx) anonSet(lit *parser.SetLit, key want, data *want) *Set {
	set := &Set{Table: c.table, Name: "__set%d", Span: lit.Span, Flags: bytecode.SetAnonymous | bytecode.SetConstant, Key: key.Type}
	set.KeyFields = wantFields(key)
	if data != nil {
		set.Name = "__map%d"
		set.Flags |= bytecode.SetMap
		set.Data = data.Type
		set.DataKind = bytecode.DataValue
		if data.Type != nil && data.Type.ID == IDVerdict {
			set.DataKind = bytecode.DataVerdict
		} else {
			set.DataFields = wantFields(*data)
		}
	}
	return c.finishAnon(set, lit)
}

// anonObjectMap makes the anonymous map of `counter name X map { … }`.
func (c *ruleCtx) anonObjectMap(lit *parser.SetLit, key want, typ bytecode.ObjectType) *Set {
	set := &Set{Table: c.table, Name: "__objmap%d", Span: lit.Span, Key: key.Type, KeyFields: wantFields(key),
		Flags: bytecode.SetAnonymous | bytecode.SetConstant | bytecode.SetObject, DataKind: bytecode.DataObject, ObjType: typ}
	return c.finishAnon(set, lit)
}

func wantFields(w want) []SetField {
	if w.Type != nil && len(w.Type.Parts) > 0 {
		return typeFields(w.Type)
	}
	bits := w.Bits
	if bits == 0 && w.Type != nil {
		bits = w.Type.Bits
	}
	o := w.Order
	if o == OrderInvalid && w.Type != nil {
		o = w.Type.Order
	}
	return []SetField{{Type: w.Type, Order: fieldOrder(w.Type, o), Bits: bits}}
}

func (c *ruleCtx) finishAnon(set *Set, lit *parser.SetLit) *Set {
	ev, ok := c.evalElements(set, lit)
	if !ok {
		return nil
	}
	es := ev.out
	if ev.ranges {
		set.Flags |= bytecode.SetInterval
		if set.isConcat() {
			set.Flags |= bytecode.SetConcat
		}
	}
	orderKeys(set, es)
	if set.Flags&bytecode.SetInterval != 0 {
		for i := range set.KeyFields {
			set.KeyFields[i].native, set.KeyFields[i].Order = set.KeyFields[i].Order, OrderBig
		}
	}
	if ev.dataRanges {
		set.DataInterval = true
	}
	for i := range es {
		if d := es[i].Data; d != nil {
			if set.DataInterval {
				d.widen()
			}
			d.to = nil
		}
	}
	if set.pointSet() {
		// Anonymous sets are merged always, maps never (implicit_set_declaration).
		set.AutoMerge = !set.isMap()
		if es, ok = c.addIntervals(c.at, set, es, false); !ok {
			return nil
		}
	}
	set.Elements = es
	set.DescSize = uint32(len(es))
	c.setCount++
	set.ID = c.setCount
	c.step(c.at, Step{Kind: bytecode.OpNewSet, Set: set, Span: c.at.cmd.Span})
	if len(es) > 0 {
		c.step(c.at, Step{Kind: bytecode.OpNewElements, Set: set, Elements: es, First: true, Span: c.at.cmd.Span})
	}
	return set
}
