//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// twentyRules is a forward chain whose last rule matches.
func twentyRules(b *testing.B) *bytecode.Ruleset {
	var s strings.Builder
	s.WriteString("table inet bench {\n\tchain f {\n\t\ttype filter hook forward priority 0; policy drop;\n")
	for i := range 19 {
		fmt.Fprintf(&s, "\t\tip saddr 10.0.%d.0/24 udp dport %d drop\n", i, 1000+i)
	}
	s.WriteString("\t\tudp dport 53 accept\n\t}\n}\n")
	rs := compiled("bench.nft", s.String(), nil)
	if rs == nil {
		b.Fatal("the ruleset does not compile")
	}
	return rs
}

func skipUnavailable(b *testing.B, err error) {
	if errors.Is(err, ErrUnavailable) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkVerify is one packet through both engines, compared.
func BenchmarkVerify(b *testing.B) {
	rs := twentyRules(b)
	cfg := Config{Trip: TripForward}
	skipUnavailable(b, Do(cfg, rs, func(s *Session) error {
		v, err := NewVerifier(s, cfg, rs)
		if err != nil {
			return err
		}
		frame := udp(53).Data
		data := make([]byte, len(frame))
		var p packet.Packet
		var c Comparison
		for b.Loop() {
			copy(data, frame)
			p.SetFrame(packet.LinkEthernet, data, len(data))
			if err := v.Verify(&p, &c); err != nil {
				return err
			}
			if c.Status != Agree {
				return fmt.Errorf("%v: %v", c.Status, c.Reason)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		return nil
	}))
}

// BenchmarkSetup is a session's making and end.
func BenchmarkSetup(b *testing.B) {
	rs := twentyRules(b)
	for b.Loop() {
		skipUnavailable(b, Do(Config{Trip: TripForward}, rs, func(*Session) error { return nil }))
	}
}
