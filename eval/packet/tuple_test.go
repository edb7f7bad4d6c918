package packet

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseTupleBuilds(t *testing.T) {
	const eth4 = "020000000010 020000000099 0800 "
	const eth6 = "020000000010 020000000099 86dd "
	tests := []struct{ name, line, hex string }{
		{"tcp", "p1: tcp 198.51.100.9:9 > 198.51.100.1:22 flags=syn id=77 in=lan0 hook=input => accept",
			eth4 + "45000028004d000040062612c6336409c633640100090016000003e8000000005002faf05c790000"},
		{"tcp with flags", "tcp 198.51.100.9:9 > 198.51.100.1:22 id=77 flags=syn,psh",
			eth4 + "45000028004d000040062612c6336409c633640100090016000003e800000000500afaf05c710000"},
		{"udp with payload", "udp 198.51.100.9:9 > 198.51.100.1:2049 id=77 payload=7878787878787878",
			eth4 + "45000024004d00004011260bc6336409c6336401000908010010c1707878787878787878"},
		{"tcp over ipv6", "tcp [2001:db8:1::9]:9 > [2001:db8:1::1]:2049",
			eth6 + "600000000014064020010db800010000000000000000000920010db8000100000000000000000001 00090801000003e8000000005002faf04d820000"},
		{"udp over ipv6", "udp [2001:db8:1::9]:9>[2001:db8:1::1]:53 payload=7878787878787878",
			eth6 + "600000000010114020010db800010000000000000000000920010db8000100000000000000000001 000900350010c2307878787878787878"},
		{"icmp", "icmp 198.51.100.9 > 198.51.100.1 type=8 ip.id=77 id=1 sequence=1 payload=61626364",
			eth4 + "45000020004d00004001261fc6336409c63364010800333700010001 61626364"},
		{"raw", "ip 192.0.2.1 > 192.0.2.2 proto=89 link=RAW payload=01",
			"450000150000000040 59 f68c c0000201 c0000202 01"},
		{"vlan", "arp 192.0.2.1 > 192.0.2.2 vid=5 pcp=3 dmac=ff:ff:ff:ff:ff:ff",
			"ffffffffffff 020000000099 8100 6005 0806 0001 0800 06 04 0001 020000000099 c0000201 000000000000 c0000202"},
		{"ether", "ether 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff type=0x88cc payload=0207",
			"ffffffffffff 020000000001 88cc 0207"},
		{"ipv6 extension headers", "ip6 2001:db8::1 > 2001:db8::2 nexthdr=59 ext=hbh,dst:010400000000 frag=1480+ link=RAW",
			"6000000000180040 20010db8000000000000000000000001 20010db8000000000000000000000002" +
				"3c00 010400000000  2c00 010400000000  3b00 05c9 00000001"},
		{"mss", "tcp 1.2.3.4:1 > 5.6.7.8:2 link=RAW mss=1460 checksum=0x1234 frag=df",
			"4500002c000040004006 2ab9 01020304 05060708 00010002000003e800000000 6002faf0 12340000 020405b4"},
		{"length", "udp 1.2.3.4:1 > 5.6.7.8:2 link=RAW len=30 checksum=0",
			"4500001e00000000 4011 6abc 01020304 05060708 00010002 000a 0000 0000"},
		{"frame", "frame=4500001e link=RAW wirelen=30", "4500001e"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p, q Packet
			if err := ParseTuple(tt.line, &p); err != nil {
				t.Fatal(err)
			}
			if want := unhex(t, tt.hex); !bytes.Equal(p.Data, want) {
				t.Errorf("got  %x\nwant %x", p.Data, want)
			}
			line := p.Tuple()
			if err := ParseTuple(line, &q); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if !bytes.Equal(p.Data, q.Data) || p.Stated != q.Stated || p.WireLen != q.WireLen || p.LinkType != q.LinkType {
				t.Errorf("%s\ngives %x, not %x", line, q.Data, p.Data)
			}
			if again := q.Tuple(); again != line {
				t.Errorf("printed\n%s\nthen\n%s", line, again)
			}
		})
	}
}

