package compile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// The floors of what must agree with nft 1.1.7, in per cent.
const (
	floorRulesAccept   = 99.0
	floorRulesBytecode = 99.0
)

// result is what became of a ruleset: its debug text, or the first error.
type result struct {
	text string
	err  string
}

func compileText(name, text string, opt ir.Options) (out result) {
	defer func() {
		if p := recover(); p != nil {
			out.err = fmt.Sprintf("PANIC: %v", p)
			if os.Getenv("NFTC_PANIC") != "" {
				panic(p)
			}
		}
	}()
	files := &diag.FileSet{}
	f, diags := parser.Parse(files, name, text, parser.Options{})
	if e := firstError(files, diags); e != "" {
		return result{err: e}
	}
	rs, diags := ir.Resolve(f, opt)
	if e := firstError(files, diags); e != "" {
		return result{err: e}
	}
	var b strings.Builder
	if err := bytecode.Dump(&b, compile.Compile(rs)); err != nil {
		return result{err: err.Error()}
	}
	return result{text: b.String()}
}

// conformanceOptions are the machine that the facts were recorded on.
func conformanceOptions() ir.Options {
	return ir.Options{Interfaces: map[string]uint32{"lo": 1}, TZOffset: 2 * 3600}
}

// dumpedSet is one set of a debug text.
type dumpedSet struct {
	Name     string   `json:"name"`
	Flags    int      `json:"flags"`
	Attrs    string   `json:"attrs"`
	Elements []string `json:"elements"`
}

// dumped is a debug text taken apart: the expressions of the last rule, sets
// and the lines of objects.
type dumped struct {
	rule []string
	sets []dumpedSet
}

func takeApart(text string) dumped {
	var d dumped
	count := map[string]int{}
	index := map[string]int{} // sets by name and table
	var refs []string         // set references of the current rule
	number := func(name string) string {
		if !strings.HasSuffix(name, "%d") {
			return name
		}
		return strings.TrimSuffix(name, "%d") + fmt.Sprint(count[name])
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "family "):
			f := strings.SplitN(line, " ", 6)
			if len(f) < 5 {
				continue
			}
			var flags int
			fmt.Sscanf(f[4], "%x", &flags)
			if flags == 0 && len(f) == 5 {
				if _, ok := index[f[2]+" "+f[3]]; ok {
					continue // header of the elements
				}
			}
			s := dumpedSet{Name: number(f[2]), Flags: flags}
			if strings.HasSuffix(f[2], "%d") {
				count[f[2]]++
				refs = append(refs, s.Name)
			}
			if len(f) == 6 {
				s.Attrs = strings.TrimSpace(f[5])
			}
			index[f[2]+" "+f[3]] = len(d.sets)
			d.sets = append(d.sets, s)
		case strings.HasPrefix(line, "\telement"):
			if len(d.sets) > 0 {
				s := &d.sets[len(d.sets)-1]
				for _, e := range strings.Split(strings.TrimPrefix(line, "\t"), "\t") {
					s.Elements = append(s.Elements, strings.TrimRight(e, " "))
				}
			}
		case strings.HasPrefix(line, "  ["):
			line = strings.TrimSpace(line)
			if i := strings.Index(line, "%d"); i >= 0 {
				start := strings.LastIndexByte(line[:i], ' ') + 1
				kind := line[start:i]
				for k, r := range refs {
					if strings.TrimRight(r, "0123456789") == kind {
						line = line[:start] + r + line[i+2:]
						refs = append(refs[:k:k], refs[k+1:]...)
						break
					}
				}
			}
			d.rule = append(d.rule, line)
		case strings.HasPrefix(line, "  userdata"), line == "":
		default:
			d.rule = nil
		}
	}
	return d
}

func sameSet(a, b dumpedSet) string {
	switch {
	case a.Flags != b.Flags:
		return fmt.Sprintf("set %s: flags %x, nft %x", a.Name, a.Flags, b.Flags)
	case a.Attrs != b.Attrs:
		return fmt.Sprintf("set %s: attributes %q, nft %q", a.Name, a.Attrs, b.Attrs)
	}
	x, y := append([]string(nil), a.Elements...), append([]string(nil), b.Elements...)
	sort.Strings(x)
	sort.Strings(y)
	for i := range y {
		y[i] = strings.TrimRight(y[i], " ")
	}
	if strings.Join(x, "\n") != strings.Join(y, "\n") {
		return fmt.Sprintf("set %s: elements %q, nft %q", a.Name, a.Elements, b.Elements)
	}
	return ""
}

