package eval

import (
	"encoding/hex"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// eval1 runs expressions on a packet at input and returns the first n bytes of
// register 1 afterwards, or false when the rule broke.
func eval1(t *testing.T, p *packet.Packet, n int, instrs ...bytecode.Instr) (string, bool) {
	t.Helper()
	c := &bytecode.Chain{Name: "c", Base: &bytecode.Base{Type: "filter", Hook: bytecode.HookInput, Policy: bytecode.Accept}}
	c.Rules = []*bytecode.Rule{{Instrs: append(instrs, verdictInstr(bytecode.Drop))}}
	rs := &bytecode.Ruleset{Tables: []*bytecode.Table{{Family: bytecode.FamilyInet, Name: "t", Chains: []*bytecode.Chain{c}}}}
	e := mustNew(t, rs, Env{})
	p.Stated.Path[0], p.Stated.PathLen = packet.HookInput, 1
	var res Result
	e.Run(p, &res)
	if res.Verdict == Unknown {
		t.Fatalf("unknown: %v", res.Unknown)
	}
	return hex.EncodeToString(e.w.regs[:n]), res.Verdict == Drop
}

func line(t *testing.T, s string) *packet.Packet {
	t.Helper()
	p := new(packet.Packet)
	if err := packet.ParseTuple(s, p); err != nil {
		t.Fatal(err)
	}
	return p
}

func imm(reg bytecode.Register, b ...byte) bytecode.Instr {
	return &bytecode.Immediate{Dst: reg, Data: data(b...)}
}

func TestInstructions(t *testing.T) {
	const udp = "udp 192.0.2.1:4660 > 198.51.100.1:53 in=lan0 "
	const tcp = "tcp 192.0.2.1:4660 > 198.51.100.1:80 options=mss:1460,sackperm,wscale:7 in=lan0 "
	pay := func(b bytecode.PayloadBase, off, n uint32) bytecode.Instr {
		return &bytecode.Payload{Base: b, Offset: off, Len: n, Dst: 1}
	}
	dirty := imm(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	for _, c := range []struct {
		name   string
		packet string
		instrs []bytecode.Instr
		want   string // register 1, "" when the rule breaks
	}{
		{"a load clears the rest of its slot", udp, []bytecode.Instr{dirty, pay(bytecode.BaseTransport, 0, 2)}, "12340000ffffffff"},
		{"one byte", udp, []bytecode.Instr{dirty, pay(bytecode.BaseNetwork, 9, 1)}, "11000000ffffffff"},
		{"six bytes", udp, []bytecode.Instr{dirty, pay(bytecode.BaseLink, 6, 6)}, "0200000000990000"},
		{"the last byte of the packet", udp, []bytecode.Instr{pay(bytecode.BaseTransport, 7, 1)}, "3f000000"},
		{"past the end", udp, []bytecode.Instr{pay(bytecode.BaseTransport, 8, 1)}, ""},
		{"past the end by one", udp, []bytecode.Instr{pay(bytecode.BaseTransport, 4, 5)}, ""},
		{"no link layer header", udp + "link=RAW", []bytecode.Instr{pay(bytecode.BaseLink, 0, 6)}, ""},
		{"inner header of udp", udp + "payload=c0ffee", []bytecode.Instr{pay(bytecode.BaseInner, 0, 3)}, "c0ffee00"},
		{"no transport header in later fragments", "ip 192.0.2.1 > 198.51.100.1 proto=17 frag=8 payload=0102030405060708 in=lan0",
			[]bytecode.Instr{pay(bytecode.BaseTransport, 0, 6)}, ""},
		{"mask and xor", udp, []bytecode.Instr{imm(1, 0xf0, 0x0f, 0xaa, 0x55), &bytecode.Bitwise{Src: 1, Dst: 1, Len: 4, Mask: data(0xff, 0, 0xff, 0xff), Xor: data(0, 1, 0, 0xff)}}, "f001aaaa"},
		{"mask clears the rest of the slot", udp, []bytecode.Instr{dirty, &bytecode.Bitwise{Src: 1, Dst: 1, Len: 1, Mask: data(0x0f), Xor: data(0)}}, "0f000000ffffffff"},
		{"left shift carries between slots", udp, []bytecode.Instr{imm(1, 1, 0, 0, 0, 0, 0, 0, 0x80), &bytecode.Bitwise{Op: bytecode.BitwiseLshift, Src: 1, Dst: 1, Len: 8, Shift: 1}}, "0300000000000000"},
		{"right shift carries between slots", udp, []bytecode.Instr{imm(1, 1, 0, 0, 0, 0, 0, 0, 0x80), &bytecode.Bitwise{Op: bytecode.BitwiseRshift, Src: 1, Dst: 1, Len: 8, Shift: 1}}, "00000000000000c0"},
		{"or of two registers", udp, []bytecode.Instr{imm(1, 1, 2), imm(2, 4, 8), &bytecode.Bitwise{Op: bytecode.BitwiseOr, Src: 1, Src2: 2, Dst: 1, Len: 2}}, "050a0000"},
		{"byteorder 2", udp, []bytecode.Instr{imm(1, 1, 2, 9, 9), &bytecode.Byteorder{Src: 1, Dst: 1, Hton: true, Len: 2, Size: 2}}, "02010000"},
		{"byteorder 4 twice", udp, []bytecode.Instr{imm(1, 1, 2, 3, 4, 5, 6, 7, 8), &bytecode.Byteorder{Src: 1, Dst: 1, Len: 8, Size: 4}}, "0403020108070605"},
		{"byteorder 8", udp, []bytecode.Instr{imm(1, 1, 2, 3, 4, 5, 6, 7, 8), &bytecode.Byteorder{Src: 1, Dst: 1, Len: 8, Size: 8}}, "0807060504030201"},
		{"cmp compares a prefix", udp, []bytecode.Instr{imm(1, 'e', 't', 'h', '0'), &bytecode.Cmp{Src: 1, Data: data('e', 't', 'h')}}, "65746830"},
		{"cmp lt", udp, []bytecode.Instr{imm(1, 0, 5), &bytecode.Cmp{Op: bytecode.CmpLt, Src: 1, Data: data(0, 5)}}, ""},
		{"cmp lte", udp, []bytecode.Instr{imm(1, 0, 5), &bytecode.Cmp{Op: bytecode.CmpLte, Src: 1, Data: data(0, 5)}}, "00050000"},
		{"cmp gt", udp, []bytecode.Instr{imm(1, 1, 0), &bytecode.Cmp{Op: bytecode.CmpGt, Src: 1, Data: data(0, 0xff)}}, "01000000"},
		{"range", udp, []bytecode.Instr{imm(1, 0, 5), &bytecode.Range{Src: 1, From: data(0, 5), To: data(0, 9)}}, "00050000"},
		{"range neq", udp, []bytecode.Instr{imm(1, 0, 5), &bytecode.Range{Neg: true, Src: 1, From: data(0, 5), To: data(0, 9)}}, ""},
		{"meta length", udp + "payload=0102", []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaLen, Dst: 1}}, "1e000000"},
		{"meta protocol", udp, []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaProtocol, Dst: 1}}, "08000000"},
		{"meta nfproto", udp, []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaNFProto, Dst: 1}}, "02000000"},
		{"meta iifname", udp, []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaIIFName, Dst: 1}}, "6c616e30000000000000000000000000"},
		{"meta oifname at input", udp, []bytecode.Instr{dirty, &bytecode.Meta{Key: bytecode.MetaOIFName, Dst: 1}}, "00000000000000000000000000000000"},
		{"meta oiftype at input", udp, []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaOIFType, Dst: 1}}, ""},
		{"meta iiftype", udp, []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaIIFType, Dst: 1}}, "01000000"},
		{"meta mark", udp + "mark=0x01020304", []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaMark, Dst: 1}}, "04030201"},
		{"meta mark set", udp, []bytecode.Instr{imm(1, 9, 0, 0, 0), &bytecode.MetaSet{Key: bytecode.MetaMark, Src: 1}, imm(1, 0, 0, 0, 0), &bytecode.Meta{Key: bytecode.MetaMark, Dst: 1}}, "09000000"},
		{"meta day is Thursday", udp + "time=0.5", []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaTimeDay, Dst: 1}}, "04000000"},
		{"meta hour", udp + "time=90061", []bytecode.Instr{&bytecode.Meta{Key: bytecode.MetaTimeHour, Dst: 1}}, "4d0e0000"},
		{"tcp option", tcp, []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrTCPOpt, Type: 2, Offset: 2, Len: 2, Dst: 1}}, "05b40000"},
		{"tcp option too short", tcp, []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrTCPOpt, Type: 2, Offset: 2, Len: 3, Dst: 1}}, ""},
		{"tcp option present", tcp, []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrTCPOpt, Type: 4, Len: 1, Present: true, Dst: 1}}, "01000000"},
		{"tcp option missing", tcp, []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrTCPOpt, Type: 8, Len: 1, Present: true, Dst: 1}}, "00000000"},
		{"tcp option of udp", udp, []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrTCPOpt, Type: 8, Len: 1, Present: true, Dst: 1}}, "00000000"},
		{"ipv6 header of ipv4", udp, []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrIPv6, Type: 0, Len: 1, Present: true, Dst: 1}}, ""},
		{"hop-by-hop", "udp [2001:db8::1]:1 > [2001:db8::2]:2 ext=hbh in=lan0", []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrIPv6, Type: 0, Len: 1, Present: true, Dst: 1}}, "01000000"},
		{"no fragment header", "udp [2001:db8::1]:1 > [2001:db8::2]:2 ext=hbh in=lan0", []bytecode.Instr{&bytecode.Exthdr{Op: bytecode.ExthdrIPv6, Type: 44, Offset: 0, Len: 1, Dst: 1}}, ""},
		{"jhash with a seed", udp, []bytecode.Instr{imm(1, 1, 8, 15), &bytecode.Hash{Src: 1, Len: 3, Modulus: 1 << 31, Seed: 0x12345678, SeedSet: true, Dst: 1}}, "ef72786c"},
		{"numgen inc starts at the offset", udp, []bytecode.Instr{&bytecode.Numgen{Modulus: 3, Offset: 7, Dst: 1}}, "07000000"},
		{"socket of icmp", "icmp 192.0.2.1 > 198.51.100.1 type=8 in=lan0", []bytecode.Instr{&bytecode.Socket{Key: bytecode.SocketMark, Dst: 1}}, ""},
		{"fib type of a multicast address", "udp 192.0.2.1:1 > 224.0.0.5:2 in=lan0", []bytecode.Instr{&bytecode.Fib{Flags: fibDaddr, Result: fibAddrType, Dst: 1}}, "05000000"},
		{"fib type without a host model", udp, []bytecode.Instr{&bytecode.Fib{Flags: fibDaddr, Result: fibAddrType, Dst: 1}}, "02000000"},
		{"rt at input", udp, []bytecode.Instr{&bytecode.RT{Key: bytecode.RTNextHop6, Dst: 1}}, ""},
		{"limit over", udp, []bytecode.Instr{imm(1, 1), &bytecode.Limit{Rate: 1, Unit: 1, Burst: 1, Over: true}}, ""},
		{"quota over", udp, []bytecode.Instr{imm(1, 1), &bytecode.Quota{Bytes: 10, Over: true}}, "01000000"},
		{"quota used up", udp, []bytecode.Instr{imm(1, 1), &bytecode.Quota{Bytes: 10}}, ""},
		{"vxlan", udp[:len(udp)-len("in=lan0 ")] + "in=lan0 payload=0800000000002a00" + "020000000001" + "020000000002" + "0800" + "4500001c000000004011000001020304050607080009000a00080000",
			[]bytecode.Instr{&bytecode.Inner{Type: 1, HdrSize: 8, Flags: 15, Instr: &bytecode.Payload{Base: bytecode.BaseTransport, Offset: 2, Len: 2, Dst: 1}}}, "000a0000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := max(len(c.want)/2, 4)
			got, ok := eval1(t, line(t, c.packet), n, c.instrs...)
			if !ok {
				got = ""
			}
			if got != c.want {
				t.Errorf("register 1 is %q, want %q", got, c.want)
			}
		})
	}
}

