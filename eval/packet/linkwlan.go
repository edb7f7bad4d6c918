package packet

import "encoding/binary"

// The IEEE 802 link types whose payload is LLC, and the wrappers of 802.11.

// tokenRing decodes 802.5: access and frame control, addresses, route.
func (p *Packet) tokenRing(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 14)
	if !ok {
		return
	}
	if h[1]&0xc0 != 0x40 {
		p.noNetwork(NoteControl)
		return
	}
	p.group(h[2:])
	p.knowLL(0, h[2:14])
	p.llHdr[6] &^= 0x80 // the bit tells of a route
	n := 14
	if h[8]&0x80 != 0 { // source routing
		r, ok := p.need(off+n, 2)
		if !ok {
			return
		}
		rif := int(r[0] & 0x1f)
		if rif < 2 {
			p.noNetwork(NoteCorrupt)
			return
		}
		n += rif
	}
	p.llc(off + n)
}

// fddi decodes FDDI: frame control and addresses.
func (p *Packet) fddi(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 13)
	if !ok {
		return
	}
	if h[0]&0x70 != 0x50 { // LLC frame, synchronous or not
		p.noNetwork(NoteControl)
		return
	}
	p.group(h[1:])
	p.knowLL(0, h[1:13])
	p.llc(off + 13)
}

// group sets the packet type by a destination address.
func (p *Packet) group(dst []byte) {
	switch {
	case be32(dst) == 0xffffffff && be16(dst[4:]) == 0xffff:
		p.PktType = PktBroadcast
	case dst[0]&1 != 0:
		p.PktType = PktMulticast
	}
}

// wlan decodes 802.11 data frames. The device that a packet came in by is an
// Ethernet one for the kernel: mac80211 replaces the header.
func (p *Packet) wlan(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 2)
	if !ok {
		return
	}
	fc := binary.LittleEndian.Uint16(h)
	const (
		toDS, fromDS  = 0x0100, 0x0200
		moreFragments = 0x0400
		protected     = 0x4000
		order         = 0x8000
	)
	if fc&3 != 0 {
		p.noNetwork(NoteCorrupt)
		return
	}
	if fc>>2&3 != 2 || fc&0x40 != 0 { // not data, or null data
		p.noNetwork(NoteControl)
		return
	}
	n := 24
	if h, ok = p.need(off, n); !ok {
		return
	}
	p.DevType = DevEther
	p.group(h[4:])
	if fc&fromDS == 0 && fc&toDS != 0 {
		p.PktType = PktHost
		p.group(h[16:])
	}
	if fc&moreFragments != 0 || h[22]&0x0f != 0 {
		p.noNetwork(NoteFragmented)
		return
	}
	if fc&protected != 0 {
		p.noNetwork(NoteEncrypted)
		return
	}
	dst, src := h[4:10], h[10:16]
	if fc&toDS != 0 {
		dst = h[16:22]
	} else if fc&fromDS != 0 {
		src = h[16:22]
	}
	if fc&toDS != 0 && fc&fromDS != 0 {
		if h, ok = p.need(off, n+6); !ok {
			return
		}
		src = h[24:30]
		n += 6
	}
	p.knowLL(0, dst)
	p.knowLL(6, src)
	if fc&0x80 != 0 { // QoS
		q, ok := p.need(off+n, 2)
		if !ok {
			return
		}
		n += 2
		if fc&order != 0 {
			n += 4 // HT control
		}
		if q[0]&0x80 != 0 { // header of the first A-MSDU subframe
			if h, ok = p.need(off+n, 14); !ok {
				return
			}
			p.knowLL(0, h[:12])
			n += 14
		}
	}
	p.llc(off + n)
}

// radiotap steps over the radiotap header; its flags tell of padding and of a
// frame check sequence.
func (p *Packet) radiotap(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 8)
	if !ok {
		return
	}
	n := int(binary.LittleEndian.Uint16(h[2:]))
	if h[0] != 0 || n < 8 {
		p.noNetwork(NoteCorrupt)
		return
	}
	if h, ok = p.need(off, n); !ok {
		return
	}
	present := binary.LittleEndian.Uint32(h[4:])
	at := 8
	for w := present; w&(1<<31) != 0 && at+4 <= n; at += 4 {
		w = binary.LittleEndian.Uint32(h[at:])
	}
	if present&1 != 0 { // TSFT
		at = (at+7)&^7 + 8
	}
	if present&2 != 0 && at < n && h[at]&0x10 != 0 { // flags: FCS at the end
		p.wireEnd = max(p.wireEnd-4, off+n)
	}
	p.wlan(off + n)
}

