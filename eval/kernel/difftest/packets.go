package difftest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nftc/nftc/eval/kernel"
	"github.com/nftc/nftc/eval/packet"
)

// genPacket makes one packet in notation.
func genPacket(r *rand.Rand, trip kernel.Trip) string {
	for {
		line := notation(r, trip)
		var p packet.Packet
		if packet.ParseTuple(line, &p) != nil {
			continue // keys that do not go together
		}
		if r.IntN(5) == 0 {
			mutate(r, &p)
			line = p.Tuple()
		}
		return line
	}
}

func notation(r *rand.Rand, trip kernel.Trip) string {
	var b strings.Builder
	key := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	maybe := func(n int, f func()) {
		if r.IntN(n) == 0 {
			f()
		}
	}
	if trip != kernel.TripOutput && r.IntN(30) == 0 {
		return fmt.Sprintf("arp %s > %s operation=%s", addr4(r), addr4(r), pick(r, []string{"request", "reply"}))
	}
	v6 := r.IntN(3) == 0
	src, dst := addr4(r), addr4(r)
	if v6 {
		src, dst = addr6(r), addr6(r)
	}
	proto := pick(r, []string{"tcp", "tcp", "tcp", "udp", "udp", "icmp", "sctp", "dccp", "udplite", "esp", "ah", "gre", "ip", "igmp", "comp"})
	if v6 {
		switch proto {
		case "icmp", "igmp":
			proto = "icmpv6"
		case "ip":
			proto = "ip6"
		}
	}
	switch proto {
	case "tcp", "udp", "udplite", "sctp", "dccp":
		f := "%s %s:%d > %s:%d"
		if v6 {
			f = "%s [%s]:%d > [%s]:%d"
		}
		fmt.Fprintf(&b, f, proto, src, near(r, poolPort, 65535), dst, near(r, poolPort, 65535))
	default:
		fmt.Fprintf(&b, "%s %s > %s", proto, src, dst)
	}
	switch proto {
	case "tcp":
		key("flags=%s", pick(r, []string{"syn", "syn,ack", "ack", "fin,ack", "rst", "rst,ack", "psh,ack", "fin,psh,urg", "syn,fin", "urg,ack", "cwr,ecn,syn", "ack,psh,fin"}))
		maybe(2, func() { key("sequence=%d", near(r, poolMark, 1<<32-1)) })
		maybe(3, func() { key("ackseq=%d", near(r, poolMark, 1<<32-1)) })
		maybe(3, func() { key("window=%d", near(r, poolPort, 65535)) })
		maybe(3, func() {
			key("options=%s", pick(r, []string{"mss:1460", "mss:536,sackperm", "nop,nop,timestamp:5:6", "mss:1400,sackperm,timestamp:1:0,nop,wscale:7", "wscale:7,nop", "sackperm,eol,eol", "nop,nop,nop,nop"}))
		})
	case "icmp":
		key("type=%d code=%d", pick(r, []int{0, 8, 3, 5, 11, 13, 42}), pick(r, []int{0, 1, 4, 255}))
		maybe(2, func() { key("id=%d seq=%d", near(r, poolSmall, 65535), near(r, poolSmall, 65535)) })
	case "icmpv6":
		key("type=%d code=%d", pick(r, []int{1, 2, 3, 4, 128, 129, 130, 134, 135, 136, 200}), pick(r, []int{0, 1, 4, 255}))
	case "ip":
		key("proto=%d", pick(r, []int{0, 2, 4, 41, 47, 58, 59, 89, 103, 132, 255}))
	case "ip6":
		key("proto=%d", pick(r, []int{1, 4, 41, 59, 89, 103, 255}))
	case "esp":
		key("spi=%d sequence=%d", near(r, poolMark, 1<<32-1), near(r, poolMark, 1<<32-1))
	case "ah":
		key("spi=%d", near(r, poolMark, 1<<32-1))
	case "sctp":
		maybe(2, func() { key("chunk=%s", pick(r, []string{"init", "data", "sack", "abort"})) })
		maybe(2, func() { key("vtag=%d", near(r, poolMark, 1<<32-1)) })
	}
	if v6 {
		maybe(2, func() { key("hoplimit=%d", max(2, near(r, poolSmall, 255))) })
		maybe(5, func() { key("ext=%s", pick(r, []string{"hbh", "dst", "hbh,dst", "rt", "hbh,rt,dst"})) })
		maybe(4, func() { key("flowlabel=%d", near(r, []uint64{0, 1, 255, 0xfffff}, 0xfffff)) })
	} else {
		maybe(2, func() { key("ttl=%d", max(2, near(r, poolSmall, 255))) })
		maybe(3, func() { key("ip.id=%d", near(r, []uint64{1, 2, 255, 65534}, 65535)) })
	}
	maybe(4, func() { key("dscp=%s", pick(r, []string{"cs1", "af11", "af21", "ef", "cs7"})) })
	maybe(6, func() { key("ecn=%s", pick(r, []string{"ect0", "ect1", "ce"})) })
	maybe(2, func() {
		n := pick(r, []int{1, 2, 3, 4, 8, 12, 20, 60, 200})
		key("payload=%s", strings.Repeat(fmt.Sprintf("%02x", pick(r, poolSmall)), n))
	})
	if trip != kernel.TripOutput {
		maybe(4, func() { key("smac=%s", pick(r, poolMAC)) })
		maybe(20, func() { key("pad=%d", 1+r.IntN(20)) })
		maybe(30, func() { key("vid=%d pcp=%d", pick(r, []int{0, 0, 1, 2, 4095}), r.IntN(8)) })
	}
	frags := []string{"first", "1480", "8+"}
	if !v6 {
		frags = append(frags, "df")
	}
	maybe(25, func() { key("frag=%s", pick(r, frags)) })
	if proto == "udp" || proto == "gre" {
		maybe(4, func() { key("payload=%s", tunnelled(r, proto)) })
	}
	return b.String()
}