func TestChecksumsAfterMangling(t *testing.T) {
	for _, c := range []struct {
		name, packet string
		instrs       []bytecode.Instr
	}{
		{"ip address", "tcp 192.0.2.1:1 > 198.51.100.1:80 in=lan0", []bytecode.Instr{imm(1, 10, 0, 0, 9),
			&bytecode.PayloadSet{Src: 1, Base: bytecode.BaseNetwork, Offset: 12, Len: 4, CsumType: 1, CsumOff: 10, CsumFlags: 1}}},
		{"udp port", "udp 192.0.2.1:1 > 198.51.100.1:80 in=lan0", []bytecode.Instr{imm(1, 0, 99),
			&bytecode.PayloadSet{Src: 1, Base: bytecode.BaseTransport, Offset: 2, Len: 2, CsumType: 1, CsumOff: 6}}},
		{"mss", "tcp 192.0.2.1:1 > 198.51.100.1:80 options=mss:1460 in=lan0", []bytecode.Instr{imm(1, 4, 0),
			&bytecode.ExthdrSet{Op: bytecode.ExthdrTCPOpt, Type: 2, Offset: 2, Len: 2, Src: 1}}},
		{"option reset", "tcp 192.0.2.1:1 > 198.51.100.1:80 options=mss:1460,sackperm,timestamp:5 in=lan0", []bytecode.Instr{
			&bytecode.ExthdrReset{Op: bytecode.ExthdrTCPOpt, Type: 4}, &bytecode.ExthdrReset{Op: bytecode.ExthdrTCPOpt, Type: 8}}},
		{"sctp port", "sctp 192.0.2.1:1 > 198.51.100.1:80 chunk=init in=lan0", []bytecode.Instr{imm(1, 0, 99),
			&bytecode.PayloadSet{Src: 1, Base: bytecode.BaseTransport, Offset: 2, Len: 2, CsumType: 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := line(t, c.packet)
			before := string(p.Data)
			if _, ok := eval1(t, p, 4, c.instrs...); !ok {
				t.Fatal("the rule broke")
			}
			if string(p.Data) == before {
				t.Fatal("nothing changed")
			}
			p.Enter(packet.ViewInet)
			if packet.Checksum(p.Data[p.NH:p.NH+20], 0) != 0 {
				t.Error("bad header checksum")
			}
			seg := p.Data[p.Info.TH:p.Info.End]
			if p.Info.L4Proto == packet.ProtoSCTP {
				return
			}
			sum := packet.PartialSum(p.Data[p.NH+12:p.NH+20], 0) + uint32(p.Info.L4Proto) + uint32(len(seg))
			if packet.Checksum(seg, sum) != 0 {
				t.Error("bad transport checksum")
			}
		})
	}
}

func TestRefusedPrograms(t *testing.T) {
	jump := func(to string) []bytecode.Instr {
		return []bytecode.Instr{&bytecode.Immediate{Verdict: bytecode.Verdict{Code: bytecode.Jump, Chain: to}}}
	}
	for name, rule := range map[string][]bytecode.Instr{
		"register beyond the file":  {&bytecode.Payload{Base: bytecode.BaseNetwork, Len: 32, Dst: bytecode.Reg4}},
		"no such register":          {&bytecode.Meta{Key: bytecode.MetaMark, Dst: 7}},
		"data in the verdict":       {&bytecode.Payload{Base: bytecode.BaseNetwork, Len: 4, Dst: 0}},
		"jump to nowhere":           jump("nowhere"),
		"jump to a base chain":      jump("c"),
		"no such set":               {&bytecode.Lookup{Src: 1, Set: "s"}},
		"shift by a word":           {&bytecode.Bitwise{Op: bytecode.BitwiseLshift, Src: 1, Dst: 1, Len: 4, Shift: 32}},
		"modulus 0":                 {&bytecode.Numgen{Dst: 1}},
		"rate 0":                    {&bytecode.Limit{Unit: 1}},
		"nil expression":            {nil},
		"object as an expression":   {&bytecode.ObjSecmarkSpec{}},
		"range of different widths": {&bytecode.Range{Src: 1, From: data(1), To: data(1, 2)}},
	} {
		if _, err := New(ruleset(bytecode.HookInput, bytecode.Accept, rule), Env{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	loop := ruleset(bytecode.HookInput, bytecode.Accept)
	for _, n := range []string{"a", "b"} {
		loop.Tables[0].Chains = append(loop.Tables[0].Chains, &bytecode.Chain{Name: n, Rules: []*bytecode.Rule{{Instrs: jump(map[string]string{"a": "b", "b": "a"}[n])}}})
	}
	if _, err := New(loop, Env{}); err == nil {
		t.Error("loop: accepted")
	}
}
