package packet

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// newJSONSource reads one JSON object a line, whose members are the columns of
// CSV. Values are strings, numbers, booleans, lists of these, or objects whose
// members are joined with a dot ({"ct": {"mark": 1}} is ct.mark).
func newJSONSource(in *input) Source {
	s := &textSource{input: in, format: "JSON Lines"}
	lines := s.lines()
	s.next = func(p *Packet) (int, error) {
		for {
			line, n, err := lines()
			if err != nil {
				return 0, err
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			raw := &columns{}
			e := raw.object(line)
			if e == nil {
				e = raw.finish(1)
			}
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

// jsonLine walks the tokens of one line.
type jsonLine struct {
	line string
	dec  *json.Decoder
}

// token returns the next token and its column.
func (j *jsonLine) token() (json.Token, int, *LineError) {
	at := int(j.dec.InputOffset())
	for at < len(j.line) && strings.IndexByte(" \t\r,:", j.line[at]) >= 0 {
		at++
	}
	t, err := j.dec.Token()
	if err != nil {
		msg := strings.TrimPrefix(err.Error(), "json: ")
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			msg = "the JSON object is not closed"
		}
		if se, ok := err.(*json.SyntaxError); ok {
			at = max(0, min(int(se.Offset)-1, len(j.line)))
		}
		return nil, at + 1, errorAt(at+1, "%s", msg)
	}
	return t, at + 1, nil
}

func (raw *columns) object(line string) *LineError {
	j := &jsonLine{line: line, dec: json.NewDecoder(strings.NewReader(line))}
	j.dec.UseNumber()
	t, col, e := j.token()
	if e != nil {
		return e
	}
	if t != json.Delim('{') {
		return errorAt(col, "found %v, expected a JSON object", t)
	}
	if e := raw.members(j, "", 0); e != nil {
		return e
	}
	if rest := strings.TrimSpace(line[j.dec.InputOffset():]); rest != "" {
		return errorAt(int(j.dec.InputOffset())+1, "%.20q after the JSON object", rest)
	}
	return nil
}

// members reads the members of an object up to its end.
func (raw *columns) members(j *jsonLine, prefix string, depth int) *LineError {
	for {
		t, col, e := j.token()
		if e != nil {
			return e
		}
		if t == json.Delim('}') {
			return nil
		}
		key, _ := t.(string)
		name := wordAt{strings.ToLower(prefix + key), col}
		v, vcol, e := j.token()
		if e != nil {
			return e
		}
		var text string
		switch v := v.(type) {
		case json.Delim:
			if v == '{' && depth < 2 {
				if e := raw.members(j, name.s+".", depth+1); e != nil {
					return e
				}
				continue
			}
			if v != '[' {
				return errorAt(vcol, "%s: objects are nested too deep", name.s)
			}
			var parts []string
			for {
				t, c, e := j.token()
				if e != nil {
					return e
				}
				if t == json.Delim(']') {
					break
				}
				if _, ok := t.(json.Delim); ok {
					return errorAt(c, "%s: a list of lists or objects", name.s)
				}
				parts = append(parts, jsonText(t))
			}
			text = strings.Join(parts, ",")
		default:
			text = jsonText(v)
		}
		if e := raw.column(name, wordAt{text, vcol}); e != nil {
			return e
		}
	}
}

func jsonText(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return ""
	case bool:
		if t {
			return "1"
		}
		return "0"
	}
	return fmt.Sprint(t)
}
