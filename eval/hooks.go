package eval

import (
	"math"
	"sort"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// layer is one of the kernel's arrays of hooks: a protocol family as hooks are
// registered for it. Chains of family inet stand in those of IPv4 and IPv6.
type layer uint8

const (
	layerNetdev layer = iota
	layerBridge
	layerARP
	layerIPv4
	layerIPv6
	layers
)

func (l layer) family() bytecode.Family {
	switch l {
	case layerBridge:
		return bytecode.FamilyBridge
	case layerARP:
		return bytecode.FamilyARP
	case layerIPv4:
		return bytecode.FamilyIP
	case layerIPv6:
		return bytecode.FamilyIP6
	}
	return bytecode.FamilyNetdev
}

// entryKind tells what stands at a place of a hook.
type entryKind uint8

const (
	entryChain entryKind = iota
	entryDefrag
	entryTrack
	entryNAT
	entryConfirm
)

// Priorities of the kernel's own functions (nf_ip_hook_priorities).
const (
	prioDefrag  = -400
	prioTrack   = -200
	prioDstNAT  = -100
	prioSrcNAT  = 100
	prioConfirm = math.MaxInt32
)

// hookEntry is one function at a hook.
type hookEntry struct {
	kind     entryKind
	priority int32
	chain    *chain
	nat      *natHook
}

// natHook is the NAT function of one hook with the nat chains inside it.
type natHook struct {
	manip  conntrack.Manip
	chains []*chain
	prio   []int32
}

// hookLists holds the entries of every layer and hook in the order they run.
type hookLists [layers][bytecode.HookEgress + 1][]hookEntry

// add registers an entry as nf_hook_entries_grow does: before the first whose
// priority is not lower, so that of equals the later one runs first.
func (h *hookLists) add(l layer, hook bytecode.Hook, en hookEntry) {
	list := h[l][hook]
	i := sort.Search(len(list), func(i int) bool { return list[i].priority >= en.priority })
	list = append(list, hookEntry{})
	copy(list[i+1:], list[i:])
	list[i] = en
	h[l][hook] = list
}

// layersOf lists the arrays that a family's chain is registered in.
func layersOf(f bytecode.Family, hook bytecode.Hook) []layer {
	switch f {
	case bytecode.FamilyIP:
		return []layer{layerIPv4}
	case bytecode.FamilyIP6:
		return []layer{layerIPv6}
	case bytecode.FamilyInet:
		if hook == bytecode.HookIngress {
			return []layer{layerNetdev}
		}
		return []layer{layerIPv4, layerIPv6}
	case bytecode.FamilyARP:
		return []layer{layerARP}
	case bytecode.FamilyBridge:
		return []layer{layerBridge}
	case bytecode.FamilyNetdev:
		return []layer{layerNetdev}
	}
	return nil
}

// viewOf is which nft_do_chain_* runs a base chain.
func viewOf(f bytecode.Family, hook bytecode.Hook) packet.View {
	switch {
	case f == bytecode.FamilyNetdev && hook == bytecode.HookEgress:
		return packet.ViewEgress
	case f == bytecode.FamilyNetdev:
		return packet.ViewIngress
	case f == bytecode.FamilyInet && hook == bytecode.HookIngress:
		return packet.ViewInetIngress
	case f == bytecode.FamilyBridge:
		return packet.ViewBridge
	case f == bytecode.FamilyARP:
		return packet.ViewARP
	}
	return packet.ViewInet
}

// manipOf is HOOK2MANIP.
func manipOf(hook bytecode.Hook) conntrack.Manip {
	if hook == bytecode.HookPostrouting || hook == bytecode.HookInput {
		return conntrack.ManipSrc
	}
	return conntrack.ManipDst
}

// register puts a base chain where it runs.
func (e *Engine) register(c *chain) {
	hook := c.hook
	for _, l := range layersOf(c.table.src.Family, hook) {
		if !c.nat || l != layerIPv4 && l != layerIPv6 {
			e.hooks.add(l, hook, hookEntry{kind: entryChain, priority: c.priority, chain: c})
			continue
		}
		// nf_nat_register_fn: the first chain brings the NAT function to every
		// hook of the family; chains order by priority inside of it.
		e.registerNAT(l)
		for i := range e.hooks[l][hook] {
			if h := e.hooks[l][hook][i].nat; h != nil {
				at := sort.Search(len(h.prio), func(i int) bool { return h.prio[i] >= c.priority })
				h.prio = append(h.prio[:at], append([]int32{c.priority}, h.prio[at:]...)...)
				h.chains = append(h.chains[:at], append([]*chain{c}, h.chains[at:]...)...)
			}
		}
	}
}

// registerNAT is nf_nat_ipv4_ops, once a layer.
func (e *Engine) registerNAT(l layer) {
	if e.natOn[l] {
		return
	}
	e.natOn[l] = true
	for _, h := range [...]struct {
		hook bytecode.Hook
		prio int32
	}{
		{bytecode.HookPrerouting, prioDstNAT},
		{bytecode.HookPostrouting, prioSrcNAT},
		{bytecode.HookOutput, prioDstNAT},
		{bytecode.HookInput, prioSrcNAT},
	} {
		e.hooks.add(l, h.hook, hookEntry{kind: entryNAT, priority: h.prio, nat: &natHook{manip: manipOf(h.hook)}})
	}
}

// needCT notes that the rule being flattened turns connection tracking on for
// a family (nf_ct_netns_get).
func (e *Engine) needCT(f bytecode.Family) {
	e.wantTrack = append(e.wantTrack, trackWish{rule: e.rule, family: f})
}

// needDefrag is the same for defragmentation alone (tproxy).
func (e *Engine) needDefrag(f bytecode.Family) {
	e.wantTrack = append(e.wantTrack, trackWish{rule: e.rule, family: f, defragOnly: true})
}

func (e *Engine) defragFor(f bytecode.Family) {
	for _, l := range layersOf(f, bytecode.HookPrerouting) {
		if l == layerIPv4 || l == layerIPv6 {
			e.defragOn(l)
		}
	}
}

// turnOn registers connection tracking for a family (nf_ct_netns_do_get).
func (e *Engine) turnOn(f bytecode.Family) {
	switch f {
	case bytecode.FamilyIP:
		e.trackOn(layerIPv4)
	case bytecode.FamilyIP6:
		e.trackOn(layerIPv6)
	case bytecode.FamilyInet:
		e.trackOn(layerIPv4)
		e.trackOn(layerIPv6)
	case bytecode.FamilyBridge:
		e.trackOn(layerIPv4)
		e.trackOn(layerIPv6)
		e.trackOn(layerBridge)
	}
}

// trackOn registers ipv4_conntrack_ops with defragmentation, once a layer.
func (e *Engine) trackOn(l layer) {
	if e.tracks[l] {
		return
	}
	e.tracks[l] = true
	if l == layerBridge {
		// nf_ct_bridge_hook_ops
		e.hooks.add(l, bytecode.HookPrerouting, hookEntry{kind: entryTrack, priority: prioTrack})
		e.hooks.add(l, bytecode.HookInput, hookEntry{kind: entryConfirm, priority: prioConfirm})
		e.hooks.add(l, bytecode.HookPostrouting, hookEntry{kind: entryConfirm, priority: prioConfirm})
		return
	}
	e.defragOn(l)
	e.hooks.add(l, bytecode.HookPrerouting, hookEntry{kind: entryTrack, priority: prioTrack})
	e.hooks.add(l, bytecode.HookOutput, hookEntry{kind: entryTrack, priority: prioTrack})
	e.hooks.add(l, bytecode.HookPostrouting, hookEntry{kind: entryConfirm, priority: prioConfirm})
	e.hooks.add(l, bytecode.HookInput, hookEntry{kind: entryConfirm, priority: prioConfirm})
}

// defragOn is nf_defrag_ipv4_enable, once a layer.
func (e *Engine) defragOn(l layer) {
	if e.defrags[l] {
		return
	}
	e.defrags[l] = true
	e.hooks.add(l, bytecode.HookPrerouting, hookEntry{kind: entryDefrag, priority: prioDefrag})
	e.hooks.add(l, bytecode.HookOutput, hookEntry{kind: entryDefrag, priority: prioDefrag})
}

// onDevice tells whether a chain bound to devices runs for one; sure is false
// when that depends on which device it is.
func (c *chain) onDevice(d *iface) (run, sure bool) {
	if len(c.devices) == 0 {
		// Only netdev, and ingress of inet, are bound to devices; without any
		// such a chain never runs.
		return c.view == packet.ViewInet || c.view == packet.ViewBridge || c.view == packet.ViewARP, true
	}
	if d.state == devUnknown {
		return false, false
	}
	for _, n := range c.devices {
		if n == d.name {
			return true, true
		}
		if p, wild := strings.CutSuffix(n, "*"); wild && strings.HasPrefix(d.name, p) {
			return true, true
		}
	}
	return false, true
}

// wildcard tells whether the chain is bound to devices by pattern.
func (c *chain) wildcard() bool {
	for _, n := range c.devices {
		if strings.HasSuffix(n, "*") {
			return true
		}
	}
	return false
}
