package lint

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// field names one value of the packet or its surroundings; two loads of the
// same field give the same value unless something assigns in between.
type field string

// Names of fields that lints treat specially.
const (
	fieldL4Proto = field("meta l4proto")
	fieldCTState = field("ct state")
)

// fieldOf names the field that an expression loads. ok is false when it is
// not a plain load of whole bytes, or when its value can differ between two
// loads.
func fieldOf(e ir.Expr) (f field, bits int, ok bool) {
	f, bits, whole, ok := loadOf(e)
	return f, bits, ok && whole
}

// load is what names a field: its kind and up to four numbers.
type load struct {
	kind       loadKind
	inner      string
	a, b, c, d int
}

type loadKind uint8

const (
	loadNone loadKind = iota
	loadPayload
	loadExthdr
	loadExthdrPresent
	loadMeta
	loadInnerMeta
	loadCT
	loadRT
	loadFib
	loadSocket
)

// loadFormats are the names of fields by kind.
var loadFormats = [...]string{
	loadPayload:       "payload %s:%d:%d:%d",
	loadExthdr:        "exthdr %d:%d:%d:%d",
	loadExthdrPresent: "exthdr %d:%d present",
	loadMeta:          "meta %d",
	loadInnerMeta:     "meta %s:%d",
	loadCT:            "ct %d:%d:%d",
	loadRT:            "rt %d",
	loadFib:           "fib %d:%d",
	loadSocket:        "socket %d:%d",
}

// fieldNames remembers names: long rulesets load few fields in many rules.
var fieldNames = struct {
	sync.Mutex
	m map[load]field
}{m: make(map[load]field)}

func (l load) name() field {
	fieldNames.Lock()
	defer fieldNames.Unlock()
	f, ok := fieldNames.m[l]
	if !ok {
		args := []any{l.a, l.b, l.c, l.d}
		if l.kind == loadPayload || l.kind == loadInnerMeta {
			args = []any{l.inner, l.a, l.b, l.c}
		}
		format := loadFormats[l.kind]
		f = field(fmt.Sprintf(format, args[:strings.Count(format, "%")]...))
		fieldNames.m[l] = f
	}
	return f
}

// loadOf is fieldOf for parts of bytes too: they are named by the bytes that are
// loaded for them, and whole is false.
func loadOf(e ir.Expr) (f field, bits int, whole, ok bool) {
	l, bits, whole := loadAt(e)
	switch {
	case l.kind == loadNone:
		return "", 0, false, false
	case l.kind == loadMeta && l.a == int(bytecode.MetaL4Proto):
		return fieldL4Proto, bits, true, true
	case l.kind == loadCT && l.a == int(bytecode.CTState):
		return fieldCTState, bits, true, true
	}
	return l.name(), bits, whole, true
}

// isLoad tells whether loadOf understands an expression.
func isLoad(e ir.Expr) bool {
	l, _, _ := loadAt(e)
	return l.kind != loadNone
}

// loadAt describes a load, and whether it is of whole bytes.
func loadAt(e ir.Expr) (l load, bits int, whole bool) {
	bits = e.Common().Bits
	switch e := e.(type) {
	case *ir.Payload:
		offset, bits, whole := enclosing(e.Offset, bits)
		l = load{kind: loadPayload, a: int(e.Base), b: offset, c: bits}
		if e.Inner != nil {
			l.inner = e.Inner.Name
		}
		return l, bits, whole
	case *ir.Exthdr:
		if e.Present {
			return load{kind: loadExthdrPresent, a: int(e.Op), b: int(e.Number)}, bits, true
		}
		offset, bits, whole := enclosing(e.Offset, bits)
		return load{kind: loadExthdr, a: int(e.Op), b: int(e.Number), c: offset, d: bits}, bits, whole
	case *ir.Meta:
		switch {
		case e.Inner != nil:
			return load{kind: loadInnerMeta, inner: e.Inner.Name, a: int(e.Key)}, bits, true
		case e.Key == bytecode.MetaPRandom:
			return load{}, 0, false
		case e.Key == bytecode.MetaTimeHour, e.Key == bytecode.MetaTimeDay:
			return load{}, 0, false // their constants depend on the time zone
		}
		return load{kind: loadMeta, a: int(e.Key)}, bits, true
	case *ir.CT:
		switch e.Key {
		case bytecode.CTPkts, bytecode.CTBytes, bytecode.CTAvgPkt, bytecode.CTExpiration:
			return load{}, 0, false
		}
		return load{kind: loadCT, a: int(e.Key), b: int(e.Dir), c: int(e.NFProto)}, bits, true
	case *ir.RT:
		return load{kind: loadRT, a: int(e.Key)}, bits, true
	case *ir.Fib:
		return load{kind: loadFib, a: int(e.Flags), b: int(e.Result)}, bits, true
	case *ir.Socket:
		return load{kind: loadSocket, a: int(e.Key), b: int(e.Level)}, bits, true
	}
	return load{}, 0, false
}

