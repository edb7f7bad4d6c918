package packet

import (
	"fmt"
	"hash/crc32"
	"net/netip"
)

// spec is a packet to be built: what one line of notation says about bytes.
type spec struct {
	proto        *tupleProto
	src, dst     netip.Addr
	smac, dmac   [6]byte // with proto.ether
	sport, dport uint16
	sets         []fieldSet
	vlan, cvlan  bool
	frag         *fragSpec
	ext          []extSpec
	ipOpts       []byte
	tcpOpts      []byte
	payload      []byte
	pad          int // zero bytes after the packet, as Ethernet padding
	length       int // wanted length from the network header on; 0: as it comes
	link         LinkType
	hasLink      bool
	frame        []byte // exact bytes; nothing is built then
	hasFrame     bool
	wireLen      int
}

// fieldSet gives a header field a value other than the default.
type fieldSet struct {
	h   *header
	f   *field
	v   uint64
	b   [16]byte // addresses: left aligned
	bad bool     // a checksum that is off by one
	col int
}

type fragSpec struct {
	off      int // bytes
	more, df bool
}

// extSpec is an IPv6 extension header; body is what follows its first two
// bytes, padded with zeros when built.
type extSpec struct {
	proto uint8
	body  []byte
}

func (s *spec) explicit(h *header, name string) *fieldSet {
	for i := range s.sets {
		if t := &s.sets[i]; t.h == h && t.f.name == name {
			return t
		}
	}
	return nil
}

// family is the network family of the packet: NFProto...; 0 for ether.
func (s *spec) family() uint8 {
	switch {
	case s.proto == nil || s.proto.ether:
		return 0
	case s.proto.family != 0:
		return s.proto.family
	case s.src.Is4():
		return NFProtoIPv4
	}
	return NFProtoIPv6
}

// auto sets a field unless the line gives it.
func (s *spec) auto(h *header, b []byte, name string, v uint64) {
	if s.explicit(h, name) == nil {
		h.find(name).set(b, v)
	}
}

// apply writes the explicit fields of a header, checksums excepted.
func (s *spec) apply(h *header, b []byte) {
	for i := range s.sets {
		t := &s.sets[i]
		if t.h != h || t.f.name == "checksum" || (t.f.bit+t.f.width+7)/8 > len(b) {
			continue
		}
		t.write(b)
	}
}

func (t *fieldSet) write(b []byte) {
	if t.f.width > 32 && (t.f.kind == kindMAC || t.f.kind == kindIPv6) {
		copy(b[t.f.bit/8:], t.b[:t.f.width/8])
		return
	}
	t.f.set(b, t.v)
}

// sum writes a checksum field: the right value, the stated one, or a bad one.
func (s *spec) sum(h *header, b []byte, right uint64) {
	f := h.find("checksum")
	t := s.explicit(h, "checksum")
	switch {
	case t == nil:
		f.set(b, right)
	case t.bad:
		f.set(b, right^1)
	default:
		f.set(b, t.v)
	}
}

