package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/nftc/nftc/eval/packet"
)

// describe names a packet in one short line of packet notation: name or number,
// protocol, addresses, what distinguishes packets of the protocol, and what the
// packet states. Unlike Packet.Tuple it does not hold every byte.
func describe(p *packet.Packet, number int64) string {
	var b strings.Builder
	if p.Name != "" {
		b.WriteString(p.Name + ": ")
	} else {
		fmt.Fprintf(&b, "%d: ", number)
	}
	switch {
	case p.HasIP():
		describeIP(&b, p)
	case p.NFProto == packet.NFProtoARP && p.NH >= 0:
		describeARP(&b, p)
	default:
		describeFrame(&b, p)
	}
	fmt.Fprintf(&b, " len=%d", p.WireLen-max(p.NH, 0))
	if p.VLANPresent {
		fmt.Fprintf(&b, " vid=%d", p.VLANID())
	}
	st := &p.Stated
	if st.Has&packet.HasIifName != 0 {
		b.WriteString(" in=" + st.IifName)
	}
	if st.Has&packet.HasOifName != 0 {
		b.WriteString(" out=" + st.OifName)
	}
	switch st.PathLen {
	case 0:
	case 1:
		b.WriteString(" hook=" + st.PathString())
	default:
		b.WriteString(" path=" + st.PathString())
	}
	if st.Has&packet.HasMark != 0 {
		fmt.Fprintf(&b, " mark=%#x", st.Mark)
	}
	if st.Has&packet.HasCTState != 0 {
		b.WriteString(" ct=" + stateWords(st.CT.State))
	}
	return b.String()
}

var protocolWords = map[uint8]string{
	packet.ProtoTCP: "tcp", packet.ProtoUDP: "udp", packet.ProtoUDPLite: "udplite", packet.ProtoSCTP: "sctp",
	packet.ProtoDCCP: "dccp", packet.ProtoICMP: "icmp", packet.ProtoICMPv6: "icmpv6", packet.ProtoIGMP: "igmp",
	packet.ProtoESP: "esp", packet.ProtoAH: "ah", packet.ProtoGRE: "gre",
}

func describeIP(b *strings.Builder, p *packet.Packet) {
	src, dst := addresses(p)
	p.Enter(packet.ViewInet)
	info := &p.Info
	word, known := protocolWords[info.L4Proto]
	if !known || !info.L4Set {
		word = "ip"
		if p.NFProto == packet.NFProtoIPv6 {
			word = "ip6"
		}
	}
	var l4 []byte
	if info.L4Set && info.FragOff == 0 && info.TH >= 0 && info.TH <= len(p.Data) {
		l4 = p.Data[info.TH:]
	}
	ports := false
	switch word {
	case "tcp", "udp", "udplite", "sctp", "dccp":
		ports = len(l4) >= 4
		if !ports {
			word = "ip"
			if p.NFProto == packet.NFProtoIPv6 {
				word = "ip6"
			}
		}
	}
	b.WriteString(word + " ")
	if ports {
		fmt.Fprintf(b, "%s > %s", netip.AddrPortFrom(src, binary.BigEndian.Uint16(l4)), netip.AddrPortFrom(dst, binary.BigEndian.Uint16(l4[2:])))
	} else {
		fmt.Fprintf(b, "%s > %s", src, dst)
	}
	switch word {
	case "tcp":
		if len(l4) >= 14 {
			b.WriteString(" flags=" + tcpFlags(l4[13]))
		}
	case "icmp", "icmpv6":
		if len(l4) >= 2 {
			fmt.Fprintf(b, " type=%d", l4[0])
			if l4[1] != 0 {
				fmt.Fprintf(b, " code=%d", l4[1])
			}
		}
	case "ip", "ip6":
		if info.L4Set {
			fmt.Fprintf(b, " proto=%d", info.L4Proto)
		}
	}
	if info.FragOff != 0 {
		off := int(info.FragOff)
		if p.NFProto == packet.NFProtoIPv4 {
			off *= 8
		}
		fmt.Fprintf(b, " frag=%d", off)
	}
}

// addresses are those of the IP header; invalid where the capture cut them off.
func addresses(p *packet.Packet) (src, dst netip.Addr) {
	at, n := 12, 4
	if p.NFProto == packet.NFProtoIPv6 {
		at, n = 8, 16
	}
	if p.NH+at+2*n > len(p.Data) {
		return
	}
	h := p.Data[p.NH+at:]
	src, _ = netip.AddrFromSlice(h[:n])
	dst, _ = netip.AddrFromSlice(h[n : 2*n])
	return src, dst
}

func tcpFlags(f byte) string {
	var words []string
	for i, n := range []string{"fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"} {
		if f&(1<<i) != 0 {
			words = append(words, n)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}

func describeARP(b *strings.Builder, p *packet.Packet) {
	h := p.Data[min(p.NH, len(p.Data)):]
	if len(h) < 28 || h[4] != 6 || h[5] != 4 {
		b.WriteString("arp ? > ?")
		return
	}
	src, _ := netip.AddrFromSlice(h[14:18])
	dst, _ := netip.AddrFromSlice(h[24:28])
	fmt.Fprintf(b, "arp %s > %s operation=%d", src, dst, binary.BigEndian.Uint16(h[6:]))
}

func describeFrame(b *strings.Builder, p *packet.Packet) {
	if p.LL >= 0 && p.LinkType == packet.LinkEthernet && p.LL+12 <= len(p.Data) {
		h := p.Data[p.LL:]
		fmt.Fprintf(b, "ether %s > %s", mac(h[6:12]), mac(h[:6]))
	} else {
		b.WriteString("frame of " + p.LinkType.String())
	}
	fmt.Fprintf(b, " type=0x%04x", p.EtherType)
}

func mac(h []byte) string {
	var out []byte
	for i, c := range h {
		if i > 0 {
			out = append(out, ':')
		}
		if c < 16 {
			out = append(out, '0')
		}
		out = strconv.AppendUint(out, uint64(c), 16)
	}
	return string(out)
}
