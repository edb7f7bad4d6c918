package parser

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

// sharedDir finds the shared data beside the repository, or skips the test.
func sharedDir(t testing.TB, parts ...string) string {
	t.Helper()
	dir := os.Getenv("NFTC_SHARED")
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for d := wd; ; d = filepath.Dir(d) {
			if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
				dir = filepath.Join(d, "..", "shared")
				break
			}
			if d == filepath.Dir(d) {
				t.Skip("shared data is absent: no go.mod above the test")
			}
		}
	}
	p := filepath.Join(append([]string{dir}, parts...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("shared data is absent: %v", err)
	}
	return p
}

// gzLines calls f for each line of a gzipped file.
func gzLines(t testing.TB, name string, f func(line []byte)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(z)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		f(s.Bytes())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

func hostOptions() Options {
	return Options{ReadFile: os.ReadFile, Glob: filepath.Glob}
}

func parseText(name, text string) (*File, []diag.Diagnostic) {
	return Parse(&diag.FileSet{}, name, text, hostOptions())
}

func firstError(f *File, ds []diag.Diagnostic) string {
	if len(ds) == 0 {
		return ""
	}
	return f.Files.Position(ds[0].Span.Start).String() + ": " + ds[0].Message
}

// parserRefusal tells whether nft's message is one of its parser.
func parserRefusal(msg string) bool {
	return strings.Contains(msg, "syntax error")
}

// TestConformanceRules: what nft accepts must parse, what its grammar refuses
// must be refused.
func TestConformanceRules(t *testing.T) {
	conformance(t, sharedDir(t, "conformance", "rules.jsonl.gz"), func(line []byte) (id, text, check string) {
		var r struct {
			ID      string
			Ruleset string
			Check   string `json:"nft_check"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		return r.ID, r.Ruleset, r.Check
	})
}

func TestConformanceRulesets(t *testing.T) {
	conformance(t, sharedDir(t, "conformance", "rulesets.jsonl.gz"), func(line []byte) (id, text, check string) {
		var r struct {
			ID      string
			Ruleset string
			Check   string
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		return r.ID, r.Ruleset, r.Check
	})
}

func conformance(t *testing.T, name string, record func([]byte) (id, text, check string)) {
	var accepted, refused, wrong, place, parsedAll int
	gzLines(t, name, func(line []byte) {
		id, text, check := record(line)
		f, ds := parseText("/dev/stdin", text)
		got := firstError(f, ds)
		switch {
		case check == "ok":
			accepted++
			if got != "" {
				wrong++
				if wrong <= 40 {
					t.Errorf("%s: nft accepts, we say %s\n%s", id, got, clipTest(text))
				}
			}
		case parserRefusal(check):
			refused++
			if got == "" {
				wrong++
				t.Errorf("%s: nft says %s, we accept\n%s", id, check, clipTest(text))
			} else if p := f.Files.Position(ds[0].Span.Start); positionOf(check) != fmt.Sprintf("%d:%d", p.Line, p.Column) {
				place++
				t.Logf("%s: other place: nft %s\n      we: %s", id, check, got)
			}
		default:
			parsedAll++
		}
	})
	t.Logf("%s: %d accepted by nft, %d refused by its grammar, %d judged wrong, %d refused at another place; %d refused by nft for other reasons",
		filepath.Base(name), accepted, refused, wrong, place, parsedAll)
}

func clipTest(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}
