package parser

// setItem parses a member of a set.
func (p *parser) setItem() Item {
	if p.atWord("auto-merge") {
		start := p.tok.pos
		p.next()
		return &AutoMerge{p.node(start)}
	}
	return p.setOrMapItem(false)
}

// mapItem parses a member of a map.
func (p *parser) mapItem() Item { return p.setOrMapItem(true) }

func (p *parser) setOrMapItem(isMap bool) Item {
	start := p.tok.pos
	switch w := p.word(); w {
	case "type", "typeof":
		return p.done(p.setType(isMap))
	case "flags":
		p.next()
		kinds := []string{"constant", "interval", "timeout", "dynamic"}
		f := &Flags{Names: []Name{p.key(kinds)}}
		for p.got(',') {
			f.Names = append(f.Names, p.key(kinds))
		}
		f.Node = p.node(start)
		return p.done(f)
	case "timeout", "gc-interval":
		p.next()
		d := &Duration{Keyword: w, Value: p.duration(false)}
		d.Node = p.node(start)
		return p.done(d)
	case "size":
		p.next()
		if p.tok.kind != tokNumber {
			p.unexpected("number")
		}
		s := &SizeSpec{Value: p.symbol()}
		s.Node = p.node(start)
		return p.done(s)
	case "policy":
		p.next()
		s := &PolicySpec{Policy: p.key([]string{"performance", "memory"})}
		s.Node = p.node(start)
		return p.done(s)
	case "elements":
		p.next()
		p.want('=')
		e := &Elements{}
		if p.at('$') {
			e.Value = p.variable()
		} else {
			e.Value = p.setLit(elemsOfSet, false)
		}
		e.Node = p.node(start)
		return e
	case "comment":
		n := p.comment()
		return p.done(&CommentStmt{p.node(start), n})
	}
	if p.tok.kind == tokKeyword {
		if s := p.stateful(); s != nil {
			it := &SetStmt{Node: p.node(start), Stmt: s}
			// several may stand on one line
			if p.tok.kind == tokKeyword {
				switch p.tok.text {
				case "counter", "limit", "quota", "last", "ct":
					return it
				}
			}
			return p.done(it)
		}
	}
	expected := []string{"type", "typeof", "flags", "timeout", "gc-interval", "size", "policy", "elements", "counter", "comment"}
	if !isMap {
		expected = append(expected, "auto-merge")
	}
	p.unexpectedOf(expected...)
	return nil
}

// setType parses `type K [: D]` and `typeof K [: D]`.
func (p *parser) setType(isMap bool) *SetType {
	start := p.tok.pos
	t := &SetType{Typeof: p.tok.text == "typeof"}
	p.next()
	one := p.dataType
	if t.Typeof {
		one = p.typeofExpr
	}
	t.Key = p.dotted(one)
	if !isMap {
		t.Node = p.node(start)
		return t
	}
	p.note(p.tok.pos, markSpaced)
	p.want(':')
	switch w := p.word(); w {
	case "counter", "quota", "limit", "secmark", "synproxy":
		p.next()
		t.Object = w
	case "interval":
		p.next()
		t.Interval = true
		t.Data = p.dotted(one)
	default:
		if t.Typeof {
			switch {
			case w == "queue":
				t.Data = p.symbol()
			case p.tok.isString():
				if w != "verdict" {
					p.fail("no-typeof", p.spanOf(&p.tok), "map data type '%s' lacks typeof serialization", clip(p.tok.text))
				}
				t.Data = p.symbol()
			case w == "ct":
				if n := p.peek(); n.text == "timeout" || n.text == "expectation" {
					p.next()
					p.next()
					t.Object = "ct " + n.text
				} else if n.text == "helper" {
					x := p.dotted(one)
					if _, single := x.(*CT); single {
						t.Object = "ct helper"
					} else {
						t.Data = x
					}
				} else {
					t.Data = p.dotted(one)
				}
			default:
				t.Data = p.dotted(one)
			}
			break
		}
		t.Data = p.dotted(one)
	}
	t.Node = p.node(start)
	return t
}

// dotted parses `a . b . c`.
func (p *parser) dotted(one func() Expr) Expr {
	start := p.tok.pos
	x := one()
	if !p.at('.') {
		return x
	}
	c := &Concat{Items: []Expr{x}}
	for p.got('.') {
		c.Items = append(c.Items, one())
	}
	c.Node = p.node(start)
	return c
}

// dataType takes the name of a datatype.
func (p *parser) dataType() Expr {
	switch {
	case p.tok.isString():
	case p.atWord("mark"), p.atWord("ecn"), p.atWord("time"):
	default:
		p.unexpected("name of a datatype")
	}
	return p.symbol()
}

// typeofExpr parses an expression whose type is meant.
func (p *parser) typeofExpr() Expr {
	if p.at('@') {
		return p.rawPayload(p.tok.pos)
	}
	if p.tok.kind == tokKeyword {
		if x := p.selector(sideMatch); x != nil {
			return x
		}
	}
	p.unexpected("an expression such as ip saddr")
	return nil
}
