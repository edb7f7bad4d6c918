package packet

// FindIPv6Header finds an IPv6 header or extension header by its next header
// value, for `exthdr` (nft_exthdr_ipv6_eval, ipv6_find_hdr with a target):
// the offset into Data of its first byte. NotFound, Malformed and PastEnd all
// break a load and make `exists` false; Truncated is unknown. Authentication
// headers are stepped over.
func (p *Packet) FindIPv6Header(target uint8) (int, Absent) {
	if p.NFProto != NFProtoIPv6 || p.NH < 0 {
		return -1, NotFound
	}
	off, _, _, a := p.findIPv6(p.NH, int(target), false)
	if a != None {
		return -1, a
	}
	return off, None
}

// IPv4 option types that `exthdr` knows (IPOPT_*).
const (
	IPOptEnd         = 0
	IPOptNoop        = 1
	IPOptRR          = 7
	IPOptTimestamp   = 68
	IPOptCIPSO       = 134
	IPOptLSRR        = 131
	IPOptSSRR        = 137
	IPOptRouterAlert = 148
)

// FindIPv4Option finds an IPv4 option, for `exthdr` (ipv4_find_option): the
// offset into Data of its type byte. As in the kernel the whole option list
// must be valid ([CheckIPv4Options]), and only LSRR, SSRR, RR and router alert
// can be found; a router alert counts only with value 0.
func (p *Packet) FindIPv4Option(target uint8) (int, Absent) {
	if p.NFProto != NFProtoIPv4 || p.NH < 0 {
		return -1, NotFound
	}
	// The kernel reads at skb->data, which at egress is the link layer header.
	base := p.Info.Start
	if base < p.NH && p.LL < 0 {
		return -1, LinkNotCaptured
	}
	h, a := p.header(base, 20)
	if a != None {
		return -1, a
	}
	n := int(h[0]&0x0f)*4 - 20
	if n <= 0 {
		return -1, NotFound
	}
	opts, a := p.header(base+20, n)
	if a != None {
		return -1, a
	}
	found, ok := CheckIPv4Options(opts, false)
	if !ok {
		return -1, Malformed
	}
	off := 0
	switch target {
	case IPOptSSRR, IPOptLSRR:
		if found.SourceRoute != 0 && found.Strict == (target == IPOptSSRR) {
			off = found.SourceRoute
		}
	case IPOptRR:
		off = found.RecordRoute
	case IPOptRouterAlert:
		off = found.RouterAlert
	}
	if off == 0 {
		return -1, NotFound
	}
	return base + off, None
}

// IPv4Options says where options stand, counted from the start of the IPv4
// header; 0 for those which are absent.
type IPv4Options struct {
	SourceRoute, RecordRoute, Timestamp, RouterAlert, CIPSO int
	Strict                                                  bool // SourceRoute is SSRR
}

// CheckIPv4Options is __ip_options_compile: it walks the options (the bytes
// after the first 20 of the header) and reports false where the kernel calls
// them invalid. received is true on the input path, where the rules for source
// routes and timestamps are laxer than for `exthdr`, which compiles them as
// for sending. Types the kernel does not know are accepted, as they are for a
// task with CAP_NET_RAW; of CIPSO only the length is checked.
func CheckIPv4Options(opts []byte, received bool) (f IPv4Options, ok bool) {
	for i := 0; i < len(opts); {
		switch opts[i] {
		case IPOptEnd:
			return f, true
		case IPOptNoop:
			i++
			continue
		}
		if len(opts)-i < 2 {
			return f, false
		}
		n := int(opts[i+1])
		if n < 2 || n > len(opts)-i {
			return f, false
		}
		o := opts[i : i+n]
		switch o[0] {
		case IPOptSSRR, IPOptLSRR:
			if n < 3 || o[2] < 4 || f.SourceRoute != 0 {
				return f, false
			}
			if !received && (o[2] != 4 || n < 7 || (n-3)&3 != 0) {
				return f, false
			}
			f.Strict, f.SourceRoute = o[0] == IPOptSSRR, 20+i
		case IPOptRR:
			if f.RecordRoute != 0 || n < 3 || o[2] < 4 {
				return f, false
			}
			if int(o[2]) <= n && int(o[2])+3 > n {
				return f, false
			}
			f.RecordRoute = 20 + i
		case IPOptTimestamp:
			if f.Timestamp != 0 || n < 4 || o[2] < 5 {
				return f, false
			}
			kind := o[3] & 0x0f
			if int(o[2]) <= n {
				if int(o[2])+3 > n {
					return f, false
				}
				// IPOPT_TS_TSANDADDR, IPOPT_TS_PRESPEC
				if (kind == 1 || kind == 3) && int(o[2])+7 > n {
					return f, false
				}
			} else if kind != 3 && o[3]>>4 == 15 {
				return f, false
			}
			f.Timestamp = 20 + i
		case IPOptRouterAlert:
			if n < 4 {
				return f, false
			}
			if o[2] == 0 && o[3] == 0 {
				f.RouterAlert = 20 + i
			}
		case IPOptCIPSO:
			if f.CIPSO != 0 || n < 8 {
				return f, false
			}
			f.CIPSO = 20 + i
		}
		i += n
	}
	return f, true
}

