package bytecode

import (
	"time"

	"github.com/nftc/nftc/internal/diag"
)

// Family is a table's family (NFPROTO_*).
type Family uint8

const (
	FamilyInet   Family = 1
	FamilyIP     Family = 2
	FamilyARP    Family = 3
	FamilyNetdev Family = 5
	FamilyBridge Family = 7
	FamilyIP6    Family = 10
)

func (f Family) String() string {
	switch f {
	case FamilyInet:
		return "inet"
	case FamilyIP:
		return "ip"
	case FamilyARP:
		return "arp"
	case FamilyNetdev:
		return "netdev"
	case FamilyBridge:
		return "bridge"
	case FamilyIP6:
		return "ip6"
	}
	return "unknown"
}

// Hook is where a base chain sits. The values are ours; Num gives the kernel's
// number, which depends on the family.
type Hook uint8

const (
	HookNone Hook = iota
	HookPrerouting
	HookInput
	HookForward
	HookOutput
	HookPostrouting
	HookIngress
	HookEgress
)

func (h Hook) String() string {
	switch h {
	case HookPrerouting:
		return "prerouting"
	case HookInput:
		return "input"
	case HookForward:
		return "forward"
	case HookOutput:
		return "output"
	case HookPostrouting:
		return "postrouting"
	case HookIngress:
		return "ingress"
	case HookEgress:
		return "egress"
	}
	return "none"
}

// Num returns the kernel's hook number in a family (NF_INET_*, NF_BR_*,
// NF_ARP_*, NF_NETDEV_*), and whether the family has that hook.
func (h Hook) Num(f Family) (uint32, bool) {
	switch f {
	case FamilyNetdev:
		switch h {
		case HookIngress:
			return 0, true
		case HookEgress:
			return 1, true
		}
	case FamilyARP:
		switch h {
		case HookInput:
			return 0, true
		case HookOutput:
			return 1, true
		}
	case FamilyIP, FamilyIP6, FamilyBridge, FamilyInet:
		switch {
		case h >= HookPrerouting && h <= HookPostrouting:
			return uint32(h - HookPrerouting), true
		case h == HookIngress && f == FamilyInet:
			return 5, true
		}
	}
	return 0, false
}

// Ruleset is what a kernel holds after the file was loaded, and the messages
// that bring it there.
type Ruleset struct {
	// Files resolves the spans; nil when the program came from elsewhere.
	Files *diag.FileSet
	// Tables in order of creation, as they are after the last message.
	Tables []*Table
	// Ops are the messages of the transaction in order, for the debug text
	// and for loading; they point at the same tables, chains, rules and sets.
	Ops []Op
}

// Table is one table with everything in it.
type Table struct {
	Family     Family
	Name       string
	Flags      uint32 // NFT_TABLE_F_*: 1 dormant, 2 owner, 4 persist
	Userdata   []byte
	Handle     uint64
	Chains     []*Chain
	Sets       []*Set
	Objects    []*Object
	Flowtables []*Flowtable
	Span       diag.Span
}

// Chain is a chain with its rules. Base is nil for a regular chain.
type Chain struct {
	Name string
	// ID is not 0 for an anonymous chain (`jump { … }`), which has no name.
	ID       uint32
	Handle   uint64
	Base     *Base
	Flags    uint32 // NFT_CHAIN_*: 2 hardware offload, 4 binding
	Userdata []byte
	Rules    []*Rule
	Span     diag.Span
}

// Base is what makes a chain a base chain.
type Base struct {
	Type     string // filter, nat, route
	Hook     Hook
	Priority int32
	Devices  []string // a trailing * is a wildcard
	Policy   Code     // Accept or Drop
	// PolicySet tells whether the policy was stated.
	PolicySet bool
}

// Rule is one rule: expressions run in order until one breaks.
type Rule struct {
	// Handle is the kernel's number as it would be after loading into an
	// empty ruleset.
	Handle uint64
	// ID is not 0 for a rule that another of the transaction is placed beside.
	ID       uint32
	Instrs   []Instr
	Spans    []diag.Span // the source of each instruction; same length as Instrs, or nil
	Userdata []byte
	Comment  string
	Span     diag.Span
}

// SetFlags are NFT_SET_*.
type SetFlags uint32

const (
	SetAnonymous SetFlags = 1
	SetConstant  SetFlags = 2
	SetInterval  SetFlags = 4
	SetMap       SetFlags = 8
	SetTimeout   SetFlags = 0x10
	SetEval      SetFlags = 0x20 // dynamic
	SetObject    SetFlags = 0x40
	SetConcat    SetFlags = 0x80
)

// DataKind is what a map's elements hold.
type DataKind uint8

const (
	DataNone DataKind = iota
	DataValue
	DataVerdict
	DataObject
)

// SetPolicy is NFT_SET_POL_*.
type SetPolicy uint8

const (
	PolicyPerformance SetPolicy = 0
	PolicyMemory      SetPolicy = 1
)