// build appends the bytes of the packet to buf. It fails, in words, when parts
// do not fit together.
func (s *spec) build(buf []byte) ([]byte, error) {
	if s.hasFrame {
		return append(buf, s.frame...), nil
	}
	start := len(buf)
	family := s.family()
	if !s.hasLink || s.link == LinkEthernet {
		buf = append(buf, headerEther.def[:12]...)
		if s.proto.ether {
			copy(buf[start:], s.dmac[:])
			copy(buf[start+6:], s.smac[:])
		}
		s.apply(headerEther, buf[start:start+12])
		for _, tag := range [...]struct {
			h  *header
			on bool
		}{{headerVLAN, s.vlan || s.cvlan}, {headerCVLAN, s.cvlan}} {
			if tag.on {
				at := len(buf)
				buf = append(buf, tag.h.def...)
				s.apply(tag.h, buf[at:])
			}
		}
		etherType := uint16(0x88b5) // local experimental, for ether without type
		switch family {
		case NFProtoIPv4:
			etherType = EtherIPv4
		case NFProtoIPv6:
			etherType = EtherIPv6
		case NFProtoARP:
			etherType = EtherARP
		}
		if t := s.explicit(headerEther, "type"); t != nil {
			etherType = uint16(t.v)
		}
		buf = append(buf, byte(etherType>>8), byte(etherType))
	} else if family == 0 || family == NFProtoARP {
		return nil, fmt.Errorf("link=%v has no room for %q, only for IP", s.link, s.proto.word)
	}
	nh := len(buf)
	var err error
	switch family {
	case NFProtoIPv4:
		buf, err = s.buildIPv4(buf)
	case NFProtoIPv6:
		buf, err = s.buildIPv6(buf)
	case NFProtoARP:
		buf = append(buf, headerARP.def...)
		b := buf[nh:]
		copy(b[8:14], buf[start+6:])
		src, dst := s.src.As4(), s.dst.As4()
		copy(b[14:], src[:])
		copy(b[24:], dst[:])
		s.apply(headerARP, b)
		buf = append(buf, s.payload...)
		buf, err = s.grow(buf, nh)
	default:
		buf = append(buf, s.payload...)
		buf, err = s.grow(buf, nh)
	}
	if err != nil {
		return nil, err
	}
	return append(buf, make([]byte, s.pad)...), nil
}

// grow brings the packet that starts at nh to the length asked for.
func (s *spec) grow(buf []byte, nh int) ([]byte, error) {
	if s.length == 0 {
		return buf, nil
	}
	have := len(buf) - nh
	if have > s.length {
		return nil, fmt.Errorf("len=%d is less than the %d bytes of headers and payload", s.length, have)
	}
	return append(buf, make([]byte, s.length-have)...), nil
}

func (s *spec) buildIPv4(buf []byte) ([]byte, error) {
	nh := len(buf)
	buf = append(buf, headerIP.def...)
	buf = append(buf, s.ipOpts...)
	for (len(buf)-nh)%4 != 0 {
		buf = append(buf, 0)
	}
	hl := len(buf) - nh
	if hl > 60 {
		return nil, fmt.Errorf("IPv4 options take %d bytes, at most 40 fit", hl-20)
	}
	src, dst := s.src.As4(), s.dst.As4()
	copy(buf[nh+12:], src[:])
	copy(buf[nh+16:], dst[:])
	s.auto(headerIP, buf[nh:], "hdrlength", uint64(hl/4))
	s.auto(headerIP, buf[nh:], "protocol", uint64(s.proto.proto))
	if f := s.frag; f != nil {
		if f.off%8 != 0 || f.off/8 > 0x1fff {
			return nil, fmt.Errorf("frag=%d: a fragment offset is a multiple of 8, at most 65528", f.off)
		}
		v := uint64(f.off / 8)
		if f.more {
			v |= 0x2000
		}
		if f.df {
			v |= 0x4000
		}
		s.auto(headerIP, buf[nh:], "frag-off", v)
	}
	th := len(buf)
	buf = s.transport(buf)
	buf, err := s.grow(buf, nh)
	if err != nil {
		return nil, err
	}
	if len(buf)-nh > 0xffff {
		return nil, fmt.Errorf("an IPv4 packet of %d bytes: at most 65535 fit", len(buf)-nh)
	}
	s.auto(headerIP, buf[nh:], "length", uint64(len(buf)-nh))
	s.apply(headerIP, buf[nh:])
	s.finish(buf[th:], buf[nh+12:nh+16], buf[nh+16:nh+20])
	s.sum(headerIP, buf[nh:], uint64(Checksum(buf[nh:nh+hl], 0)))
	return buf, nil
}

