package ir

import (
	"bytes"
	"strings"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// elemEval evaluates one list of elements for a set. Keys come out most
// significant byte first in every field; orderKeys brings them to the set's
// byte order when the whole list is known.
type elemEval struct {
	*ruleCtx
	set    *Set
	keyLen int
	out    []Element
	// ranges tells that a key was a prefix or range, concat that it was one of
	// a concatenation.
	ranges bool
	// dataRanges tells that the data of an element was a range.
	dataRanges bool
	tail       []Element // elements that a list as key of a map brings
}

// fieldsLen is the length of fields in a register: padded when there are several.
func fieldsLen(fs []SetField) int {
	if len(fs) == 1 {
		return fs[0].Len()
	}
	n := 0
	for _, f := range fs {
		n += f.padded()
	}
	return n
}

func (f SetField) padded() int { return (f.Len() + 3) &^ 3 }

// isConcat tells whether keys are concatenations.
func (s *Set) isConcat() bool { return len(s.KeyFields) > 1 }

// pointSet tells whether elements are closed ranges that become start and end
// points: interval sets without concatenation.
func (s *Set) pointSet() bool { return s.Flags&bytecode.SetInterval != 0 && !s.isConcat() }

func (s *Set) isMap() bool { return s.Flags&(bytecode.SetMap|bytecode.SetObject) != 0 }

// kindWord is what messages call the set.
func (s *Set) kindWord() string {
	if s.isMap() {
		return "map"
	}
	return "set"
}

// evalElements evaluates `{ … }` or a variable for a set. ok is false after an
// error, which is reported.
func (c *ruleCtx) evalElements(set *Set, e parser.Expr) (*elemEval, bool) {
	ev := &elemEval{ruleCtx: c, set: set, keyLen: fieldsLen(set.KeyFields)}
	before := c.diags.Errors()
	switch x := c.follow(e).(type) {
	case *parser.SetLit:
		ev.out = make([]Element, 0, len(x.Elems))
		ev.list(x, nil)
	case nil:
		return nil, false
	default:
		c.diags.Errorf("not-a-set", e.Pos(), "Set %s: Unexpected initial type %s, missing { }?", set.Name, "value")
	}
	ev.out = append(ev.out, ev.tail...)
	return ev, c.diags.Errors() == before
}

// list evaluates the elements of a list. Lists inside are spliced in; for maps
// outer carries the data that every element of an inner list gets.
func (ev *elemEval) list(lit *parser.SetLit, outer *parser.Elem) {
	errs := 0
	for _, el := range lit.Elems {
		before := ev.diags.Errors()
		ev.elem(el, outer)
		if ev.diags.Errors() != before {
			if errs++; errs >= maxElementErrors {
				return
			}
		}
	}
}

// maxElementErrors ends the evaluation of a list that is wrong throughout.
const maxElementErrors = 10

func (ev *elemEval) elem(el *parser.Elem, outer *parser.Elem) {
	key := el.Key
	if _, isVar := key.(*parser.Variable); isVar {
		key = ev.follow(key)
		if key == nil {
			return
		}
	}
	switch k := key.(type) {
	case *parser.SetLit:
		if el.Data != nil {
			inner := &elemEval{ruleCtx: ev.ruleCtx, set: ev.set, keyLen: ev.keyLen}
			inner.list(k, el)
			ev.tail = append(ev.tail, inner.out...)
			ev.tail = append(ev.tail, inner.tail...)
			ev.ranges = ev.ranges || inner.ranges
			ev.dataRanges = ev.dataRanges || inner.dataRanges
			return
		}
		ev.list(k, outer)
		return
	case *parser.SetRef:
		ev.diags.Errorf("nested-set", el.Span, "Set reference cannot be part of another set")
		return
	}
	e := Element{Span: key.Pos()}
	if el.Key != key && el.Key != nil {
		e.Span = el.Key.Pos()
	}
	if el.Opts != nil {
		if e.Opts = ev.options(el); e.Opts == nil {
			return
		}
	}
	isRange, ok := ev.key(key, &e)
	if !ok {
		return
	}
	if isRange {
		if ev.set.Flags&(bytecode.SetAnonymous|bytecode.SetInterval) == 0 {
			return
		}
		ev.ranges = true
	}
	data := el.Data
	if data == nil && outer != nil {
		data = outer.Data
	}
	if data != nil {
		if !ev.set.isMap() {
			ev.diags.Errorf("not-a-map", ev.set.Span, "set is not a map")
			return
		}
		if e.Data = ev.data(data); e.Data == nil {
			return
		}
	}
	ev.out = append(ev.out, e)
}

// key evaluates a key into e. isRange tells whether it was written as a prefix
// or range.
func (ev *elemEval) key(key parser.Expr, e *Element) (isRange, ok bool) {
	if _, all := key.(*parser.Wildcard); all {
		e.Catchall = true
		return false, true
	}
	fs := ev.set.KeyFields
	buf := ev.slab.alloc(ev.keyLen)
	if len(fs) == 1 {
		to, ranged, ok := ev.field(key, fs[0], buf, nil)
		if !ok {
			return false, false
		}
		e.From, e.To = buf, to
		if ranged {
			if !ev.flagMissing(key) {
				return true, false
			}
			if bytes.Equal(e.From, e.To) {
				if _, prefix := key.(*parser.Prefix); !prefix {
					e.To = nil
					return false, true
				}
			}
		}
		return ranged, true
	}
	cat, isCat := key.(*parser.Concat)
	if !isCat {
		ev.diags.Errorf("not-a-concatenation", key.Pos(), "invalid data type, expected %s", ev.set.Key.Desc)
		return false, false
	}
	items := ev.flatten(cat.Items)
	if len(items) != len(fs) {
		msg := "too many concatenation components"
		if len(items) < len(fs) {
			msg = "datatype mismatch, expected " + ev.set.Key.Desc + ", expression has fewer components"
		}
		ev.diags.Errorf("concatenation-length", key.Pos(), "%s", msg)
		return false, false
	}
	var toBuf []byte
	off := 0
	any := false
	for i, f := range fs {
		n := f.Len()
		to, ranged, ok := ev.field(items[i], f, buf[off:off+n], nil)
		if !ok {
			return false, false
		}
		if ranged {
			if !any {
				any = true
				toBuf = ev.slab.alloc(ev.keyLen)
				copy(toBuf, buf[:off])
			}
			copy(toBuf[off:], to)
			if _, prefix := items[i].(*parser.Prefix); prefix && f.nativeHost() {
				hostPrefixEnd(toBuf[off:off+n], buf[off:off+n])
			}
		} else if any {
			copy(toBuf[off:], buf[off:off+n])
		}
		off += f.padded()
	}
	e.From, e.To = buf, toBuf
	if any {
		for _, it := range items {
			if isRangeExpr(it) && !ev.flagMissing(it) {
				return true, false
			}
		}
	}
	return any, true
}

// hostPrefixEnd makes the upper end that nft 1.1.7 sends for a prefix of a
// host-endian value inside a concatenation: value and mask are added with the
// bytes of one the wrong way round, and so is the result
// (netlink_gen_concat_data_expr).
func hostPrefixEnd(to, from []byte) {
	n := len(to)
	for i := range to {
		to[i] ^= from[i] // the mask
	}
	carry := 0
	sum := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		carry += int(from[i]) + int(to[n-1-i])
		sum[i] = byte(carry)
		carry >>= 8
	}
	for i := range to {
		to[i] = sum[n-1-i]
	}
}

