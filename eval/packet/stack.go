package packet

import "encoding/binary"

// StackReason says why the kernel's network stack drops a packet at a place
// where no rule decides: there is no verdict then, only the hooks before it
// ran. Reasons that depend on routes, addresses or sysctls of the host are not
// here; those below hold for every host with default settings unless said.
type StackReason uint8

const (
	StackNone StackReason = iota
	// Before ingress: __netif_receive_skb_core, tun_get_user.
	StackShortFrame // no whole link layer header
	StackShortVLAN  // skb_vlan_untag

	// Between ingress and prerouting: ip_rcv_core, ip6_rcv_core.
	StackOtherHost      // PACKET_OTHERHOST: the frame is for another station
	StackARPLength      // ar_hln, ar_pln
	StackVLAN           // a VLAN tag that no VLAN device claims makes PACKET_OTHERHOST
	StackNotIP          // no protocol handler that leads to ip, ip6 or arp hooks
	StackShortHeader    // not even a whole IP header
	StackVersion        // version field does not match the EtherType
	StackIHL            // header length below 20 bytes
	StackChecksum       // IPv4 header checksum
	StackTotalLength    // total or payload length beyond the packet
	StackLengthIHL      // total length below the header length (0 for segmentation offload)
	StackSrcMulticast   // IPv6 source is multicast
	StackLoopback       // IPv6 ::1 from the wire
	StackMulticastScope // IPv6 destination of scope 0 or interface-local
	StackHopByHop       // ipv6_parse_hopopts

	// Between prerouting and input or forward: ip_route_input_slow,
	// ip_mc_validate_source, ip_rcv_finish_core, ip6_forward ...
	StackMartianSource  // source multicast, broadcast or 0.0.0.0
	StackMartianDest    // destination 0.0.0.0
	StackLoopbackWire   // 127.0.0.0/8 from the wire, unless route_localnet
	StackIPOptions      // ip_options_compile
	StackSourceRoute    // source route option, unless accept_source_route
	StackUnicastInGroup // unicast address in a link layer broadcast or multicast

	// Between routing and forward: ip_forward, ip6_forward.
	StackTTL            // ttl or hop limit 1 or 0
	StackForwardScope   // IPv6 source unspecified, loopback or link-local
	StackForwardPktType // not addressed to this host's station (pkttype not host)
)

var stackNames = [...]string{
	StackNone:           "",
	StackShortFrame:     "frame shorter than its link layer header",
	StackShortVLAN:      "VLAN tag cut short",
	StackOtherHost:      "frame is for another station",
	StackARPLength:      "ARP address lengths are not those of the device",
	StackVLAN:           "no VLAN device claims the tag",
	StackNotIP:          "no handler for the protocol",
	StackShortHeader:    "shorter than the IP header",
	StackVersion:        "wrong IP version",
	StackIHL:            "IPv4 header length below 20 bytes",
	StackChecksum:       "bad IPv4 header checksum",
	StackTotalLength:    "length field beyond the end of the packet",
	StackLengthIHL:      "total length below the header length",
	StackSrcMulticast:   "multicast source address",
	StackLoopback:       "IPv6 loopback address from the wire",
	StackMulticastScope: "IPv6 multicast scope not valid from the wire",
	StackHopByHop:       "bad hop-by-hop options",
	StackMartianSource:  "martian source address",
	StackMartianDest:    "martian destination address",
	StackLoopbackWire:   "IPv4 loopback address from the wire",
	StackIPOptions:      "bad IPv4 options",
	StackSourceRoute:    "source route option",
	StackUnicastInGroup: "unicast packet in a link layer broadcast",
	StackTTL:            "time to live exceeded",
	StackForwardScope:   "source address must not be forwarded",
	StackForwardPktType: "not addressed to this station, not forwarded",
}

// String gives the reason in words; "" for StackNone.
func (r StackReason) String() string {
	if int(r) < len(stackNames) {
		return stackNames[r]
	}
	return "unknown reason"
}

// StackIngress tells whether the packet dies before netdev ingress.
func (p *Packet) StackIngress() StackReason {
	switch {
	case p.Note == NoteShortVLAN:
		return StackShortVLAN
	case p.LL < 0 && p.LLAbsent == Malformed:
		return StackShortFrame
	}
	return StackNone
}

