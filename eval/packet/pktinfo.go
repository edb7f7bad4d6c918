package packet

// View tells from which hook a packet is looked at: which of the kernel's
// nft_set_pktinfo functions runs, where skb->data stands and whether IP has
// trimmed the link layer's padding yet.
type View uint8

const (
	// ViewInet: ip, ip6 and inet chains from prerouting to postrouting
	// (nft_do_chain_inet). IP input has trimmed the packet to its total length.
	ViewInet View = iota
	// ViewInetIngress: inet ingress chains (nft_do_chain_inet_ingress), which
	// drop what does not validate. Not trimmed.
	ViewInetIngress
	// ViewIngress: netdev ingress (nft_do_chain_netdev). Not trimmed.
	ViewIngress
	// ViewEgress: netdev egress: skb->data is at the link layer header, which
	// `meta length` includes.
	ViewEgress
	// ViewBridge: bridge chains (nft_do_chain_bridge). Not trimmed.
	ViewBridge
	// ViewARP: arp chains (nft_do_chain_arp): never a transport header.
	ViewARP
)

var viewNames = [...]string{"inet", "inet ingress", "netdev ingress", "netdev egress", "bridge", "arp"}

// String names the view after its family and hook.
func (v View) String() string {
	if int(v) < len(viewNames) {
		return viewNames[v]
	}
	return "unknown view"
}

// Info mirrors struct nft_pktinfo for one packet at one hook.
type Info struct {
	View     View
	L4Set    bool   // NFT_PKTINFO_L4PROTO: L4Proto and TH are valid
	L4Proto  uint8  // tprot; 0 when not set
	FragOff  uint16 // fragoff; not 0: no transport header here. IPv4 in units of 8 bytes, IPv6 in bytes
	TH       int    // transport header offset into Data; -1 when not set. Meaningless if FragOff is not 0
	Start    int    // where skb->data is: the network header, at egress the link layer header
	End      int    // where the packet ends on the wire, as skb->len says
	THAbsent Absent // why no transport header can be read

	inner      int // nft_pktinfo.inneroff; NFT_PKTINFO_INNER when innerState is 1
	innerState int8
}

// Len is skb->len at this hook, in bytes: `meta length`.
func (i *Info) Len() int { return i.End - i.Start }

// Enter fills p.Info as the kernel does before it runs a base chain of the
// view. It returns false when the kernel drops the packet instead of running
// chains (only [ViewInetIngress]: malformed IP). For views other than
// ViewInet, ViewInetIngress and ViewARP any packet may be given; those three
// run only for packets of their protocol, which the caller checks by NFProto.
func (p *Packet) Enter(v View) bool {
	i := &p.Info
	*i = Info{View: v, TH: -1, Start: p.NH, End: p.wireEnd, THAbsent: NoTransportHeader}
	if p.NH < 0 {
		i.THAbsent = p.NHAbsent
		i.Start = p.LL + p.LLLen
		if p.LL < 0 || i.Start > p.wireEnd {
			i.Start = 0
		}
		return true
	}
	switch {
	case v != ViewEgress:
	case p.LL < 0:
		i.Start = p.NH - p.HardHeader
	default:
		i.Start = p.LL + p.LLGap
		if p.VLANPresent {
			i.Start += 4
		}
	}
	switch {
	case v == ViewARP:
		return true
	case p.NFProto == NFProtoIPv4:
		if v == ViewInet {
			p.setIPv4(i)
			return true
		}
		return p.validateIPv4(i) || v != ViewInetIngress
	case p.NFProto == NFProtoIPv6:
		if v == ViewInet {
			p.setIPv6(i)
			return true
		}
		return p.validateIPv6(i) || v != ViewInetIngress
	}
	return true
}

// Trim cuts off what lies behind the IP packet, as ip_rcv_core and ip6_rcv_core
// do once: later changes of the length field do not move the end.
func (p *Packet) Trim() {
	if p.trimmed || !p.HasIP() {
		return
	}
	p.Enter(ViewInet)
	p.wireEnd, p.trimmed = p.Info.End, true
}

// setIPv4 is nft_set_pktinfo_ipv4, after ip_rcv_core has trimmed padding.
func (p *Packet) setIPv4(i *Info) {
	h, a := p.header(p.NH, 20)
	if a != None {
		i.THAbsent = a
		return
	}
	hl := int(h[0]&0x0f) * 4
	if n := int(be16(h[2:])); n >= hl && p.NH+n < i.End && !p.trimmed {
		i.End = p.NH + n
	}
	i.L4Set, i.L4Proto = true, h[9]
	i.TH = p.NH + hl
	i.FragOff = be16(h[6:]) & 0x1fff
	i.setTHAbsent()
}

// validateIPv4 is nft_set_pktinfo_ipv4_validate, and _ingress, which differ in
// what the caller does with a failure.
func (p *Packet) validateIPv4(i *Info) bool {
	h, a := p.header(p.NH, 20)
	if a != None {
		i.THAbsent = a
		return a == Truncated
	}
	hl, n := int(h[0]&0x0f)*4, int(be16(h[2:]))
	if h[0]>>4 != 4 || hl < 20 || p.NH+n > i.End || n < hl {
		i.THAbsent = Malformed
		return false
	}
	i.L4Set, i.L4Proto = true, h[9]
	i.TH = p.NH + hl
	i.FragOff = be16(h[6:]) & 0x1fff
	i.setTHAbsent()
	return true
}

// setIPv6 is nft_set_pktinfo_ipv6, after ip6_rcv_core has trimmed padding.
func (p *Packet) setIPv6(i *Info) {
	h, a := p.header(p.NH, 40)
	if a != None {
		i.THAbsent = a
		return
	}
	// ip6_rcv_core: a zero length with hop-by-hop options is a jumbogram.
	n := int(be16(h[4:]))
	if (n != 0 || h[6] != ProtoHopOpts) && p.NH+40+n < i.End && !p.trimmed {
		i.End = p.NH + 40 + n
	}
	p.findTransport6(i)
}

// validateIPv6 is nft_set_pktinfo_ipv6_validate, and _ingress.
func (p *Packet) validateIPv6(i *Info) bool {
	h, a := p.header(p.NH, 40)
	if a != None {
		i.THAbsent = a
		return a == Truncated
	}
	if h[0]>>4 != 6 || p.NH+40+int(be16(h[4:])) > i.End {
		i.THAbsent = Malformed
		return false
	}
	p.findTransport6(i)
	return i.L4Set || i.THAbsent == Truncated
}

func (p *Packet) findTransport6(i *Info) {
	off, proto, frag, a := p.findIPv6(p.NH, -1, true)
	if a == None && off-p.NH > 0xffff {
		a = Malformed
	}
	if a != None {
		i.THAbsent = a
		return
	}
	i.L4Set, i.L4Proto, i.TH, i.FragOff = true, proto, off, frag
	i.setTHAbsent()
}

func (i *Info) setTHAbsent() {
	i.THAbsent = None
	if i.FragOff != 0 {
		i.THAbsent = Fragment
	}
}
