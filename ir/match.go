package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/parser"
)

// stmt resolves one statement: matches, verdict maps, verdicts and assignments
// here, the others in otherStmt.
func (c *ruleCtx) stmt(s parser.Stmt) {
	c.ectx = exprCtx{}
	c.stmtBits, c.payloadStmt, c.nested, c.binops = 0, false, 0, 0
	switch s := s.(type) {
	case *parser.Match:
		if m := c.relational(s); m != nil {
			c.emit(m)
		}
	case *parser.VMap:
		c.vmap(s)
	case *parser.VerdictStmt:
		c.setContext(TypeVerdict, OrderInvalid, 0, 0)
		if x := c.eval(s.Verdict); x != nil {
			c.emit(&VerdictStmt{StmtSpan: StmtSpan{s.Span}, X: x})
		}
	case *parser.Assign:
		c.assign(s)
	default:
		c.otherStmt(s)
	}
	c.inner = nil
}

func (c *ruleCtx) vmap(s *parser.VMap) {
	c.setContext(TypeVerdict, OrderInvalid, 0, 0)
	x := c.mapExpr(&parser.Map{Node: s.Node, X: s.X, Maps: s.Maps})
	m, ok := x.(*Map)
	if !ok {
		return
	}
	if m.Type.ID != IDVerdict {
		c.fail("type-mismatch", s.Span, "datatype mismatch: expected netfilter verdict, expression has type %s", m.Type.Desc)
		return
	}
	c.emit(&VerdictStmt{StmtSpan: StmtSpan{s.Span}, X: m})
}

var matchOps = map[string]MatchOp{
	"": MatchImplicit, "==": MatchEq, "!=": MatchNeq, "<": MatchLt, ">": MatchGt, "<=": MatchLte, ">=": MatchGte, "!": MatchNeg,
}

func (o MatchOp) symbol() string {
	if o == MatchImplicit {
		return "implicit"
	}
	return o.String()
}

// orOf joins the members of a list by |, as masks are taken.
func orOf(e parser.Expr) parser.Expr {
	l, ok := e.(*parser.List)
	if !ok {
		return e
	}
	var out parser.Expr
	for _, it := range l.Items {
		if out == nil {
			out = it
			continue
		}
		b := &parser.Binary{Op: "|", X: out, Y: it}
		b.Span = l.Span
		out = b
	}
	return out
}

// relational resolves a comparison (expr_evaluate_relational). nil after an
// error.
func (c *ruleCtx) relational(s *parser.Match) *Match {
	left, right := s.X, s.Y
	if sm, ok := right.(*parser.SlashMask); ok {
		b := &parser.Binary{Op: "&", X: left, Y: orOf(sm.Mask)}
		b.Span = left.Pos()
		left, right = b, orOf(sm.Value)
	}
	op, ok := matchOps[s.Op]
	if !ok {
		c.fail("bad-operator", s.OpSpan, "unknown operator %q", s.Op)
		return nil
	}
	var ref *SetRef
	if sr, isRef := right.(*parser.SetRef); isRef {
		x, _ := c.setRef(sr).(*SetRef)
		if x == nil {
			return nil
		}
		ref = x
	}
	c.wantBoolean(right)
	x := c.eval(left)
	if x == nil {
		return nil
	}
	if f, isFib := x.(*Fib); isFib && c.boolean {
		f.Flags |= fibPresent
		f.Type, f.Bits = TypeBoolean, 8
		c.primaryContext(f)
	}
	c.boolean = false
	if right == nil {
		c.fail("missing-value", s.Span, "missing right side of the comparison")
		return nil
	}
	var y Expr
	switch r := c.follow(right).(type) {
	case nil:
		return nil
	case *parser.SetRef:
		if ref == nil {
			x, _ := c.setRef(r).(*SetRef)
			if x == nil {
				return nil
			}
			ref = x
		}
		y = ref
	case *parser.SetLit:
		return c.matchSet(s, op, x, r)
	case *parser.Range:
		if isHourOrDay(x) {
			var from, to *Value
			if from, to = c.rangeEnds(r); from == nil || to == nil {
				return nil
			}
			y, op = c.wrapRange(r, from, to, op)
			break
		}
		y = c.eval(r)
	default:
		y = c.eval(r)
	}
	if y == nil {
		return nil
	}
	return c.finishMatch(s, op, x, y)
}

