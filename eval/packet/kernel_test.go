package packet

import (
	"encoding/hex"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// evalMatch answers one match of testdata/kernel-6.18 for the hook entered. It
// knows only the forms used there.
func evalMatch(t *testing.T, p *Packet, match string) bool {
	t.Helper()
	load := func(base Base, off, n int, want string) bool {
		b := make([]byte, n)
		return p.Load(base, off, b) == None && hex.EncodeToString(b) == want
	}
	l4 := func(proto uint8) bool { return p.Info.L4Set && p.Info.L4Proto == proto }
	ext := func(target uint8, off, n int, want string) bool {
		at, a := p.FindIPv6Header(target)
		return a == None && (n == 0 || load(BaseNetwork, at-p.NH+off, n, want))
	}
	opt4 := func(target uint8, off int, want string) bool {
		at, a := p.FindIPv4Option(target)
		return a == None && (want == "" || load(BaseNetwork, at-p.NH+off, 1, want))
	}
	opt := func(kind uint8, off int, want string) bool {
		b := make([]byte, max(1, len(want)/2))
		return p.LoadTCPOption(kind, off, b) == None && (want == "" || hex.EncodeToString(b) == want)
	}
	chunk := func(typ uint8, off int, want string) bool {
		if want == "" {
			_, _, a := p.FindSCTPChunk(typ)
			return a == None
		}
		b := make([]byte, len(want)/2)
		return p.LoadSCTPChunk(typ, off, b) == None && hex.EncodeToString(b) == want
	}
	if raw, ok := strings.CutPrefix(match, "@"); ok { // @BASE,BITS,BITS VALUE
		spec, value, _ := strings.Cut(raw, " ")
		f := strings.Split(spec, ",")
		base := map[string]Base{"ll": BaseLL, "nh": BaseNetwork, "th": BaseTransport, "ih": BaseInner}[f[0]]
		off, _ := strconv.Atoi(f[1])
		bits, _ := strconv.Atoi(f[2])
		want, _ := strings.CutPrefix(value, "0x")
		if want == value {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			want = strconv.FormatUint(n, 16)
		}
		return load(base, off/8, bits/8, strings.Repeat("0", max(0, bits/4-len(want)))+want)
	}
	words := map[string]uint8{
		"lsrr": IPOptLSRR, "ssrr": IPOptSSRR, "rr": IPOptRR, "ra": IPOptRouterAlert,
		"maxseg": TCPOptMSS, "window": TCPOptWindow, "sack-perm": TCPOptSACKPerm, "timestamp": TCPOptTimestamp, "30": 30, "sack": TCPOptSACK, "nop": TCPOptNOP, "eol": TCPOptEOL,
		"hbh": ProtoHopOpts, "rt": ProtoRouting, "frag": ProtoFragment, "dst": ProtoDstOpts, "mh": ProtoMH,
		"data": 0, "init": 1, "heartbeat": 4,
		"tcp": ProtoTCP, "udp": ProtoUDP, "59": ProtoNone, "sctp": ProtoSCTP,
		"broadcast": uint8(PktBroadcast), "multicast": uint8(PktMulticast),
	}
	protocols := map[string]uint16{"ip": EtherIPv4, "arp": EtherARP, "vlan": EtherVLAN, "4": Ether802_2, "1": Ether802_3}
	f := strings.Fields(match)
	switch {
	case strings.HasPrefix(match, "ip option ") && f[3] == "exists":
		return opt4(words[f[2]], 0, "")
	case strings.HasPrefix(match, "tcp option ") && f[3] == "exists":
		return opt(words[f[2]], 0, "")
	case strings.HasPrefix(match, "sctp chunk ") && f[3] == "exists":
		return chunk(words[f[2]], 0, "")
	case f[0] == "exthdr":
		return ext(words[f[1]], 0, 0, "")
	case f[0] == "meta" && f[1] == "l4proto":
		return l4(words[f[2]])
	case f[0] == "meta" && f[1] == "protocol":
		return p.EtherType == protocols[f[2]]
	case f[0] == "meta" && f[1] == "pkttype":
		return uint8(p.PktType) == words[f[2]]
	case f[0] == "meta" && f[1] == "length":
		n, _ := strconv.Atoi(f[len(f)-1])
		if f[2] == ">" {
			return p.Info.Len() > n
		}
		return p.Info.Len() == n
	}
	switch match {
	case "ip option rr ptr 4":
		return opt4(IPOptRR, 2, "04")
	case "ip option lsrr length 7":
		return opt4(IPOptLSRR, 1, "07")
	case "tcp option maxseg size 1460":
		return opt(TCPOptMSS, 2, "05b4")
	case "tcp option window count 7":
		return opt(TCPOptWindow, 2, "07")
	case "tcp option timestamp tsval 1":
		return opt(TCPOptTimestamp, 2, "00000001")
	case "sctp chunk data length 4":
		return chunk(0, 2, "0004")
	case "sctp chunk sack flags 0":
		return chunk(3, 1, "00")
	case "hbh nexthdr 6":
		return ext(ProtoHopOpts, 0, 1, "06")
	case "frag id 1":
		return ext(ProtoFragment, 4, 4, "00000001")
	case "rt seg-left 0":
		return ext(ProtoRouting, 3, 1, "00")
	case "dst hdrlength 0":
		return ext(ProtoDstOpts, 1, 1, "00")
	case "tcp dport 22":
		return l4(ProtoTCP) && load(BaseTransport, 2, 2, "0016")
	case "udp length 8":
		return l4(ProtoUDP) && load(BaseTransport, 4, 2, "0008")
	case "dccp type data":
		b := make([]byte, 1)
		return l4(ProtoDCCP) && p.Load(BaseTransport, 8, b) == None && b[0]>>1&0x0f == 2
	case "ip6 nexthdr 6":
		return p.NFProto == NFProtoIPv6 && load(BaseNetwork, 6, 1, "06")
	case "input-hook": // fragments of IPv4 wait for the others
		fragment := p.NFProto == NFProtoIPv4 && be16(p.Data[p.NH+6:])&0x3fff != 0
		return !fragment && p.StackRoute() == StackNone
	}
	t.Fatalf("unknown match %q", match)
	return false
}

// TestKernelRecords gives the packets recorded from the kernel to this package:
// the same matches must hold.
func TestKernelRecords(t *testing.T) {
	for _, tt := range []struct {
		file string
		view View
	}{
		{"inet-prerouting.txt", ViewInet},
		{"netdev-ingress.txt", ViewIngress},
		{"netdev-ingress-ethernet.txt", ViewIngress},
	} {
		t.Run(tt.file, func(t *testing.T) {
			type record struct {
				p    *Packet
				line int
				held map[string]bool
			}
			var records []record
			all := map[string]bool{}
			s, err := Open(filepath.Join("testdata", "kernel-6.18", tt.file), KindTuples, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for {
				var p Packet
				err := s.Next(&p)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				list := strings.TrimSpace(strings.TrimPrefix(p.Stated.ExpectRest, "matches:"))
				held := map[string]bool{}
				for _, m := range strings.Split(list, ", ") {
					if m != "" {
						held[m], all[m] = true, true
					}
				}
				records = append(records, record{p.Clone(), p.Line, held})
			}
			if len(records) < 200 || len(all) < 20 {
				t.Fatalf("only %d packets, %d matches", len(records), len(all))
			}
			for _, r := range records {
				dropped := tt.view == ViewInet && r.p.StackPrerouting() != StackNone || r.p.StackIngress() != StackNone
				r.p.Enter(tt.view)
				for m := range all {
					if got := !dropped && evalMatch(t, r.p, m); got != r.held[m] {
						t.Errorf("line %d: %q is %v, in the kernel %v\n%s", r.line, m, got, r.held[m], r.p.Tuple())
					}
				}
			}
		})
	}
}
