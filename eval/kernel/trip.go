package kernel

import (
	"errors"

	"github.com/nftc/nftc/compile/bytecode"
)

// ErrUnavailable wraps the reason why the kernel cannot be used: not Linux, not
// root, no namespaces, no nf_tables, no TAP devices.
var ErrUnavailable = errors.New("the live kernel cannot be used")

// errRefused means that a device or socket did not take a packet.
var errRefused = errors.New("the kernel does not take the packet")

// bridgeName is the bridge of a TripBridge.
const bridgeName = "br0"

// bridgePortMAC is the address of bridge ports: a frame to a port's own address
// is for this host, so it is one that no packet has.
var bridgePortMAC = [6]byte{0x06, 'n', 'f', 't', 'c', 0}

// mtu is what a TAP can hold; a smaller one drops large packets before the
// forward hook.
const mtu = 65521

// deviceAddrs are the addresses of the devices by which packets come in and
// leave, for masquerading and redirection: ranges for benchmarks (RFC 2544, RFC 5180).
var deviceAddrs = [2][2]string{
	{"198.18.0.1/32", "2001:2::1/128"},
	{"198.18.0.2/32", "2001:2::2/128"},
}

// Trip is a way through the stack.
type Trip uint8

const (
	// TripInput: received and delivered to this host (ingress, prerouting, input).
	TripInput Trip = iota
	// TripForward: received and sent on (ingress, prerouting, forward, postrouting, egress).
	TripForward
	// TripOutput: sent by this host (output, postrouting, egress).
	TripOutput
	// TripBridge: received on a bridge port and sent to another port.
	TripBridge
)

func (t Trip) String() string {
	switch t {
	case TripInput:
		return "input"
	case TripForward:
		return "forward"
	case TripOutput:
		return "output"
	case TripBridge:
		return "bridge"
	}
	return "unknown"
}

// Config says what stands around the ruleset in the namespace.
type Config struct {
	Trip Trip
	// In is the device by which packets come in (for bridges, a port); Out the
	// one by which they leave. Defaults eth0 and eth1.
	In, Out string
	// Indexes are interface numbers that rules were compiled with; devices
	// that are not named get the next free number.
	Indexes map[string]uint32
	// TUN makes devices without a link layer header.
	TUN bool
	// ConntrackChecksum leaves nf_conntrack_checksum on: packets with bad
	// transport checksums are invalid.
	ConntrackChecksum bool
}

func (c Config) withDefaults() Config {
	if c.In == "" {
		c.In = "eth0"
	}
	if c.Out == "" {
		c.Out = "eth1"
	}
	return c
}

// Event is one trace message about the ruleset under test: a rule that ran to
// its end, the end of a chain, or a policy.
type Event struct {
	Family  bytecode.Family // of the table
	Table   *bytecode.Table
	Chain   *bytecode.Chain
	Rule    *bytecode.Rule // nil: the end of the chain, or its policy
	Policy  bool
	Verdict bytecode.Code
	Jump    string // target of jump and goto
}

// Outcome is what the kernel did with one packet.
type Outcome struct {
	Events []Event
	// Entered tells that the first hook of the trip saw the packet; Arrived
	// that it came to the end of its trip: accepted in input, or through
	// postrouting.
	Entered, Arrived bool
	// Dropped tells that a rule or policy of the ruleset dropped it.
	Dropped bool
	// Network and Transport are the headers at the end of the trip, as far as
	// trace messages show them (40 and 20 bytes), when it arrived.
	Network, Transport []byte
	Mark               uint32
	CTState            uint32 // of the last event that had it
	HasCT              bool
}

// Stack reports that the network stack, not the ruleset, ended the trip.
func (o *Outcome) Stack() bool { return !o.Dropped && !o.Arrived }

// Interface is a device of the namespace.
type Interface struct {
	Name     string
	Index    uint32
	Loopback bool
	TUN      bool
	MTU      int
	MAC      [6]byte
}
