package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// stdinName is how messages call standard input, as nft's do.
const stdinName = "/dev/stdin"

// source is a ruleset file on its way through the stages.
type source struct {
	name    string
	files   *diag.FileSet
	tree    *parser.File
	ruleset *ir.Ruleset // nil after errors in the syntax
	diags   []diag.Diagnostic
}

func (s *source) hasErrors() bool {
	for _, d := range s.diags {
		if d.Severity == diag.Error {
			return true
		}
	}
	return false
}

func (s *source) findings() []diag.Finding { return diag.Findings(s.files, s.diags) }

// readInput reads a file, or standard input for "-". The error names the file.
func (a *app) readInput(name string) (shown, text string, err error) {
	var b strings.Builder
	if name == "-" {
		if a.stdinUsed {
			return stdinName, "", usageError{"standard input can be named only once"}
		}
		a.stdinUsed = true
		if _, err = io.Copy(&b, a.stdin); err != nil {
			err = fmt.Errorf("reading standard input: %w", err)
		}
		return stdinName, b.String(), err
	}
	f, err := os.Open(name)
	if err != nil {
		return name, "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		b.Grow(int(min(info.Size(), maxGrow)))
	}
	_, err = io.Copy(&b, f)
	return name, b.String(), err
}

// maxGrow bounds what is allocated for a file because of its size alone.
const maxGrow = 1 << 30

// parse reads and parses a ruleset file.
func (a *app) parse(name string, opt parser.Options) (*source, error) {
	shown, text, err := a.readInput(name)
	if err != nil {
		return nil, err
	}
	s := &source{name: shown, files: new(diag.FileSet)}
	s.tree, s.diags = parser.Parse(s.files, shown, text, opt)
	return s, nil
}

// load reads, parses and resolves a ruleset file. The error is about reading;
// what is wrong in the text stands in the source's diagnostics.
func (a *app) load(name string) (*source, error) {
	s, err := a.parse(name, parser.Options{
		IncludePaths: a.global.Includepath,
		ReadFile:     os.ReadFile,
		Glob:         glob,
		Defines:      a.global.Define,
	})
	if err != nil || s.hasErrors() {
		return s, err
	}
	rs, ds := ir.Resolve(s.tree, a.resolveOptions())
	s.ruleset, s.diags = rs, append(s.diags, ds...)
	return s, nil
}

// resolveOptions are the facts about the machine that rulesets depend on.
func (a *app) resolveOptions() ir.Options {
	return ir.Options{
		Interfaces:   a.interfaces(),
		AnyInterface: a.global.Iface == nil,
		TZOffset:     a.global.TZOffset,
	}
}

// machineOf are the same facts with the interfaces that the ruleset names.
func (a *app) machineOf(rs *ir.Ruleset) ir.Options {
	opt := a.resolveOptions()
	opt.Interfaces = rs.Interfaces
	return opt
}

// interfaces are those of the command line and the loopback interface.
func (a *app) interfaces() map[string]uint32 {
	m := map[string]uint32{"lo": 1}
	for name, index := range a.global.Iface {
		m[name] = index
	}
	return m
}

// program loads and compiles a ruleset file. Errors in it are shown and become
// errFinding.
func (a *app) program(name string) (*source, *bytecode.Ruleset, error) {
	s, err := a.load(name)
	if err != nil {
		return nil, nil, err
	}
	if err := a.show(s); err != nil {
		return s, nil, err
	}
	return s, compile.Compile(s.ruleset), nil
}

// show writes the source's diagnostics to stderr; errFinding when one of them
// is an error. With --json the findings then are the result.
func (a *app) show(s *source) error {
	if err := diag.WriteText(a.stderr, s.findings(), a.textOptions()); err != nil {
		return err
	}
	if !s.hasErrors() {
		return nil
	}
	if a.global.JSON {
		if err := a.writeJSON(newCheckReport(s)); err != nil {
			return err
		}
	}
	return errFinding
}

// glob finds files as glob(3) does for includes, sorted by name.
func glob(pattern string) ([]string, error) {
	names, err := filepath.Glob(pattern)
	sort.Strings(names)
	return names, err
}
