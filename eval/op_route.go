package eval

import (
	"net/netip"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// Flags and results of nft_fib.
const (
	fibSaddr   = 1
	fibDaddr   = 2
	fibMark    = 4
	fibIif     = 8
	fibOif     = 16 // NFTA_FIB_F_OIF
	fibPresent = 32

	fibOifIndex = 1
	fibOifname  = 2
	fibAddrType = 3
)

// addrs reads the packet's network addresses; ok is false when it has none or
// the capture cut them off.
func addrs(p *packet.Packet) (src, dst netip.Addr, a packet.Absent) {
	switch p.NFProto {
	case packet.NFProtoIPv4:
		h, a := p.Slice(packet.BaseNetwork, 12, 8)
		if a != packet.None {
			return src, dst, a
		}
		return netip.AddrFrom4([4]byte(h[:4])), netip.AddrFrom4([4]byte(h[4:])), packet.None
	case packet.NFProtoIPv6:
		h, a := p.Slice(packet.BaseNetwork, 8, 32)
		if a != packet.None {
			return src, dst, a
		}
		return netip.AddrFrom16([16]byte(h[:16])), netip.AddrFrom16([16]byte(h[16:])), packet.None
	}
	return src, dst, packet.NoNetworkHeader
}

// fib is nft_fib4_eval, nft_fib6_eval and their _type forms.
func (e *Engine) fib(w *walk, o *op) int32 {
	src, dst, a := addrs(w.p)
	if a != packet.None {
		return w.absent(o.dst, o.n, a)
	}
	addr, other := src, dst
	if o.a&fibDaddr != 0 {
		addr, other = dst, src
	}
	if o.b == fibAddrType {
		t, c := e.fibType(w, o, addr)
		if c != CauseNone {
			w.unknown(o.dst, o.n, c)
			return codeContinue
		}
		if o.a&fibPresent != 0 {
			// nft_fib_store_result: with the present flag the answer is whether.
			if t != 0 {
				t = 1
			}
			w.put8(o.dst, uint8(t))
			return codeContinue
		}
		w.put32(o.dst, uint32(t))
		return codeContinue
	}
	dev, c := e.fibDev(w, o, addr, other)
	if c != CauseNone {
		w.unknown(o.dst, o.n, c)
		return codeContinue
	}
	switch {
	case o.a&fibPresent != 0:
		v := uint8(0)
		if dev != "" {
			v = 1
		}
		w.put8(o.dst, v)
	case o.b == fibOifname:
		w.putName(o.dst, dev)
	case dev == "":
		w.put32(o.dst, 0)
	default:
		i := e.ifByName[dev]
		if i == nil || i.Index == 0 {
			w.put32(o.dst, ownIndex(w, dev))
			break
		}
		w.put32(o.dst, i.Index)
	}
	return codeContinue
}

// fibType is the address type.
func (e *Engine) fibType(w *walk, o *op, addr netip.Addr) (RouteType, Cause) {
	dev := ""
	d := (*iface)(nil)
	switch {
	case o.a&fibIif != 0:
		d = &w.in
	case o.a&fibOif != 0:
		d = &w.out
	}
	if t, ok := specialAddr(addr); ok {
		return t, CauseNone
	}
	h := e.env.Host
	if h == nil {
		if o.a&fibDaddr != 0 && d == nil && w.trip.toHost() {
			// Not multicast, not broadcast to all: what reaches input is local,
			// but for the broadcast address of a network.
			if w.res != nil {
				w.res.Assumed |= AssumedLocalAddress
			}
			return RouteLocal, CauseNone
		}
		return 0, CauseRoute
	}
	if d != nil {
		if d.state == devUnknown {
			return 0, CauseInterface
		}
		dev = d.name
	}
	if addr.Is4() {
		return h.AddrType(addr, dev), CauseNone
	}
	r, ok := h.lookupFib(addr)
	switch {
	case !ok:
		return RouteUnreachable, CauseNone
	case r.Type == RouteLocal:
		if dev == "" || r.Dev == dev {
			return RouteLocal, CauseNone
		}
		return RouteUnicast, CauseNone
	}
	return r.Type, CauseNone
}

// fibDev is the device that packets to addr leave by, empty when there is no
// route or not by the device asked for.
func (e *Engine) fibDev(w *walk, o *op, addr, other netip.Addr) (string, Cause) {
	d := (*iface)(nil)
	switch {
	case o.a&fibOif != 0:
		d = &w.out
	case o.a&fibIif != 0:
		d = &w.in
	}
	// nft_fib_can_skip: looped packets and loopback devices at prerouting.
	if w.in.state == devKnown && (w.in.name == "lo" || w.pktType == packet.PktLoopback) &&
		(w.trip.hook == bytecode.HookPrerouting || w.trip.hook == bytecode.HookIngress) {
		return w.in.name, CauseNone
	}
	if addr.Is4() {
		if src, dst, _ := addrs(w.p); src.As4()[0] == 0 {
			b := dst.As4()
			if b == [4]byte{255, 255, 255, 255} || b[0] == 224 && b[1] == 0 && b[2] == 0 {
				return w.devOrUnknown(&w.in)
			}
		}
	} else if w.p.Info.L4Proto == packet.ProtoICMPv6 {
		// nft_fib_v6_skip_icmpv6
		if src, dst, _ := addrs(w.p); src.IsUnspecified() && (dst.IsLinkLocalUnicast() || dst.IsLinkLocalMulticast()) {
			return w.devOrUnknown(&w.in)
		}
	}
	h := e.env.Host
	if h == nil {
		return "", CauseRoute
	}
	if d != nil && d.state == devUnknown {
		return "", CauseInterface
	}
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		// RT6_LOOKUP_F_IFACE: fe80::/10 is looked up on the device.
		if d == nil {
			d = &w.in
		}
		if d.state == devUnknown {
			return "", CauseInterface
		}
		if r, ok := h.lookupOn(addr, d.name); !ok || r.Type != RouteUnicast {
			return "", CauseNone
		}
		return d.name, CauseNone
	}
	r, ok := h.lookupFib(addr)
	if !ok || r.Type != RouteUnicast {
		return "", CauseNone
	}
	if d != nil && d.state == devKnown && d.name != r.Dev {
		return "", CauseNone
	}
	return r.Dev, CauseNone
}

