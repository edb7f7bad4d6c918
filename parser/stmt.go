package parser

import (
	"strings"

	"github.com/nftc/nftc/internal/diag"
)

// rule parses the statements of a rule and its comment.
func (p *parser) rule() *Rule {
	start := p.tok.pos
	r := &Rule{}
	r.Stmts = append(r.Stmts, p.stmt())
	for !p.endOfRule() {
		if p.atWord("comment") {
			n := p.comment()
			r.Comment = &n
			break
		}
		r.Stmts = append(r.Stmts, p.stmt())
	}
	r.Node = p.node(start)
	return r
}

// endOfRule: what cannot go on a rule. Anything else must be a statement.
func (p *parser) endOfRule() bool {
	switch p.tok.kind {
	case tokNewline, tokEOF:
		return true
	case tokPunct:
		return p.tok.op == ';' || p.tok.op == '}'
	}
	return false
}

// stmt parses one statement, chosen by its first word.
func (p *parser) stmt() Stmt {
	start := p.tok.pos
	if p.tok.kind != tokKeyword {
		return p.matchStmt(start)
	}
	if s := p.stateful(); s != nil {
		return s
	}
	switch p.tok.text {
	case "accept", "drop", "continue", "return":
		v, _ := p.verdict()
		return &VerdictStmt{v.Node, v}
	case "jump", "goto":
		return p.jump(start)
	case "counter", "limit", "quota", "synproxy", "tunnel":
		if s := p.objRef(start); s != nil {
			return s
		}
		if p.tok.text == "synproxy" {
			return p.synproxy()
		}
	case "log":
		return p.log()
	case "reject":
		return p.reject()
	case "snat", "dnat":
		return p.nat(start)
	case "masquerade", "redirect":
		return p.natHere(start)
	case "tproxy":
		return p.tproxy(start)
	case "queue":
		return p.queue(start)
	case "dup":
		return p.dup(start)
	case "fwd":
		return p.fwd(start)
	case "notrack":
		p.next()
		return &Notrack{p.node(start)}
	case "flow":
		return p.flowAdd(start)
	case "set":
		return p.oldSetUpdate(start)
	case "add", "update", "delete":
		return p.setUpdate(start)
	case "meter":
		return p.meter(start)
	case "reset":
		return p.optionStrip(start)
	case "xt":
		p.next()
		if !p.tok.isString() {
			p.unexpected("a string")
		}
		p.next()
		p.text("a string")
		p.fail("unsupported-xt", p.from(start), "unsupported xtables compat expression, use iptables-nft with this ruleset")
	case "ct":
		if n := p.peek(); n.kind == tokKeyword && n.text == "timeout" || n.kind == tokWord && n.text == "expectation" {
			p.next()
			k := p.take()
			p.wantWord("set")
			defer p.in("ct")()
			a := &Assign{Target: &CT{Node: p.node(start), Key: k}, Value: p.stmtExpr()}
			a.Target.(*CT).Span.End = k.Span.End
			a.Node = p.node(start)
			return a
		}
	}
	return p.matchStmt(start)
}

// stateful parses counter, limit, quota, ct count and last; nil if it is none,
// or one that names an object.
func (p *parser) stateful() Stmt {
	switch p.tok.text {
	case "counter":
		if p.peek().text != "name" {
			return p.counter()
		}
	case "limit":
		if p.peek().text != "name" {
			return p.limit()
		}
	case "quota":
		if p.peek().text != "name" {
			return p.quota()
		}
	case "last":
		return p.lastUsed()
	case "ct":
		if p.peek().text == "count" {
			return p.ctCount()
		}
	}
	return nil
}

// statefulList parses as many stateful statements as there are.
func (p *parser) statefulList(list []Stmt) []Stmt {
	for p.tok.kind == tokKeyword {
		s := p.stateful()
		if s == nil {
			break
		}
		list = append(list, s)
	}
	return list
}

// objRef parses `counter name X` and its like; nil if no `name` follows.
func (p *parser) objRef(start int) Stmt {
	kind := p.tok.text
	if n := p.peek(); n.kind != tokWord || n.text != "name" {
		return nil
	}
	p.next()
	p.next()
	defer p.in(kind)()
	o := &ObjRef{Kind: kind, X: p.stmtExpr()}
	o.Node = p.node(start)
	return o
}

