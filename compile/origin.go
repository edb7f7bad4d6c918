package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// Origins returns, for each expression that a rule compiles to, the statement
// of the rule (as Rule.Reduced gives them) that it comes from.
func Origins(r *ir.Rule) []ir.Stmt {
	c := new(compiler)
	var out []ir.Stmt
	c.origins = &out
	c.compileRule(r)
	return out
}

// Load returns the expressions that load the value of x into the registers from
// the first on.
func Load(x ir.Expr) []bytecode.Instr {
	g := &gen{compiler: new(compiler), rule: new(bytecode.Rule)}
	g.expr(&ir.Match{X: x}, x, 0)
	return g.rule.Instrs
}
