package eval

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// maxSteps bounds a trip: stated hooks, or the longest way through a host.
const maxSteps = packet.MaxPath

// step is one hook of a trip that is planned or done.
type step struct {
	layer layer
	hook  bytecode.Hook
}

// trip is where a packet is on its way through hooks.
type trip struct {
	steps   [maxSteps]step
	n, at   int
	entered bool // the step at hand was prepared
	entry   int  // index in the hook's list

	hook      bytecode.Hook
	layer     layer
	stated    bool // the hooks were stated: no routing, no checks of the stack
	bridged   bool
	outgoing  bool // sent by this host
	forwarded bool
	tracked   bool // connection tracking has seen the packet

	// What a branch takes the device to be that the packet does not state, and
	// those it takes it not to be (bits by Engine.deviceBit).
	inName, outName string
	inNot, outNot   uint64
	vlan            bool // goes on as received by a VLAN device

	// The link layer header of a packet that is sent, which rules do not see
	// before egress.
	hidden   linkHeader
	options  bool // IPv4 options changed since the header checksum was computed
	rerouted bool // NAT changed the destination
}

// linkHeader is what Packet.ClearLL takes away.
type linkHeader struct {
	hidden           bool
	off, length, gap int
	absent           packet.Absent
}

// showLink hides the link layer header at the hooks where a packet that this
// host sends has none yet, and shows it again behind them.
func (w *walk) showLink() {
	t, p := &w.trip, w.p
	hide := t.hook == bytecode.HookOutput || t.hook == bytecode.HookPostrouting && t.outgoing
	switch h := &t.hidden; {
	case hide && !h.hidden:
		*h = linkHeader{true, p.LL, p.LLLen, p.LLGap, p.LLAbsent}
		p.ClearLL()
		w.entered = false
	case !hide && h.hidden:
		p.LL, p.LLLen, p.LLGap, p.LLAbsent = h.off, h.length, h.gap, h.absent
		h.hidden = false
		w.entered = false
	}
}

// hardHeader is the length of the link layer header that the device writes
// (dev->hard_header_len): an Ethernet header, unless it is known to be none.
func (d *iface) hardHeader() int {
	if d.info != nil && d.info.HasType && d.info.Type != packet.DevEther && d.info.Type != 772 {
		return 0
	}
	return 14
}

func (t *trip) add(l layer, h bytecode.Hook) {
	if t.n < maxSteps {
		t.steps[t.n] = step{l, h}
		t.n++
	}
}

// toHost tells whether the packet is on its way to this host's own sockets.
func (t *trip) toHost() bool {
	if t.hook == bytecode.HookInput {
		return true
	}
	return !t.stated && !t.outgoing && !t.forwarded && !t.bridged
}

// l3 is the layer of the packet's network protocol; ok is false when no chains
// above the device see it.
func l3(p *packet.Packet) (layer, bool) {
	switch p.NFProto {
	case packet.NFProtoIPv4:
		return layerIPv4, true
	case packet.NFProtoIPv6:
		return layerIPv6, true
	case packet.NFProtoARP:
		return layerARP, true
	}
	return layerNetdev, false
}

// hookOf translates the packet package's hooks.
func hookOf(h packet.Hook) bytecode.Hook {
	switch h {
	case packet.HookIngress:
		return bytecode.HookIngress
	case packet.HookPrerouting:
		return bytecode.HookPrerouting
	case packet.HookInput:
		return bytecode.HookInput
	case packet.HookForward:
		return bytecode.HookForward
	case packet.HookOutput:
		return bytecode.HookOutput
	case packet.HookPostrouting:
		return bytecode.HookPostrouting
	case packet.HookEgress:
		return bytecode.HookEgress
	}
	return bytecode.HookNone
}