// enclosing widens bits to the bytes that hold them.
func enclosing(offset, bits int) (int, int, bool) {
	from, to := offset&^7, (offset+bits+7)&^7
	return from, to - from, from == offset && to-from == bits
}

// domain is every value that a field can have: connection states are bits of
// which a packet has one.
func domain(f field, bits int) values {
	if f != fieldCTState {
		return all(bits)
	}
	var ivs []interval
	for _, state := range []byte{1, 2, 4, 8, 64} { // NF_CT_STATE_*_BIT, untracked last
		v := bottom(bits)
		v[len(v)-1] = state
		ivs = append(ivs, interval{v, v})
	}
	return newValues(ivs)
}

// text writes an expression so that equal texts mean equal values; ok is false
// for what is not understood or not stable.
func text(e ir.Expr) (s string, ok bool) {
	var b strings.Builder
	ok = writeExpr(&b, e)
	return b.String(), ok
}

func writeExpr(b *strings.Builder, e ir.Expr) bool {
	if f, _, whole, ok := loadOf(e); ok {
		b.WriteString(string(f))
		if !whole {
			switch e := e.(type) {
			case *ir.Payload:
				fmt.Fprintf(b, " bits %d+%d", e.Offset, e.Bits)
			case *ir.Exthdr:
				fmt.Fprintf(b, " bits %d+%d", e.Offset, e.Bits)
			}
		}
		return true
	}
	switch e := e.(type) {
	case *ir.Value:
		fmt.Fprintf(b, "%x/%d", e.Bytes, e.Bits)
		if e.Wildcard {
			b.WriteByte('*')
		}
	case *ir.Prefix:
		fmt.Fprintf(b, "%x/%d", e.X.Bytes, e.Len)
	case *ir.RangeValue:
		fmt.Fprintf(b, "%x-%x", e.From.Bytes, e.To.Bytes)
	case *ir.Concat:
		for _, it := range e.Items {
			if !writeExpr(b, it) {
				return false
			}
			b.WriteString(" . ")
		}
	case *ir.SetRef:
		writeSet(b, e.Set)
	case *ir.Map:
		if !writeExpr(b, e.Key) {
			return false
		}
		b.WriteString(" map ")
		writeSet(b, e.Set)
	case *ir.Binary:
		b.WriteByte('(')
		if !writeExpr(b, e.X) {
			return false
		}
		b.WriteString(e.Op.String())
		if !writeExpr(b, e.Y) {
			return false
		}
		b.WriteByte(')')
	case *ir.Byteorder:
		fmt.Fprintf(b, "order %t %d ", e.Hton, e.Size)
		return writeExpr(b, e.X)
	case *ir.Verdict:
		if e.Anon != nil {
			return false
		}
		fmt.Fprintf(b, "%s %s", e.Code, e.ChainName)
	case *ir.ObjectName:
		fmt.Fprintf(b, "object %d %s", e.ObjType, e.Name)
	default:
		return false
	}
	return true
}

