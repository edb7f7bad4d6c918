package conntrack

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/nftc/nftc/eval/packet"
)

// udp is nf_conntrack_udp_packet.
func (t *Tracker) udp(c *Conn, p *packet.Packet, info Info, check bool, now int64) result {
	i := &p.Info
	h, a := at(p, i.TH, 8)
	if a != packet.None {
		return resultInvalid
	}
	n := int(binary.BigEndian.Uint16(h[4:]))
	if c.Orig.Proto == packet.ProtoUDP {
		// udp_error
		if n > i.End-i.TH || n < 8 {
			return resultInvalid
		}
		if check && (h[6]|h[7]) != 0 && badChecksum(p, packet.ProtoUDP) {
			return resultInvalid
		}
	} else if n != 0 && (n < 8 || n > i.End-i.TH) {
		return resultInvalid // udplite_error: coverage
	}
	const unreplied, replied = 30 * second, 120 * second
	if !c.IsConfirmed() {
		c.streamAt = now + 2*second
	}
	if c.Status&SeenReply == 0 {
		t.refresh(c, p, info, unreplied, now)
		return resultOK
	}
	timeout := unreplied
	if now > c.streamAt || c.Orig.Proto == packet.ProtoUDPLite { // nf_conntrack_udplite_packet does not wait
		timeout = replied
		c.Status |= Assured
	}
	t.refresh(c, p, info, timeout, now)
	return resultOK
}

// icmp is nf_conntrack_icmp_packet.
func (t *Tracker) icmp(c *Conn, p *packet.Packet, info Info, now int64) result {
	if p.NFProto != packet.NFProtoIPv4 {
		return resultInvalid
	}
	switch c.Orig.DstPort >> 8 {
	case 8, 13, 15, 17:
	default:
		return resultInvalid
	}
	t.refresh(c, p, info, 30*second, now)
	return resultOK
}

// icmp6 is nf_conntrack_icmpv6_packet.
func (t *Tracker) icmp6(c *Conn, p *packet.Packet, info Info, now int64) result {
	if p.NFProto != packet.NFProtoIPv6 {
		return resultInvalid
	}
	if typ := c.Orig.DstPort >> 8; !c.IsConfirmed() && typ != 128 && typ != 139 {
		return resultInvalid
	}
	t.refresh(c, p, info, 30*second, now)
	return resultOK
}

// gre is nf_conntrack_gre_packet.
func (t *Tracker) gre(c *Conn, p *packet.Packet, info Info, now int64) result {
	timeout := 30 * second
	if c.Status&SeenReply != 0 {
		timeout = 180 * second
		c.Status |= Assured
	}
	t.refresh(c, p, info, timeout, now)
	return resultOK
}

// untracked6 tells ICMPv6 types that are never tracked (noct_valid_new).
func untracked6(typ uint8) bool {
	switch typ {
	case 130, 131, 132, 133, 134, 135, 136, 143, 151, 152:
		return true
	}
	return false
}

// icmpError is nf_conntrack_handle_icmp: errors belong to the connection whose
// packet they quote. done is false when the packet goes on to normal tracking.
func (t *Tracker) icmpError(p *packet.Packet, check bool, zone Zone, now int64) (_ Outcome, done bool) {
	i := &p.Info
	switch {
	case p.NFProto == packet.NFProtoIPv4 && i.L4Proto == packet.ProtoICMP:
		// nf_conntrack_icmpv4_error
		h, a := at(p, i.TH, 8)
		if a != packet.None || check && badChecksum(p, packet.ProtoICMP) || h[0] > 18 {
			return invalid, true
		}
		switch h[0] {
		case 3, 4, 5, 11, 12: // icmp_is_err
			return t.inetError(p, i.TH+8, zone, now), true
		}
	case p.NFProto == packet.NFProtoIPv6 && i.L4Proto == packet.ProtoICMPv6:
		// nf_conntrack_icmpv6_error
		h, a := at(p, i.TH, 8)
		if a != packet.None || check && badChecksum(p, packet.ProtoICMPv6) {
			return invalid, true
		}
		switch {
		case untracked6(h[0]):
			return Outcome{Info: Untracked}, true
		case h[0] == 137:
			return t.redirect6(p, h[1], zone, now)
		case h[0] < 128:
			return t.inetError(p, i.TH+8, zone, now), true
		}
	}
	return invalid, false
}

