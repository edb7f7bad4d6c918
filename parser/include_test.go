package parser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

// TestInclude: how nft 1.1.7 finds files and joins them; the outcomes were
// observed with it.
func TestInclude(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"no-newline.nft":  "table a { }",
		"define.nft":      "define port = 22",
		"rules.nft":       "tcp dport 22 accept\n",
		"d/2.nft":         "define b = $a\n",
		"d/1.nft":         "define a = 1\n",
		"bad.nft":         "table t {\n\tchain c {\n\t\ttcp dprot 1\n\t}\n}\n",
		"extra/extra.nft": "define extra = 1\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"files of a directory by name", "include \"d/*.nft\"\nadd rule t c mark $b\n", ""},
		{"a directory is passed over", "include \"d\"\n", ""},
		{"a wildcard may match nothing", "include \"nothing/*.nft\"\n", ""},
		{"a name may not be missing", "include \"nothing.nft\"\n", "File not found: nothing.nft"},
		{"a file without its last newline", "include \"no-newline.nft\"\ntable b { }\n", "syntax error, unexpected table"},
		{"the same and an empty line", "include \"no-newline.nft\"\n\ntable b { }\n", ""},
		{"the same at the end", "include \"no-newline.nft\"\n", ""},
		{"a definition without its last newline", "include \"define.nft\"\n", "syntax error, unexpected end of file"},
		{"rules in a chain", "table t {\n\tchain c {\n\t\tinclude \"rules.nft\"\n\t}\n}\n", ""},
		{"rules in a table", "table t {\n\tinclude \"rules.nft\"\n}\n", "syntax error, unexpected tcp"},
		{"an error in an included file", "include \"bad.nft\"\n", "unknown field \"dprot\""},
		{"a search path", "include \"extra.nft\"\nadd rule t c mark $extra\n", ""},
		{"no quotes", "include extra.nft\n", "syntax error, unexpected string"},
		{"no separator", "include \"extra.nft\" table t { }\n", "syntax error, unexpected table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := hostOptions()
			opt.IncludePaths = []string{filepath.Join(dir, "extra")}
			f, ds := Parse(&diag.FileSet{}, filepath.Join(dir, "main.nft"), c.text, opt)
			got := firstError(f, ds)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(ds) > 1 {
				t.Errorf("%d errors", len(ds))
			}
		})
	}
}

// TestDefines: definitions of the command line, and scopes.
func TestDefines(t *testing.T) {
	for _, c := range []struct {
		defines    []string
		text, want string
	}{
		{[]string{"x=5", "y={ 1, 2 }"}, "add rule t c mark $x\nadd rule t c tcp dport $y\n", ""},
		{[]string{"x"}, "", "must be written NAME=VALUE"},
		{[]string{"x="}, "", "syntax error"},
		{nil, "add rule t c mark $x\n", "unknown identifier 'x'"},
		{[]string{"int_if=lo"}, "add rule t c iif $inf_if\n", "did you mean identifier 'int_if'?"},
		{nil, "define x = 5\ndefine x = 6\n", "redefinition of symbol 'x'"},
		{nil, "define x = 5\nredefine x = 6\nadd rule t c mark $x\n", ""},
		{nil, "define x = 5\nundefine x\nadd rule t c mark $x\n", "unknown identifier 'x'"},
		{nil, "table t {\n\tdefine x = 5\n\tchain c {\n\t\tmark $x\n\t}\n}\n", ""},
		{nil, "table t {\n\tdefine x = 5\n}\nadd rule t c mark $x\n", "unknown identifier 'x'"},
		{nil, "define x = 1\ntable t {\n\tdefine x = 5\n\tchain c {\n\t\tdefine x = 6\n\t\tmark $x\n\t}\n}\n", ""},
		{nil, "define accept = 1\n", "syntax error, unexpected accept"},
		{nil, "define last = 1\nadd rule t c mark $last\n", ""},
	} {
		opt := hostOptions()
		opt.Defines = c.defines
		f, ds := Parse(&diag.FileSet{}, "x", c.text, opt)
		got := firstError(f, ds)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q %q: got %q, want %q", c.defines, c.text, got, c.want)
		}
	}
}