// StackPrerouting tells whether a received packet dies between ingress and
// prerouting (ip_rcv_core, ip6_rcv_core; for ARP, arp_rcv). A VLAN tag is taken
// to have its VLAN device; ask [Packet.UnclaimedVLAN] for the other case. What
// the capture does not hold is not held against the packet.
func (p *Packet) StackPrerouting() StackReason {
	if p.PktType == PktOther {
		return StackOtherHost
	}
	switch p.NFProto {
	case NFProtoIPv4:
		return p.stackIPv4()
	case NFProtoIPv6:
		return p.stackIPv6()
	case NFProtoARP:
		return p.stackARP()
	}
	return StackNotIP
}

// stackARP is arp_rcv: the header must be whole and its address lengths those
// of the device and of IPv4. Only Ethernet devices' address length is known.
func (p *Packet) stackARP() StackReason {
	if p.DevType != DevEther {
		return StackNone
	}
	h, a := p.at(p.NH, 28)
	switch {
	case a == PastEnd:
		return StackShortHeader
	case a != None:
		return StackNone
	case h[4] != 6 || h[5] != 4:
		return StackARPLength
	}
	return StackNone
}

// DecrementTTL takes one from the time to live or hop limit and mends the IPv4
// header checksum: ip_forward and ip6_forward do so before the forward hook.
func (p *Packet) DecrementTTL() {
	if !p.HasIP() {
		return
	}
	if p.NFProto == NFProtoIPv6 {
		if h, a := p.at(p.NH, 40); a == None && h[7] > 0 {
			h[7]--
		}
		return
	}
	if h, a := p.at(p.NH, 20); a == None && h[8] > 0 {
		h[8]--
		sum := uint32(be16(h[10:])) + 0x0100 // ip_decrease_ttl
		binary.BigEndian.PutUint16(h[10:], uint16(sum+sum>>16))
	}
}

// UnclaimedVLAN reports whether the packet dies with StackVLAN before
// prerouting when its interface has no VLAN device for the tag. A tag with
// VLAN id 0 is a priority tag, which the kernel ignores.
func (p *Packet) UnclaimedVLAN() bool { return p.VLANPresent && p.VLANID() != 0 }

func (p *Packet) stackIPv4() StackReason {
	h, a := p.at(p.NH, 20)
	if a == Truncated {
		return StackNone
	}
	if a != None {
		return StackShortHeader
	}
	hl := int(h[0]&0x0f) * 4
	if h[0]>>4 != 4 {
		return StackVersion
	}
	if hl < 20 {
		return StackIHL
	}
	h, a = p.at(p.NH, hl)
	if a == PastEnd {
		return StackShortHeader
	}
	if a == None && Checksum(h, 0) != 0 {
		return StackChecksum
	}
	n := int(be16(p.Data[p.NH+2:]))
	if p.NH+n > p.wireEnd {
		return StackTotalLength
	}
	if n < hl {
		return StackLengthIHL
	}
	return StackNone
}

func (p *Packet) stackIPv6() StackReason {
	h, a := p.at(p.NH, 40)
	if a == Truncated {
		return StackNone
	}
	if a != None {
		return StackShortHeader
	}
	src, dst := h[8:24], h[24:40]
	fromWire := p.fromWire()
	switch {
	case h[0]>>4 != 6:
		return StackVersion
	case fromWire && (isLoopback6(src) || isLoopback6(dst)):
		return StackLoopback
	case fromWire && dst[0] == 0xff && dst[1]&0x0f == 1, dst[0] == 0xff && dst[1]&0x0f == 0:
		return StackMulticastScope
	case src[0] == 0xff:
		return StackSrcMulticast
	}
	n := int(be16(h[4:]))
	if (n != 0 || h[6] != ProtoHopOpts) && p.NH+40+n > p.wireEnd {
		return StackTotalLength
	}
	if h[6] == ProtoHopOpts && !p.hopOptsOK(n) {
		return StackHopByHop
	}
	return StackNone
}

// maxHopOpts is the default of net.ipv6.max_hbh_opts_number.
const maxHopOpts = 8

// fromWire reports whether the packet came in by a device other than loopback.
// A capture on Linux's lo has Ethernet headers with addresses of all zeros.
func (p *Packet) fromWire() bool {
	if p.Stated.Has&HasIifName != 0 && p.Stated.IifName == "lo" || p.Stated.Has&HasIif != 0 && p.Stated.Iif == 1 {
		return false
	}
	if p.LL >= 0 && p.LLLen != 0 && isZero(p.Data[p.LL:p.LL+12]) {
		return false
	}
	return p.DevType != DevLoopback
}