// redirect6 is nf_conntrack_icmpv6_redirect.
func (t *Tracker) redirect6(p *packet.Packet, code byte, zone Zone, now int64) (Outcome, bool) {
	i := &p.Info
	if _, a := at(p, i.TH, 40); a != packet.None {
		return invalid, true
	}
	if code != 0 {
		return invalid, false
	}
	ip, a := at(p, p.NH, 40)
	if a != packet.None || ip[7] != 255 || ip[8] != 0xfe || ip[9]&0xc0 != 0x80 {
		return invalid, true
	}
	o, a := at(p, i.TH+40, 2)
	if a != packet.None || o[1] == 0 {
		return invalid, true
	}
	if o[0] != 4 { // ND_OPT_REDIRECT_HDR
		return invalid, false
	}
	return t.inetError(p, i.TH+48, zone, now), true
}

// innerTuple is nf_ct_get_tuplepr for the packet quoted at off.
func innerTuple(p *packet.Packet, off int) (t Tuple, th int, ok bool) {
	if p.NFProto == packet.NFProtoIPv4 {
		h, a := at(p, off, 20)
		if a != packet.None || h[0]>>4 != 4 || h[0]&15 < 5 || binary.BigEndian.Uint16(h[6:])&0x1fff != 0 {
			return t, 0, false
		}
		th = off + int(h[0]&15)*4
		t, ok = readTuple(p, off, th, p.NFProto, h[9])
		return t, th, ok
	}
	h, a := at(p, off, 40)
	if a != packet.None {
		return t, 0, false
	}
	th, proto, frag, a := p.SkipIPv6Ext(off+40, h[6])
	if a != packet.None || frag != 0 {
		return t, 0, false
	}
	t, ok = readTuple(p, off, th, p.NFProto, proto)
	return t, th, ok
}

// inetError is nf_conntrack_inet_error for the packet quoted at off.
func (t *Tracker) inetError(p *packet.Packet, off int, zone Zone, now int64) Outcome {
	quoted, _, ok := innerTuple(p, off)
	if !ok {
		return invalid
	}
	inv, ok := quoted.Invert()
	if !ok {
		return invalid
	}
	c, dir := t.find(inv, zone, now)
	if c == nil {
		return invalid
	}
	// The error must go where the quoted packet came from.
	var outer Tuple
	if p.NFProto == packet.NFProtoIPv4 {
		copy(outer.Dst[:4], p.Data[p.NH+16:p.NH+20])
	} else {
		copy(outer.Dst[:], p.Data[p.NH+24:p.NH+40])
	}
	if outer.Dst != c.Tuple(int(dir)).Dst {
		return invalid
	}
	info := Related
	if dir == 1 {
		info = RelatedReply
	}
	return Outcome{Conn: c, Info: info}
}

// sctpConn is enum sctp_conntrack.
type sctpConn uint8

const (
	sctpNone sctpConn = iota
	sctpClosed
	sctpCookieWait
	sctpCookieEchoed
	sctpEstablished
	sctpShutdownSent
	sctpShutdownRecd
	sctpShutdownAckSent
	sctpHeartbeatSent
	sctpInvalid
)

var sctpNames = [...]string{"NONE", "CLOSED", "COOKIE_WAIT", "COOKIE_ECHOED", "ESTABLISHED",
	"SHUTDOWN_SENT", "SHUTDOWN_RECD", "SHUTDOWN_ACK_SENT", "HEARTBEAT_SENT", "INVALID"}

func (s sctpConn) String() string {
	if int(s) < len(sctpNames) {
		return sctpNames[s]
	}
	return "UNKNOWN"
}

var sctpTimeouts = [...]int64{
	sctpClosed: 10 * second, sctpCookieWait: 3 * second, sctpCookieEchoed: 3 * second,
	sctpEstablished: 210 * second, sctpShutdownSent: 3 * second, sctpShutdownRecd: 3 * second,
	sctpShutdownAckSent: 3 * second, sctpHeartbeatSent: 30 * second,
}

