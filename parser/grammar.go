package parser

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// The places that commands name, as participle reads them. A name is a word
// that is no keyword; `last` is the one keyword that nft takes as a name.

// tableSpec is `[family] TABLE` or `[family] handle N`.
type tableSpec struct {
	Family *lexer.Token `parser:"@('ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev')?"`
	Table  *lexer.Token `parser:"(  @(Word | Literal | 'last')"`
	Handle *lexer.Token `parser:" | 'handle' @Number )"`
}

// objectSpec is `[family] TABLE NAME` or `[family] TABLE handle N`.
type objectSpec struct {
	Family *lexer.Token `parser:"@('ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev')?"`
	Table  lexer.Token  `parser:"@(Word | Literal | 'last')"`
	Object *lexer.Token `parser:"(  @(Word | Literal | 'last')"`
	Handle *lexer.Token `parser:" | 'handle' @Number )"`
}

// ruleSpec is `[family] TABLE CHAIN [handle|position|index N]`.
type ruleSpec struct {
	Family *lexer.Token `parser:"@('ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev')?"`
	Table  lexer.Token  `parser:"@(Word | Literal | 'last')"`
	Chain  lexer.Token  `parser:"@(Word | Literal | 'last')"`
	Where  *lexer.Token `parser:"(@('handle' | 'position' | 'index')"`
	N      *lexer.Token `parser:" @Number)?"`
}

// listSpec is what list and reset take for the plural kinds: nothing, a
// family, a table or, for the rules of a chain, a chain.
type listSpec struct {
	Kind   *lexer.Token `parser:"@('table' | 'chain')?"`
	Family *lexer.Token `parser:"@('ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev')?"`
	Table  *lexer.Token `parser:"(@(Word | Literal | 'last')"`
	Chain  *lexer.Token `parser:" @(Word | Literal | 'last')?)?"`
}

var (
	tableSpecParser  grammar[tableSpec]
	objectSpecParser grammar[objectSpec]
	ruleSpecParser   grammar[ruleSpec]
	listSpecParser   grammar[listSpec]
)

// place says which of them a command takes.
type place uint8

const (
	placeTable          place = iota // TABLE
	placeTableOrHandle               // TABLE or handle
	placeObject                      // TABLE NAME
	placeObjectOrHandle              // TABLE NAME or TABLE handle
	placeRule                        // TABLE CHAIN, perhaps a position
	placeRuleHandle                  // TABLE CHAIN handle N
	placeFamily                      // nothing or a family
	placeAny                         // nothing, a family or a table
	placeRules                       // nothing, a family, a table or a chain
)

// tail is what follows the place.
type tail uint8

const (
	tailNone      tail = iota
	tailBlock          // a block must follow
	tailOptBlock       // a block may follow
	tailConfig         // a block or its content on the line
	tailOptConfig      // the same, or nothing
	tailInline         // its content on the line
	tailOptInline      // the same, or nothing
	tailRule           // a rule
	tailElements       // elements or a variable
	tailName           // a new name
	tailDevice         // perhaps `device NAME`
)

type form struct {
	place place
	tail  tail
}

// objectForms adds the forms of the kinds of named objects.
func objectForms(m map[string]form, f form, kinds ...string) map[string]form {
	for _, k := range kinds {
		m[k] = f
	}
	return m
}

var addForms = objectForms(map[string]form{
	"table":          {placeTable, tailOptBlock},
	"chain":          {placeObject, tailOptBlock},
	"rule":           {placeRule, tailRule},
	"set":            {placeObject, tailBlock},
	"map":            {placeObject, tailBlock},
	"element":        {placeObject, tailElements},
	"flowtable":      {placeObject, tailBlock},
	"counter":        {placeObject, tailOptConfig},
	"tunnel":         {placeObject, tailBlock},
	"ct helper":      {placeObject, tailBlock},
	"ct timeout":     {placeObject, tailBlock},
	"ct expectation": {placeObject, tailBlock},
}, form{placeObject, tailConfig}, "quota", "limit", "secmark", "synproxy")

