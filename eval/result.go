package eval

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// Verdict is what became of a packet at the end of its trip.
type Verdict uint8

const (
	// Accept: all chains let it pass.
	Accept Verdict = iota
	// Drop: a rule, a policy or reject ended it. Result.Reject tells the latter.
	Drop
	// Queue: handed to user space, whose answer is not known.
	Queue
	// Stolen: a rule took it over (fwd, synproxy), or it waits for the other
	// fragments of its datagram.
	Stolen
	// Stack: the network stack drops it between hooks; Result.Stack says why.
	Stack
	// Unknown: it depends on something that nftc does not know.
	Unknown
)

func (v Verdict) String() string {
	switch v {
	case Accept:
		return "accept"
	case Drop:
		return "drop"
	case Queue:
		return "queue"
	case Stolen:
		return "stolen"
	case Stack:
		return "stack"
	case Unknown:
		return "unknown"
	}
	return "invalid"
}

// Result is the outcome of one packet. A Result is meant to be reused: Run
// overwrites it and keeps its memory.
type Result struct {
	Verdict Verdict
	// Likely is the verdict on the way where unknown expressions do not match;
	// equal to Verdict unless that is Unknown.
	Likely Verdict

	// Hook and the chain that decided: where the packet was dropped, or for an
	// accepted packet the last base chain that it passed. Table and Chain are
	// nil when no chain saw it. Base is the base chain; Chain may be a chain
	// it jumped to.
	Hook   bytecode.Hook
	Family bytecode.Family
	Table  *bytecode.Table
	Base   *bytecode.Chain
	Chain  *bytecode.Chain
	// Rule made the verdict; nil when the policy did, or no chain ran.
	Rule   *bytecode.Rule
	Policy bool

	Reject   *bytecode.Reject // Drop by reject: how the sender is told
	QueueNum uint16           // Queue
	By       Internal         // Drop, Stolen and Stack by the kernel itself, not by a rule
	Stack    StackReason      // Stack

	Path []Step // the hooks that it visited, in order
	Mark uint32 // at the end
	// MarkUnknown tells that the mark was set to something that is not known.
	MarkUnknown bool
	Priority    uint32
	Mutated     bool // some rule or NAT changed the packet's bytes
	NAT         NATChange
	CT          CTInfo

	Unknown []Reason
	Assumed Assumptions

	Trace   []Event   // Options.Trace
	Explain []Failure // Options.Explain
}

// Step is one hook of a trip.
type Step struct {
	Family bytecode.Family // of the layer: netdev, bridge, ip, ip6, arp
	Hook   bytecode.Hook
}

// CTInfo is the connection of a packet at the end of its trip.
type CTInfo struct {
	State     uint32 // a bit of packet.CTNew and so on; 0 when the ruleset does not track
	Reply     bool
	Stated    bool // the packet stated it
	Confirmed bool
	Mark      uint32
}

// Internal names a part of the kernel, other than a rule, that ended a trip.
type Internal uint8

const (
	ByRule Internal = iota
	// ByDefrag: nf_defrag queued a fragment.
	ByDefrag
	// ByConntrack: nf_conntrack dropped it (table full, or clash).
	ByConntrack
	// ByNAT: no free port, or the change is not possible.
	ByNAT
	// ByIngressCheck: inet ingress drops IP packets that do not validate
	// (nft_do_chain_inet_ingress).
	ByIngressCheck
	// ByStack: the network stack, see StackReason.
	ByStack
)

func (i Internal) String() string {
	switch i {
	case ByRule:
		return "rule"
	case ByDefrag:
		return "defragmentation"
	case ByConntrack:
		return "connection tracking"
	case ByNAT:
		return "nat"
	case ByIngressCheck:
		return "ingress validation"
	case ByStack:
		return "network stack"
	}
	return "invalid"
}

// StackReason says why the network stack drops a packet between hooks: a
// packet.StackReason, or one of those below, which depend on the host.
type StackReason uint8

const (
	StackNone          StackReason = 0
	StackNoRoute       StackReason = 128 + iota // no route to the destination
	StackProhibited                             // a route of type unreachable, prohibit or blackhole
	StackNotForwarding                          // the host does not forward
	StackMTU                                    // too long for the route, must not be fragmented
	StackNotMember                              // multicast that the host has not joined
)

var stackNames = [...]string{"no route", "route forbids", "forwarding is off", "larger than the route's MTU", "multicast group not joined"}

func (r StackReason) String() string {
	if r >= StackNoRoute {
		if i := int(r - StackNoRoute); i < len(stackNames) {
			return stackNames[i]
		}
		return "invalid"
	}
	return packet.StackReason(r).String()
}

// Assumptions is a set of things that were taken for granted because neither
// the packet nor the environment said.
type Assumptions uint32

const (
	// AssumedLocal: taken as received by and addressed to this host.
	AssumedLocal Assumptions = 1 << iota
	// AssumedNotBridged: chains of the bridge family were not run.
	AssumedNotBridged
	// AssumedLocalAddress: fib answered local for the destination, as the
	// packet is taken as addressed to this host.
	AssumedLocalAddress
	// AssumedNoTime: no time was stated; limits and timeouts saw the time of
	// the packet before.
	AssumedNoTime
	// AssumedNotOffloaded: packets of flows in a flowtable were run through
	// the hooks, which the kernel would skip.
	AssumedNotOffloaded
	// AssumedOutgoing: the capture says that the packet left; it is taken as
	// sent by this host.
	AssumedOutgoing
	// AssumedNoIPsec: the packet neither came out of an IPsec tunnel of this
	// host nor goes into one.
	AssumedNoIPsec
	// AssumedOwnIndex: an interface that is known by its name only has an index
	// that the ruleset does not name.
	AssumedOwnIndex
)

var assumptionNames = [...]string{
	"received and addressed to this host",
	"not on a bridge",
	"destination address is local",
	"no time stated",
	"not offloaded by a flowtable",
	"sent by this host",
	"no IPsec",
	"an interface that the ruleset does not name has an index of its own",
}

// Each calls f with the name of every assumption in the set.
func (a Assumptions) Each(f func(name string)) {
	for i, n := range assumptionNames {
		if a&(1<<i) != 0 {
			f(n)
		}
	}
}

func (r *Result) reset() {
	*r = Result{
		Path:    r.Path[:0],
		Unknown: r.Unknown[:0],
		Trace:   r.Trace[:0],
		Explain: r.Explain[:0],
	}
}
