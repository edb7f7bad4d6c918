package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nftc/nftc/eval/packet"
)

// Capture makes a pcap file of n packets of 64 to 128 bytes: half IPv4, half IPv6,
// half TCP, half UDP, random addresses and ports. With flows above 0 the packets
// belong to so many TCP and UDP flows that go both ways.
func Capture(n, flows int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 9))
	le := binary.LittleEndian
	out := make([]byte, 24, 24+n*113)
	le.PutUint32(out, 0xa1b2c3d4)
	le.PutUint16(out[4:], 2)
	le.PutUint16(out[6:], 4)
	le.PutUint32(out[16:], 262144)
	le.PutUint32(out[20:], uint32(packet.LinkEthernet))
	var f [128]byte
	started := make([]bool, flows)
	for i := range n {
		size := 64 + r.IntN(65)
		pick, reply, first := r, false, false
		if flows > 0 {
			k := r.IntN(flows)
			pick = rand.New(rand.NewPCG(seed+uint64(k), 10))
			first = !started[k]
			started[k] = true
			reply = !first && r.IntN(2) == 0
		}
		frame := f[:size]
		v6, tcp := pick.IntN(2) == 0, pick.IntN(2) == 0
		fillFrame(frame, pick, v6, tcp, reply, first || flows == 0)
		var h [16]byte
		le.PutUint32(h[:], 1700000000+uint32(i/100000))
		le.PutUint32(h[4:], uint32(i%100000*10))
		le.PutUint32(h[8:], uint32(size))
		le.PutUint32(h[12:], uint32(size))
		out = append(append(out, h[:]...), frame...)
	}
	return out
}

// fillFrame writes an Ethernet frame with right checksums.
func fillFrame(f []byte, r *rand.Rand, v6, tcp, reply, syn bool) {
	clear(f)
	copy(f, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2})
	be := binary.BigEndian
	ip := f[14:]
	var src, dst, th []byte
	proto := byte(17)
	if tcp {
		proto = 6
	}
	if v6 {
		be.PutUint16(f[12:], packet.EtherIPv6)
		ip[0] = 0x60
		be.PutUint16(ip[4:], uint16(len(ip)-40))
		ip[6], ip[7] = proto, 64
		src, dst, th = ip[8:24], ip[24:40], ip[40:]
		for _, a := range [][]byte{src, dst} {
			be.PutUint32(a, 0x20010db8)
			be.PutUint64(a[8:], r.Uint64())
		}
		if len(ip) < 40+20 && tcp {
			tcp, proto = false, 17
			ip[6] = proto
		}
	} else {
		be.PutUint16(f[12:], packet.EtherIPv4)
		ip[0] = 0x45
		be.PutUint16(ip[2:], uint16(len(ip)))
		ip[8], ip[9] = 64, proto
		src, dst, th = ip[12:16], ip[16:20], ip[20:]
		be.PutUint32(src, 1<<24+r.Uint32N(222<<24))
		be.PutUint32(dst, 1<<24+r.Uint32N(222<<24))
	}
	sport, dport := uint16(1024+r.IntN(64000)), uint16(1+r.IntN(65535))
	if reply {
		var t [16]byte
		copy(t[:], src)
		copy(src, dst)
		copy(dst, t[:])
		sport, dport = dport, sport
	}
	if !v6 {
		be.PutUint16(ip[10:], packet.Checksum(ip[:20], 0))
	}
	be.PutUint16(th, sport)
	be.PutUint16(th[2:], dport)
	at := 6
	if tcp {
		at = 16
		th[12] = 5 << 4
		switch {
		case syn && !reply:
			th[13] = 2
		default:
			th[13] = 0x10
		}
		be.PutUint16(th[14:], 65535)
	} else {
		be.PutUint16(th[4:], uint16(len(th)))
	}
	sum := packet.PartialSum(src, 0)
	sum = packet.PartialSum(dst, sum)
	sum = packet.PartialSum([]byte{0, proto, byte(len(th) >> 8), byte(len(th))}, sum)
	be.PutUint16(th[at:], packet.Checksum(th, sum))
}

// PathRuleset is the ruleset of the path suite: rules of them, two with sets of
// concatenated ranges of so many elements; with state, a rule on connection
// tracking stands first.
func PathRuleset(rules, elements int, state bool) string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	w("table inet filter {\n")
	r := rand.New(rand.NewPCG(4, 4))
	for _, s := range []struct{ name, typ string }{{"services", "ipv4_addr . inet_service"}, {"services6", "ipv6_addr . inet_service"}} {
		w("\tset %s {\n\t\ttype %s\n\t\tflags interval\n\t\telements = {", s.name, s.typ)
		for i := range elements {
			lo := r.IntN(60000)
			if s.name == "services" {
				w("\n\t\t\t10.%d.%d.%d-10.%d.%d.%d . %d-%d,", i>>8, i&255, r.IntN(100), i>>8, i&255, 100+r.IntN(156), lo, lo+r.IntN(5000))
			} else {
				w("\n\t\t\t2001:db8:0:%x::/64 . %d-%d,", i, lo, lo+r.IntN(5000))
			}
		}
		w("\n\t\t}\n\t}\n")
	}
	w("\tchain input {\n\t\ttype filter hook input priority filter; policy drop\n")
	n := rules
	if state {
		w("\t\tct state vmap { established : accept, related : accept, invalid : drop }\n")
		n--
	}
	w("\t\tip daddr . tcp dport @services accept\n\t\tip6 daddr . tcp dport @services6 accept\n")
	for i := range max(0, n-2) {
		switch i % 4 {
		case 0:
			w("\t\ttcp dport %d accept\n", 20000+i)
		case 1:
			w("\t\tip saddr 10.%d.0.0/16 udp dport %d accept\n", i, 1000+i)
		case 2:
			w("\t\tip6 saddr 2001:db8:%x::/48 tcp dport { %d, %d } accept\n", 0x100+i, 100+i, 200+i)
		default:
			w("\t\tudp dport %d-%d counter drop\n", 30000+10*i, 30005+10*i)
		}
	}
	w("\t}\n}\n")
	return b.String()
}

// ChainRuleset is a chain of n rules `ip saddr … tcp dport … accept`.
func ChainRuleset(n int) string {
	var b strings.Builder
	b.WriteString("table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop\n")
	r := rand.New(rand.NewPCG(6, 6))
	for range n {
		fmt.Fprintf(&b, "\t\tip saddr %d.%d.%d.%d tcp dport %d accept\n", 1+r.IntN(222), r.IntN(256), r.IntN(256), r.IntN(256), 1+r.IntN(65535))
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

// Memory reads packets from a capture in memory.
func Memory(name string, data []byte) func() (packet.Source, error) {
	return func() (packet.Source, error) {
		return packet.NewSource(name, bytes.NewReader(data), packet.KindCapture)
	}
}
