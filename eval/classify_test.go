package eval

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// addressAndPort is `ip saddr LO-HI tcp dport PORT accept`.
func addressAndPort(lo, hi uint32, port uint16) []bytecode.Instr {
	be := func(v uint32) bytecode.Data { return bytecode.Data{Bytes: binary.BigEndian.AppendUint32(nil, v)} }
	out := []bytecode.Instr{
		&bytecode.Meta{Key: bytecode.MetaNFProto, Dst: 1},
		&bytecode.Cmp{Op: bytecode.CmpEq, Src: 1, Data: data(2)},
		&bytecode.Payload{Base: bytecode.BaseNetwork, Offset: 12, Len: 4, Dst: 1},
	}
	if lo == hi {
		out = append(out, &bytecode.Cmp{Op: bytecode.CmpEq, Src: 1, Data: be(lo)})
	} else {
		out = append(out, &bytecode.Range{Src: 1, From: be(lo), To: be(hi)})
	}
	return append(append(out, tcpDport(port)...), verdictInstr(bytecode.Accept))
}

// chainOf makes n rules; wide ones take ranges that overlap.
func chainOf(n int, wide bool) (*bytecode.Ruleset, []*packet.Packet) {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	rules := make([][]bytecode.Instr, n)
	packets := make([]*packet.Packet, 256)
	for i := range rules {
		lo := 10<<24 | r.Uint32N(1<<24)
		hi := lo
		if wide {
			hi += r.Uint32N(1 << 20)
		}
		rules[i] = addressAndPort(lo, hi, uint16(1+r.IntN(65535)))
	}
	for i := range packets {
		rule := rules[r.IntN(n)]
		var src [4]byte
		switch c := rule[3].(type) {
		case *bytecode.Cmp:
			copy(src[:], c.Data.Bytes)
		case *bytecode.Range:
			copy(src[:], c.From.Bytes)
		}
		port := binary.BigEndian.Uint16(rule[7].(*bytecode.Cmp).Data.Bytes)
		if i%2 == 1 {
			port++ // mostly no rule's
		}
		packets[i] = tcp4(src, [4]byte{192, 0, 2, 1}, 999, port, 2)
	}
	return ruleset(bytecode.HookInput, bytecode.Drop, rules...), packets
}

// BenchmarkChain runs packets, every second of which matches a rule, through
// chains of `ip saddr … tcp dport … accept`.
func BenchmarkChain(b *testing.B) {
	for _, wide := range []bool{false, true} {
		name := "exact"
		if wide {
			name = "ranges"
		}
		for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
			for _, use := range []ClassifierUse{ClassifierAuto, ClassifierOff} {
				if n > 10_000 && use == ClassifierOff {
					continue
				}
				b.Run(fmt.Sprintf("%s/rules=%d/classifier=%v", name, n, use), func(b *testing.B) {
					rs, packets := chainOf(n, wide)
					e := mustNew(b, rs, Env{Classifier: use})
					var res Result
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						e.Run(packets[i&255], &res)
						i++
					}
				})
			}
		}
	}
}

func BenchmarkNewEngine(b *testing.B) {
	for _, wide := range []bool{false, true} {
		for _, n := range []int{10_000, 100_000} {
			for _, use := range []ClassifierUse{ClassifierAuto, ClassifierOff} {
				b.Run(fmt.Sprintf("wide=%v/rules=%d/classifier=%v", wide, n, use), func(b *testing.B) {
					rs, _ := chainOf(n, wide)
					b.ReportAllocs()
					for b.Loop() {
						mustNew(b, rs, Env{Classifier: use})
					}
				})
			}
		}
	}
}