func TestParseTupleStates(t *testing.T) {
	line := `x: tcp 1.2.3.4:1 > 5.6.7.8:2 in="Ethernet 2" out=wan0 path=prerouting,input mark=0x10 iif=3 oiftype=ppp pkttype=multicast ` +
		`skuid=1000 cgroup=7 ct=established,related ct.mark=0x7 ct.zone=3 ct.direction=reply ct.status=assured,confirmed ct.label=0,127 ct.bytes=9 ` +
		`time=1700000000.25 dir=in => drop; matches: a, b`
	var p Packet
	if err := ParseTuple(line, &p); err != nil {
		t.Fatal(err)
	}
	s := p.Stated
	if s.IifName != "Ethernet 2" || s.OifName != "wan0" || s.PathString() != "prerouting,input" || s.Mark != 16 || s.Iif != 3 ||
		s.OifType != DevPPP || s.PktType != PktMulticast || s.Skuid != 1000 || s.CT.State != CTEstablished|CTRelated || s.CT.Zone != 3 ||
		!s.CT.Reply || s.CT.Status != 0xc || s.CT.Label[15] != 0x80 || s.CT.Bytes != 9 || s.TimeNs != 1700000000250000000 ||
		s.Direction != DirIn || s.Expect != "drop" || s.ExpectRest != "matches: a, b" || p.Name != "x" {
		t.Errorf("%+v", s)
	}
	var q Packet
	if err := ParseTuple(p.Tuple(), &q); err != nil {
		t.Fatal(err)
	}
	if q.Stated != p.Stated || q.Name != p.Name {
		t.Errorf("%s\ngives %+v\nnot %+v", p.Tuple(), q.Stated, p.Stated)
	}
}

func TestParseTupleErrors(t *testing.T) {
	tests := []struct{ line, want string }{
		{"tpc 1.2.3.4:1 > 5.6.7.8:2", `column 1: "tpc" is no protocol: tcp, udp, udplite, sctp, dccp, icmp, icmpv6, igmp, esp, ah, comp, gre, ip, ip6, arp, ether; did you mean "tcp"?`},
		{"tcp 1.2.3.4 > 5.6.7.8:2", `column 5: tcp needs a port: 1.2.3.4:PORT`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:99999", `column 25: "99999" is no port from 0 to 65535`},
		{"tcp 1.2.3.4:1 > [2001:db8::1]:2", `column 17: 1.2.3.4:1 and [2001:db8::1]:2 are of different families`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 flag=syn", `column 27: unknown key "flag"; did you mean "flags"?`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 flags=sny", `column 33: flags: "sny" is none of fin, syn, rst, psh, ack, urg, ecn, cwr, nor a number; did you mean "syn"?`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 ttl=256", `column 31: ttl: "256" is not a number from 0 to 255`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 hook=inptu", `column 32: hook: "inptu" is no hook: ingress, prerouting, input, forward, output, postrouting, egress; did you mean "input"?`},
		{"udp 1.2.3.4:1 > 5.6.7.8:2 flags=syn", `column 27: flags= does not fit a packet of udp: it is a field of tcp, comp, gre`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 => acept", `column 30: "acept" is no verdict: accept, drop, reject, queue, stolen, stack, unknown, none; did you mean "accept"?`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 =>", `column 27: => without a verdict: expected accept, drop, reject, queue, stolen, stack, unknown, none`},
		{"tcp 1.2.3.4:1 5.6.7.8:2", `column 5: tcp: expected SOURCE > DESTINATION after it`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 syn", `column 27: "syn": expected KEY=VALUE or => VERDICT`},
		{"tcp 1.2.3.4:1 > 5.6.7.8:2 ttl=1 ttl=2", `column 33: ttl= is given twice`},
		{"icmp 2001:db8::1 > 2001:db8::2", `column 6: icmp needs IPv4 addresses`},
		{"icmp 1.2.3.4:5 > 1.2.3.4", `column 6: icmp has no ports, found "1.2.3.4:5"`},
		{"in=lan0", `column 1: no protocol and no frame=: expected PROTO SOURCE > DESTINATION`},
		{`tcp 1.2.3.4:1 > 5.6.7.8:2 in="lan`, `column 30: the quotation mark is not closed, or a bad escape follows it`},
		{"udp 1.2.3.4:1 > 5.6.7.8:2 len=20", `column 1: len=20 is less than the 28 bytes of headers and payload`},
		{"arp 1.2.3.4 > 5.6.7.8 link=RAW", `column 1: link=RAW has no room for "arp", only for IP`},
		{"udp 1.2.3.4:1 > 5.6.7.8:2 mss=5", `column 27: mss= would have no effect: only TCP has it`},
		{"udp 1.2.3.4:1 > 5.6.7.8:2 frame=00 ttl=5", `column 36: ttl= would have no effect: frame= gives all bytes`},
		{"udp 1.2.3.4:1 > 5.6.7.8:2 vid=5 link=RAW", `column 27: vid= would have no effect: link=RAW has no Ethernet header`},
		{"tcp [2001:db8::1]:1 > [2001:db8::2]:2 id=5", `column 39: id= does not fit a packet of tcp: it is a field of icmp, icmpv6, ip, frag, vlan`},
		{"udp 1.2.3.4:1 > 5.6.7.8:2 payload=abc", `column 35: payload: "abc" is not an even number of hex digits`},
	}
	for _, tt := range tests {
		var p Packet
		err := ParseTuple(tt.line, &p)
		var le *LineError
		if !errors.As(err, &le) {
			t.Errorf("%s: got %v, want %s", tt.line, err, tt.want)
		} else if err.Error() != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.line, err, tt.want)
		}
	}
}

