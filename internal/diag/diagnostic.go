package diag

import "fmt"

// Severity orders diagnostics.
type Severity uint8

const (
	Error Severity = iota
	Warning
	Info
)

func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Info:
		return "info"
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// Diagnostic is one finding. Code is a word that never changes its meaning
// (unknown-field, overlapping-elements); Message is one sentence without a
// final stop that says what was found and what was expected. Where nft 1.1.7
// words a refusal in a fixed way ("No symbol type information"), Message
// contains that wording.
type Diagnostic struct {
	Code     string
	Severity Severity
	Span     Span
	Message  string
	// Suggest is the nearest valid word, or empty.
	Suggest string
	Notes   []Note
}

// Note adds a second place or a hint to a diagnostic; its span may be unknown.
type Note struct {
	Span    Span
	Message string
}

// List collects diagnostics of a stage, each place and code once.
type List struct {
	All  []Diagnostic
	seen map[diagKey]struct{}
	errs int
}

type diagKey struct {
	code string
	span Span
	msg  string
}

// Add records d unless the same was recorded already.
func (l *List) Add(d Diagnostic) {
	k := diagKey{d.Code, d.Span, d.Message}
	if _, dup := l.seen[k]; dup {
		return
	}
	if l.seen == nil {
		l.seen = make(map[diagKey]struct{})
	}
	l.seen[k] = struct{}{}
	if d.Severity == Error {
		l.errs++
	}
	l.All = append(l.All, d)
}

// Errorf records an error.
func (l *List) Errorf(code string, sp Span, format string, args ...any) {
	l.Add(Diagnostic{Code: code, Severity: Error, Span: sp, Message: fmt.Sprintf(format, args...)})
}

// Warnf records a warning.
func (l *List) Warnf(code string, sp Span, format string, args ...any) {
	l.Add(Diagnostic{Code: code, Severity: Warning, Span: sp, Message: fmt.Sprintf(format, args...)})
}

// HasErrors tells whether an error was recorded.
func (l *List) HasErrors() bool { return l.errs > 0 }

// Errors returns how many errors were recorded.
func (l *List) Errors() int { return l.errs }

// Nearest returns the candidate closest to word by edit distance (transposed
// neighbours count one), or "" when none is close enough to be a likely typo.
func Nearest(word string, candidates []string) string {
	best, bestDist := "", len(word)/3+2
	for _, c := range candidates {
		if c == word {
			continue
		}
		if d := distance(word, c, bestDist); d < bestDist {
			best, bestDist = c, d
		}
	}
	if bestDist >= max(len(word), len(best)) {
		return ""
	}
	return best
}

// distance is the restricted Damerau-Levenshtein distance, cut off at limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
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