// FindSCTPChunk finds the first SCTP chunk of a type, for `exthdr`
// (nft_exthdr_sctp_eval): its offset into Data and its length as the chunk
// header states it, header included. For a load the kernel further demands
// that off+len of the load lie in the chunk and the chunk in the packet:
// LoadSCTPChunk. Linux 6.18 walks later fragments too, as if a header stood
// there; newer kernels do not.
func (p *Packet) FindSCTPChunk(typ uint8) (off, length int, a Absent) {
	i := &p.Info
	if i.L4Proto != ProtoSCTP || !i.L4Set {
		return -1, 0, NotFound
	}
	for off = i.TH + 12; ; {
		h, a := p.header(off, 4)
		if a == Truncated {
			return -1, 0, Truncated
		}
		if a != None {
			return -1, 0, NotFound
		}
		n := int(be16(h[2:]))
		if n == 0 {
			return -1, 0, NotFound
		}
		if h[0] == typ {
			return off, n, None
		}
		off += (n + 3) &^ 3
		if off >= i.End {
			return -1, 0, NotFound
		}
	}
}

// LoadSCTPChunk copies len(dst) bytes at off in the first chunk of a type.
func (p *Packet) LoadSCTPChunk(typ uint8, off int, dst []byte) Absent {
	c, n, a := p.FindSCTPChunk(typ)
	if a != None {
		return a
	}
	if off+len(dst) > n || c+n > p.Info.End {
		return NotFound
	}
	b, a := p.header(c+off, len(dst))
	if a != None {
		return a
	}
	copy(dst, b)
	return None
}

// HasDCCPOption reports whether a DCCP option of a type is present (None) or
// not, for `exthdr` (nft_exthdr_dccp_eval), which cannot load its bytes.
func (p *Packet) HasDCCPOption(typ uint8) Absent {
	i := &p.Info
	if i.L4Proto != ProtoDCCP || i.FragOff != 0 || !i.L4Set {
		return NotFound
	}
	h, a := p.header(i.TH, 12) // sizeof(struct dccp_hdr)
	if a != None {
		return a
	}
	dataOff := int(h[4]) * 4
	optOff := dccpHeaderLen(h)
	for o := optOff; o < dataOff; {
		n := min(dataOff-o, 2)
		b, a := p.header(i.TH+o, n)
		if a != None {
			return a
		}
		if b[0] == typ {
			return None
		}
		if b[0] <= 31 { // DCCPO_MAX_RESERVED: single byte options
			o++
			continue
		}
		if n < 2 || b[1] < 2 {
			return Malformed
		}
		o += int(b[1])
	}
	return NotFound
}

// dccpHeaderLen is __dccp_hdr_len: the generic header, its extension for long
// sequence numbers, and the fixed part of the packet type.
func dccpHeaderLen(h []byte) int {
	n := 12
	if h[8]&1 != 0 { // dccph_x
		n += 4
	}
	switch h[8] >> 1 & 0x0f { // dccph_type; dccp_packet_hdr_len
	case 0: // DCCP_PKT_REQUEST
		n += 4
	case 1: // DCCP_PKT_RESPONSE
		n += 12
	case 2: // DATA
	case 3, 4, 5, 6, 8, 9: // ACK, DATAACK, CLOSEREQ, CLOSE, SYNC, SYNCACK
		n += 8
	default: // RESET and what the kernel takes for it
		n += 12
	}
	return n
}

// MoreFragments tells whether the packet is an IPv4 fragment that others follow
// (IP_MF).
func (p *Packet) MoreFragments() bool {
	if p.NFProto != NFProtoIPv4 {
		return false
	}
	h, a := p.at(p.NH, 8)
	return a == None && h[6]&0x20 != 0
}
