package conntrack

import "encoding/binary"

// Flags of one side (IP_CT_TCP_FLAG_*).
const (
	tcpWindowScale = 1 << iota
	tcpSackPerm
	tcpCloseInit
	tcpLiberal
	tcpUnacked
	tcpMaxAckSet
	tcpChallengeAck     // IP_CT_EXP_CHALLENGE_ACK
	tcpSimultaneousOpen // IP_CT_TCP_SIMULTANEOUS_OPEN
)

// tcpSide is what was seen of one side (ip_ct_tcp_state).
type tcpSide struct {
	end    uint32 // highest seq + len
	maxEnd uint32 // highest ack + win of the other side
	maxWin uint32
	maxAck uint32
	scale  uint8
	flags  uint8
}

// tcpState is ip_ct_tcp.
type tcpState struct {
	seen      [2]tcpSide
	state     tcpConn
	lastDir   int
	lastIndex tcpIndex
	retrans   uint8
	lastSeq   uint32
	lastAck   uint32
	lastEnd   uint32
	lastWin   uint32
	lastScale uint8
	lastFlags uint8
}

func (st *tcpState) canEarlyDrop() bool {
	switch st.state {
	case tcpFinWait, tcpLastAck, tcpTimeWait, tcpClose, tcpCloseWait:
		return true
	}
	return false
}

func before(a, b uint32) bool { return int32(a-b) < 0 }
func after(a, b uint32) bool  { return int32(b-a) < 0 }

// options is tcp_options.
func (d *tcpSide) options(o []byte) {
	if len(o) == 0 {
		return
	}
	d.scale = 0
	d.flags &= tcpLiberal
	for len(o) > 0 {
		switch o[0] {
		case 0:
			return
		case 1:
			o = o[1:]
			continue
		}
		if len(o) < 2 || o[1] < 2 || int(o[1]) > len(o) {
			return
		}
		switch {
		case o[0] == 4 && o[1] == 2:
			d.flags |= tcpSackPerm
		case o[0] == 3 && o[1] == 3:
			d.scale = min(o[2], 14) // TCP_MAX_WSCALE
			d.flags |= tcpWindowScale
		}
		o = o[o[1]:]
	}
}

// sack is tcp_sack: the highest right edge of the SACK blocks, or ack.
func sack(o []byte, ack uint32) uint32 {
	for len(o) > 0 {
		switch o[0] {
		case 0:
			return ack
		case 1:
			o = o[1:]
			continue
		}
		if len(o) < 2 || o[1] < 2 || int(o[1]) > len(o) {
			return ack
		}
		if o[0] == 5 && o[1] >= 10 && (o[1]-2)%8 == 0 {
			for b := o[2:o[1]]; len(b) > 0; b = b[8:] {
				if r := binary.BigEndian.Uint32(b[4:]); after(r, ack) {
					ack = r
				}
			}
			return ack
		}
		o = o[o[1]:]
	}
	return ack
}

// initSender is tcp_init_sender.
func (d *tcpSide) initSender(peer *tcpSide, s *segment, dir int) {
	d.end, d.maxEnd, d.maxWin = s.end, s.end, max(s.win, 1)
	d.options(s.opts)
	if dir == 1 && (d.flags&tcpWindowScale == 0 || peer.flags&tcpWindowScale == 0) {
		d.scale, peer.scale = 0, 0
	}
}

type window uint8

const (
	windowAccept window = iota
	windowIgnore
	windowInvalid
)

// maxAckWindow is MAXACKWINDOW.
func (d *tcpSide) maxAckWindow() uint32 { return max(d.maxWin, 66000) }

