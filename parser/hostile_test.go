package parser

import (
	"io/fs"
	"math/rand"
	"runtime"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

// TestHostile: input that no one writes gets one clear error and no more memory
// than its size is worth.
func TestHostile(t *testing.T) {
	const big = 1 << 20
	noise := make([]byte, 1<<20)
	r := rand.New(rand.NewSource(1))
	for i := range noise {
		noise[i] = byte(r.Intn(256))
	}
	head := "table ip t {\n\tchain c {\n\t\t"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"one long word", strings.Repeat("a", big), "syntax error, unexpected end of file"},
		{"one long number", "add rule t c mark " + strings.Repeat("9", big) + "\n", ""},
		{"one long line of words", strings.Repeat("a ", big/2+1), "syntax error"},
		{"one long line of elements", "add element t s { " + strings.Repeat("1.2.3.4, ", big/9) + "}\n", ""},
		{"one long line of commas", "add element t s { 1" + strings.Repeat(",", big) + "}\n", ""},
		{"one long line of statements", head + strings.Repeat("counter ", big/8) + "\n}\n}\n", ""},
		{"one long line of matches", head + strings.Repeat("log limit rate 1/second ", big/96) + "\n}\n}\n", ""},
		{"one long sum", head + "mark " + strings.Repeat("1|", big/2) + "1\n}\n}\n", ""},
		{"one long concatenation", "add element t s { 1" + strings.Repeat(" . 1", big/4) + " }\n", ""},
		{"semicolons", strings.Repeat(";", big), ""},
		{"newlines", strings.Repeat("\n", big), ""},
		{"comments", strings.Repeat("#\n", big/2), ""},
		{"braces", strings.Repeat("{", 10_000), "syntax error, unexpected '{'"},
		{"many braces", strings.Repeat("{", big), "syntax error, unexpected '{'"},
		{"braces closed", strings.Repeat("}", big), "syntax error, unexpected '}'"},
		{"nested sets", "add element t s " + strings.Repeat("{", 10_000) + strings.Repeat("}", 10_000) + "\n", "nested more than"},
		{"nested parentheses", head + "mark " + strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000) + "\n}\n}\n", "nested more than"},
		{"nested jumps", head + strings.Repeat("jump {\n", 10_000), "too many levels of nesting"},
		{"nested tunnels", head + strings.Repeat("vxlan ", 10_000), "syntax error"},
		{"nested inner headers", head + strings.Repeat("gre ", 10_000), "syntax error"},
		{"blocks that are not closed", strings.Repeat(head, 1000), "syntax error"},
		{"errors", strings.Repeat("table table\n", 100_000), "syntax error, unexpected table"},
		{"errors in one block", head + strings.Repeat("tcp tcp\n", 100_000) + "}\n}\n", "syntax error"},
		{"NUL bytes", strings.Repeat("\x00", 1<<20), "syntax error, unexpected junk"},
		{"noise", string(noise), "syntax error"},
		{"not UTF-8", "table \xff\xfe {\n", "syntax error, unexpected junk"},
		{"a string that is not closed", head + "log prefix \"abc\n}\n}\n", "no closing quote"},
		{"a long string that is not closed", head + "log prefix \"" + strings.Repeat("x", big), "no closing quote"},
		{"quotes", strings.Repeat("\"", big|1), "syntax error"},
		{"quotes on lines", strings.Repeat("\"\n", 100_001), "syntax error"},
		{"colons", strings.Repeat(":", big+1), "syntax error"},
		{"hex and colons", strings.Repeat("a:", big/2), "syntax error"},
		{"backslashes", strings.Repeat("\\\n", big/2), ""},
		{"asterisks", "add element t s { " + strings.Repeat("*, ", big/3) + "}\n", ""},
		{"definitions", strings.Repeat("define a = 1\nundefine a\n", 100_000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, ds := Parse(&diag.FileSet{}, "x", c.text, Options{})
			runtime.ReadMemStats(&after)
			// Memory in proportion to the text, whatever the machine's load.
			const perByte = 1 << 10
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+perByte*uint64(len(c.text)) {
				t.Errorf("%d bytes allocated for %d bytes of text", used, len(c.text))
			}
			got := ""
			if len(ds) > 0 {
				got = ds[0].Message
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(got) > 500 {
				t.Errorf("a message of %d bytes", len(got))
			}
			for _, d := range ds {
				if d.Code == "internal-error" {
					t.Errorf("%s", d.Message)
				}
			}
			if len(c.text) < 1<<20 {
				Format(f)
			}
			t.Logf("%d bytes, %d errors: %s", len(c.text), len(ds), got)
		})
	}
}

func TestIncludeLoop(t *testing.T) {
	files := map[string]string{
		"/a.nft":    "include \"/b.nft\"\n",
		"/b.nft":    "include \"/a.nft\"\n",
		"/fan.nft":  strings.Repeat("include \"/fan.nft\"\n", 100),
		"/self.nft": "table t {\n\tchain c {\n\t\tinclude \"/self.nft\"\n\t}\n}\n",
	}
	for name := range files {
		opt := Options{
			ReadFile: func(name string) ([]byte, error) {
				if s, ok := files[name]; ok {
					return []byte(s), nil
				}
				return nil, fs.ErrNotExist
			},
		}
		_, ds := Parse(&diag.FileSet{}, name, files[name], opt)
		if len(ds) == 0 || len(ds) > maxErrors {
			t.Fatalf("%s: %d errors", name, len(ds))
		}
		if name != "/self.nft" && !strings.Contains(ds[0].Message, "Include nested too deeply, max 16 levels") {
			t.Errorf("%s: %s", name, ds[0].Message)
		}
	}
}
