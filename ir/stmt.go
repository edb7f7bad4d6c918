package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// Stmt is one statement of a rule.
type Stmt interface {
	Pos() diag.Span
	stmt()
}

// StmtSpan is embedded in statements.
type StmtSpan struct{ Span diag.Span }

// Pos returns the span of the statement's text.
func (s *StmtSpan) Pos() diag.Span { return s.Span }

// MatchOp is a comparison.
type MatchOp uint8

const (
	MatchImplicit MatchOp = iota // == , or flag test: decided by Resolve
	MatchEq
	MatchNeq
	MatchLt
	MatchGt
	MatchLte
	MatchGte
	MatchNeg // `X ! Y`: (X & Y) == 0
)

func (o MatchOp) String() string {
	switch o {
	case MatchImplicit:
		return ""
	case MatchEq:
		return "=="
	case MatchNeq:
		return "!="
	case MatchLt:
		return "<"
	case MatchGt:
		return ">"
	case MatchLte:
		return "<="
	case MatchGte:
		return ">="
	case MatchNeg:
		return "!"
	}
	return "?"
}

// Match compares X with Y: a *Value, *Prefix, *RangeValue, *SetRef (membership),
// *Concat of values, or a register expression. Implicit marks a dependency that
// Resolve added (`tcp dport` brings `meta l4proto tcp`): listings leave it out.
type Match struct {
	StmtSpan
	X        Expr
	Op       MatchOp
	Y        Expr
	Implicit bool
	// Merged are the comparisons that Rule.Reduced made one of.
	Merged []*Match
}

// VerdictStmt is a verdict, or a verdict map (X is then a *Map).
type VerdictStmt struct {
	StmtSpan
	X Expr
}

// Assign stores a value: Target is a *Payload, *Exthdr, *Meta or *CT.
type Assign struct {
	StmtSpan
	Target Expr
	Value  Expr
}

// Stateful holds a stateful expression as it is: *bytecode.Counter, Quota,
// Limit, Connlimit, Last.
type Stateful struct {
	StmtSpan
	Instr bytecode.Instr
	// Unit names as written, for listings (limit and quota are listed in the
	// largest unit that divides).
}

// Simple holds a statement without operands: *bytecode.Log, Reject, Notrack,
// Synproxy, FlowOffload.
type Simple struct {
	StmtSpan
	Instr bytecode.Instr
}

// ObjRef uses a named object; X is an *ObjectName or a *Map of an object map.
type ObjRef struct {
	StmtSpan
	Type bytecode.ObjectType
	X    Expr
}

// NAT is snat, dnat, masquerade and redirect. Kind as in the language. Addr and
// Port may be nil, *Value, *RangeValue, *Prefix, *Map, *Concat …; ConcatAddrPort
// tells that Addr is `addr . port`.
type NAT struct {
	StmtSpan
	Kind           string
	Family         bytecode.Family
	Addr, Port     Expr
	Flags          uint32
	ConcatAddrPort bool
	Prefix         bool
	Interval       bool
}

// TProxy is tproxy.
type TProxy struct {
	StmtSpan
	Family     bytecode.Family
	Addr, Port Expr
}

// Dup is dup to.
type Dup struct {
	StmtSpan
	Addr, Dev Expr
}

// Fwd is fwd to.
type Fwd struct {
	StmtSpan
	Family    bytecode.Family
	Addr, Dev Expr
}

// Queue is queue; Num is nil, a *Value, *RangeValue or a register expression.
type Queue struct {
	StmtSpan
	Num   Expr
	Flags uint16
}

// SetUpdate is add, update or delete of an element from the packet path.
type SetUpdate struct {
	StmtSpan
	Op    bytecode.DynsetOp
	Set   *Set
	Key   Expr
	Data  Expr // maps
	Opts  *ElementOpts
	Meter bool // written as `meter`
}

// Reset removes a TCP option.
type Reset struct {
	StmtSpan
	Target Expr
}

func (*Match) stmt()       {}
func (*VerdictStmt) stmt() {}
func (*Assign) stmt()      {}
func (*Stateful) stmt()    {}
func (*Simple) stmt()      {}
func (*ObjRef) stmt()      {}
func (*NAT) stmt()         {}
func (*TProxy) stmt()      {}
func (*Dup) stmt()         {}
func (*Fwd) stmt()         {}
func (*Queue) stmt()       {}
func (*SetUpdate) stmt()   {}
func (*Reset) stmt()       {}
