package compile

import "github.com/nftc/nftc/ir"

// otherStmt compiles statements that are neither matches nor assignments.
func (g *gen) otherStmt(s ir.Stmt) {}