// hopOptsOK is ipv6_parse_hopopts with ip6_parse_tlv: padding of more than 7
// bytes or with non-zero bytes, more than 8 options, options that run over, and
// unknown options whose type says to discard, drop the packet.
func (p *Packet) hopOptsOK(payload int) bool {
	e, a := p.at(p.NH+40, 8)
	if a != None {
		return a == Truncated
	}
	n := (int(e[1]) + 1) * 8
	if payload != 0 && n > payload { // ip6_rcv_core has trimmed the packet
		return false
	}
	o, a := p.at(p.NH+40, n)
	if a != None {
		return a == Truncated
	}
	o = o[2:]
	count := 0
	for pad := 0; len(o) > 0; {
		if o[0] == 0 { // IPV6_TLV_PAD1
			if pad++; pad > 7 {
				return false
			}
			o = o[1:]
			continue
		}
		if len(o) < 2 {
			return false
		}
		l := int(o[1]) + 2
		if l > len(o) {
			return false
		}
		if o[0] != 1 {
			pad = 0
			if count++; count > maxHopOpts {
				return false
			}
		}
		switch o[0] {
		case 1: // IPV6_TLV_PADN
			if pad += l; pad > 7 {
				return false
			}
			for _, b := range o[2:l] {
				if b != 0 {
					return false
				}
			}
		case 5: // IPV6_TLV_ROUTERALERT
			if o[1] != 2 {
				return false
			}
		case 0xc2: // IPV6_TLV_JUMBO
			at := n - len(o)
			if o[1] != 4 || at%4 != 2 || payload != 0 {
				return false
			}
			if j := be32(o[2:]); j <= 0xffff || int64(j) > int64(p.wireEnd-p.NH-40) {
				return false
			}
		case 7: // IPV6_TLV_CALIPSO
			if o[1] < 8 || int(o[6])*4+8 > int(o[1]) {
				return false
			}
		default:
			if o[0]&0xc0 != 0 { // discard, with or without an ICMP error
				return false
			}
		}
		o = o[l:]
	}
	return true
}

// StackRoute tells whether a packet dies between prerouting and input or
// forward whatever the routes are (ip_route_input_slow, ip_rcv_finish_core).
func (p *Packet) StackRoute() StackReason {
	if p.NFProto != NFProtoIPv4 || p.NH < 0 {
		return StackNone
	}
	h, a := p.at(p.NH, 20)
	if a != None {
		return StackNone
	}
	src, dst := be32(h[12:]), be32(h[16:])
	group := dst>>28 == 0xe
	fromWire := p.fromWire()
	switch {
	case src>>28 == 0xe || src == 0xffffffff:
		return StackMartianSource
	case group:
		// ip_mc_validate_source
		if src>>24 == 127 && fromWire {
			return StackLoopbackWire
		}
		if src == 0 && dst>>8 != 0xe00000 && h[9] != ProtoIGMP {
			return StackMartianSource
		}
	case dst == 0xffffffff || src == 0 && dst == 0: // brd_input
		if src>>24 == 127 && fromWire { // fib_validate_source
			return StackLoopbackWire
		}
	case src == 0: // ipv4_is_zeronet
		return StackMartianSource
	case dst == 0:
		return StackMartianDest
	case fromWire && (src>>24 == 127 || dst>>24 == 127):
		return StackLoopbackWire
	}
	if hl := int(h[0]&0x0f) * 4; hl > 20 {
		if o, a := p.at(p.NH+20, hl-20); a == None {
			f, ok := CheckIPv4Options(o, true)
			if !ok {
				return StackIPOptions
			}
			if f.SourceRoute != 0 {
				return StackSourceRoute
			}
		}
	}
	return StackNone
}

// StackForward tells whether a packet dies between routing and the forward
// hook (ip_forward, ip6_forward) whatever the route is.
func (p *Packet) StackForward() StackReason {
	if !p.HasIP() {
		return StackNone
	}
	if p.PktType != PktHost && p.PktType != PktLoopback && p.PktType != PktOutgoing {
		return StackForwardPktType
	}
	if p.NFProto == NFProtoIPv4 {
		if h, a := p.at(p.NH, 20); a == None && h[8] <= 1 {
			return StackTTL
		}
		return StackNone
	}
	h, a := p.at(p.NH, 40)
	if a != None {
		return StackNone
	}
	if h[7] <= 1 {
		return StackTTL
	}
	src := h[8:24]
	if isZero(src) || src[0] == 0xff || isLoopback6(src) || src[0] == 0xfe && src[1]&0xc0 == 0x80 {
		return StackForwardScope
	}
	return StackNone
}

func isLoopback6(a []byte) bool { return isZero(a[:15]) && a[15] == 1 }

func isZero(a []byte) bool {
	for _, b := range a {
		if b != 0 {
			return false
		}
	}
	return true
}
