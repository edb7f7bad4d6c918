package lint

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// operands returns the expressions that stand directly in a statement.
func operands(s ir.Stmt) []ir.Expr {
	switch s := s.(type) {
	case *ir.Match:
		return []ir.Expr{s.X, s.Y}
	case *ir.VerdictStmt:
		return []ir.Expr{s.X}
	case *ir.Assign:
		return []ir.Expr{s.Target, s.Value}
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

// setOf is the set that an expression refers to, or nil.
func setOf(e ir.Expr) *ir.Set {
	switch e := e.(type) {
	case *ir.SetRef:
		return e.Set
	case *ir.Map:
		return e.Set
	}
	return nil
}

// walk calls f for e and everything in it, elements of anonymous sets included.
func walk(e ir.Expr, f func(ir.Expr)) {
	if e == nil {
		return
	}
	f(e)
	for _, p := range ir.Parts(e) {
		walk(p, f)
	}
	if s := setOf(e); s != nil && s.Flags&bytecode.SetAnonymous != 0 {
		walkElements(s, f)
	}
}

// walkElements walks the data of a set's elements.
func walkElements(s *ir.Set, f func(ir.Expr)) {
	if s.DataKind == bytecode.DataNone {
		return
	}
	for i := range s.Elements {
		if d := s.Elements[i].Data; d != nil && d.Expr != nil {
			walk(d.Expr, f)
		}
	}
}

// verdicts calls f for the verdicts that a statement can give, those of an
// anonymous verdict map included.
func verdicts(s ir.Stmt, f func(*ir.Verdict)) {
	vs, ok := s.(*ir.VerdictStmt)
	if !ok {
		return
	}
	walk(vs.X, func(e ir.Expr) {
		if v, ok := e.(*ir.Verdict); ok {
			f(v)
		}
	})
}
