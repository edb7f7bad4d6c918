package eval

import (
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

func data(b ...byte) bytecode.Data { return bytecode.Data{Bytes: b} }

func verdictInstr(c bytecode.Code) bytecode.Instr {
	return &bytecode.Immediate{Dst: bytecode.RegVerdict, Verdict: bytecode.Verdict{Code: c}}
}

// ruleset is one inet table with a filter chain at a hook.
func ruleset(hook bytecode.Hook, policy bytecode.Code, rules ...[]bytecode.Instr) *bytecode.Ruleset {
	c := &bytecode.Chain{Name: "c", Base: &bytecode.Base{Type: "filter", Hook: hook, Policy: policy, PolicySet: true}}
	for i, r := range rules {
		c.Rules = append(c.Rules, &bytecode.Rule{Handle: uint64(i + 2), Instrs: r})
	}
	return &bytecode.Ruleset{Tables: []*bytecode.Table{{Family: bytecode.FamilyInet, Name: "t", Chains: []*bytecode.Chain{c}}}}
}

// tcpDport is `tcp dport PORT`.
func tcpDport(port uint16) []bytecode.Instr {
	return []bytecode.Instr{
		&bytecode.Meta{Key: bytecode.MetaL4Proto, Dst: 1},
		&bytecode.Cmp{Op: bytecode.CmpEq, Src: 1, Data: data(6)},
		&bytecode.Payload{Base: bytecode.BaseTransport, Offset: 2, Len: 2, Dst: 1},
		&bytecode.Cmp{Op: bytecode.CmpEq, Src: 1, Data: data(byte(port>>8), byte(port))},
	}
}

// tcp4 is an IPv4 TCP segment without link layer header.
func tcp4(src, dst [4]byte, sport, dport uint16, flags byte) *packet.Packet {
	b := make([]byte, 40)
	b[0], b[3], b[8], b[9] = 0x45, 40, 64, 6
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	s := packet.Checksum(b[:20], 0)
	b[10], b[11] = byte(s>>8), byte(s)
	b[20], b[21], b[22], b[23] = byte(sport>>8), byte(sport), byte(dport>>8), byte(dport)
	b[32], b[33], b[34] = 0x50, flags, 0xff
	sum := packet.PartialSum(b[12:20], 0) + 6 + 20
	s = packet.Checksum(b[20:], sum)
	b[36], b[37] = byte(s>>8), byte(s)
	p := new(packet.Packet)
	p.SetFrame(packet.LinkRaw, b, len(b))
	return p
}

func mustNew(t testing.TB, rs *bytecode.Ruleset, env Env) *Engine {
	t.Helper()
	e, err := New(rs, env)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestVerdictOfFirstMatchingRule(t *testing.T) {
	rs := ruleset(bytecode.HookInput, bytecode.Drop,
		append(tcpDport(22), verdictInstr(bytecode.Accept)),
		append(tcpDport(23), verdictInstr(bytecode.Drop)),
		append(tcpDport(24), &bytecode.Counter{}))
	e := mustNew(t, rs, Env{})
	for _, c := range []struct {
		port   uint16
		want   Verdict
		handle uint64
		policy bool
	}{{22, Accept, 2, false}, {23, Drop, 3, false}, {24, Drop, 0, true}, {25, Drop, 0, true}} {
		var res Result
		e.Run(tcp4([4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}, 999, c.port, 2), &res)
		handle := uint64(0)
		if res.Rule != nil {
			handle = res.Rule.Handle
		}
		if res.Verdict != c.want || handle != c.handle || res.Policy != c.policy {
			t.Errorf("port %d: %v by rule %d, policy %v; want %v by %d, %v", c.port, res.Verdict, handle, res.Policy, c.want, c.handle, c.policy)
		}
	}
	if n := e.states[0].packets; n != 1 {
		t.Errorf("counter is %d, want 1", n)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	rs := ruleset(bytecode.HookInput, bytecode.Drop,
		append(tcpDport(22), verdictInstr(bytecode.Accept)),
		[]bytecode.Instr{&bytecode.CT{Key: bytecode.CTState, Dir: -1, Dst: 1},
			&bytecode.Bitwise{Src: 1, Dst: 1, Len: 4, Mask: data(2, 0, 0, 0), Xor: data(0, 0, 0, 0)},
			&bytecode.Cmp{Op: bytecode.CmpNeq, Src: 1, Data: data(0, 0, 0, 0)}, verdictInstr(bytecode.Accept)},
		append(tcpDport(24), &bytecode.Counter{}, verdictInstr(bytecode.Accept)))
	e := mustNew(t, rs, Env{})
	p := tcp4([4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}, 999, 24, 2)
	var res Result
	e.Run(p, &res)
	if n := testing.AllocsPerRun(200, func() { e.Run(p, &res) }); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

func BenchmarkRun20Rules(b *testing.B) {
	var rules [][]bytecode.Instr
	for i := 0; i < 20; i++ {
		rules = append(rules, append(tcpDport(uint16(1000+i)), verdictInstr(bytecode.Accept)))
	}
	e := mustNew(b, ruleset(bytecode.HookInput, bytecode.Drop, rules...), Env{})
	p := tcp4([4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}, 999, 1019, 2)
	var res Result
	b.ReportAllocs()
	for b.Loop() {
		e.Run(p, &res)
	}
}