// plan lays out the first steps of a packet's trip.
func (e *Engine) plan(w *walk) {
	p, t := w.p, &w.trip
	s := &p.Stated
	t.bridged = s.Has&(packet.HasIbrName|packet.HasObrName) != 0 || e.bridgeOnly
	if e.hasBridge && !t.bridged && w.res != nil {
		w.res.Assumed |= AssumedNotBridged
	}
	above, isL3 := l3(p)
	if t.bridged {
		above, isL3 = layerBridge, true
	}
	if hooks := s.Hooks(); len(hooks) > 0 {
		t.stated = true
		for _, ph := range hooks {
			switch h := hookOf(ph); h {
			case bytecode.HookNone:
			case bytecode.HookIngress, bytecode.HookEgress:
				t.add(layerNetdev, h)
			default:
				if h == bytecode.HookForward {
					t.forwarded = true
				}
				if h == bytecode.HookOutput {
					t.outgoing = true
				}
				if isL3 {
					t.add(above, h)
				} else {
					t.add(layerNetdev, h) // has no chains
				}
			}
		}
		return
	}
	if e.outgoing(w) {
		t.outgoing = true
		if isL3 {
			t.add(above, bytecode.HookOutput)
			if above != layerARP {
				t.add(above, bytecode.HookPostrouting)
			}
		}
		t.add(layerNetdev, bytecode.HookEgress)
		return
	}
	t.add(layerNetdev, bytecode.HookIngress)
}

// outgoing decides whether a packet without stated hooks was sent by this
// host: it leaves by a stated device and came in by none, the host has its
// source address, or the capture says so.
func (e *Engine) outgoing(w *walk) bool {
	s := &w.p.Stated
	in := s.Has&(packet.HasIifName|packet.HasIif) != 0
	out := s.Has&(packet.HasOifName|packet.HasOif) != 0
	if in || out {
		return out && !in
	}
	if s.Direction == packet.DirIn {
		return false
	}
	if h := e.env.Host; h != nil {
		if src, _, a := addrs2(w.p); a == packet.None {
			if r, ok := h.Lookup(src); ok && r.Type == RouteLocal && !src.IsLoopback() {
				return true
			}
			return false
		}
	}
	if s.Direction == packet.DirOut || w.p.PktType == packet.PktOutgoing {
		if w.res != nil {
			w.res.Assumed |= AssumedOutgoing
		}
		return true
	}
	return false
}

// travel runs a walk to the end of its trip.
func (e *Engine) travel(w *walk) {
	t := &w.trip
	for {
		if !t.entered {
			if t.at >= t.n {
				w.end.verdict = Accept
				e.settle(w)
				return
			}
			t.layer, t.hook = t.steps[t.at].layer, t.steps[t.at].hook
			t.entered, t.entry = true, 0
			e.prepare(w)
			if t.hook == bytecode.HookIngress && !t.stated {
				if r := w.p.StackIngress(); r != packet.StackNone {
					w.stackDrop(StackReason(r))
					return
				}
			}
		}
		list := e.hooks[t.layer][t.hook]
		for t.entry < len(list) {
			code := e.runEntry(w, &list[t.entry])
			switch code {
			case codeContinue:
				t.entry++
				continue
			case codeFork:
				e.explore(w)
				continue
			case codeDrop:
				w.end.verdict = Drop
			case codeQueue:
				w.end.verdict = Queue
			default:
				w.end.verdict = Stolen
			}
			return
		}
		if !e.advance(w) {
			return
		}
		t.at++
		t.entered = false
	}
}

// prepare sets devices and state for the hook that the walk comes to.
func (e *Engine) prepare(w *walk) {
	t := &w.trip
	w.end.step = Step{t.layer.family(), t.hook}
	if w.res != nil {
		w.res.Path = append(w.res.Path, w.end.step)
	}
	e.setDevices(w)
	w.showLink()
	if t.hook == bytecode.HookEgress && w.p.LL < 0 {
		w.p.HardHeader = w.out.hardHeader()
	}
	if t.layer == layerIPv4 || t.layer == layerIPv6 {
		w.p.Trim()
		w.prioAtHook(e)
		if t.hook != bytecode.HookPrerouting && t.hook != bytecode.HookOutput && !t.tracked && e.tracks[t.layer] {
			// A stated hook behind tracking: the packet has been tracked there.
			e.track(w, conntrack.Prerouting)
		}
	}
}