// prism steps over the wlan-ng header, or the AVS header that may stand there.
func (p *Packet) prism(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 8)
	if !ok {
		return
	}
	if be32(h)>>16 == 0x8021 { // AVS magic
		p.avs(off)
		return
	}
	n := binary.LittleEndian.Uint32(h[4:])
	if n > 0xffff {
		n = be32(h[4:])
	}
	if n < 8 || n > 0xffff {
		p.noNetwork(NoteCorrupt)
		return
	}
	p.wlan(off + int(n))
}

func (p *Packet) avs(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 8)
	if !ok {
		return
	}
	n := be32(h[4:])
	if n < 8 || n > 0xffff {
		p.noNetwork(NoteCorrupt)
		return
	}
	p.wlan(off + int(n))
}

// ppi steps over the per-packet information header, which names a link type.
func (p *Packet) ppi(off, depth int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 8)
	if !ok {
		return
	}
	n := int(binary.LittleEndian.Uint16(h[2:]))
	lt := binary.LittleEndian.Uint32(h[4:])
	if n < 8 || lt > 0xffff {
		p.noNetwork(NoteCorrupt)
		return
	}
	p.frame(LinkType(lt), off+n, depth+1)
}

// sunATM decodes a pseudo header and LLC or LAN emulation.
func (p *Packet) sunATM(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 4)
	if !ok {
		return
	}
	p.setDirection(h[0]&0x80 == 0)
	switch h[0] & 0x0f {
	case 1: // LANE
		p.ether(off+4+2, 0)
	case 2:
		p.llc(off + 4)
	default:
		p.noNetwork(NoteControl)
	}
}

// arcnetLinux decodes ARCNET as Linux captures it: RFC 1051 and RFC 1201.
func (p *Packet) arcnetLinux(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 5)
	if !ok {
		return
	}
	if h[1] == 0 {
		p.PktType = PktBroadcast
	}
	n := 5
	switch typ := h[4]; typ {
	case 240, 241: // RFC 1051: no split flag
	case 212, 213, 196:
		f, ok := p.need(off+5, 3)
		if !ok {
			return
		}
		n = 8
		if f[0] == 0xff { // exception packet: padding and the header again
			if f, ok = p.need(off+9, 3); !ok {
				return
			}
			n = 12
		}
		if f[0] != 0 {
			p.noNetwork(NoteFragmented)
			return
		}
	default:
		p.noNetwork(NoteNotIP)
		return
	}
	switch h[4] {
	case 212, 240:
		p.network(off+n, EtherIPv4)
	case 213, 241:
		p.network(off+n, EtherARP)
	case 196:
		p.network(off+n, EtherIPv6)
	}
}

// juniperEther steps over the header that JunOS puts before Ethernet.
func (p *Packet) juniperEther(off int) {
	p.LLAbsent = LinkNotCaptured
	h, ok := p.need(off, 4)
	if !ok {
		return
	}
	if h[0] != 0x4d || h[1] != 0x47 || h[2] != 0x43 {
		p.noNetwork(NoteCorrupt)
		return
	}
	p.setDirection(h[3]&0x01 != 0)
	n := 4
	if h[3]&0x80 != 0 { // extensions
		e, ok := p.need(off+n, 2)
		if !ok {
			return
		}
		n += 2 + int(be16(e))
	}
	if h[3]&0x02 != 0 { // no link layer header: an address family instead
		p.rawIP(off + n + 4)
		return
	}
	p.ether(off+n, 0)
}

// pflog decodes OpenBSD's packet filter log: a header with its own length.
func (p *Packet) pflog(off int) {
	h, ok := p.need(off, 4)
	if !ok {
		return
	}
	if h[0] < 4 {
		p.noNetwork(NoteCorrupt)
		return
	}
	p.rawIP(off + int(h[0]+3)&^3)
}
