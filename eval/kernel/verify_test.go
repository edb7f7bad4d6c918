package kernel_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/kernel"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// build compiles a ruleset.
func build(t testing.TB, text string) *bytecode.Ruleset {
	t.Helper()
	var files diag.FileSet
	f, ds := parser.Parse(&files, "test.nft", text, parser.Options{})
	rs, more := ir.Resolve(f, ir.Options{AnyInterface: true})
	for _, d := range append(ds, more...) {
		if d.Severity == diag.Error {
			t.Fatalf("%v: %s", files.Position(d.Span.Start), d.Message)
		}
	}
	return compile.Compile(rs)
}

// require skips the test when the kernel cannot be used; NFTC_KERNEL=require
// makes that a failure.
func require(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, kernel.ErrUnavailable) && os.Getenv("NFTC_KERNEL") != "require" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerifyCaptures(t *testing.T) {
	shared := os.Getenv("NFTC_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	// Packets that may differ on a trip: see RATIONALE.md.
	const mayDiffer = 15
	const most = 300 // packets of one capture
	captures, _ := filepath.Glob(filepath.Join(shared, "corpus/pcaps/*.pcap*"))
	if len(captures) == 0 {
		t.Skip("no captures")
	}
	rs := build(t, `table inet f {
  set s { type ipv4_addr . inet_service; flags interval; elements = { 10.0.0.0/8 . 22-80, 192.168.0.0/16 . 0-1024 }
  }
  chain i { type filter hook input priority 0; policy drop;
    ct state established,related accept
    ct state invalid drop
    ip saddr . tcp dport @s accept
    tcp dport { 22, 80 } counter accept
    udp dport 53 accept
    jump x
  }
  chain f { type filter hook forward priority 0; policy accept;
    tcp flags syn / fin,syn,rst,ack drop
    ip ttl 1-64 jump x
  }
  chain x { ip6 hoplimit > 64 accept
    icmp type echo-request counter drop
    meta length 100-200 drop
  }
}
`)
	for _, trip := range []kernel.Trip{kernel.TripInput, kernel.TripForward, kernel.TripOutput} {
		count := map[string]int{}
		shown := 0
		cfg := kernel.Config{Trip: trip}
		require(t, kernel.Do(cfg, rs, func(s *kernel.Session) error {
			v, err := kernel.NewVerifier(s, cfg, rs)
			if err != nil {
				return err
			}
			var p packet.Packet
			var c kernel.Comparison
			for _, name := range captures {
				src, err := packet.Open(name, packet.KindCapture, nil)
				if err != nil {
					continue
				}
				for n := 0; n < most && src.Next(&p) == nil; n++ {
					tuple := p.Tuple()
					if err := v.Verify(&p, &c); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					count[c.Status.String()]++
					if c.Status == kernel.Differ && shown < 15 {
						shown++
						t.Logf("%s packet %d: %v\n  %s\n  ours %v\n  kernel %v", filepath.Base(name), p.Index, strings.Join(c.Reason, "; "), tuple, len(c.Ours.Trace), len(c.Theirs.Events))
					}
				}
			}
			return nil
		}))
		t.Logf("%v: %v", trip, count)
		if n := count[kernel.Differ.String()]; n > mayDiffer {
			t.Errorf("%v: %d packets differ", trip, n)
		}
		if count[kernel.Agree.String()] < 1000 {
			t.Errorf("%v: only %d packets agree", trip, count[kernel.Agree.String()])
		}
	}
}
