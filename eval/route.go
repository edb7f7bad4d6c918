package eval

import (
	"encoding/binary"
	"net/netip"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

type addr = netip.Addr

// advance does what the network stack does after a hook let the packet pass:
// checks, routing, the next hooks. It returns false when the trip ends there,
// with the walk's ending set. Stated hooks are taken as they are.
func (e *Engine) advance(w *walk) bool {
	t := &w.trip
	if t.stated {
		return true
	}
	if t.layer == layerBridge {
		return e.advanceBridge(w)
	}
	switch {
	case t.layer == layerNetdev && t.hook == bytecode.HookIngress:
		return e.receive(w)
	case t.hook == bytecode.HookPrerouting:
		return e.routeIn(w)
	case t.hook == bytecode.HookForward:
		if t.options {
			w.touch()
			w.p.ForwardIPv4Options(e.addressOf(w.out.name).As4())
			t.options = false
		}
		if t.n == t.at+1 {
			t.add(t.layer, bytecode.HookPostrouting)
			t.add(layerNetdev, bytecode.HookEgress)
		}
	}
	return true
}

// stackDrop ends a walk between hooks.
func (w *walk) stackDrop(r StackReason) bool {
	w.end = ending{verdict: Stack, step: w.end.step, accepted: w.end.step, by: ByStack, stack: r}
	return false
}

// receive is netif_receive_skb after ingress: to the protocol's own hooks.
func (e *Engine) receive(w *walk) bool {
	t := &w.trip
	if r := w.p.StackIngress(); r != packet.StackNone {
		return w.stackDrop(StackReason(r))
	}
	if t.bridged {
		t.add(layerBridge, bytecode.HookPrerouting)
		return true
	}
	if !e.receiveVLAN(w) {
		return false
	}
	return e.deliver(w)
}

// receiveVLAN is vlan_do_receive: a tagged frame goes on as received by the
// VLAN device, without its tag. A tag with id 0 is only a priority.
func (e *Engine) receiveVLAN(w *walk) bool {
	p, t := w.p, &w.trip
	if !p.VLANPresent {
		return true
	}
	if p.UnclaimedVLAN() {
		h := e.env.Host
		name, known := e.vlanDevice(&w.in, p.VLANID())
		if known && name == "" || h != nil && !h.hasVLANs() {
			return w.stackDrop(StackReason(packet.StackVLAN))
		}
		t.vlan, t.inName = true, name
		if w.in.state == devKnown {
			t.exclude(e, CauseInterface, []string{w.in.name})
		}
	}
	p.ClearVLAN()
	w.entered = false
	return true
}

// vlanDevice finds the VLAN device over a device; known is false without a
// host model that shows its VLAN devices' ids.
func (e *Engine) vlanDevice(under *iface, id uint16) (name string, known bool) {
	if e.env.Host == nil || under.state != devKnown {
		return "", false
	}
	for i := range e.env.Host.Interfaces {
		if d := &e.env.Host.Interfaces[i]; d.Kind == "vlan" && d.Link == under.name {
			if d.VLANID == id {
				return d.Name, true
			}
			known = true
		}
	}
	return "", known
}

// deliver is deliver_skb: to the hooks of the packet's protocol.
func (e *Engine) deliver(w *walk) bool {
	t := &w.trip
	if r := w.p.StackPrerouting(); r != packet.StackNone {
		return w.stackDrop(StackReason(r))
	}
	above, ok := l3(w.p)
	switch {
	case !ok:
		return w.stackDrop(StackReason(packet.StackNotIP))
	case above == layerARP:
		t.add(layerARP, bytecode.HookInput)
	default:
		t.add(above, bytecode.HookPrerouting)
	}
	return true
}

// advanceBridge goes on from a bridge hook: br_handle_frame_finish,
// br_forward, br_pass_frame_up.
func (e *Engine) advanceBridge(w *walk) bool {
	t := &w.trip
	switch t.hook {
	case bytecode.HookPrerouting:
		s := &w.p.Stated
		out := s.Has&(packet.HasObrName|packet.HasOifName|packet.HasOif) != 0
		if out || w.pktType == packet.PktOther {
			t.forwarded = true
			t.add(layerBridge, bytecode.HookForward)
			t.add(layerBridge, bytecode.HookPostrouting)
			t.add(layerNetdev, bytecode.HookEgress)
			break
		}
		if w.res != nil {
			w.res.Assumed |= AssumedLocal
		}
		t.add(layerBridge, bytecode.HookInput)
	case bytecode.HookInput:
		// br_netif_receive_skb: on to the stack, as received by the bridge.
		return e.deliver(w)
	}
	return true
}

// routeIn is the routing decision after prerouting: ip_route_input_noref,
// ip6_route_input.
func (e *Engine) routeIn(w *walk) bool {
	if r := w.p.StackRoute(); r != packet.StackNone {
		return w.stackDrop(StackReason(r))
	}
	s := &w.p.Stated
	h := e.env.Host
	_, dst, a := addrs2(w.p)
	if s.Has&(packet.HasOifName|packet.HasOif) != 0 {
		// The packet says by which device it leaves: it is forwarded.
		return e.forward(w, nil)
	}
	if h == nil || a != packet.None {
		if w.res != nil {
			w.res.Assumed |= AssumedLocal
		}
		return e.toInput(w)
	}
	if typ, ok := specialAddr(dst); ok && typ != RouteUnicast {
		if typ == RouteMulticast && !h.member(dst) {
			return w.stackDrop(StackNotMember)
		}
		return e.toInput(w)
	}
	r, ok := h.Lookup(dst)
	// A link-local destination needs a route by the device at which the packet
	// came in (RT6_LOOKUP_F_IFACE, ip6_route_input_lookup).
	if !ok || dst.Is6() && dst.IsLinkLocalUnicast() && r.Dev != w.in.name {
		return w.stackDrop(StackNoRoute)
	}
	switch r.Type {
	case RouteLocal, RouteBroadcast, RouteAnycast, RouteMulticast:
		return e.toInput(w)
	case RouteUnicast:
		return e.forward(w, r)
	}
	return w.stackDrop(StackProhibited)
}

// toInput takes the packet to the input hook. IPv4 fragments are put together
// before it (ip_local_deliver), IPv6 ones behind it.
func (e *Engine) toInput(w *walk) bool {
	t := &w.trip
	if t.layer == layerIPv4 {
		if _, dst, a := addrs2(w.p); a == packet.None {
			e.receiveOptions(w, dst)
		}
		if e.reassemble(w, &e.localDefrag, fragLocal) != codeContinue {
			w.end.verdict = Stolen
			return false
		}
	}
	t.add(t.layer, bytecode.HookInput)
	return true
}

// forward is ip_forward and ip6_forward up to their hook. r is nil when the
// route is not known.
func (e *Engine) forward(w *walk, r *Route) bool {
	t := &w.trip
	t.forwarded = true
	if h := e.env.Host; h != nil {
		if v4 := t.layer == layerIPv4; v4 && !h.Forwarding4 || !v4 && !h.Forwarding6 {
			return w.stackDrop(StackNotForwarding)
		}
	}
	if rs := w.p.StackForward(); rs != packet.StackNone {
		return w.stackDrop(StackReason(rs))
	}
	if r != nil && tooLong(w.p, e.env.Host.mtuOf(r)) {
		return w.stackDrop(StackMTU)
	}
	w.p.DecrementTTL()
	if t.layer == layerIPv4 {
		e.receiveOptions(w, e.addressOf(w.in.name))
	}
	t.add(t.layer, bytecode.HookForward)
	return true
}

// addressOf is the IPv4 address by which the host is known on a device; 0.0.0.0
// without one.
func (e *Engine) addressOf(dev string) addr {
	if h := e.env.Host; h != nil {
		if a, ok := h.PrimaryAddr(dev, false); ok {
			return a
		}
	}
	return netip.IPv4Unspecified()
}

// receiveOptions is ip_rcv_options: self is this host's address (fib_compute_spec_dst).
func (e *Engine) receiveOptions(w *walk, self addr) {
	if self.Is4() && w.p.NH >= 0 && w.p.NH < len(w.p.Data) && w.p.Data[w.p.NH]&15 > 5 {
		w.touch()
		w.trip.options = w.p.ReceiveIPv4Options(self.As4())
	}
}

// tooLong is ip_exceeds_mtu and ip6_pkt_too_big: IPv4 only with DF set.
func tooLong(p *packet.Packet, mtu int) bool {
	if p.NH < 0 || p.NH+8 > len(p.Data) {
		return false
	}
	switch p.NFProto {
	case packet.NFProtoIPv4:
		return p.Data[p.NH+6]&0x40 != 0 && int(binary.BigEndian.Uint16(p.Data[p.NH+2:])) > mtu
	case packet.NFProtoIPv6:
		return int(binary.BigEndian.Uint16(p.Data[p.NH+4:]))+40 > mtu
	}
	return false
}