// mutate damages the packet's bytes: flips bits behind the link layer header,
// writes odd lengths, cuts the end off.
func mutate(r *rand.Rand, p *packet.Packet) {
	data := append([]byte(nil), p.Data...)
	start := max(p.NH, 0)
	for range 1 + r.IntN(3) {
		if len(data) <= start+1 {
			break
		}
		switch r.IntN(4) {
		case 0:
			data = data[:start+1+r.IntN(len(data)-start-1)]
		case 1:
			data[start+r.IntN(len(data)-start)] ^= 1 << r.IntN(8)
		case 2: // in the transport header, most often
			at := min(len(data)-1, start+20+r.IntN(24))
			data[at] = byte(pick(r, poolSmall))
		case 3:
			data = append(data, make([]byte, r.IntN(9))...)
		}
	}
	// A damaged IPv4 header would mostly end at its checksum: mend it.
	if p.NFProto == packet.NFProtoIPv4 && len(data) >= start+20 && r.IntN(4) != 0 {
		hl := int(data[start]&15) * 4
		if hl >= 20 && start+hl <= len(data) {
			data[start+10], data[start+11] = 0, 0
			sum := packet.Checksum(data[start:start+hl], 0)
			data[start+10], data[start+11] = byte(sum>>8), byte(sum)
		}
	}
	p.SetFrame(p.LinkType, data, len(data))
}

// innerIPv4 is an IPv4 packet with a UDP or TCP header, in hex.
func innerIPv4(r *rand.Rand) string {
	proto := pick(r, []string{"11", "06", "01"})
	a := func() string { return fmt.Sprintf("0a0000%02x", pick(r, poolSmall)) }
	return "45000028000040004" + "0" + proto + "0000" + a() + a() + fmt.Sprintf("%04x%04x", near(r, poolPort, 65535), near(r, poolPort, 65535)) + "00140000" + "500200000000000000000000"
}

// tunnelled is what follows a UDP or GRE header's first bytes: VXLAN, Geneve
// or GRE with a packet inside.
func tunnelled(r *rand.Rand, outer string) string {
	in := innerIPv4(r)
	eth := "020000000001" + "020000000002" + "0800"
	if r.IntN(4) == 0 {
		in = in[:2*(4+r.IntN(20))]
	}
	if outer == "gre" {
		return in
	}
	switch r.IntN(3) {
	case 0:
		return "0800000000000" + fmt.Sprintf("%d", r.IntN(3)) + "00" + eth + in
	case 1:
		return "0000655800000" + fmt.Sprintf("%d", r.IntN(3)) + "00" + eth + in
	}
	return "0000080000000100" + in
}

