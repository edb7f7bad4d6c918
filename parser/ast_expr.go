package parser

import "github.com/nftc/nftc/internal/diag"

// Expr is a value as written.
type Expr interface {
	Pos() diag.Span
	expr()
}

// Symbol is a word, number, address or quoted string: what it means depends on
// the type that is expected where it stands.
type Symbol struct {
	Node
	Text   string // without quotes and, for `[::1]`, without brackets
	Quoted bool
	Number bool // an integer: decimal, octal after 0, hex after 0x
	Braced bool // written in brackets, `[::1]`
}

// Variable is `$name`.
type Variable struct {
	Node
	Name string
}

// Wildcard is `*`: the catch-all element.
type Wildcard struct{ Node }

// Prefix is `X/len`.
type Prefix struct {
	Node
	X   Expr
	Len Expr
}

// Range is `From-To`.
type Range struct {
	Node
	From, To Expr
}

// Concat is `A . B . C`.
type Concat struct {
	Node
	Items []Expr
}

// List is `a,b,c` outside braces (flags).
type List struct {
	Node
	Items []Expr
}

// Binary is `X op Y`; Op is one of | & ^ << >> and, in priorities, + and -.
type Binary struct {
	Node
	Op     string
	OpSpan diag.Span
	X, Y   Expr
}

// SlashMask is `value / mask` of `tcp flags syn / syn,ack`.
type SlashMask struct {
	Node
	Value, Mask Expr
}

// SetLit is `{ … }`: an anonymous set or map, or an element list.
type SetLit struct {
	Node
	Elems []*Elem
}

// Elem is one element: key, for maps data, and what belongs to it.
type Elem struct {
	Span diag.Span
	Key  Expr
	Data Expr // nil, or the right side; a *Verdict in verdict maps
	Opts *ElemOpts
	// DataOpts are options behind the data, which only statements that update a
	// map may have.
	DataOpts *ElemOpts
}

// ElemOpts are the options of an element, between its key and the colon.
type ElemOpts struct {
	Timeout *Name // `timeout 1h` as written
	Expires *Name
	Comment *Name
	Stmts   []Stmt // counter, limit, quota, last, ct count
}

// SetRef is `@name`.
type SetRef struct {
	Node
	Name Name // Text without the @; Var for `@$name`
}

// Map is `X map { … }` or `X map @m`: a value chosen by another.
type Map struct {
	Node
	X    Expr
	Maps Expr // *SetLit, *SetRef or *Variable
}

// Payload is a header field, `tcp dport`; Field is empty for the header alone
// (typeof and existence). Inner is set for a field inside a tunnel
// (`vxlan ip saddr`): then Proto is the tunnel and Field is empty.
type Payload struct {
	Node
	Proto Name
	Field Name
	Inner Expr
}

// RawPayload is `@th,16,8`: base, bit offset, bit length.
type RawPayload struct {
	Node
	Base        Name
	Offset, Len Number
	Inner       Name // `@ih` and tunnels: empty otherwise
}

// Exthdr is an IPv6 extension header field (`hbh nexthdr`, `frag id`), or with
// `exthdr hbh` the presence of the header (Field empty).
type Exthdr struct {
	Node
	Header Name
	Field  Name
	Index  *Number // of `rt0 addr[1]` and `srh sid[1]`
}

// Option is a TCP, IP, SCTP chunk or DCCP option: `tcp option maxseg size`,
// `ip option ra value`, `sctp chunk init flags`, `dccp option 4`. Kind may be a
// number. Field is empty for presence. Raw is set for `tcp option @255,8,8`.
type Option struct {
	Node
	Proto Name // tcp, ip, sctp, dccp
	Kind  Name
	Field Name
	Raw   *RawPayload
}

// Meta is `meta key`, or the key alone where the language allows it (Bare).
type Meta struct {
	Node
	Key  Name
	Bare bool
}

// CT is `ct [original|reply] [ip|ip6] key`.
type CT struct {
	Node
	Dir    Name
	Family Name
	Key    Name
}

// RT is `rt [ip|ip6] key`.
type RT struct {
	Node
	Family Name
	Key    Name
}

// Fib is `fib saddr . iif oif`.
type Fib struct {
	Node
	Flags  []Name
	Result Name
}

// Socket is `socket key` or `socket cgroupv2 level N`.
type Socket struct {
	Node
	Key   Name
	Level *Number
}

// Osf is `osf [ttl loose|skip] name|version`.
type Osf struct {
	Node
	TTL Name
	Key Name
}

// Numgen is `numgen inc|random mod N [offset M]`.
type Numgen struct {
	Node
	Mode   Name
	Mod    Number
	Offset *Number
}

// Hash is `jhash X mod N [seed S] [offset O]` or `symhash mod N [offset O]`.
type Hash struct {
	Node
	Kind   Name
	X      Expr // nil for symhash
	Mod    Number
	Seed   *Number
	Offset *Number
}

// IPsec is `ipsec in|out [spnum N] reqid|spi|ip saddr|…`.
type IPsec struct {
	Node
	Dir    Name
	SPNum  *Number
	Family Name
	Key    Name
}

// Tunnel is `tunnel id|path`.
type Tunnel struct {
	Node
	Key Name
}

// Verdict is a verdict as a value (in a verdict map) or statement. Chain is
// set for jump and goto: a *Symbol or *Variable. Block is the anonymous chain
// of `jump { … }`.
type Verdict struct {
	Node
	Kind  string // accept, drop, continue, return, jump, goto
	Chain Expr
	Block *ChainBlock
}

func (*Symbol) expr()     {}
func (*Variable) expr()   {}
func (*Wildcard) expr()   {}
func (*Prefix) expr()     {}
func (*Range) expr()      {}
func (*Concat) expr()     {}
func (*List) expr()       {}
func (*Binary) expr()     {}
func (*SlashMask) expr()  {}
func (*SetLit) expr()     {}
func (*SetRef) expr()     {}
func (*Map) expr()        {}
func (*Payload) expr()    {}
func (*RawPayload) expr() {}
func (*Exthdr) expr()     {}
func (*Option) expr()     {}
func (*Meta) expr()       {}
func (*CT) expr()         {}
func (*RT) expr()         {}
func (*Fib) expr()        {}
func (*Socket) expr()     {}
func (*Osf) expr()        {}
func (*Numgen) expr()     {}
func (*Hash) expr()       {}
func (*IPsec) expr()      {}
func (*Tunnel) expr()     {}
func (*Verdict) expr()    {}
