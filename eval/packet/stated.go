package packet

import "strings"

// PktType is skb->pkt_type, `meta pkttype`.
type PktType uint8

const (
	PktHost      PktType = iota // PACKET_HOST
	PktBroadcast                // PACKET_BROADCAST
	PktMulticast                // PACKET_MULTICAST
	PktOther                    // PACKET_OTHERHOST
	PktOutgoing                 // PACKET_OUTGOING
	PktLoopback                 // PACKET_LOOPBACK
)

var pktTypeNames = [...]string{"host", "broadcast", "multicast", "other", "outgoing", "loopback"}

// String gives nft's word.
func (t PktType) String() string {
	if int(t) < len(pktTypeNames) {
		return pktTypeNames[t]
	}
	return "unknown"
}

// Hook names a hook in `hook=` and `path=`.
type Hook uint8

const (
	HookNone Hook = iota
	HookIngress
	HookPrerouting
	HookInput
	HookForward
	HookOutput
	HookPostrouting
	HookEgress
)

var hookNames = [...]string{"none", "ingress", "prerouting", "input", "forward", "output", "postrouting", "egress"}

// String gives nft's word for the hook.
func (h Hook) String() string {
	if int(h) < len(hookNames) {
		return hookNames[h]
	}
	return "unknown"
}

// ParseHook finds a hook by nft's name.
func ParseHook(s string) (Hook, bool) {
	for i, n := range hookNames[1:] {
		if n == s {
			return Hook(i + 1), true
		}
	}
	return HookNone, false
}

// Direction says which way a packet crossed the capturing interface, if the
// capture tells (pcapng epb_flags, cooked capture, NFLOG, PKTAP).
type Direction uint8

const (
	DirUnknown Direction = iota
	DirIn
	DirOut
)

// String names the direction.
func (d Direction) String() string {
	switch d {
	case DirIn:
		return "in"
	case DirOut:
		return "out"
	}
	return "unknown"
}

// Has is a set of the facts that a packet states.
type Has uint64

const (
	HasIifName Has = 1 << iota
	HasOifName
	HasIif
	HasOif
	HasIifType
	HasOifType
	HasIifGroup
	HasOifGroup
	HasIbrName
	HasObrName
	HasMark
	HasPriority
	HasPktType
	HasSkuid
	HasSkgid
	HasCgroup
	HasRtClassID
	HasSecMark
	HasCPU
	HasTime
	HasCTState
	HasCTStatus
	HasCTDirection
	HasCTMark
	HasCTZone
	HasCTHelper
	HasCTLabel
	HasCTExpiration
	HasCTPackets
	HasCTBytes
	HasCTID
	HasNFTrace
)

// Connection state bits, as NF_CT_STATE_BIT and friends give them; `ct state`.
const (
	CTInvalid     = 1 << 0
	CTEstablished = 1 << 1
	CTRelated     = 1 << 2
	CTNew         = 1 << 3
	CTUntracked   = 1 << 6
)

// MaxPath is the most hooks that `path=` lists.
const MaxPath = 8

// Stated holds facts about a packet that its bytes do not show. Only fields
// whose Has bit is set are stated; Path, Time and Direction have own marks.
type Stated struct {
	Has Has

	IifName, OifName   string // HasIifName, HasOifName; `meta iifname`
	Iif, Oif           uint32 // interface indexes
	IifType, OifType   uint16 // ARPHRD_*
	IifGroup, OifGroup uint32
	IbrName, ObrName   string
	Mark, Priority     uint32
	PktType            PktType
	Skuid, Skgid       uint32
	Cgroup, RtClassID  uint32
	SecMark, CPU       uint32
	NFTrace            bool

	CT CT

	Path    [MaxPath]Hook // hooks to run, in order; Path[:PathLen]
	PathLen int

	TimeNs    int64     // nanoseconds since 1970 UTC; HasTime
	Direction Direction // DirUnknown if the source does not tell

	Expect     string // what stands after "=>": a verdict word, "" if nothing
	ExpectRest string // text after ';' behind the verdict, trimmed
}

// CT is what a packet states of its connection. Stating a state turns off
// simulated tracking for the packet.
type CT struct {
	State      uint32 // CTNew ...; one bit
	Status     uint32 // IPS_* bits; `ct status`
	Reply      bool   // direction reply; `ct direction`
	Mark       uint32
	Zone       uint16
	Helper     string
	Label      [16]byte // bit n of the label in byte n/8, bit n%8
	Expiration uint32   // milliseconds
	Packets    uint64
	Bytes      uint64
	ID         uint32
}

// reset empties s. A captured packet rarely states more than its time, which
// is cheaper to clear than the whole.
func (s *Stated) reset() {
	if s.Has&^HasTime != 0 || s.PathLen != 0 || s.Direction != DirUnknown || s.Expect != "" || s.ExpectRest != "" {
		*s = Stated{}
		return
	}
	s.Has, s.TimeNs = 0, 0
}

// Hooks returns the stated hooks, nil if the packet states none.
func (s *Stated) Hooks() []Hook {
	if s.PathLen == 0 {
		return nil
	}
	return s.Path[:s.PathLen]
}

// PathString prints the hooks, comma separated.
func (s *Stated) PathString() string {
	var b strings.Builder
	for i, h := range s.Hooks() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(h.String())
	}
	return b.String()
}