// jump parses `jump CHAIN` and `jump { … }`.
func (p *parser) jump(start int) Stmt {
	if n := p.peek(); n.kind != tokPunct || n.op != '{' {
		v, _ := p.verdict()
		return &VerdictStmt{v.Node, v}
	}
	v := &Verdict{Kind: p.tok.text}
	p.next()
	p.pushScope()
	v.Block = &ChainBlock{}
	at := p.tok.pos
	v.Block.Items = p.block(&subchainBlock)
	v.Block.Node = p.node(at)
	p.popScope()
	v.Node = p.node(start)
	return &VerdictStmt{v.Node, v}
}

// relationalOp takes a comparison if there is one.
func (p *parser) relationalOp() (op string) {
	switch p.tok.kind {
	case tokPunct:
		switch p.tok.op {
		case opEq:
			op = "=="
		case opNeq:
			op = "!="
		case opLte:
			op = "<="
		case opGte:
			op = ">="
		case '<', '>', '!':
			op = p.tok.text
		}
	case tokKeyword:
		switch p.tok.text {
		case "eq", "ne", "lt", "gt", "le", "ge", "not":
			op = wordOps[p.tok.text]
		}
	}
	if op != "" {
		p.next()
	}
	return op
}

// matchStmt parses the statements that begin with an expression: matches,
// verdict maps and assignments.
func (p *parser) matchStmt(start int) Stmt {
	var x Expr
	if p.at('{') {
		x = p.setLit(elemsOfSet, false)
	} else {
		x = p.concat()
	}
	switch p.word() {
	case "vmap":
		p.next()
		v := &VMap{X: x}
		if p.at('{') {
			v.Maps = p.setLit(elemsOfVMap, false)
		} else {
			v.Maps = p.setOrVar()
		}
		v.Node = p.node(start)
		return v
	case "set":
		if !assignable(x) {
			break
		}
		p.next()
		switch x := x.(type) {
		case *CT:
			defer p.in("ct")()
		case *Meta:
			if !x.Bare {
				defer p.in("meta")()
			}
		}
		a := &Assign{Target: x, Value: p.stmtExpr()}
		a.Node = p.node(start)
		return a
	case "map":
		x = p.mapRest(start, x)
	}
	m := &Match{X: x}
	at := p.tok
	if m.Op = p.relationalOp(); m.Op != "" {
		m.OpSpan = p.spanOf(&at)
	}
	if m.Op == "" {
		p.afterSelector(x)
		if y, ok := x.(*Symbol); ok && !y.Quoted && !y.Number && !p.valueStarts() {
			p.unknownStatement(y)
		}
	}
	m.Y = p.matchRHS()
	m.Node = p.node(start)
	return m
}

// valueStarts tells whether a value may begin with the token in hand.
func (p *parser) valueStarts() bool {
	switch p.tok.kind {
	case tokWord, tokLiteral, tokAsterisk, tokQuoted, tokNumber:
		return true
	case tokKeyword:
		return valueKeywords.has(p.tok.text) || protocolKeywords.has(p.tok.text)
	case tokPunct:
		switch p.tok.op {
		case '$', '(', '{', '@':
			return true
		}
	}
	return false
}

// statementWords are what a statement may begin with, for suggestions; of two
// that are as near the first is suggested.
var statementWords = func() []string {
	list := []string{
		"drop", "accept", "add", "comment", "continue", "counter", "ct", "delete", "dup", "exthdr",
		"fib", "flow", "fwd", "goto", "ipsec", "jhash", "jump", "last", "limit", "log",
		"masquerade", "meta", "meter", "notrack", "numgen", "osf", "queue", "quota", "redirect",
		"reject", "reset", "return", "set", "snat", "dnat", "socket", "symhash", "synproxy",
		"tproxy", "tunnel", "update",
	}
	headers := words{}
	for _, m := range []map[string][]string{headerFields, extHeaderFields} {
		for w := range m {
			headers[w] = struct{}{}
		}
	}
	list = append(list, headers.list()...)
	return append(list, metaUnqualified.list()...)
}()

// unknownStatement refuses the token in hand: what stands in front of it is a
// constant, and was most likely meant to be something else.
func (p *parser) unknownStatement(y *Symbol) {
	d := p.syntaxError("a value")
	near := diag.Nearest(y.Text, statementWords)
	if near == "" {
		panic(bailout{d})
	}
	d.Suggest = near
	d.Message = strings.TrimSuffix(d.Message, ", expected a value") +
		": " + quoteWord(y.Text) + " begins no statement; did you mean " + quoteWord(near) + "?"
	d.Notes = append(d.Notes, diag.Note{Span: y.Span, Message: "this word"})
	panic(bailout{d})
}

