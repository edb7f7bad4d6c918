package packet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Tuple prints the packet as a line of packet notation: bytes, stated facts and
// expected verdict. [ParseTuple] of the line gives the same packet again; where
// the notation cannot say the bytes, frame= holds them.
func (p *Packet) Tuple() string {
	var b strings.Builder
	if validName(p.Name) {
		b.WriteString(p.Name + ": ")
	}
	b.WriteString(p.describe())
	for i := range tupleKeys {
		k := &tupleKeys[i]
		if k.get == nil {
			continue
		}
		if v, ok := k.get(&p.Stated); ok {
			b.WriteString(" " + k.name + "=" + quoteValue(v))
		}
	}
	if p.Stated.Expect != "" {
		b.WriteString(" => " + p.Stated.Expect)
		if r := p.Stated.ExpectRest; r != "" {
			b.WriteString("; " + r)
		}
	}
	return b.String()
}

func validName(s string) bool {
	return s != "" && s[0] != '#' && !strings.ContainsAny(s, " \t\r\n\f=\"")
}

// quoteValue puts a value in quotes if it would not be read back as it is.
func quoteValue(v string) string {
	for _, c := range v {
		if c <= ' ' || c == '"' || c == 0x7f || c == '\ufffd' {
			return strconv.Quote(v)
		}
	}
	return v
}

// describe gives the part of the line that makes the bytes.
func (p *Packet) describe() string {
	lead := ""
	raw := p.LinkType.row().framing == frameRaw
	if p.WireLen == len(p.Data) && (p.LinkType == LinkEthernet || raw) {
		for _, dissect := range []func(*Packet) *spec{dissectIP, dissectARP, dissectEther} {
			s := dissect(p)
			if s == nil {
				continue
			}
			if !s.match(p.Data) {
				continue
			}
			line := s.print()
			if raw {
				line += " link=" + p.linkName()
			}
			if p.reproduces(line) {
				return line
			}
		}
	}
	if s := dissectIP(p); s != nil {
		s.sets, s.ext, s.frag, s.payload, s.tcpOpts, s.ipOpts, s.vlan, s.cvlan, s.pad = nil, nil, nil, nil, nil, nil, false, false, 0
		lead = strings.TrimSuffix(s.print(), " flags=syn") + " "
	}
	line := lead + "frame=" + hex.EncodeToString(p.Data)
	if p.LinkType != LinkEthernet {
		line += " link=" + p.linkName()
	}
	if p.WireLen > len(p.Data) {
		line += fmt.Sprintf(" wirelen=%d", p.WireLen)
	}
	return line
}

// linkName names the link type so that setLink finds this one again.
func (p *Packet) linkName() string {
	if r := p.LinkType.row(); r.name != "" && (r.name != "RAW" || p.LinkType == LinkRaw) {
		return r.name
	}
	return strconv.Itoa(int(p.LinkType))
}

// reproduces reports whether a line gives the bytes of p.
func (p *Packet) reproduces(line string) bool {
	var q Packet
	return ParseTuple(line, &q) == nil && bytes.Equal(q.Data, p.Data) && q.LinkType == p.LinkType && q.WireLen == p.WireLen
}

// match adds to s the fields in which data differs from what s builds, and
// reports whether s then builds data.
func (s *spec) match(data []byte) bool {
	for range 4 {
		out, err := s.build(nil)
		if err != nil || len(out) != len(data) {
			return false
		}
		if bytes.Equal(out, data) {
			return true
		}
		n := len(s.sets)
		if s.differences(out, data, false); len(s.sets) == n {
			s.differences(out, data, true)
		}
		if len(s.sets) == n {
			return false
		}
	}
	return false
}

// derivedFields are computed from the rest of the packet.
var derivedFields = []string{"checksum", "length", "hdrlength", "doff"}

// differences appends a fieldSet for each printable field in which two frames
// of the same layout differ: the derived fields, or the others.
func (s *spec) differences(have, want []byte, derived bool) {
	off := 0
	compare := func(h *header, off int) {
		n := len(h.def)
		if off+n > len(want) {
			return
		}
		for i := range h.fields {
			f := &h.fields[i]
			if f.quiet || slices.Contains(derivedFields, f.name) != derived || s.explicit(h, f.name) != nil || h == headerIP6 && f.name == "nexthdr" {
				continue
			}
			v := f.get(want[off:])
			if f.get(have[off:]) == v {
				continue
			}
			t := fieldSet{h: h, f: f, v: v}
			if f.kind == kindMAC {
				copy(t.b[:], want[off+f.bit/8:][:6])
			}
			s.sets = append(s.sets, t)
		}
	}
	if !s.hasLink {
		if !s.proto.ether {
			for _, f := range headerEther.fields[:2] {
				at := f.bit / 8
				if bytes.Equal(have[at:at+6], want[at:at+6]) {
					continue
				}
				t := fieldSet{h: headerEther, f: headerEther.find(f.name)}
				copy(t.b[:], want[at:at+6])
				s.sets = append(s.sets, t)
			}
		}
		off = 12
		if s.vlan || s.cvlan {
			compare(headerVLAN, off)
			off += 4
		}
		if s.cvlan {
			compare(headerCVLAN, off)
			off += 4
		}
		if f := headerEther.find("type"); be16(have[off:]) != be16(want[off:]) && s.explicit(headerEther, "type") == nil {
			s.sets = append(s.sets, fieldSet{h: headerEther, f: f, v: uint64(be16(want[off:]))})
		}
		off += 2
	}
	switch s.family() {
	case NFProtoIPv4:
		compare(headerIP, off)
		off += 20 + len(s.ipOpts)
	case NFProtoIPv6:
		compare(headerIP6, off)
		off += 40
		for _, e := range s.ext {
			off += 2 + len(e.body)
		}
		if s.frag != nil {
			compare(headerFrag, off)
			off += 8
		}
	case NFProtoARP:
		compare(headerARP, off)
		return
	default:
		return
	}
	if h := s.proto.l4; h != nil {
		compare(h, off)
	}
}