// writeSet writes an anonymous set by its elements, a named one by its name.
func writeSet(b *strings.Builder, s *ir.Set) {
	if s == nil {
		b.WriteString("{}")
		return
	}
	if s.Flags&bytecode.SetAnonymous == 0 {
		b.WriteString("@" + s.Name)
		return
	}
	b.WriteByte('{')
	for i := range s.Elements {
		el := &s.Elements[i]
		fmt.Fprintf(b, "%x-%x %t", el.From, el.To, el.Catchall)
		if el.Data != nil {
			b.WriteString(":")
			if el.Data.Expr == nil || !writeExpr(b, el.Data.Expr) {
				fmt.Fprintf(b, "%x", el.Data.Value)
			}
		}
		if el.Opts != nil {
			fmt.Fprintf(b, " opts %p", el.Opts)
		}
		b.WriteByte(',')
	}
	b.WriteByte('}')
}

// constValues turns a constant of a field of that many bits into the values
// that it stands for.
func constValues(e ir.Expr, bits int) (values, bool) {
	switch e := e.(type) {
	case *ir.Value:
		return valueRange(e, bits)
	case *ir.Prefix:
		n := (bits + 7) / 8
		if len(e.X.Bytes) != n || e.Len > bits {
			return nil, false
		}
		lo, hi := bytes.Clone(e.X.Bytes), bytes.Clone(e.X.Bytes)
		pad := n*8 - bits
		for i := pad + e.Len; i < n*8; i++ {
			lo[i/8] &^= 0x80 >> (i % 8)
			hi[i/8] |= 0x80 >> (i % 8)
		}
		return values{{lo, hi}}, true
	case *ir.RangeValue:
		lo, ok1 := valueRange(e.From, bits)
		hi, ok2 := valueRange(e.To, bits)
		if !ok1 || !ok2 || len(lo) != 1 || len(hi) != 1 || bytes.Compare(lo[0].lo, hi[0].hi) > 0 {
			return nil, false
		}
		return values{{lo[0].lo, hi[0].hi}}, true
	case *ir.SetRef:
		return setValues(e.Set, bits)
	}
	return nil, false
}

// valueRange is the one value of a constant; for a string with a wildcard the
// range of the strings that start so.
func valueRange(v *ir.Value, bits int) (values, bool) {
	n := (bits + 7) / 8
	if len(v.Bytes) == n && !v.Wildcard {
		return single(v.Bytes), true
	}
	if v.Type == nil || !isString(v.Type) || len(v.Bytes) > n {
		return nil, false
	}
	lo := append(bytes.Clone(v.Bytes), make([]byte, n-len(v.Bytes))...)
	if !v.Wildcard {
		return single(lo), true
	}
	hi := append(bytes.Clone(v.Bytes), bytes.Repeat([]byte{0xff}, n-len(v.Bytes))...)
	return values{{lo, hi}}, true
}

func isString(t *ir.Datatype) bool {
	for ; t != nil; t = t.Base {
		if t.Name == "string" {
			return true
		}
	}
	return false
}

// constant tells whether a set keeps the elements that the source gives it.
func constant(s *ir.Set) bool {
	return s != nil && s.Flags&(bytecode.SetAnonymous|bytecode.SetConstant) != 0 &&
		s.Flags&(bytecode.SetEval|bytecode.SetTimeout) == 0
}

// setValues are the keys of a constant set with one field.
func setValues(s *ir.Set, bits int) (values, bool) {
	if !constant(s) || s.Flags&bytecode.SetConcat != 0 {
		return nil, false
	}
	return elementValues(s, bits, func(*ir.Element) bool { return true })
}

// elementValues are the keys of those elements that keep accepts.
func elementValues(s *ir.Set, bits int, keep func(*ir.Element) bool) (values, bool) {
	// An interval set holds all types in network order.
	host := s.Key != nil && s.Key.Order == ir.OrderHost && !isString(s.Key) && s.Flags&bytecode.SetInterval == 0
	n := (bits + 7) / 8
	var ivs []interval
	for i := range s.Elements {
		el := &s.Elements[i]
		if el.Catchall {
			return nil, false
		}
		if !keep(el) {
			continue
		}
		lo, hi := el.From, el.To
		if hi == nil {
			hi = lo
		}
		if len(lo) != n || len(hi) != n {
			return nil, false
		}
		if host {
			lo, hi = reversed(lo), reversed(hi)
		}
		ivs = append(ivs, interval{lo, hi})
	}
	return newValues(ivs), true
}

func reversed(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[len(b)-1-i] = b[i]
	}
	return out
}
