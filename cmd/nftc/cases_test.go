package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// settledCase is expect.json of a case: a question from practice with the
// answers of nft and the kernel.
type settledCase struct {
	Checks []struct {
		File           string
		Mode           string // check, debug or list
		Exit           int
		OutputContains []string `json:"output_contains"`
		Error          *struct {
			File    string
			Line    int
			Col     [2]int // first and last column
			Message string
		}
	}
	Packets []struct {
		File, Name, Packet, Verdict string
		Matches                     []string // comments of rules that must match, and no others
	}
}

// shared finds the folder of shared test data: $NFTC_SHARED, or ../shared
// beside the module. Without it the test is skipped.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("NFTC_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("shared test data: %v", err)
	}
	return dir
}

// TestCases holds the program to the settled cases: exit status, place and
// words of each error, output, the verdict of each packet in notation and in
// the capture, and the rules that it matched.
func TestCases(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(shared(t), "cases", "*", "expect.json"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c settledCase
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			caseChecks(t, &c)
			casePackets(t, &c)
		})
	}
}

func caseChecks(t *testing.T, c *settledCase) {
	command := map[string]string{"check": "check", "debug": "compile", "list": "list"}
	for _, k := range c.Checks {
		cmd, ok := command[k.Mode]
		if !ok {
			t.Errorf("%s: unknown mode %q", k.File, k.Mode)
			continue
		}
		out, errs, code := output(cmd, k.File)
		if code != k.Exit {
			t.Errorf("%s %s: exit %d, want %d\n%s", cmd, k.File, code, k.Exit, errs)
		}
		for _, want := range k.OutputContains {
			if !strings.Contains(out, want) {
				t.Errorf("%s %s: no %q in\n%s", cmd, k.File, want, out)
			}
		}
		if k.Error == nil {
			continue
		}
		out, _, _ = output(cmd, "--json", k.File)
		var report struct {
			Findings []struct {
				Message string
				Place   struct {
					File      string
					Line      int
					Column    int
					EndColumn int `json:"end_column"`
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Findings) == 0 {
			t.Errorf("%s --json %s: %v: no finding in %s", cmd, k.File, err, out)
			continue
		}
		f := report.Findings[0]
		got := fmt.Sprintf("%s:%d:%d-%d", f.Place.File, f.Place.Line, f.Place.Column, f.Place.EndColumn-1)
		want := fmt.Sprintf("%s:%d:%d-%d", k.Error.File, k.Error.Line, k.Error.Col[0], k.Error.Col[1])
		if k.Error.Col[1]-k.Error.Col[0] == f.Place.EndColumn-f.Place.Column {
			// nft's statements take in the newline that ends them.
			got = fmt.Sprintf("%s:%d:%d-%d", f.Place.File, f.Place.Line, f.Place.Column, f.Place.EndColumn)
		}
		if got != want {
			t.Errorf("%s: error at %s, want %s", k.File, got, want)
		}
		if !strings.Contains(f.Message, k.Error.Message) {
			t.Errorf("%s: %q, want %q in it", k.File, f.Message, k.Error.Message)
		}
	}
}

// packetReport is what a case reads from `eval --json --trace`.
type packetReport struct {
	Name, Verdict string
	Trace         []struct {
		Kind string
		Rule *struct{ Text string }
	}
}

func evalReports(t *testing.T, args ...string) []packetReport {
	t.Helper()
	out, errs, code := output(append([]string{"eval", "--json", "--trace"}, args...)...)
	if code != exitOK {
		t.Errorf("eval %q: exit %d\n%s", args, code, errs)
	}
	var all []packetReport
	for line := range strings.Lines(out) {
		var r packetReport
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func casePackets(t *testing.T, c *settledCase) {
	var order []string
	notation := map[string]string{}
	for _, p := range c.Packets {
		if _, seen := notation[p.File]; !seen {
			order = append(order, p.File)
		}
		notation[p.File] += fmt.Sprintf("%s: %s => %s\n", p.Name, p.Packet, p.Verdict)
	}
	for _, file := range order {
		tuples := filepath.Join(t.TempDir(), "packets.txt")
		if err := os.WriteFile(tuples, []byte(notation[file]), 0o666); err != nil {
			t.Fatal(err)
		}
		reports := evalReports(t, "--tuples", tuples, file)
		// A capture holds the same packets without their interface and hook.
		capture := "packets.pcap"
		if len(order) > 1 {
			capture = "packets-" + strings.TrimSuffix(file, ".nft") + ".pcap"
		}
		captured := evalReports(t, "--pcap", capture, "--iif", "lan0", "--hook", "input", file)
		i := 0
		for _, p := range c.Packets {
			if p.File != file {
				continue
			}
			if i >= len(reports) || i >= len(captured) {
				t.Fatalf("%s: %d and %d reports", file, len(reports), len(captured))
			}
			if got := reports[i].Verdict; got != p.Verdict {
				t.Errorf("%s %s: %s, want %s", file, p.Name, got, p.Verdict)
			}
			if got := captured[i].Verdict; got != p.Verdict {
				t.Errorf("%s packet %d (%s): %s, want %s", capture, i+1, p.Name, got, p.Verdict)
			}
			if got := matched(&reports[i]); p.Matches != nil && !slices.Equal(got, p.Matches) {
				t.Errorf("%s %s: matched %q, want %q", file, p.Name, got, p.Matches)
			}
			i++
		}
	}
	if len(order) == 1 {
		// packets.txt says the same in notation.
		if _, errs, code := output("eval", "--quiet", "--tuples", "packets.txt", order[0]); code != exitOK {
			t.Errorf("packets.txt: exit %d\n%s", code, errs)
		}
	}
}

// matched are the comments of the rules that a packet matched.
func matched(r *packetReport) []string {
	var names []string
	for _, ev := range r.Trace {
		if ev.Rule == nil || ev.Kind != "rule" {
			continue
		}
		if _, comment, ok := strings.Cut(ev.Rule.Text, "comment \""); ok {
			name, _, _ := strings.Cut(comment, `"`)
			names = append(names, name)
		}
	}
	return names
}

// output runs the program.
func output(args ...string) (stdout, stderr string, code int) {
	var out, errs strings.Builder
	code = run(args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}
