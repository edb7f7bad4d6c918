package packet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
)

// looksLikeCSV reports whether a first line is a list of column names.
func looksLikeCSV(line string) bool {
	cells := strings.Split(strings.TrimSpace(line), ",")
	if len(cells) < 2 {
		return false
	}
	for _, c := range cells {
		if !knownColumn(strings.Trim(c, "\" ")) {
			return false
		}
	}
	return true
}

// newCSVSource reads a header row of column names, then a packet a row. An
// empty cell states nothing. A name that means nothing ends the source, since
// every packet would lack what it says.
func newCSVSource(in *input) Source {
	s := &textSource{input: in, format: "CSV"}
	r := csv.NewReader(windowReader{&s.win})
	r.FieldsPerRecord = -1
	r.Comment = '#'
	r.TrimLeadingSpace = true
	r.ReuseRecord = true
	var names []string
	s.next = func(p *Packet) (int, error) {
		row, err := r.Read()
		var pe *csv.ParseError
		if errors.As(err, &pe) {
			return 0, &LineError{Line: pe.Line, Col: pe.Column, Msg: pe.Err.Error()}
		}
		if err != nil {
			return 0, err
		}
		if names == nil {
			for i, n := range row {
				n = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(n, "\ufeff")))
				names = append(names, n)
				if !knownColumn(n) {
					line, col := r.FieldPos(i)
					s.note(&LineError{Line: line, Col: col, Msg: fmt.Sprintf("unknown column %q", n), Hint: nearest(n, columnNames())})
				}
			}
			if len(s.errs.List) > 0 {
				return 0, &s.errs
			}
			return 0, nil
		}
		line, col := r.FieldPos(0)
		raw := &columns{}
		var e *LineError
		for i, v := range row {
			l, c := r.FieldPos(i)
			if i >= len(names) {
				e = &LineError{Line: l, Col: c, Msg: fmt.Sprintf("cell %q has no column: the header names %d", v, len(names))}
				break
			}
			if e = raw.column(wordAt{names[i], c}, wordAt{strings.TrimSpace(v), c}); e != nil {
				break
			}
		}
		if e == nil {
			e = raw.finish(col)
		}
		var count int
		if e == nil {
			count, e = raw.packet(p)
		}
		if e != nil {
			e.Line = line
			return 0, e
		}
		p.Line = line
		return count, nil
	}
	return s
}
