//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// withSession runs f on a session, or skips where the kernel cannot be used;
// NFTC_KERNEL=require makes that a failure.
func withSession(t *testing.T, cfg Config, rs *bytecode.Ruleset, f func(*Session) error) {
	t.Helper()
	err := Do(cfg, rs, f)
	if errors.Is(err, ErrUnavailable) && os.Getenv("NFTC_KERNEL") != "require" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// udp builds an Ethernet frame with a UDP packet to a port.
func udp(port uint16) *packet.Packet {
	b := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0,
		0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 198, 51, 100, 9, 203, 0, 113, 1,
		0x10, 0, 0, 0, 0, 8, 0, 0}
	binary.BigEndian.PutUint16(b[36:], port)
	binary.BigEndian.PutUint16(b[24:], packet.Checksum(b[14:34], 0))
	p := &packet.Packet{}
	p.SetFrame(packet.LinkEthernet, b, len(b))
	return p
}

func TestTrips(t *testing.T) {
	hooks := map[Trip]bytecode.Hook{TripInput: bytecode.HookInput, TripForward: bytecode.HookForward, TripOutput: bytecode.HookOutput, TripBridge: bytecode.HookForward}
	for trip, hook := range hooks {
		t.Run(trip.String(), func(t *testing.T) {
			family := bytecode.FamilyInet
			if trip == TripBridge {
				family = bytecode.FamilyBridge
			}
			rs := &bytecode.Ruleset{Tables: []*bytecode.Table{{Family: family, Name: "t", Chains: []*bytecode.Chain{{
				Name: "c", Base: &bytecode.Base{Type: "filter", Hook: hook, Policy: bytecode.Accept, PolicySet: true},
				Rules: []*bytecode.Rule{{Instrs: []bytecode.Instr{
					&bytecode.Payload{Base: bytecode.BaseTransport, Offset: 2, Len: 2, Dst: bytecode.Reg1},
					&bytecode.Cmp{Op: bytecode.CmpEq, Src: bytecode.Reg1, Data: bytecode.Data{Bytes: []byte{0, 53}}},
					&bytecode.Immediate{Verdict: bytecode.Verdict{Code: bytecode.Drop}},
				}}},
			}}}}}
			withSession(t, Config{Trip: trip}, rs, func(s *Session) error {
				var out Outcome
				if err := s.Inject(udp(53), &out); err != nil {
					return err
				}
				if !out.Dropped || len(out.Events) != 1 || out.Events[0].Rule != rs.Tables[0].Chains[0].Rules[0] {
					return fmt.Errorf("port 53: %+v", out)
				}
				if err := s.Inject(udp(54), &out); err != nil {
					return err
				}
				if out.Dropped || len(out.Events) == 0 || !out.Events[len(out.Events)-1].Policy || !out.Arrived {
					return fmt.Errorf("port 54: %+v", out)
				}
				return nil
			})
		})
	}
}

func BenchmarkInject(b *testing.B) {
	rs := &bytecode.Ruleset{}
	err := Do(Config{Trip: TripForward}, rs, func(s *Session) error {
		p := udp(53)
		var out Outcome
		for b.Loop() {
			if err := s.Inject(p, &out); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrUnavailable) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
}
