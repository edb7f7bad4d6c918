package parser

import (
	"slices"
	"strings"
)

// mark is what the parser notes about a token for Format: what the token's
// text alone does not tell.
type mark uint8

const (
	// markBlock: a brace that opens a block, not a set.
	markBlock mark = 1 << iota
	// markItem: the first token of an item.
	markItem
	// markSpaced: an operator with blanks around it, though its like in other
	// places has none: the slash in front of a mask, + and - of a priority,
	// the colon of a type.
	markSpaced
	// markUnary: a minus sign.
	markUnary
	// markSemicolon: the first token of an item that is written with a
	// semicolon behind it, and of which several stand on one line.
	markSemicolon
	// markOneLine: a brace between which and its partner no newline may stand.
	markOneLine
)

type placedMark struct {
	pos  int
	mark mark
}

// note marks the token at a place, if it is in the file that was named.
func (p *parser) note(pos int, m mark) {
	if p.file == p.out.Source {
		p.out.marks = append(p.out.marks, placedMark{pos, m})
	}
}

// lineWidth is where Format breaks a list of elements.
const lineWidth = 100

// tabWidth is what a tab counts in a line's width.
const tabWidth = 8

// Format returns the text of the file that f was parsed from in nft's style:
// one item a line, indented by tabs, with the blanks that `nft list ruleset`
// puts. Comments stay with what they stand beside, blank lines are kept (one at
// most), includes and definitions stay as they are, and so do the places where
// a list of elements was broken. Parsing the result gives the same tree, and
// formatting it again the same text. A text that does not parse is returned as
// it is.
func Format(f *File) string {
	if f.Source == nil {
		return ""
	}
	text := f.Source.Text
	if f.broken {
		return text
	}
	pieces := cut(text)
	w := &formatter{marks: f.markTable()}
	out := w.format(pieces)
	if !sameTokens(text, out) {
		return text
	}
	return out
}

// markTable gives the marks by place.
func (f *File) markTable() map[int]mark {
	m := make(map[int]mark, len(f.marks))
	for _, k := range f.marks {
		m[k.pos] |= k.mark
	}
	return m
}

// piece is a token other than a newline, or a comment, with the newlines in
// front of it.
type piece struct {
	token
	comment bool
	// newlines in front; continued: one of them was behind a backslash.
	newlines  int
	continued bool
}

// cut takes a text apart.
func cut(text string) []piece {
	s := scanner{src: text}
	n := 0
	var t token
	for s.next(&t); t.kind != tokEOF; s.next(&t) {
		n++
	}
	pieces := make([]piece, 0, n+n/8)
	s.pos = 0
	var comments [][2]int
	s.comment = func(start, end int) { comments = append(comments, [2]int{start, end}) }
	last := 0
	add := func(p piece) {
		gap := text[last:p.pos]
		p.newlines = strings.Count(gap, "\n")
		if n := strings.Count(gap, "\\\n"); n > 0 {
			p.continued = true
			p.newlines -= n
		}
		last = p.end()
		pieces = append(pieces, p)
	}
	for {
		s.next(&t)
		for _, c := range comments {
			add(piece{token: token{pos: c[0], text: text[c[0]:c[1]]}, comment: true})
		}
		comments = comments[:0]
		if t.kind == tokEOF {
			return pieces
		}
		if t.kind != tokNewline {
			add(piece{token: t})
		}
	}
}

// sameTokens compares two texts but for separators and blanks at the end of
// comments.
func sameTokens(a, b string) bool {
	x, y := commentReader{scanner: scanner{src: a}}, commentReader{scanner: scanner{src: b}}
	x.scanner.comment, y.scanner.comment = x.add, y.add
	for {
		t, u := x.token(), y.token()
		if t.kind != u.kind || t.text != u.text {
			return false
		}
		if len(x.comments) > 0 || len(y.comments) > 0 {
			if !slices.Equal(x.comments, y.comments) {
				return false
			}
			x.comments, y.comments = x.comments[:0], y.comments[:0]
		}
		if t.kind == tokEOF {
			return true
		}
	}
}

// commentReader reads tokens without separators, and the comments before them.
type commentReader struct {
	scanner  scanner
	comments []string
}

func (r *commentReader) add(start, end int) {
	r.comments = append(r.comments, strings.TrimRight(r.scanner.src[start:end], " \t"))
}

func (r *commentReader) token() token {
	var t token
	for {
		r.scanner.next(&t)
		if t.kind != tokNewline && (t.kind != tokPunct || t.op != ';') {
			return t
		}
	}
}

