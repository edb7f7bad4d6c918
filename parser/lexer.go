package parser

import "strconv"

// scanner cuts a file into tokens, one at a time, so that the memory of a huge
// element list is that of its nodes. It keeps no state but its place: setting
// pos scans again from there.
type scanner struct {
	src string
	pos int
	// comment, when not nil, is called for each comment passed.
	comment func(start, end int)
}

// Character classes of the scanner.
const (
	classWordStart = 1 << iota // letter _ .
	classWord                  // letter digit / - _ .
	classDigit
	classHex
)

var charClass = func() (t [256]uint8) {
	for c := '0'; c <= '9'; c++ {
		t[c] |= classWord | classDigit | classHex
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= classWordStart | classWord
		t[c-32] |= classWordStart | classWord
	}
	for c := 'a'; c <= 'f'; c++ {
		t[c] |= classHex
		t[c-32] |= classHex
	}
	for _, c := range "_." {
		t[c] |= classWordStart | classWord
	}
	for _, c := range "/-" {
		t[c] |= classWord
	}
	return t
}()

func is(c byte, class uint8) bool { return charClass[c]&class != 0 }

// next reads the next token into t.
func (s *scanner) next(t *token) {
	src := s.src
	for s.pos < len(src) {
		switch src[s.pos] {
		case ' ', '\t':
			s.pos++
			continue
		case '\\':
			if s.pos+1 < len(src) && src[s.pos+1] == '\n' {
				s.pos += 2
				continue
			}
		case '#':
			if s.skipComment() {
				continue
			}
		}
		break
	}
	i := s.pos
	if i >= len(src) {
		*t = token{kind: tokEOF, pos: len(src)}
		return
	}
	c := src[i]
	kind, op, n := tokPunct, c, 1
	switch {
	case is(c, classWordStart):
		kind, n = s.word()
	case is(c, classDigit):
		kind, n = s.digits()
	default:
		var d byte
		if i+1 < len(src) {
			d = src[i+1]
		}
		switch c {
		case '\n':
			kind = tokNewline
		case '\r':
			kind = tokJunk
			if d == '\n' {
				kind, n = tokCRLF, 2
			}
		case '"':
			kind, n = tokUnclosed, 1
			for j := i + 1; j < len(src); j++ {
				if src[j] == '"' {
					kind, n = tokQuoted, j+1-i
					break
				}
			}
			if kind == tokUnclosed {
				// the rest of the line is as good a place as any to go on
				for i+n < len(src) && src[i+n] != '\n' {
					n++
				}
			}
		case ':':
			if m := ip6Len(src[i:]); m > 0 {
				kind, n = tokLiteral, m
			}
		case '[':
			if m := ip6Len(src[i+1:]); m > 0 && i+1+m < len(src) && src[i+1+m] == ']' {
				kind, n = tokLiteral, m+2
			}
		case '\\':
			kind = tokJunk
			if d == '*' {
				kind, n = tokAsterisk, 2
			}
		case '=':
			if d == '=' {
				op, n = opEq, 2
			}
		case '!':
			if d == '=' {
				op, n = opNeq, 2
			}
		case '<':
			if d == '=' {
				op, n = opLte, 2
			} else if d == '<' {
				op, n = opLshift, 2
			}
		case '>':
			if d == '=' {
				op, n = opGte, 2
			} else if d == '>' {
				op, n = opRshift, 2
			}
		case ',', ';', '{', '}', ']', '(', ')', '^', '&', '|', '/', '-', '*', '@', '$', '+':
		default:
			kind = tokJunk
		}
	}
	if kind != tokPunct {
		op = 0
	}
	*t = token{kind: kind, op: op, pos: i, text: src[i : i+n]}
	s.pos = i + n
}

// skipComment passes a comment. One that has a line to itself is passed with
// its newline, any other without, as nft does; one that ends the file without
// a newline is no comment to nft.
func (s *scanner) skipComment() bool {
	start := s.pos
	end := start
	for end < len(s.src) && s.src[end] != '\n' {
		end++
	}
	if end == len(s.src) {
		return false
	}
	alone := true
	for i := start - 1; i >= 0 && s.src[i] != '\n'; i-- {
		if s.src[i] != ' ' && s.src[i] != '\t' {
			alone = false
			break
		}
	}
	if s.comment != nil {
		s.comment(start, end)
	}
	s.pos = end
	if alone {
		s.pos++
	}
	return true
}

// word scans what begins with a letter, _ or a dot: the longest of word,
// word with asterisk, IPv6 or MAC address, class id.
func (s *scanner) word() (tokenKind, int) {
	src := s.src[s.pos:]
	n := 1
	for n < len(src) && is(src[n], classWord) {
		n++
	}
	if n == 1 && src[0] == '.' {
		if len(src) > 1 && src[1] == '*' {
			return tokAsterisk, 2
		}
		return tokPunct, 1
	}
	kind := tokWord
	if n < len(src) {
		switch src[n] {
		case ':':
			if is(src[0], classHex) {
				if m := colonLen(src); m > n {
					return tokLiteral, m
				}
			}
		case '*':
			return tokAsterisk, n + 1
		case '\\':
			if n+1 < len(src) && src[n+1] == '*' {
				n += 2
				if n < len(src) && is(src[n], classWordStart) {
					for n < len(src) && is(src[n], classWord) {
						n++
					}
				}
				return tokAsterisk, n
			}
		}
	}
	if keywords.has(src[:n]) {
		kind = tokKeyword
	}
	return kind, n
}

