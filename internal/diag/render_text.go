package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextOptions of WriteText.
type TextOptions struct {
	// Color writes ANSI colours; the caller decides (terminal, NO_COLOR).
	Color bool
	// Width is the longest snippet in columns, without the margin; 0 means 100.
	Width int
}

const (
	defaultSnippetWidth = 100
	minSnippetWidth     = 20
	tabWidth            = 4
	// contextBefore is how many columns a window of a long line shows before
	// the place that it is about.
	contextBefore = 30
)

const (
	ansiReset  = "\x1b[0m"
	ansiBold   = "\x1b[1m"
	ansiRed    = "\x1b[1;31m"
	ansiYellow = "\x1b[1;33m"
	ansiCyan   = "\x1b[1;36m"
	ansiBlue   = "\x1b[34m"
)

// WriteText writes findings for people:
//
//	rules.nft:12:9: error: unknown field "dprot" of tcp; did you mean "dport"? [unknown-field]
//	   |
//	12 |     tcp dprot 22 accept
//	   |         ^~~~~
//
// The column counts bytes, as nft does. Of a line longer than the width a
// window around the place is shown. Control characters never reach the output.
func WriteText(w io.Writer, fs []Finding, opt TextOptions) error {
	if opt.Width <= 0 {
		opt.Width = defaultSnippetWidth
	}
	opt.Width = max(opt.Width, minSnippetWidth)
	t := textWriter{w: bufio.NewWriter(w), opt: opt}
	for i := range fs {
		t.finding(&fs[i])
	}
	return t.w.Flush()
}

type textWriter struct {
	w   *bufio.Writer
	opt TextOptions
}

func (t *textWriter) finding(f *Finding) {
	c := ansiRed
	switch f.Severity {
	case Warning:
		c = ansiYellow
	case Info:
		c = ansiCyan
	}
	t.head(f.Start, f.Severity.String(), c, f.Text(), f.Code)
	margin := t.snippet(f.files, f.span, c)
	for _, p := range f.Included {
		t.hint(margin, "included from "+p.String())
	}
	for _, n := range f.Notes {
		if n.Start.Line == 0 {
			t.hint(margin, "note: "+Printable(n.Message))
			continue
		}
		t.head(n.Start, "note", ansiCyan, n.Message, "")
		t.snippet(f.files, n.span, ansiCyan)
	}
}

func (t *textWriter) head(p Position, word, color, msg, code string) {
	if p.File != "" {
		t.colored(ansiBold, Printable(p.String())+":")
		t.w.WriteByte(' ')
	}
	t.colored(color, word+":")
	t.w.WriteByte(' ')
	t.w.WriteString(Printable(msg))
	if code != "" {
		t.w.WriteString(" [" + code + "]")
	}
	t.w.WriteByte('\n')
}

func (t *textWriter) hint(margin int, s string) {
	t.w.WriteString(strings.Repeat(" ", margin+1))
	t.colored(ansiBlue, "=")
	t.w.WriteString(" " + s + "\n")
}

func (t *textWriter) colored(c, s string) {
	if t.opt.Color {
		t.w.WriteString(c + s + ansiReset)
		return
	}
	t.w.WriteString(s)
}

// snippet writes the line of a span with the span underlined and returns the
// width of the line number, to which hints align.
func (t *textWriter) snippet(files *FileSet, sp Span, color string) int {
	f := files.File(sp.Start)
	if f == nil {
		return 1
	}
	start := min(f.Offset(sp.Start), len(f.Text))
	p := f.Position(start)
	line, lineStart := f.Line(p.Line)
	a := start - lineStart
	b := max(f.Offset(sp.End)-lineStart, a)
	b = min(b, len(strings.TrimRight(line, " \t\r")))
	s, from, n := window(line, a, b, t.opt.Width)
	num := fmt.Sprint(p.Line)
	gap := strings.Repeat(" ", len(num))
	t.colored(ansiBlue, gap+" |")
	t.w.WriteByte('\n')
	t.colored(ansiBlue, num+" |")
	t.w.WriteString(strings.TrimRight(" "+s, " ") + "\n")
	t.colored(ansiBlue, gap+" |")
	t.w.WriteString(" " + strings.Repeat(" ", from))
	t.colored(color, "^"+strings.Repeat("~", max(n-1, 0)))
	t.w.WriteByte('\n')
	return len(num)
}

const ellipsis = "…"

// window cuts the part of a line that shows the byte range [a, b) into width
// columns, with tabs expanded and control characters replaced. from and n are
// the columns where the range starts and how many it takes.
func window(line string, a, b, width int) (s string, from, n int) {
	// Only the bytes that can reach the window are looked at: a line may be
	// many megabytes long.
	lead := min(a, width*utf8.UTFMax)
	cutStart := a - lead
	for cutStart > 0 && cutStart < len(line) && !utf8.RuneStart(line[cutStart]) {
		cutStart--
	}
	cutEnd := min(len(line), a+width*utf8.UTFMax)
	before := display(line[cutStart:min(a, len(line))], 0)
	mark := display(line[min(a, len(line)):min(max(a, b), cutEnd)], len(before))
	after := display(line[min(max(a, b), cutEnd):cutEnd], len(before)+len(mark))
	left, right := cutStart > 0, cutEnd < len(line)
	all := len(before) + len(mark) + len(after)
	if !left && !right && all <= width {
		return string(before) + string(mark) + string(after), len(before), len(mark)
	}
	// The range goes to the left third; what is before and behind it fills the
	// rest.
	keep := min(len(before), contextBefore)
	if room := width - len(mark) - len(after); !right && room > keep {
		keep = min(len(before), room)
	}
	if keep < len(before) || left {
		before = append([]rune(ellipsis), before[len(before)-keep:]...)
	}
	from = len(before)
	rest := append(mark[:len(mark):len(mark)], after...)
	if room := max(width-from, 1); len(rest) > room || right {
		rest = append(rest[:min(len(rest), room-1):min(len(rest), room-1)], []rune(ellipsis)...)
	}
	return string(before) + string(rest), from, min(len(mark), len(rest))
}

// display turns text into columns: tabs become spaces up to the next tab stop
// as counted from col, what does not print becomes U+FFFD.
func display(s string, col int) []rune {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		switch {
		case r == '\t':
			for ok := true; ok; ok = (col+len(out))%tabWidth != 0 {
				out = append(out, ' ')
			}
		case r == '\r':
		case !unicode.IsPrint(r):
			out = append(out, utf8.RuneError)
		default:
			out = append(out, r)
		}
	}
	return out
}

// Printable replaces what does not print in a message: quoted input must not
// steer a terminal.
func Printable(s string) string {
	ok := true
	for _, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, s)
}
