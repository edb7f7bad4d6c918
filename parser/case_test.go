package parser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCorpus: what nft's parser takes must parse, what it refuses must be
// refused, and at the same place, for every public ruleset of the manifest.
func TestCorpus(t *testing.T) {
	dir := sharedDir(t, "corpus", "rulesets")
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.jsonl"))
	if err != nil {
		t.Skipf("shared data is absent: %v", err)
	}
	var n, wrong, refused, place int
	for line := range strings.Lines(string(manifest)) {
		var r struct {
			File  string
			Error string   `json:"nft_error"`
			More  []string `json:"more_errors"`
			RC    int      `json:"nft_rc"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, r.File))
		if err != nil {
			continue
		}
		n++
		tree, ds := parseText(r.File, string(text))
		got := firstError(tree, ds)
		if !parserRefusal(r.Error) {
			// nft's first error may be one of a later stage
			if len(ds) > 0 && !sameRefusal(r.Error) && !slices.ContainsFunc(r.More, parserRefusal) {
				wrong++
				t.Errorf("nft: %q, we say %s", r.Error, got)
			}
			continue
		}
		refused++
		if got == "" {
			if why := notRefused[r.File]; why != "" {
				t.Logf("not refused: %s\n      %s", r.Error, why)
				continue
			}
			wrong++
			t.Errorf("not refused: %s", r.Error)
			continue
		}
		where := positionOf(r.Error)
		p := tree.Files.Position(ds[0].Span.Start)
		if where != fmt.Sprintf("%d:%d", p.Line, p.Column) {
			place++
			t.Logf("other place: nft %s\n      we: %s", r.Error, got)
		}
	}
	t.Logf("%d files, %d refused by nft's parser; judged wrong: %d; refused at another place: %d", n, refused, wrong, place)
}

// notRefused are the rulesets that nft refuses by a fault of its scanner.
var notRefused = map[string]string{
	"gh__hardenedlinux_harbian-audit__etcables.nft": "nft's scanner stays in the state of `limit rate` when `log flags tcp … flags ip options` follows, and takes the next line's $ for junk",
}

// sameRefusal: errors that are no syntax errors and that the parser finds too.
func sameRefusal(msg string) bool {
	for _, s := range []string{"File not found", "unknown identifier", "redefinition", "too long", "unsupported xtables",
		"unknown chain hook", "exceeds", "Not a regular file", "only specify this once", "unknown table option"} {
		if strings.Contains(msg, s) {
			return true
		}
	}
	return false
}

// positionOf returns LINE:COL of nft's `FILE:LINE:COL-COL: Error: …`.
func positionOf(msg string) string {
	head, _, _ := strings.Cut(msg, ": Error:")
	parts := strings.Split(head, ":")
	if len(parts) < 3 {
		return ""
	}
	col, _, _ := strings.Cut(parts[len(parts)-1], "-")
	return parts[len(parts)-2] + ":" + col
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