func (s *spec) buildIPv6(buf []byte) ([]byte, error) {
	nh := len(buf)
	buf = append(buf, headerIP6.def...)
	src, dst := s.src.As16(), s.dst.As16()
	copy(buf[nh+8:], src[:])
	copy(buf[nh+24:], dst[:])
	next := nh + 6 // where the next header value goes
	for _, e := range s.ext {
		at := len(buf)
		buf[next] = e.proto
		next = at
		buf = append(buf, 0, 0)
		buf = append(buf, e.body...)
		for (len(buf)-at)%8 != 0 {
			buf = append(buf, 0)
		}
		n := (len(buf)-at)/8 - 1
		if n > 255 {
			return nil, fmt.Errorf("an IPv6 extension header of %d bytes: at most 2048 fit", len(buf)-at)
		}
		buf[at+1] = byte(n)
	}
	if f := s.frag; f != nil {
		if f.df {
			return nil, fmt.Errorf("frag=df: IPv6 has no such bit")
		}
		if f.off%8 != 0 || f.off > 0xfff8 {
			return nil, fmt.Errorf("frag=%d: a fragment offset is a multiple of 8, at most 65528", f.off)
		}
		at := len(buf)
		buf[next] = ProtoFragment
		next = at
		buf = append(buf, headerFrag.def...)
		v := uint16(f.off)
		if f.more {
			v |= 1
		}
		buf[at+2], buf[at+3] = byte(v>>8), byte(v)
		s.apply(headerFrag, buf[at:])
	}
	proto := s.proto.proto
	if t := s.explicit(headerIP6, "nexthdr"); t != nil {
		proto = uint8(t.v)
	}
	buf[next] = proto
	th := len(buf)
	buf = s.transport(buf)
	buf, err := s.grow(buf, nh)
	if err != nil {
		return nil, err
	}
	if len(buf)-nh-40 > 0xffff {
		return nil, fmt.Errorf("an IPv6 payload of %d bytes: at most 65535 fit", len(buf)-nh-40)
	}
	s.auto(headerIP6, buf[nh:], "length", uint64(len(buf)-nh-40))
	first := buf[nh+6]
	s.apply(headerIP6, buf[nh:])
	buf[nh+6] = first
	s.finish(buf[th:], buf[nh+8:nh+24], buf[nh+24:nh+40])
	return buf, nil
}

// transport appends the transport header with its fields, options and payload.
func (s *spec) transport(buf []byte) []byte {
	h := s.proto.l4
	if h == nil {
		return append(buf, s.payload...)
	}
	at := len(buf)
	buf = append(buf, h.def...)
	if s.proto.ports {
		h.find("sport").set(buf[at:], uint64(s.sport))
		h.find("dport").set(buf[at:], uint64(s.dport))
	}
	if h == headerTCP {
		buf = append(buf, s.tcpOpts...)
		for (len(buf)-at)%4 != 0 {
			buf = append(buf, 0)
		}
		s.auto(h, buf[at:], "doff", uint64(min((len(buf)-at)/4, 15)))
	}
	s.apply(h, buf[at:at+len(h.def)])
	return append(buf, s.payload...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// finish fills lengths and checksums of the transport header in b, which ends
// with the packet.
func (s *spec) finish(b, src, dst []byte) {
	h := s.proto.l4
	if h == nil || len(b) < len(h.def) {
		return
	}
	pseudo := pseudoSum(src, dst, s.proto.proto, len(b))
	switch h {
	case headerUDP:
		s.auto(h, b, "length", uint64(len(b)))
		c := Checksum(b, pseudo)
		if c == 0 {
			c = 0xffff
		}
		s.sum(h, b, uint64(c))
	case headerUDPLite:
		cov := len(b)
		if t := s.explicit(h, "csumcov"); t != nil && t.v >= 8 && int(t.v) <= len(b) {
			cov = int(t.v)
		}
		c := Checksum(b[:cov], pseudo)
		if c == 0 {
			c = 0xffff
		}
		s.sum(h, b, uint64(c))
	case headerTCP, headerDCCP, headerICMPv6:
		s.sum(h, b, uint64(Checksum(b, pseudo)))
	case headerICMP, headerIGMP:
		s.sum(h, b, uint64(Checksum(b, 0)))
	case headerSCTP:
		c := crc32.Checksum(b, castagnoli)
		s.sum(h, b, uint64(c>>24|c>>8&0xff00|c<<8&0xff0000|c<<24))
	}
}
