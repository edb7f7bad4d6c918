package parser

import "github.com/nftc/nftc/internal/diag"

// Stmt is one statement of a rule.
type Stmt interface {
	Pos() diag.Span
	stmt()
}

// Match is `X [op] Y`; Op is "" when not written, else ==, !=, <, >, <=, >=,
// or "!" (`X ! Y`). Y is nil for a bare presence test (`exthdr hbh`,
// `fib daddr . iif check`, …: what nft allows without a right side).
type Match struct {
	Node
	X      Expr
	Op     string
	OpSpan diag.Span
	Y      Expr
}

// VMap is `X vmap { … }` or `X vmap @m`.
type VMap struct {
	Node
	X    Expr
	Maps Expr
}

// Assign is `X set Y` for meta, ct, payload and exthdr targets; also
// `ct helper set "x"`, `ct timeout set …`, `ct expectation set …`.
type Assign struct {
	Node
	Target Expr
	Value  Expr
}

// Counter is `counter [packets N bytes M]`.
type Counter struct {
	Node
	Packets, Bytes *Number
}

// ObjRef uses a named object: `counter name X`, `quota name X`, `limit name X`,
// `synproxy name X`, `tunnel name X`, `meta secmark set X` stays an Assign.
// X may be a *Symbol, *Variable or *Map.
type ObjRef struct {
	Node
	Kind string
	X    Expr
}

// Quota is `quota [over|until] N bytes [used M bytes]`.
type Quota struct {
	Node
	Over     bool
	Until    bool // written, though it is what is meant without Over
	Amount   Number
	Unit     Name
	Used     *Number
	UsedUnit Name
}

// Limit is `limit rate [over|until] N[ unit]/time [burst M [packets|unit]]`.
type Limit struct {
	Node
	Over      bool
	Until     bool // written, though it is what is meant without Over
	Rate      Number
	RateUnit  Name // bytes, kbytes, mbytes; empty for packets
	Per       Name // second, minute, hour, day, week
	Burst     *Number
	BurstUnit Name // packets, bytes, kbytes, mbytes
}

// CTCount is `ct count [over] N`.
type CTCount struct {
	Node
	Over  bool
	Count Number
}

// Last is `last [used never|DURATION]`.
type Last struct {
	Node
	Used Name
}

// Log is `log [prefix "…"] [level x] [group N] [snaplen N] [queue-threshold N]
// [flags …]`. Flags holds the words, `tcp sequence` as "tcp sequence".
type Log struct {
	Node
	Keyword    diag.Span // the word log
	Prefix     *Name     // `$name` in it stands for what a definition gives
	PrefixExpr Expr      // nil: for prefixes that are built of several parts
	Level      *Name
	Group      *Number
	Snaplen    *Number
	QThreshold *Number
	Flags      []Name
}

// Reject is `reject [with icmp|icmpv6|icmpx [type] CODE | with tcp reset]`.
type Reject struct {
	Node
	With Name // icmp, icmpv6, icmpx, tcp; empty when not written
	Code Expr
}

// NAT is snat, dnat, masquerade and redirect: `dnat [ip|ip6] to ADDR[:PORT]
// [flags]`. Addr and Port may be ranges, maps, concatenations (`ip daddr . …
// map`). Prefix is `dnat ip prefix to …`; Interval `dnat ip interval to …`,
// AddrPort `addr . port`.
type NAT struct {
	Node
	Kind     string
	Family   Name
	Prefix   bool
	Interval bool
	AddrPort bool
	To       bool // the word `to` was written
	Colon    bool // `to :PORT` of redirect and masquerade
	Addr     Expr
	Port     Expr
	Flags    []Name
}

// TProxy is `tproxy [ip|ip6] to [ADDR][:PORT]`.
type TProxy struct {
	Node
	Family Name
	Addr   Expr
	Port   Expr
}

// Synproxy is `synproxy [mss N] [wscale N] [timestamp] [sack-perm]`.
type Synproxy struct {
	Node
	MSS, Wscale         *Number
	Timestamp, SackPerm bool
}

// Dup is `dup to ADDR [device DEV]`.
type Dup struct {
	Node
	To  Expr
	Dev Expr
}

// Fwd is `fwd to DEV` or `fwd ip to ADDR device DEV`.
type Fwd struct {
	Node
	Family Name
	Addr   Expr
	Dev    Expr
}

// Queue is `queue [flags …] [to X]` and `queue [num N[-M]] [flags]`.
type Queue struct {
	Node
	Num        Expr
	Flags      []Name
	To         bool // `to X`, not `num X`
	FlagsFirst bool // `flags F` in front
}

// Notrack is `notrack`.
type Notrack struct{ Node }

// FlowAdd is `flow add @ft` (and `flow offload @ft`).
type FlowAdd struct {
	Node
	Verb      Name // add or offload
	Flowtable Name
}

// SetUpdate is `add|update|delete @set { key [options] [: data] }`, and the old
// form `set add key @set`.
type SetUpdate struct {
	Node
	Op   string
	Elem *Elem
	Set  *SetRef
	Var  *Variable // `$x` instead of `@set`
	Old  bool
}

// Meter is `meter NAME [size N] { key stmt }` and the older `flow table`.
type Meter struct {
	Node
	Name Name
	Size *Number
	Elem *Elem
	Stmt Stmt
}

// Reset is `reset tcp option X`.
type Reset struct {
	Node
	Target Expr
}

// XT is `xt match|target|watcher "name"`: only lists ever hold it.
type XT struct {
	Node
	Kind Name
	Name Name
}

// VerdictStmt is a verdict as a statement.
type VerdictStmt struct {
	Node
	Verdict *Verdict
}

func (*Match) stmt()       {}
func (*VMap) stmt()        {}
func (*Assign) stmt()      {}
func (*Counter) stmt()     {}
func (*ObjRef) stmt()      {}
func (*Quota) stmt()       {}
func (*Limit) stmt()       {}
func (*CTCount) stmt()     {}
func (*Last) stmt()        {}
func (*Log) stmt()         {}
func (*Reject) stmt()      {}
func (*NAT) stmt()         {}
func (*TProxy) stmt()      {}
func (*Synproxy) stmt()    {}
func (*Dup) stmt()         {}
func (*Fwd) stmt()         {}
func (*Queue) stmt()       {}
func (*Notrack) stmt()     {}
func (*FlowAdd) stmt()     {}
func (*SetUpdate) stmt()   {}
func (*Meter) stmt()       {}
func (*Reset) stmt()       {}
func (*XT) stmt()          {}
func (*VerdictStmt) stmt() {}
