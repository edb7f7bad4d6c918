package parser

import "strings"

// blockKind is what may stand in one kind of block, besides include, define,
// redefine and undefine.
type blockKind struct {
	name string
	// file: the top level, which no brace closes.
	file bool
	// included: the text of an included file, which ends with the file.
	included bool
	// bare: include and define may not stand here.
	bare bool
	// item parses one item and the separator that must follow it.
	item func(p *parser) Item
}

// The kinds of blocks. They are set in init, since their functions refer to
// one another.
var (
	fileBlock, tableBlock, chainBlock, subchainBlock, setBlock, mapBlock, flowtableBlock blockKind
	tunnelVxlanBlock, tunnelGeneveBlock, tunnelErspanBlock                               blockKind
	objectBlocks                                                                         map[string]*blockKind
)

func init() {
	fileBlock = blockKind{name: "file", file: true, item: (*parser).command}
	tableBlock = blockKind{name: "table", item: (*parser).tableItem}
	chainBlock = blockKind{name: "chain", item: (*parser).chainItem}
	subchainBlock = blockKind{name: "chain", bare: true, item: (*parser).ruleItem}
	setBlock = blockKind{name: "set", item: (*parser).setItem}
	mapBlock = blockKind{name: "map", item: (*parser).mapItem}
	flowtableBlock = blockKind{name: "flowtable", item: (*parser).flowtableItem}
	tunnelVxlanBlock = blockKind{name: "vxlan", item: (*parser).vxlanItem}
	tunnelGeneveBlock = blockKind{name: "geneve", item: (*parser).geneveItem}
	tunnelErspanBlock = blockKind{name: "erspan", item: (*parser).erspanItem}
	objectBlocks = map[string]*blockKind{
		"counter":        {name: "counter", item: (*parser).counterItem},
		"quota":          {name: "quota", item: (*parser).quotaItem},
		"limit":          {name: "limit", item: (*parser).limitItem},
		"secmark":        {name: "secmark", item: (*parser).secmarkItem},
		"synproxy":       {name: "synproxy", item: (*parser).synproxyItem},
		"ct helper":      {name: "ct helper", item: (*parser).ctHelperItem},
		"ct timeout":     {name: "ct timeout", item: (*parser).ctTimeoutItem},
		"ct expectation": {name: "ct expectation", item: (*parser).ctExpectItem},
		"tunnel":         {name: "tunnel", item: (*parser).tunnelItem},
	}
}

// block parses `{ … }`.
func (p *parser) block(b *blockKind) []Item {
	open := p.tok
	p.note(open.pos, markBlock)
	p.enter()
	p.want('{')
	list := p.items(b, nil)
	p.once(b, list)
	if !p.at('}') {
		d := p.syntaxError("'}'")
		d.Notes = append(d.Notes, noteAt(p, &open, "the block that is not closed begins here"))
		panic(bailout{d})
	}
	p.next()
	p.leave()
	return list
}

// blockItem parses one item of a block.
func (p *parser) blockItem(b *blockKind, list []Item) []Item {
	if !b.bare && p.tok.kind == tokKeyword {
		switch p.tok.text {
		case "include":
			return append(list, p.include(b))
		case "define", "redefine", "undefine":
			if d := p.define(); d != nil {
				list = append(list, d)
			}
			return list
		}
	}
	if it := b.item(p); it != nil {
		if c, ok := it.(*CommentStmt); ok {
			p.onlyComment(list, c)
		}
		list = append(list, it)
	}
	return list
}

// separatorHere refuses anything but a newline or semicolon.
func (p *parser) separatorHere() {
	if p.tok.kind != tokNewline && !p.at(';') {
		p.unexpected("newline or ';'")
	}
}

// separator takes the newline or semicolon that must end an item; atEnd allows
// the end of the file instead. At the end of an included file the separator
// may be what follows in the file that included it.
func (p *parser) separator(atEnd bool) {
	if p.tok.kind == tokEOF && len(p.outer) > 0 {
		t, file := p.afterFile()
		switch {
		case t.kind == tokNewline, t.kind == tokPunct && t.op == ';', t.kind == tokEOF && atEnd:
			return
		}
		d := p.syntaxErrorAt(&t, file, "newline or ';' at the end of the included file")
		d.Notes = append(d.Notes, noteAt(p, &p.tok, "the included file ends here without a newline"))
		panic(bailout{d})
	}
	if atEnd && p.tok.kind == tokEOF {
		return
	}
	p.separatorHere()
	p.next()
}