// digits scans what begins with a digit: the longest of number, address, time
// and class id.
func (s *scanner) digits() (tokenKind, int) {
	src := s.src[s.pos:]
	n := 1
	for n < len(src) && is(src[n], classDigit) {
		n++
	}
	var c byte
	if n < len(src) {
		c = src[n]
	}
	switch {
	case c == '.':
		if m := ip4Len(src); m > 0 {
			return tokLiteral, m
		}
	case c == ':' || is(c, classHex):
		if m := colonLen(src); m > n {
			return tokLiteral, m
		}
	}
	switch c {
	case 'd', 'h', 'm', 's':
		if m := timeLen(src); m > n {
			return tokLiteral, m
		}
	case 'x', 'X':
		if n == 1 && src[0] == '0' {
			m := 2
			for m < len(src) && is(src[m], classHex) {
				m++
			}
			if m > 2 {
				if _, err := strconv.ParseUint(src[2:m], 16, 64); err != nil {
					return tokLiteral, m
				}
				return tokNumber, m
			}
		}
	case 'a', 'q':
		if src[:n] == "8021" {
			if c == 'q' {
				return tokLiteral, n + 1
			}
			if n+1 < len(src) && src[n+1] == 'd' {
				return tokLiteral, n + 2
			}
		}
	}
	if _, ok := parseNumber(src[:n]); !ok {
		return tokLiteral, n
	}
	return tokNumber, n
}

// parseNumber gives the value of a number token: hex after 0x, octal after 0,
// else decimal.
func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		base = 8
	}
	v, err := strconv.ParseUint(s, base, 64)
	return v, err == nil
}

// timeLen is the length of a time such as 1d2h3m4s5ms at the start of s.
func timeLen(s string) int {
	n := 0
	for _, unit := range [...]string{"d", "h", "m", "s", "ms"} {
		m := n
		for m < len(s) && is(s[m], classDigit) {
			m++
		}
		if m == n || len(s)-m < len(unit) || s[m:m+len(unit)] != unit {
			continue
		}
		if unit == "m" && m+1 < len(s) && s[m+1] == 's' {
			continue // 5ms: the last unit, not minutes
		}
		n = m + len(unit)
	}
	return n
}

// ip4Len is the length of a dotted IPv4 address at the start of s, or 0.
func ip4Len(s string) int {
	n := 0
	for part := range 4 {
		d := 0
		for d < 3 && n < len(s) && is(s[n], classDigit) {
			n++
			d++
		}
		if d == 0 {
			return 0
		}
		if part < 3 {
			if n >= len(s) || s[n] != '.' {
				return 0
			}
			n++
		}
	}
	return n
}

// colonLen is the length of the longest IPv6 address, MAC address or class id
// at the start of s, or 0.
func colonLen(s string) int {
	n := max(ip6Len(s), macLen(s))
	// a class id counts one byte more: what must follow it
	if m := classLen(s); m > 0 && m+1 > n {
		return m
	}
	return n
}

func hexRun(s string, most int) int {
	n := 0
	for n < most && n < len(s) && is(s[n], classHex) {
		n++
	}
	return n
}

func macLen(s string) int {
	n := 0
	for part := range 6 {
		d := hexRun(s[n:], 2)
		if d == 0 {
			return 0
		}
		n += d
		if part < 5 {
			if n >= len(s) || s[n] != ':' {
				return 0
			}
			n++
		}
	}
	return n
}

// classLen is the length of a class id `1:ffff` if one of blank, newline,
// colon, dash, brace or comma follows.
func classLen(s string) int {
	a := hexRun(s, 4)
	if a == 0 || a >= len(s) || s[a] != ':' {
		return 0
	}
	for b := hexRun(s[a+1:], 4); b > 0; b-- {
		n := a + 1 + b
		if n >= len(s) {
			continue
		}
		switch s[n] {
		case ' ', '\t', '\n', ':', '-', '}', ',':
			return n
		}
	}
	return 0
}

// ip6Len is the length of the longest IPv6 address at the start of s, or 0.
func ip6Len(s string) int {
	groups, n, best := 0, 0, 0
	gap := false
	if len(s) > 1 && s[0] == ':' && s[1] == ':' {
		gap, n, best = true, 2, 2
	}
	for groups < 8 {
		d := hexRun(s[n:], 4)
		if d == 0 {
			break
		}
		if groups <= 6 && (gap || groups == 6) {
			if m := ip4Len(s[n:]); m > 0 && (gap && groups <= 5 || !gap && groups == 6) {
				best = max(best, n+m)
			}
		}
		n += d
		groups++
		if gap && groups <= 7 || groups == 8 && !gap {
			best = max(best, n)
		}
		if n >= len(s) || s[n] != ':' {
			break
		}
		if n+1 < len(s) && s[n+1] == ':' {
			if gap || groups > 7 {
				break
			}
			gap = true
			n += 2
			best = max(best, n)
			continue
		}
		n++
	}
	return best
}
