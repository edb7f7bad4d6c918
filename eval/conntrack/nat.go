package conntrack

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"github.com/nftc/nftc/eval/packet"
)

// Manip is enum nf_nat_manip_type.
type Manip uint8

const (
	ManipSrc Manip = iota // postrouting and input
	ManipDst              // prerouting and output
)

// Flags of a Range (NF_NAT_RANGE_*).
const (
	RangeMapIPs         = 1 << 0
	RangeProtoSpecified = 1 << 1
	RangeProtoRandom    = 1 << 2
	RangePersistent     = 1 << 3
	RangeRandomFully    = 1 << 4
	RangeProtoOffset    = 1 << 5
	RangeNetmap         = 1 << 6

	rangeRandomAll = RangeProtoRandom | RangeRandomFully
)

// Range says what a tuple's source or destination may become
// (nf_nat_range2). Addresses lie as in Tuple.
type Range struct {
	Flags            uint32
	MinAddr, MaxAddr [16]byte
	MinPort, MaxPort uint16
	BasePort         uint16
}

// srcKey names a source for find_appropriate_src.
type srcKey struct {
	src   [16]byte
	port  uint16
	l3    uint8
	proto uint8
	zone  uint16
}

// Initialized tells whether NAT of a kind was decided (nf_nat_initialized).
func (c *Conn) Initialized(m Manip) bool {
	if m == ManipSrc {
		return c.Status&SrcNATDone != 0
	}
	return c.Status&DstNATDone != 0
}

// Setup decides a connection's NAT of one kind (nf_nat_setup_info). random
// tells that the kernel would have drawn the port. With dry the tracker stays
// as it is. A confirmed connection keeps what it has.
func (t *Tracker) Setup(c *Conn, r *Range, m Manip, now int64, dry bool) (random bool) {
	if c.IsConfirmed() || c.Initialized(m) {
		return false
	}
	cur, ok := c.Reply.Invert()
	if !ok {
		return false
	}
	next, random := t.uniqueTuple(cur, r, c, m, now)
	if next != cur {
		if rev, ok := next.Invert(); ok {
			c.Reply = rev
			if m == ManipSrc {
				c.Status |= SrcNAT
			} else {
				c.Status |= DstNAT
			}
		}
	}
	if m == ManipSrc {
		if !dry && !c.Stated {
			t.bySrc[srcKey{c.Orig.Src, c.Orig.SrcPort, c.Orig.L3, c.Orig.Proto, c.Zone.In(0)}] = c
		}
		c.Status |= SrcNATDone
	} else {
		c.Status |= DstNATDone
	}
	return random
}

// NullBinding keeps the address as it is (nf_nat_alloc_null_binding).
func (t *Tracker) NullBinding(c *Conn, m Manip, now int64, dry bool) (random bool) {
	ip := c.Reply.Src
	if m == ManipSrc {
		ip = c.Reply.Dst
	}
	return t.Setup(c, &Range{Flags: RangeMapIPs, MinAddr: ip, MaxAddr: ip}, m, now, dry)
}

// taken is nf_nat_used_tuple: another connection's replies would look alike.
func (t *Tracker) taken(tuple Tuple, c *Conn, now int64) bool {
	rev, ok := tuple.Invert()
	if !ok {
		return false
	}
	r, ok := t.table[key{rev, c.Zone.In(1)}]
	return ok && r.conn != c && r.conn.Timeout > now && r.conn.Orig != c.Orig
}

func (r *Range) addrIn(a [16]byte) bool {
	return bytes.Compare(a[:], r.MinAddr[:]) >= 0 && bytes.Compare(a[:], r.MaxAddr[:]) <= 0
}

// portIn is l4proto_in_range.
func (r *Range) portIn(t *Tuple, m Manip) bool {
	port := t.SrcPort
	switch t.Proto {
	case packet.ProtoICMP, packet.ProtoICMPv6:
	case packet.ProtoGRE, packet.ProtoTCP, packet.ProtoUDP, packet.ProtoSCTP:
		if m == ManipDst {
			port = t.DstPort
		}
	default:
		return true
	}
	return port >= r.MinPort && port <= r.MaxPort
}

