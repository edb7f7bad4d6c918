package packet

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds one line of a text source.
const maxLine = 16 << 20

// windowReader reads what a window holds and gets.
type windowReader struct{ w *window }

func (r windowReader) Read(b []byte) (int, error) {
	have, err := r.w.need(1)
	if len(have) == 0 {
		return 0, err
	}
	n := copy(b, r.w.buf[r.w.a:r.w.b])
	r.w.take(n)
	return n, nil
}

// textSource is what the text formats share: repetition by count=, and errors
// kept until the end.
type textSource struct {
	*input
	format string
	next   func(p *Packet) (count int, err error) // io.EOF at the end; *LineError for a line without packet
	errs   LineErrors
	repeat int
	last   Packet
}

func (s *textSource) Format() string { return s.format }

func (s *textSource) Next(p *Packet) error {
	if s.err != nil {
		return s.err
	}
	if s.repeat > 0 {
		s.repeat--
		s.copyLast(p)
		return nil
	}
	for {
		count, err := s.next(p)
		if e, ok := err.(*LineError); ok {
			s.note(e)
			continue
		}
		if err != nil {
			if err == io.EOF && len(s.errs.List) > 0 {
				err = &s.errs
			}
			s.err = err
			return err
		}
		if count == 0 {
			continue
		}
		s.packets++
		p.Index = s.packets
		if count > 1 {
			s.last = *p.Clone()
			s.repeat = count - 1
		}
		return nil
	}
}

func (s *textSource) copyLast(p *Packet) {
	buf := append(p.buf[:0], s.last.Data...)
	*p = s.last
	p.Data, p.buf = buf, buf
	s.packets++
	p.Index = s.packets
}

func (s *textSource) note(e *LineError) {
	e.File = s.name
	if len(s.errs.List) < maxLineErrors {
		s.errs.List = append(s.errs.List, e)
	} else {
		s.errs.More++
	}
}

// lines gives a function that returns the next line and its number.
func (s *textSource) lines() func() (string, int, error) {
	sc := bufio.NewScanner(windowReader{&s.win})
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	return func() (string, int, error) {
		if !sc.Scan() {
			err := sc.Err()
			switch {
			case err == bufio.ErrTooLong:
				err = &LineErrors{List: append(s.errs.List, &LineError{File: s.name, Line: n + 1, Col: 1, Msg: fmt.Sprintf("line longer than %d bytes", maxLine)})}
			case err == nil:
				err = io.EOF
			default:
				err = s.cut(s.win.off, "text", 0, 0, err)
			}
			return "", n, err
		}
		n++
		line := sc.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		return line, n, nil
	}
}

func newTupleSource(in *input) Source {
	s := &textSource{input: in, format: "packet notation"}
	lines := s.lines()
	s.next = func(p *Packet) (int, error) {
		for {
			line, n, err := lines()
			if err != nil {
				return 0, err
			}
			if t := strings.TrimSpace(line); t == "" || t[0] == '#' {
				continue
			}
			raw, e := scanTuple(line)
			var count int
			if e == nil {
				count, e = raw.packet(p)
			}
			if e != nil {
				e.Line = n
				return 0, e
			}
			p.Line = n
			return count, nil
		}
	}
	return s
}

// column gives a named value of CSV or JSON Lines to the packet described.
// Besides keys and fields the names are name, proto, src, sport, dst, dport,
// expect (verdict) and packet (a whole line of notation).
func (raw *columns) column(name wordAt, v wordAt) *LineError {
	if v.s == "" {
		return nil
	}
	switch columnName(name.s) {
	case "name":
		raw.name = v.s
	case "proto":
		raw.proto = v
	case "src":
		raw.src = v
	case "dst":
		raw.dst = v
	case "sport":
		raw.sport = v
	case "dport":
		raw.dport = v
	case "expect":
		word, rest, _ := strings.Cut(v.s, ";")
		raw.verdict = wordAt{strings.TrimSpace(word), v.col}
		raw.rest = strings.TrimSpace(rest)
	case "packet":
		sub, e := scanTuple(v.s)
		if e != nil {
			e.Col = v.col
			return e
		}
		for i := range sub.pairs {
			sub.pairs[i].key.col, sub.pairs[i].value.col = v.col, v.col
		}
		raw.proto, raw.src, raw.dst = wordAt{sub.proto.s, v.col}, wordAt{sub.src.s, v.col}, wordAt{sub.dst.s, v.col}
		raw.pairs = append(raw.pairs, sub.pairs...)
		if sub.name != "" {
			raw.name = sub.name
		}
		if sub.verdict.s != "" {
			raw.verdict, raw.rest = wordAt{sub.verdict.s, v.col}, sub.rest
		}
	default:
		raw.pairs = append(raw.pairs, pairAt{name, v})
	}
	return nil
}

