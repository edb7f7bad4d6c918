package bench

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo/workload"
	"github.com/nftc/nftc/eval/kernel"
	"github.com/nftc/nftc/eval/packet"
)

// The amplified chains: kernelRules rules of payload loads with and without a lookup
// see kernelFrames packets, each with kernelRules different keys.
const (
	kernelRules  = 64
	kernelFrames = 256
	kernelBurst  = 1000 // packets of one sample
	withDevice   = "nftcb1"
	plainDevice  = "nftcb0"
	// kernelLimit is the number of elements beyond which loading them takes the
	// kernel too long: it grows a table by copying it (19 s for 100,000 ranges).
	kernelLimit = 40000
)

// KernelLookup measures the running kernel's cost of one lookup in a set of a
// workload's elements: it loads them in a network namespace of its own, with two
// chains at netdev ingress. One has kernelRules rules, each loading a key of its own
// from the packet and looking it up; the other has the same without the lookups. The
// cost is the difference of the two divided by their number. Not CPU time alone
// matters: both chains see the same packets in turns.
//
// The error wraps kernel.ErrUnavailable where the kernel cannot be used.
func KernelLookup(w *workload.Set, kind workload.KeyKind, opt Options) (Stat, error) {
	if w.Len() > kernelLimit {
		return Stat{}, fmt.Errorf("%w: loading more than %d ranges takes it too long", kernel.ErrUnavailable, kernelLimit)
	}
	if opt.Slices <= 0 {
		opt.Slices = DefaultSlices
	}
	frames := kernelFramesOf(w, kind)
	var stat Stat
	err := kernel.Do(kernel.Config{TUN: true}, kernelRuleset(w), func(s *kernel.Session) error {
		var samples []float64
		plain, with := time.Duration(1<<62), time.Duration(1<<62)
		for i := range opt.Slices + 1 {
			a, err := s.Burst(plainDevice, frames, kernelBurst)
			if err != nil {
				return err
			}
			b, err := s.Burst(withDevice, frames, kernelBurst)
			if err != nil {
				return err
			}
			if i == 0 {
				continue // warm
			}
			plain, with = min(plain, a), min(with, b)
			samples = append(samples, float64(b-a)/(kernelBurst*kernelRules))
		}
		stat = statOf(samples)
		stat.Best = float64(with-plain) / (kernelBurst * kernelRules)
		return nil
	})
	return stat, err
}

// kernelHeader is the length of the IPv4 header in front of the keys.
const kernelHeader = 20

func kernelFramesOf(w *workload.Set, kind workload.KeyKind) [][]byte {
	n := w.KeyBytes()
	keys := w.Keys(kind, kernelFrames*kernelRules, 2)
	frames := make([][]byte, kernelFrames)
	for i := range frames {
		f := make([]byte, kernelHeader, kernelHeader+kernelRules*n)
		f[0] = 0x45
		binary.BigEndian.PutUint16(f[2:], uint16(cap(f)))
		f[8], f[9] = 64, 253 // ttl; a protocol for experiments
		copy(f[12:], []byte{198, 51, 100, 1, 198, 51, 100, 2})
		binary.BigEndian.PutUint16(f[10:], packet.Checksum(f, 0))
		frames[i] = append(f, keys[i*kernelRules*n:(i+1)*kernelRules*n]...)
	}
	return frames
}

func kernelRuleset(w *workload.Set) *bytecode.Ruleset {
	s := SetOf(w)
	t := &bytecode.Table{Family: bytecode.FamilyNetdev, Name: "bench", Sets: []*bytecode.Set{s}}
	for _, device := range []string{plainDevice, withDevice} {
		c := &bytecode.Chain{Name: device, Base: &bytecode.Base{
			Type: "filter", Hook: bytecode.HookIngress, Devices: []string{device}, Policy: bytecode.Drop, PolicySet: true,
		}}
		for slot := range kernelRules {
			r := &bytecode.Rule{}
			at := kernelHeader + slot*w.KeyBytes()
			reg := bytecode.Reg32_00
			for _, col := range w.Columns {
				n := col.Bytes()
				r.Instrs = append(r.Instrs, &bytecode.Payload{Base: bytecode.BaseNetwork, Offset: uint32(at), Len: uint32(n), Dst: reg})
				reg += bytecode.Register((n + 3) / 4)
				at += (n + 3) &^ 3
			}
			if device == withDevice {
				r.Instrs = append(r.Instrs, &bytecode.Lookup{Src: bytecode.Reg32_00, Set: s.Name, SetID: s.ID})
			}
			c.Rules = append(c.Rules, r)
		}
		t.Chains = append(t.Chains, c)
	}
	return &bytecode.Ruleset{Tables: []*bytecode.Table{t}}
}
