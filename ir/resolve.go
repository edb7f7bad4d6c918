package ir

import (
	"maps"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// Options of Resolve: everything that nft takes from the machine.
type Options struct {
	// Interfaces gives indexes for `iif` and `oif`; a name that is not in it
	// is an error ("Interface does not exist") unless AnyInterface, which
	// gives unknown names numbers of their own.
	Interfaces   map[string]uint32
	AnyInterface bool
	// TZOffset is the offset of local time from UTC in seconds, for meta hour
	// and meta day.
	TZOffset int

	invented map[string]uint32 // what AnyInterface gave
}

// resolver is the state of one Resolve. Its methods are spread over the files
// of the package by what they resolve.
type resolver struct {
	opt   Options
	files *diag.FileSet
	diags diag.List
	out   *Ruleset
	scope *scope
	// bound gives the definition of every `$name`, by the place of the `$`.
	bound map[diag.Pos]*parser.Define
	// cache is what nft knows of tables at this point of the evaluation.
	cache map[tableKey]*tableCache
	// at is the command being evaluated: where steps of anonymous sets and
	// chains go.
	at where
	// refused is what the kernel will say of rules when they are sent.
	refused  []diag.Diagnostic
	setCount uint32
	chainID  uint32
	ruleRefs uint32
	slab     slab
	declared []*Set
}

// Resolve checks and types a parsed file and applies its commands to an empty
// ruleset. The Ruleset is complete only when no diagnostic is an error.
func Resolve(f *parser.File, opt Options) (*Ruleset, []diag.Diagnostic) {
	r := &resolver{opt: opt, files: f.Files, out: &Ruleset{Files: f.Files}}
	r.cache = make(map[tableKey]*tableCache)
	r.bindVariables(f.Items)
	if r.diags.HasErrors() {
		return r.out, r.diags.All
	}
	r.items(f.Items)
	r.out.Interfaces = maps.Clone(r.opt.invented)
	if r.out.Interfaces == nil {
		r.out.Interfaces = make(map[string]uint32)
	}
	maps.Copy(r.out.Interfaces, r.opt.Interfaces)
	if r.diags.HasErrors() {
		return r.out, r.diags.All
	}
	for _, d := range r.refused {
		r.diags.Add(d)
	}
	r.commit()
	return r.out, r.diags.All
}
