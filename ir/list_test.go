package ir

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// sharedDir finds the directory of recorded facts beside the repository.
func sharedDir(t *testing.T) string {
	t.Helper()
	if d := os.Getenv("NFTC_SHARED"); d != "" {
		return d
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no go.mod above the test")
		}
		dir = up
	}
	shared := filepath.Join(dir, "..", "shared")
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("recorded facts are absent: %v", err)
	}
	return shared
}

// eachRecord calls f with every line of a gzipped JSON Lines file.
func eachRecord(t *testing.T, name string, f func(line []byte)) {
	t.Helper()
	file, err := os.Open(filepath.Join(sharedDir(t), "conformance", name))
	if err != nil {
		t.Skipf("recorded facts are absent: %v", err)
	}
	defer file.Close()
	zr, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(zr)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		f(sc.Bytes())
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}

// resolveText parses and resolves a ruleset as the records were made: an
// interface lo with index 1, local time two hours ahead of UTC.
func resolveText(name, text string, ifindex map[string]uint32) (*Ruleset, []diag.Diagnostic) {
	files := &diag.FileSet{}
	f, ds := parseText(files, name, text)
	for _, d := range ds {
		if d.Severity == diag.Error {
			return nil, ds
		}
	}
	if ifindex == nil {
		ifindex = map[string]uint32{"lo": 1}
	}
	rs, ds := Resolve(f, Options{Interfaces: ifindex, TZOffset: 7200})
	for _, d := range ds {
		if d.Severity == diag.Error {
			return nil, ds
		}
	}
	return rs, ds
}

func parseText(files *diag.FileSet, name, text string) (*parser.File, []diag.Diagnostic) {
	return parser.Parse(files, name, text, parser.Options{})
}

// tally counts agreements and keeps some differences for the log.
type tally struct {
	same, all int
	diffs     []string
}

func (y *tally) add(ok bool, diff string) {
	y.all++
	if ok {
		y.same++
	} else {
		y.diffs = append(y.diffs, diff)
	}
}

func (y *tally) report(t *testing.T, what string, floor float64) {
	t.Helper()
	if y.all == 0 {
		t.Skip("no records")
	}
	rate := 100 * float64(y.same) / float64(y.all)
	t.Logf("%s: %d of %d (%.1f %%)", what, y.same, y.all, rate)
	if dump := os.Getenv("NFTC_DIFFS"); dump != "" {
		f, err := os.OpenFile(dump, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err == nil {
			_, _ = f.WriteString(strings.Join(y.diffs, "\n") + "\n")
			_ = f.Close()
		}
	}
	if rate < floor {
		t.Errorf("%s: %.1f %% agree, the floor is %.1f %%", what, rate, floor)
		for i, d := range y.diffs {
			if i == 20 {
				break
			}
			t.Log(d)
		}
	}
}

// TestListRules compares listings of single rules, sets and objects with what
// nft 1.1.7 printed.
func TestListRules(t *testing.T) {
	var rules, numeric tally
	eachRecord(t, "rules.jsonl.gz", func(line []byte) {
		var r struct {
			ID, Kind, Family, Chain, Ruleset, Listing string
			ListingNumeric                            string `json:"listing_numeric"`
			ListingFrom                               string `json:"listing_from"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Listing == "" || r.ListingFrom != "nft-1.1.7" {
			return
		}
		rs, ds := resolveText("/dev/stdin", r.Ruleset, nil)
		if rs == nil {
			msg := ""
			if len(ds) > 0 {
				msg = ds[0].Message
			}
			rules.add(false, r.ID+"\n\tnot resolved: "+msg)
			return
		}
		for _, mode := range []struct {
			numeric bool
			want    string
			tally   *tally
		}{{false, r.Listing, &rules}, {true, r.ListingNumeric, &numeric}} {
			opt := ListOptions{Numeric: mode.numeric, Machine: Options{Interfaces: map[string]uint32{"lo": 1}, TZOffset: 7200}}
			got := List(rs, opt)
			if r.Kind == "rule" {
				got = ruleOf(got, r.Chain)
			}
			mode.tally.add(strings.TrimSpace(got) == strings.TrimSpace(mode.want),
				r.ID+"\n\tgot  "+got+"\n\twant "+mode.want)
		}
	})
	rules.report(t, "listings", 99)
	numeric.report(t, "numeric listings", 99)
}

// ruleOf cuts the last rule of a chain out of a listing.
func ruleOf(listing, chain string) string {
	_, rest, ok := strings.Cut(listing, "\tchain "+chain+" {\n")
	if !ok {
		return ""
	}
	body, _, _ := strings.Cut(rest, "\n\t}\n")
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		if !strings.HasPrefix(strings.TrimSpace(l), "type ") || !strings.Contains(l, " hook ") {
			return strings.TrimSpace(strings.Join(lines[i:], "\n"))
		}
	}
	return ""
}

// TestListRulesets compares listings of whole rulesets.
func TestListRulesets(t *testing.T) {
	var all, numeric tally
	eachRecord(t, "rulesets.jsonl.gz", func(line []byte) {
		var r struct {
			ID, Ruleset    string
			Listing        *string
			ListingNumeric *string `json:"listing_numeric"`
			Ifindex        map[string]uint32
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Listing == nil {
			return
		}
		rs, ds := resolveText("/dev/stdin", r.Ruleset, r.Ifindex)
		if rs == nil {
			all.add(false, r.ID+"\n\tnot resolved: "+ds[0].Message)
			return
		}
		opt := ListOptions{Machine: Options{Interfaces: r.Ifindex, TZOffset: 7200}}
		got := List(rs, opt)
		all.add(got == *r.Listing, r.ID+"\n"+firstDifference(got, *r.Listing))
		opt.Numeric = true
		got = List(rs, opt)
		if r.ListingNumeric != nil {
			numeric.add(got == *r.ListingNumeric, r.ID+"\n"+firstDifference(got, *r.ListingNumeric))
		}
	})
	all.report(t, "ruleset listings", 99)
	numeric.report(t, "numeric ruleset listings", 99)
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range w {
		if i >= len(g) || g[i] != w[i] {
			have := ""
			if i < len(g) {
				have = g[i]
			}
			return "\tgot  " + have + "\n\twant " + w[i]
		}
	}
	return "\tgot more than wanted"
}
