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

	// ectx is the context of the next constant.
	ectx exprCtx
	// pctx is what is known of the packet's headers, and of those inside of a
	// tunnel.
	pctx [2]protoCtx
	// inner is the tunnel that the expression at hand looks into.
	inner *Protocol
	// stmtBits is the length that a statement sets; operators compute in it.
	stmtBits int
	// payloadStmt is set while the operand of a header write is resolved: bit
	// fields are then left whole.
	payloadStmt bool
	// inSet is set while elements are resolved.
	inSet bool
	// boolean is set while the left side of `… exists` is resolved.
	boolean bool
	nested  int // depth in lists and concatenations
	binops  int // depth in operators
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
	c := &ruleCtx{resolver: r, table: t, chain: ch, rule: &Rule{}}
	if t != nil {
		c.pctx[0] = newProtoCtx(t.Family)
	}
	// Inside a tunnel the headers start with Ethernet, as in a bridge.
	c.pctx[1] = newProtoCtx(bytecode.FamilyBridge)
	return c
}

// family is the family of the table that the rule is in.
func (c *ruleCtx) family() bytecode.Family { return c.table.Family }

// resolveRule resolves a rule; nil when it has errors, which are reported.
func (r *resolver) resolveRule(t *Table, ch *Chain, pr *parser.Rule) *Rule {
	c := r.newRuleCtx(t, ch)
	before := r.diags.Errors()
	c.rule = &Rule{Chain: ch, Span: pr.Span}
	if pr.Comment != nil {
		c.rule.Comment, c.rule.CommentSet = pr.Comment.Text, true
	}
	var last Stmt // a statement that ends the rule
	for _, s := range pr.Stmts {
		if last != nil {
			r.diags.Errorf("unreachable-statement", s.Pos(), "Statement after terminal statement has no effect")
			return nil
		}
		c.stmt(s)
		if r.diags.Errors() != before {
			return nil
		}
		if n := len(c.rule.Stmts); n > 0 && isTerminal(c.rule.Stmts[n-1]) {
			last = c.rule.Stmts[n-1]
		}
	}
	for _, s := range c.rule.Stmts {
		c.kernelExprs(s)
	}
	if r.diags.Errors() != before {
		return nil
	}
	return c.rule
}

// emit appends a statement to the rule.
func (c *ruleCtx) emit(s Stmt) {
	if c.rule.Stmts == nil {
		c.rule.Stmts = make([]Stmt, 0, 4) // what most rules need
	}
	c.rule.Stmts = append(c.rule.Stmts, s)
}

// isTerminal tells whether nothing may follow a statement (STMT_F_TERMINAL).
func isTerminal(s Stmt) bool {
	switch s := s.(type) {
	case *VerdictStmt:
		v, ok := s.X.(*Verdict)
		return ok && v.Code != bytecode.Continue && v.Anon == nil
	case *NAT, *Queue, *Fwd:
		return true
	case *Simple:
		_, reject := s.Instr.(*bytecode.Reject)
		return reject
	}
	return false
}