func (w *walk) devOrUnknown(d *iface) (string, Cause) {
	if d.state == devUnknown {
		return "", CauseInterface
	}
	return d.name, CauseNone
}

// rt is nft_rt_get_eval.
func (e *Engine) rt(w *walk, o *op) int32 {
	if !w.routed() {
		return codeBreak
	}
	key := bytecode.RTKey(o.a)
	switch key {
	case bytecode.RTNextHop4:
		if w.pf() != packet.NFProtoIPv4 {
			return codeBreak
		}
	case bytecode.RTNextHop6:
		if w.pf() != packet.NFProtoIPv6 {
			return codeBreak
		}
	case bytecode.RTIPsec:
		w.noIPsec()
		w.put8(o.dst, 0)
		return codeContinue
	}
	h := e.env.Host
	src, dst, a := addrs(w.p)
	if h == nil || a != packet.None {
		w.unknown(o.dst, o.n, CauseRoute)
		return codeContinue
	}
	r, ok := h.Lookup(dst)
	switch key {
	case bytecode.RTClassID:
		v := uint32(0)
		if ok {
			v = r.Realm
		}
		w.put32(o.dst, v)
	case bytecode.RTNextHop4, bytecode.RTNextHop6:
		hop := dst
		if ok && r.Gateway.IsValid() {
			hop = r.Gateway
		}
		w.putBytes(o.dst, hop.AsSlice())
	case bytecode.RTTCPMSS:
		// get_tcpmss: the smaller MTU of both directions.
		mtu := 0xffff + 1
		if ok {
			mtu = min(mtu, h.mtuOf(r))
		}
		if back, ok := h.Lookup(src); ok {
			mtu = min(mtu, h.mtuOf(back))
		}
		head := 40
		if dst.Is6() {
			head = 40 // sizeof(struct ipv6hdr): the TCP header is not counted
		}
		if mtu <= head || mtu > 0xffff {
			w.put16(o.dst, 536) // TCP_MSS_DEFAULT
			break
		}
		w.put16(o.dst, uint16(mtu-head))
	default:
		return codeBreak
	}
	return codeContinue
}

// socket is nft_socket_eval: sockets are never known, and where the kernel
// looks for none there are none.
func (e *Engine) socket(w *walk, o *op) int32 {
	if p := w.p.Info.L4Proto; p != packet.ProtoTCP && p != packet.ProtoUDP || !w.p.Info.L4Set {
		return codeBreak
	}
	w.unknown(o.dst, o.n, CauseSocket)
	return codeContinue
}

// osf is nft_osf_eval: only SYN segments have a fingerprint.
func (e *Engine) osf(w *walk, o *op) int32 {
	i := &w.p.Info
	if w.pf() != packet.NFProtoIPv4 || i.L4Proto != packet.ProtoTCP || !i.L4Set || i.FragOff != 0 {
		return codeBreak
	}
	h, a := w.p.Slice(packet.BaseTransport, 13, 1)
	if a != packet.None {
		return w.absent(o.dst, o.n, a)
	}
	if h[0]&2 == 0 {
		return codeBreak
	}
	w.unknown(o.dst, o.n, CauseOSF)
	return codeContinue
}

// xfrm is nft_xfrm_get_eval: without IPsec state the rule breaks.
func (e *Engine) xfrm(w *walk, o *op) int32 {
	w.noIPsec()
	return codeBreak
}

// noIPsec notes that the packet is taken as it is: not decrypted before the
// rules see it, not to be encrypted behind them.
func (w *walk) noIPsec() {
	if w.res != nil {
		w.res.Assumed |= AssumedNoIPsec
	}
}
