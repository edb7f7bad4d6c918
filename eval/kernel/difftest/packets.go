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
	}
	frags := []string{"first", "1480", "8+"}
	if !v6 {
		frags = append(frags, "df")
	}
	maybe(25, func() { key("frag=%s", pick(r, frags)) })
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
