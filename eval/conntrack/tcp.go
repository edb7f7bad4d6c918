package conntrack

import (
	"encoding/binary"

	"github.com/nftc/nftc/eval/packet"
)

// tcpConn is enum tcp_conntrack.
type tcpConn uint8

const (
	tcpNone tcpConn = iota
	tcpSynSent
	tcpSynRecv
	tcpEstablished
	tcpFinWait
	tcpCloseWait
	tcpLastAck
	tcpTimeWait
	tcpClose
	tcpSynSent2
	tcpInvalid // TCP_CONNTRACK_MAX
	tcpIgnore  // TCP_CONNTRACK_IGNORE
)

var tcpNames = [...]string{"NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT",
	"LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2", "INVALID", "IGNORE"}

func (s tcpConn) String() string {
	if int(s) < len(tcpNames) {
		return tcpNames[s]
	}
	return "UNKNOWN"
}

// Timeouts by state (tcp_timeouts).
var tcpTimeouts = [...]int64{
	tcpNone:        0,
	tcpSynSent:     120 * second,
	tcpSynRecv:     60 * second,
	tcpEstablished: 5 * 86400 * second,
	tcpFinWait:     120 * second,
	tcpCloseWait:   60 * second,
	tcpLastAck:     30 * second,
	tcpTimeWait:    120 * second,
	tcpClose:       10 * second,
	tcpSynSent2:    120 * second,
}

const (
	tcpTimeoutRetrans = 300 * second
	tcpTimeoutUnack   = 300 * second
	tcpMaxRetrans     = 3
)

// What RST, SYN, FIN and ACK make of a segment (enum tcp_bit_set).
type tcpIndex uint8

const (
	indexSyn tcpIndex = iota
	indexSynAck
	indexFin
	indexAck
	indexRst
	indexNone
)

// tcpTransitions is tcp_conntracks: the next state by direction, index and old
// state (columns in the order of the constants above). A dot is invalid, a
// dash ignored; the letters are those of tcpLetters.
var tcpTransitions = [2][6]string{
	{
		//          NO SS SR ES FW CW LA TW CL S2
		indexSyn:    "SS-----SS2",
		indexSynAck: "..R......R",
		indexFin:    "..FFLLLTC.",
		indexAck:    "E.EEWWTTC.",
		indexRst:    ".CCCCCCCCC",
		indexNone:   "..........",
	},
	{
		indexSyn:    ".2.....S.2",
		indexSynAck: ".R-------R",
		indexFin:    "..FFLLLTC.",
		indexAck:    ".-REWWTTC-",
		indexRst:    ".CCCCCCCCC",
		indexNone:   "..........",
	},
}

func tcpLetter(b byte) tcpConn {
	switch b {
	case 'S':
		return tcpSynSent
	case 'R':
		return tcpSynRecv
	case 'E':
		return tcpEstablished
	case 'F':
		return tcpFinWait
	case 'W':
		return tcpCloseWait
	case 'L':
		return tcpLastAck
	case 'T':
		return tcpTimeWait
	case 'C':
		return tcpClose
	case '2':
		return tcpSynSent2
	case '-':
		return tcpIgnore
	}
	return tcpInvalid
}

func tcpNext(dir int, i tcpIndex, old tcpConn) tcpConn {
	row := tcpTransitions[dir&1][i]
	if int(old) >= len(row) {
		return tcpInvalid
	}
	return tcpLetter(row[old])
}

const (
	flagFIN = 1
	flagSYN = 2
	flagRST = 4
	flagPSH = 8
	flagACK = 16
	flagURG = 32
)

// validFlags is tcp_valid_flags; PSH, ECE and CWR are always valid.
func validFlags(f byte) bool {
	switch f & (flagFIN | flagSYN | flagRST | flagACK | flagURG) {
	case flagSYN, flagSYN | flagURG, flagSYN | flagACK, flagRST, flagRST | flagACK,
		flagFIN | flagACK, flagFIN | flagACK | flagURG, flagACK, flagACK | flagURG:
		return true
	}
	return false
}

// segment is what tracking reads of a TCP header.
type segment struct {
	seq, ack, end uint32
	win           uint32
	flags         byte
	opts          []byte
}