// nativeHost tells whether values are host-endian outside of interval sets.
func (f SetField) nativeHost() bool {
	o := f.native
	if o == OrderInvalid {
		o = f.Order
	}
	return o == OrderHost && f.Len() > 1 && (f.Type == nil || !f.Type.IsString())
}

// isRangeExpr tells what may have been a range: a prefix, a range, or a string
// that ends in a star.
func isRangeExpr(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.Prefix, *parser.Range:
		return true
	case *parser.Symbol:
		return strings.HasSuffix(e.Text, "*")
	}
	return false
}

// flatten follows variables in a concatenation; one may stand for several
// components.
func (ev *elemEval) flatten(items []parser.Expr) []parser.Expr {
	plain := true
	for _, it := range items {
		switch it.(type) {
		case *parser.Variable, *parser.Concat:
			plain = false
		}
	}
	if plain {
		return items
	}
	var out []parser.Expr
	for _, it := range items {
		switch x := ev.follow(it).(type) {
		case *parser.Concat:
			out = append(out, ev.flatten(x.Items)...)
		case nil:
			out = append(out, it)
		default:
			out = append(out, x)
		}
	}
	return out
}

// flagMissing checks that a set may hold prefixes and ranges
// (expr_evaluate_set_elem).
func (ev *elemEval) flagMissing(at parser.Expr) bool {
	if ev.set.Flags&(bytecode.SetAnonymous|bytecode.SetInterval) != 0 {
		return true
	}
	what := "range_value"
	if _, ok := at.(*parser.Prefix); ok {
		what = "prefix"
	} else if s, ok := at.(*parser.Symbol); ok && s != nil {
		what = "prefix"
	} else if rg, ok := at.(*parser.Range); ok && sameText(rg.From, rg.To) {
		return true
	}
	ev.diags.Errorf("interval-flag-missing", at.Pos(),
		"You must add 'flags interval' to your %s declaration if you want to add %s elements", ev.set.kindWord(), what)
	return false
}

