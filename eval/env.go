package eval

import (
	"github.com/nftc/nftc/compile/bytecode"
	tables "github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/eval/conntrack"
)

// Env is everything about the world that packets and rules do not say. The
// zero Env knows nothing: what depends on it is unknown.
type Env struct {
	// Host routes packets and answers fib; nil: see the package comment.
	Host *Host
	// Interfaces that exist beside those of Host: name, index, type.
	Interfaces []Interface
	// Conntrack configures simulated connection tracking.
	Conntrack conntrack.Config
	// Start is the time in nanoseconds since 1970 at which the ruleset was
	// loaded: limits have full buckets, sets with timeouts their elements.
	// 0: the time of the first packet.
	Start int64
	// SetBackend is the back end of sets that it can hold; the others, and with Auto
	// all, get the one that the offline plan chooses. Answers do not depend on it.
	SetBackend tables.Backend
	// Classifier tells which chains get one. Results do not depend on it.
	Classifier ClassifierUse
}

// Options choose what Run records beside the verdict. Both cost allocations.
type Options struct {
	Trace   bool // fill Result.Trace
	Explain bool // fill Result.Explain
	// Probe, with Explain, is called for each failure before the next rule is
	// run, and can read more of the packet; it may keep neither argument.
	Probe func(*Failure, *Probe)
	// ProbeMatch, with Trace, is the same for each rule that ran to its end.
	ProbeMatch func(*Event, *Probe)
}

// Interface is a network device.
type Interface struct {
	Name  string
	Index uint32
	Type  uint16 // ARPHRD_*; 0 with HasType false: not known
	// HasType, HasGroup and HasKind tell which of these are known.
	HasType  bool
	Group    uint32
	HasGroup bool
	Kind     string // rtnl_link_ops.kind, empty for hardware
	HasKind  bool
	Master   string // bridge or VRF it belongs to
	MTU      int    // 0: not known
	MAC      [6]byte
	HasMAC   bool
	PVID     uint16 // bridge port's VLAN, 0: not known
	Link     string // device under a VLAN device
	VLANID   uint16 // of a VLAN device
}

// Engine is a ruleset ready to run, with its state: counters, sets, objects,
// connections.
type Engine struct {
	rs  *bytecode.Ruleset
	env Env

	ops      []op
	opInstr  []int32 // index of the expression in its rule, by op
	verdicts []verdict
	tables   []*table
	chains   []*chain
	sets     []*set
	objects  []*object
	states   []*stateful
	numgens  []uint32 // last number drawn

	hooks      hookLists
	tracks     [layers]bool // connection tracking is on
	defrags    [layers]bool
	natOn      [layers]bool
	hasBridge  bool // there are base chains of the bridge family
	hasOther   bool // and of ip, ip6, inet or arp
	bridgeOnly bool
	wantTrack  []trackWish
	rule       *bytecode.Rule // being flattened

	ct     *conntrack.Tracker
	defrag *conntrack.Defrag
	counts bool // a rule asks for the packets or bytes of connections
	// localDefrag is that of ip_local_deliver; nil until a fragment comes.
	localDefrag *conntrack.Defrag
	stated      conntrack.Conn

	ifByName  map[string]*Interface
	ifByIndex map[uint32]*Interface
	devBits   map[string]uint8 // see deviceBit

	now      int64 // nanoseconds since 1970, time of the packet at hand
	nowKnown bool
	started  bool
	startAt  int64

	bySource map[bytecode.Instr]*stateful // built by State

	w     walk
	class classState
	// classifyFirst is how many rules are run before a classifier is asked.
	classifyFirst int
	out           outcomes
	free          []*branch
}

// trackWish is a rule that turns connection tracking, or only
// defragmentation, on for its family.
type trackWish struct {
	rule       *bytecode.Rule
	family     bytecode.Family
	defragOnly bool
}