func (s *segment) has(f byte) bool { return s.flags&f != 0 }

func (s *segment) index() tcpIndex {
	switch {
	case s.has(flagRST):
		return indexRst
	case s.has(flagSYN) && s.has(flagACK):
		return indexSynAck
	case s.has(flagSYN):
		return indexSyn
	case s.has(flagFIN):
		return indexFin
	case s.has(flagACK):
		return indexAck
	}
	return indexNone
}

// readSegment is the first half of nf_conntrack_tcp_packet, with tcp_error.
func readSegment(p *packet.Packet, check bool) (s segment, ok bool) {
	i := &p.Info
	h, a := at(p, i.TH, 20)
	if a != packet.None {
		return s, false
	}
	n := int(h[12]>>4) * 4
	if n < 20 || i.End-i.TH < n {
		return s, false
	}
	if check && badChecksum(p, packet.ProtoTCP) {
		return s, false
	}
	s.flags = h[13]
	if !validFlags(s.flags) {
		return s, false
	}
	s.seq, s.ack = binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	s.win = uint32(binary.BigEndian.Uint16(h[14:]))
	// segment_seq_plus_len
	s.end = s.seq + uint32(i.End-i.TH-n)
	if s.has(flagSYN) {
		s.end++
	}
	if s.has(flagFIN) {
		s.end++
	}
	s.opts, _ = at(p, i.TH+20, n-20)
	return s, true
}

// tcp is nf_conntrack_tcp_packet.
func (t *Tracker) tcp(c *Conn, p *packet.Packet, info Info, check bool, now int64) result {
	s, ok := readSegment(p, check)
	if !ok {
		return resultInvalid
	}
	st := &c.tcp
	if !c.IsConfirmed() && !t.tcpNew(c, &s) {
		return resultInvalid
	}
	old, dir, index := st.state, info.Dir(), s.index()
	next := tcpNext(dir, index, old)
	inWindow := false
	switch next {
	case tcpSynSent, tcpIgnore:
		if next == tcpSynSent && old < tcpTimeWait {
			break
		}
		if next == tcpSynSent && ((st.seen[0].flags|st.seen[1].flags)&tcpCloseInit != 0 ||
			st.lastDir == dir && st.lastIndex == indexRst) {
			// A closed or aborted connection is opened again.
			return resultRepeat
		}
		if index == indexSynAck && st.lastIndex == indexSyn && st.lastDir != dir && s.ack == st.lastEnd {
			// The answer to a SYN that was ignored: catch up.
			old, next = tcpSynSent, tcpSynRecv
			o := &st.seen[st.lastDir]
			o.end, o.maxEnd, o.maxWin, o.scale = st.lastEnd, st.lastEnd, max(st.lastWin, 1), st.lastScale
			st.lastFlags &^= tcpChallengeAck
			o.flags = st.lastFlags
			st.seen[dir] = tcpSide{flags: st.seen[dir].flags & tcpLiberal}
			break
		}
		st.lastIndex, st.lastDir, st.lastSeq, st.lastEnd, st.lastWin = index, dir, s.seq, s.end, s.win
		if index == indexSyn && dir == 0 {
			var seen tcpSide
			seen.options(s.opts)
			st.lastFlags, st.lastScale = seen.flags&(tcpWindowScale|tcpSackPerm), 0
			if seen.flags&tcpWindowScale != 0 {
				st.lastScale = seen.scale
			}
			if old == tcpLastAck {
				st.lastFlags |= tcpChallengeAck
			}
		}
		if old == tcpSynSent && index == indexAck && dir == 1 {
			st.lastAck = s.ack
		}
		return resultOK
	case tcpInvalid:
		return resultInvalid
	case tcpTimeWait:
		if old == tcpLastAck && index == indexAck && st.lastDir != dir &&
			st.lastIndex == indexSyn && st.lastFlags&tcpChallengeAck != 0 {
			// RFC 5961 challenge ACK: not the last ACK.
			st.lastFlags &^= tcpChallengeAck
			return resultOK
		}
	case tcpSynSent2:
		st.lastFlags |= tcpSimultaneousOpen
	case tcpSynRecv:
		if dir == 1 && index == indexAck && st.lastFlags&tcpSimultaneousOpen != 0 {
			next = tcpEstablished
		}
	case tcpClose:
		if index == indexRst {
			var valid bool
			if next, inWindow, valid = st.reset(c, &s, dir, old, next); !valid {
				return resultInvalid
			}
		}
	}
	if !inWindow {
		switch st.inWindow(&s, dir, index, t.cfg.Liberal) {
		case windowIgnore:
			return resultOK
		case windowInvalid:
			st.handleInvalid(c, dir, index, now)
			return resultInvalid
		}
	}
	st.lastIndex, st.lastDir = index, dir
	st.state = next
	if old != next && next == tcpFinWait {
		st.seen[dir].flags |= tcpCloseInit
	}
	timeout := tcpTimeouts[next]
	switch {
	case st.retrans >= tcpMaxRetrans && timeout > tcpTimeoutRetrans:
		timeout = tcpTimeoutRetrans
	case index == indexRst:
		timeout = tcpTimeouts[tcpClose]
	case (st.seen[0].flags|st.seen[1].flags)&tcpUnacked != 0 && timeout > tcpTimeoutUnack:
		timeout = tcpTimeoutUnack
	case st.lastWin == 0 && timeout > tcpTimeoutRetrans:
		timeout = tcpTimeoutRetrans
	}
	switch {
	case c.Status&SeenReply == 0:
		if s.has(flagRST) {
			// Only resets so far: the connection is forgotten at once.
			t.count(c, p, info)
			t.remove(c)
			c.Status |= Dying
			return resultOK
		}
		if index == indexSyn && old == tcpSynSent {
			// A retransmitted SYN does not renew the timeout.
			return resultOK
		}
		if next == tcpEstablished && timeout > tcpTimeoutUnack {
			// Picked up in the middle.
			timeout = tcpTimeoutUnack
		}
	case c.Status&Assured == 0 && (old == tcpSynRecv || old == tcpEstablished) && next == tcpEstablished:
		c.Status |= Assured
	}
	t.refresh(c, p, info, timeout, now)
	return resultOK
}