// done takes the separator and gives the item back.
func (p *parser) done(it Item) Item {
	p.separator(false)
	return it
}

// onlyComment refuses a second comment of a block.
func (p *parser) onlyComment(list []Item, c *CommentStmt) {
	for _, it := range list {
		if _, dup := it.(*CommentStmt); dup {
			p.errorf("duplicate", c.Span, "You can only specify this once. This statement is duplicated.")
			return
		}
	}
}

// tableItem parses a member of a table.
func (p *parser) tableItem() Item {
	start := p.tok.pos
	switch p.word() {
	case "flags":
		p.next()
		f := &Flags{Names: []Name{p.tableFlag()}}
		for p.got(',') {
			f.Names = append(f.Names, p.tableFlag())
		}
		f.Node = p.node(start)
		return p.done(f)
	case "comment":
		n := p.comment()
		return p.done(&CommentStmt{p.node(start), n})
	}
	kind := p.memberKind()
	if kind == "" {
		p.unexpectedOf("chain", "set", "map", "flowtable", "counter", "quota", "limit", "ct",
			"secmark", "synproxy", "tunnel", "flags", "comment", "include", "define")
	}
	c := &Command{Kind: kind, KindSpan: p.from(start)}
	c.Object = p.objectName(kind)
	c.Body = p.body(kind)
	c.Node = p.node(start)
	return p.done(c)
}

// objectName takes the name of a member of a table.
func (p *parser) objectName(kind string) Name {
	if p.tok.kind == tokWord && reservedName(kind, p.tok.text) {
		p.unexpected("name of the " + kind)
	}
	return p.identifier("name of the " + kind)
}

// reservedName: words that are keywords behind the kind of an object.
func reservedName(kind, word string) bool {
	if kind, _, isCT := strings.Cut(kind, " "); isCT && kind == "ct" {
		return stateWords["ct"].has(word) || ctObjectWords.has(word)
	}
	return stateWords[kind].has(word)
}

func (p *parser) tableFlag() Name {
	if !p.tok.isString() {
		p.unexpectedOf("dormant", "owner", "persist")
	}
	n := p.take()
	switch n.Text {
	case "dormant", "owner", "persist":
	default:
		p.fail("unknown-flag", n.Span, "unknown table option %s", clip(n.Text))
	}
	return n
}

// memberKind takes the words that say what a member of a table is.
func (p *parser) memberKind() string {
	w := p.word()
	switch w {
	case "chain", "set", "map", "flowtable":
		p.next()
		return w
	case "ct":
		p.next()
		return "ct " + p.key([]string{"helper", "timeout", "expectation"}).Text
	}
	if _, ok := objectBlocks[w]; ok {
		p.next()
		return w
	}
	return ""
}

// body parses the block of a member.
func (p *parser) body(kind string) Body {
	start := p.tok.pos
	switch kind {
	case "table":
		p.pushScope()
		t := &TableBlock{Items: p.block(&tableBlock)}
		p.popScope()
		t.Node = p.node(start)
		return t
	case "chain":
		p.pushScope()
		c := &ChainBlock{Items: p.block(&chainBlock)}
		p.popScope()
		c.Node = p.node(start)
		return c
	case "set", "map":
		b := &setBlock
		if kind == "map" {
			b = &mapBlock
		}
		s := &SetBlock{Items: p.block(b)}
		s.Node = p.node(start)
		return s
	case "flowtable":
		f := &FlowtableBlock{Items: p.block(&flowtableBlock)}
		f.Node = p.node(start)
		return f
	}
	o := &ObjectBlock{Items: p.block(objectBlocks[kind])}
	o.Node = p.node(start)
	return o
}

// ruleItem parses a rule of a block.
func (p *parser) ruleItem() Item { return p.done(p.rule()) }

// chainItem parses a member of a chain.
func (p *parser) chainItem() Item {
	start := p.tok.pos
	switch p.word() {
	case "type":
		p.note(start, markSemicolon)
		return p.done(p.hookSpec())
	case "policy":
		p.note(start, markSemicolon)
		p.next()
		s := &PolicySpec{}
		if p.at('$') {
			v := p.variable()
			s.Policy = Name{Span: v.Span, Text: v.Name, Var: true}
		} else {
			s.Policy = p.key([]string{"accept", "drop"})
		}
		s.Node = p.node(start)
		return p.done(s)
	case "flags":
		p.next()
		f := &Flags{Names: []Name{p.key([]string{"offload"})}}
		f.Node = p.node(start)
		return p.done(f)
	case "devices":
		return p.done(p.devices())
	case "comment":
		n := p.comment()
		return p.done(&CommentStmt{p.node(start), n})
	}
	return p.ruleItem()
}

