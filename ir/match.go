package ir

import "github.com/nftc/nftc/parser"

// stmt resolves one statement: matches, verdict maps, verdicts and assignments
// here, the others in otherStmt.
func (c *ruleCtx) stmt(s parser.Stmt) {
	switch s := s.(type) {
	case *parser.Match, *parser.VMap, *parser.VerdictStmt, *parser.Assign:
	default:
		c.otherStmt(s)
	}
}

// primary resolves an expression that stands on its own (a left side, a map
// key, the argument of typeof). It adds the dependencies that the expression
// needs to the rule. nil after an error, which is reported.
func (c *ruleCtx) primary(e parser.Expr) Expr { return nil }

// value resolves an expression where a value of a known type is expected: a
// right side, an element's key or data, an address of dnat. Constants are
// parsed by the type. nil after an error, which is reported.
func (c *ruleCtx) value(e parser.Expr, w want) Expr { return nil }

// typeSpec resolves the `A . B` of `type A . B`.
func (r *resolver) typeSpec(e parser.Expr) *Datatype { return nil }
