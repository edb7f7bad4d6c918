package parser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpus: what nft loads must parse, what its grammar refuses must be
// refused, for every public ruleset that the manifest lists.
func TestCorpus(t *testing.T) {
	dir := sharedDir(t, "corpus", "rulesets")
	files, _ := filepath.Glob(filepath.Join(dir, "*.nft"))
	var ok, bad int
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tree, ds := parseText(f, string(text))
		if len(ds) == 0 {
			ok++
		} else {
			bad++
			t.Logf("%s", firstError(tree, ds))
		}
	}
	t.Logf("%d files parse, %d do not", ok, bad)
}

// TestCases: the files of the shared cases are accepted or refused as settled.
func TestCases(t *testing.T) {
	dir := sharedDir(t, "cases")
	files, _ := filepath.Glob(filepath.Join(dir, "*", "expect.json"))
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Checks []struct {
				File, Mode string
				Exit       int
				Error      *struct {
					File    string
					Line    int
					Col     []int
					Message string
				}
			}
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		for _, k := range c.Checks {
			name := filepath.Join(filepath.Dir(f), k.File)
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree, ds := parseText(name, string(text))
			e := k.Error
			switch {
			case k.Exit == 0 && len(ds) > 0:
				t.Errorf("%s: nft accepts, we say %s", name, firstError(tree, ds))
			case e != nil && (strings.Contains(e.Message, "syntax error") || strings.Contains(e.Message, "File not found")):
				if len(ds) == 0 {
					t.Errorf("%s: not refused", name)
					continue
				}
				p := tree.Files.Position(ds[0].Span.Start)
				if p.Line != e.Line || p.Column != e.Col[0] || !strings.Contains(ds[0].Message, e.Message) {
					t.Errorf("%s: got %s, want %d:%d %s", name, firstError(tree, ds), e.Line, e.Col[0], e.Message)
				}
			}
		}
	}
}
