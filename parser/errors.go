package parser

import (
	"fmt"
	"sort"
	"strings"

	"github.com/nftc/nftc/internal/diag"
)

// bailout unwinds the parse of one statement to where the error is noted and
// reading goes on; it never leaves the package.
type bailout struct{ d diag.Diagnostic }

// tooManyErrors ends the parse.
type tooManyErrors struct{}

// fail gives up the statement in hand with an error.
func (p *parser) fail(code string, sp diag.Span, format string, args ...any) {
	panic(bailout{diag.Diagnostic{Code: code, Severity: diag.Error, Span: sp, Message: fmt.Sprintf(format, args...)}})
}

// errorf notes an error and goes on.
func (p *parser) errorf(code string, sp diag.Span, format string, args ...any) {
	p.report(diag.Diagnostic{Code: code, Severity: diag.Error, Span: sp, Message: fmt.Sprintf(format, args...)})
}

func (p *parser) report(d diag.Diagnostic) {
	p.diags.Add(d)
	if p.diags.Errors() >= maxErrors {
		panic(tooManyErrors{})
	}
}

// syntaxError is nft's message for the token in hand.
func (p *parser) syntaxError(expected string) diag.Diagnostic {
	return p.syntaxErrorAt(&p.tok, p.file, expected)
}

// syntaxErrorAt is nft's message for a token of some file.
func (p *parser) syntaxErrorAt(t *token, file *diag.File, expected string) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:     "syntax-error",
		Severity: diag.Error,
		Span:     file.Span(t.pos, t.end()),
		Message:  "syntax error, unexpected " + t.describe(),
	}
	switch t.kind {
	case tokKeyword, tokWord, tokLiteral, tokNumber, tokQuoted, tokAsterisk, tokJunk:
		if text := clip(t.text); text != t.describe() {
			d.Message += fmt.Sprintf(" %q", text)
		}
	case tokUnclosed:
		d.Message += ": the string has no closing quote"
	}
	if expected != "" {
		d.Message += ", expected " + expected
	}
	if t.kind == tokJunk && t.text == "#" {
		d.Notes = append(d.Notes, diag.Note{Message: "a comment at the end of a file needs a newline behind it"})
	}
	return d
}

// clip shortens text for a message.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// unexpected refuses the token in hand.
func (p *parser) unexpected(expected string) {
	panic(bailout{p.syntaxError(expected)})
}

// unexpectedOf refuses the token in hand where one of the words must stand,
// and suggests the nearest of them.
func (p *parser) unexpectedOf(candidates ...string) {
	d := p.syntaxError(oneOf(candidates))
	if w := p.word(); w != "" {
		if near := diag.Nearest(w, candidates); near != "" {
			d.Suggest = near
			d.Message += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	panic(bailout{d})
}

// oneOf lists words for a message.
func oneOf(list []string) string {
	const most = 12
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1:
		return list[0]
	case len(list) > most:
		return "one of " + strings.Join(list[:most], ", ") + ", …"
	}
	return "one of " + strings.Join(list, ", ")
}

func noteAt(p *parser, t *token, message string) diag.Note {
	return diag.Note{Span: p.spanOf(t), Message: message}
}

// hookError refuses the name of a hook.
func (p *parser) hookError(n Name) diag.Diagnostic {
	d := diag.Diagnostic{Code: "unknown-hook", Severity: diag.Error, Span: n.Span,
		Message: fmt.Sprintf("unknown chain hook %q", clip(n.Text))}
	if near := diag.Nearest(n.Text, hookNames); near != "" {
		d.Suggest = near
		d.Message += fmt.Sprintf("; did you mean %q?", near)
	} else {
		d.Message += ", expected " + oneOf(hookNames)
	}
	return d
}

func sorted(list []string) []string {
	sort.Strings(list)
	return list
}

// checkTypo refuses a command that begins with a word which is nearly that of
// a command and cannot be the table of a rule, since too little follows.
func (p *parser) checkTypo(v Verb) {
	n := p.peek()
	if n.isString() || n.kind == tokKeyword && n.text == "last" {
		return
	}
	near := diag.Nearest(p.tok.text, verbsAndKinds(v))
	if near == "" {
		return
	}
	word := p.tok.text
	p.next()
	d := p.syntaxError("")
	d.Suggest = near
	d.Message += fmt.Sprintf(": %q begins no command; did you mean %q?", clip(word), near)
	panic(bailout{d})
}
