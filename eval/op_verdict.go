package eval

import (
	"encoding/binary"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// queue is nft_queue_eval.
func (e *Engine) queue(w *walk, o *op) int32 {
	num := uint16(o.a)
	if o.src != noReg {
		// nft_queue_sreg_eval: the number is in host order.
		num = binary.LittleEndian.Uint16(w.regs[o.src:])
	}
	w.end.queue = num
	return codeQueue
}

// fwd is nft_fwd_netdev_eval and nft_fwd_neigh_eval: the packet leaves by
// another device and is gone from here.
func (e *Engine) fwd(w *walk, o *op, i int32) int32 {
	if o.src != noReg {
		// nft_fwd_neigh_eval checks the protocol and the time to live.
		f := o.instr.(*bytecode.Fwd)
		off, proto := 8, uint8(packet.NFProtoIPv4)
		if f.Family == bytecode.FamilyIP6 {
			off, proto = 7, packet.NFProtoIPv6
		}
		if w.p.NFProto != proto {
			return codeBreak
		}
		ttl, a := w.p.Slice(packet.BaseNetwork, off, 1)
		if a != packet.None {
			if a.Unknown() {
				return w.fork(i, CauseTruncated)
			}
			return codeBreak
		}
		if ttl[0] <= 1 {
			return codeDrop
		}
	}
	w.end.by = ByRule
	return codeStolen
}

// synproxy is nft_synproxy_do_eval: SYN and the ACK that completes the
// handshake are answered here, other segments break the rule.
func (e *Engine) synproxy(w *walk, o *op, i int32) int32 {
	p := w.p
	if !p.Info.L4Set || p.Info.L4Proto != packet.ProtoTCP {
		return codeBreak
	}
	h, a := p.Slice(packet.BaseTransport, 0, 20)
	if a != packet.None {
		if a.Unknown() {
			return w.fork(i, CauseTruncated)
		}
		return codeBreak
	}
	const syn, ack = 2, 16
	switch {
	case h[13]&syn != 0:
		return codeStolen
	case h[13]&ack != 0:
		// synproxy_recv_client_ack: stolen if the cookie is right, which only
		// the kernel knows; else dropped.
		e.noteUnknown(w, CauseRandom, int(i))
		return codeStolen
	}
	return codeBreak
}

// flowOffload is nft_flow_offload_eval: what is offloaded takes another way
// from its next packet on, which is not followed here. The expression breaks
// when the packet's flow cannot be offloaded.
func (e *Engine) flowOffload(w *walk) int32 {
	c := w.ct
	if c == nil || w.ctInfo == conntrack.Related || w.ctInfo == conntrack.RelatedReply {
		return codeBreak
	}
	switch c.Orig.Proto {
	case packet.ProtoTCP:
		h, a := w.p.Slice(packet.BaseTransport, 13, 1)
		const finOrRst = 1 | 4
		if a != packet.None || h[0]&finOrRst != 0 || !c.Stated && !c.TCPEstablished() {
			return codeBreak
		}
	case packet.ProtoUDP:
	default:
		return codeBreak
	}
	if c.Helper != "" || !c.IsConfirmed() || c.Status&conntrack.Offload != 0 {
		return codeBreak
	}
	c.Status |= conntrack.Offload
	if w.res != nil {
		w.res.Assumed |= AssumedNotOffloaded
	}
	return codeContinue
}