func sameText(a, b parser.Expr) bool {
	x, ok := a.(*parser.Symbol)
	y, ok2 := b.(*parser.Symbol)
	return ok && ok2 && x.Text == y.Text
}

// field evaluates one part of a key into buf (its length in bytes). For
// prefixes and ranges to is the upper end.
func (ev *elemEval) field(e parser.Expr, f SetField, buf, toBuf []byte) (to []byte, ranged, ok bool) {
	switch x := e.(type) {
	case *parser.Symbol:
		if fastConst(f, x, buf) {
			return nil, false, true
		}
	case *parser.Prefix:
		if sym, isSym := x.X.(*parser.Symbol); isSym && fastConst(f, sym, buf) {
			if n, ok := fastLen(x.Len, f.Bits); ok {
				to = ev.slab.alloc(len(buf))
				maskRange(buf, to, f.Bits, n)
				return to, true, true
			}
		}
	case *parser.Range:
		a, ok1 := x.From.(*parser.Symbol)
		b, ok2 := x.To.(*parser.Symbol)
		if ok1 && ok2 && fastConst(f, a, buf) {
			to = ev.slab.alloc(len(buf))
			if fastConst(f, b, to) {
				if bytes.Compare(buf, to) > 0 {
					ev.diags.Errorf("empty-range", e.Pos(), "Range negative size")
					return nil, false, false
				}
				if bytes.Equal(buf, to) {
					return nil, false, true
				}
				return to, true, true
			}
		}
	}
	clear(buf)
	v := ev.value(e, want{Type: f.Type, Order: f.Order, Bits: f.Bits})
	if v == nil {
		return nil, false, false
	}
	return ev.fieldValue(v, f, buf)
}

// fieldValue stores an evaluated constant.
func (ev *elemEval) fieldValue(v Expr, f SetField, buf []byte) (to []byte, ranged, ok bool) {
	switch v := v.(type) {
	case *Value:
		store(buf, v, f)
		if !v.Wildcard {
			return nil, false, true
		}
		to = ev.slab.alloc(len(buf))
		copy(to, buf)
		for i := len(v.Bytes); i < len(to); i++ {
			to[i] = 0xff
		}
		return to, true, true
	case *Prefix:
		store(buf, v.X, f)
		to = ev.slab.alloc(len(buf))
		maskRange(buf, to, f.Bits, v.Len)
		return to, true, true
	case *RangeValue:
		store(buf, v.From, f)
		to = ev.slab.alloc(len(buf))
		store(to, v.To, f)
		return to, true, true
	}
	ev.diags.Errorf("not-constant", v.Common().Span, "Set member is not constant")
	return nil, false, false
}

