package packet

import "encoding/binary"

// Link types in which the capturing host describes the packet beside its
// bytes: Linux cooked captures, NFLOG, PKTAP.

// cooked decodes LINUX_SLL: packet type, device type, address, protocol.
func (p *Packet) cooked(off int) {
	h, ok := p.need(off, 16)
	if !ok {
		return
	}
	p.cookedFacts(be16(h), be16(h[2:]), int(be16(h[4:])), h[6:14])
	p.cookedProto(off+16, be16(h[14:]))
}

// cooked2 decodes LINUX_SLL2, which adds the interface index.
func (p *Packet) cooked2(off int) {
	h, ok := p.need(off, 20)
	if !ok {
		return
	}
	p.cookedFacts(uint16(h[10]), be16(h[8:]), int(h[11]), h[12:20])
	if idx := be32(h[4:]); idx != 0 {
		s := &p.Stated
		if s.Direction == DirOut {
			s.Has |= HasOif
			s.Oif = idx
		} else {
			s.Has |= HasIif
			s.Iif = idx
		}
	}
	p.cookedProto(off+20, be16(h))
}

// cookedFacts takes packet type, device type and source address.
func (p *Packet) cookedFacts(typ, dev uint16, alen int, addr []byte) {
	p.LLAbsent = LinkNotCaptured
	p.DevType = dev
	switch dev {
	case DevNone, DevPPP, DevSLIP, 768, 769, 776, 778, 823: // tunnels: no link layer header
		p.LLAbsent = NoLinkHeader
	}
	if typ <= uint16(PktOutgoing) {
		p.PktType = PktType(typ)
		p.setDirection(typ != uint16(PktOutgoing))
	}
	if (dev == DevEther || dev == DevLoopback) && alen == 6 {
		p.knowLL(6, addr[:6])
		if p.PktType == PktBroadcast {
			p.knowLL(0, broadcastMAC[:])
		}
	}
}

var broadcastMAC = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func (p *Packet) cookedProto(next int, proto uint16) {
	if p.DevType == 824 { // ARPHRD_NETLINK: the field is a netlink family
		p.noNetwork(NoteNotIP)
		return
	}
	if proto == EtherVLAN || proto == EtherQinQ {
		v, ok := p.need(next, 4)
		if !ok {
			p.EtherType = proto
			return
		}
		p.VLANPresent, p.VLANProto, p.VLANTCI = true, proto, be16(v)
		next += 4
		proto = p.etherProto(be16(v[2:]), next)
	}
	p.network(next, proto)
	if p.llKnown != 0 {
		p.knowLLType()
	}
}

// Attributes of NFLOG messages (enum nfulnl_attr_type).
const (
	nflogPacketHeader = 1
	nflogMark         = 2
	nflogInDev        = 4
	nflogOutDev       = 5
	nflogPayload      = 9
	nflogUID          = 11
	nflogGID          = 14
	nflogHWType       = 15
	nflogHWHeader     = 16
)

// nflogHooks are NF_INET_* numbers.
var nflogHooks = [...]Hook{HookPrerouting, HookInput, HookForward, HookOutput, HookPostrouting}

// nflog decodes an NFLOG message: the packet as it was at one hook, with mark,
// interfaces and owner. The hook becomes the packet's stated path.
func (p *Packet) nflog(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 4)
	if !ok {
		return
	}
	var etherType uint16
	switch h[0] { // address family
	case 2:
		etherType = EtherIPv4
	case 10:
		etherType = EtherIPv6
	}
	s := &p.Stated
	payload := -1
	for at := off + 4; at+4 <= p.wireEnd; {
		t, ok := p.need(at, 4)
		if !ok {
			return
		}
		// Length and type are in the capturing host's order.
		n, typ := int(binary.LittleEndian.Uint16(t)), binary.LittleEndian.Uint16(t[2:])
		if typ >= 0x0100 {
			n, typ = int(be16(t)), be16(t[2:])
		}
		if n < 4 {
			p.noNetwork(NoteCorrupt)
			return
		}
		v, a := p.at(at+4, n-4)
		if typ == nflogPayload {
			payload = at + 4
			p.wireEnd = min(p.wireEnd, at+n)
			break
		}
		if a != None {
			p.need(at+4, n-4)
			return
		}
		switch {
		case typ == nflogPacketHeader && len(v) >= 3:
			if et := be16(v); et != 0 {
				etherType = et
			}
			if int(v[2]) < len(nflogHooks) && s.PathLen == 0 {
				s.Path[0], s.PathLen = nflogHooks[v[2]], 1
			}
		case typ == nflogMark && len(v) >= 4:
			s.Mark, s.Has = be32(v), s.Has|HasMark
		case typ == nflogInDev && len(v) >= 4:
			s.Iif, s.Has = be32(v), s.Has|HasIif
		case typ == nflogOutDev && len(v) >= 4:
			s.Oif, s.Has = be32(v), s.Has|HasOif
		case typ == nflogUID && len(v) >= 4:
			s.Skuid, s.Has = be32(v), s.Has|HasSkuid
		case typ == nflogGID && len(v) >= 4:
			s.Skgid, s.Has = be32(v), s.Has|HasSkgid
		case typ == nflogHWHeader && len(v) == etherHeaderLen:
			p.knowLL(0, v)
		case typ == nflogHWType && len(v) >= 2:
			p.DevType = be16(v)
		}
		at += (n + 3) &^ 3
	}
	if payload < 0 {
		p.noNetwork(NoteNoPayloadTLV)
		return
	}
	if etherType == 0 {
		p.rawIP(payload)
		return
	}
	p.network(payload, etherType)
}

// pktap decodes Darwin's PKTAP: a header that names link type and interface.
func (p *Packet) pktap(off, depth int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 40)
	if !ok {
		return
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if binary.LittleEndian.Uint32(h) > 0xffff {
		order = binary.BigEndian
	}
	n, typ, dlt := order.Uint32(h), order.Uint32(h[4:]), order.Uint32(h[8:])
	if n < 40 || n > 0xffff || dlt > 0xffff {
		p.noNetwork(NoteCorrupt)
		return
	}
	if typ != 1 { // PKT_REC_PACKET
		p.noNetwork(NoteControl)
		return
	}
	switch flags := order.Uint32(h[36:]); {
	case flags&1 != 0:
		p.setDirection(true)
	case flags&2 != 0:
		p.setDirection(false)
	}
	p.frame(LinkType(dlt), off+int(n), depth+1)
}