// commandForms: what each verb may be followed by.
var commandForms = map[Verb]map[string]form{
	VerbAdd: addForms,
	VerbCreate: objectForms(map[string]form{
		"table":          {placeTable, tailOptBlock},
		"chain":          {placeObject, tailOptBlock},
		"set":            {placeObject, tailBlock},
		"map":            {placeObject, tailBlock},
		"element":        {placeObject, tailElements},
		"flowtable":      {placeObject, tailBlock},
		"counter":        {placeObject, tailOptInline},
		"tunnel":         {placeObject, tailBlock},
		"ct helper":      {placeObject, tailBlock},
		"ct timeout":     {placeObject, tailBlock},
		"ct expectation": {placeObject, tailBlock},
	}, form{placeObject, tailInline}, "quota", "limit", "secmark", "synproxy"),
	VerbInsert:  {"rule": {placeRule, tailRule}},
	VerbReplace: {"rule": {placeRuleHandle, tailRule}},
	VerbDelete: objectForms(map[string]form{
		"table":          {placeTableOrHandle, tailNone},
		"chain":          {placeObjectOrHandle, tailOptBlock},
		"rule":           {placeRuleHandle, tailNone},
		"element":        {placeObject, tailElements},
		"flowtable":      {placeObjectOrHandle, tailOptBlock},
		"ct helper":      {placeObject, tailNone},
		"ct timeout":     {placeObject, tailNone},
		"ct expectation": {placeObject, tailNone},
	}, form{placeObjectOrHandle, tailNone}, "set", "map", "counter", "quota", "limit", "secmark", "synproxy", "tunnel"),
	VerbDestroy: objectForms(map[string]form{
		"table":          {placeTableOrHandle, tailNone},
		"chain":          {placeObjectOrHandle, tailNone},
		"rule":           {placeRuleHandle, tailNone},
		"map":            {placeObject, tailNone},
		"element":        {placeObject, tailElements},
		"flowtable":      {placeObjectOrHandle, tailOptBlock},
		"ct helper":      {placeObject, tailNone},
		"ct timeout":     {placeObject, tailNone},
		"ct expectation": {placeObject, tailNone},
	}, form{placeObjectOrHandle, tailNone}, "set", "counter", "quota", "limit", "secmark", "synproxy", "tunnel"),
	VerbGet: {"element": {placeObject, tailElements}},
	VerbList: objectForms(map[string]form{
		"table": {placeTable, tailNone}, "tables": {placeFamily, tailNone},
		"chains": {placeAny, tailNone}, "ruleset": {placeFamily, tailNone},
		"meters": {placeFamily, tailNone}, "flow tables": {placeFamily, tailNone},
		"hooks": {placeFamily, tailDevice},
		"sets":  {placeAny, tailNone}, "maps": {placeAny, tailNone}, "counters": {placeAny, tailNone},
		"quotas": {placeAny, tailNone}, "limits": {placeAny, tailNone}, "secmarks": {placeAny, tailNone},
		"synproxys": {placeAny, tailNone}, "flowtables": {placeAny, tailNone}, "tunnels": {placeAny, tailNone},
		"ct helpers table": {placeTable, tailNone}, "ct timeout table": {placeTable, tailNone},
		"ct expectation table": {placeTable, tailNone},
	}, form{placeObject, tailNone}, "chain", "set", "map", "meter", "flow table", "flowtable", "counter", "quota",
		"limit", "secmark", "synproxy", "tunnel", "ct helper", "ct timeout", "ct expectation"),
	VerbReset: objectForms(map[string]form{
		"counters": {placeAny, tailNone}, "quotas": {placeAny, tailNone}, "rules": {placeRules, tailNone},
		"rule": {placeRuleHandle, tailNone}, "element": {placeObject, tailElements},
	}, form{placeObject, tailNone}, "counter", "quota", "set", "map"),
	VerbFlush: objectForms(map[string]form{
		"table": {placeTable, tailNone}, "ruleset": {placeFamily, tailNone},
	}, form{placeObject, tailNone}, "chain", "set", "map", "flow table", "meter"),
	VerbRename: {"chain": {placeObject, tailName}},
}