// store writes a constant: numbers to the right, strings to the left.
func store(buf []byte, v *Value, f SetField) {
	if f.Type != nil && f.Type.IsString() {
		copy(buf, v.Bytes)
		return
	}
	b := v.Bytes
	if len(b) > len(buf) {
		b = b[len(b)-len(buf):]
	}
	copy(buf[len(buf)-len(b):], b)
}

// maskRange makes the range of a prefix of n bits out of a value of bits bits.
func maskRange(from, to []byte, bits, n int) {
	host := bits - n // low bits that vary
	copy(to, from)
	for i := len(from) - 1; i >= 0 && host > 0; i-- {
		m := byte(0xff)
		if host < 8 {
			m = 1<<host - 1
		}
		from[i] &^= m
		to[i] |= m
		host -= 8
	}
	if extra := len(from)*8 - bits; extra > 0 {
		to[0] &= 0xff >> extra
	}
}

// data evaluates the right side of an element; nil after an error.
func (ev *elemEval) data(e parser.Expr) *ElementData {
	s := ev.set
	switch s.DataKind {
	case bytecode.DataVerdict:
		if _, ok := e.(*parser.Variable); ok {
			if e = ev.follow(e); e == nil {
				return nil
			}
		}
		v := ev.value(e, want{Type: s.Data})
		if v == nil {
			return nil
		}
		if _, ok := v.(*Verdict); !ok {
			ev.diags.Errorf("not-a-verdict", e.Pos(), "Element mapping mismatches map definition, expected verdict, not '%s'", v.Common().Type.Desc)
			return nil
		}
		return &ElementData{Expr: v}
	case bytecode.DataObject:
		sym, ok := ev.follow(e).(*parser.Symbol)
		if !ok {
			ev.diags.Errorf("not-an-object", e.Pos(), "Object mapping data should be a value, not %s", "expression")
			return nil
		}
		return &ElementData{Expr: &ObjectName{Attr: Attr{Span: e.Pos()}, ObjType: s.ObjType, Name: sym.Text}}
	}
	fs := s.DataFields
	n := fieldsLen(fs)
	items := []parser.Expr{ev.follow(e)}
	if items[0] == nil {
		return nil
	}
	if len(fs) > 1 {
		cat, ok := items[0].(*parser.Concat)
		if !ok {
			ev.diags.Errorf("not-a-concatenation", e.Pos(), "invalid data type, expected %s", s.Data.Desc)
			return nil
		}
		items = ev.flatten(cat.Items)
		if len(items) != len(fs) {
			ev.diags.Errorf("concatenation-length", e.Pos(), "too many concatenation components")
			return nil
		}
	}
	from := ev.slab.alloc(n)
	to := ev.slab.alloc(n)
	off := 0
	ranged := false
	for i, f := range fs {
		l := f.Len()
		part, isRange, ok := ev.field(items[i], f, from[off:off+l], nil)
		if !ok {
			return nil
		}
		if isRange {
			ranged = true
			copy(to[off:], part)
			if !s.DataInterval && s.Flags&bytecode.SetAnonymous == 0 {
				ev.diags.Errorf("not-a-single-value", items[i].Pos(), "Value must be a singleton")
				return nil
			}
		} else {
			copy(to[off:off+l], from[off:off+l])
		}
		if f.hostOrder() {
			reverse(from[off : off+l])
			reverse(to[off : off+l])
		}
		off += f.padded()
	}
	ev.dataRanges = ev.dataRanges || ranged
	d := &ElementData{Value: from, to: to}
	if s.DataInterval {
		d.widen()
	}
	return d
}