var hookNames = []string{"prerouting", "input", "forward", "postrouting", "output", "ingress", "egress"}

// hookSpec parses `type T hook H [device …] priority P`.
func (p *parser) hookSpec() *HookSpec {
	start := p.tok.pos
	p.next()
	h := &HookSpec{Type: p.key([]string{"filter", "nat", "route"})}
	p.wantWord("hook")
	h.Hook = p.hookName()
	switch p.word() {
	case "device":
		p.next()
		if p.at('$') {
			h.Devices = p.variable()
		} else {
			h.Devices = p.device()
		}
	case "devices":
		h.Devices = p.devices().Devices
	}
	h.Priority = p.priority()
	h.Node = p.node(start)
	return h
}

func (p *parser) hookName() Name {
	if !p.tok.isString() {
		p.unexpectedOf(hookNames...)
	}
	n := p.take()
	if !oneIn(n.Text, hookNames) {
		d := p.hookError(n)
		panic(bailout{d})
	}
	return n
}

// priority parses `priority P`.
func (p *parser) priority() Expr {
	p.wantWord("priority")
	start := p.tok.pos
	switch {
	case p.at('$'):
		return p.variable()
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
	case p.tok.kind == tokNumber:
		return p.symbol()
	case p.tok.isString():
	default:
		p.unexpected("a number or the name of a priority")
	}
	x := p.symbol()
	if !p.at('+') && !p.at('-') {
		return x
	}
	p.note(p.tok.pos, markSpaced)
	b := &Binary{Op: p.tok.text, OpSpan: p.spanOf(&p.tok), X: x}
	p.next()
	if p.tok.kind != tokNumber {
		p.unexpected("number")
	}
	b.Y = p.symbol()
	b.Node = p.node(start)
	return b
}

// ifnameMax is the longest interface name with its zero byte (IFNAMSIZ).
const ifnameMax = 16

func (p *parser) device() Expr {
	if !p.tok.isText() {
		p.unexpected("name of an interface")
	}
	y := p.symbol()
	switch {
	case y.Text == "":
		p.fail("bad-interface", y.Span, "empty interface name")
	case len(y.Text) >= ifnameMax:
		p.fail("bad-interface", y.Span, "interface name too long")
	}
	return y
}

// devices parses `devices = { a, b }` or `devices = $x`.
func (p *parser) devices() *DevicesSpec {
	start := p.tok.pos
	p.next()
	p.want('=')
	d := &DevicesSpec{}
	at := p.tok.pos
	if p.at('$') {
		d.Devices = p.variable()
	} else {
		p.enter()
		p.want('{')
		lit := &SetLit{}
		for {
			e := &Elem{}
			if p.at('$') {
				e.Key = p.variable()
			} else {
				e.Key = p.device()
			}
			e.Span = e.Key.Pos()
			lit.Elems = append(lit.Elems, e)
			comma := false
			for p.got(',') {
				comma = true
				if p.tok.kind == tokNewline {
					p.next()
				}
			}
			if !comma || p.at('}') {
				break
			}
		}
		p.want('}')
		p.leave()
		lit.Node = p.node(at)
		d.Devices = lit
	}
	d.Node = p.node(start)
	return d
}

// flowtableItem parses a member of a flowtable.
func (p *parser) flowtableItem() Item {
	start := p.tok.pos
	switch p.word() {
	case "hook":
		p.next()
		h := &HookSpec{Hook: p.hookName()}
		h.Priority = p.priority()
		h.Node = p.node(start)
		return p.done(h)
	case "devices":
		return p.done(p.devices())
	case "counter":
		p.next()
		return &Word{p.node(start), "counter"}
	case "flags":
		p.next()
		f := &Flags{Names: []Name{p.key([]string{"offload"})}}
		f.Node = p.node(start)
		return p.done(f)
	}
	p.unexpectedOf("hook", "devices", "counter", "flags", "include", "define")
	return nil
}
