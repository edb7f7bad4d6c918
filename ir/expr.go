package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// Expr is a typed value. Common gives what all have.
type Expr interface {
	Common() *Attr
	expr()
}

// Attr is what every expression has. Bits is the length of the value in bits.
type Attr struct {
	Span  diag.Span
	Type  *Datatype
	Order ByteOrder
	Bits  int
}

// Common returns the attributes for reading and changing.
func (a *Attr) Common() *Attr { return a }

// Value is a constant: most significant byte first, (Bits+7)/8 bytes. Strings
// are their bytes from the left without padding.
type Value struct {
	Attr
	Bytes []byte
	// Symbol keeps how it was written where listings need it, e.g. "jump"
	// targets excluded; empty otherwise.
	Symbol string
	// Wildcard marks a string that ended in *: Bytes are a prefix to compare.
	Wildcard bool
}

// Prefix is constant X with a prefix length of Len bits.
type Prefix struct {
	Attr
	X   *Value
	Len int
}

// RangeValue is a constant range, both ends inclusive.
type RangeValue struct {
	Attr
	From, To *Value
}

// Concat is a concatenation; each item has its own type and order.
type Concat struct {
	Attr
	Items []Expr
}

// SetRef is a set as the right side of a match or the object of a map: a named
// one, or an anonymous one that belongs to the rule.
type SetRef struct {
	Attr
	Set *Set
}

// Map gives the data that a set holds for Key.
type Map struct {
	Attr
	Key Expr
	Set *Set
}

// Payload loads header bits. Offset is from Base in bits. Proto and Field are
// nil for raw payloads. Inner is set for fields inside a tunnel.
type Payload struct {
	Attr
	Base   bytecode.PayloadBase
	Offset int
	Proto  *Protocol
	Field  *HeaderField
	Inner  *InnerProto
	// Raw is set for `@th,…`, which never merges with named fields in listings.
	Raw bool

	// tunnel is the protocol that Inner belongs to.
	tunnel *Protocol
}

// InnerProto is the tunnel around an inner header.
type InnerProto struct {
	Name    string
	Type    uint32 // NFT_INNER_*
	HdrSize uint32
	Flags   uint32
}

// Exthdr is a field of an IPv6 extension header, a TCP/IP option, an SCTP
// chunk or DCCP option; Offset in bits from the start of the header.
type Exthdr struct {
	Attr
	Op      bytecode.ExthdrOp
	Proto   *Protocol
	Field   *HeaderField
	Number  uint8 // header or option type
	Offset  int
	Present bool // existence test
}

// Meta is a meta key. Inner as for Payload.
type Meta struct {
	Attr
	Key   bytecode.MetaKey
	Inner *InnerProto
}

// CT is a conntrack key; Dir is -1, 0 original, 1 reply. NFProto is the family
// of addresses (0 when it does not matter).
type CT struct {
	Attr
	Key     bytecode.CTKey
	Dir     int8
	NFProto bytecode.Family
}

// RT is a routing key.
type RT struct {
	Attr
	Key bytecode.RTKey
}

// Fib is a routing lookup; Flags and Result as in bytecode.Fib.
type Fib struct {
	Attr
	Flags  uint32
	Result uint32
}

// Socket is a key of the packet's socket.
type Socket struct {
	Attr
	Key   bytecode.SocketKey
	Level uint32
}

// Osf is the OS fingerprint.
type Osf struct {
	Attr
	TTL   uint8
	Flags uint32
}

// Numgen is a counter or random number.
type Numgen struct {
	Attr
	Random          bool
	Modulus, Offset uint32
}

// Hash is jhash over X, or symhash when X is nil.
type Hash struct {
	Attr
	X               Expr
	Modulus, Offset uint32
	Seed            uint32
	SeedSet         bool
}

// Xfrm is an IPsec key.
type Xfrm struct {
	Attr
	Key bytecode.XfrmKey
	Dir uint8
	SP  uint32
}

// Tunnel is a key of tunnel metadata: 0 path, 1 id.
type Tunnel struct {
	Attr
	Key uint32
}

// BinaryOp is an operator of Binary.
type BinaryOp uint8

const (
	OpAnd BinaryOp = iota
	OpOr
	OpXor
	OpLshift
	OpRshift
)

func (o BinaryOp) String() string {
	switch o {
	case OpAnd:
		return "&"
	case OpOr:
		return "|"
	case OpXor:
		return "^"
	case OpLshift:
		return "<<"
	case OpRshift:
		return ">>"
	}
	return "?"
}

// Binary is X op Y.
type Binary struct {
	Attr
	Op   BinaryOp
	X, Y Expr
}

// Byteorder converts X between host and network order.
type Byteorder struct {
	Attr
	Hton bool
	X    Expr
	Size int // unit in bytes
}

// Verdict is a verdict as a value. Chain is the target of jump and goto; Anon
// its rules when it is an anonymous chain.
type Verdict struct {
	Attr
	Code      bytecode.Code
	ChainName string
	ChainSpan diag.Span // of the target, for messages
	Anon      *Chain
}

// ObjectName is a reference to a named object in an object map.
type ObjectName struct {
	Attr
	ObjType bytecode.ObjectType
	Name    string
}

func (*Value) expr()      {}
func (*Prefix) expr()     {}
func (*RangeValue) expr() {}
func (*Concat) expr()     {}
func (*SetRef) expr()     {}
func (*Map) expr()        {}
func (*Payload) expr()    {}
func (*Exthdr) expr()     {}
func (*Meta) expr()       {}
func (*CT) expr()         {}
func (*RT) expr()         {}
func (*Fib) expr()        {}
func (*Socket) expr()     {}
func (*Osf) expr()        {}
func (*Numgen) expr()     {}
func (*Hash) expr()       {}
func (*Xfrm) expr()       {}
func (*Tunnel) expr()     {}
func (*Binary) expr()     {}
func (*Byteorder) expr()  {}
func (*Verdict) expr()    {}
func (*ObjectName) expr() {}