func isHourOrDay(x Expr) bool {
	m, ok := x.(*Meta)
	return ok && (m.Key == bytecode.MetaTimeHour || m.Key == bytecode.MetaTimeDay)
}

// wrapRange turns a range of hours or days that goes past midnight or the end
// of the week around.
func (c *ruleCtx) wrapRange(r *parser.Range, from, to *Value, op MatchOp) (Expr, MatchOp) {
	cmp := compareNumbers(from.Bytes, to.Bytes)
	if cmp > 0 {
		switch op {
		case MatchImplicit, MatchEq:
			from, to, op = to, from, MatchNeq
		case MatchNeq:
			from, to, op = to, from, MatchEq
		default:
			c.fail("empty-range", r.Span, "Range negative size")
			return nil, op
		}
	}
	if cmp == 0 {
		return from, op
	}
	y := &RangeValue{Attr: from.Attr, From: from, To: to}
	y.Span = r.Span
	return y, op
}

// wantBoolean notes that an expression is compared with exists or missing,
// which makes a fib expression a test of presence.
func (c *ruleCtx) wantBoolean(right parser.Expr) {
	s, ok := right.(*parser.Symbol)
	c.boolean = ok && !s.Quoted && (s.Text == "exists" || s.Text == "missing")
}

// single returns the only element of a list when a comparison with it does as
// well as a set (optimize_singleton_set).
func (c *ruleCtx) single(x Expr, lit *parser.SetLit) parser.Expr {
	if _, isConcat := x.(*Concat); isConcat {
		return nil
	}
	elems := flatElems(c, lit)
	if len(elems) != 1 || elems[0].Opts != nil && len(elems[0].Opts.Stmts) > 0 || elems[0].Data != nil {
		return nil
	}
	switch k := c.follow(elems[0].Key).(type) {
	case *parser.Wildcard, *parser.SetRef, *parser.Concat, nil:
		return nil
	default:
		return k
	}
}

// matchSet resolves a comparison with an anonymous set.
func (c *ruleCtx) matchSet(s *parser.Match, op MatchOp, x Expr, lit *parser.SetLit) *Match {
	if len(flatElems(c, lit)) == 0 {
		c.fail("empty-set", lit.Span, "Set is empty")
		return nil
	}
	switch op {
	case MatchImplicit, MatchEq, MatchNeq:
		k := c.single(x, lit)
		if k == nil {
			break
		}
		y := c.eval(k)
		if y == nil {
			return nil
		}
		if t := y.Common().Type; op == MatchImplicit && t != nil && t.IsBitmask() && t.ID != IDCTState {
			op = MatchEq
		}
		return c.finishMatch(s, op, x, y)
	case MatchNeg:
		c.fail("bad-operator", lit.Span, "negation can only be used with singleton bitmask values.  Did you mean \"!=\"?")
		return nil
	default:
		c.fail("bad-operator", lit.Span, "Relational expression (%s) is undefined for set expressions", op.symbol())
		return nil
	}
	if isConstant(x) {
		c.fail("constant-match", x.Common().Span, "Relational expression (%s) has constant value", op.symbol())
		return nil
	}
	set := c.anonSetCtx(lit, c.elementWant(x), nil)
	if set == nil {
		return nil
	}
	y := &SetRef{Attr: Attr{Span: lit.Span, Type: x.Common().Type}, Set: set}
	return c.finishMatch(s, op, x, y)
}