// prioAtHook sets skb->priority where the stack does: ip_forward derives it
// from the TOS byte.
func (w *walk) prioAtHook(e *Engine) {
	if w.prioSet {
		return
	}
	switch {
	case w.trip.hook == bytecode.HookForward, w.trip.hook == bytecode.HookPostrouting && w.trip.forwarded:
		if w.trip.layer == layerIPv4 {
			if tos, ok := tosOf(w.p); ok {
				w.priority = priorityOf(tos)
			}
		}
	case w.trip.hook == bytecode.HookOutput, w.trip.hook == bytecode.HookPostrouting:
		// Sockets have priorities of their own.
		w.prioWhy = CausePriority
	}
}

// runEntry runs what stands at one place of a hook.
func (e *Engine) runEntry(w *walk, en *hookEntry) int32 {
	switch en.kind {
	case entryChain:
		return e.runBase(w, en.chain)
	case entryDefrag:
		return e.defragment(w)
	case entryTrack:
		hook := conntrack.Prerouting
		if w.trip.hook == bytecode.HookOutput {
			hook = conntrack.Output
		}
		return e.track(w, hook)
	case entryNAT:
		if e.ct == nil {
			return codeContinue
		}
		return e.runNATHook(w, en.nat)
	case entryConfirm:
		return e.confirm(w)
	}
	return codeContinue
}

// enter fills the packet's nft_pktinfo for a view.
func (e *Engine) enter(w *walk, v packet.View) bool {
	if w.entered && w.view == v {
		return true
	}
	w.view, w.entered = v, true
	return w.p.Enter(v)
}

// startChain puts the walk at the start of a base chain (nft_do_chain). The
// kernel's registers hold garbage there; ours are zero and known.
func (w *walk) startChain(c *chain) {
	w.running, w.base, w.chain = true, c, c
	w.ri, w.resume, w.sp = 0, -1, 0
	w.unk = 0
	w.end.base = c
	w.end.reject = nil
}

// runBase runs one base chain: codeContinue when it accepts.
func (e *Engine) runBase(w *walk, c *chain) int32 {
	if !w.running {
		dev := &w.in
		if w.trip.hook == bytecode.HookEgress {
			dev = &w.out
		}
		run, sure := c.onDevice(dev)
		if sure && !run {
			return codeContinue
		}
		if c.view == packet.ViewInetIngress && !w.p.HasIP() {
			return codeContinue
		}
		if !sure {
			e.exploreChain(w, c)
			return codeContinue
		}
		if w.reassembled && w.trip.hook == bytecode.HookEgress {
			e.noteUnknown(w, CauseRefragmented, -1) // ip_fragment, ip6_fragment
		}
		if !e.enter(w, c.view) {
			w.end = ending{step: w.end.step, base: c, chain: c, by: ByIngressCheck}
			return codeDrop
		}
		w.startChain(c)
		if w.opts.Trace && w.res != nil {
			e.traceStart(w)
		}
	}
	code := e.runChain(w)
	if code == codeFork {
		return code
	}
	w.running = false
	if code == codeAccept {
		w.noteAccept()
		return codeContinue
	}
	w.end.accepted = w.end.step
	return code
}

// noteAccept remembers the hook of the last chain that accepted.
func (w *walk) noteAccept() { w.end.accepted = w.end.step }

// defragment is the hook of nf_defrag_ipv4 and nf_defrag_ipv6.
func (e *Engine) defragment(w *walk) int32 {
	if w.ct != nil && !w.ct.Stated || e.defrag == nil {
		return codeContinue
	}
	if w.ctNone && w.ctInfo == conntrack.Untracked {
		return codeContinue // ipv4_conntrack_defrag: notrack before -400
	}
	return e.reassemble(w, &e.defrag, uint8(w.trip.hook))
}

// fragLocal keeps the queues of local delivery apart from those of connection
// tracking (IP_DEFRAG_LOCAL_DELIVER).
const fragLocal = 0xff

