package ir

import "github.com/nftc/nftc/parser"

// anonSet makes the anonymous set or map of a rule from `{ … }`. key is the
// left side's type; data is nil for a set. The set is recorded in the steps in
// front of the rule.
func (c *ruleCtx) anonSet(lit *parser.SetLit, key want, data *want) *Set { return nil }

// findSet looks a named set up in the rule's table.
func (c *ruleCtx) findSet(name parser.Name) *Set { return nil }
