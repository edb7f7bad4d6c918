package ir

import (
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// Ruleset is a resolved file: what the kernel would hold after loading it into
// an empty ruleset, and the steps to get there.
type Ruleset struct {
	Files  *diag.FileSet
	Tables []*Table // in order of creation, as after the last step
	Steps  []Step
	// Interfaces are the indexes of interfaces that it was resolved with,
	// those of Options.AnyInterface included.
	Interfaces map[string]uint32
}

// Step is one change, in the order in which nft sends them. It is the IR side
// of bytecode.Op and has the same meaning.
type Step struct {
	Kind      bytecode.OpKind
	Flags     bytecode.OpFlags
	Family    bytecode.Family
	TableName string
	Table     *Table
	Chain     *Chain
	Rule      *Rule
	Set       *Set
	Elements  []Element
	Object    *Object
	Flowtable *Flowtable
	Position  *Rule
	Span      diag.Span

	// Name is what the step deletes, or the new name of a chain (Rename).
	Name    string
	ObjType bytecode.ObjectType
	Rename  bool
	// First tells that elements of an interval set may begin with an end point
	// at zero. Internal marks steps that nft adds to a command (auto-merge).
	First, Internal bool
	// Declared marks the elements of a set's own definition.
	Declared bool
	// Handle is a rule's or object's number as written; 0 when none was.
	Handle uint64
	// OnlyFamily limits a flush of the ruleset to Family.
	OnlyFamily bool
	// TableSpan, NameSpan and HandleSpan locate the names for messages.
	TableSpan, NameSpan, HandleSpan diag.Span
}

// Table is one table.
type Table struct {
	Family  bytecode.Family
	Name    string
	Flags   uint32
	Comment string
	// CommentSet tells an empty comment from none.
	CommentSet bool
	Handle     uint64
	Chains     []*Chain
	Sets       []*Set // named ones
	Objects    []*Object
	Flowtables []*Flowtable
	Span       diag.Span // of the name where it is first defined
}

// Chain is a base chain (Base set), a regular one or, with ID, an anonymous one.
type Chain struct {
	Table   *Table
	Name    string
	ID      uint32
	Handle  uint64
	Base    *bytecode.Base
	Flags   uint32
	Comment string
	// CommentSet tells an empty comment from none.
	CommentSet bool
	Rules      []*Rule
	Span       diag.Span
	// PrioritySpan etc. locate the parts of the definition for messages.
	HookSpan, PrioritySpan, PolicySpan diag.Span
	TypeSpan, DevicesSpan, DefSpan     diag.Span
	// BaseSpan is `type … hook … priority …`, PolicyDefSpan `policy …`.
	BaseSpan, PolicyDefSpan diag.Span
	// PolicyOnly and DevicesOnly mark definitions that state nothing else:
	// they can only change an existing base chain.
	PolicyOnly, DevicesOnly bool
}

// Rule is a rule with its statements in order; implicit dependencies are
// statements of their own (Match.Implicit).
type Rule struct {
	Chain  *Chain
	Handle uint64
	// ID is not 0 for a rule that another of the file is placed beside by index.
	ID      uint32
	Stmts   []Stmt
	Comment string
	// CommentSet tells an empty comment from none.
	CommentSet bool
	Span       diag.Span
}

// Set is a set or map, named or anonymous.
type Set struct {
	Table    *Table
	Name     string // "__set%d", "__map%d", "__objmap%d" for anonymous ones
	ID       uint32 // number within the transaction, from 1
	Handle   uint64
	Flags    bytecode.SetFlags
	Key      *Datatype
	KeyExpr  Expr // of typeof, else nil
	DataKind bytecode.DataKind
	Data     *Datatype
	DataExpr Expr // of typeof
	// DataInterval tells that the data may be ranges.
	DataInterval bool
	ObjType      bytecode.ObjectType
	Timeout      time.Duration
	GC           time.Duration
	Size         uint32
	// DescSize is the size told to the kernel when none was stated: that of
	// a constant anonymous set.
	DescSize  uint32
	Policy    bytecode.SetPolicy
	PolicySet bool
	AutoMerge bool
	Stmts     []Stmt // stateful statements for every element
	Comment   string
	// CommentSet tells an empty comment from none.
	CommentSet bool
	// Elements after normalisation, in the order in which nft sends them.
	Elements []Element
	// Covered are elements that were dropped since others have the same key or,
	// in an anonymous interval set, contain it.
	Covered []Covered
	Span    diag.Span

	// KeyFields and DataFields are the parts of key and data, one for what is
	// no concatenation, in the byte order in which the set holds them.
	KeyFields, DataFields []SetField

	// init are the elements that nft's cache has, for intervals that later
	// commands add or delete; hasInit tells an empty list from none.
	init    []Element
	hasInit bool
	// declared tells that init began with the elements of the declaration.
	declared bool
	// stale marks a set of before a flush of the ruleset.
	stale bool
	// broken marks a set whose elements had errors.
	broken bool
	// stepAt is the index of the step that sends init, plus one.
	stepAt int
}

// Covered is an element that another one contains, by their places.
type Covered struct{ Span, By diag.Span }

// SetField is one part of a set's key or data.
type SetField struct {
	Type  *Datatype
	Order ByteOrder
	Bits  int
	// native is the order that the value has outside of interval sets.
	native ByteOrder
}

// Len returns the length in bytes.
func (f SetField) Len() int { return (f.Bits + 7) / 8 }

// Element is one element of a set. From and To are the key as it lies in a
// register (fields of a concatenation padded to four bytes, each in the order
// in which the set holds it); To is nil for a single value. For interval sets
// without concatenation the pair is the closed interval: compile makes start
// and end points of it.
type Element struct {
	From, To []byte
	Catchall bool
	// kernel and remove are nft's EXPR_F_KERNEL and EXPR_F_REMOVE.
	kernel, remove bool
	Data           *ElementData
	Opts           *ElementOpts
	Span           diag.Span
}

// ElementData is the right side of a map element, evaluated.
type ElementData struct {
	Expr  Expr   // *Value, *Concat, *RangeValue, *Verdict, *ObjectName, …
	Value []byte // the bytes in register layout for value maps
	to    []byte // upper ends of ranges, until they are known to be needed
}

// ElementOpts are timeout, counters and so on of an element.
type ElementOpts struct {
	Timeout    time.Duration
	TimeoutSet bool
	Expires    time.Duration
	ExpiresSet bool
	Comment    string
	// CommentSet tells an empty comment from none.
	CommentSet bool
	Stmts      []Stmt
}

// Object is a named object; Spec is a bytecode.Instr of the object's type.
type Object struct {
	Table   *Table
	Name    string
	Type    bytecode.ObjectType
	Handle  uint64
	Spec    bytecode.Instr
	Comment string
	// CommentSet tells an empty comment from none.
	CommentSet bool
	Span       diag.Span
}

// Flowtable is a flowtable.
type Flowtable struct {
	Table    *Table
	Name     string
	Hook     bytecode.Hook
	Priority int32
	Devices  []string
	Flags    uint32
	Handle   uint64
	Span     diag.Span
	HookSpan diag.Span
}
