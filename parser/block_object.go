package parser

import "github.com/alecthomas/participle/v2/lexer"

// The definitions of named objects that participle reads.

type counterConfig struct {
	Packets lexer.Token `parser:"'packets' @Number"`
	Bytes   lexer.Token `parser:"'bytes' @Number"`
}

type ctHelperConfig struct {
	Type     *lexer.Token `parser:"  'type' @Quoted"`
	Protocol *lexer.Token `parser:"  'protocol' @('tcp' | 'udp')"`
	L3       *lexer.Token `parser:"| 'l3proto' @('ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev')"`
}

type ctTimeoutConfig struct {
	Protocol *lexer.Token `parser:"  'protocol' @('tcp' | 'udp')"`
	L3       *lexer.Token `parser:"| 'l3proto' @('ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev')"`
}

type ctExpectConfig struct {
	Protocol *lexer.Token `parser:"  'protocol' @('tcp' | 'udp')"`
	L3       *lexer.Token `parser:"| 'l3proto' @('ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev')"`
	Dport    *lexer.Token `parser:"| 'dport' @Number"`
	Timeout  *lexer.Token `parser:"| 'timeout' @(Word | Literal)"`
	Size     *lexer.Token `parser:"| 'size' @Number"`
}

type tunnelConfig struct {
	Number *tunnelNumber `parser:"  @@"`
	Addr   *tunnelAddr   `parser:"| @@"`
}

type tunnelNumber struct {
	Key   lexer.Token `parser:"@('id' | 'sport' | 'dport' | 'ttl' | 'tos')"`
	Value lexer.Token `parser:"@Number"`
}

type tunnelAddr struct {
	Family lexer.Token `parser:"@('ip' | 'ip6')"`
	Which  lexer.Token `parser:"@('saddr' | 'daddr')"`
}

type geneveConfig struct {
	Class lexer.Token `parser:"'class' @Number"`
	Type  lexer.Token `parser:"'opt-type' @Number"`
	Data  lexer.Token `parser:"'data' @(Word | Literal | Quoted | Asterisk)"`
}

type erspanConfig struct {
	Key       *lexer.Token `parser:"  @('version' | 'index' | 'id')"`
	Value     *lexer.Token `parser:"  @Number"`
	Direction *lexer.Token `parser:"| 'direction' @('ingress' | 'egress')"`
}

var (
	counterConfigParser   grammar[counterConfig]
	ctHelperConfigParser  grammar[ctHelperConfig]
	ctTimeoutConfigParser grammar[ctTimeoutConfig]
	ctExpectConfigParser  grammar[ctExpectConfig]
	tunnelConfigParser    grammar[tunnelConfig]
	geneveConfigParser    grammar[geneveConfig]
	erspanConfigParser    grammar[erspanConfig]
)

// symTok makes a symbol of a token that participle took.
func (p *parser) symTok(t lexer.Token) *Symbol {
	n := p.nameTok(t)
	return &Symbol{Node: Node{n.Span}, Text: n.Text, Quoted: n.Quoted, Number: tokenKind(t.Type) == tokNumber}
}

// objectComment takes a comment, which no separator need follow.
func (p *parser) objectComment() Item {
	start := p.tok.pos
	n := p.comment()
	return &CommentStmt{p.node(start), n}
}

func (p *parser) counterItem() Item {
	start := p.tok.pos
	if p.atWord("comment") {
		return p.objectComment()
	}
	if !p.atWord("packets") {
		p.unexpectedOf("packets", "comment")
	}
	return &SetStmt{Stmt: p.counterConfig(), Node: p.node(start)}
}

func (p *parser) counterConfig() *Counter {
	start := p.tok.pos
	g := parseMicro(p, &counterConfigParser)
	c := &Counter{Packets: p.numTokPtr(&g.Packets), Bytes: p.numTokPtr(&g.Bytes)}
	c.Node = p.node(start)
	return c
}

func (p *parser) quotaItem() Item {
	start := p.tok.pos
	if p.atWord("comment") {
		return p.objectComment()
	}
	q := p.quotaOf(start, parseMicro(p, &amountParser))
	return &SetStmt{Stmt: q, Node: q.Node}
}

func (p *parser) limitItem() Item {
	start := p.tok.pos
	if p.atWord("comment") {
		return p.objectComment()
	}
	l := p.limitOf(start, parseMicro(p, &rateParser))
	return &SetStmt{Stmt: l, Node: l.Node}
}

// secmarkMax is the size of a security context with its zero byte
// (NFT_SECMARK_CTX_MAXLEN).
const secmarkMax = 4096

func (p *parser) secmarkItem() Item {
	start := p.tok.pos
	if p.atWord("comment") {
		return p.objectComment()
	}
	if !p.tok.isText() {
		p.unexpected("a security context in quotes, or comment")
	}
	y := p.symbol()
	if y.Text == "" || len(y.Text) >= secmarkMax {
		p.fail("bad-context", y.Span, "invalid context '%s', max length is %d", clip(y.Text), secmarkMax)
	}
	return &Property{Node: p.node(start), Args: []Expr{y}}
}

// synproxyItem parses `mss N wscale N [timestamp] [sack-perm]`, on one line or
// with separators behind the numbers.
func (p *parser) synproxyItem() Item {
	if p.atWord("comment") {
		return p.objectComment()
	}
	start := p.tok.pos
	s := &Synproxy{}
	if !p.gotWord("mss") && !p.gotWord("maxseg") {
		p.unexpectedOf("mss", "comment")
	}
	s.MSS = p.numberPtr()
	lines := p.tok.kind == tokNewline || p.at(';')
	if lines {
		p.next()
	}
	p.wantWord("wscale")
	s.Wscale = p.numberPtr()
	if lines {
		p.separator(false)
	}
	s.Timestamp = p.gotWord("timestamp")
	s.SackPerm = p.gotWord("sack-perm") || p.gotWord("sack-permitted")
	s.Node = p.node(start)
	return &SetStmt{Stmt: s, Node: s.Node}
}

