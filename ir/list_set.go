package ir

import (
	"bytes"
	"sort"
	"strconv"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// set prints a named set or map.
func (l *lister) set(s *Set) {
	word := "set"
	if s.Flags&bytecode.SetMap != 0 || s.Flags&bytecode.SetObject != 0 {
		word = "map"
	}
	l.printf("\t%s %s {\n\t\t%s\n", word, s.Name, l.setType(s))
	if s.Flags&bytecode.SetConstant == 0 {
		if s.Policy == bytecode.PolicyMemory {
			l.printf("\t\tpolicy memory\n")
		}
		switch {
		case s.Size != 0:
			l.printf("\t\tsize %d", s.Size)
			if n := len(s.Elements); n > 0 {
				l.printf("\t# count %d", n)
			}
			l.printf("\n")
		case l.updated[s]:
			l.printf("\t\tsize %d", dynsetSize)
			if n := len(s.Elements); n > 0 {
				l.printf("\t# count %d", n)
			}
			l.printf("\n")
		}
	}
	l.setFlags(s)
	if len(s.Stmts) > 0 {
		l.printf("\t\t%s\n", l.stateless().statefulList(s.Stmts))
	}
	if s.AutoMerge {
		l.printf("\t\tauto-merge\n")
	}
	if s.Timeout != 0 {
		l.printf("\t\ttimeout %s\n", l.duration(uint64(s.Timeout.Milliseconds())))
	}
	if s.GC != 0 {
		l.printf("\t\tgc-interval %s\n", l.duration(uint64(s.GC.Milliseconds())))
	}
	if s.CommentSet {
		l.printf("\t\tcomment \"%s\"\n", s.Comment)
	}
	if len(s.Elements) > 0 {
		l.printf("\t\telements = %s\n", l.elements(s, l.separator(s)))
	}
	l.printf("\t}\n")
}

func (l *lister) setType(s *Set) string {
	var b strings.Builder
	typeOf := s.KeyExpr != nil && (s.DataKind != bytecode.DataValue || s.DataExpr != nil)
	if typeOf {
		b.WriteString("typeof " + l.typeofText(s.KeyExpr))
	} else {
		b.WriteString("type " + s.Key.Name)
	}
	switch s.DataKind {
	case bytecode.DataValue, bytecode.DataVerdict:
		b.WriteString(" : ")
		if s.DataInterval {
			b.WriteString("interval ")
		}
		switch {
		case s.DataKind == bytecode.DataVerdict:
			b.WriteString("verdict")
		case typeOf:
			b.WriteString(l.typeofText(s.DataExpr))
		default:
			b.WriteString(s.Data.Name)
		}
	case bytecode.DataObject:
		b.WriteString(" : " + s.ObjType.String())
	}
	return b.String()
}

// typeofText prints the expression of a typeof. Operators are not kept with a
// set (expr_build_udata_recurse).
func (l *lister) typeofText(e Expr) string {
	for {
		switch x := e.(type) {
		case *Binary:
			e = x.X
			continue
		case *Byteorder:
			e = x.X
			continue
		case *Concat:
			parts := make([]string, len(x.Items))
			for i, it := range x.Items {
				parts[i] = l.typeofText(it)
			}
			return strings.Join(parts, " . ")
		}
		return l.exprText(e, false)
	}
}

func (l *lister) setFlags(s *Set) {
	shown := s.Flags
	if s.Timeout != 0 {
		// The flag goes without saying beside a default timeout, but is
		// printed when there is a line of flags.
		shown &^= bytecode.SetTimeout
	}
	if shown&(bytecode.SetConstant|bytecode.SetInterval|bytecode.SetTimeout|bytecode.SetEval) == 0 {
		return
	}
	var names []string
	for _, f := range []struct {
		flag bytecode.SetFlags
		name string
	}{
		{bytecode.SetConstant, "constant"}, {bytecode.SetEval, "dynamic"},
		{bytecode.SetInterval, "interval"}, {bytecode.SetTimeout, "timeout"},
	} {
		if s.Flags&f.flag != 0 || f.flag == bytecode.SetTimeout && s.Timeout != 0 {
			names = append(names, f.name)
		}
	}
	l.printf("\t\tflags %s\n", strings.Join(names, ","))
}

// elementNewline starts a new line between the elements of a named set.
const elementNewline = ",\n\t\t\t     "

// separator tells what goes between the elements of a named set: how many
// stand on a line depends on the type (calculate_delim).
func (l *lister) separator(s *Set) (perLine int) {
	const special = bytecode.SetMap | bytecode.SetObject | bytecode.SetTimeout | bytecode.SetConcat
	if s.Timeout != 0 || s.Flags&special != 0 || len(s.Stmts) > 0 || s.Key.Parts != nil {
		return 1
	}
	for i := range s.Elements {
		if o := s.Elements[i].Opts; o != nil && o.CommentSet {
			return 1
		}
	}
	switch s.Key.ID {
	case IDNFProto, IDInteger, IDArpOp, IDInetProto, IDInetService, IDTCPFlag, IDDCCPPktType,
		IDMark, IDIfIndex, IDClassID, IDUID, IDGID, IDCTDir:
		return 5
	case IDIPv4Addr, IDCTState, IDCTStatus, IDPktType:
		return 2
	}
	return 1
}

// setRefText prints a set where it is used: the name, or the elements of an
// anonymous one.
func (l *lister) setRefText(s *Set) string {
	if s.Flags&bytecode.SetAnonymous != 0 {
		return l.elements(s, 0)
	}
	return "@" + s.Name
}

// elements prints `{ … }` with perLine elements on a line, all on one with 0.
func (l *lister) elements(s *Set, perLine int) string {
	var b strings.Builder
	b.WriteString("{ ")
	for i, e := range sortedElements(s) {
		switch {
		case i == 0:
		case perLine > 0 && i%perLine == 0:
			b.WriteString(elementNewline)
		default:
			b.WriteString(", ")
		}
		b.WriteString(l.element(s, e))
	}
	b.WriteString(" }")
	return b.String()
}

// sortedElements returns the elements in the order of listings: by key, the
// catch-all last. Sets of concatenated ranges stay in the order in which they
// were added.
func sortedElements(s *Set) []*Element {
	out := make([]*Element, len(s.Elements))
	for i := range s.Elements {
		out[i] = &s.Elements[i]
	}
	const ranges = bytecode.SetInterval
	keepOrder := s.Flags&ranges != 0 && len(s.KeyFields) > 1
	keys := make(map[*Element][]byte, len(out))
	if !keepOrder {
		for _, e := range out {
			keys[e] = listKey(s, e)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Catchall != b.Catchall {
			return b.Catchall
		}
		return !keepOrder && bytes.Compare(keys[a], keys[b]) < 0
	})
	return out
}

// listKey is what elements are compared by: the numbers that the fields of the
// key are, of several flags the lowest.
func listKey(s *Set, e *Element) []byte {
	var key []byte
	off := 0
	for _, f := range s.KeyFields {
		end := off + f.Len()
		if end > len(e.From) {
			break
		}
		n := e.From[off:end]
		switch {
		case !f.Type.IsString():
			n = numberOf(n, f.Order)
		case len(s.KeyFields) > 1:
			// Strings count as numbers in the machine's byte order here.
			n = numberOf(n, OrderHost)
		}
		if f.Type.IsBitmask() && len(s.KeyFields) == 1 {
			n = lowestFlag(n)
		}
		key = append(key, n...)
		off += (f.Len() + 3) &^ 3
	}
	return key
}

// lowestFlag keeps the lowest bit of a number.
func lowestFlag(n []byte) []byte {
	one := make([]byte, len(n))
	for i := len(n) - 1; i >= 0; i-- {
		if n[i] != 0 {
			one[i] = n[i] & -n[i]
			break
		}
	}
	return one
}

func (l *lister) element(s *Set, e *Element) string {
	var b strings.Builder
	if e.Catchall {
		b.WriteString("*")
	} else {
		b.WriteString(l.elementKey(s, e))
	}
	stmts := s.Stmts
	if o := e.Opts; o != nil && len(o.Stmts) > 0 {
		stmts = o.Stmts
	}
	for _, st := range stmts {
		if f, ok := st.(*Stateful); ok {
			b.WriteString(" " + l.statefulText(f.Instr))
		}
	}
	if o := e.Opts; o != nil {
		switch {
		case o.TimeoutSet && o.Timeout == 0:
			b.WriteString(" timeout never")
		case o.Timeout != 0 && o.Timeout != s.Timeout:
			b.WriteString(" timeout " + l.duration(uint64(o.Timeout.Milliseconds())))
		}
		if o.CommentSet {
			b.WriteString(` comment "` + o.Comment + `"`)
		}
	}
	if e.Data != nil {
		b.WriteString(" : " + l.elementData(s, e.Data))
	}
	return b.String()
}

func (l *lister) elementData(s *Set, d *ElementData) string {
	if d.Expr != nil {
		return l.exprText(d.Expr, false)
	}
	value, last := d.Value, []byte(nil)
	if s.DataInterval {
		// First and last value lie one behind the other.
		value, last = d.Value[:len(d.Value)/2], d.Value[len(d.Value)/2:]
	}
	text := l.fieldsText(s.DataFields, value, last)
	if last != nil && len(s.DataFields) == 1 && s.DataFields[0].Type.Prefix && bytes.Equal(value, last) {
		// A single value in a map of intervals is listed as a prefix.
		text += "/" + strconv.Itoa(len(value)*8)
	}
	return text
}

// elementKey prints the key of an element field by field.
func (l *lister) elementKey(s *Set, e *Element) string {
	fields := s.KeyFields
	if len(fields) == 0 {
		fields = []SetField{{Type: s.Key, Order: s.Key.Order, Bits: len(e.From) * 8}}
	}
	return l.fieldsText(fields, e.From, e.To)
}

// fieldsText prints the fields of a value as it lies in registers; to is nil
// when it is no range.
func (l *lister) fieldsText(fields []SetField, from, to []byte) string {
	parts := make([]string, 0, len(fields))
	off := 0
	for _, f := range fields {
		end := off + f.Len()
		if end > len(from) {
			break
		}
		var last []byte
		if to != nil && end <= len(to) && !bytes.Equal(from[off:end], to[off:end]) {
			last = to[off:end]
		}
		parts = append(parts, l.fieldText(f, from[off:end], last))
		off += (f.Len() + 3) &^ 3
	}
	return strings.Join(parts, " . ")
}

// fieldText prints one field: a value, or with to a prefix or range.
func (l *lister) fieldText(f SetField, from, to []byte) string {
	t := f.Type
	attr := Attr{Type: t, Order: f.Order, Bits: f.Bits}
	if t.IsString() {
		v := &Value{Attr: attr, Bytes: from}
		if to != nil {
			v.Bytes, v.Wildcard = from[:commonPrefix(from, to)], true
		}
		return stringText(v)
	}
	lo := &Value{Attr: attr, Bytes: numberOf(from, f.Order)}
	if to == nil {
		return l.valueText(lo, false)
	}
	hi := &Value{Attr: attr, Bytes: numberOf(to, f.Order)}
	if n, ok := prefixLen(lo.Bytes, hi.Bytes); ok && t.Prefix {
		return l.exprText(&Prefix{Attr: attr, X: lo, Len: n}, false)
	}
	return l.exprText(&RangeValue{Attr: attr, From: lo, To: hi}, false)
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// prefixLen tells whether a closed range is a prefix, and its length in bits.
func prefixLen(from, to []byte) (int, bool) {
	bit := func(b []byte, i int) byte { return b[i/8] >> (7 - i%8) & 1 }
	n := len(from) * 8
	i := 0
	for i < n && bit(from, i) == bit(to, i) {
		i++
	}
	for j := i; j < n; j++ {
		if bit(from, j) != 0 || bit(to, j) != 1 {
			return 0, false
		}
	}
	return i, true
}

// statefulText prints a stateful statement.
func (l *lister) statefulText(in bytecode.Instr) string {
	switch in := in.(type) {
	case *bytecode.Counter:
		return l.counter(in)
	case *bytecode.Quota:
		return l.quota(in)
	case *bytecode.Limit:
		return limitText(in, false)
	case *bytecode.Connlimit:
		return connlimitText(in)
	case *bytecode.Last:
		return l.last(in)
	}
	return ""
}

func (l *lister) statefulList(stmts []Stmt) string {
	var parts []string
	for _, st := range stmts {
		if f, ok := st.(*Stateful); ok {
			parts = append(parts, l.statefulText(f.Instr))
		}
	}
	return strings.Join(parts, " ")
}
