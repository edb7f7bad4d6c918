package scenario

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// shared finds the folder of shared test data: $NFTC_SHARED, or ../shared
// beside the module. Without it the test is skipped.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("NFTC_SHARED")
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(wd, "go.mod")); err == nil {
				break
			}
			up := filepath.Dir(wd)
			if up == wd {
				t.Fatal("no go.mod above the test")
			}
			wd = up
		}
		dir = filepath.Join(wd, "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("shared test data: %v", err)
	}
	return dir
}

// buildFile compiles a ruleset file with its includes.
func buildFile(path string) (*bytecode.Ruleset, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := &diag.FileSet{}
	f, ds := parser.Parse(files, path, string(text), parser.Options{ReadFile: os.ReadFile, Glob: filepath.Glob})
	if err := diagErr(files, ds); err != nil {
		return nil, err
	}
	rs, ds := ir.Resolve(f, ir.Options{Interfaces: interfaces, AnyInterface: true})
	if err := diagErr(files, ds); err != nil {
		return nil, err
	}
	return compile.Compile(rs), nil
}

// TestCases runs the packets of the settled cases.
func TestCases(t *testing.T) {
	lists, err := filepath.Glob(filepath.Join(shared(t), "cases", "*", "packets.txt"))
	if err != nil || len(lists) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, list := range lists {
		dir := filepath.Dir(list)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			// The first word of a comment line names the ruleset of the packets
			// that follow, where a case has several.
			name, part := "ruleset.nft", ""
			flush := func() {
				if part == "" {
					return
				}
				rs, err := buildFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				ev, _ := env(nil)
				e, err := eval.New(rs, ev)
				if err != nil {
					t.Fatal(err)
				}
				run(t, e, rs, part, false)
				part = ""
			}
			for line := range strings.Lines(string(text)) {
				for _, w := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" #:\t\n`", r) }) {
					if strings.HasPrefix(line, "#") && strings.HasSuffix(w, ".nft") {
						flush()
						name = w
					}
				}
				part += line
			}
			flush()
		})
	}
}

// TestCorpusRulesetsOverCaptures runs every corpus ruleset that compiles over
// captures of different kinds: no panic, a verdict for each packet.
func TestCorpusRulesetsOverCaptures(t *testing.T) {
	dir := shared(t)
	rulesets, _ := filepath.Glob(filepath.Join(dir, "corpus", "rulesets", "*.nft"))
	captures := []string{"zeek__wikipedia.pcap", "wireshark__test.cap", "zeek__dns_mdns.pcap", "tcpdump__mptcp-fclose.pcap",
		"suri__ipv6-evasion_ipv6-malformed-fragments-10_frag-10.pcap", "ndpi__4in4tunnel.pcap", "ndpi__gre.pcapng",
		"libpcap__ipv6_ext_headers.pcap", "libpcap__pppoe.pcap", "ndpi__fuzz-2021-10-13.pcap", "ndpi__pim.pcap",
		"libpcap__isup_load_generator.pcap", "ndpi__vrrp3.pcapng", "ndpi__dns.pcap"}
	if testing.Short() {
		captures = captures[:4]
	}
	built, packets := 0, 0
	verdicts := map[eval.Verdict]int{}
	causes := map[eval.Cause]int{}
	for _, path := range rulesets {
		rs, err := buildFile(path)
		if err != nil {
			continue
		}
		built++
		for _, c := range captures {
			ev, _ := env(nil)
			e, err := eval.New(rs, ev)
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
				break
			}
			src, err := packet.Open(filepath.Join(dir, "corpus", "pcaps", c), packet.KindCapture, nil)
			if err != nil {
				t.Errorf("%s: %v", c, err)
				continue
			}
			var p packet.Packet
			var res eval.Result
			for {
				err := src.Next(&p)
				var broken *packet.ReadError
				if err == io.EOF || errors.As(err, &broken) {
					break
				} else if err != nil {
					t.Errorf("%s: %v", c, err)
					break
				}
				e.Run(&p, &res)
				packets++
				verdicts[res.Verdict]++
				for _, u := range res.Unknown {
					causes[u.Cause]++
				}
				if res.Verdict == eval.Unknown && len(res.Unknown) == 0 {
					t.Fatalf("%s: %s: packet %d: unknown without a reason", filepath.Base(path), c, p.Index)
				}
			}
			src.Close()
		}
	}
	if built == 0 || packets == 0 {
		t.Fatal("nothing ran")
	}
	t.Logf("%d of %d rulesets, %d packets: %v; unknown %v", built, len(rulesets), packets, verdicts, causes)
}
