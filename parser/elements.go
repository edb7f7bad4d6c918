package parser

import "slices"

// elemGrammar is what may stand in braces.
type elemGrammar uint8

const (
	// elemsOfSet: elements with or without data, sets in sets.
	elemsOfSet elemGrammar = iota
	// elemsOfVMap: every element has a verdict.
	elemsOfVMap
)

// elemPiece is how many elements of a list are gathered at a time.
const elemPiece = 4096

// setLit parses `{ … }`: elements separated by commas, with one newline
// allowed on each side of an element, as nft has it. Elements are read by hand
// and kept in slabs, since lists of 100,000 are common.
func (p *parser) setLit(g elemGrammar, mayBeEmpty bool) *SetLit {
	start := p.tok.pos
	p.enter()
	p.want('{')
	lit := &SetLit{}
	if mayBeEmpty && p.at('}') {
		p.next()
		p.leave()
		lit.Node = p.node(start)
		return lit
	}
	var elems []*Elem
	var full [][]*Elem // pieces before elems: a long list is not copied as it grows
	for first := true; ; first = false {
		if p.tok.kind == tokNewline {
			p.next()
		}
		if !first && (p.at('}') || p.at(',')) {
			// `a, }` and `a, , b`: the comma may be followed by nothing
			if p.at('}') {
				break
			}
			p.next()
			continue
		}
		if len(elems) == elemPiece {
			full = append(full, elems)
			elems = make([]*Elem, 0, elemPiece)
		}
		elems = append(elems, p.elem(g))
		if p.tok.kind == tokNewline {
			p.next()
		}
		if !p.at(',') {
			break
		}
		p.next()
	}
	if !p.at('}') {
		p.unexpected("',' or '}'")
	}
	p.next()
	p.leave()
	if full != nil {
		elems = slices.Concat(append(full, elems)...)
	}
	lit.Elems = elems
	lit.Node = p.node(start)
	return lit
}

// elem parses one element.
func (p *parser) elem(g elemGrammar) *Elem {
	e := slabNew(&p.slab.elems)
	start := p.tok.pos
	switch {
	case p.at('{') && g == elemsOfSet:
		e.Key = p.setLit(g, false)
		e.Span = p.from(start)
		return e
	case p.at('*'):
		p.next()
		e.Key = &Wildcard{p.node(start)}
	default:
		e.Key = p.value()
	}
	if p.tok.kind == tokKeyword {
		e.Opts = p.elemOpts()
	}
	if p.at(':') {
		p.next()
		if v, ok := p.verdict(); ok {
			e.Data = v
		} else if g == elemsOfVMap {
			p.unexpectedOf("accept", "drop", "continue", "return", "jump", "goto")
		} else {
			e.Data = p.value()
		}
	} else if g == elemsOfVMap {
		p.unexpected("':' and a verdict")
	}
	e.Span = p.from(start)
	return e
}

// elemOpts parses what may follow the key of an element in braces: statements,
// options, statements again.
func (p *parser) elemOpts() *ElemOpts {
	o := &ElemOpts{}
	o.Stmts = p.statefulList(nil)
	if p.options(o, true) {
		o.Stmts = p.statefulList(o.Stmts)
	}
	if len(o.Stmts) == 0 && o.Timeout == nil && o.Expires == nil && o.Comment == nil {
		return nil
	}
	return o
}

// options parses timeout, expires and comment; it tells whether there was any.
func (p *parser) options(o *ElemOpts, never bool) bool {
	some := false
	for {
		switch p.word() {
		case "timeout":
			p.next()
			n := p.duration(never)
			o.Timeout = &n
		case "expires":
			p.next()
			n := p.duration(false)
			o.Expires = &n
		case "comment":
			at := p.tok.pos
			n := p.comment()
			if o.Comment != nil {
				p.fail("duplicate", p.from(at), "You can only specify this once. This statement is duplicated.")
			}
			o.Comment = &n
		default:
			return some
		}
		some = true
	}
}

// comment takes `comment "…"`.
func (p *parser) comment() Name {
	p.wantWord("comment")
	n := p.text("a comment")
	if len(n.Text) > commentMax {
		p.fail("comment-too-long", n.Span, "comment too long, %d characters maximum allowed", commentMax)
	}
	return n
}

// duration takes a time such as 1h30m; never allows the word `never`.
func (p *parser) duration(never bool) Name {
	if !p.tok.isString() {
		p.unexpected("a time such as 30s or 1h30m")
	}
	n := p.take()
	if never && n.Text == "never" {
		return n
	}
	if timeLen(n.Text) != len(n.Text) {
		p.fail("bad-time", n.Span, "wrong time format %q, expected a time such as 30s or 1h30m", clip(n.Text))
	}
	return n
}
