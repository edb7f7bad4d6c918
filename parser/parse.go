package parser

import (
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/nftc/nftc/internal/diag"
)

// Options of Parse.
type Options struct {
	// IncludePaths are searched for includes with relative names, in order,
	// as nft -I; the directory of the including file comes as nft has it.
	IncludePaths []string
	// ReadFile and Glob give included files; nil refuses every include.
	ReadFile func(name string) ([]byte, error)
	Glob     func(pattern string) ([]string, error)
	// Defines are `-D name=value` definitions, in front of the file.
	Defines []string
	// KeepIncludes leaves included files unread (formatting).
	KeepIncludes bool
}

// ParseFunc is the shape of Parse: name and text of one file in; the tree and
// diagnostics out. The tree holds what could be parsed, also after errors.
type ParseFunc func(files *diag.FileSet, name, text string, opt Options) (*File, []diag.Diagnostic)

var _ ParseFunc = Parse

// Limits of a parse.
const (
	// maxErrors is where nft stops reporting (NFT_CTX_DEFAULT parser_max_errors).
	maxErrors = 10
	// maxDepth bounds braces and parentheses inside one another. nft's parser
	// gives up at 10,000 stacked symbols.
	maxDepth = 1000
	// maxScopes is how many scopes nft nests: the file, a table, a chain, an
	// anonymous chain (SCOPE_NEST_MAX).
	maxScopes = 4
	// maxIncludes is nft's MAX_INCLUDE_DEPTH.
	maxIncludes = 16
	// commentMax is the longest comment in bytes (NFTNL_UDATA_COMMENT_MAXLEN).
	commentMax = 128
)

// Parse reads one file and what it includes. The tree holds what could be
// parsed also when there are errors; at most ten are reported.
func Parse(files *diag.FileSet, name, text string, opt Options) (f *File, diags []diag.Diagnostic) {
	if files == nil {
		files = &diag.FileSet{}
	}
	f = &File{Files: files}
	p := &parser{files: files, out: f, opt: opt}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(tooManyErrors); !ok {
				p.diags.Errorf("internal-error", p.spanOf(&p.tok), "internal error in the parser: %v%s", r, firstFrame())
			}
		}
		f.broken = p.diags.HasErrors()
		diags = p.diags.All
	}()
	src, err := files.Add(name, text)
	if err != nil {
		p.diags.Errorf("file-too-large", diag.Span{}, "%v", err)
		return f, p.diags.All
	}
	f.Source = src
	p.scopes = append(p.scopes, map[string]bool{})
	f.Items = p.commandLineDefines(f.Items)
	p.open(src)
	f.Items = p.items(&fileBlock, f.Items)
	return f, p.diags.All
}