// readAll reads a text source to its end: the packets as lines, then the error.
func readAll(t *testing.T, name, text string) ([]string, error) {
	t.Helper()
	s, err := NewSource(name, strings.NewReader(text), KindAny)
	if err != nil {
		return nil, err
	}
	var p Packet
	var out []string
	for {
		if err := s.Next(&p); err != nil {
			if err == io.EOF {
				err = nil
			}
			return out, err
		}
		out = append(out, p.Tuple())
	}
}

func TestTextSources(t *testing.T) {
	want := []string{
		"p1: tcp 198.51.100.9:9 > 198.51.100.1:22 flags=syn,ack in=lan0 hook=input mark=0x10 => accept",
		"udp [2001:db8::9]:9 > [2001:db8::1]:53 vid=0 in=lan0 => drop; matches: a",
		"icmp 192.0.2.1 > 192.0.2.2 ct=established",
	}
	sources := map[string]string{
		"f.txt": "# packets\n\n" + strings.Join(want, "\n") + "\n",
		"f.csv": "name,proto,src,sport,dst,dport,flags,in,hook,mark,vid,ct,expect\n" +
			"p1,tcp,198.51.100.9,9,198.51.100.1,22,\"syn,ack\",lan0,input,16,,,accept\n" +
			",udp,2001:db8::9,9,2001:db8::1,53,,lan0,,,0,,drop; matches: a\n" +
			",1,192.0.2.1,,192.0.2.2,,,,,,,established,\n",
		"f.jsonl": `{"name":"p1","proto":"tcp","src":"198.51.100.9:9","dst":"198.51.100.1","dport":22,"flags":["syn","ack"],"in":"lan0","hook":"input","mark":16,"verdict":"accept"}` + "\n" +
			`{"packet":"udp [2001:db8::9]:9 > [2001:db8::1]:53 vid=0","in":"lan0","expect":"drop; matches: a"}` + "\n\n" +
			`{"proto":"icmp","saddr":"192.0.2.1","daddr":"192.0.2.2","ct":{"state":"established"},"mark":null}` + "\n",
	}
	for name, text := range sources {
		got, err := readAll(t, name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestTextSourceErrors(t *testing.T) {
	tests := []struct {
		name, text string
		packets    int
		want       string
	}{
		{"f.txt", "tcp 1.2.3.4:1 > 5.6.7.8:2\nbad\nudp 1.2.3.4:1 > 5.6.7.8:2 xx=1\nudp 1.2.3.4:1 > 5.6.7.8:2 count=3\n", 4,
			"f.txt:2:1: \"bad\" is no protocol: tcp, udp, udplite, sctp, dccp, icmp, icmpv6, igmp, esp, ah, comp, gre, ip, ip6, arp, ether\n" +
				"f.txt:3:27: unknown key \"xx\""},
		{"f.csv", "proto,src,dts\ntcp,1.2.3.4:1,5.6.7.8:2\n", 0, `f.csv:1:11: unknown column "dts"; did you mean "dst"?`},
		{"f.csv", "proto,src,dst\ntcp,1.2.3.4:1,5.6.7.8:2\ntcp,1.2.3.4:1,nonsense\n,,\n", 1,
			"f.csv:3:15: \"nonsense\" is no IPv4 or IPv6 address\nf.csv:4:1: no protocol and no frame=: expected PROTO SOURCE > DESTINATION"},
		{"f.jsonl", `{"proto":"tcp","src":"1.2.3.4:1","dst":"5.6.7.8:2"}` + "\n" + `{"proto":"tcp"` + "\n" + `{"proto":"tcp","src":"1.2.3.4:1","dst":"5.6.7.8:2","tttl":3}`, 1,
			"f.jsonl:2:15: the JSON object is not closed\nf.jsonl:3:52: unknown key \"tttl\"; did you mean \"ttl\""},
		{"f.bin", "\x7f\x02\x01\x01", 0, `f.bin: offset 0: found bytes 7f 02 01 01 ("\x7f\x02\x01\x01"), expected a pcap or pcapng capture, or packets in text`},
		{"f.xz", "\xfd7zXZ\x00", 0, `f.xz: offset 0: found xz compressed data, expected a pcap or pcapng capture, or packets in text`},
		{"f.pcap", "", 0, "f.pcap: offset 0: the file is empty"},
	}
	for _, tt := range tests {
		got, err := readAll(t, tt.name, tt.text)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.name, err, tt.want)
		}
		if len(got) != tt.packets {
			t.Errorf("%s: %d packets, want %d", tt.name, len(got), tt.packets)
		}
	}
}

// TestCasePackets reads the packets of the shared cases, and compares them with
// the captures beside them.
func TestCasePackets(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared(t), "cases", "*", "packets.txt"))
	if len(files) == 0 {
		t.Skip("shared test data is absent")
	}
	for _, file := range files {
		text, err := Open(file, KindTuples, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want []*Packet
		captures, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "packets*.pcap"))
		if len(captures) == 2 { // ruleset before ranged
			captures[0], captures[1] = captures[1], captures[0]
		}
		for _, c := range captures {
			s, err := Open(c, KindCapture, nil)
			if err != nil {
				t.Fatal(err)
			}
			for {
				p := &Packet{}
				if s.Next(p) != nil {
					break
				}
				want = append(want, p.Clone())
			}
			s.Close()
		}
		var p Packet
		for i := 0; ; i++ {
			err := text.Next(&p)
			if err == io.EOF {
				if i != len(want) {
					t.Errorf("%s: %d packets, the captures have %d", file, i, len(want))
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Stated.Expect == "" || p.Stated.IifName != "lan0" || p.Stated.PathString() != "input" {
				t.Errorf("%s: %s", file, p.Tuple())
			}
			if i >= len(want) {
				continue
			}
			q := want[i]
			p.Enter(ViewInet)
			q.Enter(ViewInet)
			a, b := make([]byte, 4), make([]byte, 4)
			p.Load(BaseTransport, 0, a)
			q.Load(BaseTransport, 0, b)
			if p.EtherType != q.EtherType || p.Info.L4Proto != q.Info.L4Proto || p.Info.L4Proto != ProtoICMP && !bytes.Equal(a, b) {
				t.Errorf("%s: %s\nbut the capture has %s", file, p.Tuple(), q.Tuple())
			}
		}
		text.Close()
	}
}

// TestCorpusTuples prints the packets of the corpus and reads them back.
func TestCorpusTuples(t *testing.T) {
	dir, lines := manifest(t)
	var p, q Packet
	total, exact := 0, 0
	for _, m := range lines {
		s, err := Open(filepath.Join(dir, m.File), KindCapture, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 50; n++ {
			if s.Next(&p) != nil {
				break
			}
			line := p.Tuple()
			total++
			if strings.Contains(line, "frame=") {
				exact++
			}
			if err := ParseTuple(line, &q); err != nil {
				t.Fatalf("%s, packet %d: %s: %v", m.File, p.Index, line, err)
			}
			if !bytes.Equal(p.Data, q.Data) || p.WireLen != q.WireLen || p.LinkType != q.LinkType || p.Stated != q.Stated {
				t.Fatalf("%s, packet %d: %s\ngives %s\nnot   %s\nstated %+v\nnot %+v", m.File, p.Index, line,
					hex.EncodeToString(q.Data), hex.EncodeToString(p.Data), q.Stated, p.Stated)
			}
		}
		s.Close()
	}
	t.Logf("%d packets, %d of them with frame=", total, exact)
}

func TestOpenErrors(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "absent.pcap"), KindAny, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.TempDir(), KindAny, nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
}