// sctpTransitions is sctp_conntracks: next state as a digit by direction,
// chunk and old state, columns in the order of the constants.
var sctpTransitions = [2][11]string{
	{
		"112341172", // INIT
		"112345671", // INIT ACK
		"111111111", // ABORT
		"112355671", // SHUTDOWN
		"712347777", // SHUTDOWN ACK
		"112345671", // ERROR
		"113345671", // COOKIE ECHO
		"112445671", // COOKIE ACK
		"112345611", // SHUTDOWN COMPLETE
		"812345678", // HEARTBEAT
		"112345678", // HEARTBEAT ACK
	},
	{
		"912345679",
		"922345679",
		"911111119",
		"912365679",
		"912347779",
		"912145679",
		"913345679",
		"912445679",
		"912345619",
		"912345678",
		"912345674",
	},
}

// sctpRow gives the row of a chunk type; ok is false for chunks that change
// nothing.
func sctpRow(typ byte) (row int, ok bool) {
	switch typ {
	case 1, 2: // INIT, INIT ACK
		return int(typ) - 1, true
	case 6: // ABORT
		return 2, true
	case 7, 8, 9: // SHUTDOWN, SHUTDOWN ACK, ERROR
		return int(typ) - 4, true
	case 10, 11: // COOKIE ECHO, COOKIE ACK
		return int(typ) - 4, true
	case 14: // SHUTDOWN COMPLETE
		return 8, true
	case 4, 5: // HEARTBEAT, HEARTBEAT ACK
		return int(typ) + 5, true
	}
	return 0, false
}

type sctpState struct {
	state      sctpConn
	vtag       [2]uint32
	init       [2]bool
	vtagFailed bool
	lastDir    int
}

// sctp is nf_conntrack_sctp_packet.
func (t *Tracker) sctp(c *Conn, p *packet.Packet, info Info, check bool, now int64) result {
	i := &p.Info
	h, a := at(p, i.TH, 12)
	if a != packet.None || check && badSCTPChecksum(p) {
		return resultInvalid
	}
	vtag := binary.BigEndian.Uint32(h[4:])
	var has [256]bool
	// do_basic_checks
	n := 0
	alone := false
	for off := i.TH + 12; off < i.End; n++ {
		ch, a := at(p, off, 4)
		if a != packet.None {
			break
		}
		length := int(binary.BigEndian.Uint16(ch[2:]))
		if ch[0] == 1 || ch[0] == 2 || ch[0] == 14 {
			alone = true
		}
		if (ch[0] == 10 || ch[0] == 11 || alone) && n != 0 || length == 0 {
			return resultInvalid
		}
		has[ch[0]] = true
		off += (length + 3) &^ 3
	}
	if n == 0 {
		return resultInvalid
	}
	st := &c.sctp
	if !c.IsConfirmed() {
		if has[6] || has[14] || has[11] || !t.sctpNew(st, p, vtag) {
			return resultInvalid
		}
	}
	dir := info.Dir()
	if !has[1] && !has[14] && !has[10] && !has[6] && !has[8] && !has[4] && !has[5] && vtag != st.vtag[dir] {
		return resultInvalid
	}
	next, ignore := sctpNone, false
	for off := i.TH + 12; off < i.End; {
		ch, a := at(p, off, 4)
		if a != packet.None {
			break
		}
		skip, ok := st.chunk(ch, vtag, dir, &has, &ignore)
		if !ok {
			return resultInvalid
		}
		if !skip {
			old := st.state
			next = old
			if row, ok := sctpRow(ch[0]); ok {
				next = sctpConn(sctpTransitions[dir][row][old] - '0')
			}
			if next == sctpInvalid {
				return resultInvalid
			}
			if ch[0] == 1 || ch[0] == 2 {
				ih, a := at(p, off+4, 16)
				if a != packet.None {
					return resultInvalid
				}
				if !st.initTag(ch[0], binary.BigEndian.Uint32(ih), dir, old) {
					return resultInvalid
				}
				if ch[0] == 1 && next == sctpClosed && old == sctpClosed && c.IsConfirmed() {
					ignore = true
				}
			}
			st.state = next
			if old != next && next == sctpEstablished {
				c.Status |= Assured
			}
		}
		off += (int(binary.BigEndian.Uint16(ch[2:])) + 3) &^ 3
	}
	if ignore {
		return resultOK
	}
	t.refresh(c, p, info, sctpTimeouts[next], now)
	return resultOK
}

