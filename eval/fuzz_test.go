package eval

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// dice makes choices from a byte string; when it is used up all are 0.
type dice struct{ b []byte }

func (d *dice) byte() byte {
	if len(d.b) == 0 {
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *dice) n(n int) int { return int(d.byte()) % n }

func (d *dice) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = d.byte()
	}
	return b
}

func (d *dice) reg() bytecode.Register { return bytecode.Register(d.n(25)) }

func (d *dice) length() int { return []int{1, 2, 4, 4, 6, 8, 16, 16, 20, 0, 65}[d.n(11)] }

func (d *dice) data() bytecode.Data { return bytecode.Data{Bytes: d.bytes(d.length())} }

func (d *dice) verdict() bytecode.Verdict {
	c := []bytecode.Code{bytecode.Drop, bytecode.Accept, bytecode.Continue, bytecode.Break, bytecode.Return,
		bytecode.Jump, bytecode.Goto, bytecode.Queue}[d.n(8)]
	return bytecode.Verdict{Code: c, Chain: []string{"r0", "r1", "base"}[d.n(3)]}
}

func (d *dice) stateful() bytecode.Instr {
	switch d.n(5) {
	case 0:
		return &bytecode.Counter{}
	case 1:
		return &bytecode.Quota{Bytes: uint64(d.byte()), Over: d.n(2) == 1}
	case 2:
		return &bytecode.Limit{Rate: uint64(d.byte()), Unit: uint64(d.byte()), Burst: uint32(d.byte()), Bytes: d.n(2) == 1}
	case 3:
		return &bytecode.Connlimit{Count: uint32(d.n(3)), Over: d.n(2) == 1}
	}
	return &bytecode.Last{}
}

