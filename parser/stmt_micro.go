package parser

import "github.com/alecthomas/participle/v2/lexer"

// The statements of fixed shape, as grammars. Each begins behind nothing: its
// first word is part of it. The text of a grammar is in testdata/grammar.ebnf.

type counterGrammar struct {
	Args []counterArg `parser:"'counter' @@*"`
}

type counterArg struct {
	Packets *lexer.Token `parser:"  'packets' @Number"`
	Bytes   *lexer.Token `parser:"| 'bytes' @Number"`
}

type lastGrammar struct {
	Used *lexer.Token `parser:"'last' ('used' @(Word|Literal))?"`
}

// limitGrammar is `limit rate …` and, without the first word, the definition
// of a named limit.
type limitGrammar struct {
	Rate limitRate `parser:"'limit' @@"`
}

type limitRate struct {
	Mode      *lexer.Token `parser:"'rate' @('over' | 'until')?"`
	Rate      lexer.Token  `parser:"@Number"`
	Unit      *lexer.Token `parser:"@('bytes' | 'kbytes' | 'mbytes')?"`
	Per       lexer.Token  `parser:"'/' @('second' | 'minute' | 'hour' | 'day' | 'week')"`
	Burst     *lexer.Token `parser:"('burst' @Number"`
	BurstUnit *lexer.Token `parser:" @('packets' | 'bytes' | 'kbytes' | 'mbytes'))?"`
}

type quotaGrammar struct {
	Amount quotaAmount `parser:"'quota' @@"`
}

type quotaAmount struct {
	Mode     *lexer.Token `parser:"@('over' | 'until')?"`
	Amount   lexer.Token  `parser:"@Number"`
	Unit     lexer.Token  `parser:"@('bytes' | 'kbytes' | 'mbytes')"`
	Used     *lexer.Token `parser:"('used' @Number"`
	UsedUnit *lexer.Token `parser:" @('bytes' | 'kbytes' | 'mbytes'))?"`
}

type ctCountGrammar struct {
	Over  bool        `parser:"'ct' 'count' @'over'?"`
	Count lexer.Token `parser:"@Number"`
}

type logGrammar struct {
	Keyword lexer.Token `parser:"@'log'"`
	Args    []logArg    `parser:"@@*"`
}

type logArg struct {
	Prefix     *lexer.Token `parser:"  'prefix' @(Word | Literal | Quoted | Asterisk)"`
	Group      *lexer.Token `parser:"| 'group' @Number"`
	Snaplen    *lexer.Token `parser:"| 'snaplen' @Number"`
	QThreshold *lexer.Token `parser:"| 'queue-threshold' @Number"`
	Level      *lexer.Token `parser:"| 'level' @('emerg' | 'alert' | 'crit' | 'err' | 'warn' | 'notice' | 'info' | 'debug' | 'audit')"`
	Flags      *logFlags    `parser:"| 'flags' @@"`
}

type logFlags struct {
	TCP     []*logTCPFlag `parser:"  'tcp' @@ (',' @@)*"`
	Options *lexer.Token  `parser:"| 'ip' @'options'"`
	Word    *lexer.Token  `parser:"| @('skuid' | 'ether' | 'all')"`
}

type logTCPFlag struct {
	Word lexer.Token `parser:"@('sequence' | 'options')"`
}

type synproxyGrammar struct {
	Args []synproxyArg `parser:"'synproxy' @@*"`
}

type synproxyArg struct {
	MSS       *lexer.Token `parser:"  ('mss' | 'maxseg') @Number"`
	Wscale    *lexer.Token `parser:"| 'wscale' @Number"`
	Timestamp bool         `parser:"| @'timestamp'"`
	SackPerm  bool         `parser:"| @('sack-perm' | 'sack-permitted')"`
}

type rejectGrammar struct {
	With *rejectWith `parser:"'reject' ('with' @@)?"`
}

type rejectWith struct {
	Proto *lexer.Token `parser:"  ( @('icmp' | 'icmpv6' | 'icmpx') 'type'?"`
	Code  *lexer.Token `parser:"    @(Word | Literal | Number) )"`
	TCP   *lexer.Token `parser:"| @'tcp' 'reset'"`
}

var (
	counterParser  grammar[counterGrammar]
	lastParser     grammar[lastGrammar]
	limitParser    = grammar[limitGrammar]{rate: true}
	rateParser     = grammar[limitRate]{rate: true}
	quotaParser    grammar[quotaGrammar]
	amountParser   grammar[quotaAmount]
	ctCountParser  grammar[ctCountGrammar]
	logParser      grammar[logGrammar]
	synproxyParser grammar[synproxyGrammar]
	rejectParser   grammar[rejectGrammar]
)

func (p *parser) counter() *Counter {
	start := p.tok.pos
	c := &Counter{}
	if n := p.peek(); n.kind != tokWord || n.text != "packets" && n.text != "bytes" {
		p.next() // by far the most frequent: no arguments
	} else {
		for _, a := range parseMicro(p, &counterParser).Args {
			if a.Packets != nil {
				c.Packets = p.numTokPtr(a.Packets)
			} else {
				c.Bytes = p.numTokPtr(a.Bytes)
			}
		}
	}
	c.Node = p.node(start)
	return c
}

func (p *parser) lastUsed() *Last {
	start := p.tok.pos
	l := &Last{}
	if g := parseMicro(p, &lastParser); g.Used != nil {
		l.Used = p.nameTok(*g.Used)
		if l.Used.Text != "never" && timeLen(l.Used.Text) != len(l.Used.Text) {
			p.fail("bad-time", l.Used.Span, "wrong time format %q, expected never or a time such as 1h30m", clip(l.Used.Text))
		}
	}
	l.Node = p.node(start)
	return l
}

