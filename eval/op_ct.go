package eval

import (
	"encoding/binary"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// ctLen is the length in bytes of a ct key (nft_ct_get_init); 0 when it cannot
// be read with that direction.
func ctLen(k bytecode.CTKey, dir int8, f bytecode.Family) int {
	switch k {
	case bytecode.CTState, bytecode.CTStatus, bytecode.CTMark, bytecode.CTSecmark, bytecode.CTExpiration, bytecode.CTID:
		if dir >= 0 {
			return 0
		}
		return 4
	case bytecode.CTDirection:
		if dir >= 0 {
			return 0
		}
		return 1
	case bytecode.CTHelper, bytecode.CTLabel:
		return 16
	case bytecode.CTL3Protocol, bytecode.CTProtocol:
		return 1
	case bytecode.CTSrc, bytecode.CTDst:
		if dir < 0 {
			return 0
		}
		if f == bytecode.FamilyIP {
			return 4
		}
		return 16
	case bytecode.CTProtoSrc, bytecode.CTProtoDst:
		if dir < 0 {
			return 0
		}
		return 2
	case bytecode.CTSrcIP, bytecode.CTDstIP:
		if dir < 0 {
			return 0
		}
		return 4
	case bytecode.CTSrcIP6, bytecode.CTDstIP6:
		if dir < 0 {
			return 0
		}
		return 16
	case bytecode.CTPkts, bytecode.CTBytes, bytecode.CTAvgPkt:
		return 8
	case bytecode.CTZone:
		return 2
	}
	return 0
}

// ctSetLen is the length of a key that can be set; 0 for the others.
func ctSetLen(k bytecode.CTKey) int {
	switch k {
	case bytecode.CTMark, bytecode.CTSecmark, bytecode.CTEvent:
		return 4
	case bytecode.CTLabel:
		return 16
	case bytecode.CTZone:
		return 2
	}
	return 0
}

// ctState is the state bit that rules see.
func (w *walk) ctState() uint32 {
	switch {
	case w.ct != nil:
		return w.ctInfo.StateBit()
	case w.ctNone && w.ctInfo == conntrack.Untracked:
		return packet.CTUntracked
	case w.ctTemplate:
		return packet.CTNew
	}
	return packet.CTInvalid
}

// ctGet is nft_ct_get_eval.
func (e *Engine) ctGet(w *walk, o *op) int32 {
	key := bytecode.CTKey(o.a)
	if key == bytecode.CTState {
		if w.ct != nil && w.ctInfo == conntrack.New && !w.ct.Stated && e.ct.Helped(w.ct) {
			// A helper may have announced it: related.
			w.unknown(o.dst, 4, CauseHelper)
			return codeContinue
		}
		w.put32(o.dst, w.ctState())
		return codeContinue
	}
	c := w.ct
	if c == nil {
		return codeBreak
	}
	if c.Stated && !statesCT(&w.p.Stated, key) {
		w.unknown(o.dst, o.n, CauseConnection)
		return codeContinue
	}
	dir := int(int8(o.b))
	switch key {
	case bytecode.CTDirection:
		w.put8(o.dst, uint8(w.ctInfo.Dir()))
	case bytecode.CTStatus:
		w.put32(o.dst, c.Status)
	case bytecode.CTMark:
		if w.ctMarkWhy != CauseNone {
			w.unknown(o.dst, 4, w.ctMarkWhy)
			break
		}
		w.put32(o.dst, c.Mark)
	case bytecode.CTSecmark:
		w.unknown(o.dst, 4, CauseSecmark)
	case bytecode.CTExpiration:
		e.needTime(w)
		left := c.Timeout
		if c.IsConfirmed() && !c.Stated {
			left -= e.now
		}
		w.put32(o.dst, uint32(max(left, 0)/1e6))
	case bytecode.CTHelper:
		// The name is that of the connection which announced this one.
		name := c.MasterHelp
		if c.Stated {
			name = c.Helper
		}
		if name == "" {
			return codeBreak
		}
		w.putName(o.dst, name)
	case bytecode.CTLabel:
		w.putBytes(o.dst, c.Labels[:])
	case bytecode.CTPkts:
		w.put64(o.dst, both(c.Packets, dir))
	case bytecode.CTBytes:
		w.put64(o.dst, both(c.Bytes, dir))
	case bytecode.CTAvgPkt:
		var avg uint64
		if n := both(c.Packets, dir); n != 0 {
			avg = both(c.Bytes, dir) / n
		}
		w.put64(o.dst, avg)
	case bytecode.CTL3Protocol:
		w.put8(o.dst, c.Orig.L3)
	case bytecode.CTProtocol:
		w.put8(o.dst, c.Orig.Proto)
	case bytecode.CTZone:
		z := c.Zone.ID
		if dir >= 0 {
			z = c.Zone.In(dir)
		}
		w.put16(o.dst, z)
	case bytecode.CTID:
		w.put32(o.dst, c.ID)
	default:
		return w.ctTuple(c, key, o, dir)
	}
	return codeContinue
}

func both(n [2]uint64, dir int) uint64 {
	if dir == 0 || dir == 1 {
		return n[dir]
	}
	return n[0] + n[1]
}

// ctTuple is the tuple half of nft_ct_get_eval.
func (w *walk) ctTuple(c *conntrack.Conn, key bytecode.CTKey, o *op, dir int) int32 {
	t := c.Tuple(dir & 1)
	switch key {
	case bytecode.CTSrc:
		w.putBytes(o.dst, t.Src[:o.n])
	case bytecode.CTDst:
		w.putBytes(o.dst, t.Dst[:o.n])
	case bytecode.CTProtoSrc, bytecode.CTProtoDst:
		port := t.SrcPort
		if key == bytecode.CTProtoDst {
			port = t.DstPort
		}
		w.put16(o.dst, port<<8|port>>8)
	case bytecode.CTSrcIP, bytecode.CTDstIP:
		if t.L3 != packet.NFProtoIPv4 {
			return codeBreak
		}
		a := t.Src
		if key == bytecode.CTDstIP {
			a = t.Dst
		}
		w.putBytes(o.dst, a[:4])
	case bytecode.CTSrcIP6, bytecode.CTDstIP6:
		if t.L3 != packet.NFProtoIPv6 {
			return codeBreak
		}
		a := t.Src
		if key == bytecode.CTDstIP6 {
			a = t.Dst
		}
		w.putBytes(o.dst, a[:16])
	default:
		return codeBreak
	}
	return codeContinue
}

// statesCT tells whether a packet that states its own connection says enough
// for a key. Its tuple is read from the packet, the direction follows from it.
func statesCT(s *packet.Stated, k bytecode.CTKey) bool {
	h := packet.Has(0)
	switch k {
	case bytecode.CTExpiration:
		h = packet.HasCTExpiration
	case bytecode.CTHelper:
		h = packet.HasCTHelper
	case bytecode.CTPkts:
		h = packet.HasCTPackets
	case bytecode.CTBytes:
		h = packet.HasCTBytes
	case bytecode.CTAvgPkt:
		h = packet.HasCTPackets | packet.HasCTBytes
	case bytecode.CTID:
		h = packet.HasCTID
	case bytecode.CTStatus:
		h = packet.HasCTStatus
	}
	return s.Has&h == h
}

// ctSet is nft_ct_set_eval and nft_ct_set_zone_eval.
func (e *Engine) ctSet(w *walk, o *op, i int32) int32 {
	why := w.cause(o.src, o.n)
	if bytecode.CTKey(o.a) == bytecode.CTZone {
		if w.ct != nil || w.ctTemplate {
			return codeContinue // already tracked
		}
		if why != CauseNone {
			e.noteUnknown(w, why, int(i))
			return codeContinue
		}
		z := conntrack.Zone{ID: binary.LittleEndian.Uint16(w.regs[o.src:]), Dir: conntrack.ZoneDirBoth}
		if dir := int8(o.b); dir >= 0 {
			z.Dir = 1 << dir
		}
		w.ctZone, w.ctTemplate, w.ctNone, w.ctInfo = z, true, false, conntrack.New
		return codeContinue
	}
	c := w.ct
	if c == nil {
		return codeContinue
	}
	switch bytecode.CTKey(o.a) {
	case bytecode.CTMark:
		c.Mark, w.ctMarkWhy = w.u32(o.src), why
		if why != CauseNone {
			e.noteUnknown(w, why, int(i))
		}
	case bytecode.CTLabel:
		if why != CauseNone {
			e.noteUnknown(w, why, int(i))
			break
		}
		// nf_connlabels_replace: data and mask are the same register, so bits
		// are only set.
		for k := range c.Labels {
			c.Labels[k] |= w.regs[int(o.src)+k]
		}
	}
	return codeContinue
}

// expect is nft_ct_expect_obj_eval.
func (e *Engine) expect(w *walk, ob *object) {
	x, ok := ob.src.Instr.(*bytecode.ObjCTExpectSpec)
	if !ok || w.ct == nil || w.dry || e.ct == nil || w.ctInfo != conntrack.New {
		return
	}
	e.ct.Expect(w.ct, w.ctInfo.Dir(), x.L4Proto, x.Port, int64(x.Timeout)*1e6, e.now, int(x.Size))
}

// statedConn makes the connection that a packet states: its state, and what
// else it says; the tuple is the packet's own.
func (e *Engine) statedConn(w *walk) {
	s := &w.p.Stated
	w.ctNone, w.ct = false, nil
	switch {
	case s.CT.State&packet.CTInvalid != 0:
		w.ctNone, w.ctInfo = true, conntrack.Established
		return
	case s.CT.State&packet.CTUntracked != 0:
		w.ctNone, w.ctInfo = true, conntrack.Untracked
		return
	}
	c := &e.stated
	*c = conntrack.Conn{Stated: true, Mark: s.CT.Mark, Status: s.CT.Status, Labels: s.CT.Label,
		Helper: s.CT.Helper, ID: s.CT.ID, Timeout: int64(s.CT.Expiration) * 1e6,
		Zone: conntrack.Zone{ID: s.CT.Zone, Dir: conntrack.ZoneDirBoth}}
	info := conntrack.New
	switch {
	case s.CT.State&packet.CTEstablished != 0:
		info = conntrack.Established
		c.Status |= conntrack.SeenReply | conntrack.Confirmed
	case s.CT.State&packet.CTRelated != 0:
		info = conntrack.Related
	}
	if s.CT.Reply && info != conntrack.New {
		info += conntrack.EstablishedReply
		c.Status |= conntrack.Confirmed
	}
	c.Packets[0], c.Bytes[0] = s.CT.Packets, s.CT.Bytes
	if t, ok := conntrack.TupleOf(w.p); ok {
		if r, ok := t.Invert(); ok {
			c.Orig, c.Reply = t, r
			if info.Reply() {
				c.Orig, c.Reply = r, t
			}
		}
	}
	w.ct, w.ctInfo = c, info
}
