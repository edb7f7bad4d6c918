package packet

import "encoding/binary"

// ReceiveIPv4Options is what ip_rcv_options does to the options of a received
// packet once it is routed: options behind the end of the list are cleared,
// and addr is entered into a record route. It returns whether bytes changed;
// the header checksum stays as it is until the packet is forwarded
// (ForwardIPv4Options). Timestamps are left alone: they depend on the clock.
func (p *Packet) ReceiveIPv4Options(addr [4]byte) (changed bool) {
	return p.walkOptions(func(o []byte) bool {
		if o[0] == IPOptEnd {
			any := false
			for i := range o {
				any = any || o[i] != IPOptEnd
				o[i] = IPOptEnd
			}
			return any
		}
		if o[0] != IPOptRR || len(o) < 3 || int(o[2]) > len(o) || int(o[2])+3 > len(o) || o[2] < 4 {
			return false
		}
		copy(o[o[2]-1:], addr[:])
		o[2] += 4
		return true
	})
}

// ForwardIPv4Options is ip_forward_options behind the forward hook: the record
// route gets the address by which the packet leaves, and the checksum is
// computed afresh.
func (p *Packet) ForwardIPv4Options(addr [4]byte) {
	p.walkOptions(func(o []byte) bool {
		if o[0] == IPOptRR && len(o) >= 7 && o[2] >= 8 && int(o[2]) <= len(o)+1 {
			copy(o[o[2]-5:], addr[:])
		}
		return false
	})
	if h, a := p.at(p.NH, 20); a == None {
		if h, a = p.at(p.NH, int(h[0]&15)*4); a == None {
			h[10], h[11] = 0, 0
			binary.BigEndian.PutUint16(h[10:], Checksum(h, 0))
		}
	}
}

// HasIPv4Timestamp tells whether the packet has a timestamp option, into which
// hosts on the way write their time.
func (p *Packet) HasIPv4Timestamp() (has bool) {
	p.walkOptions(func(o []byte) bool {
		has = has || o[0] == IPOptTimestamp
		return false
	})
	return has
}

// walkOptions calls f for each option, and for the rest of the list behind its
// end. Bad lists are left at the bad option.
func (p *Packet) walkOptions(f func(o []byte) bool) (changed bool) {
	if p.NFProto != NFProtoIPv4 || p.NH < 0 {
		return false
	}
	h, a := p.at(p.NH, 20)
	if a != None || h[0]&15 <= 5 {
		return false
	}
	if h, a = p.at(p.NH, int(h[0]&15)*4); a != None {
		return false
	}
	for o := h[20:]; len(o) > 0; {
		n := 1
		switch {
		case o[0] == IPOptEnd:
			return f(o) || changed
		case o[0] == IPOptNoop:
			o = o[1:]
			continue
		case len(o) < 2 || o[1] < 2 || int(o[1]) > len(o):
			return changed
		default:
			n = int(o[1])
		}
		changed = f(o[:n:n]) || changed
		o = o[n:]
	}
	return changed
}