// genFlow makes the packets of a conversation: a handshake, a request with its
// reply, an error about a packet, or the fragments of one.
func genFlow(r *rand.Rand) []string {
	v6 := r.IntN(3) == 0
	a, b := addr4(r), addr4(r)
	if v6 {
		a, b = addr6(r), addr6(r)
	}
	if a == b {
		return nil
	}
	p, q := near(r, poolPort, 65535), near(r, poolPort, 65535)
	end := func(addr string, port uint64) string {
		if v6 {
			return fmt.Sprintf("[%s]:%d", addr, port)
		}
		return fmt.Sprintf("%s:%d", addr, port)
	}
	to := func(proto, rest string) string { return fmt.Sprintf("%s %s > %s%s", proto, end(a, p), end(b, q), rest) }
	back := func(proto, rest string) string { return fmt.Sprintf("%s %s > %s%s", proto, end(b, q), end(a, p), rest) }
	icmp := "icmp"
	if v6 {
		icmp = "icmpv6"
	}
	echo := func(src, dst string, typ, id int) string {
		return fmt.Sprintf("%s %s > %s type=%d id=%d", icmp, src, dst, typ, id)
	}
	var l []string
	switch r.IntN(6) {
	case 0:
		l = []string{
			to("tcp", " flags=syn sequence=100 window=1000"), back("tcp", " flags=syn,ack sequence=500 ackseq=101 window=1000"),
			to("tcp", " flags=ack sequence=101 ackseq=501 window=1000"), to("tcp", " flags=psh,ack sequence=101 ackseq=501 window=1000 payload=6162"),
			back("tcp", " flags=ack sequence=501 ackseq=103 window=1000"), back("tcp", " flags=fin,ack sequence=501 ackseq=103 window=1000"),
			to("tcp", " flags=fin,ack sequence=103 ackseq=502 window=1000"), back("tcp", " flags=ack sequence=502 ackseq=104 window=1000"),
			to("tcp", " flags=syn sequence=9000 window=1000"), back("tcp", " flags=rst,ack sequence=1 ackseq=9001 window=0"),
		}
		if n := r.IntN(len(l)); r.IntN(3) == 0 {
			l = append(l[:n], l[n+1:]...)
		}
	case 1:
		proto := pick(r, []string{"udp", "udplite", "sctp", "dccp"})
		rest := ""
		if proto == "sctp" {
			rest = " chunk=" + pick(r, []string{"init", "data", "abort"})
		}
		l = []string{to(proto, rest), to(proto, rest), back(proto, rest), to(proto, rest), back(proto, rest)}
	case 2:
		req, rep := 8, 0
		if v6 {
			req, rep = 128, 129
		}
		id := r.IntN(3)
		l = []string{echo(a, b, req, id), echo(b, a, rep, id), echo(b, a, rep, id+1), echo(a, b, req, id), echo(b, a, req, id)}
	case 3:
		l = []string{to("udp", " payload=3132"), errorAbout(v6, b, a, to("udp", " payload=3132"), r), back("udp", ""), errorAbout(v6, a, b, back("udp", ""), r), errorAbout(v6, b, a, to("tcp", " flags=syn"), r)}
	case 4, 5:
		l = fragments(r, v6, a, b)
	}
	var out []string
	for _, line := range l {
		var pk packet.Packet
		if line != "" && packet.ParseTuple(line, &pk) == nil {
			out = append(out, line)
		}
	}
	return out
}

// errorAbout is an ICMP error from src to dst that quotes a packet.
func errorAbout(v6 bool, src, dst, line string, r *rand.Rand) string {
	var p packet.Packet
	if packet.ParseTuple(line, &p) != nil || p.NH < 0 {
		return ""
	}
	quoted := p.Data[p.NH:]
	if v6 {
		return fmt.Sprintf("icmpv6 %s > %s type=%d code=%d payload=%x", src, dst, pick(r, []int{1, 2, 3, 4}), r.IntN(2), quoted)
	}
	return fmt.Sprintf("icmp %s > %s type=%d code=%d payload=%x", src, dst, pick(r, []int{3, 11, 12}), r.IntN(4), quoted)
}

// fragments cuts a UDP packet in pieces, which come in some order, some of them
// twice or a little off.
func fragments(r *rand.Rand, v6 bool, src, dst string) []string {
	id := 1 + r.IntN(3)
	body := fmt.Sprintf("%04x%04x%04x0000", near(r, poolPort, 65535), near(r, poolPort, 65535), 8+32) + strings.Repeat("61", 32)
	var l []string
	for at, size := 0, 16; at < 40; at += size {
		n, more := min(size, 40-at), 1
		if at+n >= 40 {
			more = 0
		}
		if r.IntN(15) == 0 {
			n = max(1, n-8+r.IntN(9))
		}
		part := body[2*at : min(len(body), 2*(at+n))]
		if v6 {
			l = append(l, fmt.Sprintf("ip6 %s > %s nexthdr=44 payload=1100%04x%08x%s", src, dst, at|more, id, part))
		} else {
			l = append(l, fmt.Sprintf("ip %s > %s protocol=udp ip.id=%d frag=%s payload=%s", src, dst, id, fragKey(at, more), part))
		}
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	if r.IntN(4) == 0 {
		l = append(l, l[r.IntN(len(l))])
	}
	return l
}

// fragKey writes offset and more-fragments as packet notation has them.
func fragKey(at, more int) string {
	s := fmt.Sprint(at)
	if more == 1 {
		s += "+"
	}
	return s
}
