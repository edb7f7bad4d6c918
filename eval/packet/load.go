package packet

// Base is the header that a payload load or store counts from, with the values
// of enum nft_payload_bases.
type Base uint8

const (
	BaseLL        Base = iota // NFT_PAYLOAD_LL_HEADER
	BaseNetwork               // NFT_PAYLOAD_NETWORK_HEADER
	BaseTransport             // NFT_PAYLOAD_TRANSPORT_HEADER
	BaseInner                 // NFT_PAYLOAD_INNER_HEADER
)

var baseNames = [...]string{"link", "network", "transport", "inner"}

// String names the header as nft's debug output does.
func (b Base) String() string {
	if int(b) < len(baseNames) {
		return baseNames[b]
	}
	return "unknown"
}

// header is skb_header_pointer at the hook entered: n bytes at offset off of
// Data, inside the packet as skb->len has it.
func (p *Packet) header(off, n int) ([]byte, Absent) {
	if end := off + n; off >= 0 && end <= p.Info.End && end <= len(p.Data) {
		return p.Data[off:end:end], None
	}
	if off < 0 {
		return nil, Malformed
	}
	if off+n > p.Info.End {
		return nil, PastEnd
	}
	return nil, Truncated
}

// Offset gives the offset into Data of the header that base names, at the hook
// entered, or why the kernel has none there.
func (p *Packet) Offset(base Base) (int, Absent) {
	switch base {
	case BaseLL:
		if p.LLLen == 0 {
			return -1, p.LLAbsent
		}
		return p.LL, None
	case BaseNetwork:
		if p.NH < 0 {
			return -1, p.NHAbsent
		}
		return p.NH, None
	case BaseTransport:
		return p.Info.TH, p.Info.THAbsent
	case BaseInner:
		return p.InnerOffset()
	}
	return -1, NotFound
}

// Slice returns the n bytes at off from the header base, inside Data, so that
// writing to them changes the packet. It is nft_payload_eval without the
// copy, and without the fast path that Load knows: any result other than None
// breaks the rule, or is unknown ([Absent.Unknown]). A link layer range which
// LLGap splits cannot be a slice: use Load.
func (p *Packet) Slice(base Base, off, n int) ([]byte, Absent) {
	h, a := p.Offset(base)
	if a != None {
		return nil, a
	}
	if base == BaseLL && p.LLGap != 0 && off+n > 12 {
		if off < 12 {
			return nil, NotFound
		}
		off += p.LLGap
	}
	return p.header(h+off, n)
}

// fastLoad tells which loads nft_payload_select_ops gives to
// nft_payload_fast_eval. In Linux 6.18 that function does not ask whether the
// packet is a later fragment: it reads at thoff whatever is there (for IPv6
// thoff is 0 then, the network header). Other loads go to nft_payload_eval,
// which breaks for later fragments; newer kernels break for both.
func fastLoad(off, n int) bool {
	return (n == 1 || n == 2 || n == 4) && off%n == 0
}

// Load copies len(dst) bytes at off from the header base to dst: what a
// payload expression (nft_payload_fast_eval, then nft_payload_eval) puts into
// registers. The outer VLAN tag is seen in link
// layer loads as nft_payload_copy_vlan re-inserts it. Where a capture has
// replaced the Ethernet header (Linux cooked, 802.11), the bytes of it that the
// capture tells are given, the others are LinkNotCaptured. dst is unchanged when
// the result is not None.
func (p *Packet) Load(base Base, off int, dst []byte) Absent {
	if base == BaseLL && (p.llKnown != 0 || p.LLGap != 0) {
		return p.loadLL(off, dst)
	}
	b, a := p.Slice(base, off, len(dst))
	if a == Fragment && base == BaseTransport && fastLoad(off, len(dst)) {
		if p.Info.View == ViewEgress && p.NFProto == NFProtoIPv6 {
			// The offset that is not set counts from skb->data: there the link
			// layer header, which the device has written afresh.
			return LinkNotCaptured
		}
		if b, a = p.header(p.Info.TH+off, len(dst)); a == PastEnd {
			a = Fragment
		}
	}
	if a != None {
		return a
	}
	copy(dst, b)
	return None
}

// loadLL loads from a link layer header which is not one range of Data.
func (p *Packet) loadLL(off int, dst []byte) Absent {
	if p.LLLen == 0 && p.LLAbsent != LinkNotCaptured {
		return p.LLAbsent
	}
	var tmp [256]byte
	if off < 0 || len(dst) > len(tmp) {
		return Malformed
	}
	for i := range dst {
		at := off + i
		if at < len(p.llHdr) && p.llKnown>>at&1 != 0 {
			tmp[i] = p.llHdr[at]
			continue
		}
		if p.LLLen == 0 {
			return LinkNotCaptured
		}
		if at >= 12 {
			at += p.LLGap
		}
		b, a := p.header(p.LL+at, 1)
		if a != None {
			return a
		}
		tmp[i] = b[0]
	}
	copy(dst, tmp[:])
	return None
}

// InnerOffset is nft_payload_inner_offset: where the payload of the transport
// header starts (TCP, UDP, GRE version 0 without routing, IP in IP).
func (p *Packet) InnerOffset() (int, Absent) {
	i := &p.Info
	if i.innerState == 0 {
		off, a := p.innerOffset()
		if a != None {
			return -1, a
		}
		i.inner, i.innerState = off, 1
	}
	return i.inner, None
}

func (p *Packet) innerOffset() (int, Absent) {
	i := &p.Info
	if i.THAbsent != None {
		return -1, i.THAbsent
	}
	switch i.L4Proto {
	case ProtoUDP:
		return i.TH + 8, None
	case ProtoTCP:
		h, a := p.header(i.TH, 20)
		if a != None {
			return -1, a
		}
		return i.TH + int(h[12]>>4)*4, None
	case ProtoGRE:
		h, a := p.header(i.TH, 4)
		if a != None {
			return -1, a
		}
		flags := be16(h)
		if flags&0x0007 != 0 || flags&0x4000 != 0 { // GRE_VERSION, GRE_ROUTING
			return -1, NotFound
		}
		off := i.TH + 4
		for _, f := range [...]uint16{0x8000, 0x2000, 0x1000} { // GRE_CSUM, GRE_KEY, GRE_SEQ
			if flags&f != 0 {
				off += 4
			}
		}
		return off, None
	case ProtoIPIP:
		return i.TH, None
	}
	return -1, NoTransportHeader
}
