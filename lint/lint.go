package lint

import (
	"cmp"
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// lints are all lints by code. Every code has a document CODE.md.
var lints = []struct {
	code string
	run  func(*pass)
}{
	{"unreachable-rule", unreachableRule},
	{"never-matches", neverMatches},
	{"shadowed-rule", shadowedRule},
	{"duplicate-rule", duplicateRule},
	{"unused-set", unusedSet},
	{"unused-chain", unusedChain},
	{"empty-chain-jump", emptyChainJump},
	{"covered-element", coveredElement},
}

//go:embed *.md
var docFiles embed.FS

// Docs returns the documentation of every lint. The documents are part of the
// program and covered by a test; a broken one panics.
var Docs = sync.OnceValue(func() diag.Docs {
	d, err := diag.LoadDocs(docFiles, ".")
	if err != nil {
		panic(err)
	}
	return d
})

// pass is one run over a ruleset.
type pass struct {
	rs    *ir.Ruleset
	code  string
	diags diag.List
	rules map[*ir.Rule]*rule
	uses  *uses
	// effects and covered remember what was worked out for a chain.
	effects map[chainName]assigned
	covered map[*ir.Chain][]covering
}

// Run reports the mistakes in a ruleset that was resolved without errors, as
// warnings in the order of the source.
func Run(rs *ir.Ruleset) []diag.Diagnostic {
	p := &pass{
		rs: rs, uses: findUses(rs), rules: make(map[*ir.Rule]*rule),
		effects: make(map[chainName]assigned), covered: make(map[*ir.Chain][]covering),
	}
	for _, l := range lints {
		p.code = l.code
		l.run(p)
	}
	// A file without the mark is not looked through for every finding.
	marked := make(map[*diag.File]bool)
	for _, f := range rs.Files.Files {
		marked[f] = strings.Contains(f.Text, ignoreMark)
	}
	out := slices.DeleteFunc(p.diags.All, func(d diag.Diagnostic) bool {
		return marked[rs.Files.File(d.Span.Start)] && ignored(rs.Files, d)
	})
	slices.SortStableFunc(out, func(a, b diag.Diagnostic) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return out
}

// report records a warning of the running lint.
func (p *pass) report(sp diag.Span, msg string, notes ...diag.Note) {
	p.diags.Add(diag.Diagnostic{Code: p.code, Severity: diag.Warning, Span: sp, Message: msg, Notes: notes})
}

// chains calls f for every chain, anonymous ones included.
func (p *pass) chains(f func(*ir.Chain)) {
	for _, t := range p.rs.Tables {
		for _, ch := range t.Chains {
			f(ch)
			p.anonChains(ch, f)
		}
	}
}

func (p *pass) anonChains(ch *ir.Chain, f func(*ir.Chain)) {
	for _, r := range ch.Rules {
		for _, s := range r.Stmts {
			verdicts(s, func(v *ir.Verdict) {
				if v.Anon != nil {
					f(v.Anon)
					p.anonChains(v.Anon, f)
				}
			})
		}
	}
}

// ignoreMark is what a comment says to silence a diagnostic.
const ignoreMark = "nftc:ignore"

// ignored tells whether a comment on the diagnostic's line, or alone on the
// line above, names its code.
func ignored(files *diag.FileSet, d diag.Diagnostic) bool {
	f := files.File(d.Span.Start)
	if f == nil {
		return false
	}
	n := f.Position(f.Offset(d.Span.Start)).Line
	line, _ := f.Line(n)
	if ignores(line, d.Code) {
		return true
	}
	above, _ := f.Line(n - 1)
	return strings.HasPrefix(strings.TrimSpace(above), "#") && ignores(above, d.Code)
}

func ignores(line, code string) bool {
	i := strings.LastIndex(line, ignoreMark)
	if i < 0 || !strings.Contains(line[:i], "#") {
		return false
	}
	words := strings.FieldsFunc(line[i+len(ignoreMark):], func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
	return slices.Contains(words, code)
}