// Set is a set or map. Key bytes are as in registers: the fields of a
// concatenation each padded to four bytes.
type Set struct {
	Name     string
	ID       uint32 // number within the transaction
	Handle   uint64
	Flags    SetFlags
	KeyType  uint32  // nft's datatype number, for the kernel's userspace only
	Key      []Field // one field, or those of the concatenation
	DataKind DataKind
	DataType uint32
	Data     []Field
	ObjType  ObjectType
	Timeout  time.Duration
	GC       time.Duration
	Size     uint32 // 0 when not stated
	// DescSize is the number of elements that nft tells the kernel to expect of
	// a set without a stated size.
	DescSize uint32
	// DataInterval: Data holds the lower ends, then the upper ends of ranges.
	DataInterval bool
	Policy       SetPolicy
	// PolicySet tells whether a policy was stated.
	PolicySet bool
	Exprs     []Instr // stateful expressions that every new element gets
	Userdata  []byte
	AutoMerge bool
	Comment   string
	Elements  []Element
	Span      diag.Span
}

// KeyLen returns the key's length in bytes, padding of concatenations included.
func (s *Set) KeyLen() int { return fieldsLen(s.Key) }

// DataLen returns the length of an element's value data in bytes.
func (s *Set) DataLen() int { return fieldsLen(s.Data) }

func fieldsLen(fs []Field) int {
	if len(fs) == 1 {
		return int(fs[0].Len)
	}
	n := 0
	for _, f := range fs {
		n += f.Padded()
	}
	return n
}

// ElementFlags are NFT_SET_ELEM_*.
type ElementFlags uint8

const (
	ElemIntervalEnd ElementFlags = 1
	ElemCatchall    ElementFlags = 2
)

// Element is one element as it is sent to the kernel. Interval sets without
// concatenation hold start and end points (ElemIntervalEnd); concatenations
// with ranges hold Key and KeyEnd, both inclusive.
type Element struct {
	Key    []byte // nil for the catch-all
	KeyEnd []byte
	Flags  ElementFlags
	Data   *ElementData  // maps only
	Attrs  *ElementAttrs // what few elements have
	Span   diag.Span
}

// ElementData is a map element's right side; which field counts is told by the
// set's DataKind.
type ElementData struct {
	Value   []byte
	Verdict Verdict
	Object  string
}

// ElementAttrs are the optional attributes of an element.
type ElementAttrs struct {
	Timeout    time.Duration
	TimeoutSet bool // distinguishes `timeout 0s`
	Expires    time.Duration
	Exprs      []Instr
	Userdata   []byte
	Comment    string
}

// ObjectType is NFT_OBJECT_*.
type ObjectType uint32

const (
	ObjCounter   ObjectType = 1
	ObjQuota     ObjectType = 2
	ObjCTHelper  ObjectType = 3
	ObjLimit     ObjectType = 4
	ObjConnlimit ObjectType = 5
	ObjTunnel    ObjectType = 6
	ObjCTTimeout ObjectType = 7
	ObjSecmark   ObjectType = 8
	ObjCTExpect  ObjectType = 9
	ObjSynproxy  ObjectType = 10
)

func (t ObjectType) String() string {
	switch t {
	case ObjCounter:
		return "counter"
	case ObjQuota:
		return "quota"
	case ObjCTHelper:
		return "ct helper"
	case ObjLimit:
		return "limit"
	case ObjConnlimit:
		return "connlimit"
	case ObjTunnel:
		return "tunnel"
	case ObjCTTimeout:
		return "ct timeout"
	case ObjSecmark:
		return "secmark"
	case ObjCTExpect:
		return "ct expectation"
	case ObjSynproxy:
		return "synproxy"
	}
	return "unknown"
}

// Object is a named stateful object. For the types that are expressions as
// well (counter, quota, limit, connlimit, synproxy) Instr holds the state.
type Object struct {
	Name     string
	Type     ObjectType
	Handle   uint64
	Instr    Instr // Counter, Quota, Limit, Connlimit, Synproxy; or one of the ObjXxx values
	Userdata []byte
	Span     diag.Span
}

// Flowtable is a flowtable.
type Flowtable struct {
	Name     string
	Hook     Hook
	Priority int32
	Devices  []string
	Flags    uint32 // 1 hardware offload, 2 counter
	Handle   uint64
	Span     diag.Span
}

// OpKind is what a message does.
type OpKind uint8

const (
	OpNewTable OpKind = iota
	OpDelTable
	OpNewChain
	OpDelChain
	OpNewRule
	OpReplaceRule
	OpDelRule
	OpNewSet
	OpDelSet
	OpNewElements
	OpDelElements
	OpFlushSet
	OpNewObject
	OpDelObject
	OpNewFlowtable
	OpDelFlowtable
	OpFlushRuleset
	OpFlushChain
	OpFlushTable
)

// Op is one message of the transaction. Which fields are set follows from Kind.
type Op struct {
	Kind  OpKind
	Flags OpFlags
	// Family and table name are always set, also where Table is nil (a
	// destroy of something that is not there).
	Family    Family
	TableName string
	Table     *Table
	Chain     *Chain
	Rule      *Rule
	Set       *Set
	Elements  []Element
	Object    *Object
	Flowtable *Flowtable
	// Position is the rule before or after which a rule goes; nil: at the end
	// (add) or start (insert).
	Position *Rule
	Span     diag.Span
	// Name is what a delete names, or the new name of a chain (Rename).
	Name    string
	ObjType ObjectType
	Rename  bool
	// Handle is a rule's or object's number as written, 0 when none was.
	Handle uint64
	// OnlyFamily limits a flush of the ruleset to Family.
	OnlyFamily bool
}

// OpFlags modify a message.
type OpFlags uint8

const (
	OpCreate  OpFlags = 1 << iota // NLM_F_EXCL: `create`
	OpInsert                      // rule goes to the front, or before Position
	OpDestroy                     // absence is no error
)