// depSet makes the dependency that a header's type is one of several.
func (c *ruleCtx) depSet(x *Payload, types []uint8) *Match {
	lit := &parser.SetLit{}
	lit.Span = x.Span
	for _, t := range types {
		sym := &parser.Symbol{Text: uitoa(uint64(t))}
		sym.Span = x.Span
		lit.Elems = append(lit.Elems, &parser.Elem{Span: x.Span, Key: sym})
	}
	set := c.anonSetCtx(lit, keyWant(x), nil)
	if set == nil {
		return nil
	}
	return &Match{StmtSpan: StmtSpan{x.Span}, X: x, Op: MatchImplicit, Y: &SetRef{Attr: x.Attr, Set: set}, Implicit: true}
}

// finishMatch checks both sides against each other and brings them to a common
// byte order.
func (c *ruleCtx) finishMatch(s *parser.Match, op MatchOp, x, y Expr) *Match {
	m := &Match{StmtSpan: StmtSpan{s.Span}, X: x, Op: op, Y: y}
	xa, ya := x.Common(), y.Common()
	refuse := func(code string, at Expr, format string, args ...any) *Match {
		c.fail(code, at.Common().Span, format, args...)
		return nil
	}
	if !isConstant(y) {
		return refuse("not-constant", y, "Right hand side of relational expression (%s) must be constant", op.symbol())
	}
	if isConstant(x) {
		return refuse("constant-match", x, "Relational expression (%s) has constant value", op.symbol())
	}
	if xa.Type == nil || ya.Type == nil {
		return nil
	}
	if !xa.Type.Equal(ya.Type) {
		return refuse("type-mismatch", y, "datatype mismatch, expected %s, expression has type %s", xa.Type.Desc, ya.Type.Desc)
	}
	if isSecmark(x) {
		if _, isRef := y.(*SetRef); !isRef {
			return refuse("secmark", y, "Cannot be used with right hand side constant value")
		}
	}
	if op == MatchEq || op == MatchImplicit {
		c.updateProtocol(m)
	}
	switch op {
	case MatchEq, MatchImplicit, MatchNeq, MatchNeg:
		if op == MatchNeg {
			if _, isBin := x.(*Binary); isBin {
				return refuse("bad-operator", x, "cannot combine negation with binary expression")
			}
			if _, isVal := y.(*Value); !isVal || !ya.Type.IsBitmask() {
				return refuse("bad-operator", x, "negation can only be used with singleton bitmask values.  Did you mean \"!=\"?")
			}
		}
		switch y := y.(type) {
		case *RangeValue:
			m.X = c.convertOrder(x, OrderBig)
			setOrder(y, OrderBig)
		case *Prefix:
			// The prefix keeps the order in which it was evaluated, which
			// decides whether whole bytes are compared without a mask.
			y.X.Order = xa.Order
		case *Value:
			m.Y = c.convertOrder(y, xa.Order)
		case *SetRef:
			if y.Set.Flags&bytecode.SetInterval != 0 {
				m.X = c.convertOrder(x, OrderBig)
			}
			if ct, isCT := x.(*CT); isCT && (ct.Key == bytecode.CTSrc || ct.Key == bytecode.CTDst) {
				return refuse("ambiguous-family", x, "specify either ip or ip6 for address matching")
			}
		case *Concat:
			return refuse("bad-concatenation", x, "Use concatenations with sets and maps, not singleton values")
		default:
			return refuse("bad-operator", y, "%s cannot be compared with", exprName(y))
		}
	default:
		if _, isCat := x.(*Concat); isCat {
			return refuse("bad-operator", x, "Relational expression (%s) is undefined for %s expressions", op.symbol(), exprName(x))
		}
		if !isSingleton(y) {
			return refuse("bad-operator", y, "Relational expression (%s) is undefined for %s expressions", op.symbol(), exprName(y))
		}
		m.X = c.convertOrder(x, OrderBig)
		m.Y = c.convertOrder(y, OrderBig)
	}
	if m.X == nil || m.Y == nil {
		return nil
	}
	var ok bool
	if m.X, m.Y, ok = c.transfer(m.X, m.Y); !ok {
		return nil
	}
	return m
}

func isSecmark(x Expr) bool {
	switch x := x.(type) {
	case *Meta:
		return x.Key == bytecode.MetaSecmark
	case *CT:
		return x.Key == bytecode.CTSecmark
	}
	return false
}