// command parses one command of a file with its separator.
func (p *parser) command() Item {
	start := p.tok.pos
	c := &Command{}
	forms := addForms
	if p.tok.kind == tokKeyword {
		v := Verb(p.tok.text)
		switch v {
		case VerbMonitor, VerbDescribe, VerbImport, VerbExport:
			return p.otherCommand(v)
		}
		if f, ok := commandForms[v]; ok {
			forms = f
			c.Verb, c.VerbSpan = v, p.spanOf(&p.tok)
			p.next()
		}
	}
	at := p.tok.pos
	c.Kind = p.commandKind(forms)
	if c.Kind != "" {
		c.KindSpan = p.from(at)
	} else if c.Verb == VerbNone || c.Verb == VerbAdd {
		// `add ip t c …`: a rule
		c.Kind = "rule"
		switch p.word() {
		case "ip", "ip6", "inet", "arp", "bridge", "netdev", "last":
		default:
			if !p.tok.isString() {
				p.unexpectedOf(verbsAndKinds(c.Verb)...)
			}
			p.checkTypo(c.Verb)
		}
	} else {
		p.unexpectedOf(kindsOf(forms)...)
	}
	f := forms[c.Kind]
	p.placeOrHint(c, f)
	p.commandTail(c, f.tail)
	c.Node = p.node(start)
	p.separator(true)
	return c
}

// commandKind takes the words that say what the command is about; "" if there
// are none.
func (p *parser) commandKind(forms map[string]form) string {
	w := p.word()
	if w == "" {
		return ""
	}
	switch w {
	case "ct":
		p.next()
		kinds := []string{"helper", "timeout", "expectation"}
		if _, ok := forms["ct helpers table"]; ok {
			kinds = append(kinds, "helpers")
		}
		kind := p.key(kinds).Text
		if _, ok := forms["ct "+kind+" table"]; ok && (kind == "helpers" || p.atWord("table")) {
			p.wantWord("table")
			return "ct " + kind + " table"
		}
		if _, ok := forms["ct "+kind]; !ok {
			p.unexpectedOf(kindsOf(forms)...)
		}
		return "ct " + kind
	case "flow":
		p.next()
		return "flow " + p.key([]string{"table", "tables"}).Text
	}
	if _, ok := forms[w]; !ok {
		return ""
	}
	p.next()
	return w
}

// placeOrHint reads the place that a command names. Where a block begins
// though the table was not named, the message says how it must be written.
func (p *parser) placeOrHint(c *Command, f form) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if e, ok := r.(bailout); ok && p.at('{') && f.place == placeObject {
			e.d.Message += "; outside a table block it must be written `" + c.Kind + " [family] TABLE " +
				strings.ToUpper(c.Kind) + " { ... }`"
			r = e
		}
		panic(r)
	}()
	p.commandPlace(c, f.place)
}

// commandPlace reads the place that a command names.
func (p *parser) commandPlace(c *Command, where place) {
	start := p.tok.pos
	family := func(t *lexer.Token) {
		if t != nil {
			c.Family = p.nameTok(*t)
		}
	}
	switch where {
	case placeTable, placeTableOrHandle:
		g := parseMicro(p, &tableSpecParser)
		family(g.Family)
		if g.Handle != nil {
			if where == placeTable {
				p.refuseHandle(start, "name of a table")
			}
			c.Handle = p.numTokPtr(g.Handle)
			return
		}
		c.Table = p.nameTok(*g.Table)
	case placeObject, placeObjectOrHandle:
		g := parseMicro(p, &objectSpecParser)
		family(g.Family)
		c.Table = p.nameTok(g.Table)
		if g.Handle != nil {
			if where == placeObject {
				p.refuseHandle(start, "a name")
			}
			c.Handle = p.numTokPtr(g.Handle)
			return
		}
		c.Object = p.nameTok(*g.Object)
		for _, t := range []lexer.Token{g.Table, *g.Object} {
			if reservedName(c.Kind, t.Value) {
				p.seek(t.Pos.Offset, t.Pos.Offset)
				p.unexpected("a name")
			}
		}
	case placeRule, placeRuleHandle:
		g := parseMicro(p, &ruleSpecParser)
		family(g.Family)
		c.Table, c.Object = p.nameTok(g.Table), p.nameTok(g.Chain)
		if where == placeRuleHandle && (g.Where == nil || g.Where.Value != "handle") {
			if g.Where != nil {
				p.seek(g.Where.Pos.Offset, g.Where.Pos.Offset)
			}
			p.unexpectedOf("handle")
		}
		if g.Where != nil {
			n := p.numTokPtr(g.N)
			switch g.Where.Value {
			case "handle":
				c.Handle = n
			case "position":
				c.Position = n
			case "index":
				c.Index = n
			}
		}
	case placeFamily, placeAny, placeRules:
		g := parseMicro(p, &listSpecParser)
		if g.Kind != nil {
			c.Args = append(c.Args, p.nameTok(*g.Kind))
		}
		family(g.Family)
		if g.Table != nil {
			c.Table = p.nameTok(*g.Table)
		}
		if g.Chain != nil {
			c.Object = p.nameTok(*g.Chain)
		}
		p.checkList(g, where)
	}
}