func (d *dice) instr(depth int) bytecode.Instr {
	u32 := func() uint32 { return uint32(d.byte()) }
	switch d.n(46) {
	case 0, 1, 2:
		return &bytecode.Cmp{Op: bytecode.CmpOp(d.n(7)), Src: d.reg(), Data: d.data()}
	case 3:
		n := d.length()
		return &bytecode.Range{Neg: d.n(2) == 1, Src: d.reg(), From: bytecode.Data{Bytes: d.bytes(n)}, To: bytecode.Data{Bytes: d.bytes(n)}}
	case 4:
		return &bytecode.Immediate{Dst: d.reg(), Data: d.data()}
	case 5, 6:
		return &bytecode.Immediate{Dst: 0, Verdict: d.verdict()}
	case 7, 8:
		return &bytecode.Lookup{Src: d.reg(), Set: []string{"s", "m", "v", "x"}[d.n(4)], Invert: d.n(4) == 0, HasDst: d.n(2) == 1, Dst: d.reg()}
	case 9, 10, 11:
		return &bytecode.Payload{Base: bytecode.PayloadBase(d.n(6)), Offset: u32(), Len: uint32(d.length()), Dst: d.reg()}
	case 12:
		return &bytecode.PayloadSet{Src: d.reg(), Base: bytecode.PayloadBase(d.n(5)), Offset: u32(), Len: uint32(d.length()),
			CsumType: d.byte() % 4, CsumOff: u32(), CsumFlags: uint32(d.n(2))}
	case 13:
		if depth > 0 {
			return &bytecode.Counter{}
		}
		return &bytecode.Inner{Type: uint32(d.n(4)), HdrSize: u32(), Flags: uint32(d.n(16)), Instr: d.instr(1)}
	case 14:
		return &bytecode.Exthdr{Op: bytecode.ExthdrOp(d.n(6)), Type: d.byte(), Offset: u32(), Len: uint32(d.length()), Present: d.n(2) == 1, Dst: d.reg()}
	case 15:
		return &bytecode.ExthdrSet{Op: bytecode.ExthdrTCPOpt, Type: d.byte(), Offset: u32(), Len: uint32(d.length()), Src: d.reg()}
	case 16:
		return &bytecode.ExthdrReset{Op: bytecode.ExthdrTCPOpt, Type: d.byte() % 9}
	case 17:
		n := d.length()
		return &bytecode.Bitwise{Op: bytecode.BitwiseOp(d.n(7)), Src: d.reg(), Dst: d.reg(), Src2: d.reg(), Len: uint32(n),
			Mask: bytecode.Data{Bytes: d.bytes(n)}, Xor: bytecode.Data{Bytes: d.bytes(n)}, Shift: u32()}
	case 18:
		return &bytecode.Byteorder{Src: d.reg(), Dst: d.reg(), Hton: d.n(2) == 1, Len: uint32(d.length()), Size: uint32(d.length())}
	case 19, 20, 21:
		return &bytecode.Meta{Key: bytecode.MetaKey(d.n(40)), Dst: d.reg()}
	case 22:
		return &bytecode.MetaSet{Key: bytecode.MetaKey(d.n(40)), Src: d.reg()}
	case 23, 24:
		return &bytecode.CT{Key: bytecode.CTKey(d.n(26)), Dir: int8(d.n(3) - 1), Dst: d.reg()}
	case 25:
		return &bytecode.CTSet{Key: bytecode.CTKey(d.n(26)), Dir: int8(d.n(3) - 1), Src: d.reg()}
	case 26:
		return &bytecode.RT{Key: bytecode.RTKey(d.n(6)), Dst: d.reg()}
	case 27:
		return &bytecode.Socket{Key: bytecode.SocketKey(d.n(5)), Dst: d.reg()}
	case 28:
		return &bytecode.Fib{Flags: uint32(d.n(64)), Result: uint32(d.n(5)), Dst: d.reg()}
	case 29:
		return &bytecode.Osf{Dst: d.reg()}
	case 30:
		return &bytecode.Numgen{Random: d.n(2) == 1, Modulus: u32(), Offset: u32(), Dst: d.reg()}
	case 31:
		return &bytecode.Hash{Sym: d.n(2) == 1, Src: d.reg(), Len: uint32(d.length()), Modulus: u32(), Seed: u32(), SeedSet: d.n(2) == 1, Dst: d.reg()}
	case 32:
		return &bytecode.Xfrm{Key: bytecode.XfrmKey(d.n(7)), Dst: d.reg()}
	case 33:
		return &bytecode.Tunnel{Key: uint32(d.n(2)), Dst: d.reg()}
	case 34, 35:
		return d.stateful()
	case 36:
		return &bytecode.Reject{Type: uint32(d.n(3))}
	case 37:
		return &bytecode.NAT{Type: bytecode.NATType(d.n(2)), Family: []bytecode.Family{2, 10}[d.n(2)], AddrMin: d.reg(), AddrMax: d.reg(),
			ProtoMin: d.reg(), ProtoMax: d.reg(), Flags: uint32(d.n(128))}
	case 38:
		return &bytecode.Masq{ProtoMin: d.reg(), ProtoMax: d.reg(), Flags: uint32(d.n(32))}
	case 39:
		return &bytecode.Redir{ProtoMin: d.reg(), ProtoMax: d.reg()}
	case 40:
		return []bytecode.Instr{&bytecode.TProxy{Port: d.reg()}, &bytecode.Synproxy{}, &bytecode.Notrack{},
			&bytecode.FlowOffload{}, &bytecode.Dup{Dev: d.reg()}, &bytecode.Fwd{Dev: d.reg()}, &bytecode.Log{}}[d.n(7)]
	case 41:
		return &bytecode.QueueTo{HasSreg: d.n(2) == 1, Src: d.reg()}
	case 42:
		return &bytecode.Objref{Type: bytecode.ObjCounter, Object: []string{"o", "none"}[d.n(2)]}
	case 43:
		return &bytecode.ObjrefMap{Src: d.reg(), Set: []string{"om", "s"}[d.n(2)]}
	case 44:
		x := &bytecode.Dynset{Op: bytecode.DynsetOp(d.n(4)), Key: d.reg(), Set: []string{"dyn", "m", "s"}[d.n(3)], Invert: d.n(2) == 1,
			HasData: d.n(3) == 0, Data: d.reg(), Timeout: uint64(d.byte())}
		if d.n(2) == 1 {
			x.Exprs = append(x.Exprs, d.stateful())
		}
		return x
	}
	return &bytecode.Compat{Target: d.n(2) == 1}
}

