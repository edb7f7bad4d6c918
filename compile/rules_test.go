package compile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/ir"
)

// caseRuleset is the file that a case stands for.
func caseRuleset(family, rule string) string {
	hook := "type filter hook input priority 0;"
	if family == "netdev" {
		hook = "type filter hook ingress device lo priority 0;"
	}
	return "table " + family + " t {\n chain d {\n }\n chain c {\n " + hook + "\n " + rule + "\n }\n}\n"
}

func readCases(t *testing.T) (cases [][2]string) {
	data, err := os.ReadFile("testdata/rules.cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if family, rule, ok := strings.Cut(line, "\t"); ok && line[0] != '#' {
			cases = append(cases, [2]string{family, rule})
		}
	}
	return cases
}

// TestRules compares single rules with what nft 1.1.7 said of them: its debug
// text, or that it refused them.
func TestRules(t *testing.T) {
	const truth = "testdata/nft-1.1.7/rules.txt"
	cases := readCases(t)
	if *record != "" {
		recordRules(t, truth, cases)
	}
	data, err := os.ReadFile(truth)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, block := range strings.Split("\n"+string(data), "\n== ")[1:] {
		name, text, _ := strings.Cut(block, "\n")
		want[name] = strings.TrimSpace(text)
	}
	opt := ir.Options{Interfaces: map[string]uint32{"lo": 1}}
	for _, c := range cases {
		name := c[0] + ": " + c[1]
		w, ok := want[name]
		if !ok {
			t.Errorf("%s: not recorded", name)
			continue
		}
		out := compileText("case", caseRuleset(c[0], c[1]), opt)
		got := strings.TrimSpace(stripHeaders(out.text))
		if out.err != "" {
			got = "refused"
		}
		if got != w {
			t.Errorf("%s\n%s\ngot:\n%s\nnft:\n%s", name, out.err, got, w)
		}
	}
}

// stripHeaders leaves out the lines of the chains.
func stripHeaders(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasSuffix(line, "use 0") && line != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

func recordRules(t *testing.T, path string, cases [][2]string) {
	var b strings.Builder
	file := filepath.Join(t.TempDir(), "case.nft")
	for _, c := range cases {
		if err := os.WriteFile(file, []byte(caseRuleset(c[0], c[1])), 0o644); err != nil {
			t.Fatal(err)
		}
		args := append(strings.Fields(*record), "--debug=netlink", "-c", "-f", file)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
		text, err := cmd.Output()
		b.WriteString("== " + c[0] + ": " + c[1] + "\n")
		if err != nil {
			b.WriteString("refused\n")
		} else {
			b.WriteString(stripHeaders(string(text)))
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
