package packet

// isIPv6Ext is ipv6_ext_hdr: is this next header value an extension header?
// Mobility (135) and ESP (50) are not, for the kernel.
func isIPv6Ext(n uint8) bool {
	switch n {
	case ProtoHopOpts, ProtoRouting, ProtoFragment, ProtoAH, ProtoNone, ProtoDstOpts:
		return true
	}
	return false
}

// findIPv6 is ipv6_find_hdr. nh is the offset of the IPv6 header, target the
// next header value sought, or -1 for the transport header; stopAtAH is
// IP6_FH_F_AUTH, which makes an authentication header count as the transport
// header. The result is the offset of what was found, its next header value
// and, with target -1, the fragment offset in bytes.
//
// For a later fragment with target -1 the offset is nh: the kernel leaves it
// unset, since there is no transport header to point to.
//
// Linux 6.18 walks any number of extension headers (8100 were tried); later
// kernels stop at 12 (IP6_MAX_EXT_HDRS_CNT). Nor does it mind an extension
// header that claims to reach past the end, as later ones do: what comes next
// is then beyond the packet, and loads from it break.
func (p *Packet) findIPv6(nh, target int, stopAtAH bool) (off int, proto uint8, frag uint16, a Absent) {
	h, a := p.header(nh, 40)
	if a != None {
		return 0, 0, 0, a
	}
	start, next := nh+40, h[6]
	for {
		found := int(next) == target
		if !isIPv6Ext(next) || next == ProtoNone {
			if target < 0 || found {
				return start, next, frag, None
			}
			return 0, 0, 0, NotFound
		}
		e, a := p.header(start, 2)
		if a != None {
			return 0, 0, 0, broken(a)
		}
		var hlen int
		switch next {
		case ProtoFragment:
			f, a := p.header(start+2, 2)
			if a != None {
				return 0, 0, 0, broken(a)
			}
			if fo := be16(f) &^ 7; fo != 0 {
				if target < 0 && (!isIPv6Ext(e[0]) || e[0] == ProtoNone) {
					return nh, e[0], fo, None
				}
				if !found {
					return 0, 0, 0, NotFound
				}
				return start, next, fo, None
			}
			hlen = 8
		case ProtoAH:
			if stopAtAH && target < 0 {
				return start, next, frag, None
			}
			hlen = (int(e[1]) + 2) * 4 // ipv6_authlen
		case ProtoRouting:
			if _, a := p.header(start, 4); a != None {
				return 0, 0, 0, broken(a)
			}
			hlen = (int(e[1]) + 1) * 8
		default:
			hlen = (int(e[1]) + 1) * 8 // ipv6_optlen
		}
		if found {
			return start, next, frag, None
		}
		next = e[0]
		start += hlen
	}
}

// broken turns "past the end" into "malformed", where the kernel returns
// -EBADMSG, and keeps Truncated.
func broken(a Absent) Absent {
	if a == PastEnd {
		return Malformed
	}
	return a
}

// SkipIPv6Ext is ipv6_skip_exthdr from off, where a header of type next starts:
// it passes authentication headers too, stops at "no next header" without a
// result, and at a later fragment's header. frag is the offset in bytes.
// Connection tracking and defragmentation find the transport header so.
func (p *Packet) SkipIPv6Ext(off int, next uint8) (th int, proto uint8, frag uint16, a Absent) {
	for isIPv6Ext(next) {
		if next == ProtoNone {
			return 0, 0, 0, NotFound
		}
		e, a := p.header(off, 2)
		if a != None {
			return 0, 0, 0, broken(a)
		}
		var n int
		switch next {
		case ProtoFragment:
			f, a := p.header(off+2, 2)
			if a != None {
				return 0, 0, 0, broken(a)
			}
			if frag = be16(f) &^ 7; frag != 0 {
				return off, next, frag, None
			}
			n = 8
		case ProtoAH:
			n = (int(e[1]) + 2) * 4
		default:
			n = (int(e[1]) + 1) * 8
		}
		next, off = e[0], off+n
	}
	return off, next, frag, None
}