// dissectLink takes the Ethernet header and up to two VLAN tags.
func dissectLink(p *Packet) (s *spec, nh int, etherType uint16) {
	s = &spec{}
	if p.LinkType.row().framing == frameRaw {
		s.link, s.hasLink = p.LinkType, true
		return s, 0, p.EtherType
	}
	if p.LinkType != LinkEthernet || len(p.Data) < 14 {
		return nil, 0, 0
	}
	copy(s.dmac[:], p.Data)
	copy(s.smac[:], p.Data[6:])
	nh = 14
	for _, on := range []*bool{&s.vlan, &s.cvlan} {
		if t := be16(p.Data[nh-2:]); t != EtherVLAN && t != EtherQinQ || nh+4 > len(p.Data) {
			break
		}
		*on = true
		nh += 4
	}
	return s, nh, be16(p.Data[nh-2:])
}

// tail splits the bytes from end on off as zero padding.
func (s *spec) tail(data []byte, end int) bool {
	s.pad = len(data) - end
	return isZero(data[end:])
}

func dissectIP(p *Packet) *spec {
	s, nh, etherType := dissectLink(p)
	if s == nil {
		if p.NH < 0 {
			return nil
		}
		s, nh, etherType = &spec{}, p.NH, p.EtherType
	}
	d := p.Data
	switch etherType {
	case EtherIPv4:
		if nh+20 > len(d) {
			return nil
		}
		hl := int(d[nh]&0x0f) * 4
		if hl < 20 || nh+hl > len(d) {
			return nil
		}
		src, _ := netip.AddrFromSlice(d[nh+12 : nh+16])
		dst, _ := netip.AddrFromSlice(d[nh+16 : nh+20])
		s.src, s.dst, s.ipOpts = src, dst, d[nh+20:nh+hl]
		end := len(d)
		if n := int(be16(d[nh+2:])); n >= hl && nh+n < end {
			end = nh + n
		}
		if !s.tail(d, end) {
			return nil
		}
		if fo := be16(d[nh+6:]); fo != 0 && fo&0x8000 == 0 {
			s.frag = &fragSpec{off: int(fo&0x1fff) * 8, more: fo&0x2000 != 0, df: fo&0x4000 != 0}
			if s.frag.off != 0 {
				return s.dissectTransport(d[nh+hl:end], -1, "ip")
			}
		}
		return s.dissectTransport(d[nh+hl:end], int(d[nh+9]), "ip")
	case EtherIPv6:
		return s.dissectIPv6(d, nh)
	}
	return nil
}

func (s *spec) dissectIPv6(d []byte, nh int) *spec {
	if nh+40 > len(d) {
		return nil
	}
	src, _ := netip.AddrFromSlice(d[nh+8 : nh+24])
	dst, _ := netip.AddrFromSlice(d[nh+24 : nh+40])
	s.src, s.dst = src, dst
	end := len(d)
	if n := int(be16(d[nh+4:])); nh+40+n < end {
		end = nh + 40 + n
	}
	if !s.tail(d, end) {
		return nil
	}
	next, at := d[nh+6], nh+40
	for at+8 <= end && s.frag == nil {
		if next == ProtoFragment {
			fo := be16(d[at+2:])
			s.frag = &fragSpec{off: int(fo &^ 7), more: fo&1 != 0}
			next, at = d[at], at+8
			break
		}
		if next != ProtoHopOpts && next != ProtoRouting && next != ProtoDstOpts {
			break
		}
		n := (int(d[at+1]) + 1) * 8
		if at+n > end {
			break
		}
		s.ext = append(s.ext, extSpec{next, d[at+2 : at+n]})
		next, at = d[at], at+n
	}
	proto := int(next)
	if s.frag != nil && s.frag.off != 0 {
		proto = -1
	}
	s = s.dissectTransport(d[at:end], proto, "ip6")
	if s.proto.word == "ip6" {
		s.sets = append(s.sets, fieldSet{h: headerIP6, f: headerIP6.find("nexthdr"), v: uint64(next)})
	}
	return s
}