// widen makes the data of a map with intervals: lower ends, then upper ends.
func (d *ElementData) widen() {
	if d.to == nil {
		return
	}
	pad := (len(d.Value) + 3) &^ 3
	v := make([]byte, pad+len(d.to))
	copy(v, d.Value)
	copy(v[pad:], d.to)
	d.Value, d.to = v, nil
}

// hostOrder tells whether the field's bytes lie least significant first.
func (f SetField) hostOrder() bool {
	return f.Order == OrderHost && f.Len() > 1 && (f.Type == nil || !f.Type.IsString())
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

// orderKeys brings keys to the set's byte order. Interval sets hold everything
// most significant byte first.
func orderKeys(set *Set, es []Element) {
	if set.Flags&bytecode.SetInterval != 0 {
		return
	}
	host := false
	for _, f := range set.KeyFields {
		host = host || f.hostOrder()
	}
	if !host {
		return
	}
	for i := range es {
		off := 0
		for _, f := range set.KeyFields {
			if f.hostOrder() && len(es[i].From) >= off+f.Len() {
				reverse(es[i].From[off : off+f.Len()])
			}
			off += f.padded()
		}
	}
}

// options evaluates timeout, counter and so on of an element; nil after an
// error.
func (ev *elemEval) options(el *parser.Elem) *ElementOpts {
	o, out := el.Opts, &ElementOpts{}
	if o.Comment != nil {
		out.Comment, out.CommentSet = o.Comment.Text, true
		if len(out.Comment) > maxComment {
			ev.diags.Errorf("comment-too-long", o.Comment.Span, "comment too long, %d characters maximum allowed", maxComment)
			return nil
		}
	}
	for _, d := range []struct {
		n   *parser.Name
		v   *time.Duration
		set *bool
	}{{o.Timeout, &out.Timeout, &out.TimeoutSet}, {o.Expires, &out.Expires, &out.ExpiresSet}} {
		if d.n == nil {
			continue
		}
		if d.n == o.Timeout && d.n.Text == "never" {
			*d.set = true // the kernel is told 0
			continue
		}
		v, ok := ev.duration(*d.n)
		if !ok {
			return nil
		}
		// nft does not tell the kernel of `timeout 0s`.
		*d.v, *d.set = v, v != 0
	}
	for _, st := range o.Stmts {
		in := ev.stateful(st)
		if in == nil {
			return nil
		}
		out.Stmts = append(out.Stmts, &Stateful{StmtSpan: StmtSpan{st.Pos()}, Instr: in})
	}
	if len(out.Stmts) == 0 {
		return out
	}
	s := ev.set
	switch {
	case len(s.Stmts) > 0 && len(s.Stmts) != len(out.Stmts):
		ev.diags.Errorf("statement-mismatch", el.Span,
			"number of statements mismatch, set expects %d but element has %d", len(s.Stmts), len(out.Stmts))
		return nil
	case len(s.Stmts) == 0:
		if s.Flags&(bytecode.SetAnonymous|bytecode.SetEval) == 0 {
			ev.diags.Errorf("statement-missing", o.Stmts[0].Pos(), "missing statement in %s declaration", s.kindWord())
			return nil
		}
	default:
		for i := range out.Stmts {
			have, wantName := statefulName(out.Stmts[i]), statefulName(s.Stmts[i])
			if have != wantName {
				ev.diags.Errorf("statement-mismatch", out.Stmts[i].Pos(),
					"statement mismatch, element expects %s, but %s has type %s", have, s.kindWord(), wantName)
				return nil
			}
		}
	}
	return out
}

func statefulName(s Stmt) string {
	if st, ok := s.(*Stateful); ok {
		return st.Instr.Name()
	}
	return ""
}

// duration reads a time property.
func (r *resolver) duration(n parser.Name) (time.Duration, bool) {
	text, ok := r.word(n)
	if !ok {
		r.diags.Errorf("invalid-time", n.Span, "not a time")
		return 0, false
	}
	ms, err := ParseDuration(text)
	if err != nil {
		r.diags.Add(diag.Diagnostic{Code: "invalid-time", Span: n.Span, Message: err.Error()})
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}
