package parser

import "github.com/nftc/nftc/internal/diag"

// File is a parsed ruleset.
type File struct {
	Files    *diag.FileSet
	Source   *diag.File // the file that was named; included ones are in Files
	Items    []Item
	Comments []Comment

	marks  []placedMark // of Source, for Format
	broken bool         // Source did not parse
}

// Comment is a `# …` comment with its text, without the newline.
type Comment struct {
	Span diag.Span
	Text string
}

// Item is what may stand at the top level or in a block: *Include, *Define,
// *Command (top level only), or a member of the block it stands in.
type Item interface {
	Pos() diag.Span
	item()
}

// Node carries the span of a piece of syntax.
type Node struct{ Span diag.Span }

// Pos returns the span of the node's text.
func (n *Node) Pos() diag.Span { return n.Span }

// Name is a word with its place: a table's name, a key, a flag.
type Name struct {
	Span diag.Span
	Text string
	// Var is set when the word was written `$x`; Text is then the variable's name.
	Var bool
	// Quoted is set when the word was written in double quotes.
	Quoted bool
}

// Include is `include "…"` with what the files hold, in order of their names.
type Include struct {
	Node
	Pattern Name
	Items   []Item
}

// DefineKind tells the three forms of Define apart.
type DefineKind uint8

const (
	DefineNew DefineKind = iota // define
	Redefine
	Undefine
)

// Define is `define x = …`, `redefine x = …` or `undefine x`. It counts from
// its place to the end of the block that it stands in.
type Define struct {
	Node
	Kind  DefineKind
	Name  Name
	Value Expr // nil for undefine; may be a *List (`a, b`) or *SetLit
}

// Verb is the first word of a command.
type Verb string

const (
	VerbNone     Verb = "" // a block or rule without a verb: add
	VerbAdd      Verb = "add"
	VerbCreate   Verb = "create"
	VerbInsert   Verb = "insert"
	VerbReplace  Verb = "replace"
	VerbDelete   Verb = "delete"
	VerbDestroy  Verb = "destroy"
	VerbFlush    Verb = "flush"
	VerbList     Verb = "list"
	VerbReset    Verb = "reset"
	VerbRename   Verb = "rename"
	VerbGet      Verb = "get"
	VerbMonitor  Verb = "monitor"
	VerbDescribe Verb = "describe"
	VerbImport   Verb = "import"
	VerbExport   Verb = "export"
)

// Command is one command of a file; a block without a verb is one too.
type Command struct {
	Node
	Verb     Verb
	VerbSpan diag.Span
	// Kind is what the command is about, as written: table, chain, rule, set,
	// map, element, flowtable, counter, quota, limit, synproxy, secmark,
	// tunnel, "ct helper", "ct timeout", "ct expectation", ruleset, or the
	// plural words of list and reset (tables, chains, counters, …), meter.
	Kind     string
	KindSpan diag.Span
	// Family is empty when not written.
	Family Name
	// Table and Object are the names; Object is the chain, set, flowtable or
	// named object (for kind rule: the chain).
	Table  Name
	Object Name
	// Handle, Position and Index as written (`handle 5`, `position 5`, `index 2`).
	Handle, Position, Index *Number
	// NewName is what rename gives.
	NewName Name
	// Body: the block or definition that follows, if any: *TableBlock,
	// *ChainBlock, *SetBlock, *FlowtableBlock, *ObjectBlock, *Rule (kind rule),
	// *SetLit (kind element).
	Body Body
	// Args are the remaining words of commands that change nothing
	// (list, monitor, …).
	Args []Name
	// Describe is what `describe` asks about.
	Describe Expr
}

// Number is an integer as written, after a keyword.
type Number struct {
	Span  diag.Span
	Value uint64
}

// Body is the definition that a command carries.
type Body interface{ body() }

// TableBlock is `{ … }` of a table. Items: *Include, *Define, *Flags,
// *CommentStmt, and *Command without verb and table (kind chain, set, map,
// flowtable or a named object) for its members.
type TableBlock struct {
	Node
	Items []Item
}

// ChainBlock is `{ … }` of a chain. Items: *Include, *Define, *HookSpec,
// *PolicySpec, *DevicesSpec, *Flags, *CommentStmt, *Rule.
type ChainBlock struct {
	Node
	Items []Item
}

// Flags is `flags a, b` of a table, chain, set or flowtable.
type Flags struct {
	Node
	Names []Name
}