func (d *dice) ruleset() *bytecode.Ruleset {
	four := []bytecode.Field{{Len: 4}}
	el := func() []byte { return d.bytes(4) }
	t := &bytecode.Table{Family: []bytecode.Family{1, 2, 10, 3, 5, 7}[d.n(6)], Name: "t",
		Sets: []*bytecode.Set{
			{Name: "s", Key: four, Flags: bytecode.SetInterval, Elements: []bytecode.Element{{Key: []byte{0, 0, 0, 1}}, {Key: []byte{0, 0, 1, 0}, Flags: bytecode.ElemIntervalEnd}}},
			{Name: "m", Key: four, Flags: bytecode.SetMap, DataKind: bytecode.DataValue, Data: four, Elements: []bytecode.Element{{Key: el(), Data: &bytecode.ElementData{Value: el()}}}},
			{Name: "v", Key: four, Flags: bytecode.SetMap, DataKind: bytecode.DataVerdict, Elements: []bytecode.Element{{Key: el(), Data: &bytecode.ElementData{Verdict: d.verdict()}}}},
			{Name: "dyn", Key: four, Flags: bytecode.SetEval | bytecode.SetTimeout, Timeout: time.Second, Size: 2},
			{Name: "om", Key: four, Flags: bytecode.SetMap | bytecode.SetObject, DataKind: bytecode.DataObject, ObjType: bytecode.ObjCounter,
				Elements: []bytecode.Element{{Key: el(), Data: &bytecode.ElementData{Object: "o"}}}},
		},
		Objects: []*bytecode.Object{{Name: "o", Type: bytecode.ObjCounter, Instr: &bytecode.Counter{}}},
	}
	for i, name := range []string{"r0", "r1", "base", "nat"} {
		c := &bytecode.Chain{Name: name}
		if i >= 2 {
			c.Base = &bytecode.Base{Type: "filter", Hook: bytecode.Hook(1 + d.n(7)), Policy: bytecode.Code(d.n(2)), PolicySet: true,
				Devices: []string{[]string{"lan0", "e*", ""}[d.n(3)]}}
			if i == 3 {
				c.Base.Type = []string{"nat", "route", "filter"}[d.n(3)]
			}
			if _, ok := c.Base.Hook.Num(t.Family); !ok {
				c.Base.Hook = bytecode.HookInput
				if t.Family == bytecode.FamilyNetdev {
					c.Base.Hook = bytecode.HookIngress
				}
			}
		}
		for range d.n(4) {
			r := &bytecode.Rule{}
			for range d.n(6) {
				r.Instrs = append(r.Instrs, d.instr(0))
			}
			c.Rules = append(c.Rules, r)
		}
		t.Chains = append(t.Chains, c)
	}
	return &bytecode.Ruleset{Tables: []*bytecode.Table{t}}
}

// repair drops the rules that New refuses, so that the others are run.
func repair(rs *bytecode.Ruleset) *Engine {
	for range 40 {
		e, err := New(rs, Env{})
		if err == nil {
			return e
		}
		gone := false
		for _, c := range rs.Tables[0].Chains {
			for i, r := range c.Rules {
				one := *rs.Tables[0]
				empty := make([]*bytecode.Chain, len(one.Chains))
				for k, o := range rs.Tables[0].Chains {
					cp := *o
					cp.Rules = nil
					if o == c {
						cp.Rules = []*bytecode.Rule{r}
					}
					empty[k] = &cp
				}
				one.Chains = empty
				if _, err := New(&bytecode.Ruleset{Tables: []*bytecode.Table{&one}}, Env{}); err != nil {
					c.Rules = append(c.Rules[:i:i], c.Rules[i+1:]...)
					gone = true
					break
				}
			}
		}
		if !gone {
			return nil
		}
	}
	return nil
}