// refuseHandle refuses the word handle in the place that begins at start.
func (p *parser) refuseHandle(start int, expected string) {
	for p.seek(start, start); !p.atWord("handle"); {
		p.next()
	}
	p.unexpected(expected)
}

// checkList refuses what listSpec takes and the kind of command does not.
func (p *parser) checkList(g *listSpec, where place) {
	bad := func(t *lexer.Token) {
		p.seek(t.Pos.Offset, t.Pos.Offset)
		p.unexpected("")
	}
	switch {
	case g.Kind != nil && where == placeFamily, g.Kind != nil && where == placeAny && g.Kind.Value == "chain":
		bad(g.Kind)
	case g.Table != nil && where == placeFamily:
		bad(g.Table)
	case g.Chain != nil && (where != placeRules || g.Kind != nil && g.Kind.Value == "table"):
		bad(g.Chain)
	case g.Kind != nil && g.Table == nil:
		p.unexpected("name of a table")
	case g.Kind != nil && g.Kind.Value == "chain" && g.Chain == nil:
		p.unexpected("name of a chain")
	}
}

// commandTail reads what follows the place.
func (p *parser) commandTail(c *Command, t tail) {
	switch t {
	case tailOptBlock:
		if p.at('{') {
			c.Body = p.body(c.Kind)
		}
	case tailBlock:
		c.Body = p.body(c.Kind)
	case tailConfig, tailOptConfig, tailInline, tailOptInline:
		if p.at('{') && t != tailInline && t != tailOptInline {
			c.Body = p.body(c.Kind)
			return
		}
		if (t == tailOptConfig || t == tailOptInline) && p.endOfRule() {
			return
		}
		start := p.tok.pos
		o := &ObjectBlock{Inline: true, Items: []Item{p.configItem(c.Kind)}}
		o.Node = p.node(start)
		c.Body = o
	case tailRule:
		c.Body = p.rule()
	case tailElements:
		if p.at('$') {
			c.Body = &ElementsVar{*p.variable()}
		} else {
			c.Body = p.setLit(elemsOfSet, false)
		}
	case tailName:
		c.NewName = p.identifier("a new name")
	case tailDevice:
		if p.gotWord("device") {
			if !p.tok.isString() {
				p.unexpected("name of an interface")
			}
			c.Args = append(c.Args, p.take())
		}
	}
}

// configItem reads the definition of a named object without braces.
func (p *parser) configItem(kind string) Item {
	if p.atWord("comment") {
		p.unexpected("the definition of the " + kind)
	}
	return objectBlocks[kind].item(p)
}

// otherCommand reads the commands that change nothing and name no place.
func (p *parser) otherCommand(v Verb) Item {
	start := p.tok.pos
	c := &Command{Verb: v, VerbSpan: p.spanOf(&p.tok)}
	p.next()
	take := func(list ...string) bool {
		if !oneIn(p.word(), list) {
			return false
		}
		c.Args = append(c.Args, p.take())
		return true
	}
	format := func() bool {
		if take("vm") {
			if !take("json") {
				p.unexpectedOf("json")
			}
			return true
		}
		return take("xml", "json")
	}
	switch v {
	case VerbMonitor:
		take("new", "destroy")
		take("tables", "chains", "sets", "rules", "elements", "ruleset", "trace")
		format()
	case VerbImport, VerbExport:
		take("ruleset")
		if !format() {
			p.unexpectedOf("ruleset", "xml", "json", "vm")
		}
	case VerbDescribe:
		c.Describe = p.primary(sideMatch)
	}
	c.Node = p.node(start)
	p.separator(true)
	return c
}

func kindsOf(forms map[string]form) []string {
	list := make([]string, 0, len(forms))
	for k := range forms {
		list = append(list, k)
	}
	return sorted(list)
}

var verbList = []string{
	"add", "create", "delete", "destroy", "flush", "insert", "list", "rename", "replace", "reset",
	"get", "monitor", "describe", "import", "export",
}

// verbsAndKinds is what a command may begin with.
func verbsAndKinds(v Verb) []string {
	list := kindsOf(addForms)
	if v == VerbNone {
		list = append(append(append([]string{}, verbList...), list...), "include", "define", "redefine", "undefine")
	}
	return list
}
