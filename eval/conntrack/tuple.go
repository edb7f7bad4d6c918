package conntrack

import (
	"encoding/binary"

	"github.com/nftc/nftc/eval/packet"
)

// Tuple identifies one direction of a connection (nf_conntrack_tuple).
type Tuple struct {
	Src, Dst [16]byte // IPv4 in the first four bytes, rest zero
	// SrcPort and DstPort are ports; for ICMP the identifier, and type (high
	// byte) and code; for GRE the call keys; otherwise 0.
	SrcPort, DstPort uint16
	L3               uint8 // packet.NFProtoIPv4 or NFProtoIPv6
	Proto            uint8
}

// Zone is a connection tracking zone. Dir says for which directions ID counts
// (bit 0 original, bit 1 reply); elsewhere the zone is 0.
type Zone struct {
	ID  uint16
	Dir uint8
}

// ZoneDirBoth is NF_CT_DEFAULT_ZONE_DIR.
const ZoneDirBoth = 3

// In returns the zone's number for a direction (nf_ct_zone_id).
func (z Zone) In(dir int) uint16 {
	if z.Dir&(1<<dir) != 0 {
		return z.ID
	}
	return 0
}

// AddrLen returns 4 or 16.
func (t *Tuple) AddrLen() int {
	if t.L3 == packet.NFProtoIPv4 {
		return 4
	}
	return 16
}

// icmpReply and icmp6Reply pair requests with replies (invmap).
func icmpInverse(l3, typ uint8) (uint8, bool) {
	if l3 == packet.NFProtoIPv6 {
		switch typ {
		case 128:
			return 129, true
		case 129:
			return 128, true
		case 139: // node information query, reply
			return 140, true
		case 140:
			return 139, true
		}
		return 0, false
	}
	switch typ {
	case 8:
		return 0, true
	case 0:
		return 8, true
	case 13: // timestamp
		return 14, true
	case 14:
		return 13, true
	case 15: // information
		return 16, true
	case 16:
		return 15, true
	case 17: // address mask
		return 18, true
	case 18:
		return 17, true
	}
	return 0, false
}

// Invert returns the tuple of the other direction (nf_ct_invert_tuple); ok is
// false for ICMP messages that have no counterpart.
func (t Tuple) Invert() (inv Tuple, ok bool) {
	inv = t
	inv.Src, inv.Dst = t.Dst, t.Src
	switch {
	case t.Proto == packet.ProtoICMP && t.L3 == packet.NFProtoIPv4,
		t.Proto == packet.ProtoICMPv6 && t.L3 == packet.NFProtoIPv6:
		typ, ok := icmpInverse(t.L3, uint8(t.DstPort>>8))
		inv.DstPort = uint16(typ)<<8 | t.DstPort&0xff
		return inv, ok
	}
	inv.SrcPort, inv.DstPort = t.DstPort, t.SrcPort
	return inv, true
}

// TupleOf reads the tuple of a packet at the hook it entered; ok is false when
// it has no transport header there or a header is too short.
func TupleOf(p *packet.Packet) (Tuple, bool) {
	th, proto, ok := l4proto(p)
	if !ok {
		return Tuple{}, false
	}
	return readTuple(p, p.NH, th, p.NFProto, proto)
}

// l4proto is get_l4proto: the transport header as connection tracking finds
// it. For IPv6 that passes authentication headers (ipv6_get_l4proto).
func l4proto(p *packet.Packet) (th int, proto uint8, ok bool) {
	i := &p.Info
	switch p.NFProto {
	case packet.NFProtoIPv4:
		return i.TH, i.L4Proto, i.L4Set && i.THAbsent == packet.None && i.TH <= i.End
	case packet.NFProtoIPv6:
		h, a := at(p, p.NH, 40)
		if a != packet.None {
			return 0, 0, false
		}
		th, proto, frag, a := p.SkipIPv6Ext(p.NH+40, h[6])
		return th, proto, a == packet.None && frag == 0
	}
	return 0, 0, false
}

// at reads n bytes at an absolute offset of the packet as its hook sees it.
func at(p *packet.Packet, off, n int) ([]byte, packet.Absent) {
	return p.Slice(packet.BaseNetwork, off-p.NH, n)
}

// readTuple is nf_ct_get_tuple for headers at nh and th.
func readTuple(p *packet.Packet, nh, th int, l3, proto uint8) (t Tuple, ok bool) {
	t.L3, t.Proto = l3, proto
	if l3 == packet.NFProtoIPv4 {
		h, a := at(p, nh, 20)
		if a != packet.None {
			return t, false
		}
		copy(t.Src[:4], h[12:16])
		copy(t.Dst[:4], h[16:20])
	} else {
		h, a := at(p, nh, 40)
		if a != packet.None {
			return t, false
		}
		copy(t.Src[:], h[8:24])
		copy(t.Dst[:], h[24:40])
	}
	switch proto {
	case packet.ProtoTCP, packet.ProtoUDP, packet.ProtoUDPLite, packet.ProtoSCTP:
		// nf_ct_get_tuple_ports: DCCP is no longer in its list.
		h, a := at(p, th, 4)
		if a != packet.None {
			return t, false
		}
		t.SrcPort, t.DstPort = binary.BigEndian.Uint16(h), binary.BigEndian.Uint16(h[2:])
	case packet.ProtoICMP:
		if l3 != packet.NFProtoIPv4 {
			break
		}
		h, a := at(p, th, 8)
		if a != packet.None {
			return t, false
		}
		t.SrcPort, t.DstPort = binary.BigEndian.Uint16(h[4:]), binary.BigEndian.Uint16(h)
	case packet.ProtoICMPv6:
		if l3 != packet.NFProtoIPv6 {
			break
		}
		h, a := at(p, th, 8)
		if a != packet.None {
			return t, false
		}
		t.SrcPort, t.DstPort = binary.BigEndian.Uint16(h[4:]), binary.BigEndian.Uint16(h)
	case packet.ProtoGRE:
		// gre_pkt_to_tuple: only PPTP's version 1 has keys, by its helper.
		h, a := at(p, th, 4)
		if a != packet.None || h[1]&7 != 1 {
			break
		}
		if h, a = at(p, th, 8); a != packet.None {
			break
		}
		if h[2] != 0x88 || h[3] != 0x0b { // GRE_PROTO_PPP
			return t, false
		}
		t.DstPort = binary.BigEndian.Uint16(h[6:])
	}
	return t, true
}