func (p *parser) limit() *Limit {
	start := p.tok.pos
	g := parseMicro(p, &limitParser)
	return p.limitOf(start, &g.Rate)
}

func (p *parser) limitOf(start int, g *limitRate) *Limit {
	l := &Limit{Rate: p.numTok(g.Rate), Per: p.nameTok(g.Per), Burst: p.numTokPtr(g.Burst)}
	if g.Mode != nil {
		l.Over, l.Until = g.Mode.Value == "over", g.Mode.Value == "until"
	}
	if g.Unit != nil {
		l.RateUnit = p.nameTok(*g.Unit)
	}
	if g.BurstUnit != nil {
		l.BurstUnit = p.nameTok(*g.BurstUnit)
		bytes := g.Unit != nil
		if bytes == (l.BurstUnit.Text == "packets") {
			p.seek(g.BurstUnit.Pos.Offset, g.Burst.Pos.Offset)
			if bytes {
				p.unexpectedOf("bytes", "kbytes", "mbytes")
			}
			p.unexpectedOf("packets")
		}
		if !bytes && l.Burst.Value == 0 {
			p.fail("zero-burst", l.Burst.Span, "packet limit burst must be > 0")
		}
	}
	l.Node = p.node(start)
	return l
}

func (p *parser) quota() *Quota {
	start := p.tok.pos
	g := parseMicro(p, &quotaParser)
	return p.quotaOf(start, &g.Amount)
}

func (p *parser) quotaOf(start int, g *quotaAmount) *Quota {
	q := &Quota{Amount: p.numTok(g.Amount), Unit: p.nameTok(g.Unit), Used: p.numTokPtr(g.Used)}
	if g.Mode != nil {
		q.Over, q.Until = g.Mode.Value == "over", g.Mode.Value == "until"
	}
	if g.UsedUnit != nil {
		q.UsedUnit = p.nameTok(*g.UsedUnit)
	}
	q.Node = p.node(start)
	return q
}

func (p *parser) ctCount() *CTCount {
	start := p.tok.pos
	g := parseMicro(p, &ctCountParser)
	c := &CTCount{Over: g.Over, Count: p.numTok(g.Count)}
	c.Node = p.node(start)
	return c
}

func (p *parser) log() *Log {
	start := p.tok.pos
	g := parseMicro(p, &logParser)
	l := &Log{Keyword: p.nameTok(g.Keyword).Span}
	for _, a := range g.Args {
		switch {
		case a.Prefix != nil:
			l.Prefix = p.nameTokPtr(a.Prefix)
			p.prefixVars(l.Prefix)
		case a.Group != nil:
			l.Group = p.numTokPtr(a.Group)
		case a.Snaplen != nil:
			l.Snaplen = p.numTokPtr(a.Snaplen)
		case a.QThreshold != nil:
			l.QThreshold = p.numTokPtr(a.QThreshold)
		case a.Level != nil:
			l.Level = p.nameTokPtr(a.Level)
		case a.Flags != nil:
			for _, t := range a.Flags.TCP {
				n := p.nameTok(t.Word)
				n.Text = "tcp " + n.Text
				l.Flags = append(l.Flags, n)
			}
			if t := a.Flags.Options; t != nil {
				n := p.nameTok(*t)
				n.Text = "ip options"
				l.Flags = append(l.Flags, n)
			}
			if t := a.Flags.Word; t != nil {
				l.Flags = append(l.Flags, p.nameTok(*t))
			}
		}
	}
	l.Node = p.node(start)
	return l
}

// prefixVars checks the `$name` in a log prefix, which nft replaces while it
// reads the file.
func (p *parser) prefixVars(n *Name) {
	for i := 0; i < len(n.Text); i++ {
		if n.Text[i] != '$' {
			continue
		}
		j := i + 1
		for j < len(n.Text) && (is(n.Text[j], classWord) && n.Text[j] != '/' && n.Text[j] != '-' && n.Text[j] != '.') {
			j++
		}
		if j == i+1 {
			continue
		}
		p.useName(Name{Span: n.Span, Text: n.Text[i+1 : j]})
		i = j - 1
	}
}

func (p *parser) synproxy() *Synproxy {
	start := p.tok.pos
	s := &Synproxy{}
	for _, a := range parseMicro(p, &synproxyParser).Args {
		switch {
		case a.MSS != nil:
			s.MSS = p.numTokPtr(a.MSS)
		case a.Wscale != nil:
			s.Wscale = p.numTokPtr(a.Wscale)
		case a.Timestamp:
			s.Timestamp = true
		case a.SackPerm:
			s.SackPerm = true
		}
	}
	s.Node = p.node(start)
	return s
}

func (p *parser) reject() *Reject {
	start := p.tok.pos
	r := &Reject{}
	if p.peek().text == "with" {
		g := parseMicro(p, &rejectParser)
		if w := g.With; w != nil && w.TCP != nil {
			r.With = p.nameTok(*w.TCP)
		} else if w != nil {
			r.With = p.nameTok(*w.Proto)
			n := p.nameTok(*w.Code)
			r.Code = &Symbol{Node: Node{n.Span}, Text: n.Text, Number: tokenKind(w.Code.Type) == tokNumber}
		}
	} else {
		p.next()
	}
	r.Node = p.node(start)
	return r
}