func (p *piece) isSeparator() bool {
	return !p.comment && p.kind == tokPunct && p.op == ';'
}

// brace is one open brace of the formatter.
type brace struct {
	block   bool
	oneLine bool
	// indent is that of the line the brace stands on.
	indent int
}

type formatter struct {
	out    strings.Builder
	marks  map[int]mark
	braces []brace
	indent int
	// lineStart is where the line in hand begins in out.
	lineStart int
	// run is the text since the last blank, tokens the number of tokens in it.
	run    string
	tokens int
	// semicolon: the item in hand is written with a semicolon.
	semicolon bool
	// raw counts the commas of a raw payload still to come.
	raw int
}

func (w *formatter) format(pieces []piece) string {
	var prev *piece
	sawSemicolon := false
	for i := range pieces {
		p := &pieces[i]
		if p.isSeparator() {
			sawSemicolon = true
			continue
		}
		w.piece(prev, p, sawSemicolon, pieces[i:])
		sawSemicolon = false
		prev = p
	}
	if prev != nil {
		w.endItem()
		w.out.WriteByte('\n')
	}
	return w.out.String()
}

func (w *formatter) mark(p *piece) mark {
	if p == nil || p.comment {
		return 0
	}
	return w.marks[p.pos]
}

func (w *formatter) top() *brace {
	if len(w.braces) == 0 {
		return nil
	}
	return &w.braces[len(w.braces)-1]
}

// inSet: the innermost brace is that of a set.
func (w *formatter) inSet() bool { b := w.top(); return b != nil && !b.block }

// endItem puts the semicolon that some items have.
func (w *formatter) endItem() {
	if w.semicolon {
		w.out.WriteByte(';')
		w.semicolon = false
	}
}

// newline begins a line.
func (w *formatter) newline(blank bool, indent int) {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
		if blank {
			w.out.WriteByte('\n')
		}
	}
	w.lineStart = w.out.Len()
	for range indent {
		w.out.WriteByte('\t')
	}
	w.run, w.tokens = "", 0
}

// piece writes one piece with what must stand in front of it.
func (w *formatter) piece(prev, p *piece, semicolon bool, rest []piece) {
	m := w.mark(p)
	opened := prev != nil && w.mark(prev)&markBlock != 0
	blank := p.newlines > 1 && !opened && prev != nil
	closedBlock := false
	closes := !p.comment && p.kind == tokPunct && p.op == '}'
	switch {
	case p.comment:
		if prev != nil && p.newlines == 0 && !p.continued && !prev.comment {
			if semicolon || !w.inSet() && endsLine(rest) {
				w.endItem()
			}
			w.out.WriteString(" " + strings.TrimRight(p.text, " \t"))
			w.run, w.tokens = "", 0
			return
		}
		if semicolon || !p.continued && !w.inSet() {
			w.endItem()
		}
		indent := w.indent
		if p.continued && prev != nil && !prev.comment {
			w.out.WriteString(" \\")
			indent++
		} else if w.inSet() {
			indent = w.top().indent + 1
			blank = false
		}
		w.newline(blank, indent)
		w.out.WriteString(strings.TrimRight(p.text, " \t"))
		return
	case closes && len(w.braces) > 0 && w.top().block:
		w.endItem()
		closedBlock = true
		w.indent = w.top().indent
		w.braces = w.braces[:len(w.braces)-1]
		w.newline(false, w.indent)
	case m&markItem != 0:
		sameLine := w.semicolon && m&markSemicolon != 0 && p.newlines == 0 && prev != nil && !prev.comment
		w.endItem()
		if sameLine {
			w.space(prev, p, true)
		} else {
			w.newline(blank, w.indent)
		}
		w.semicolon = m&markSemicolon != 0
	case w.inSet() && !w.top().oneLine:
		w.inSetPiece(prev, p, closes, rest)
	case prev != nil && prev.comment:
		w.newline(false, w.indent+1)
	case p.continued && prev != nil:
		w.out.WriteString(" \\")
		w.newline(false, w.indent+1)
	default:
		w.space(prev, p, w.spaced(prev, p))
	}
	if p.kind == tokPunct {
		switch p.op {
		case '{':
			b := brace{block: m&markBlock != 0, oneLine: m&markOneLine != 0, indent: w.indent}
			if n := w.top(); n != nil && !n.block {
				b.indent = n.indent
				if w.lineIndent() > n.indent {
					b.indent = w.lineIndent()
				}
			}
			w.braces = append(w.braces, b)
			if b.block {
				w.indent++
			}
		case '}':
			if !closedBlock && w.inSet() {
				w.braces = w.braces[:len(w.braces)-1]
			}
		case ',':
			if w.raw > 0 {
				w.raw--
			}
		case '@':
			w.raw = rawCommas(rest)
		}
	}
	w.out.WriteString(p.text)
	w.run += p.text
	w.tokens++
}

