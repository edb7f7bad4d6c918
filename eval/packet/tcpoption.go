package packet

// TCP option kinds that packet notation and rules name.
const (
	TCPOptEOL       = 0
	TCPOptNOP       = 1
	TCPOptMSS       = 2
	TCPOptWindow    = 3
	TCPOptSACKPerm  = 4
	TCPOptSACK      = 5
	TCPOptTimestamp = 8
	TCPOptMD5       = 19
	TCPOptMPTCP     = 30
	TCPOptFastOpen  = 34
)

// TCPHeader is nft_tcp_header_pointer: the whole TCP header with its options,
// inside Data, and its offset.
func (p *Packet) TCPHeader() ([]byte, int, Absent) {
	i := &p.Info
	if i.L4Proto != ProtoTCP || !i.L4Set {
		return nil, -1, NotFound
	}
	if i.FragOff != 0 {
		return nil, -1, Fragment
	}
	h, a := p.header(i.TH, 20)
	if a != None {
		return nil, -1, a
	}
	n := int(h[12]>>4) * 4
	if n < 20 {
		return nil, -1, Malformed
	}
	h, a = p.header(i.TH, n)
	return h, i.TH, a
}

// FindTCPOption finds the first TCP option of a kind, for `tcp option`
// (nft_exthdr_tcp_eval): its offset into Data and its length in bytes, kind and
// length byte included. An option that reaches past the header is Malformed.
// A load at off needs off+len <= length, else the kernel breaks.
func (p *Packet) FindTCPOption(kind uint8) (off, length int, a Absent) {
	h, th, a := p.TCPHeader()
	if a != None {
		return -1, 0, a
	}
	for i := 20; i < len(h)-1; {
		n := tcpOptLen(h, i)
		if h[i] == kind {
			if i+n > len(h) {
				return -1, 0, Malformed
			}
			return th + i, n, None
		}
		i += n
	}
	return -1, 0, NotFound
}

// LoadTCPOption copies len(dst) bytes at off of the first option of a kind.
func (p *Packet) LoadTCPOption(kind uint8, off int, dst []byte) Absent {
	o, n, a := p.FindTCPOption(kind)
	if a != None {
		return a
	}
	if off+len(dst) > n {
		return NotFound
	}
	b, a := p.header(o+off, len(dst))
	if a != None {
		return a
	}
	copy(dst, b)
	return None
}

// tcpOptLen is optlen of nft_exthdr.c: end of list and no-operation take one
// byte, and so does a length of 0, to make progress.
func tcpOptLen(h []byte, i int) int {
	if h[i] <= TCPOptNOP || h[i+1] == 0 {
		return 1
	}
	return int(h[i+1])
}