// reset judges a RST that would close the connection (the TCP_CONNTRACK_CLOSE
// case of nf_conntrack_tcp_packet).
func (st *tcpState) reset(c *Conn, s *segment, dir int, old, next tcpConn) (_ tcpConn, inWindow, valid bool) {
	if st.canEarlyDrop() {
		return next, true, true
	}
	peer := &st.seen[1-dir]
	established := st.state == tcpEstablished
	if peer.flags&tcpMaxAckSet != 0 && st.lastIndex != indexSyn {
		switch {
		case s.seq == 0 && !established:
			return next, false, true
		case before(s.seq, peer.maxAck):
			return next, false, false
		case !established || s.seq == peer.maxAck:
			return next, false, true
		case st.lastIndex == indexAck && st.lastDir == dir && s.seq == st.lastEnd:
			return next, false, true
		}
		// Not exact: stay, a challenge ACK may follow.
		next = old
	}
	if (c.Status&SeenReply != 0 && st.lastIndex == indexSyn && st.lastDir != dir ||
		c.Status&Assured == 0 && st.lastIndex == indexAck) && s.ack == st.lastEnd {
		return next, true, true
	}
	if old == tcpSynSent && st.lastIndex == indexAck && st.lastDir == 1 && s.seq == st.lastAck {
		return next, true, true
	}
	return next, false, true
}

// tcpNew is tcp_new.
func (t *Tracker) tcpNew(c *Conn, s *segment) bool {
	next := tcpNext(0, s.index(), tcpNone)
	if next >= tcpInvalid {
		return false
	}
	st := &c.tcp
	*st = tcpState{lastIndex: indexNone}
	o := &st.seen[0]
	o.end, o.maxWin = s.end, max(s.win, 1)
	if next == tcpSynSent {
		o.maxEnd = o.end
		o.options(s.opts)
		return true
	}
	if t.cfg.NotLoose {
		return false
	}
	o.maxEnd = o.end + o.maxWin
	o.flags = tcpSackPerm | tcpLiberal
	st.seen[1].flags = tcpSackPerm | tcpLiberal
	return true
}
