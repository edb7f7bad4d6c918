package difftest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/kernel"
	"github.com/nftc/nftc/eval/packet"
)

var record = flag.Bool("record", false, "rewrite kernel-6.18/trace of the cases from the running kernel")

// truth is the part of an archive that holds what the kernel did.
const truth = "kernel-6.18/trace"

// available tells whether the kernel can be used; NFTC_KERNEL=require makes a
// failure of it that it cannot.
func available(t *testing.T) bool {
	err := kernel.Available()
	if err != nil && os.Getenv("NFTC_KERNEL") == "require" {
		t.Fatal(err)
	}
	return err == nil
}

var trips = map[string]kernel.Trip{"input": kernel.TripInput, "forward": kernel.TripForward, "output": kernel.TripOutput, "bridge": kernel.TripBridge}

// TestCases runs what the search once found: packets through the evaluator,
// compared with what the kernel did with them, and through the kernel too when
// it can be used.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("../../../testdata/kernel/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	live := available(t)
	if !live {
		t.Log("without the kernel: recorded truth only")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { runCase(t, path, live) })
	}
}

func runCase(t *testing.T, path string, live bool) {
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	part := func(name string) *txtar.File {
		for i := range ar.Files {
			if ar.Files[i].Name == name {
				return &ar.Files[i]
			}
		}
		t.Fatalf("no %s", name)
		return nil
	}
	var cfg kernel.Config
	found := false
	for line := range strings.Lines(string(ar.Comment)) {
		if w, ok := strings.CutPrefix(strings.TrimSpace(line), "# trip "); ok {
			cfg.Trip, found = trips[w]
		}
	}
	if !found {
		t.Fatal("no line `# trip input`, forward, output or bridge")
	}
	rs, err := Compile(string(part("in.nft").Data))
	if err != nil {
		t.Fatal(err)
	}
	packets := strings.Split(strings.TrimSpace(string(part("packets").Data)), "\n")

	v, err := kernel.NewPredictor(cfg, rs)
	if err != nil {
		t.Fatal(err)
	}
	ours := caseTrace(t, rs, packets, func(p *packet.Packet, c *kernel.Comparison) ([]string, string) {
		v.Predict(p, c)
		return oursLines(rs, &c.Ours), oursEnd(&c.Ours)
	})
	if live {
		theirs := ""
		err := kernel.Do(cfg, rs, func(s *kernel.Session) error {
			v, err := kernel.NewVerifier(s, cfg, rs)
			if err != nil {
				return err
			}
			theirs = caseTrace(t, rs, packets, func(p *packet.Packet, c *kernel.Comparison) ([]string, string) {
				if err := v.Verify(p, c); err != nil {
					t.Fatal(err)
				}
				if c.Status == kernel.Differ {
					t.Errorf("packet %d: %v", p.Index, c.Reason)
				}
				return theirLines(rs, &c.Theirs), theirEnd(&c.Theirs)
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if *record {
			part(truth).Data = []byte(theirs)
			if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got := string(part(truth).Data); got != theirs {
			t.Errorf("the kernel now does\n%s", theirs)
		}
	}
	if want := string(part(truth).Data); ours != want {
		t.Errorf("nftc says\n%s\nthe kernel did\n%s", ours, want)
	}
}

// caseTrace words what became of each packet: rules, policies and the end.
func caseTrace(t *testing.T, rs *bytecode.Ruleset, packets []string, run func(*packet.Packet, *kernel.Comparison) ([]string, string)) string {
	var b strings.Builder
	var p packet.Packet
	var c kernel.Comparison
	for i, line := range packets {
		if err := packet.ParseTuple(line, &p); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		p.Index = int64(i + 1)
		lines, end := run(&p, &c)
		fmt.Fprintf(&b, "%d: %s\n", i+1, end)
		for _, l := range lines {
			fmt.Fprintf(&b, "\t%s\n", l)
		}
	}
	return b.String()
}

func stepLine(rs *bytecode.Ruleset, t *bytecode.Table, ch *bytecode.Chain, r *bytecode.Rule, v fmt.Stringer) string {
	what := "policy"
	if r != nil {
		what = strings.Join(strings.Fields(rs.Files.Text(r.Span)), " ")
	}
	return fmt.Sprintf("%v %s %s: %s (%v)", t.Family, t.Name, eval.ChainName(ch), what, v)
}

func oursLines(rs *bytecode.Ruleset, r *eval.Result) (out []string) {
	for i := range r.Trace {
		if ev := &r.Trace[i]; ev.Kind == eval.EventRule || ev.Kind == eval.EventPolicy {
			out = append(out, stepLine(rs, ev.Table, ev.Chain, ev.Rule, ev.Verdict))
		}
	}
	return out
}

func theirLines(rs *bytecode.Ruleset, o *kernel.Outcome) (out []string) {
	for i := range o.Events {
		if ev := &o.Events[i]; ev.Rule != nil || ev.Policy {
			out = append(out, stepLine(rs, ev.Table, ev.Chain, ev.Rule, ev.Verdict))
		}
	}
	return out
}

func oursEnd(r *eval.Result) string {
	switch {
	case r.Verdict == eval.Accept:
		return "accept"
	case r.Verdict == eval.Drop && r.By == eval.ByRule:
		return "drop"
	}
	return "stack"
}

func theirEnd(o *kernel.Outcome) string {
	switch {
	case o.Dropped:
		return "drop"
	case o.Arrived:
		return "accept"
	}
	return "stack"
}
