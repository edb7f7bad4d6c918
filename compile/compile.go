package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// compiler carries what one Compile needs; its methods are spread over the
// files of the package by what they compile.
type compiler struct {
	in  *ir.Ruleset
	out *bytecode.Ruleset

	tables map[*ir.Table]*bytecode.Table
	chains map[*ir.Chain]*bytecode.Chain
	rules  map[*ir.Rule]*bytecode.Rule
	sets   map[*ir.Set]*bytecode.Set

	objects    map[*ir.Object]*bytecode.Object
	flowtables map[*ir.Flowtable]*bytecode.Flowtable

	// origins, if not nil, gets the statement of each expression.
	origins *[]ir.Stmt
}

// Compile turns a resolved ruleset (without errors) into a program.
func Compile(in *ir.Ruleset) *bytecode.Ruleset {
	c := &compiler{
		in: in, out: &bytecode.Ruleset{Files: in.Files},
		tables: make(map[*ir.Table]*bytecode.Table),
		chains: make(map[*ir.Chain]*bytecode.Chain),
		rules:  make(map[*ir.Rule]*bytecode.Rule),
		sets:   make(map[*ir.Set]*bytecode.Set),

		objects:    make(map[*ir.Object]*bytecode.Object),
		flowtables: make(map[*ir.Flowtable]*bytecode.Flowtable),
	}
	c.steps()
	return c.out
}
