package packet

import "encoding/binary"

// maxLayers bounds link types inside link types (PKTAP, PPI, LANE).
const maxLayers = 4

// Decode finds the link layer header, VLAN tag and network header of p.Data by
// p.LinkType, and leaves p.Info as seen at netdev ingress. It never fails: a
// frame without a network header has NH -1, and NHAbsent and Note say why.
func (p *Packet) Decode() {
	p.WireLen = max(p.WireLen, len(p.Data))
	p.wireEnd = p.WireLen
	p.clear()
	p.frame(p.LinkType, 0, 0)
	p.Enter(ViewIngress)
}

// frame decodes the link type lt at offset off.
func (p *Packet) frame(lt LinkType, off, depth int) {
	if depth >= maxLayers {
		p.noNetwork(NoteTooManyLayers)
		return
	}
	row := lt.row()
	if row.dev != 0 {
		p.DevType = row.dev
	}
	switch row.framing {
	case frameEther:
		p.ether(off, 0)
	case frameRaw:
		p.rawIP(off)
	case frameNull:
		p.null(off, lt == LinkLoop)
	case frameSLIP:
		p.rawIP(off + 16) // direction and a copy of the compressed header
	case framePPP:
		p.ppp(off)
	case framePPPDir:
		p.direction(off)
		p.ppp(off + 1)
	case frameCHDLC:
		p.chdlc(off)
	case frameCHDLCDir:
		p.direction(off)
		p.chdlc(off + 1)
	case frameFR:
		p.frameRelay(off)
	case frameFRDir:
		p.direction(off)
		p.frameRelay(off + 1)
	case frameMFR:
		p.multilinkFR(off)
	case frameSLL:
		p.cooked(off)
	case frameSLL2:
		p.cooked2(off)
	case frame8025:
		p.tokenRing(off)
	case frameFDDI:
		p.fddi(off)
	case frame80211:
		p.wlan(off)
	case frameRadiotap:
		p.radiotap(off)
	case framePrism:
		p.prism(off)
	case frameAVS:
		p.avs(off)
	case framePPI:
		p.ppi(off, depth)
	case frameLLC:
		p.llc(off)
	case frameSunATM:
		p.sunATM(off)
	case frameARCNETLinux:
		p.arcnetLinux(off)
	case frameNFLOG:
		p.nflog(off)
	case framePKTAP:
		p.pktap(off, depth)
	case frameBRCM, frameDSA:
		p.ether(off, 4)
	case frameBRCMPrepend:
		p.ether(off+4, 0)
		p.switchTag()
	case frameEDSA:
		p.ether(off, 8)
	case frameJuniperEther:
		p.juniperEther(off)
	case framePFLog:
		p.pflog(off)
	default:
		p.LLAbsent = LinkNotCaptured
		p.noNetwork(NoteUnknownLink)
	}
}

// noNetwork records that there is no network header, and the reason.
func (p *Packet) noNetwork(n LinkNote) {
	p.NH, p.NHAbsent, p.NFProto, p.Note = -1, NoNetworkHeader, NFProtoUnspec, n
	switch n {
	case NoteTruncated:
		p.NHAbsent = Truncated
	case NoteShort, NoteCorrupt, NoteShortVLAN:
		p.NHAbsent = Malformed
	}
}

// need is at, and notes a header that is cut short.
func (p *Packet) need(off, n int) ([]byte, bool) {
	b, a := p.at(off, n)
	if a == None {
		return b, true
	}
	if a == Truncated {
		p.noNetwork(NoteTruncated)
	} else {
		p.noNetwork(NoteShort)
	}
	return nil, false
}

// network sets the network header, of an EtherType. The header itself is not
// checked here: that is up to Enter.
func (p *Packet) network(off int, etherType uint16) {
	p.EtherType = etherType
	p.NH, p.NHAbsent = off, None
	switch etherType {
	case EtherIPv4:
		p.NFProto = NFProtoIPv4
	case EtherIPv6:
		p.NFProto = NFProtoIPv6
	case EtherARP:
		p.NFProto = NFProtoARP
	default:
		p.NFProto = NFProtoUnspec
	}
}