// columns is a rawTuple in the making.
type columns struct {
	rawTuple
	sport, dport wordAt
}

// columnName gives the name of a column that is not a key, or "".
func columnName(s string) string {
	switch s = strings.ToLower(strings.TrimSpace(s)); s {
	case "name", "proto", "src", "dst", "sport", "dport", "expect", "packet":
		return s
	case "saddr", "source":
		return "src"
	case "daddr", "destination":
		return "dst"
	case "verdict":
		return "expect"
	case "tuple":
		return "packet"
	case "protocol":
		return "proto"
	}
	return ""
}

// knownColumn reports whether a name means anything as a column.
func knownColumn(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	if columnName(s) != "" || findKey(s) != nil {
		return true
	}
	hname, fname, ok := strings.Cut(s, ".")
	if !ok {
		fname = s
	}
	for _, h := range allHeaders {
		if (!ok || h.name == hname) && h.find(fname) != nil {
			return true
		}
	}
	return false
}

// columnNames lists what a column may be called, for hints.
func columnNames() []string {
	names := []string{"name", "proto", "src", "dst", "sport", "dport", "expect", "verdict", "packet"}
	for _, k := range tupleKeys {
		names = append(names, k.name)
	}
	for _, h := range allHeaders {
		for _, f := range h.fields {
			names = append(names, f.name)
		}
	}
	return names
}

// finish joins addresses with ports, and turns a protocol that has no word of
// its own, such as 89, into ip or ip6 with that number.
func (raw *columns) finish(at int) *LineError {
	join := func(a *wordAt, port wordAt) {
		if port.s == "" {
			return
		}
		if a.s == "" {
			a.col = port.col
		}
		if strings.Count(a.s, ":") > 1 && !strings.HasPrefix(a.s, "[") {
			a.s = "[" + a.s + "]"
		}
		a.s += ":" + port.s
	}
	join(&raw.src, raw.sport)
	join(&raw.dst, raw.dport)
	if raw.proto.s == "" && raw.src.s == "" {
		return nil
	}
	if raw.proto.s == "" {
		return errorAt(at, "no protocol: the column proto is empty or absent")
	}
	t := findProto(strings.ToLower(raw.proto.s))
	if t == nil {
		n, err := parseWord(raw.proto.s, ipProtoWords, 255)
		if err != nil {
			return noProto(raw.proto)
		}
		raw.pairs = append(raw.pairs, pairAt{wordAt{"proto", raw.proto.col}, wordAt{fmt.Sprint(n), raw.proto.col}})
		word := "ip"
		for i := range tupleProtos {
			if p := &tupleProtos[i]; p.l4 != nil && uint64(p.proto) == n {
				word = p.word
				raw.pairs = raw.pairs[:len(raw.pairs)-1]
			}
		}
		if word == "ip" && strings.Count(raw.src.s, ":") > 1 {
			word = "ip6"
		}
		raw.proto.s = word
	} else if t.ether && raw.src.s == "" {
		var rest []pairAt
		for _, kv := range raw.pairs {
			switch kv.key.s {
			case "smac":
				raw.src = kv.value
			case "dmac":
				raw.dst = kv.value
			default:
				rest = append(rest, kv)
			}
		}
		raw.pairs = rest
	}
	if raw.src.s == "" || raw.dst.s == "" {
		return errorAt(raw.proto.col, "%s needs src and dst", raw.proto.s)
	}
	return nil
}