// in is nf_in_range, for the source.
func (r *Range) in(t *Tuple) bool {
	if r.Flags&RangeMapIPs != 0 && !r.addrIn(t.Src) {
		return false
	}
	return r.Flags&RangeProtoSpecified == 0 || r.portIn(t, ManipSrc)
}

// uniqueTuple is get_unique_tuple.
func (t *Tracker) uniqueTuple(cur Tuple, r *Range, c *Conn, m Manip, now int64) (next Tuple, random bool) {
	if m == ManipSrc && r.Flags&rangeRandomAll == 0 {
		if r.in(&cur) {
			if !t.taken(cur, c, now) {
				return cur, false
			}
		} else if o := t.bySrc[srcKey{cur.Src, cur.SrcPort, cur.L3, cur.Proto, c.Zone.In(0)}]; o != nil && o != c {
			// find_appropriate_src: the same source keeps its mapping.
			if inv, ok := o.Reply.Invert(); ok {
				inv.Dst, inv.DstPort = cur.Dst, cur.DstPort
				if r.in(&inv) && !t.taken(inv, c, now) {
					return inv, false
				}
			}
		}
	}
	next = cur
	r.bestAddr(&next, m, c.Zone.ID)
	if r.Flags&rangeRandomAll == 0 {
		if r.Flags&RangeProtoSpecified != 0 {
			if r.Flags&RangeProtoOffset == 0 && r.portIn(&next, m) &&
				(r.MinPort == r.MaxPort || !t.taken(next, c, now)) {
				return next, false
			}
		} else if !t.taken(next, c, now) {
			return next, false
		}
	}
	return t.uniquePort(next, r, c, m, now)
}

// bestAddr is find_best_ips_proto.
func (r *Range) bestAddr(t *Tuple, m Manip, zone uint16) {
	if r.Flags&RangeMapIPs == 0 {
		return
	}
	a := &t.Src
	if m == ManipDst {
		a = &t.Dst
	}
	if r.MinAddr == r.MaxAddr {
		*a = r.MinAddr
		return
	}
	n := t.AddrLen() / 4
	le, be := binary.LittleEndian, binary.BigEndian
	dst := t.Dst
	var seed uint32
	if r.Flags&RangePersistent == 0 {
		seed = le.Uint32(dst[(n-1)*4:]) ^ uint32(zone)
	}
	var words [4]uint32
	for i := range words {
		words[i] = le.Uint32(t.Src[i*4:])
	}
	j := jhash2(words[:], seed)
	full := false
	for i := 0; i < n; i++ {
		lo, dist := uint32(0), ^uint32(0)
		if !full {
			lo = be.Uint32(r.MinAddr[i*4:])
			dist = be.Uint32(r.MaxAddr[i*4:]) - lo + 1
		}
		be.PutUint32(a[i*4:], lo+uint32(uint64(j)*uint64(dist)>>32))
		if !bytes.Equal(a[i*4:i*4+4], r.MaxAddr[i*4:i*4+4]) {
			full = true
		}
		if r.Flags&RangePersistent == 0 {
			// The kernel reads the destination as it is by now.
			j ^= le.Uint32(t.Dst[i*4:])
		}
	}
}

// maxPortTries is NF_NAT_MAX_ATTEMPTS.
const maxPortTries = 128

// uniquePort is nf_nat_l4proto_unique_tuple. Where the kernel starts at a
// random place, this starts at the first of the range and says so.
func (t *Tracker) uniquePort(next Tuple, r *Range, c *Conn, m Manip, now int64) (Tuple, bool) {
	port := &next.SrcPort
	lo, size := 1024, 65535-1024+1
	spec := r.Flags&RangeProtoSpecified != 0
	switch next.Proto {
	case packet.ProtoICMP, packet.ProtoICMPv6:
		lo, size = 0, 65536
	case packet.ProtoTCP, packet.ProtoUDP, packet.ProtoUDPLite, packet.ProtoSCTP:
		if m == ManipDst {
			port = &next.DstPort
			if !spec {
				return next, false
			}
		}
		if *port < 512 {
			lo, size = 1, 511
		} else if *port < 1024 {
			lo, size = 600, 424
		}
	default:
		return next, false
	}
	if spec {
		a, b := int(r.MinPort), int(r.MaxPort)
		if b < a {
			a, b = b, a
		}
		lo, size = a, b-a+1
	}
	off, random := 0, false
	switch {
	case r.Flags&RangeProtoOffset != 0:
		off = int(*port - r.BasePort)
	case r.Flags&rangeRandomAll != 0 || m != ManipDst:
		random = size > 1
	}
	for i := 0; i < min(size, maxPortTries); i++ {
		*port = uint16(lo + (off+i)%size)
		if !t.taken(next, c, now) {
			break
		}
	}
	return next, random
}

