package eval

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// NATChange says how NAT changed a packet on its trip.
type NATChange struct {
	Changed        bool
	Src, Dst       netip.AddrPort // as they were at the start of the trip
	NewSrc, NewDst netip.AddrPort
	Random         bool // the kernel draws the port at random
	AddrNotKnown   bool // masquerade or redirect to an address that is not known
	Conn           bool // of a connection set up by an earlier packet
}

// natKind tells the expressions apart that opNAT stands for.
type natKind uint8

const (
	natAddress natKind = iota
	natMasquerade
	natRedirect
)

// natOp are the operands of opNAT and opTProxy.
type natOp struct {
	kind     natKind
	manip    conntrack.Manip
	family   bytecode.Family
	addrMin  uint8
	addrMax  uint8
	protoMin uint8
	protoMax uint8
	flags    uint32
}

// nat flattens nat, masq, redir and tproxy.
func (f *flattener) nat(in bytecode.Instr) error {
	n := &natOp{addrMin: noReg, addrMax: noReg, protoMin: noReg, protoMax: noReg}
	var err error
	regs := func(lo, hi bytecode.Register, size int) (a, b uint8) {
		if err == nil {
			a, err = optional(lo, size)
		}
		if err == nil {
			b, err = optional(hi, size)
		}
		if b == noReg {
			b = a
		}
		return a, b
	}
	switch in := in.(type) {
	case *bytecode.NAT:
		n.family = in.Family
		size := 4
		if in.Family == bytecode.FamilyIP6 {
			size = 16
		} else if in.Family != bytecode.FamilyIP && in.AddrMin != 0 {
			return fmt.Errorf("family %v", in.Family)
		}
		if in.Type == bytecode.NATDest {
			n.manip = conntrack.ManipDst
		}
		n.addrMin, n.addrMax = regs(in.AddrMin, in.AddrMax, size)
		n.protoMin, n.protoMax = regs(in.ProtoMin, in.ProtoMax, 2)
		n.flags = in.Flags
	case *bytecode.Masq:
		n.kind, n.flags = natMasquerade, in.Flags
		n.protoMin, n.protoMax = regs(in.ProtoMin, in.ProtoMax, 2)
	case *bytecode.Redir:
		n.kind, n.manip, n.flags = natRedirect, conntrack.ManipDst, in.Flags
		n.protoMin, n.protoMax = regs(in.ProtoMin, in.ProtoMax, 2)
	case *bytecode.TProxy:
		size := 4
		if in.Family == bytecode.FamilyIP6 || f.table.src.Family == bytecode.FamilyIP6 {
			size = 16
		}
		n.family = in.Family
		n.addrMin, _ = regs(in.Addr, 0, size)
		n.protoMin, _ = regs(in.Port, 0, 2)
		if err != nil {
			return err
		}
		f.emit(op{code: opTProxy, instr: n})
		f.e.needDefrag(f.table.src.Family)
		return nil
	}
	if err != nil {
		return err
	}
	f.emit(op{code: opNAT, instr: n})
	family := f.table.src.Family
	if x, ok := in.(*bytecode.NAT); ok {
		family = x.Family // nft_nat_init
	}
	f.e.needCT(family)
	return nil
}

// natSetup is nft_nat_eval, nft_masq_eval and nft_redir_eval.
func (e *Engine) natSetup(w *walk, o *op, i int32) int32 {
	n := o.instr.(*natOp)
	c := w.ct
	if c == nil || e.ct == nil {
		// nf_nat_setup_info needs an entry; the nat hook lets others pass.
		return codeAccept
	}
	r := conntrack.Range{Flags: n.flags}
	if n.protoMin != noReg {
		if why := w.causeAny(n.protoMin, n.protoMax, 2); why != CauseNone {
			e.noteUnknown(w, why, int(i))
			w.natUnknown()
			return codeAccept
		}
		r.MinPort = binary.BigEndian.Uint16(w.regs[n.protoMin:])
		r.MaxPort = binary.BigEndian.Uint16(w.regs[n.protoMax:])
		r.Flags |= conntrack.RangeProtoSpecified
	}
	addrLen := 4
	if w.p.NFProto == packet.NFProtoIPv6 {
		addrLen = 16
	}
	switch n.kind {
	case natAddress:
		if n.addrMin == noReg {
			break
		}
		if n.family == bytecode.FamilyIP && addrLen != 4 || n.family == bytecode.FamilyIP6 && addrLen != 16 {
			// nft_nat_inet_eval: another family, nothing happens.
			return codeContinue
		}
		if why := w.causeAny(n.addrMin, n.addrMax, uint16(addrLen)); why != CauseNone {
			e.noteUnknown(w, why, int(i))
			w.natUnknown()
			return codeAccept
		}
		copy(r.MinAddr[:], w.regs[n.addrMin:int(n.addrMin)+addrLen])
		copy(r.MaxAddr[:], w.regs[n.addrMax:int(n.addrMax)+addrLen])
		r.Flags |= conntrack.RangeMapIPs
		if n.flags&conntrack.RangeNetmap != 0 {
			w.netmap(&r, n.manip, addrLen)
		}
	case natMasquerade, natRedirect:
		a, ok := e.localAddr(w, n.kind, addrLen == 16)
		if !ok && e.env.Host != nil && w.natDev(n.kind).state == devKnown {
			// nf_nat_masquerade_ipv4, nf_nat_redirect: no address to take.
			return codeDrop
		}
		if !ok {
			e.noteUnknown(w, CauseRoute, int(i))
			w.natUnknown()
			return codeAccept
		}
		copy(r.MinAddr[:], a.AsSlice())
		r.MaxAddr = r.MinAddr
		r.Flags |= conntrack.RangeMapIPs
	}
	if c.Initialized(n.manip) || c.IsConfirmed() && !c.Stated {
		return codeAccept
	}
	if e.ct.Setup(c, &r, n.manip, e.now, w.dry) && w.res != nil {
		w.res.NAT.Random = true
		e.noteUnknown(w, CauseRandom, int(i))
	}
	return codeAccept
}

