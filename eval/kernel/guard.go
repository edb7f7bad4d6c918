//go:build linux

package kernel

import (
	"math"

	"github.com/nftc/nftc/compile/bytecode"
)

// guardTable is the name of the tables that stand around the ruleset under
// test; their trace messages are not part of it.
const guardTable = "nftc-guard"

// sentMark marks packets that the raw sockets send, so that the guard can tell
// them from packets of the kernel's own.
const sentMark = 0x6e667463

// guard is loaded before the ruleset. At the first priority of each way in it
// sets nftrace; that one message also delimits packets. In output it drops
// whatever the kernel itself sends (resets, ICMP errors, neighbour
// discovery), before conntrack sees it. At the last priority of input it drops
// what was accepted, so that no socket answers; it must be registered before
// conntrack's hooks, which confirm at the same priority: of equal priorities
// the later registration runs first (nf_hook_entries_grow). At the last
// priority of postrouting, and of egress on the devices by which packets leave,
// it only leaves a trace message with the final headers.
func guard(ingress, egress []string) *bytecode.Ruleset {
	trace := []bytecode.Instr{
		&bytecode.Immediate{Dst: bytecode.Reg1, Data: bytecode.Data{Bytes: []byte{1}}},
		&bytecode.MetaSet{Key: bytecode.MetaNFTrace, Src: bytecode.Reg1},
		&bytecode.Immediate{Verdict: bytecode.Verdict{Code: bytecode.Accept}},
	}
	drop := []bytecode.Instr{&bytecode.Immediate{Verdict: bytecode.Verdict{Code: bytecode.Drop}}}
	accept := []bytecode.Instr{&bytecode.Immediate{Verdict: bytecode.Verdict{Code: bytecode.Accept}}}
	sent := append([]bytecode.Instr{
		&bytecode.Meta{Key: bytecode.MetaMark, Dst: bytecode.Reg1},
		&bytecode.Cmp{Op: bytecode.CmpEq, Src: bytecode.Reg1, Data: bytecode.Data{Bytes: hostU32(sentMark)}},
		&bytecode.Immediate{Dst: bytecode.Reg1, Data: bytecode.Data{Bytes: hostU32(0)}},
		&bytecode.MetaSet{Key: bytecode.MetaMark, Src: bytecode.Reg1},
	}, trace...)
	chain := func(name string, hook bytecode.Hook, prio int32, policy bytecode.Code, instrs []bytecode.Instr, devs ...string) *bytecode.Chain {
		return &bytecode.Chain{Name: name,
			Base:  &bytecode.Base{Type: "filter", Hook: hook, Priority: prio, Devices: devs, Policy: policy, PolicySet: true},
			Rules: []*bytecode.Rule{{Instrs: instrs}}}
	}
	inet := &bytecode.Table{Family: bytecode.FamilyInet, Name: guardTable, Chains: []*bytecode.Chain{
		chain("pre", bytecode.HookPrerouting, math.MinInt32, bytecode.Accept, trace),
		chain("out", bytecode.HookOutput, math.MinInt32, bytecode.Drop, sent),
		chain("sink", bytecode.HookInput, math.MaxInt32, bytecode.Accept, drop),
		chain("post", bytecode.HookPostrouting, math.MaxInt32, bytecode.Accept, accept),
	}}
	rs := &bytecode.Ruleset{Tables: []*bytecode.Table{inet,
		{Family: bytecode.FamilyARP, Name: guardTable, Chains: []*bytecode.Chain{
			chain("pre", bytecode.HookInput, math.MinInt32, bytecode.Accept, trace),
			chain("sink", bytecode.HookInput, math.MaxInt32, bytecode.Accept, drop)}},
		{Family: bytecode.FamilyBridge, Name: guardTable, Chains: []*bytecode.Chain{
			chain("pre", bytecode.HookPrerouting, math.MinInt32, bytecode.Accept, trace),
			chain("post", bytecode.HookPostrouting, math.MaxInt32, bytecode.Accept, accept)}},
	}}
	nd := &bytecode.Table{Family: bytecode.FamilyNetdev, Name: guardTable}
	for i, dev := range ingress {
		nd.Chains = append(nd.Chains, chain("in"+itoa(i), bytecode.HookIngress, math.MinInt32, bytecode.Accept, trace, dev))
	}
	for i, dev := range egress {
		nd.Chains = append(nd.Chains, chain("out"+itoa(i), bytecode.HookEgress, math.MaxInt32, bytecode.Accept, accept, dev))
	}
	if len(nd.Chains) > 0 {
		rs.Tables = append(rs.Tables, nd)
	}
	return rs
}