// CommentStmt is `comment "…"` as a property.
type CommentStmt struct {
	Node
	Text Name
}

// HookSpec is `type filter hook input [device x|devices = {…}] priority 0;`.
type HookSpec struct {
	Node
	Type     Name
	Hook     Name
	Devices  Expr // nil, or what follows device(s): *Symbol, *Variable, *SetLit
	Priority Expr // nil when not written; *Symbol, *Variable, or *Binary with + and -
}

// PolicySpec is `policy drop;` of a chain or `policy memory;` of a set.
type PolicySpec struct {
	Node
	Policy Name // Var may be set
}

// DevicesSpec is `devices = { … };` alone (flowtable, netdev chain updates).
type DevicesSpec struct {
	Node
	Devices Expr
}

// SetBlock is `{ … }` of a set or map. Items: *Include, *Define, *SetType,
// *Flags, *Duration, *SizeSpec, *PolicySpec, *AutoMerge, *Elements,
// *CommentStmt, *SetStmt.
type SetBlock struct {
	Node
	Items []Item
}

// SetType is `type A . B : C` or `typeof X : Y`. For type, Key and Data are
// made of *Symbol and *Concat; Data may also be the kind of object in a map
// (`: counter`, `: ct helper`), then Object is set.
type SetType struct {
	Node
	Typeof   bool
	Key      Expr
	Interval bool // `: interval T` in the data
	Data     Expr
	Object   string
}

// Duration is `timeout 1h;`, `gc-interval 5m;` as a property.
type Duration struct {
	Node
	Keyword string
	Value   Name // as written: 1h30m, 90s, 90
}

// SizeSpec is `size 65536;`.
type SizeSpec struct {
	Node
	Value Expr
}

// AutoMerge is `auto-merge;`.
type AutoMerge struct{ Node }

// Elements is `elements = { … }`, or a variable.
type Elements struct {
	Node
	Value Expr
}

// SetStmt is a stateful statement in a set block: `counter;`, `limit rate …;`.
type SetStmt struct {
	Node
	Stmt Stmt
}

// FlowtableBlock is `{ … }` of a flowtable. Items: *Include, *Define,
// *HookSpec (without type), *DevicesSpec, *Flags, *Word for `counter`.
type FlowtableBlock struct {
	Node
	Items []Item
}

// Word is a property that is one word.
type Word struct {
	Node
	Text string
}

// ObjectBlock is the definition of a named object: `counter x { … }` or
// `counter x packets 0 bytes 0`. Which fields are used depends on the kind.
type ObjectBlock struct {
	Node
	// Inline: written without braces, `counter x packets 0 bytes 0`.
	Inline bool
	Items  []Item // *Include, *Define, *CommentStmt, *Property, *SetStmt
}

// Property is a property of a named object: `packets 5 bytes 7` and
// `over 25 mbytes` come as a *SetStmt holding the statement; everything else
// (`type "ftp" protocol tcp;`, `l3proto ip;`, `policy = { … };`, `dport 9;`,
// `mss 1460;`, secmark's context, tunnel options and their blocks) as the words and
// values in the order written.
type Property struct {
	Node
	Keyword Name
	Args    []Expr
	Items   []Item // a nested block (tunnel: vxlan { … }, geneve { … })
}

// Rule is one rule: statements and perhaps a comment.
type Rule struct {
	Node
	Stmts   []Stmt
	Comment *Name
}

func (*Include) item()     {}
func (*Define) item()      {}
func (*Command) item()     {}
func (*Flags) item()       {}
func (*CommentStmt) item() {}
func (*HookSpec) item()    {}
func (*PolicySpec) item()  {}
func (*DevicesSpec) item() {}
func (*SetType) item()     {}
func (*Duration) item()    {}
func (*SizeSpec) item()    {}
func (*AutoMerge) item()   {}
func (*Elements) item()    {}
func (*SetStmt) item()     {}
func (*Word) item()        {}
func (*Property) item()    {}
func (*Rule) item()        {}

func (*TableBlock) body()     {}
func (*ChainBlock) body()     {}
func (*SetBlock) body()       {}
func (*FlowtableBlock) body() {}
func (*ObjectBlock) body()    {}
func (*Rule) body()           {}
func (*SetLit) body()         {}
func (*ElementsVar) body()    {}

// ElementsVar is the `$x` in `add element t s $x`.
type ElementsVar struct{ Variable }