// inWindow is tcp_in_window.
func (st *tcpState) inWindow(s *segment, dir int, index tcpIndex, liberal bool) window {
	snd, rcv := &st.seen[dir], &st.seen[1-dir]
	seq, ack, end, win := s.seq, s.ack, s.end, s.win
	sk := ack
	if rcv.flags&tcpSackPerm != 0 {
		sk = sack(s.opts, ack)
	}
	judge := func(w window) window {
		if liberal || snd.flags&tcpLiberal != 0 {
			return windowAccept
		}
		return w
	}
	switch {
	case snd.maxWin == 0 && s.has(flagSYN):
		snd.initSender(rcv, s, dir)
		if !s.has(flagACK) {
			return windowAccept // simultaneous open
		}
	case snd.maxWin == 0:
		// The middle of a connection: take the packet's data for granted.
		snd.end = end
		snd.maxWin = max(win<<snd.scale, 1)
		snd.maxEnd = end + snd.maxWin
		if rcv.maxWin == 0 {
			rcv.end, rcv.maxEnd = sk, sk
		} else if sk == rcv.end+1 {
			rcv.end++
		}
	case s.has(flagSYN) && after(end, snd.end) && (st.state == tcpSynSent || st.state == tcpSynRecv):
		snd.initSender(rcv, s, dir)
		if dir == 1 && !s.has(flagACK) {
			return windowAccept
		}
	}
	if !s.has(flagACK) || s.has(flagRST) && ack == 0 {
		ack, sk = rcv.end, rcv.end
	}
	if s.has(flagRST) && seq == 0 && st.state == tcpSynSent {
		seq, end = snd.end, snd.end
	}
	lowest := rcv.end - snd.maxAckWindow() - 1
	if !before(seq, snd.maxEnd+1) {
		overshot := end - snd.maxEnd + 1
		if rcv.maxWin != 0 && after(end, snd.end-rcv.maxWin-1) && after(sk, lowest) &&
			overshot <= rcv.maxWin && before(sk, rcv.end+1) {
			snd.end = end
			snd.flags |= tcpUnacked
			return judge(windowIgnore)
		}
		return judge(windowInvalid)
	}
	if !before(sk, rcv.end+1) {
		return judge(windowInvalid)
	}
	if rcv.maxWin != 0 && !after(end, snd.end-rcv.maxWin-1) {
		return judge(windowIgnore)
	}
	if !after(sk, lowest) {
		return judge(windowIgnore)
	}
	if !s.has(flagSYN) {
		win <<= snd.scale
	}
	snd.maxWin = max(snd.maxWin, win+(sk-ack))
	if after(end, snd.end) {
		snd.end = end
		snd.flags |= tcpUnacked
	}
	if s.has(flagACK) && (snd.flags&tcpMaxAckSet == 0 || after(ack, snd.maxAck)) {
		snd.maxAck = ack
		snd.flags |= tcpMaxAckSet
	}
	if rcv.maxWin != 0 && after(end, snd.maxEnd) {
		rcv.maxWin += end - snd.maxEnd
	}
	if after(sk+win, rcv.maxEnd-1) {
		rcv.maxEnd = sk + win
		if win == 0 {
			rcv.maxEnd++
		}
	}
	if ack == rcv.end {
		rcv.flags &^= tcpUnacked
	}
	if index == indexAck {
		if st.lastDir == dir && st.lastSeq == seq && st.lastAck == ack && st.lastEnd == end && st.lastWin == s.win {
			if st.retrans < 255 {
				st.retrans++
			}
		} else {
			st.lastDir, st.lastSeq, st.lastAck, st.lastEnd, st.lastWin = dir, seq, ack, end, s.win
			st.retrans = 0
		}
	}
	return windowAccept
}

// handleInvalid is nf_tcp_handle_invalid: an out-of-window FIN or RST from
// each side shortens the life of an established connection.
func (st *tcpState) handleInvalid(c *Conn, dir int, index tcpIndex, now int64) {
	if c.Status&Assured == 0 || index != indexRst && index != indexFin {
		return
	}
	if st.lastDir != dir && (st.lastIndex == indexFin || st.lastIndex == indexRst) {
		if c.Timeout-now >= 120*second && c.Timeout-now > tcpTimeoutUnack {
			c.Timeout = now + tcpTimeoutUnack
		}
		return
	}
	st.lastIndex, st.lastDir = index, dir
}