// agreement counts agreement by source file.
type agreement struct {
	all, good map[string]int
}

func newAgreement() *agreement { return &agreement{map[string]int{}, map[string]int{}} }

func (t *agreement) add(file string, ok bool) {
	for _, k := range []string{file, ""} {
		t.all[k]++
		if ok {
			t.good[k]++
		}
	}
}

func (t *agreement) percent() float64 {
	if t.all[""] == 0 {
		return 0
	}
	return 100 * float64(t.good[""]) / float64(t.all[""])
}

func (t *agreement) report(tb testing.TB, what string) {
	tb.Logf("%s: %d of %d agree (%.2f %%)", what, t.good[""], t.all[""], t.percent())
	var files []string
	for f := range t.all {
		if f != "" && t.good[f] != t.all[f] {
			files = append(files, f)
		}
	}
	sort.Slice(files, func(i, j int) bool {
		a, b := t.all[files[i]]-t.good[files[i]], t.all[files[j]]-t.good[files[j]]
		if a != b {
			return a > b
		}
		return files[i] < files[j]
	})
	for _, f := range files {
		tb.Logf("  %-28s %4d of %4d", f, t.good[f], t.all[f])
	}
}

// differences writes what does not agree to the file named by NFTC_DIFF.
type differences struct{ f *os.File }

func openDifferences(t testing.TB) *differences {
	name := os.Getenv("NFTC_DIFF")
	if name == "" {
		return &differences{}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &differences{f}
}

func (d *differences) printf(format string, args ...any) {
	if d.f != nil {
		fmt.Fprintf(d.f, format, args...)
	}
}

type ruleRecord struct {
	ID       string `json:"id"`
	File     string `json:"file"`
	Kind     string `json:"kind"`
	Rule     string `json:"rule"`
	Ruleset  string `json:"ruleset"`
	Check    string `json:"nft_check"`
	Load     string `json:"nft_load"`
	Kernel   string `json:"kernel"`
	Bytecode []string
	Sets     []dumpedSet `json:"sets"`
	Named    []dumpedSet `json:"named_sets"`
	Objects  []string    `json:"objects"`
}

func TestRulesAsNft(t *testing.T) {
	path := shared(t, "conformance/rules.jsonl.gz")
	diff := openDifferences(t)
	accept, code := newAgreement(), newAgreement()
	readGzip(t, path, func(line []byte) {
		var r ruleRecord
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		out := compileText("/dev/stdin", r.Ruleset, conformanceOptions())
		loads := r.Load == "ok" || r.Kernel == "unsupported"
		ok := loads == (out.err == "")
		accept.add(r.File, ok)
		if !ok || strings.HasPrefix(out.err, "PANIC") {
			diff.printf("ACCEPT %s\n%s  nftc: %s\n  nft:  %s\n\n", r.ID, r.Ruleset, out.err, r.Load)
		}
		if r.Kind != "rule" || len(r.Bytecode) == 0 || !loads {
			return
		}
		got := takeApart(out.text)
		why := ""
		if a, b := strings.Join(got.rule, "\n"), strings.Join(r.Bytecode, "\n"); a != b {
			why = "bytecode differs"
		}
		want := append(append([]dumpedSet(nil), r.Named...), r.Sets...)
		if why == "" {
			why = sameSets(got.sets, want)
		}
		code.add(r.File, why == "")
		if why != "" {
			diff.printf("CODE %s: %s\n%s  error: %s\n  nftc:\n\t%s\n  nft:\n\t%s\n\n", r.ID, why, r.Ruleset, out.err,
				strings.Join(got.rule, "\n\t"), strings.Join(r.Bytecode, "\n\t"))
		}
	})
	accept.report(t, "accepted or refused")
	code.report(t, "bytecode and sets")
	if p := accept.percent(); p < floorRulesAccept {
		t.Errorf("accepted or refused as nft: %.2f %%, floor %.2f %%", p, floorRulesAccept)
	}
	if p := code.percent(); p < floorRulesBytecode {
		t.Errorf("bytecode and sets as nft: %.2f %%, floor %.2f %%", p, floorRulesBytecode)
	}
}

func sameSets(got, want []dumpedSet) string {
	byName := map[string]dumpedSet{}
	for _, s := range got {
		byName[s.Name] = s
	}
	for _, w := range want {
		g, ok := byName[w.Name]
		if !ok {
			return "no set " + w.Name
		}
		if why := sameSet(g, w); why != "" {
			return why
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d sets, nft %d", len(got), len(want))
	}
	return ""
}
