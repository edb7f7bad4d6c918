package packet

import (
	"fmt"
	"strings"
)

// LineError is one mistake in a text source. Line and Col count from 1, Col in
// bytes; Line is 0 when the text is a single line from elsewhere.
type LineError struct {
	File string
	Line int
	Col  int
	Msg  string // what was found and what was expected
	Hint string // nearest valid word, "" if none is near
}

// Error gives file:line:col: message; did you mean "word"?
func (e *LineError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:", e.Line)
	}
	if e.Col > 0 {
		if e.File == "" && e.Line == 0 {
			b.WriteString("column ")
		}
		fmt.Fprintf(&b, "%d:", e.Col)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Hint)
	}
	return b.String()
}

// maxLineErrors bounds how many mistakes of one file are kept.
const maxLineErrors = 100

// LineErrors are the mistakes of one text source, in order, each once. A line
// with a mistake gives no packet; the lines around it do.
type LineErrors struct {
	List []*LineError
	More int // mistakes beyond those listed
}

// Error gives one mistake a line.
func (e *LineErrors) Error() string {
	var b strings.Builder
	for i, l := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.Error())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\nand %d more mistakes", e.More)
	}
	return b.String()
}

// Unwrap gives the single mistakes.
func (e *LineErrors) Unwrap() []error {
	out := make([]error, len(e.List))
	for i, l := range e.List {
		out[i] = l
	}
	return out
}

// nearest finds the word of the list that s was probably meant to be: at most
// a third of its letters differ, or it is the only one which s begins.
func nearest(s string, words []string) string {
	best, bestDist := "", 1+max(1, len(s)/3)
	for _, w := range words {
		d := distance(s, w, bestDist+1)
		if d < bestDist || d == bestDist && best != "" && strings.HasPrefix(w, s) && !strings.HasPrefix(best, s) {
			best, bestDist = w, d
		}
	}
	if best == "" && len(s) >= 2 {
		for _, w := range words {
			if strings.HasPrefix(w, s) {
				if best != "" {
					return ""
				}
				best = w
			}
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour; limit or more comes back as limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 64 {
		return limit
	}
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return min(prev[len(b)], limit)
}