func FuzzRun(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{0x45, 0, 0, 20}, uint8(1))
	f.Add([]byte("a longer seed for the rules, with some more bytes in it to draw from \x05\x06\x13\x14"), tcp4([4]byte{1, 2, 3, 4}, [4]byte{5, 6, 7, 8}, 9, 10, 2).Data, uint8(3))
	f.Fuzz(func(t *testing.T, rules, frame []byte, how uint8) {
		d := &dice{rules}
		e := repair(d.ruleset())
		if e == nil {
			return
		}
		var res Result
		for i := range 3 {
			var p packet.Packet
			lt := []packet.LinkType{packet.LinkRaw, packet.LinkEthernet}[int(how>>1)&1]
			b := append([]byte(nil), frame...)
			p.SetFrame(lt, b, len(b)+int(how>>6)*20)
			if how&1 == 0 {
				h := packet.Hook(1 + (int(how>>2)+i)%7)
				p.Stated.Path[0], p.Stated.PathLen = h, 1
			}
			if how&16 != 0 {
				p.Stated.Has |= packet.HasIifName
				p.Stated.IifName = "lan0"
			}
			opts := Options{Trace: how&32 != 0, Explain: how&32 != 0}
			opts.Probe = func(f *Failure, p *Probe) { p.Load(f.Rule.Instrs[:f.Instr+1], 4) }
			opts.ProbeMatch = func(ev *Event, p *Probe) { p.Load(ev.Rule.Instrs, 16) }
			e.RunOptions(&p, &res, opts)
			if res.Verdict > Unknown {
				t.Fatalf("verdict %v", res.Verdict)
			}
			e.Report(int64(i), "", &res)
		}
	})
}

// TestRandomPrograms runs programs of random bytes, most of which New refuses
// in part; what is left runs over packets at every hook.
func TestRandomPrograms(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 400
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	fill := func(b []byte) []byte {
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	ran, rules := 0, 0
	var res Result
	for range n {
		e := repair((&dice{fill(make([]byte, 600))}).ruleset())
		if e == nil {
			continue
		}
		ran++
		rules += len(e.ops)
		for h := packet.HookNone; h <= packet.HookEgress; h++ {
			p := tcp4([4]byte{1, 2, 3, byte(h)}, [4]byte{5, 6, 7, 8}, uint16(rnd.Uint32()), 10, byte(rnd.Uint32()))
			b := p.Data
			if rnd.IntN(2) == 0 {
				b = fill(make([]byte, rnd.IntN(90)))
				if len(b) > 0 && rnd.IntN(2) == 0 {
					b[0] = []byte{0x45, 0x60}[rnd.IntN(2)]
				}
			}
			p.SetFrame([]packet.LinkType{packet.LinkRaw, packet.LinkEthernet}[rnd.IntN(2)], b, len(b)+rnd.IntN(3)*30)
			if h != packet.HookNone {
				p.Stated.Path[0], p.Stated.PathLen = h, 1
			}
			if rnd.IntN(2) == 0 {
				p.Stated.Has, p.Stated.IifName = packet.HasIifName, "lan0"
			}
			e.RunOptions(p, &res, Options{Trace: true, Explain: true})
			e.Report(1, "", &res)
		}
	}
	if ran < n/2 || rules < n {
		t.Errorf("only %d of %d programs ran, with %d expressions", ran, n, rules)
	}
	t.Logf("%d programs, %d expressions", ran, rules)
}
