package eval

import (
	"encoding/binary"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// metaLen is the length in bytes of a meta key (nft_meta_get_init,
// nft_meta_bridge_get_init); 0 when it cannot be read.
func metaLen(k bytecode.MetaKey) int {
	switch k {
	case bytecode.MetaLen, bytecode.MetaPriority, bytecode.MetaMark, bytecode.MetaIIF, bytecode.MetaOIF,
		bytecode.MetaSKUID, bytecode.MetaSKGID, bytecode.MetaRTClassID, bytecode.MetaSecmark,
		bytecode.MetaCPU, bytecode.MetaIIFGroup, bytecode.MetaOIFGroup, bytecode.MetaCGroup,
		bytecode.MetaPRandom, bytecode.MetaTimeHour, bytecode.MetaSDIF:
		return 4
	case bytecode.MetaProtocol, bytecode.MetaIIFType, bytecode.MetaOIFType,
		bytecode.MetaBriIIFPVID, bytecode.MetaBriIIFVProto:
		return 2
	case bytecode.MetaNFProto, bytecode.MetaL4Proto, bytecode.MetaPktType, bytecode.MetaSecpath,
		bytecode.MetaTimeDay, bytecode.MetaNFTrace, bytecode.MetaBriBroute:
		return 1
	case bytecode.MetaIIFName, bytecode.MetaOIFName, bytecode.MetaIIFKind, bytecode.MetaOIFKind,
		bytecode.MetaBriIIFName, bytecode.MetaBriOIFName, bytecode.MetaSDIFName:
		return 16
	case bytecode.MetaTimeNS:
		return 8
	case bytecode.MetaBriIIFHWAddr:
		return 6
	}
	return 0
}

// metaSetLen is the length of a key that can be set; 0 for the others.
func metaSetLen(k bytecode.MetaKey) int {
	switch k {
	case bytecode.MetaMark, bytecode.MetaPriority, bytecode.MetaSecmark:
		return 4
	case bytecode.MetaNFTrace, bytecode.MetaPktType, bytecode.MetaBriBroute:
		return 1
	}
	return 0
}

// devState tells what is known of an in or out device.
type devState uint8

const (
	devNone    devState = iota // the hook has no such device
	devKnown                   // name known
	devUnknown                 // there is one, but which is not stated
)

// iface is the in or out device at a hook.
type iface struct {
	state devState
	name  string
	info  *Interface // nil when nothing but the name is known
}

// meta is nft_meta_get_eval and nft_meta_bridge_get_eval.
func (e *Engine) meta(w *walk, o *op) int32 {
	p := w.p
	key := bytecode.MetaKey(o.a)
	switch key {
	case bytecode.MetaL4Proto:
		if !p.Info.L4Set {
			if p.Info.THAbsent.Unknown() {
				return w.absent(o.dst, 1, p.Info.THAbsent)
			}
			return codeBreak
		}
		w.put8(o.dst, p.Info.L4Proto)
	case bytecode.MetaProtocol:
		w.put16(o.dst, p.EtherType<<8|p.EtherType>>8)
	case bytecode.MetaNFProto:
		w.put8(o.dst, w.pf())
	case bytecode.MetaIIFName:
		w.putDevName(o.dst, &w.in, CauseInterface)
	case bytecode.MetaOIFName:
		w.putDevName(o.dst, &w.out, CauseOutInterface)
	case bytecode.MetaMark:
		if w.markWhy != CauseNone {
			w.unknown(o.dst, 4, w.markWhy)
			break
		}
		w.put32(o.dst, w.mark)
	case bytecode.MetaLen:
		w.put32(o.dst, uint32(p.Info.Len()))
	case bytecode.MetaPriority:
		if w.prioWhy != CauseNone {
			w.unknown(o.dst, 4, w.prioWhy)
			break
		}
		w.put32(o.dst, w.priority)
	case bytecode.MetaPktType:
		w.put8(o.dst, uint8(e.pktTypeOf(w)))
	case bytecode.MetaIIF, bytecode.MetaOIF, bytecode.MetaIIFType, bytecode.MetaOIFType,
		bytecode.MetaIIFGroup, bytecode.MetaOIFGroup, bytecode.MetaIIFKind, bytecode.MetaOIFKind:
		return w.devMeta(key, o.dst)
	case bytecode.MetaTimeNS, bytecode.MetaTimeDay, bytecode.MetaTimeHour:
		e.metaTime(w, key, o.dst)
	default:
		return e.metaRare(w, key, o)
	}
	return codeContinue
}

// pf is nft_pf: the family of the hook's state.
func (w *walk) pf() uint8 {
	switch w.view {
	case packet.ViewIngress, packet.ViewEgress:
		return uint8(bytecode.FamilyNetdev)
	case packet.ViewBridge:
		return uint8(bytecode.FamilyBridge)
	case packet.ViewARP:
		return uint8(bytecode.FamilyARP)
	}
	return w.p.NFProto
}

func (w *walk) putDevName(dst uint8, d *iface, c Cause) {
	if d.state == devUnknown {
		w.unknown(dst, 16, c)
		return
	}
	w.putName(dst, d.name) // empty without a device (nft_meta_store_ifname)
}

// devMeta is nft_meta_get_eval_ifname and nft_meta_get_eval_kind but for names.
func (w *walk) devMeta(key bytecode.MetaKey, dst uint8) int32 {
	d, s, unstated := &w.in, &w.p.Stated, CauseInterface
	hasIndex, hasType, hasGroup := s.Has&packet.HasIif != 0, s.Has&packet.HasIifType != 0, s.Has&packet.HasIifGroup != 0
	index, typ, group := s.Iif, s.IifType, s.IifGroup
	switch key {
	case bytecode.MetaOIF, bytecode.MetaOIFType, bytecode.MetaOIFGroup, bytecode.MetaOIFKind:
		d, unstated = &w.out, CauseOutInterface
		hasIndex, hasType, hasGroup = s.Has&packet.HasOif != 0, s.Has&packet.HasOifType != 0, s.Has&packet.HasOifGroup != 0
		index, typ, group = s.Oif, s.OifType, s.OifGroup
	}
	switch key {
	case bytecode.MetaIIF, bytecode.MetaOIF:
		switch {
		case d.state == devNone:
			w.put32(dst, 0)
		case hasIndex:
			w.put32(dst, index)
		case d.info != nil && d.info.Index != 0:
			w.put32(dst, d.info.Index)
		case d.state == devUnknown:
			w.unknown(dst, 4, unstated)
		default:
			w.put32(dst, ownIndex(w, d.name))
		}
	case bytecode.MetaIIFType, bytecode.MetaOIFType:
		switch {
		case d.state == devNone:
			return codeBreak
		case hasType:
			w.put16(dst, typ)
		case d.info != nil && d.info.HasType:
			w.put16(dst, d.info.Type)
		case key == bytecode.MetaIIFType:
			// The link type of the capture is that of the device.
			w.put16(dst, w.p.DevType)
		default:
			w.unknown(dst, 2, CauseIfType)
		}
	case bytecode.MetaIIFGroup, bytecode.MetaOIFGroup:
		switch {
		case d.state == devNone:
			return codeBreak
		case hasGroup:
			w.put32(dst, group)
		case d.info != nil && d.info.HasGroup:
			w.put32(dst, d.info.Group)
		default:
			w.unknown(dst, 4, CauseIfGroup)
		}
	case bytecode.MetaIIFKind, bytecode.MetaOIFKind:
		switch {
		case d.state == devNone:
			return codeBreak
		case d.info != nil && d.info.HasKind:
			if d.info.Kind == "" {
				return codeBreak
			}
			w.putName(dst, d.info.Kind)
		default:
			w.unknown(dst, 16, CauseIfKind)
		}
	}
	return codeContinue
}

// ownIndex is the index of a device that nothing but its name is known of: one
// that differs from the indexes of all devices that are known by name. The
// result says so.
func ownIndex(w *walk, name string) uint32 {
	if w.res != nil {
		w.res.Assumed |= AssumedOwnIndex
	}
	// FNV-1a; real indexes count from 1.
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h&0x3fffffff | 0x40000000
}

// pktTypeOf is the packet type that nft_meta_get_eval reports: looped packets
// are reported as multicast or broadcast (nft_meta_get_eval_pkttype_lo).
func (e *Engine) pktTypeOf(w *walk) packet.PktType {
	if w.pktType != packet.PktLoopback {
		return w.pktType
	}
	if w.p.NFProto == packet.NFProtoIPv4 {
		if d, a := w.p.Slice(packet.BaseNetwork, 16, 1); a == packet.None && d[0]>>4 != 0xe {
			return packet.PktBroadcast
		}
	}
	return packet.PktMulticast
}

// metaTime is nft_meta_get_eval_time: the clock is the packet's own time, the
// kernel's time zone is UTC.
func (e *Engine) metaTime(w *walk, key bytecode.MetaKey, dst uint8) {
	if !e.nowKnown {
		w.unknown(dst, uint16(metaLen(key)), CauseTime)
		return
	}
	secs := e.now / 1e9
	switch key {
	case bytecode.MetaTimeNS:
		w.put64(dst, uint64(e.now))
	case bytecode.MetaTimeDay:
		w.put8(dst, uint8((4+secs/86400)%7)) // nft_meta_weekday: day 0 was a Thursday
	case bytecode.MetaTimeHour:
		w.put32(dst, uint32(secs%86400))
	}
}

// metaRare is the part of the keys that few rules use and few packets state.
func (e *Engine) metaRare(w *walk, key bytecode.MetaKey, o *op) int32 {
	s := &w.p.Stated
	known := func(h packet.Has, v uint32, c Cause) int32 {
		if s.Has&h == 0 {
			w.unknown(o.dst, o.n, c)
		} else {
			w.put32(o.dst, v)
		}
		return codeContinue
	}
	switch key {
	case bytecode.MetaSKUID, bytecode.MetaSKGID, bytecode.MetaCGroup:
		h, v, c := packet.HasSkuid, s.Skuid, CauseSocket
		switch key {
		case bytecode.MetaSKGID:
			h, v = packet.HasSkgid, s.Skgid
		case bytecode.MetaCGroup:
			h, v, c = packet.HasCgroup, s.Cgroup, CauseCgroup
		}
		if s.Has&h == 0 && !w.mayHaveSocket() {
			return codeBreak
		}
		return known(h, v, c)
	case bytecode.MetaRTClassID:
		switch {
		case s.Has&packet.HasRtClassID != 0:
			w.put32(o.dst, s.RtClassID)
		case !w.routed():
			return codeBreak
		case e.env.Host != nil:
			w.put32(o.dst, 0)
		default:
			w.unknown(o.dst, 4, CauseRoute)
		}
	case bytecode.MetaSecmark:
		if w.secmarkWhy != CauseNone {
			w.unknown(o.dst, 4, w.secmarkWhy)
			break
		}
		w.put32(o.dst, w.secmark)
	case bytecode.MetaCPU:
		return known(packet.HasCPU, s.CPU, CauseCPU)
	case bytecode.MetaPRandom:
		w.unknown(o.dst, 4, CauseRandom)
	case bytecode.MetaSecpath:
		w.noIPsec()
		w.put8(o.dst, 0)
	case bytecode.MetaSDIF, bytecode.MetaSDIFName:
		return e.metaSlave(w, key, o)
	case bytecode.MetaBriIIFName, bytecode.MetaBriOIFName:
		return w.bridgeName(key, o)
	case bytecode.MetaBriIIFPVID:
		if w.in.info != nil && w.in.info.PVID != 0 {
			w.put16(o.dst, w.in.info.PVID)
			break
		}
		w.unknown(o.dst, 2, CauseBridge)
	case bytecode.MetaBriIIFVProto:
		w.unknown(o.dst, 2, CauseBridge)
	case bytecode.MetaBriIIFHWAddr:
		w.unknown(o.dst, 6, CauseBridge)
	default:
		return codeBreak
	}
	return codeContinue
}

// mayHaveSocket tells whether a packet at the hook at hand can have a full
// socket: those that leave the host do, those that come in may, by early demux
// between prerouting and input.
func (w *walk) mayHaveSocket() bool {
	switch w.trip.hook {
	case bytecode.HookInput, bytecode.HookOutput, bytecode.HookEgress:
		return true
	case bytecode.HookPostrouting:
		return !w.trip.forwarded
	}
	return false
}

// routed tells whether the packet has a route (skb_dst) at the hook at hand.
func (w *walk) routed() bool {
	switch w.trip.hook {
	case bytecode.HookInput, bytecode.HookForward, bytecode.HookOutput, bytecode.HookPostrouting, bytecode.HookEgress:
		return w.view == packet.ViewInet || w.view == packet.ViewEgress
	}
	return false
}

// metaSlave is nft_meta_get_eval_sdif: the VRF slave that a packet came in by.
func (e *Engine) metaSlave(w *walk, key bytecode.MetaKey, o *op) int32 {
	if w.in.state == devKnown && w.in.info != nil && e.env.Host != nil {
		if m := e.ifByName[w.in.info.Master]; m == nil || m.Kind != "vrf" {
			w.known(o.dst, o.n)
			clear(w.regs[o.dst : uint16(o.dst)+o.n])
			return codeContinue
		}
	}
	if w.in.state == devNone {
		w.known(o.dst, o.n)
		clear(w.regs[o.dst : uint16(o.dst)+o.n])
		return codeContinue
	}
	w.unknown(o.dst, o.n, CauseVRF)
	return codeContinue
}

// bridgeName is nft_meta_bridge_get_eval for ibrname and obrname.
func (w *walk) bridgeName(key bytecode.MetaKey, o *op) int32 {
	s := &w.p.Stated
	d, h, name := &w.in, packet.HasIbrName, s.IbrName
	if key == bytecode.MetaBriOIFName {
		d, h, name = &w.out, packet.HasObrName, s.ObrName
	}
	switch {
	case d.state == devNone:
		return codeBreak
	case s.Has&h != 0:
		w.putName(o.dst, name)
	case d.info != nil && d.info.Master != "":
		w.putName(o.dst, d.info.Master)
	default:
		w.unknown(o.dst, 16, CauseBridge)
	}
	return codeContinue
}

// metaSet is nft_meta_set_eval.
func (e *Engine) metaSet(w *walk, o *op, i int32) int32 {
	c := w.cause(o.src, o.n)
	v := w.u32(o.src)
	switch bytecode.MetaKey(o.a) {
	case bytecode.MetaMark:
		w.mark, w.markWhy = v, c
	case bytecode.MetaPriority:
		w.priority, w.prioWhy = v, c
	case bytecode.MetaSecmark:
		w.secmark, w.secmarkWhy = v, c
	case bytecode.MetaPktType:
		// skb_pkt_type_ok
		if t := packet.PktType(v); c == CauseNone && t <= packet.PktOther && w.pktType <= packet.PktOther {
			w.pktType = t
		}
	}
	return codeContinue
}

// priorityOf is rt_tos2priority, which ip_forward stores in skb->priority.
func priorityOf(tos byte) uint32 {
	// ip_tos2prio, by bits 1 to 4 of the TOS byte.
	prio := [16]uint8{0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4}
	return uint32(prio[tos&0x1e>>1])
}

// tosOf reads the IPv4 TOS byte, when there is one.
func tosOf(p *packet.Packet) (byte, bool) {
	if p.NFProto != packet.NFProtoIPv4 || p.NH < 0 || p.NH+2 > len(p.Data) {
		return 0, false
	}
	return p.Data[p.NH+1], true
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