// reassemble gives a fragment to a reassembly and takes the whole datagram when
// it is the last. Queues are made when the first fragment comes.
func (e *Engine) reassemble(w *walk, queues **conntrack.Defrag, user uint8) int32 {
	e.enter(w, packet.ViewInet)
	if w.p.Info.FragOff == 0 && !w.p.MoreFragments() && *queues == nil {
		return codeContinue
	}
	if w.dry {
		if w.p.Info.FragOff != 0 {
			w.end.by = ByDefrag
			return codeStolen
		}
		return codeContinue
	}
	if *queues == nil {
		*queues = conntrack.NewTracker(e.env.Conntrack).NewDefrag()
	}
	(*queues).Meta = conntrack.FragMeta{Mark: w.mark, MarkCause: uint8(w.markWhy), Priority: w.priority, PktType: w.pktType}
	switch (*queues).In(w.p, w.ctZone.ID, user, e.now) {
	case conntrack.FragHeld:
		w.end.by = ByDefrag
		return codeStolen
	case conntrack.FragDrop:
		w.end.by = ByDefrag
		return codeDrop
	case conntrack.FragWhole:
		w.entered = false
		w.reassembled = true
		m := (*queues).Meta
		w.mark, w.markWhy, w.priority, w.pktType = m.Mark, Cause(m.MarkCause), m.Priority, m.PktType
	}
	return codeContinue
}

// track is ipv4_conntrack_in and its like.
func (e *Engine) track(w *walk, hook conntrack.Hook) int32 {
	w.trip.tracked = true
	if w.p.Stated.Has&packet.HasCTState != 0 {
		e.enter(w, packet.ViewInet)
		if w.ct == nil {
			e.statedConn(w)
		}
		return codeContinue
	}
	if w.ct != nil || w.ctNone && w.ctInfo == conntrack.Untracked {
		return codeContinue
	}
	e.enter(w, packet.ViewInet)
	var out conntrack.Outcome
	if w.dry {
		out = e.ct.Peek(w.p, w.ctZone, e.now)
	} else {
		out = e.ct.In(w.p, hook, w.ctZone, e.now)
	}
	w.ctTemplate = false
	w.ct, w.ctInfo, w.ctNone = out.Conn, out.Info, out.Conn == nil
	if out.Drop {
		w.end.by = ByConntrack
		return codeDrop
	}
	return codeContinue
}

// confirm is nf_confirm.
func (e *Engine) confirm(w *walk) int32 {
	if w.ct == nil || w.dry || w.ct.Stated || e.ct == nil {
		return codeContinue
	}
	if !e.ct.Confirm(w.ct, w.ctInfo, e.now) {
		w.end.by = ByConntrack
		return codeDrop
	}
	return codeContinue
}

// settle confirms the connection of an accepted packet whose stated hooks do
// not include the one where the kernel would.
func (e *Engine) settle(w *walk) {
	if w.trip.stated && w.ct != nil && !w.dry {
		e.confirm(w)
	}
}

// setDevices sets the in and out device that the hook's state has.
func (e *Engine) setDevices(w *walk) {
	t := &w.trip
	none := iface{state: devNone}
	switch t.hook {
	case bytecode.HookIngress, bytecode.HookPrerouting, bytecode.HookInput:
		w.in, w.out = e.inDevice(w), none
		if t.at == 0 {
			w.stationType()
		}
	case bytecode.HookForward:
		w.in, w.out = e.inDevice(w), e.outDevice(w)
	case bytecode.HookOutput, bytecode.HookEgress:
		w.in, w.out = none, e.outDevice(w)
	case bytecode.HookPostrouting:
		w.in, w.out = none, e.outDevice(w)
		// ip_output passes the device that the packet came in by.
		if t.forwarded || w.p.Stated.Has&(packet.HasIifName|packet.HasIif) != 0 {
			w.in = e.inDevice(w)
		} else if t.stated && !t.outgoing {
			w.in = iface{state: devUnknown}
		}
	}
}

func (e *Engine) device(name string, hasName bool, index uint32, hasIndex bool) (iface, bool) {
	switch {
	case hasName:
		return iface{state: devKnown, name: name, info: e.ifByName[name]}, true
	case hasIndex:
		if i := e.ifByIndex[index]; i != nil {
			return iface{state: devKnown, name: i.Name, info: i}, true
		}
		return iface{state: devUnknown}, true
	}
	return iface{}, false
}

