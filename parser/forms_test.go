package parser

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

var record = flag.String("record", "", "path of an nft 1.1.7: run it (in an empty network namespace, as root) and rewrite what it said")

const formsFile = "testdata/nft-1.1.7/forms.txt"

// TestForms: one line of source each, with what nft 1.1.7's parser says: accept,
// or refuse and the column of its first syntax error.
func TestForms(t *testing.T) {
	raw, err := os.ReadFile(filepath.FromSlash(formsFile))
	if err != nil {
		t.Fatal(err)
	}
	var recorded strings.Builder
	for line := range strings.Lines(string(raw)) {
		want, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if *record != "" {
			want = askNFT(t, *record, text)
			fmt.Fprintf(&recorded, "%s\t%s\n", want, text)
		}
		f, ds := Parse(&diag.FileSet{}, "form.nft", text+"\n", hostOptions())
		got := "accept"
		for _, d := range ds {
			if strings.Contains(d.Message, "syntax error") {
				got = fmt.Sprintf("refuse %d", f.Files.Position(d.Span.Start).Column)
				break
			}
		}
		if got != want {
			t.Errorf("%s\n  nft: %s\n  we:  %s (%s)", text, want, got, firstError(f, ds))
		}
	}
	if *record != "" {
		if err := os.WriteFile(filepath.FromSlash(formsFile), []byte(recorded.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// askNFT returns what nft's parser says to a line.
func askNFT(t *testing.T, nft, text string) string {
	name := filepath.Join(t.TempDir(), "form.nft")
	if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command("unshare", "-n", nft, "-c", "-f", name).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "Error: syntax error") {
			_, col, _ := strings.Cut(positionOf(line), ":")
			return "refuse " + col
		}
	}
	return "accept"
}

// TestFormatGolden: NAME.in.nft formatted is NAME.out.nft.
func TestFormatGolden(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "format", "*.in.nft"))
	for _, in := range files {
		text, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		f, ds := parseForFormat(string(text))
		if len(ds) > 0 {
			t.Fatalf("%s: %s", in, firstError(f, ds))
		}
		got := Format(f)
		out := strings.TrimSuffix(in, ".in.nft") + ".out.nft"
		if *update {
			if err := os.WriteFile(out, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: %s", in, firstDiff(string(want), got))
		}
		checkFormat(t, in, string(text))
	}
	broken := "table ip t {\n  foo\n bar\n}\n"
	if f, _ := parseForFormat(broken); Format(f) != broken {
		t.Error("a text that does not parse was changed")
	}
}
