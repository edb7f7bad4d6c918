package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/parser"
)

// ruleCtx is the state while one rule is resolved: where it stands and what is
// known about the packet at this point of the rule (protocol dependencies).
type ruleCtx struct {
	*resolver
	table *Table
	chain *Chain // nil outside rules (set elements, objects)
	rule  *Rule
}

// want is what is expected of a value: type, byte order and length.
type want struct {
	Type  *Datatype
	Order ByteOrder
	Bits  int
}

// newRuleCtx starts a rule in a chain; chain is nil for what stands outside of
// rules.
func (r *resolver) newRuleCtx(t *Table, ch *Chain) *ruleCtx {
	return &ruleCtx{resolver: r, table: t, chain: ch}
}

// family is the family of the table that the rule is in.
func (c *ruleCtx) family() bytecode.Family { return c.table.Family }

// resolveRule resolves a rule; nil when it has errors, which are reported.
func (r *resolver) resolveRule(t *Table, ch *Chain, pr *parser.Rule) *Rule {
	c := r.newRuleCtx(t, ch)
	before := r.diags.Errors()
	c.rule = &Rule{Chain: ch, Span: pr.Span}
	if pr.Comment != nil {
		c.rule.Comment = pr.Comment.Text
	}
	for _, s := range pr.Stmts {
		c.stmt(s)
	}
	if r.diags.Errors() != before {
		return nil
	}
	return c.rule
}

// emit appends a statement to the rule.
func (c *ruleCtx) emit(s Stmt) { c.rule.Stmts = append(c.rule.Stmts, s) }