// property makes a Property of a keyword and its values.
func (p *parser) property(start int, keyword Name, args ...Expr) *Property {
	return &Property{Node: p.node(start), Keyword: keyword, Args: args}
}

func (p *parser) keywordName() Name { return p.nameOf(&p.tok) }

// helperNameMax is the size of a helper's name with its zero byte.
const helperNameMax = 16

func (p *parser) ctHelperItem() Item {
	if p.atWord("comment") {
		return p.objectComment()
	}
	start, kw := p.tok.pos, p.keywordName()
	g := parseMicro(p, &ctHelperConfigParser)
	if g.L3 != nil {
		return p.done(p.property(start, kw, p.symTok(*g.L3)))
	}
	name := p.symTok(*g.Type)
	if name.Text == "" || len(name.Text) >= helperNameMax {
		p.fail("bad-helper", name.Span, "invalid name '%s', max length is %d", clip(name.Text), helperNameMax)
	}
	proto := p.symTok(*g.Protocol)
	word := &Symbol{Node: Node{Span: name.Span}, Text: "protocol"}
	return p.done(p.property(start, kw, name, word, proto))
}

func (p *parser) ctTimeoutItem() Item {
	if p.atWord("comment") {
		return p.objectComment()
	}
	start, kw := p.tok.pos, p.keywordName()
	if p.gotWord("policy") {
		p.want('=')
		at := p.tok.pos
		p.note(at, markOneLine)
		p.enter()
		p.want('{')
		lit := &SetLit{}
		for {
			from := p.tok.pos
			if !p.tok.isString() {
				p.unexpected("name of a state")
			}
			e := &Elem{Key: p.symbol()}
			p.want(':')
			if p.tok.kind == tokNumber {
				e.Data = p.symbol()
			} else {
				n := p.duration(false)
				e.Data = &Symbol{Node: Node{n.Span}, Text: n.Text}
			}
			e.Span = p.from(from)
			lit.Elems = append(lit.Elems, e)
			if !p.got(',') {
				break
			}
		}
		p.want('}')
		p.leave()
		lit.Node = p.node(at)
		return p.done(p.property(start, kw, lit))
	}
	g := parseMicro(p, &ctTimeoutConfigParser)
	if g.L3 != nil {
		return p.done(p.property(start, kw, p.symTok(*g.L3)))
	}
	return p.done(p.property(start, kw, p.symTok(*g.Protocol)))
}

func (p *parser) ctExpectItem() Item {
	if p.atWord("comment") {
		return p.objectComment()
	}
	start, kw := p.tok.pos, p.keywordName()
	g := parseMicro(p, &ctExpectConfigParser)
	var v *lexer.Token
	switch {
	case g.L3 != nil:
		v = g.L3
	case g.Protocol != nil:
		v = g.Protocol
	case g.Dport != nil:
		v = g.Dport
	case g.Size != nil:
		v = g.Size
	default:
		v = g.Timeout
		if n := p.nameTok(*v); timeLen(n.Text) != len(n.Text) {
			p.fail("bad-time", n.Span, "wrong time format %q, expected a time such as 30s or 1h30m", clip(n.Text))
		}
	}
	return p.done(p.property(start, kw, p.symTok(*v)))
}

func (p *parser) tunnelItem() Item {
	start, kw := p.tok.pos, p.keywordName()
	switch w := p.word(); w {
	case "comment":
		return p.objectComment()
	case "erspan", "vxlan", "geneve":
		b := map[string]*blockKind{"erspan": &tunnelErspanBlock, "vxlan": &tunnelVxlanBlock, "geneve": &tunnelGeneveBlock}[w]
		p.next()
		o := &Property{Keyword: kw, Items: p.block(b)}
		o.Node = p.node(start)
		return p.done(o)
	}
	g := parseMicro(p, &tunnelConfigParser)
	if g.Number != nil {
		return p.done(p.property(start, kw, p.symTok(g.Number.Value)))
	}
	which := p.symTok(g.Addr.Which)
	if p.at('$') {
		return p.done(p.property(start, kw, which, p.variable()))
	}
	if !p.tok.isText() {
		p.unexpected("an address")
	}
	y := p.symbol()
	return p.done(p.property(start, kw, which, y))
}

func (p *parser) vxlanItem() Item {
	start, kw := p.tok.pos, p.keywordName()
	p.wantWord("gbp")
	if p.tok.kind != tokNumber {
		p.unexpected("number")
	}
	y := p.symbol()
	return p.done(p.property(start, kw, y))
}

func (p *parser) geneveItem() Item {
	start, kw := p.tok.pos, p.keywordName()
	g := parseMicro(p, &geneveConfigParser)
	return p.done(p.property(start, kw, p.symTok(g.Class), p.symTok(g.Type), p.symTok(g.Data)))
}

func (p *parser) erspanItem() Item {
	start, kw := p.tok.pos, p.keywordName()
	g := parseMicro(p, &erspanConfigParser)
	if g.Direction != nil {
		return p.done(p.property(start, kw, p.symTok(*g.Direction)))
	}
	return p.done(p.property(start, kw, p.symTok(*g.Value)))
}
