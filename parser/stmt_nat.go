package parser

var natFlags = []string{"random", "fully-random", "persistent"}

// natFlagList parses flags separated by commas, if there are any.
func (p *parser) natFlagList(list []Name) []Name {
	if !oneIn(p.word(), natFlags) {
		return list
	}
	list = append(list, p.take())
	for p.got(',') {
		list = append(list, p.key(natFlags))
	}
	return list
}

// nat parses snat and dnat.
func (p *parser) nat(start int) Stmt {
	n := &NAT{Kind: p.tok.text}
	defer p.in("nat")()
	p.next()
	if w := p.word(); w == "ip" || w == "ip6" {
		switch p.peek().text {
		case "to", "addr", "interval", "prefix":
			n.Family = p.take()
		}
	}
	switch p.word() {
	case "addr":
		p.next()
		p.want('.')
		p.wantWord("port")
		p.wantWord("to")
		n.To, n.AddrPort = true, true
		n.Addr = p.stmtExpr()
	case "interval", "prefix":
		n.Interval = p.tok.text == "interval"
		n.Prefix = !n.Interval
		p.next()
		p.wantWord("to")
		n.To = true
		n.Addr = p.stmtExpr()
	default:
		n.To = p.gotWord("to")
		if !p.at(':') {
			n.Addr = p.stmtExpr()
		} else if n.Family.Text != "" {
			p.unexpected("an address")
		}
		if p.got(':') {
			n.Port = p.stmtExpr()
		}
	}
	for oneIn(p.word(), natFlags) {
		n.Flags = p.natFlagList(n.Flags)
	}
	p.endOfNAT()
	n.Node = p.node(start)
	return n
}

// endOfNAT refuses the words that are keywords behind a NAT statement.
func (p *parser) endOfNAT() {
	switch p.word() {
	case "to", "addr", "port", "prefix", "fully-random", "persistent":
		p.unexpected("the end of the statement")
	}
}

// natHere parses masquerade and redirect, whose address is the machine's own.
func (p *parser) natHere(start int) Stmt {
	n := &NAT{Kind: p.tok.text}
	defer p.in("nat")()
	p.next()
	if p.gotWord("to") {
		n.To = true
		if p.got(':') {
			n.Colon = true
		} else if n.Kind == "masquerade" {
			p.unexpected("':' and a port")
		}
		n.Port = p.stmtExpr()
	}
	n.Flags = p.natFlagList(nil)
	p.endOfNAT()
	n.Node = p.node(start)
	return n
}

// tproxy parses `tproxy [ip|ip6] to [ADDR][:PORT]`.
func (p *parser) tproxy(start int) Stmt {
	p.next()
	t := &TProxy{}
	if w := p.word(); w == "ip" || w == "ip6" {
		t.Family = p.take()
	}
	p.wantWord("to")
	if !p.at(':') {
		t.Addr = p.stmtExpr()
	}
	if p.got(':') {
		t.Port = p.stmtExpr()
	}
	t.Node = p.node(start)
	return t
}

// dup parses `dup to ADDR [device DEV]`.
func (p *parser) dup(start int) Stmt {
	p.next()
	p.wantWord("to")
	d := &Dup{To: p.stmtExpr()}
	if p.gotWord("device") {
		d.Dev = p.stmtExpr()
	}
	d.Node = p.node(start)
	return d
}

// fwd parses `fwd to DEV` and `fwd ip to ADDR device DEV`.
func (p *parser) fwd(start int) Stmt {
	p.next()
	f := &Fwd{}
	if w := p.word(); w == "ip" || w == "ip6" {
		f.Family = p.take()
	}
	p.wantWord("to")
	x := p.stmtExpr()
	if f.Family.Text == "" {
		f.Dev = x
	} else {
		f.Addr = x
		p.wantWord("device")
		f.Dev = p.stmtExpr()
	}
	f.Node = p.node(start)
	return f
}

var queueFlags = []string{"bypass", "fanout"}

// queue parses both forms of queue.
func (p *parser) queue(start int) Stmt {
	p.next()
	q := &Queue{}
	switch {
	case p.gotWord("to"):
		q.To = true
		q.Num = p.queueExpr()
	case p.gotWord("flags"):
		q.FlagsFirst = true
		q.Flags = p.queueFlagList(nil)
		switch {
		case p.gotWord("to"):
			q.To = true
			q.Num = p.queueExpr()
		case p.gotWord("num"):
			q.Num = p.queueNum()
		default:
			p.unexpectedOf("to", "num")
		}
	default:
		for {
			if p.gotWord("num") {
				q.Num = p.queueNum()
			} else if oneIn(p.word(), queueFlags) {
				q.Flags = p.queueFlagList(q.Flags)
			} else {
				break
			}
		}
	}
	q.Node = p.node(start)
	return q
}

func (p *parser) queueFlagList(list []Name) []Name {
	list = append(list, p.key(queueFlags))
	for p.got(',') {
		list = append(list, p.key(queueFlags))
	}
	return list
}

// queueNum parses a queue number or range of them.
func (p *parser) queueNum() Expr {
	start := p.tok.pos
	one := func() Expr {
		if p.at('$') {
			return p.variable()
		}
		if p.tok.kind != tokNumber {
			p.unexpected("a queue number")
		}
		return p.symbol()
	}
	x := one()
	if !p.got('-') {
		return x
	}
	r := &Range{From: x, To: one()}
	r.Node = p.node(start)
	return r
}

// queueExpr parses what `queue to` takes: numbers, numgen, a hash or a map.
func (p *parser) queueExpr() Expr {
	start := p.tok.pos
	if p.tok.kind == tokNumber || p.at('$') {
		if n := p.peek(); n.kind != tokPunct || n.op != '.' && n.op != '&' {
			return p.queueNum()
		}
	}
	x := p.concat()
	switch x.(type) {
	case *Numgen, *Hash:
		if !p.atWord("map") {
			return x
		}
	}
	if !p.atWord("map") {
		p.unexpectedOf("map")
	}
	return p.mapRest(start, x)
}
