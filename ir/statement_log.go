package ir

import (
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// logPrefixLen is NF_LOG_PREFIXLEN: the longest prefix with its final zero.
const logPrefixLen = 128

// logLevels are the words of `log level`.
var logLevels = []string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug", "audit"}

// logFlags are the words of `log flags`.
var logFlags = map[string]uint32{
	"tcp sequence": bytecode.LogTCPSeq, "tcp options": bytecode.LogTCPOpt,
	"tcp sequence,options": bytecode.LogTCPSeq | bytecode.LogTCPOpt,
	"ip options":           bytecode.LogIPOpt, "skuid": bytecode.LogUID, "ether": bytecode.LogMACDecode,
	"all": bytecode.LogAll,
}

// log resolves a log statement. Errors point at the word log, as nft's do.
func (c *ruleCtx) log(s *parser.Log) {
	in := &bytecode.Log{}
	hasPrefix := s.Prefix != nil || s.PrefixExpr != nil
	if hasPrefix {
		text, ok := c.logPrefix(s)
		if !ok {
			return
		}
		in.Prefix = text
	}
	if s.Level != nil {
		in.HasLevel = true
		level := -1
		for i, name := range logLevels {
			if name == s.Level.Text {
				level = i
			}
		}
		if level < 0 {
			c.unknownWord("unknown-log-level", *s.Level, "log level", logLevels)
			return
		}
		in.Level = uint32(level)
	}
	for i := range s.Flags {
		f, ok := logFlags[s.Flags[i].Text]
		if !ok {
			c.unknownWord("unknown-log-flag", s.Flags[i], "log flag", []string{"tcp", "ip", "skuid", "ether", "all"})
			return
		}
		in.Flags |= f
	}
	nflog := s.Group != nil || s.Snaplen != nil || s.QThreshold != nil
	switch {
	case nflog && in.HasLevel:
		c.diags.Errorf("log-conflict", s.Keyword, "level and group are mutually exclusive")
		return
	case nflog && in.Flags != 0:
		c.diags.Errorf("log-conflict", s.Keyword, "flags and group are mutually exclusive")
		return
	case in.HasLevel && in.Level == bytecode.LogLevelAudit && (hasPrefix || in.Flags != 0):
		c.diags.Errorf("log-conflict", s.Keyword, "log level audit doesn't support any further options")
		return
	case hasPrefix && in.Prefix == "":
		c.diags.Errorf("log-prefix-length", s.Keyword, "log prefix must have a minimum length of 1 character")
		return
	case len(in.Prefix) >= logPrefixLen:
		c.diags.Errorf("log-prefix-length", s.Keyword,
			"log prefix is too long (%d bytes, at most %d)", len(in.Prefix), logPrefixLen-1)
		return
	}
	// Without a group the kernel is told neither snaplen nor threshold.
	if s.Group != nil {
		in.HasGroup = true
		in.Group = uint16(s.Group.Value)
		if s.Snaplen != nil {
			in.HasSnaplen = true
			in.Snaplen = uint32(s.Snaplen.Value)
		}
		in.Qthreshold = uint16(number(s.QThreshold))
	}
	c.emit(&Simple{StmtSpan: StmtSpan{s.Keyword}, Instr: in})
}

// logPrefix gives the text of a prefix with its variables replaced.
func (c *ruleCtx) logPrefix(s *parser.Log) (string, bool) {
	if s.PrefixExpr != nil {
		return c.stringOf(s.PrefixExpr)
	}
	if s.Prefix.Var {
		return c.variableText(s.Prefix.Span)
	}
	var b strings.Builder
	last := 0
	for _, v := range prefixVars(s.Prefix) {
		b.WriteString(s.Prefix.Text[last:v.from])
		text, ok := c.variableText(v.at)
		if !ok {
			return "", false
		}
		b.WriteString(text)
		last = v.to
	}
	b.WriteString(s.Prefix.Text[last:])
	return b.String(), true
}

// prefixVar is one `$name` inside of a log prefix.
type prefixVar struct {
	name     string
	from, to int       // in the text
	at       diag.Span // of the `$name`
}

// prefixVars finds the variables in the text of a log prefix: a `$` that no
// digit follows, with the letters, digits and underscores behind it
// (str_preprocess in nft).
func prefixVars(p *parser.Name) []prefixVar {
	var out []prefixVar
	text := p.Text
	start := p.Span.Start
	if p.Quoted {
		start++
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
			continue
		}
		end := i + 1
		for end < len(text) && isWordByte(text[end]) && text[end] != '-' {
			end++
		}
		out = append(out, prefixVar{
			name: text[i+1 : end], from: i, to: end,
			at: diag.Span{Start: start + diag.Pos(i), End: start + diag.Pos(end)},
		})
		i = end - 1
	}
	return out
}

// stringOf gives the text of words, quoted strings and variables.
func (c *ruleCtx) stringOf(e parser.Expr) (string, bool) {
	switch e := e.(type) {
	case *parser.Symbol:
		return e.Text, true
	case *parser.Variable:
		return c.variableText(e.Span)
	case *parser.List:
		var b strings.Builder
		for _, it := range e.Items {
			s, ok := c.stringOf(it)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	c.diags.Errorf("not-a-string", e.Pos(), "a string is expected here")
	return "", false
}

// variableText gives the text that the `$name` at a place stands for.
func (c *ruleCtx) variableText(at diag.Span) (string, bool) {
	e := c.variable(at)
	if e == nil {
		return "", false
	}
	return c.stringOf(e)
}
