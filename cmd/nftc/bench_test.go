package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/bench"
)

// runOK runs a command that has to succeed and gives its output.
func runOK(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("nftc %s: exit status %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

func benchFiles(t *testing.T) (rules, capture string) {
	t.Helper()
	dir := t.TempDir()
	rules, capture = filepath.Join(dir, "r.nft"), filepath.Join(dir, "c.pcap")
	for name, data := range map[string][]byte{rules: []byte(bench.PathRuleset(20, 50, false)), capture: bench.Capture(3000, 0, 1)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return rules, capture
}

// Whatever back end is forced, the answers are the same.
func TestSetBackendDoesNotChangeAnswers(t *testing.T) {
	rules, capture := benchFiles(t)
	want := runOK(t, "eval", "--pcap", capture, rules)
	if !strings.Contains(want, "accept") || !strings.Contains(want, "drop") {
		t.Fatalf("the capture has no accepted or no dropped packet")
	}
	for _, b := range []string{"auto", "hash", "intervals", "bitmap", "pipapo", "masks", "segments", "linear"} {
		if got := runOK(t, "eval", "--set-backend", b, "--pcap", capture, rules); got != want {
			t.Errorf("--set-backend %s gives other answers", b)
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"eval", "--set-backend", "btree", "--pcap", capture, rules}, nil, &out, &errs); code != exitUsage {
		t.Errorf("an unknown back end gives exit status %d\n%s", code, errs.String())
	}
}

func TestBenchRuleset(t *testing.T) {
	rules, capture := benchFiles(t)
	short := []string{"--slices", "1", "--slice", "50us"}
	out := runOK(t, append([]string{"bench", "--rounds", "1", "--pcap", capture, rules}, short...)...)
	for _, want := range []string{"services", "segments", "pipapo", "linear", "3000 packets", "the whole path"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var report rulesetReport
	out = runOK(t, append([]string{"--json", "bench", "--rounds", "1", "--pcap", capture, rules}, short...)...)
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Sets) < 2 || len(report.Packets) != 1 || report.Packets[0].Packets != 3000 || report.Packets[0].Evaluate.Median <= 0 {
		t.Errorf("%+v", report)
	}
	for _, s := range report.Sets {
		chosen := 0
		for _, b := range s.Backends {
			if b.Chosen {
				chosen++
			}
			if b.Match.Median <= 0 || b.Bytes == 0 {
				t.Errorf("%s: %+v", s.Name, b)
			}
		}
		if chosen != 1 {
			t.Errorf("%s: %d back ends are marked as chosen", s.Name, chosen)
		}
	}
}

func TestBenchMasks(t *testing.T) {
	var report masksReport
	out := runOK(t, "--json", "bench", "masks", "--slices", "1", "--slice", "50us")
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != 6*len(bench.MaskTraffics()) {
		t.Errorf("%d rows", len(report.Rows))
	}
}