func TestClassifierDoesNotAllocate(t *testing.T) {
	rs, packets := chainOf(1000, true)
	e := mustNew(t, rs, Env{})
	if e.chains[0].classifier == nil {
		t.Fatal("no classifier")
	}
	var res Result
	i := 0
	if n := testing.AllocsPerRun(500, func() { e.Run(packets[i&255], &res); i++ }); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

// TestClassifierSkipsRules holds that few rules are run: else a wrong condition
// would only show as lost time.
func TestClassifierSkipsRules(t *testing.T) {
	for _, wide := range []bool{false, true} {
		rs, packets := chainOf(5000, wide)
		e := mustNew(t, rs, Env{})
		c := e.chains[0].classifier
		if c == nil || len(c.groups) != 1 || len(c.always) != 0 {
			t.Fatalf("wide %v: %+v", wide, c)
		}
		candidates := 0
		for _, p := range packets {
			var res Result
			e.Run(p, &res)
			w := &e.w
			w.running = true
			w.ri, e.class.valid = 0, false
			for w.ri = e.nextRule(w, c); w.ri < len(rs.Tables[0].Chains[0].Rules); w.ri = e.nextRule(w, c) {
				candidates++
				w.ri++
			}
		}
		if candidates > 2*len(packets) {
			t.Errorf("wide %v: %d candidates for %d packets", wide, candidates, len(packets))
		}
	}
}

// TestColumnKeepsItsBudget makes ranges that overlap so much that a class each
// would need too much memory; no rule may get lost in the merged classes.
func TestColumnKeepsItsBudget(t *testing.T) {
	const n = 40_000
	r := rand.New(rand.NewPCG(3, 4))
	spans := make([][]valueSpan, n)
	for i := range spans {
		lo := r.Uint32()
		hi := lo + r.Uint32N(1<<31)
		if hi < lo {
			lo, hi = hi, lo
		}
		spans[i] = []valueSpan{{valueOf(binary.BigEndian.AppendUint32(nil, lo)), filled(binary.BigEndian.AppendUint32(nil, hi))}}
	}
	c, ok := newColumn(0, 4, n, func(i int) []valueSpan { return spans[i] })
	if !ok {
		t.Fatal("no column")
	}
	size := 0
	for i := range c.sets {
		size += 4*len(c.sets[i].list) + 8*len(c.sets[i].bits) + 8*len(c.sets[i].sum)
	}
	if limit := 2 * (columnBytes + columnBytesPerRule*n); size > limit {
		t.Errorf("%d bytes in %d classes, want at most %d", size, len(c.sets), limit)
	}
	for range 300 {
		v := valueOf(binary.BigEndian.AppendUint32(nil, r.Uint32()))
		m := c.find(v)
		for i := range spans {
			if s := spans[i][0]; !v.less(s.lo) && !s.hi.less(v) && !m.has(uint32(i)) {
				t.Fatalf("rule %d takes %x but is not in its class", i, v)
			}
		}
	}
}

// FuzzColumn compares classes with the ranges that made them.
func FuzzColumn(f *testing.F) {
	f.Add([]byte{1, 0, 5, 2, 3, 9, 1, 9, 9}, uint8(5), uint8(70))
	f.Add([]byte{1, 0, 255, 0, 3, 3}, uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, in []byte, value, rules uint8) {
		n := int(rules) + 1
		spans := make([][]valueSpan, n)
		for ; len(in) >= 3; in = in[3:] {
			lo, hi := min(in[1], in[2]), max(in[1], in[2])
			i := int(in[0]) % n
			spans[i] = append(spans[i], valueSpan{valueOf([]byte{lo}), filled([]byte{hi})})
		}
		c, ok := newColumn(0, 1, n, func(i int) []valueSpan { return spans[i] })
		if !ok {
			t.Fatal("no column")
		}
		m := c.find(valueOf([]byte{value}))
		count := 0
		for i := range spans {
			want := slices.ContainsFunc(spans[i], func(s valueSpan) bool {
				v := valueOf([]byte{value})
				return !v.less(s.lo) && !s.hi.less(v)
			})
			if want {
				count++
			}
			if m.n > 0 && m.has(uint32(i)) != want || m.n == 0 && want {
				t.Errorf("rule %d: %v, want %v", i, !want, want)
			}
		}
		if count != m.n {
			t.Errorf("%d members, want %d", m.n, count)
		}
	})
}