// ether decodes Ethernet with tag bytes of switch tag after the addresses:
// eth_type_trans, then skb_vlan_untag.
func (p *Packet) ether(off, tag int) {
	h, ok := p.need(off, etherHeaderLen+tag)
	if !ok {
		p.LLAbsent = Malformed
		if p.Note == NoteTruncated {
			p.LLAbsent = Truncated
		}
		return
	}
	p.LL, p.LLGap, p.LLAbsent = off, tag, None
	p.LLLen = etherHeaderLen
	switch {
	case h[0]&1 == 0:
		p.PktType = PktHost
	case be32(h) == 0xffffffff && be16(h[4:]) == 0xffff:
		p.PktType = PktBroadcast
	default:
		p.PktType = PktMulticast
	}
	next := off + etherHeaderLen + tag
	proto := p.etherProto(be16(h[12+tag:]), next)
	if proto == EtherVLAN || proto == EtherQinQ {
		v, a := p.at(next, 6) // skb_vlan_untag pulls two bytes past the tag
		if a != None {
			p.network(next, proto)
			p.noNetwork(NoteShortVLAN)
			if a == Truncated {
				p.noNetwork(NoteTruncated)
			}
			p.EtherType = proto
			return
		}
		p.VLANPresent, p.VLANProto, p.VLANTCI = true, proto, be16(v)
		next += 4
		proto = p.etherProto(be16(v[2:]), next)
		if proto < 0x0600 {
			// nft_payload_rebuild_vlan_hdr: loads see skb->protocol, not the
			// length that the frame has there.
			p.knowLL(16, []byte{0, byte(proto)})
		}
	}
	p.network(next, proto)
	if tag != 0 {
		p.switchTag()
	}
}

func (p *Packet) switchTag() {
	if p.Note == NoteNone {
		p.Note = NoteSwitchTag
	}
}

// etherProto is the end of eth_type_trans, and vlan_set_encap_proto: a value
// below 1536 is a length, and the protocol that of raw 802.3 or LLC.
func (p *Packet) etherProto(v uint16, next int) uint16 {
	if v >= 0x0600 {
		return v
	}
	if b, a := p.at(next, 2); a == None && b[0] == 0xff && b[1] == 0xff {
		return Ether802_3
	}
	return Ether802_2
}

// rawIP takes the IP version from the first byte, as tun does.
func (p *Packet) rawIP(off int) {
	b, ok := p.need(off, 1)
	if !ok {
		return
	}
	switch b[0] >> 4 {
	case 4:
		p.network(off, EtherIPv4)
	case 6:
		p.network(off, EtherIPv6)
	default:
		p.noNetwork(NoteBadVersion)
	}
}

// null decodes BSD loopback: an address family in the capturing host's order
// (LOOP: in network order).
func (p *Packet) null(off int, network bool) {
	b, ok := p.need(off, 4)
	if !ok {
		return
	}
	af := binary.LittleEndian.Uint32(b)
	if network || af>>16 != 0 {
		af = be32(b)
	}
	switch af {
	case 2:
		p.network(off+4, EtherIPv4)
	case 10, 24, 28, 30: // Linux, NetBSD and OpenBSD, FreeBSD, Darwin
		p.network(off+4, EtherIPv6)
	default:
		p.noNetwork(NoteNotIP)
	}
}

// ppp decodes PPP, with or without HDLC address and control bytes, and with
// protocol field compression.
func (p *Packet) ppp(off int) {
	b, ok := p.need(off, 2)
	if !ok {
		return
	}
	if b[0] == 0xff && b[1] == 0x03 {
		off += 2
	} else if b[1] == 0 && (b[0] == 0x0f || b[0] == 0x8f) {
		p.chdlc(off)
		return
	}
	if b, ok = p.need(off, 1); !ok {
		return
	}
	proto := uint16(b[0])
	if b[0]&1 == 0 {
		if b, ok = p.need(off, 2); !ok {
			return
		}
		proto = be16(b)
		off++
	}
	off++
	switch proto {
	case 0x0021:
		p.network(off, EtherIPv4)
	case 0x0057:
		p.network(off, EtherIPv6)
	case 0x002d, 0x002f, 0x00fb, 0x00fd:
		p.noNetwork(NoteCompressed)
	case 0x003d:
		p.noNetwork(NoteFragmented)
	default:
		if proto >= 0x8000 {
			p.noNetwork(NoteControl)
		} else {
			p.noNetwork(NoteNotIP)
		}
	}
}

