package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

type testCmd struct {
	Verbose bool     `short:"v" help:"Print every packet, not only those that differ."`
	Files   []string `arg:"" name:"file" help:"Scenarios: txtar archives, or folders with the same files in them."`
}

func (c *testCmd) Help() string {
	return `A scenario holds a ruleset, packets in packet notation (docs/notation.md) with the
verdicts that are expected ("=> accept"), and if the host matters, its addresses and
routes:

  # what this is about
  -- in.nft --
  table inet filter { ... }
  -- packets --
  visitor: tcp 203.0.113.9:51000 > 192.0.2.10:443 in=eth0 => accept
  -- host.json --
  (optional: output of "ip -j addr" and "ip -j route", separated by an empty line)

The ruleset is in.nft or ruleset.nft, else the first *.nft; others can be included by
it. Packets are packets, packets.txt, packets.csv or packets.jsonl.`
}

// scenario is a ruleset with packets and what is expected of them.
type scenario struct {
	name    string
	files   map[string][]byte
	ruleset string // the file to load
	packets string // the file of packets
}

// readScenario reads an archive or a folder.
func readScenario(name string) (*scenario, error) {
	s := &scenario{name: name, files: make(map[string][]byte)}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		err = filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(name, p)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(p)
			s.files[filepath.ToSlash(rel)] = data
			return err
		})
	} else {
		var a *txtar.Archive
		a, err = txtar.ParseFile(name)
		if err == nil {
			for _, f := range a.Files {
				s.files[path.Clean(f.Name)] = f.Data
			}
		}
	}
	if err != nil {
		return nil, err
	}
	s.ruleset = s.first("in.nft", "ruleset.nft", "*.nft")
	s.packets = s.first("packets", "packets.txt", "packets.csv", "packets.jsonl")
	switch {
	case s.ruleset == "":
		return nil, fmt.Errorf("%s: the scenario has no ruleset (in.nft)", name)
	case s.packets == "":
		return nil, fmt.Errorf("%s: the scenario has no packets (packets)", name)
	}
	return s, nil
}

// first finds the first file, in order of their names, that matches the first
// of the patterns that any matches.
func (s *scenario) first(patterns ...string) string {
	for _, p := range patterns {
		if m, _ := s.glob(p); len(m) > 0 {
			return m[0]
		}
	}
	return ""
}

func (s *scenario) glob(pattern string) ([]string, error) {
	var out []string
	for name := range s.files {
		ok, err := path.Match(path.Clean(pattern), name)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (s *scenario) read(name string) ([]byte, error) {
	data, ok := s.files[path.Clean(name)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return data, nil
}

// env is the host of the scenario.
func (s *scenario) env() (*eval.Env, error) {
	env := new(eval.Env)
	text, ok := s.files["host.json"]
	if !ok {
		return env, nil
	}
	var docs [][]byte
	for _, doc := range strings.Split(string(text), "\n\n") {
		if strings.TrimSpace(doc) != "" {
			docs = append(docs, []byte(doc))
		}
	}
	host, err := eval.ParseHost(docs...)
	env.Host = host
	return env, err
}

// testResult is the outcome of a scenario, as --json writes it.
type testResult struct {
	Version  int                `json:"version"`
	Scenario string             `json:"scenario"`
	Passed   bool               `json:"passed"`
	Packets  int64              `json:"packets"`
	Expected int64              `json:"expected"`
	Differ   []testDifference   `json:"differ"`
	Findings []diag.JSONFinding `json:"findings,omitempty"`
	Error    string             `json:"error,omitempty"`
}

type testDifference struct {
	Packet   string `json:"packet"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
	Because  string `json:"because"`
}

func (c *testCmd) Run(a *app) error {
	failed := false
	var broken error
	for _, name := range c.Files {
		s, err := readScenario(name)
		if err != nil {
			fmt.Fprintf(a.stderr, "nftc: %v\n", err)
			broken = shownError{err}
			continue
		}
		r := c.run(a, s)
		failed = failed || !r.Passed
		if a.global.JSON {
			if err := a.writeJSON(r); err != nil {
				return err
			}
			continue
		}
		switch {
		case r.Passed:
			fmt.Fprintf(a.stdout, "ok    %s (%s)\n", name, packets(r.Packets))
		case r.Error != "":
			fmt.Fprintf(a.stdout, "FAIL  %s: %s\n", name, r.Error)
		default:
			fmt.Fprintf(a.stdout, "FAIL  %s: %d of %d expected verdicts differ\n", name, len(r.Differ), r.Expected)
			for _, d := range r.Differ {
				fmt.Fprintf(a.stdout, "      %s\n        expected %s, got %s: %s\n", d.Packet, d.Expected, d.Got, d.Because)
			}
		}
	}
	switch {
	case broken != nil:
		return broken
	case failed:
		return errFinding
	}
	return nil
}

// run evaluates one scenario.
func (c *testCmd) run(a *app, s *scenario) testResult {
	r := testResult{Version: diag.JSONVersion, Scenario: s.name, Differ: []testDifference{}}
	fail := func(err error) testResult {
		r.Error = err.Error()
		return r
	}
	files := new(diag.FileSet)
	tree, ds := parser.Parse(files, s.ruleset, string(s.files[s.ruleset]), parser.Options{
		IncludePaths: a.global.Includepath, ReadFile: s.read, Glob: s.glob, Defines: a.global.Define,
	})
	src := &source{name: s.ruleset, files: files, tree: tree, diags: ds}
	if !src.hasErrors() {
		src.ruleset, ds = ir.Resolve(tree, a.resolveOptions())
		src.diags = append(src.diags, ds...)
	}
	if a.global.JSON {
		r.Findings = diag.JSON(src.findings())
	} else if err := a.show(src); err != nil && !errors.Is(err, errFinding) {
		return fail(err)
	}
	if src.hasErrors() {
		return fail(errors.New("the ruleset has errors"))
	}
	env, err := s.env()
	if err != nil {
		return fail(err)
	}
	addInterfaces(env, src.ruleset)
	program := compile.Compile(src.ruleset)
	engine, err := eval.New(program, *env)
	if err != nil {
		return fail(err)
	}
	in, err := packet.NewSource(s.packets, strings.NewReader(string(s.files[s.packets])), packet.KindTuples)
	if err != nil {
		return fail(err)
	}
	e := &evaluation{app: a, rules: newRuleNames(files)}
	var p packet.Packet
	var res eval.Result
	for {
		err := in.Next(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fail(err)
		}
		r.Packets++
		line := describe(&p, r.Packets)
		engine.Run(&p, &res)
		want := p.Stated.Expect
		if want != "" {
			r.Expected++
			if !expected(want, &res) {
				r.Differ = append(r.Differ, testDifference{line, want, outcomeWord(&res), e.because(&res)})
			}
		}
		if c.Verbose && !a.global.JSON {
			fmt.Fprintf(a.stdout, "      %s\n", e.line(line, &res))
		}
	}
	r.Passed = len(r.Differ) == 0
	return r
}