// chunk checks the verification tag of one chunk (RFC 4960, 8.5.1).
func (st *sctpState) chunk(ch []byte, vtag uint32, dir int, has *[256]bool, ignore *bool) (skip, ok bool) {
	switch ch[0] {
	case 1:
		return false, vtag == 0
	case 6, 14:
		side := dir
		if ch[1]&1 != 0 { // SCTP_CHUNK_FLAG_T
			side = 1 - dir
		}
		return false, vtag == st.vtag[side]
	case 10:
		return false, vtag == st.vtag[dir]
	case 11:
		st.init = [2]bool{}
	case 4:
		switch {
		case st.vtag[dir] == 0:
			st.vtag[dir] = vtag
		case vtag != st.vtag[dir]:
			if has[0] || *ignore {
				return false, false
			}
			st.vtagFailed, st.lastDir, *ignore = true, dir, true
			return true, true
		default:
			st.vtagFailed = false
		}
	case 5:
		switch {
		case st.vtag[dir] == 0:
			st.vtag[dir] = vtag
		case vtag != st.vtag[dir]:
			if has[0] || *ignore || !st.vtagFailed || st.lastDir == dir {
				return false, false
			}
			st.vtagFailed = false
			st.vtag[dir], st.vtag[1-dir] = vtag, 0
		default:
			st.vtagFailed = false
		}
	}
	return false, true
}

// initTag notes the tag of an INIT or INIT ACK.
func (st *sctpState) initTag(typ byte, tag uint32, dir int, old sctpConn) bool {
	if typ == 1 {
		if old == sctpNone || st.vtag[1-dir] != tag {
			if st.init[0] && st.init[1] {
				st.init[1-dir] = false
			}
			st.init[dir] = true
		}
		st.vtag[1-dir] = tag
		return true
	}
	have := st.vtag[1-dir]
	if !st.init[1-dir] && have != 0 && have != tag || st.init[0] && st.init[1] && have != tag {
		return false
	}
	st.vtag[1-dir] = tag
	return true
}

// sctpNew is sctp_new.
func (t *Tracker) sctpNew(st *sctpState, p *packet.Packet, vtag uint32) bool {
	*st = sctpState{}
	for off := p.Info.TH + 12; off < p.Info.End; {
		ch, a := at(p, off, 4)
		if a != packet.None {
			break
		}
		row, ok := sctpRow(ch[0])
		if !ok {
			return false // stays NONE
		}
		if next := sctpConn(sctpTransitions[0][row][0] - '0'); next == sctpNone || next == sctpInvalid {
			return false
		}
		switch ch[0] {
		case 1:
			ih, a := at(p, off+4, 16)
			if vtag != 0 || a != packet.None {
				return false
			}
			st.vtag[1] = binary.BigEndian.Uint32(ih)
		case 4:
			st.vtag[0] = vtag
		case 8:
			st.vtag[1] = vtag
		}
		off += (int(binary.BigEndian.Uint16(ch[2:])) + 3) &^ 3
	}
	return true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// badSCTPChecksum is the checksum part of sctp_error.
func badSCTPChecksum(p *packet.Packet) bool {
	i := &p.Info
	if i.End > len(p.Data) || i.End-i.TH < 12 {
		return false
	}
	b := p.Data[i.TH:i.End]
	sum := crc32.Update(0, castagnoli, b[:8])
	sum = crc32.Update(sum, castagnoli, []byte{0, 0, 0, 0})
	sum = crc32.Update(sum, castagnoli, b[12:])
	return sum != binary.LittleEndian.Uint32(b[8:])
}
