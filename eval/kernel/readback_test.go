//go:build linux

package kernel

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// realNFT is the nft to compare with, from NFTC_NFT; without it the test is
// skipped.
func realNFT(t *testing.T) string {
	path := os.Getenv("NFTC_NFT")
	if path == "" {
		t.Skip("NFTC_NFT does not name an nft")
	}
	return path
}

// sharedDir is the folder of shared test data, or "".
func sharedDir() string {
	dir := os.Getenv("NFTC_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// compiled is a ruleset as nftc understands it; nil when it refuses it.
func compiled(name, text string, indexes map[string]uint32) *bytecode.Ruleset {
	var files diag.FileSet
	f, ds := parser.Parse(&files, name, text, parser.Options{ReadFile: os.ReadFile, Glob: filepath.Glob})
	bad := func() bool {
		for _, d := range ds {
			if d.Severity == diag.Error {
				return true
			}
		}
		return false
	}
	if bad() {
		return nil
	}
	rs, ds := ir.Resolve(f, ir.Options{AnyInterface: true, Interfaces: indexes})
	if bad() {
		return nil
	}
	return compile.Compile(rs)
}

// withDevices runs f in a fresh namespace that has the devices that rs names.
func withDevices(t *testing.T, rs *bytecode.Ruleset, indexes map[string]uint32, f func() error) error {
	// No packets of the kernel's own, which counters would count.
	const quiet = "ipv6/conf/default/disable_ipv6"
	names := map[string]bool{}
	for n := range indexes {
		names[n] = true
	}
	for _, tb := range rs.Tables {
		for _, ch := range tb.Chains {
			if ch.Base != nil {
				for _, d := range ch.Base.Devices {
					names[d] = true
				}
			}
		}
		for _, ft := range tb.Flowtables {
			for _, d := range ft.Devices {
				names[d] = true
			}
		}
	}
	delete(names, "lo")
	var list []string
	for n := range names {
		if !strings.HasSuffix(n, "*") {
			list = append(list, n)
		}
	}
	sort.Strings(list)
	var result error
	inNamespace(t, func() error {
		if err := sysctl(quiet, "1"); err != nil {
			return err
		}
		for _, n := range list {
			if _, err := newDevice(n, false, [6]byte{2, 0, 0, 0, 0, 1}, indexes[n]); err != nil {
				result = err
				return nil
			}
		}
		result = f()
		return nil
	})
	return result
}

// listing asks nft for the ruleset that is loaded.
func listing(nft string) (string, error) {
	cmd := exec.Command(nft, "--debug=netlink", "list", "ruleset")
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return canonical(string(out)), nil
}

var (
	// A rule's handle and the one before it, in the head of its program.
	handles  = regexp.MustCompile(`(?m)^((?:ip|ip6|inet|arp|bridge|netdev) \S+ \S+)(?: \d+){1,2} *$`)
	expires  = regexp.MustCompile(` expires [0-9a-z]+`)
	elements = regexp.MustCompile(`(?s)elements = \{.*?\}\n`)
	// What only nft reads, in user data that nftc does not write.
	typeOf    = regexp.MustCompile(`(?m)^\t\ttype(of)? .*$`)
	devices   = regexp.MustCompile(`dev \{ [^{}]* \}`)
	braces    = regexp.MustCompile(`\{ [^{}\n]* \}`)
	elemRun   = regexp.MustCompile(`(?m)(^\telement .*\n)+`)
	anonymous = regexp.MustCompile(`__(chain|set|map)\d+`)
)

// canonical takes out of a listing what depends on chance: handles, hash
// order, times that run.
func canonical(s string) string {
	sorted := func(s, sep string) string {
		l := strings.Split(s, sep)
		for i := range l {
			l[i] = strings.TrimSpace(l[i])
		}
		sort.Strings(l)
		return strings.Join(l, sep+" ")
	}
	s = expires.ReplaceAllString(s, "")
	s = typeOf.ReplaceAllString(s, "\t\ttype")
	s = devices.ReplaceAllStringFunc(s, func(m string) string { return sorted(m, " ") })
	s = handles.ReplaceAllString(s, "$1")
	s = anonymous.ReplaceAllString(s, "__$1")
	s = elemRun.ReplaceAllStringFunc(s, func(m string) string { return sorted(strings.TrimRight(m, "\n"), "\n") + "\n" })
	s = elements.ReplaceAllStringFunc(s, func(m string) string {
		m = strings.TrimSuffix(strings.TrimPrefix(m, "elements = {"), "}\n")
		return "elements = {" + sorted(strings.ReplaceAll(m, "\n", " "), ",") + "}\n"
	})
	return braces.ReplaceAllStringFunc(s, func(m string) string { return "{ " + sorted(m[2:len(m)-2], ",") + " }" })
}

// readBack loads a ruleset by nftc and by nft -f and compares what is then in
// the kernel. It returns the difference, or skip when one of them does not
// load it.
func readBack(t *testing.T, nft, name, text string) (diff, skip string) {
	indexes := map[string]uint32{"lo": 1, "eth0": 2, "eth1": 3, "wan0": 4, "lan0": 5}
	rs := compiled(name, text, indexes)
	if rs == nil {
		return "", "nftc refuses it"
	}
	file := filepath.Join(t.TempDir(), "rules.nft")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	own := map[string]uint32{}
	for n, i := range indexes {
		if n != "lo" {
			own[n] = i
		}
	}
	var ours, theirs string
	theirErr := withDevices(t, rs, own, func() error {
		cmd := exec.Command(nft, "-f", file)
		if _, err := os.Stat(name); err == nil {
			cmd.Dir = filepath.Dir(name) // for includes
		}
		cmd.Env = append(os.Environ(), "TZ=UTC")
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.New(string(out))
		}
		var err error
		theirs, err = listing(nft)
		return err
	})
	ourErr := withDevices(t, rs, own, func() error {
		ms, err := Encode(rs)
		if err != nil {
			return err
		}
		if err := load(ms, rs.Files); err != nil {
			return err
		}
		ours, err = listing(nft)
		return err
	})
	switch {
	case theirErr != nil && ourErr != nil:
		return "", "the kernel refuses it"
	case theirErr != nil:
		return "", "only nft refuses it: " + strings.SplitN(theirErr.Error(), "\n", 2)[0]
	case ourErr != nil:
		return "nft loads it, nftc does not: " + ourErr.Error(), ""
	}
	return lineDiff(theirs, ours), ""
}

// lineDiff shows the first lines that differ, nft's with -, ours with +.
func lineDiff(a, b string) string {
	if a == b {
		return ""
	}
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	count := map[string]int{}
	for _, l := range la {
		count[l]++
	}
	for _, l := range lb {
		count[l]--
	}
	var out []string
	for _, l := range la {
		if count[l] > 0 {
			count[l]--
			out = append(out, "- "+l)
		}
	}
	for _, l := range lb {
		if count[l] < 0 {
			count[l]++
			out = append(out, "+ "+l)
		}
	}
	if len(out) == 0 {
		for i := range la {
			if i >= len(lb) || la[i] != lb[i] {
				return "order: - " + la[i] + "\n+ " + lb[min(i, len(lb)-1)]
			}
		}
	}
	return strings.Join(out[:min(len(out), 12)], "\n")
}

// TestReadBack proves that what nftc loads is what nft -f would have loaded.
func TestReadBack(t *testing.T) {
	nft := realNFT(t)
	type ruleset struct{ name, text string }
	var all []ruleset
	own, _ := filepath.Glob("../../testdata/eval/*/*.txtar")
	for _, p := range own {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, in, ok := strings.Cut(string(b), "-- in.nft --\n"); ok {
			in, _, _ = strings.Cut(in, "\n-- ")
			all = append(all, ruleset{filepath.Base(p), in + "\n"})
		}
	}
	if dir := sharedDir(); dir != "" {
		corpus, _ := filepath.Glob(filepath.Join(dir, "corpus", "rulesets", "*.nft"))
		for _, p := range corpus {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, ruleset{p, string(b)})
		}
		f, err := os.Open(filepath.Join(dir, "conformance", "rulesets.jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(z)
		sc.Buffer(nil, 64<<20)
		for sc.Scan() {
			var r struct{ ID, Ruleset string }
			if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, ruleset{r.ID, r.Ruleset})
		}
	}
	equal, differ := 0, 0
	skipped := map[string]int{}
	for _, r := range all {
		if len(r.text) > 1<<20 && testing.Short() {
			continue
		}
		diff, skip := readBack(t, nft, r.name, r.text)
		switch {
		case skip != "":
			skipped[skip]++
		case diff != "":
			differ++
			t.Errorf("%s:\n%s", r.name, diff)
		default:
			equal++
		}
	}
	t.Logf("%d rulesets equal, %d differ, not compared %v", equal, differ, skipped)
	if equal == 0 {
		t.Error("nothing was compared")
	}
}