// jhash2 is jhash2 of include/linux/jhash.h.
func jhash2(k []uint32, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(k))*4 + seed
	b, c := a, a
	for len(k) > 3 {
		a += k[0]
		b += k[1]
		c += k[2]
		a = (a - c) ^ bits.RotateLeft32(c, 4)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 6)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 8)
		b += a
		a = (a - c) ^ bits.RotateLeft32(c, 16)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 19)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 4)
		b += a
		k = k[3:]
	}
	switch len(k) {
	case 3:
		c += k[2]
		fallthrough
	case 2:
		b += k[1]
		fallthrough
	case 1:
		a += k[0]
		c = (c ^ b) - bits.RotateLeft32(b, 14)
		a = (a ^ c) - bits.RotateLeft32(c, 11)
		b = (b ^ a) - bits.RotateLeft32(a, 25)
		c = (c ^ b) - bits.RotateLeft32(b, 16)
		a = (a ^ c) - bits.RotateLeft32(c, 4)
		b = (b ^ a) - bits.RotateLeft32(a, 14)
		c = (c ^ b) - bits.RotateLeft32(b, 24)
	}
	return c
}

// Translate changes a packet as its connection's NAT says at a hook
// (nf_nat_packet and, for ICMP errors, nf_nat_icmp_reply_translation). changed
// tells whether bytes were written, ok is false when the packet is dropped.
func Translate(p *packet.Packet, c *Conn, info Info, m Manip) (changed, ok bool) {
	i := &p.Info
	if th, proto, ok := l4proto(p); ok && th != i.TH {
		seen := *i
		i.TH, i.L4Proto = th, proto
		defer func() { *i = seen }()
	}
	dir := info.Dir()
	status := uint32(SrcNAT)
	if m == ManipDst {
		status = DstNAT
	}
	if dir == 1 {
		status ^= SrcNAT | DstNAT
	}
	isError := (info == Related || info == RelatedReply) &&
		(i.L4Proto == packet.ProtoICMP && p.NFProto == packet.NFProtoIPv4 ||
			i.L4Proto == packet.ProtoICMPv6 && p.NFProto == packet.NFProtoIPv6)
	if isError && badChecksum(p, i.L4Proto) {
		return false, false
	}
	if c.Status&status == 0 {
		return false, true
	}
	target, inv := c.Tuple(1 - dir).Invert()
	if !inv {
		return false, true
	}
	if !isError {
		if target.Proto == packet.ProtoGRE { // gre_manip_pkt
			h, a := at(p, i.TH, 8)
			if a == packet.PastEnd || a == packet.None && m == ManipDst && h[1]&7 > 1 {
				return false, false
			}
		}
		rewrite(p, p.NH, i.TH, &target, m, i.End)
		return true, true
	}
	// The quoted packet goes the other way: the opposite end of it changes.
	off := i.TH + 8
	if h, a := at(p, i.TH, 1); a == packet.None && i.L4Proto == packet.ProtoICMPv6 && h[0] == 137 {
		off = i.TH + 48
	}
	_, th, found := innerTuple(p, off)
	if !found {
		return false, false
	}
	rewrite(p, off, th, c.Tuple(1-dir), 1-m, min(i.End, len(p.Data)))
	outer := target
	outer.Proto = i.L4Proto
	rewriteAddr(p, p.NH, -1, &outer, m)
	fixICMP(p)
	return true, true
}