// firstFrame names the place of a panic, for the report of an internal error.
func firstFrame() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/parser.") {
			return fmt.Sprintf(" in %s, line %d", path.Base(f.Function), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// parser is the state of one parse: the token in hand, the file it is in, and
// what has been collected.
type parser struct {
	files *diag.FileSet
	file  *diag.File
	scan  scanner
	tok   token
	// last is the end of the token before tok.
	last  int
	out   *File
	opt   Options
	diags diag.List
	slab  slabs
	// scopes are the names defined so far, innermost last; false: undefined.
	scopes []map[string]bool
	depth  int
	// state are the words that are keywords here though not everywhere.
	state words
	// includes are the files open around this one.
	includes int
	outer    []outerFile
	// commented is the end of the last comment kept, so that text scanned
	// twice gives its comments once.
	commented diag.Pos
}

// open starts reading a file.
func (p *parser) open(f *diag.File) {
	p.file = f
	p.scan = scanner{src: f.Text, comment: func(start, end int) {
		if at := f.Pos(start); at >= p.commented || f != p.file {
			p.out.Comments = append(p.out.Comments, Comment{Span: f.Span(start, end), Text: f.Text[start:end]})
			p.commented = f.Pos(end)
		}
	}}
	p.last = 0
	p.next()
}

// next moves to the next token.
func (p *parser) next() {
	p.last = p.tok.pos + len(p.tok.text)
	p.scan.next(&p.tok)
}

// seek goes back or forward to the token at a byte offset.
func (p *parser) seek(pos, last int) {
	p.scan.pos = pos
	p.scan.next(&p.tok)
	p.last = last
}

// peek looks at the token behind the one in hand.
func (p *parser) peek() token {
	var t token
	at := p.scan.pos
	p.scan.next(&t)
	p.scan.pos = at
	return t
}

// peek2 looks at the two tokens behind the one in hand.
func (p *parser) peek2() (a, b token) {
	at := p.scan.pos
	p.scan.next(&a)
	p.scan.next(&b)
	p.scan.pos = at
	return a, b
}

func (p *parser) spanOf(t *token) diag.Span {
	if p.file == nil {
		return diag.Span{}
	}
	return p.file.Span(t.pos, t.end())
}

// from is the span from a byte offset to the end of the last token taken.
func (p *parser) from(start int) diag.Span { return p.file.Span(start, max(p.last, start)) }

func (p *parser) node(start int) Node { return Node{p.from(start)} }

// at tells whether the token is the punctuation.
func (p *parser) at(op byte) bool { return p.tok.kind == tokPunct && p.tok.op == op }

// atWord tells whether the token is the unquoted word.
func (p *parser) atWord(w string) bool {
	return (p.tok.kind == tokWord || p.tok.kind == tokKeyword) && p.tok.text == w
}

// word is the text of the token if it is an unquoted word, else "".
func (p *parser) word() string {
	if p.tok.kind == tokWord || p.tok.kind == tokKeyword {
		return p.tok.text
	}
	return ""
}

// got takes the punctuation if it is there.
func (p *parser) got(op byte) bool {
	if p.at(op) {
		p.next()
		return true
	}
	return false
}

// gotWord takes the word if it is there.
func (p *parser) gotWord(w string) bool {
	if p.atWord(w) {
		p.next()
		return true
	}
	return false
}

func (p *parser) want(op byte) {
	if !p.got(op) {
		p.unexpected("'" + string(rune(op)) + "'")
	}
}

func (p *parser) wantWord(w string) {
	if !p.gotWord(w) {
		p.unexpectedOf(w)
	}
}

// take makes a Name of the token and moves on.
func (p *parser) take() Name {
	n := p.nameOf(&p.tok)
	p.next()
	return n
}

func (p *parser) nameOf(t *token) Name {
	n := Name{Span: p.spanOf(t), Text: t.text}
	switch {
	case t.kind == tokQuoted:
		n.Text, n.Quoted = t.text[1:len(t.text)-1], true
	case t.kind == tokLiteral && t.text[0] == '[':
		n.Text = t.text[1 : len(t.text)-1]
	}
	return n
}

// isString: nft's STRING, an unquoted string that is no keyword.
func (t *token) isString() bool { return t.kind == tokWord || t.kind == tokLiteral }

// isText: a string in nft's grammar, quoted, unquoted or with an asterisk.
func (t *token) isText() bool {
	return t.isString() || t.kind == tokQuoted || t.kind == tokAsterisk
}

// in reads with the words of a state as keywords, and gives back what undoes it.
func (p *parser) in(state string) (leave func()) {
	old := p.state
	p.state = stateWords[state]
	return func() { p.state = old }
}

// noStateWord refuses a word that is a keyword in the state.
func (p *parser) noStateWord() {
	if p.tok.kind == tokWord && p.state.has(p.tok.text) {
		p.unexpected("a value")
	}
}

// identifier takes the name of a table, chain, set, object or definition.
func (p *parser) identifier(what string) Name {
	if p.tok.isString() || p.atWord("last") {
		return p.take()
	}
	p.unexpected(what)
	return Name{}
}

// text takes a string in any form.
func (p *parser) text(what string) Name {
	if !p.tok.isText() {
		p.unexpected(what)
	}
	return p.take()
}

// number takes an integer.
func (p *parser) number() Number {
	if p.tok.kind != tokNumber {
		p.unexpected("number")
	}
	v, _ := parseNumber(p.tok.text)
	n := Number{Span: p.spanOf(&p.tok), Value: v}
	p.next()
	return n
}

func (p *parser) numberPtr() *Number {
	n := p.number()
	return &n
}

// enter counts a brace or parenthesis opened.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("too-deep", p.spanOf(&p.tok), "memory exhausted: braces or parentheses nested more than %d deep", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }
