package parser

// side is which of nft's three expression grammars applies: they share the
// operators and differ in what may be an operand.
type side uint8

const (
	// sideMatch is the left side of a comparison: selectors, and constants
	// behind operators.
	sideMatch side = iota
	// sideValue is what selectors are compared with, elements, definitions:
	// constants only.
	sideValue
	// sideSet is what statements set things to: both.
	sideSet
)

// valueKeywords are keywords that are values where a value is expected.
var valueKeywords = wordSet(
	"ether", "ip", "ip6", "vlan", "arp", "dnat", "snat", "ecn", "reset", "destroy", "last",
	"exists", "missing",
)

// protocolKeywords are the keywords that only sideValue takes as values.
var protocolKeywords = wordSet(
	"tcp", "udp", "udplite", "esp", "ah", "icmp", "igmp", "icmpv6", "gre", "comp", "dccp",
	"sctp", "redirect",
)

// precedence of the binary operators, loosest first; 0: no operator.
func (t *token) precedence() (prec int, op string) {
	switch t.kind {
	case tokPunct:
		switch t.op {
		case '|':
			return 1, "|"
		case '^':
			return 2, "^"
		case '&':
			return 3, "&"
		case opLshift:
			return 4, "<<"
		case opRshift:
			return 4, ">>"
		}
	case tokKeyword:
		switch t.text {
		case "or":
			return 1, "|"
		case "xor":
			return 2, "^"
		case "and":
			return 3, "&"
		case "lshift":
			return 4, "<<"
		case "rshift":
			return 4, ">>"
		}
	}
	return 0, ""
}

// basic parses operands joined by bit operators (nft's basic_expr,
// basic_rhs_expr and basic_stmt_expr).
func (p *parser) basic(s side) Expr { return p.binary(s, s, 1) }

func (p *parser) binary(first, rest side, lowest int) Expr {
	start := p.tok.pos
	x := p.primary(first)
	for {
		prec, op := p.tok.precedence()
		if prec == 0 || prec < lowest {
			return x
		}
		b := &Binary{Op: op, OpSpan: p.spanOf(&p.tok), X: x}
		p.next()
		// what stands behind an operator on the left side of a match is a
		// constant
		r := rest
		if r == sideMatch {
			r = sideValue
		}
		b.Y = p.binary(r, r, prec+1)
		b.Node = p.node(start)
		x = b
	}
}

// symbol makes a symbol of the token and moves on.
func (p *parser) symbol() *Symbol {
	y := slabNew(&p.slab.symbols)
	t := &p.tok
	y.Span = p.file.Span(t.pos, t.pos+len(t.text))
	y.Text = t.text
	switch t.kind {
	case tokNumber:
		y.Number = true
	case tokQuoted:
		y.Text, y.Quoted = t.text[1:len(t.text)-1], true
	case tokLiteral:
		if t.text[0] == '[' {
			y.Text, y.Braced = t.text[1:len(t.text)-1], true
		}
	}
	p.next()
	return y
}

// variable takes `$name`.
func (p *parser) variable() *Variable {
	start := p.tok.pos
	p.want('$')
	n := p.identifier("name of a definition")
	p.useName(n)
	return &Variable{Node: p.node(start), Name: n.Text}
}

// primary parses one operand.
func (p *parser) primary(s side) Expr {
	switch p.tok.kind {
	case tokWord:
		p.noStateWord()
		return p.symbol()
	case tokLiteral, tokNumber, tokQuoted, tokAsterisk:
		return p.symbol()
	case tokKeyword:
		if s != sideValue {
			if x := p.selector(s); x != nil {
				return x
			}
		}
		if s != sideMatch && valueKeywords.has(p.tok.text) || s == sideValue && protocolKeywords.has(p.tok.text) {
			return p.symbol()
		}
	case tokPunct:
		switch p.tok.op {
		case '$':
			return p.variable()
		case '(':
			p.enter()
			p.next()
			x := p.basic(s)
			p.want(')')
			p.leave()
			return x
		case '@':
			if s != sideValue {
				return p.rawPayload(p.tok.pos)
			}
		}
	}
	if s == sideMatch {
		p.unexpected("a statement or an expression")
	}
	p.unexpected("a value")
	return nil
}

// concat parses `a . b . c` of the left side.
func (p *parser) concat() Expr {
	start := p.tok.pos
	x := p.basic(sideMatch)
	if !p.at('.') {
		return x
	}
	c := &Concat{Items: []Expr{x}}
	for p.got('.') {
		c.Items = append(c.Items, p.basic(sideMatch))
	}
	c.Node = p.node(start)
	return c
}

// valueItem parses one part of a value: a constant, prefix or range. With
// slashMask, a `/` that no prefix length follows is left alone.
func (p *parser) valueItem(slashMask bool) (x Expr, single bool) {
	start := p.tok.pos
	x = p.basic(sideValue)
	switch {
	case p.at('/'):
		if slashMask {
			n, after := p.peek2()
			if n.kind != tokNumber {
				return x, true
			}
			if prec, _ := after.precedence(); prec > 0 || after.kind == tokPunct && after.op == ',' {
				return x, true
			}
		}
		p.next()
		return p.prefix(start, x), false
	case p.at('-'):
		p.next()
		return p.rangeTo(start, x, sideValue), false
	}
	return x, true
}

func (p *parser) prefix(start int, x Expr) Expr {
	if p.tok.kind != tokNumber {
		p.unexpected("a prefix length")
	}
	y := slabNew(&p.slab.prefixes)
	y.X = x
	y.Len = p.symbol()
	y.Span = p.from(start)
	return y
}

func (p *parser) rangeTo(start int, x Expr, s side) Expr {
	y := slabNew(&p.slab.ranges)
	y.From = x
	y.To = p.basic(s)
	y.Span = p.from(start)
	return y
}

// value parses a value with its concatenation (nft's concat_rhs_expr).
func (p *parser) value() Expr {
	start := p.tok.pos
	x, _ := p.valueItem(false)
	return p.valueRest(start, x)
}

func (p *parser) valueRest(start int, x Expr) Expr {
	if !p.at('.') {
		return x
	}
	var scratch [8]Expr
	items := append(scratch[:0], x)
	for p.got('.') {
		y, _ := p.valueItem(false)
		items = append(items, y)
	}
	c := slabNew(&p.slab.concats)
	c.Items = p.slab.keepExprs(items)
	c.Span = p.from(start)
	return c
}

// initializer parses what a definition gives: a value, a list, a set.
func (p *parser) initializer() Expr {
	start := p.tok.pos
	switch {
	case p.at('{'):
		return p.setLit(elemsOfSet, true)
	case p.at('@'):
		return p.setRef()
	case p.at('-'):
		p.note(start, markUnary)
		p.next()
		if p.tok.kind != tokNumber {
			p.unexpected("number")
		}
		y := p.symbol()
		y.Text = "-" + y.Text
		y.Span = p.from(start)
		return y
	}
	x, single := p.valueItem(false)
	if single && p.at(',') {
		return p.list(start, x)
	}
	return p.valueRest(start, x)
}

// list parses the rest of `a, b, c`.
func (p *parser) list(start int, x Expr) *List {
	l := &List{Items: []Expr{x}}
	for p.got(',') {
		l.Items = append(l.Items, p.basic(sideValue))
	}
	l.Node = p.node(start)
	return l
}

// setRef takes `@name`.
func (p *parser) setRef() *SetRef {
	start := p.tok.pos
	p.want('@')
	n := p.identifier("name of a set or map")
	return &SetRef{Node: p.node(start), Name: n}
}

// setOrVar takes `@name` or `$name`.
func (p *parser) setOrVar() Expr {
	switch {
	case p.at('@'):
		return p.setRef()
	case p.at('$'):
		return p.variable()
	}
	p.unexpected("@SET or $NAME")
	return nil
}

// rhs parses what a match compares with or `map` looks in: a value, a set or
// `@name`.
func (p *parser) rhs() Expr {
	switch {
	case p.at('{'):
		return p.setLit(elemsOfSet, false)
	case p.at('@'):
		return p.setRef()
	}
	return p.value()
}

// matchRHS parses the right side of a match, lists and `value / mask` too.
func (p *parser) matchRHS() Expr {
	start := p.tok.pos
	switch {
	case p.at('{'):
		return p.setLit(elemsOfSet, false)
	case p.at('@'):
		return p.setRef()
	}
	x, single := p.valueItem(true)
	if single && p.at(',') {
		x = p.list(start, x)
	} else if !p.at('/') {
		return p.valueRest(start, x)
	}
	slash := p.tok.pos
	if !single || !p.got('/') {
		return x
	}
	p.note(slash, markSpaced)
	at := p.tok.pos
	y := p.basic(sideValue)
	if !p.at(',') {
		p.unexpected("comma")
	}
	m := &SlashMask{Value: x, Mask: p.list(at, y)}
	m.Node = p.node(start)
	return m
}

// stmtExpr parses what a statement takes (nft's stmt_expr): a value, prefix,
// range, list, concatenation or map.
func (p *parser) stmtExpr() Expr {
	start := p.tok.pos
	x := p.basic(sideSet)
	switch {
	case p.at('/'):
		p.next()
		return p.prefix(start, x)
	case p.at('-'):
		p.next()
		return p.rangeTo(start, x, sideSet)
	case p.at(','):
		switch x.(type) {
		case *Symbol, *Variable:
		default:
			return x
		}
		l := &List{Items: []Expr{x}}
		for p.got(',') {
			if p.at('$') {
				l.Items = append(l.Items, p.variable())
			} else if p.tok.isText() || p.tok.kind == tokKeyword && valueKeywords.has(p.tok.text) {
				l.Items = append(l.Items, p.symbol())
			} else {
				p.unexpected("a value")
			}
		}
		l.Node = p.node(start)
		return l
	case p.at('.'):
		c := &Concat{Items: []Expr{x}}
		for p.got('.') {
			c.Items = append(c.Items, p.primary(sideSet))
		}
		c.Node = p.node(start)
		x = c
	}
	if p.gotWord("map") {
		m := &Map{X: x}
		if p.at('{') {
			m.Maps = p.setLit(elemsOfSet, false)
		} else {
			m.Maps = p.setOrVar()
		}
		m.Node = p.node(start)
		return m
	}
	return x
}

// verdict parses a verdict; ok is false, and nothing taken, if there is none.
func (p *parser) verdict() (v *Verdict, ok bool) {
	start := p.tok.pos
	kind := p.word()
	switch kind {
	case "accept", "drop", "continue", "return":
		p.next()
		v = &Verdict{Kind: kind}
	case "jump", "goto":
		p.next()
		v = &Verdict{Kind: kind}
		if p.at('$') {
			v.Chain = p.variable()
			break
		}
		if !p.tok.isString() && !p.atWord("last") {
			p.unexpected("name of a chain")
		}
		v.Chain = p.symbol()
	default:
		return nil, false
	}
	v.Node = p.node(start)
	return v, true
}
