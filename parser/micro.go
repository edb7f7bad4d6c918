package parser

import (
	"errors"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The kinds of token that participle sees. Newlines, braces and semicolons end
// what it is given, so that a grammar describes the inside of one statement.
const (
	symEOF     = lexer.EOF
	symWord    = lexer.TokenType(tokWord)
	symKeyword = lexer.TokenType(tokKeyword)
)

// Definition is nft's lexer for participle: broad tokens, keywords by context.
// It implements lexer.Definition and lexer.StringDefinition.
type Definition struct{}

var (
	_ lexer.Definition       = Definition{}
	_ lexer.StringDefinition = Definition{}
)

// Symbols returns the names of the token types for participle's grammars.
func (Definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": symEOF, "Word": symWord, "Keyword": symKeyword,
		"Literal": lexer.TokenType(tokLiteral), "Asterisk": lexer.TokenType(tokAsterisk),
		"Quoted": lexer.TokenType(tokQuoted), "Number": lexer.TokenType(tokNumber),
		"Punct": lexer.TokenType(tokPunct), "Newline": lexer.TokenType(tokNewline),
		"Junk": lexer.TokenType(tokJunk), "CRLF": lexer.TokenType(tokCRLF),
		"Unclosed": lexer.TokenType(tokUnclosed),
	}
}

// Lex reads all of r and returns its lexer.
func (d Definition) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexString(filename, string(text))
}

// LexString returns the lexer of a text.
func (Definition) LexString(filename string, text string) (lexer.Lexer, error) {
	return &tokenLexer{scan: scanner{src: text}, most: -1}, nil
}

// tokenLexer gives the scanner's tokens to participle. With most ≥ 0 it is a
// window: it ends after so many tokens or where a statement must end.
type tokenLexer struct {
	scan scanner
	most int
	done bool
	// rate: inside `limit rate`, where a word ends in front of a slash, so that
	// `kbytes/second` is three tokens.
	rate bool
}

// window is how many tokens a grammar of one statement may look at: more than
// the longest of them takes.
const window = 64

// Next returns the next token.
func (l *tokenLexer) Next() (lexer.Token, error) {
	var t token
	if !l.done {
		l.scan.next(&t)
		if l.rate && t.kind == tokWord {
			if i := strings.IndexByte(t.text, '/'); i > 0 {
				t.text = t.text[:i]
				l.scan.pos = t.end()
			}
		}
	}
	if l.most >= 0 && !l.done {
		l.most--
		l.done = l.most < 0 || t.kind == tokNewline ||
			t.kind == tokPunct && (t.op == ';' || t.op == '{' || t.op == '}')
	}
	if l.done || t.kind == tokEOF {
		l.done = true
		return lexer.Token{Type: lexer.EOF, Pos: lexer.Position{Offset: t.pos}}, nil
	}
	return lexer.Token{Type: lexer.TokenType(t.kind), Value: t.text, Pos: lexer.Position{Offset: t.pos}}, nil
}

// grammar is a participle parser that is built when it is first needed: a
// small file needs few of them.
type grammar[G any] struct {
	rate bool // see tokenLexer
	once sync.Once
	p    *participle.Parser[G]
}

// grammarOptions are those of every grammar. All are LL(1): with lookahead 0 a
// branch that has taken a token is the right one, and its error the real one.
var grammarOptions = []participle.Option{
	participle.Lexer(Definition{}),
	participle.UseLookahead(0),
}

func (g *grammar[G]) parser() *participle.Parser[G] {
	g.once.Do(func() { g.p = participle.MustBuild[G](grammarOptions...) })
	return g.p
}

// parseMicro runs a participle grammar from the token in hand on, and moves
// behind what it took.
func parseMicro[G any](p *parser, g *grammar[G]) *G {
	start := p.tok.pos
	lex, err := lexer.Upgrade(&tokenLexer{scan: scanner{src: p.scan.src, pos: start}, most: window, rate: g.rate})
	if err != nil {
		p.fail("internal-error", p.spanOf(&p.tok), "%v", err)
	}
	v, err := g.parser().ParseFromLexer(lex, participle.AllowTrailing(true))
	if err != nil {
		p.grammarError(err)
	}
	next := lex.Peek().Pos.Offset
	last := p.last
	for p.tok.pos < next && p.tok.kind != tokEOF {
		last = min(p.tok.end(), next)
		p.next()
	}
	p.last = last
	return v
}