// chdlc decodes Cisco HDLC.
func (p *Packet) chdlc(off int) {
	b, ok := p.need(off, 4)
	if !ok {
		return
	}
	switch proto := be16(b[2:]); {
	case proto == 0x8035: // SLARP
		p.noNetwork(NoteControl)
		p.EtherType = proto
	case proto < 0x0600 || proto == 0xfefe: // OSI
		p.noNetwork(NoteNotIP)
	default:
		p.network(off+4, proto)
	}
}

// frameRelay decodes Q.922 addresses with RFC 2427 or Cisco encapsulation.
func (p *Packet) frameRelay(off int) {
	n := 0
	for {
		b, ok := p.need(off+n, 1)
		if !ok {
			return
		}
		n++
		if b[0]&1 != 0 { // extended address bit: last byte
			break
		}
		if n == 4 {
			p.noNetwork(NoteCorrupt)
			return
		}
	}
	if n < 2 {
		p.noNetwork(NoteCorrupt)
		return
	}
	off += n
	b, ok := p.need(off, 2)
	if !ok {
		return
	}
	if b[0] != 0x03 { // not unnumbered information: Cisco's EtherType
		if v := be16(b); v >= 0x0600 {
			p.network(off+2, v)
		} else {
			p.noNetwork(NoteControl)
		}
		return
	}
	off++
	if b[1] == 0 { // padding
		off++
		if b, ok = p.need(off, 1); !ok {
			return
		}
	} else {
		b = b[1:]
	}
	switch b[0] {
	case 0xcc:
		p.network(off+1, EtherIPv4)
	case 0x8e:
		p.network(off+1, EtherIPv6)
	case 0x80:
		p.snap(off + 1)
	default:
		p.noNetwork(NoteNotIP)
	}
}

// multilinkFR decodes FRF.16 frames that hold a whole packet.
func (p *Packet) multilinkFR(off int) {
	b, ok := p.need(off, 2)
	if !ok {
		return
	}
	switch {
	case b[0]&0x20 != 0:
		p.noNetwork(NoteControl)
	case b[0]&0xc0 == 0xc0:
		p.frameRelay(off + 2)
	default:
		p.noNetwork(NoteFragmented)
	}
}

// llc decodes 802.2 LLC with IP: SNAP, or the IP service access point.
func (p *Packet) llc(off int) {
	b, ok := p.need(off, 3)
	if !ok {
		return
	}
	switch {
	case b[0] == 0xaa && b[1] == 0xaa && b[2] == 0x03:
		p.snap(off + 3)
	case b[0] == 0x06 && b[1] == 0x06 && b[2] == 0x03:
		p.network(off+3, EtherIPv4)
	default:
		p.noNetwork(NoteNotIP)
		p.EtherType = Ether802_2
	}
}

// snap decodes organisation code and protocol.
func (p *Packet) snap(off int) {
	b, ok := p.need(off, 5)
	if !ok {
		return
	}
	oui := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	if (oui == 0 || oui == 0x0000f8) && be16(b[3:]) >= 0x0600 {
		p.network(off+5, be16(b[3:]))
		if p.llKnown != 0 {
			p.knowLLType()
		}
		return
	}
	if oui == 0x0080c2 && (b[4] == 0x07 || b[4] == 0x01) && b[3] == 0 { // bridged Ethernet, RFC 2684
		n := 5
		if p.DevType == DevATM {
			n += 2
		}
		p.ether(off+n, 0)
		return
	}
	p.noNetwork(NoteNotIP)
}

// direction reads the pseudo header byte of the _WITH_DIR link types.
func (p *Packet) direction(off int) {
	if b, a := p.at(off, 1); a == None {
		p.setDirection(b[0] == 0)
	}
}

func (p *Packet) setDirection(in bool) {
	if p.Stated.Direction == DirUnknown {
		p.Stated.Direction = DirOut
		if in {
			p.Stated.Direction = DirIn
		}
	}
}