// afterSelector refuses the words that are keywords behind a selector, whose
// end nft's parser sees only by the token that follows.
func (p *parser) afterSelector(x Expr) {
	if c, ok := x.(*Concat); ok {
		x = c.Items[len(c.Items)-1]
	}
	state := ""
	switch x := x.(type) {
	case *CT:
		// `ct original saddr` cannot be set, so its end is known
		if x.Dir.Text == "" || assignable(x) {
			state = "ct"
		}
	case *Meta:
		if !x.Bare {
			state = "meta"
		}
	}
	if state != "" && p.tok.kind == tokWord && stateWords[state].has(p.tok.text) {
		p.unexpected("a value to compare with")
	}
}

// assignable: what may stand in front of `set`.
func assignable(x Expr) bool {
	switch x := x.(type) {
	case *Meta, *Payload, *RawPayload, *Option:
		return true
	case *CT:
		if x.Dir.Text == "" {
			return true
		}
		switch x.Key.Text {
		case "bytes", "packets", "avgpkt", "zone":
			return true
		}
	}
	return false
}

// setUpdate parses `add @set { key … [: data …] }`.
func (p *parser) setUpdate(start int) Stmt {
	u := &SetUpdate{Op: p.tok.text}
	p.next()
	u.Set, u.Var = p.updated()
	at := p.tok.pos
	p.enter()
	p.want('{')
	u.Elem = p.elemOfStmt()
	if p.tok.kind == tokKeyword {
		u.Elem.Opts = p.moreStmts(u.Elem.Opts)
	}
	if p.got(':') {
		d := p.elemOfStmt()
		u.Elem.Data, u.Elem.DataOpts = d.Key, d.Opts
	}
	p.want('}')
	p.leave()
	u.Elem.Span = p.from(at)
	u.Node = p.node(start)
	return u
}

func (p *parser) updated() (*SetRef, *Variable) {
	if p.at('$') {
		return nil, p.variable()
	}
	if !p.at('@') {
		p.unexpected("@SET")
	}
	return p.setRef(), nil
}

func (p *parser) moreStmts(o *ElemOpts) *ElemOpts {
	list := p.statefulList(nil)
	if len(list) == 0 {
		return o
	}
	if o == nil {
		o = &ElemOpts{}
	}
	o.Stmts = append(o.Stmts, list...)
	return o
}

// elemOfStmt parses key and options of an element in a statement.
func (p *parser) elemOfStmt() *Elem {
	start := p.tok.pos
	e := &Elem{Key: p.concat()}
	o := &ElemOpts{}
	if p.options(o, false) {
		e.Opts = o
	}
	e.Span = p.from(start)
	return e
}

// oldSetUpdate parses `set add KEY @set`.
func (p *parser) oldSetUpdate(start int) Stmt {
	p.next()
	u := &SetUpdate{Old: true}
	switch w := p.word(); w {
	case "add", "update", "delete":
		u.Op = w
		p.next()
	default:
		p.unexpectedOf("add", "update", "delete")
	}
	u.Elem = p.elemOfStmt()
	u.Set, u.Var = p.updated()
	u.Node = p.node(start)
	return u
}

// meter parses `meter NAME [size N] { key stmt }`.
func (p *parser) meter(start int) Stmt {
	p.next()
	m := &Meter{Name: p.identifier("name of a meter")}
	if p.gotWord("size") {
		m.Size = p.numberPtr()
	}
	at := p.tok.pos
	p.enter()
	p.want('{')
	m.Elem = p.elemOfStmt()
	m.Stmt = p.stmt()
	p.want('}')
	p.leave()
	m.Elem.Span = p.from(at)
	m.Node = p.node(start)
	return m
}

// optionStrip parses `reset tcp option X`.
func (p *parser) optionStrip(start int) Stmt {
	p.next()
	at := p.tok.pos
	if !p.atWord("tcp") {
		p.unexpectedOf("tcp")
	}
	x := &Option{Proto: p.take()}
	p.wantWord("option")
	x.Kind = p.tcpOptionKind()
	x.Node = p.node(at)
	r := &Reset{Target: x}
	r.Node = p.node(start)
	return r
}

// flowAdd parses `flow add @ft` and `flow offload @ft`.
func (p *parser) flowAdd(start int) Stmt {
	p.next()
	f := &FlowAdd{Verb: p.key([]string{"add", "offload"})}
	p.want('@')
	f.Flowtable = p.text("name of a flowtable")
	f.Node = p.node(start)
	return f
}
