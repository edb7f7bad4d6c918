package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/parser"
)

// otherStmt resolves statements that are neither matches nor assignments.
func (c *ruleCtx) otherStmt(s parser.Stmt) {}

// stateful turns a stateful statement (counter, quota, limit, ct count, last)
// into its expression; nil after an error, which is reported.
func (c *ruleCtx) stateful(s parser.Stmt) bytecode.Instr { return nil }