// stationType is the part of eth_type_trans that needs the device's own
// address: a unicast frame to another one is PACKET_OTHERHOST.
func (w *walk) stationType() {
	p, d := w.p, w.in.info
	if d == nil || !d.HasMAC || w.pktType != packet.PktHost || p.Stated.Has&packet.HasPktType != 0 || p.LL < 0 || p.LL+6 > len(p.Data) {
		return
	}
	if to := [6]byte(p.Data[p.LL : p.LL+6]); to[0]&1 == 0 && to != d.MAC {
		w.pktType = packet.PktOther
	}
}

// inDevice is the device that the packet came in by: as stated, or the only
// one it can be.
func (e *Engine) inDevice(w *walk) iface {
	s := &w.p.Stated
	if w.trip.bridged && w.trip.layer != layerBridge && w.trip.layer != layerNetdev && s.Has&packet.HasIbrName != 0 && !w.trip.stated {
		// Above the bridge it is the bridge that received the packet.
		return iface{state: devKnown, name: s.IbrName, info: e.ifByName[s.IbrName]}
	}
	if d, ok := e.device(s.IifName, s.Has&packet.HasIifName != 0, s.Iif, s.Has&packet.HasIif != 0); ok && !w.trip.vlan {
		return d
	}
	if n := w.trip.inName; n != "" {
		return iface{state: devKnown, name: n, info: e.ifByName[n]}
	}
	if w.p.DevType == packet.DevLoopback {
		return iface{state: devKnown, name: "lo", info: e.ifByName["lo"]}
	}
	if e.env.Host == nil || w.trip.vlan {
		return iface{state: devUnknown}
	}
	if d, ok := e.deviceByMAC(w.p, 0); ok {
		return d
	}
	return e.onlyDevice()
}

// outDevice is the device that the packet leaves by: as stated, or as routed.
func (e *Engine) outDevice(w *walk) iface {
	s := &w.p.Stated
	if d, ok := e.device(s.OifName, s.Has&packet.HasOifName != 0, s.Oif, s.Has&packet.HasOif != 0); ok {
		return d
	}
	if n := w.trip.outName; n != "" {
		return iface{state: devKnown, name: n, info: e.ifByName[n]}
	}
	if h := e.env.Host; h != nil {
		if _, dst, a := addrs2(w.p); a == packet.None {
			if r, ok := h.Lookup(dst); ok {
				name := r.Dev
				if r.Type == RouteLocal {
					name = "lo"
				}
				return iface{state: devKnown, name: name, info: e.ifByName[name]}
			}
		}
		return e.onlyDevice()
	}
	return iface{state: devUnknown}
}

// deviceByMAC finds the device whose address stands at off of an Ethernet
// header.
func (e *Engine) deviceByMAC(p *packet.Packet, off int) (iface, bool) {
	if p.LL < 0 || p.LLLen < 14 || p.LL+off+6 > len(p.Data) || p.DevType != 1 {
		return iface{}, false
	}
	mac := [6]byte(p.Data[p.LL+off:])
	for i := range e.env.Host.Interfaces {
		if d := &e.env.Host.Interfaces[i]; d.HasMAC && d.MAC == mac && d.Name != "lo" {
			return iface{state: devKnown, name: d.Name, info: d}, true
		}
	}
	return iface{}, false
}

// onlyDevice is the host's device when it has one beside lo.
func (e *Engine) onlyDevice() iface {
	var only *Interface
	for i := range e.env.Host.Interfaces {
		if d := &e.env.Host.Interfaces[i]; d.Name != "lo" {
			if only != nil {
				return iface{state: devUnknown}
			}
			only = d
		}
	}
	if only == nil {
		return iface{state: devUnknown}
	}
	return iface{state: devKnown, name: only.Name, info: only}
}

// addrs2 is addrs before any hook was entered.
func addrs2(p *packet.Packet) (src, dst addr, a packet.Absent) {
	if p.Info.End == 0 {
		p.Enter(packet.ViewIngress)
	}
	return addrs(p)
}
