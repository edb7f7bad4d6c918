package packet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strings"
)

// Block types of pcapng.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 2 // obsolete
	blockSimple    = 3
	blockEnhanced  = 6
)

const byteOrderMagic = 0x1a2b3c4d

// maxBlock bounds the blocks that are looked into; others are stepped over
// whatever their length.
const maxBlock = maxSnap + 1<<20

func isPcapng(head []byte) bool { return len(head) == 4 && be32(head) == blockSection }

// ngInterface is one interface description block.
type ngInterface struct {
	link   LinkType
	snap   uint32
	name   string
	fcs    int
	binary bool // time unit is 2^-exp seconds, else 10^-exp
	exp    uint8
	offset int64 // seconds
}

type pcapngSource struct {
	*input
	big        bool
	section    int // ordinal from 0; -1 before the first
	interfaces []ngInterface
	total      int // interfaces of all sections
	links      []string
}

func newPcapng(in *input) (Source, error) {
	s := &pcapngSource{input: in, section: -1}
	h, err := in.win.need(12)
	if err != nil {
		return nil, in.cut(0, "section header block", 28, len(h), err)
	}
	if _, err := s.sectionOrder(h, 0); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *pcapngSource) u16(b []byte) uint16 {
	if s.big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (s *pcapngSource) u32(b []byte) uint32 {
	if s.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// Format lists what has been seen so far.
func (s *pcapngSource) Format() string {
	return fmt.Sprintf("pcapng, %s, %d sections, %d interfaces, %s",
		endianName(s.big), s.section+1, s.total, strings.Join(s.links, ", "))
}

func (s *pcapngSource) Next(p *Packet) error {
	if s.err == nil {
		s.err = s.next(p)
	}
	return s.err
}

// sectionOrder takes the byte order from the first 12 bytes of a section
// header block.
func (s *pcapngSource) sectionOrder(h []byte, off int64) (length uint32, err error) {
	switch {
	case binary.LittleEndian.Uint32(h[8:]) == byteOrderMagic:
		s.big = false
	case be32(h[8:]) == byteOrderMagic:
		s.big = true
	default:
		return 0, s.fail(off, fmt.Sprintf("section header has byte-order magic %#08x, expected %#08x", be32(h[8:]), uint32(byteOrderMagic)), nil)
	}
	return s.u32(h[4:]), nil
}

func (s *pcapngSource) next(p *Packet) error {
	w := &s.win
	for {
		start := w.off
		h, err := w.need(8)
		if err == io.EOF {
			return io.EOF
		}
		if err != nil {
			return s.cut(start, "block header", 8, len(h), err)
		}
		typ, length := s.u32(h), s.u32(h[4:])
		if be32(h) == blockSection {
			if h, err = w.need(12); err != nil {
				return s.cut(start, "section header block", 28, len(h), err)
			}
			typ = blockSection
			if length, err = s.sectionOrder(h, start); err != nil {
				return err
			}
		}
		if length < 12 {
			return s.fail(start, fmt.Sprintf("block of type %#x claims a length of %d bytes, at least 12 expected: corrupt", typ, length), nil)
		}
		switch typ {
		case blockSection, blockInterface, blockPacket, blockSimple, blockEnhanced:
		default:
			padded := (int64(length) + 3) &^ 3
			if n, err := w.skip(padded); err != nil {
				return s.cut(start, fmt.Sprintf("block of type %#x", typ), padded, int(n), err)
			}
			continue
		}
		if length > maxBlock {
			return s.fail(start, fmt.Sprintf("block of type %#x claims a length of %d bytes, at most %d expected: corrupt", typ, length, maxBlock), nil)
		}
		n := (int(length) + 3) &^ 3
		b, err := w.need(n)
		if err != nil {
			return s.cut(start, blockName(typ), int64(n), len(b), err)
		}
		w.take(n)
		if n != int(length) {
			s.warn("%s: offset %d: block length %d is not a multiple of 4", s.name, start, length)
		} else if tail := s.u32(b[n-4:]); tail != length {
			s.warn("%s: offset %d: block lengths at start and end differ: %d, %d", s.name, start, length, tail)
		}
		body := b[8 : n-4]
		switch typ {
		case blockSection:
			s.beginSection(body, start)
		case blockInterface:
			if err := s.addInterface(body, start); err != nil {
				return err
			}
		default:
			return s.packet(p, typ, body, start)
		}
	}
}

func blockName(typ uint32) string {
	switch typ {
	case blockSection:
		return "section header block"
	case blockInterface:
		return "interface description block"
	case blockPacket:
		return "packet block"
	case blockSimple:
		return "simple packet block"
	case blockEnhanced:
		return "enhanced packet block"
	}
	return fmt.Sprintf("block of type %#x", typ)
}

func (s *pcapngSource) beginSection(body []byte, start int64) {
	s.section++
	s.interfaces = s.interfaces[:0]
	if len(body) >= 8 {
		if major, minor := s.u16(body[4:]), s.u16(body[6:]); major != 1 || minor != 0 && minor != 2 {
			s.warn("%s: offset %d: pcapng version %d.%d is unknown, read as 1.0", s.name, start, major, minor)
		}
	}
}

// options walks the options in b: the values of code and value, until the end
// of the list or of b.
func (s *pcapngSource) options(b []byte, each func(code uint16, v []byte)) {
	for len(b) >= 4 {
		code, n := s.u16(b), int(s.u16(b[2:]))
		if code == 0 || n > len(b)-4 {
			return
		}
		each(code, b[4:4+n])
		b = b[min(len(b), 4+(n+3)&^3):]
	}
}

func (s *pcapngSource) addInterface(body []byte, start int64) error {
	if len(body) < 8 {
		return s.fail(start, fmt.Sprintf("interface description block holds %d bytes, at least 8 expected: corrupt", len(body)), nil)
	}
	f := ngInterface{link: LinkType(s.u16(body)), snap: s.u32(body[4:]), exp: 6}
	s.options(body[8:], func(code uint16, v []byte) {
		switch {
		case code == 2: // if_name
			f.name, _, _ = strings.Cut(string(v), "\x00")
		case code == 9 && len(v) >= 1: // if_tsresol
			f.binary, f.exp = v[0]&0x80 != 0, v[0]&0x7f
		case code == 13 && len(v) >= 1 && v[0] <= 8: // if_fcslen
			f.fcs = int(v[0])
		case code == 14 && len(v) >= 8: // if_tsoffset
			if s.big {
				f.offset = int64(binary.BigEndian.Uint64(v))
			} else {
				f.offset = int64(binary.LittleEndian.Uint64(v))
			}
		}
	})
	s.interfaces = append(s.interfaces, f)
	s.total++
	name := f.link.String()
	for _, l := range s.links {
		if l == name {
			return nil
		}
	}
	s.links = append(s.links, name)
	return nil
}

func (s *pcapngSource) packet(p *Packet, typ uint32, body []byte, start int64) error {
	head := 20
	if typ == blockSimple {
		head = 4
	}
	if len(body) < head {
		return s.fail(start, fmt.Sprintf("%s holds %d bytes, at least %d expected: corrupt", blockName(typ), len(body), head), nil)
	}
	var id, capLen, wireLen uint32
	var stamp uint64
	switch typ {
	case blockEnhanced:
		id = s.u32(body)
	case blockPacket:
		id = uint32(s.u16(body))
	}
	if int64(id) >= int64(len(s.interfaces)) {
		return s.fail(start, fmt.Sprintf("packet names interface %d, but the section has described %d interfaces", id, len(s.interfaces)), nil)
	}
	f := &s.interfaces[id]
	if typ == blockSimple {
		wireLen = s.u32(body)
		capLen = min(wireLen, uint32(len(body)-4))
		if f.snap != 0 {
			capLen = min(capLen, f.snap)
		}
	} else {
		stamp = uint64(s.u32(body[4:]))<<32 | uint64(s.u32(body[8:]))
		capLen, wireLen = s.u32(body[12:]), s.u32(body[16:])
	}
	if int64(capLen) > int64(len(body)-head) {
		return s.fail(start, fmt.Sprintf("captured length %d of packet %d is beyond its block, which has room for %d: corrupt", capLen, s.packets+1, len(body)-head), nil)
	}
	if wireLen > 1<<30 {
		wireLen = capLen
	}
	s.packets++
	p.Reset()
	p.Index, p.Section, p.Interface = s.packets, s.section, int(id)
	data := body[head : head+int(capLen) : head+int(capLen)]
	fcs := f.fcs
	st := &p.Stated
	if typ != blockSimple {
		st.TimeNs, st.Has = f.nanoseconds(stamp), st.Has|HasTime
		if rest := head + (int(capLen)+3)&^3; rest < len(body) {
			if flags, ok := s.packetFlags(body[rest:]); ok {
				switch flags & 3 {
				case 1:
					st.Direction = DirIn
				case 2:
					st.Direction = DirOut
				}
				if n := int(flags >> 5 & 0x0f); n != 0 {
					fcs = n
				}
			}
		}
	}
	if f.name != "" {
		if st.Direction == DirOut {
			st.OifName, st.Has = f.name, st.Has|HasOifName
		} else {
			st.IifName, st.Has = f.name, st.Has|HasIifName
		}
	}
	p.Data, p.WireLen = trimFCS(data, int(wireLen), fcs)
	p.LinkType = f.link
	p.Decode()
	return nil
}

// packetFlags finds epb_flags (pack_flags in the obsolete block has the same
// code and layout).
func (s *pcapngSource) packetFlags(b []byte) (uint32, bool) {
	for len(b) >= 4 {
		code, n := s.u16(b), int(s.u16(b[2:]))
		if code == 0 || n > len(b)-4 {
			break
		}
		if code == 2 && n == 4 {
			return s.u32(b[4:]), true
		}
		b = b[min(len(b), 4+(n+3)&^3):]
	}
	return 0, false
}

// nanoseconds converts a time stamp in the interface's unit; values out of
// range saturate.
func (f *ngInterface) nanoseconds(stamp uint64) int64 {
	var sec, ns uint64
	switch {
	case f.binary && f.exp >= 64:
	case f.binary:
		sec = stamp >> f.exp
		frac := stamp - sec<<f.exp
		hi, lo := bits.Mul64(frac, 1e9)
		ns = hi<<(64-f.exp) | lo>>f.exp
		if f.exp == 0 {
			ns = 0
		}
	case f.exp > 19:
	default:
		unit := uint64(1)
		for range f.exp {
			unit *= 10
		}
		sec = stamp / unit
		hi, lo := bits.Mul64(stamp%unit, 1e9)
		ns, _ = bits.Div64(hi, lo, unit)
	}
	if sec > maxSeconds {
		return maxSeconds * 1_000_000_000
	}
	t := int64(sec) + f.offset
	if t > maxSeconds || t < 0 {
		return int64(sec)*1e9 + int64(ns)
	}
	return t*1e9 + int64(ns)
}

// maxSeconds is the last second that fits nanoseconds in an int64.
const maxSeconds = math.MaxInt64/1_000_000_000 - 1