// natUnknown lets the NAT of one kind count as done, with the address as it
// is, when the new one is not known.
func (w *walk) natUnknown() {
	if w.res != nil {
		w.res.NAT.AddrNotKnown = true
	}
}

func (w *walk) causeAny(a, b uint8, n uint16) Cause {
	if c := w.cause(a, n); c != CauseNone {
		return c
	}
	return w.cause(b, n)
}

// netmap is nft_nat_setup_netmap: the network part is replaced, the host part
// stays.
func (w *walk) netmap(r *conntrack.Range, m conntrack.Manip, n int) {
	src, dst, a := addrs(w.p)
	if a != packet.None {
		return
	}
	own := src.AsSlice()
	if m == conntrack.ManipDst {
		own = dst.AsSlice()
	}
	for k := 0; k < n; k++ {
		mask := ^(r.MinAddr[k] ^ r.MaxAddr[k])
		r.MinAddr[k] = own[k]&^mask | r.MinAddr[k]&mask
	}
	r.MaxAddr = r.MinAddr
}

// localAddr is the address of this host that masquerade (nf_nat_masquerade_*)
// and redirect (nf_nat_redirect_*) take.
func (e *Engine) localAddr(w *walk, k natKind, v6 bool) (netip.Addr, bool) {
	dev := &w.out
	if k == natRedirect {
		if w.trip.hook == bytecode.HookOutput {
			if v6 {
				return netip.IPv6Loopback(), true
			}
			return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
		}
		dev = &w.in
	}
	if e.env.Host == nil || dev.state != devKnown {
		return netip.Addr{}, false
	}
	return e.env.Host.PrimaryAddr(dev.name, v6)
}

// natDev is the device whose address is taken.
func (w *walk) natDev(k natKind) *iface {
	if k == natRedirect {
		return &w.in
	}
	return &w.out
}

// tproxy is nft_tproxy_eval: without a listening socket on this host the rule
// breaks, and whether there is one is not known.
func (e *Engine) tproxy(w *walk, o *op, i int32) int32 {
	n := o.instr.(*natOp)
	if w.p.Info.L4Proto != packet.ProtoTCP && w.p.Info.L4Proto != packet.ProtoUDP || !w.p.Info.L4Set {
		return codeBreak
	}
	if n.family == bytecode.FamilyIP && w.p.NFProto != packet.NFProtoIPv4 ||
		n.family == bytecode.FamilyIP6 && w.p.NFProto != packet.NFProtoIPv6 {
		return codeBreak
	}
	return w.fork(i, CauseSocket)
}

// endpoints reads addresses and ports for reports.
func endpoints(p *packet.Packet) (src, dst netip.AddrPort) {
	s, d, a := addrs(p)
	if a != packet.None {
		return
	}
	var sp, dp uint16
	switch p.Info.L4Proto {
	case packet.ProtoTCP, packet.ProtoUDP, packet.ProtoSCTP, packet.ProtoDCCP, packet.ProtoUDPLite:
		if h, a := p.Slice(packet.BaseTransport, 0, 4); a == packet.None {
			sp, dp = be16(h), be16(h[2:])
		}
	}
	return netip.AddrPortFrom(s, sp), netip.AddrPortFrom(d, dp)
}

// runNATHook is nf_nat_inet_fn with the nat chains of a hook, after
// nf_nat_ipv4_fn's handling of ICMP errors. It returns codeContinue when the
// packet goes on, or codeFork.
func (e *Engine) runNATHook(w *walk, h *natHook) int32 {
	c := w.ct
	if c == nil {
		return codeContinue
	}
	m := h.manip
	isError := (w.ctInfo == conntrack.Related || w.ctInfo == conntrack.RelatedReply) &&
		(w.p.Info.L4Proto == packet.ProtoICMP || w.p.Info.L4Proto == packet.ProtoICMPv6)
	first := w.ctInfo == conntrack.New || (w.ctInfo == conntrack.Related || w.ctInfo == conntrack.RelatedReply) && !isError
	if first && !c.Initialized(m) {
		for w.natIndex < len(h.chains) {
			if !w.running {
				w.startChain(h.chains[w.natIndex])
				if w.opts.Trace && w.res != nil {
					e.traceStart(w)
				}
			}
			code := e.runChain(w)
			if code == codeFork {
				return codeFork
			}
			w.running = false
			if code != codeAccept {
				return code
			}
			w.noteAccept()
			if c.Initialized(m) {
				break
			}
			w.natIndex++
		}
		w.natIndex = 0
		if !c.Initialized(m) && e.ct.NullBinding(c, m, e.now, w.dry) && w.res != nil {
			w.res.NAT.Random = true
		}
	}
	if c.Status&(conntrack.SrcNAT|conntrack.DstNAT) == 0 {
		return codeContinue
	}
	e.enter(w, packet.ViewInet)
	changed, ok := conntrack.Translate(w.p, c, w.ctInfo, m)
	if changed {
		w.touch()
		w.entered = false
		w.trip.rerouted = w.trip.rerouted || m == conntrack.ManipDst
		if w.res != nil {
			w.res.NAT.Changed = true
			w.res.NAT.Conn = !first
		}
	}
	if !ok {
		w.end.by = ByNAT
		return codeDrop
	}
	return codeContinue
}