// grammarError turns participle's error into ours: the place of the token and
// what was expected there.
func (p *parser) grammarError(err error) {
	var pe participle.Error
	if !errors.As(err, &pe) {
		p.fail("syntax-error", p.spanOf(&p.tok), "syntax error: %v", err)
	}
	p.seek(pe.Position().Offset, p.last)
	first := expectation{words: words{}}
	if _, after, ok := strings.Cut(pe.Message(), "(expected "); ok {
		first.text = strings.TrimSuffix(after, ")")
		first.sequence()
	}
	if len(first.kinds) == 0 {
		p.unexpectedOf(first.words.list()...)
	}
	if len(first.words) > 0 {
		first.kinds = append(first.kinds, oneOf(first.words.list()))
	}
	p.unexpected(strings.Join(first.kinds, " or "))
}

// expectation finds what a piece of EBNF, as participle's messages have it,
// may begin with: words, and kinds of tokens in our words.
type expectation struct {
	text  string
	words words
	kinds []string
}

// sequence reads alternatives and adds what each may begin with. It tells
// whether they may all be passed over.
func (e *expectation) sequence() (optional bool) {
	optional = true
	for {
		e.text = strings.TrimLeft(e.text, " ")
		if e.text == "" || e.text[0] == ')' {
			return optional
		}
		if e.text[0] == '|' {
			e.text = e.text[1:]
			optional = e.sequence() || optional
			return optional
		}
		sub := expectation{text: e.text, words: e.words, kinds: e.kinds}
		if !optional {
			sub.words, sub.kinds = words{}, nil // behind the first: not wanted
		}
		skip := sub.term()
		e.text = sub.text
		if optional {
			e.kinds = sub.kinds
		}
		optional = optional && skip
	}
}

// term reads one word, kind or group with its suffix.
func (e *expectation) term() (optional bool) {
	switch c := e.text[0]; c {
	case '(':
		e.text = e.text[1:]
		optional = e.sequence()
		e.text = strings.TrimPrefix(e.text, ")")
	case '"':
		w, rest, _ := strings.Cut(e.text[1:], "\"")
		e.text = rest
		e.words[w] = struct{}{}
	case '<':
		k, rest, _ := strings.Cut(e.text[1:], ">")
		e.text = rest
		name := map[string]string{"word": "a name", "literal": "a name", "number": "number",
			"quoted": "a string in quotes", "asterisk": ""}[k]
		if name != "" && !oneIn(name, e.kinds) {
			e.kinds = append(e.kinds, name)
		}
	default:
		_, size := utf8.DecodeRuneInString(e.text)
		e.text = e.text[size:]
		return true
	}
	if e.text != "" && strings.IndexByte("?*", e.text[0]) >= 0 {
		optional = true
		e.text = e.text[1:]
	} else if e.text != "" && strings.IndexByte("+!", e.text[0]) >= 0 {
		e.text = e.text[1:]
	}
	return optional
}

// nameTok makes a Name of a token that participle took.
func (p *parser) nameTok(t lexer.Token) Name {
	return p.nameOf(&token{kind: tokenKind(t.Type), pos: t.Pos.Offset, text: t.Value})
}

func (p *parser) numTok(t lexer.Token) Number {
	v, _ := parseNumber(t.Value)
	at := t.Pos.Offset
	return Number{Span: p.file.Span(at, at+len(t.Value)), Value: v}
}

func (p *parser) numTokPtr(t *lexer.Token) *Number {
	if t == nil {
		return nil
	}
	n := p.numTok(*t)
	return &n
}

func (p *parser) nameTokPtr(t *lexer.Token) *Name {
	if t == nil {
		return nil
	}
	n := p.nameTok(*t)
	return &n
}