// fixICMP computes the checksum of an ICMP message afresh.
func fixICMP(p *packet.Packet) {
	i := &p.Info
	if i.End > len(p.Data) || i.TH+4 > i.End {
		return
	}
	b := p.Data[i.TH:i.End]
	b[2], b[3] = 0, 0
	var sum uint32
	if i.L4Proto == packet.ProtoICMPv6 {
		sum = packet.PartialSum(p.Data[p.NH+8:p.NH+40], 0)
		sum = packet.PartialSum([]byte{0, packet.ProtoICMPv6}, sum) + uint32(len(b))
	}
	binary.BigEndian.PutUint16(b[2:], packet.Checksum(b, sum))
}

// rewriteAddr writes a tuple's source or destination address into the IP
// header at nh and mends its checksum and, at csum (or -1), that of a
// transport header.
func rewriteAddr(p *packet.Packet, nh, csum int, t *Tuple, m Manip) {
	n := t.AddrLen()
	off := nh + 12
	if n == 16 {
		off = nh + 8
	}
	if m == ManipDst {
		off += n
	}
	if off+n > len(p.Data) {
		return
	}
	addr := &t.Src
	if m == ManipDst {
		addr = &t.Dst
	}
	old := p.Data[off : off+n]
	from, to := packet.PartialSum(old, 0), packet.PartialSum(addr[:n], 0)
	if n == 4 {
		replaceSum(p, nh+10, from, to)
	}
	if csum >= 0 {
		replaceSum(p, csum, from, to)
	}
	copy(old, addr[:n])
}

// replaceSum mends the Internet checksum at off (csum_replace4).
func replaceSum(p *packet.Packet, off int, from, to uint32) {
	if off < 0 || off+2 > len(p.Data) {
		return
	}
	fold := func(s uint32) uint32 {
		for s > 0xffff {
			s = s>>16 + s&0xffff
		}
		return s
	}
	c := p.Data[off:]
	s := uint32(^binary.BigEndian.Uint16(c)) + (fold(from) ^ 0xffff) + fold(to)
	binary.BigEndian.PutUint16(c, ^uint16(fold(s)))
}

// rewrite is nf_nat_ipv4_manip_pkt and nf_nat_ipv6_manip_pkt with
// l4proto_manip_pkt, for the headers at nh and th.
func rewrite(p *packet.Packet, nh, th int, t *Tuple, m Manip, end int) {
	csum, portOff := -1, -1
	port := t.SrcPort
	if m == ManipDst {
		portOff, port = th+2, t.DstPort
	} else {
		portOff = th
	}
	udp := false
	switch t.Proto {
	case packet.ProtoTCP:
		csum = th + 16
	case packet.ProtoUDP:
		csum, udp = th+6, true
		if th+8 > len(p.Data) || p.Data[th+6]|p.Data[th+7] == 0 {
			csum = -1
		}
	case packet.ProtoUDPLite:
		csum = th + 6
	case packet.ProtoSCTP:
	case packet.ProtoICMP, packet.ProtoICMPv6:
		// icmp_manip_pkt: only the identifier of requests and replies.
		portOff, port = th+4, t.SrcPort
		typ := byte(0)
		if th < len(p.Data) {
			typ = p.Data[th]
		}
		if _, query := icmpInverse(t.L3, typ); !query {
			portOff = -1
		}
		if t.Proto == packet.ProtoICMPv6 {
			csum = th + 2
		} else if portOff >= 0 && portOff+2 <= len(p.Data) {
			replaceSum(p, th+2, uint32(binary.BigEndian.Uint16(p.Data[portOff:])), uint32(port))
		}
	default:
		portOff = -1
	}
	rewriteAddr(p, nh, csum, t, m)
	if portOff >= 0 && portOff+2 <= len(p.Data) {
		if csum >= 0 {
			replaceSum(p, csum, uint32(binary.BigEndian.Uint16(p.Data[portOff:])), uint32(port))
		}
		binary.BigEndian.PutUint16(p.Data[portOff:], port)
	}
	if udp && csum >= 0 && csum+2 <= len(p.Data) && p.Data[csum]|p.Data[csum+1] == 0 {
		p.Data[csum], p.Data[csum+1] = 0xff, 0xff // CSUM_MANGLED_0
	}
	if t.Proto == packet.ProtoSCTP && end <= len(p.Data) && th+12 <= end {
		b := p.Data[th:end]
		clear(b[8:12])
		binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, castagnoli))
	}
}
