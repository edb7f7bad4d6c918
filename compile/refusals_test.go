package compile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nftc/nftc/parser"
)

const refusals = "testdata/refusals.txt"

// nftError is the first line of nft's message.
var nftError = regexp.MustCompile(`(?m)^[^\n:]*:(\d+):(\d+)-\d+: Error: (.*)$`)

// TestRefusals loads small rulesets and compares the answer with that of nft
// 1.1.7 on Linux 6.18: loaded, or the first error with its place. The file
// holds rulesets, each followed by a line `=> ok` or `=> LINE:COLUMN message`.
func TestRefusals(t *testing.T) {
	data, err := os.ReadFile(refusals)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var text strings.Builder
	n := 0
	for _, line := range strings.SplitAfter(string(data), "\n") {
		want, isAnswer := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "=>")
		if !isAnswer {
			text.WriteString(line)
			continue
		}
		n++
		src := text.String()
		text.Reset()
		want = strings.TrimSpace(want)
		if *record != "" {
			want = askNft(t, src)
			out.WriteString(src + "=> " + want + "\n")
		}
		got := "ok"
		if o := run("x", src, map[string]uint32{"lo": 1}, parser.Options{}); o.err != "" {
			got = strings.TrimPrefix(o.err, "x:")
			got = strings.Replace(got, ": ", " ", 1)
		}
		if got != want && !strings.HasPrefix(got, want+" (") {
			t.Errorf("ruleset:\n%s nft:  %s\n nftc: %s", src, want, got)
		}
	}
	if *record != "" {
		if err := os.WriteFile(refusals, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}

func askNft(t *testing.T, src string) string {
	file := filepath.Join(t.TempDir(), "x.nft")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields(*record), "-f", file)
	msg, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err == nil {
		return "ok"
	}
	m := nftError.FindSubmatch(msg)
	if m == nil {
		t.Fatalf("nft said %q", msg)
	}
	return string(m[1]) + ":" + string(m[2]) + " " + string(m[3])
}
