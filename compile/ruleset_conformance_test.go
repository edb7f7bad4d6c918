package compile_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// shared returns the folder of conformance data, or skips the test.
func shared(t testing.TB, rel string) string {
	dir := os.Getenv("NFTC_SHARED")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			up := filepath.Dir(root)
			if up == root {
				t.Skip("no go.mod above the test")
			}
			root = up
		}
		dir = filepath.Join(root, "..", "shared")
	}
	path := filepath.Join(dir, rel)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("conformance data absent: %v", err)
	}
	return path
}

// outcome of one ruleset.
type outcome struct {
	err   string // first error, empty when accepted
	debug string
	rs    *bytecode.Ruleset
}

func run(name, text string, ifaces map[string]uint32, opt parser.Options) (o outcome) {
	files := &diag.FileSet{}
	f, diags := parser.Parse(files, name, text, opt)
	if e := firstError(files, diags); e != "" {
		return outcome{err: e}
	}
	in, more := ir.Resolve(f, ir.Options{Interfaces: ifaces, TZOffset: 7200})
	if e := firstError(files, more); e != "" {
		return outcome{err: e}
	}
	rs := compile.Compile(in)
	var b bytes.Buffer
	if err := bytecode.Dump(&b, rs); err != nil {
		return outcome{err: err.Error()}
	}
	return outcome{debug: b.String(), rs: rs}
}

func firstError(files *diag.FileSet, diags []diag.Diagnostic) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return fmt.Sprintf("%s: %s", files.Position(d.Span.Start), d.Message)
		}
	}
	return ""
}

// kindOf shortens a message to its kind, for counting.
func kindOf(msg string) string {
	if i := strings.Index(msg, ": "); i >= 0 {
		msg = msg[i+2:]
	}
	if len(msg) > 60 {
		msg = msg[:60]
	}
	return msg
}

// readGzip calls f with every line of a compressed JSON Lines file.
func readGzip(t testing.TB, path string, f func([]byte)) {
	fh, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer fh.Close()
	z, err := gzip.NewReader(fh)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<26)
	for sc.Scan() {
		f(sc.Bytes())
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}

// tally counts failures by kind.
type tally struct {
	kinds map[string][]string
}

func (c *tally) add(kind, id string) {
	if c.kinds == nil {
		c.kinds = make(map[string][]string)
	}
	c.kinds[kind] = append(c.kinds[kind], id)
}

func (c *tally) report(t *testing.T) {
	keys := make([]string, 0, len(c.kinds))
	for k := range c.kinds {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return len(c.kinds[keys[i]]) > len(c.kinds[keys[j]]) })
	for _, k := range keys {
		ids := c.kinds[k]
		if len(ids) > 4 {
			ids = ids[:4]
		}
		t.Logf("%4d %s: %s", len(c.kinds[k]), k, strings.Join(ids, " "))
	}
}

func TestRulesetDebugText(t *testing.T) {
	path := shared(t, "conformance/rulesets.jsonl.gz")
	total, same := 0, 0
	var bad tally
	readGzip(t, path, func(line []byte) {
		var rec struct {
			ID, Ruleset, Check, Debug, Stage string
			Loads                            bool
			Error                            string
			Ifindex                          map[string]uint32
		}
		if err := json.Unmarshal(line, &rec); err != nil {
			t.Fatal(err)
		}
		if rec.Stage == "userspace" {
			return
		}
		total++
		o := run("/dev/stdin", rec.Ruleset, rec.Ifindex, parser.Options{})
		switch {
		case o.err != "":
			bad.add("refused: "+kindOf(o.err), rec.ID+" "+o.err)
		case o.debug != rec.Debug:
			want, got := firstDifference(rec.Debug, o.debug)
			bad.add("differs: want "+want+" | got "+got, rec.ID)
		default:
			same++
		}
	})
	bad.report(t)
	t.Logf("debug text identical for %d of %d rulesets (%.1f %%)", same, total, 100*float64(same)/float64(total))
	if float64(same) < 0.60*float64(total) {
		t.Errorf("below the floor of 60 %%")
	}
}

func firstDifference(want, got string) (a, b string) {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(w) || i < len(g); i++ {
		a, b = "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return clip(a), clip(b)
		}
	}
	return "", ""
}

func clip(s string) string {
	if len(s) > 160 {
		return s[:160]
	}
	return s
}

func TestCorpusVerdicts(t *testing.T) {
	dir := shared(t, "corpus/rulesets")
	fh, err := os.Open(filepath.Join(dir, "manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer fh.Close()
	sc := bufio.NewScanner(fh)
	sc.Buffer(nil, 1<<24)
	total, right := 0, 0
	var bad tally
	for sc.Scan() {
		var rec struct {
			File, Result, Load string
			Devices            []string
		}
		if err := json.Unmarshal(sc.Bytes(), &rec); err != nil {
			t.Fatal(err)
		}
		switch rec.Result {
		case "kernel", "include", "host", "template":
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, rec.File))
		if err != nil {
			t.Fatal(err)
		}
		ifaces := map[string]uint32{"lo": 1}
		for i, d := range rec.Devices {
			if ifaces[d] == 0 {
				ifaces[d] = uint32(i + 2)
			}
		}
		total++
		o := run(rec.File, string(text), ifaces, parser.Options{Glob: filepath.Glob, ReadFile: os.ReadFile})
		switch {
		case (o.err == "") == (rec.Load == "ok"):
			right++
		case o.err == "":
			bad.add("accepted, nft refuses: "+kindOf(rec.Load), rec.File)
		default:
			bad.add("refused: "+kindOf(o.err), o.err)
		}
	}
	bad.report(t)
	t.Logf("verdict as nft's for %d of %d corpus rulesets (%.1f %%)", right, total, 100*float64(right)/float64(total))
	if float64(right) < 0.95*float64(total) {
		t.Errorf("below the floor of 95 %%")
	}
}
