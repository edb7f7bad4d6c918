package compile

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// statementFiles are the recorded files about statements that are neither
// matches nor assignments.
var statementFiles = map[string]bool{
	"any/counter.t": true, "any/last.t": true, "any/limit.t": true, "any/log.t": true, "any/objects.t": true,
	"any/queue.t": true, "any/quota.t": true, "bridge/reject.t": true, "inet/dnat.t": true, "inet/reject.t": true,
	"inet/snat.t": true, "inet/synproxy.t": true, "inet/tproxy.t": true, "ip/dnat.t": true, "ip/dup.t": true,
	"ip/masquerade.t": true, "ip/objects.t": true, "ip/redirect.t": true, "ip/reject.t": true, "ip/snat.t": true,
	"ip/tproxy.t": true, "ip/sets.t": true, "ip/numgen.t": true, "ip6/dnat.t": true, "ip6/dup.t": true,
	"ip6/masquerade.t": true, "ip6/redirect.t": true, "ip6/reject.t": true, "ip6/sets.t": true, "ip6/snat.t": true,
	"ip6/tproxy.t": true, "ip6/map.t": true, "netdev/dup.t": true, "netdev/fwd.t": true, "netdev/reject.t": true,
}

// anonName matches the numbered names of anonymous sets in the records.
var anonName = regexp.MustCompile(`__(set|map|objmap)\d+`)

// TestStatements compares acceptance and expressions of statements with what
// nft 1.1.7 did.
func TestStatements(t *testing.T) {
	shared := os.Getenv("NFTC_SHARED")
	if shared == "" {
		shared = "../../shared"
	}
	file, err := os.Open(filepath.Join(shared, "conformance", "rules.jsonl.gz"))
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
	var same, all, agree, judged int
	var diffs []string
	for sc.Scan() {
		var r struct {
			ID, File, Kind, Chain, Ruleset, Kernel string
			NftLoad                                string `json:"nft_load"`
			Bytecode                               []string
		}
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if !statementFiles[r.File] || r.Kind != "rule" {
			continue
		}
		out, msg := compileText(r.Ruleset)
		if r.Kernel != "unsupported" {
			judged++
			if (out != nil) == (r.NftLoad == "ok") {
				agree++
			} else {
				diffs = append(diffs, r.ID+" load: nft says "+r.NftLoad+", here "+msg)
			}
		}
		if len(r.Bytecode) == 0 {
			continue
		}
		all++
		got := ""
		if out != nil {
			got = lastRule(out, r.Chain)
		} else {
			got = "refused: " + msg
		}
		want := anonName.ReplaceAllString(strings.Join(r.Bytecode, "\n"), "__$1%d")
		if got == want {
			same++
		} else {
			diffs = append(diffs, r.ID+"\n  got\n"+got+"\n  want\n"+want)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("accepted or refused alike: %d of %d; same expressions: %d of %d", agree, judged, same, all)
	if dump := os.Getenv("NFTC_DIFFS"); dump != "" {
		_ = os.WriteFile(dump, []byte(strings.Join(diffs, "\n")), 0o644)
	}
	if same*100 < all*95 || agree*100 < judged*95 {
		t.Errorf("below 95 %%")
		for i, d := range diffs {
			if i < 20 {
				t.Log(d)
			}
		}
	}
}

// compileText compiles a ruleset as the records were made; nil and the first
// error when it is refused.
func compileText(text string) (*bytecode.Ruleset, string) {
	files := &diag.FileSet{}
	f, ds := parser.Parse(files, "/dev/stdin", text, parser.Options{})
	if msg, bad := firstError(ds); bad {
		return nil, msg
	}
	rs, ds := ir.Resolve(f, ir.Options{Interfaces: map[string]uint32{"lo": 1}, TZOffset: 7200})
	if msg, bad := firstError(ds); bad {
		return nil, msg
	}
	return Compile(rs), ""
}

func firstError(ds []diag.Diagnostic) (string, bool) {
	for _, d := range ds {
		if d.Severity == diag.Error {
			return d.Message, true
		}
	}
	return "", false
}

// lastRule dumps the expressions of the last rule that was sent for a chain.
func lastRule(rs *bytecode.Ruleset, chain string) string {
	var lines []string
	for _, op := range rs.Ops {
		if op.Kind != bytecode.OpNewRule || op.Rule == nil || op.Chain == nil || op.Chain.Name != chain {
			continue
		}
		lines = lines[:0]
		for _, in := range op.Rule.Instrs {
			lines = append(lines, bytecode.DumpInstr(in))
		}
	}
	return strings.Join(lines, "\n")
}
