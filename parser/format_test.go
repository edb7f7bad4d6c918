package parser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

func parseForFormat(text string) (*File, []diag.Diagnostic) {
	return Parse(&diag.FileSet{}, "x.nft", text, Options{KeepIncludes: true})
}

var spanType = reflect.TypeOf(diag.Span{})

// sameTree compares two trees but for spans. It returns the path of the first
// difference.
func sameTree(a, b reflect.Value, path string) string {
	if a.Kind() != b.Kind() || a.Type() != b.Type() {
		return path + ": kinds differ"
	}
	if a.Type() == spanType {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return path + ": one is nil"
			}
			return ""
		}
		return sameTree(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		for i := range a.NumField() {
			if !a.Type().Field(i).IsExported() {
				continue
			}
			if d := sameTree(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); d != "" {
				return d
			}
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return path + ": lengths differ"
		}
		for i := range a.Len() {
			if d := sameTree(a.Index(i), b.Index(i), path+"[]"); d != "" {
				return d
			}
		}
	default:
		if !a.Equal(b) {
			return path + ": " + a.String() + " and " + b.String()
		}
	}
	return ""
}

// checkFormat holds what is promised: the same tree, and the same text again.
func checkFormat(t *testing.T, name, text string) {
	t.Helper()
	f, ds := parseForFormat(text)
	if len(ds) > 0 {
		return
	}
	once := Format(f)
	g, ds := parseForFormat(once)
	if len(ds) > 0 {
		t.Errorf("%s: formatted text does not parse: %s\n%s", name, firstError(g, ds), clipTest(once))
		return
	}
	if d := sameTree(reflect.ValueOf(f.Items), reflect.ValueOf(g.Items), ""); d != "" {
		t.Errorf("%s: the tree changed: %s\n%s", name, d, clipTest(once))
	}
	if twice := Format(g); twice != once {
		t.Errorf("%s: formatting again gives another text:\n%s", name, firstDiff(once, twice))
	}
	if len(f.Comments) != len(g.Comments) {
		t.Errorf("%s: %d comments became %d", name, len(f.Comments), len(g.Comments))
	}
}

func firstDiff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			at := ""
			if i < len(y) {
				at = y[i]
			}
			return "- " + x[i] + "\n+ " + at
		}
	}
	return "longer"
}

func TestFormatCorpus(t *testing.T) {
	dir := sharedDir(t, "corpus", "rulesets")
	files, _ := filepath.Glob(filepath.Join(dir, "*.nft"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		checkFormat(t, filepath.Base(f), string(text))
	}
}

func TestFormatConformance(t *testing.T) {
	for _, name := range []string{"rules.jsonl.gz", "rulesets.jsonl.gz"} {
		gzLines(t, sharedDir(t, "conformance", name), func(line []byte) {
			var r struct {
				ID, Ruleset, Listing string
			}
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			checkFormat(t, r.ID, r.Ruleset)
			// what nft prints is formatted already
			if name == "rulesets.jsonl.gz" && r.Listing != "" && !strings.Contains(r.Listing, "\n\t\t\t     ") {
				if f, ds := parseForFormat(r.Listing); len(ds) == 0 {
					if out := Format(f); out != r.Listing {
						t.Logf("%s: nft's listing is changed:\n%s", r.ID, firstDiff(r.Listing, out))
					}
				}
			}
		})
	}
}
