package eval

import (
	"encoding/binary"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// exthdr is nft_exthdr_ipv6_eval, _tcp_eval, _ipv4_eval, _sctp_eval and
// _dccp_eval.
func (e *Engine) exthdr(w *walk, o *op, i int32) int32 {
	p := w.p
	typ := uint8(o.b)
	var a packet.Absent
	var off, length int
	kind := bytecode.ExthdrOp(o.base)
	switch kind {
	case bytecode.ExthdrIPv6:
		if p.NFProto != packet.NFProtoIPv6 {
			return codeBreak
		}
		off, a = p.FindIPv6Header(typ)
	case bytecode.ExthdrIPv4:
		if p.NFProto != packet.NFProtoIPv4 {
			return codeBreak
		}
		off, a = p.FindIPv4Option(typ)
	case bytecode.ExthdrTCPOpt:
		off, length, a = p.FindTCPOption(typ)
		if a == packet.None && int(o.a)+int(o.n) > length {
			a = packet.NotFound
		}
	case bytecode.ExthdrSCTP:
		off, length, a = p.FindSCTPChunk(typ)
		if a == packet.None && o.flag == 0 && (int(o.a)+int(o.n) > length || off+length > p.Info.End) {
			a = packet.NotFound
		}
	case bytecode.ExthdrDCCP:
		a = p.HasDCCPOption(typ)
	}
	if o.flag == 1 { // NFT_EXTHDR_F_PRESENT
		if a.Unknown() {
			w.unknown(o.dst, 1, CauseTruncated)
			return codeContinue
		}
		v := uint8(0)
		if a == packet.None {
			v = 1
		}
		w.put8(o.dst, v)
		return codeContinue
	}
	if a == packet.None {
		var b []byte
		if b, a = p.Slice(packet.BaseNetwork, off-p.NH+int(o.a), int(o.n)); a == packet.None {
			w.putBytes(o.dst, b)
			return codeContinue
		}
	}
	return w.absent(o.dst, o.n, a)
}

// exthdrSet is nft_exthdr_tcp_set_eval.
func (e *Engine) exthdrSet(w *walk, o *op, i int32) int32 {
	p := w.p
	if c := w.cause(o.src, o.n); c != CauseNone {
		e.noteUnknown(w, c, int(i))
		w.bytesWhy = c
		return codeContinue
	}
	_, th, a := p.TCPHeader()
	if a != packet.None {
		return e.storeAbsent(w, a, i)
	}
	off, length, a := p.FindTCPOption(uint8(o.b))
	switch {
	case a == packet.NotFound:
		return codeContinue
	case a != packet.None:
		return e.storeAbsent(w, a, i)
	case int(o.a)+int(o.n) > length:
		return codeBreak
	}
	val := w.regs[o.src : uint16(o.src)+o.n]
	dst := p.Data[off+int(o.a):][:o.n]
	if o.n == 2 && o.b == packet.TCPOptMSS &&
		binary.BigEndian.Uint16(dst) <= binary.BigEndian.Uint16(val) {
		// A larger MSS could stall the connection.
		return codeContinue
	}
	if string(dst) == string(val) {
		return codeContinue
	}
	w.touch()
	c := p.Data[th+16 : th+18]
	binary.BigEndian.PutUint16(c, csumReplace(c, sum16(dst), sum16(val)))
	copy(dst, val)
	return codeContinue
}

// exthdrReset is nft_exthdr_tcp_strip_eval.
func (e *Engine) exthdrReset(w *walk, o *op, i int32) int32 {
	p := w.p
	_, th, a := p.TCPHeader()
	if a != packet.None {
		return e.storeAbsent(w, a, i)
	}
	off, length, a := p.FindTCPOption(uint8(o.b))
	switch a {
	case packet.None:
	case packet.NotFound:
		return codeContinue
	case packet.Malformed:
		return codeDrop
	default:
		return e.storeAbsent(w, a, i)
	}
	w.touch()
	c := p.Data[th+16 : th+18]
	for k := off; k < off+length; k++ {
		from, to := uint16(p.Data[k]), uint16(packet.TCPOptNOP)
		if (k-th)%2 == 0 {
			from, to = from<<8, to<<8
		}
		binary.BigEndian.PutUint16(c, csumReplace(c, from, to))
		p.Data[k] = packet.TCPOptNOP
	}
	return codeContinue
}

// storeAbsent is what a store does when its place is absent: the kernel
// breaks; a place that only the capture lacks leaves the packet as it is.
func (e *Engine) storeAbsent(w *walk, a packet.Absent, i int32) int32 {
	if a.Unknown() {
		e.noteUnknown(w, CauseTruncated, int(i))
		return codeContinue
	}
	return codeBreak
}
