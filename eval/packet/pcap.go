package packet

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The capture readers are our own, since pcapgo's do not give file offsets for
// errors, stop at sections of another version and at records whose captured
// length exceeds the wire length, know neither the modified pcap header nor
// options of obsolete packet blocks, and copy each packet.

// maxCapture is MAXIMUM_SNAPLEN of libpcap: a record that claims more captured
// bytes is corrupt, unless the file's own snap length allows it. maxSnap bounds
// what a file may allow, so that a corrupt length cannot take all memory.
const (
	maxCapture = 262144
	maxSnap    = 16 << 20
)

const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34 // Kuznetsov's: 8 more bytes a record
)

func isPcap(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch be32(head) {
	case magicMicro, magicNano, magicModified:
		return true
	}
	switch binary.LittleEndian.Uint32(head) {
	case magicMicro, magicNano, magicModified:
		return true
	}
	return false
}

type pcapSource struct {
	*input
	big      bool
	nano     bool
	modified bool
	swapped  int8 // captured and wire length: 0 in order, 1 swapped, 2 swapped if that makes sense
	link     LinkType
	fcs      int
	limit    uint32
}

func newPcap(in *input) (Source, error) {
	h, err := in.win.need(24)
	if err != nil {
		return nil, in.cut(0, "pcap file header", 24, len(h), err)
	}
	s := &pcapSource{input: in}
	magic := binary.LittleEndian.Uint32(h)
	if magic != magicMicro && magic != magicNano && magic != magicModified {
		s.big = true
		magic = be32(h)
	}
	s.nano, s.modified = magic == magicNano, magic == magicModified
	switch major, minor := s.u16(h[4:]), s.u16(h[6:]); {
	case s.nano || s.modified:
		// Younger than version 2.4: a lower number here is corruption, and
		// says nothing of the order of the lengths.
		if major != 2 || minor != 4 {
			in.warn("%s: pcap version %d.%d is unknown, read as 2.4", in.name, major, minor)
		}
	case major == 2 && minor < 3, major == 543:
		s.swapped = 1
	case major == 2 && minor == 3:
		s.swapped = 2
	case major != 2:
		in.warn("%s: pcap version %d.%d is unknown, read as 2.4", in.name, major, minor)
	}
	network := s.u32(h[20:])
	s.link = LinkType(network & 0xffff)
	if network&0x04000000 != 0 { // FCS length is present, in 16-bit words
		s.fcs = int(network>>28) * 2
	}
	s.limit = min(max(s.u32(h[16:]), maxCapture), maxSnap)
	in.win.take(24)
	return s, nil
}

func (s *pcapSource) u16(b []byte) uint16 {
	if s.big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (s *pcapSource) u32(b []byte) uint32 {
	if s.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (s *pcapSource) Format() string {
	f := "pcap, " + endianName(s.big) + ", microseconds, " + s.link.String()
	if s.nano {
		f = "pcap, " + endianName(s.big) + ", nanoseconds, " + s.link.String()
	}
	return f
}

func endianName(big bool) string {
	if big {
		return "big-endian"
	}
	return "little-endian"
}

func (s *pcapSource) Next(p *Packet) error {
	if s.err == nil {
		s.err = s.next(p)
	}
	return s.err
}

func (s *pcapSource) next(p *Packet) error {
	hlen := 16
	if s.modified {
		hlen = 24
	}
	w := &s.win
	start := w.off
	h, err := w.need(hlen)
	if err == io.EOF {
		return io.EOF
	}
	if err != nil {
		return s.cut(start, "packet record header", int64(hlen), len(h), err)
	}
	sec, sub, capLen, wireLen := s.u32(h), s.u32(h[4:]), s.u32(h[8:]), s.u32(h[12:])
	if s.swapped == 1 || s.swapped == 2 && capLen > wireLen {
		capLen, wireLen = wireLen, capLen
	}
	if capLen > s.limit {
		return s.fail(start, fmt.Sprintf("captured length %d of packet %d is beyond the limit of %d: corrupt record", capLen, s.packets+1, s.limit), nil)
	}
	if wireLen > 1<<30 {
		wireLen = capLen
	}
	iface, direction := uint32(0), DirUnknown
	if s.modified {
		iface = s.u32(h[16:])
		if h[22] == uint8(PktOutgoing) {
			direction = DirOut
		}
	}
	w.take(hlen)
	data, err := w.need(int(capLen))
	if err != nil {
		return s.cut(start, fmt.Sprintf("data of packet %d", s.packets+1), int64(capLen), len(data), err)
	}
	w.take(int(capLen))
	s.packets++
	p.Reset()
	p.Index = s.packets
	p.Data, p.WireLen = trimFCS(data, int(wireLen), s.fcs)
	p.LinkType = s.link
	ns := int64(sub)
	if !s.nano {
		ns *= 1000
	}
	st := &p.Stated
	st.TimeNs, st.Has = int64(sec)*1e9+ns, HasTime
	st.Direction = direction
	if iface != 0 {
		st.Iif, st.Has = iface, st.Has|HasIif
	}
	p.Decode()
	return nil
}

// trimFCS removes a frame check sequence of n bytes from the end.
func trimFCS(data []byte, wireLen, n int) ([]byte, int) {
	wireLen = max(wireLen, len(data))
	if n > 0 && wireLen > n {
		wireLen -= n
		data = data[:min(len(data), wireLen)]
	}
	return data, wireLen
}
