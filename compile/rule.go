package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// gen generates the expressions of one rule.
type gen struct {
	*compiler
	rule *bytecode.Rule
}

// compileRule compiles one rule.
func (c *compiler) compileRule(r *ir.Rule) *bytecode.Rule {
	g := &gen{compiler: c, rule: &bytecode.Rule{Span: r.Span, Comment: r.Comment, Handle: r.Handle}}
	for _, s := range r.Stmts {
		g.stmt(s)
	}
	return g.rule
}

// emit appends an expression that comes from a statement.
func (g *gen) emit(s ir.Stmt, in bytecode.Instr) {
	g.rule.Instrs = append(g.rule.Instrs, in)
	g.rule.Spans = append(g.rule.Spans, s.Pos())
}

// stmt compiles matches, verdicts, verdict maps and assignments; other
// statements are in otherStmt.
func (g *gen) stmt(s ir.Stmt) {
	switch s.(type) {
	case *ir.Match, *ir.VerdictStmt, *ir.Assign:
	default:
		g.otherStmt(s)
	}
}

// expr loads the value of e into registers starting with slot.
func (g *gen) expr(s ir.Stmt, e ir.Expr, slot int) {}