// rawCommas: a raw payload has two commas without blanks.
func rawCommas(rest []piece) int {
	if len(rest) > 4 && rest[2].kind == tokPunct && rest[2].op == ',' && rest[4].kind == tokPunct && rest[4].op == ',' {
		switch rest[1].text {
		case "ll", "nh", "th", "ih":
			return 2
		}
	}
	return 0
}

// endsLine: nothing follows on the line.
func endsLine(rest []piece) bool { return len(rest) < 2 || rest[1].newlines > 0 || rest[0].comment }

// lineIndent counts the tabs of the line in hand.
func (w *formatter) lineIndent() int {
	s := w.out.String()[w.lineStart:]
	n := 0
	for n < len(s) && s[n] == '\t' {
		n++
	}
	return n
}

// inSetPiece writes what stands in front of a piece in the braces of a set:
// line breaks are kept, and put in where the line gets too long.
func (w *formatter) inSetPiece(prev, p *piece, closes bool, rest []piece) {
	b := w.top()
	comma := p.kind == tokPunct && p.op == ','
	switch {
	case prev.comment, p.newlines > 0 && !comma:
		indent := b.indent + 1
		if closes {
			indent = b.indent
		}
		w.newline(false, indent)
	case prev.kind == tokPunct && prev.op == ',' && w.raw == 0 && !closes && w.tooLong(rest):
		w.newline(false, b.indent+1)
	case p.continued:
		w.out.WriteString(" \\")
		w.newline(false, b.indent+1)
	default:
		w.space(prev, p, w.spaced(prev, p))
	}
}

// tooLong tells whether the element that begins here would pass the width.
func (w *formatter) tooLong(rest []piece) bool {
	width := w.out.Len() - w.lineStart + (tabWidth-1)*w.lineIndent()
	if width < 60 {
		return false
	}
	depth := 0
	for i := range rest {
		p := &rest[i]
		if p.comment {
			break
		}
		if p.kind == tokPunct {
			switch p.op {
			case '{':
				depth++
			case '}':
				depth--
			case ',':
				if depth == 0 {
					return width+1 > lineWidth
				}
			}
		}
		if depth < 0 || i > 0 && p.newlines > 0 {
			break
		}
		width += len(p.text) + 1
		if width > lineWidth {
			return true
		}
	}
	return width > lineWidth
}

// space puts a blank in front of a piece, or none if the two may touch and are
// still read as two tokens.
func (w *formatter) space(prev, p *piece, spaced bool) {
	if prev == nil {
		return
	}
	if !spaced && w.tokens > 0 && touches(w.run, p.text, w.tokens+1) {
		return
	}
	w.out.WriteByte(' ')
	w.run, w.tokens = "", 0
}

// touches tells whether run and text written without a blank are still n
// tokens, the last of them text.
func touches(run, text string, n int) bool {
	if len(run) > 256 {
		return false
	}
	s := scanner{src: run + text + " "}
	var t token
	for range n {
		s.next(&t)
	}
	return t.text == text && t.end() == len(run)+len(text)
}

// spaced tells whether a blank stands between two tokens.
func (w *formatter) spaced(prev, p *piece) bool {
	if prev == nil {
		return false
	}
	if prev.kind == tokPunct {
		switch prev.op {
		case '$', '@', '(', '[':
			return false
		case ',':
			return w.inSet() && w.raw == 0
		case ':':
			return w.inSet() || w.mark(prev)&markSpaced != 0
		case '-', '/':
			return w.mark(prev)&markSpaced != 0
		}
	}
	if p.kind == tokPunct {
		switch p.op {
		case ',', ')', ']', '[':
			return false
		case ':':
			if prev.kind == tokKeyword || prev.kind == tokWord && prev.text == "to" {
				return true
			}
			return w.inSet() || w.mark(p)&markSpaced != 0
		case '-':
			return w.mark(p)&(markSpaced|markUnary) != 0
		case '/':
			return w.mark(p)&markSpaced != 0
		}
	}
	return true
}