// dissectTransport finds the transport header in b; proto -1 is none.
func (s *spec) dissectTransport(b []byte, proto int, otherwise string) *spec {
	for i := range tupleProtos {
		t := &tupleProtos[i]
		if t.l4 == nil || int(t.proto) != proto || len(b) < len(t.l4.def) {
			continue
		}
		if t.family != 0 && (t.family == NFProtoIPv4) != (otherwise == "ip") {
			continue
		}
		n := len(t.l4.def)
		if t.l4 == headerTCP {
			hl := int(b[12]>>4) * 4
			if hl < 20 || hl > len(b) {
				hl = 20
			}
			s.tcpOpts, n = b[20:hl], hl
		}
		s.proto = t
		if t.ports {
			s.sport, s.dport = be16(b), be16(b[2:])
		}
		s.payload = b[n:]
		return s
	}
	s.proto = findProto(otherwise)
	s.payload = b
	return s
}

func dissectARP(p *Packet) *spec {
	s, nh, etherType := dissectLink(p)
	if s == nil || s.hasLink || etherType != EtherARP || nh+28 > len(p.Data) {
		return nil
	}
	b := p.Data[nh:]
	s.proto = findProto("arp")
	s.src, _ = netip.AddrFromSlice(b[14:18])
	s.dst, _ = netip.AddrFromSlice(b[24:28])
	if isZero(b[28:]) {
		s.pad = len(b) - 28
	} else {
		s.payload = b[28:]
	}
	return s
}

func dissectEther(p *Packet) *spec {
	s, nh, etherType := dissectLink(p)
	if s == nil || s.hasLink {
		return nil
	}
	s.proto = findProto("ether")
	s.payload = p.Data[nh:]
	s.sets = append(s.sets, fieldSet{h: headerEther, f: headerEther.find("type"), v: uint64(etherType)})
	return s
}

// print gives the spec as a line of notation, without link=.
func (s *spec) print() string {
	var b strings.Builder
	b.WriteString(s.proto.word + " ")
	switch {
	case s.proto.ether:
		fmt.Fprintf(&b, "%s > %s", net.HardwareAddr(s.smac[:]), net.HardwareAddr(s.dmac[:]))
	case s.proto.ports:
		fmt.Fprintf(&b, "%s > %s", netip.AddrPortFrom(s.src, s.sport), netip.AddrPortFrom(s.dst, s.dport))
	default:
		fmt.Fprintf(&b, "%s > %s", s.src, s.dst)
	}
	if s.proto.l4 == headerTCP && s.explicit(headerTCP, "flags") == nil {
		b.WriteString(" flags=syn")
	}
	if s.vlan && s.explicit(headerVLAN, "vid") == nil {
		b.WriteString(" vid=0")
	}
	if s.cvlan && s.explicit(headerCVLAN, "cvid") == nil {
		b.WriteString(" cvid=0")
	}
	for i := range s.sets {
		t := &s.sets[i]
		b.WriteString(" " + s.keyName(t.h, t.f) + "=" + t.value())
	}
	if f := s.frag; f != nil {
		var parts []string
		if f.df {
			parts = append(parts, "df")
		}
		if f.off != 0 || f.more || !f.df {
			v := strconv.Itoa(f.off)
			if f.more {
				v += "+"
			}
			parts = append(parts, v)
		}
		b.WriteString(" frag=" + strings.Join(parts, ","))
	}
	if len(s.ext) > 0 {
		var parts []string
		for _, e := range s.ext {
			parts = append(parts, printWord(uint64(e.proto), extWords)+":"+hex.EncodeToString(e.body))
		}
		b.WriteString(" ext=" + strings.Join(parts, ","))
	}
	if len(s.ipOpts) > 0 {
		b.WriteString(" ip.options=" + hex.EncodeToString(s.ipOpts))
	}
	if len(s.tcpOpts) > 0 {
		b.WriteString(" options=" + printTCPOptions(s.tcpOpts))
	}
	if len(s.payload) > 0 {
		b.WriteString(" payload=" + hex.EncodeToString(s.payload))
	}
	if s.pad > 0 {
		fmt.Fprintf(&b, " pad=%d", s.pad)
	}
	return b.String()
}

// keyName is the key for a field: qualified where the bare name would mean a
// field further inside, or nothing.
func (s *spec) keyName(h *header, f *field) string {
	if f.full && !(h == headerEther && s.proto.ether) || findKey(f.name) != nil {
		return h.name + "." + f.name
	}
	for _, in := range s.headers() {
		if in == h {
			break
		}
		if in.find(f.name) != nil {
			return h.name + "." + f.name
		}
	}
	return f.name
}

func (t *fieldSet) value() string {
	switch t.f.kind {
	case kindMAC:
		return net.HardwareAddr(t.b[:6]).String()
	case kindIPv4:
		return netip.AddrFrom4([4]byte{byte(t.v >> 24), byte(t.v >> 16), byte(t.v >> 8), byte(t.v)}).String()
	case kindIPv6:
		return netip.AddrFrom16(t.b).String()
	case kindWord:
		return printWord(t.v, t.f.words)
	case kindFlags:
		return printFlags(t.v, t.f.words)
	case kindHex:
		return fmt.Sprintf("%#x", t.v)
	}
	return strconv.FormatUint(t.v, 10)
}
