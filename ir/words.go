package ir

import (
	"math/big"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// Words puts parts of a rule and values from registers into nft's words, as
// listings have them, but for flags, which are joined by commas.
type Words struct{ l lister }

// NewWords returns the words of a machine: names of interface indexes and the
// local time.
func NewWords(machine Options) *Words { return &Words{lister{opt: ListOptions{Machine: machine}}} }

// Expr words an expression.
func (w *Words) Expr(e Expr) string {
	if v, ok := e.(*Value); ok {
		return w.Value(v)
	}
	return w.l.exprText(e, false)
}

// Value words a constant.
func (w *Words) Value(v *Value) string {
	if v.Type != nil && v.Type.IsBitmask() {
		if flags := w.Flags(v); len(flags) > 1 && len(flags) < v.Bits {
			return strings.Join(flags, ",")
		}
	}
	return w.l.valueText(v, false)
}

// Flags are the flags of a bitmask, lowest first.
func (w *Words) Flags(v *Value) []string { return w.l.flags(v, false) }

// Stateful words a counter, quota, limit, connlimit or last.
func (w *Words) Stateful(in bytecode.Instr) string {
	if in, ok := in.(*bytecode.Limit); ok {
		return limitText(in, true) // without the burst that is the default
	}
	return w.l.statefulText(in)
}

// Key words the key of an element, field by field.
func (w *Words) Key(s *Set, e *Element) string {
	if e.Catchall {
		return "*"
	}
	return w.l.elementKey(s, e)
}

// Lookup words a key that is looked up in a set, as it lies in registers.
func (w *Words) Lookup(s *Set, key []byte) string {
	if f := s.KeyFields; len(f) == 1 && f[0].Type.IsBitmask() && f[0].Len() <= len(key) {
		return w.Value(&Value{Attr: Attr{Type: f[0].Type, Order: f[0].Order, Bits: f[0].Bits}, Bytes: numberOf(key[:f[0].Len()], f[0].Order)})
	}
	return w.l.elementKey(s, &Element{From: key})
}

// Holds tells for each field of a set's key whether an element holds a key.
func (s *Set) Holds(e *Element, key []byte) []bool {
	fields := s.KeyFields
	held := make([]bool, 0, len(fields))
	off := 0
	for _, f := range fields {
		end := off + f.Len()
		if end > len(key) || end > len(e.From) {
			break
		}
		k, from, to := string(key[off:end]), string(e.From[off:end]), string(e.From[off:end])
		if end <= len(e.To) {
			to = string(e.To[off:end])
		}
		held = append(held, from <= k && k <= to)
		off += (f.Len() + 3) &^ 3
	}
	return held
}

// Comparison is a Match, or the lookup of a map's key, as a reader thinks of it:
// a field and what it is compared with. Conversions of byte order are gone, and
// a field that lies between bytes is moved to where it counts from 0.
type Comparison struct {
	// X has the value that is compared. Field is X, or the header field that X
	// cuts out of its bytes.
	X, Field Expr
	// Whole is what X masks or shifts, where X is an operation; else nil.
	Whole Expr
	// Y is the right side: *Value, *Prefix, *RangeValue or *SetRef.
	Y Expr

	shift int
}

// Compared returns the comparison of x with y.
func Compared(x, y Expr) Comparison {
	x = canonical(stripOrder(x))
	c := Comparison{X: x, Field: x, Y: typedAs(y, listedType(x))}
	b, ok := x.(*Binary)
	if !ok {
		return c
	}
	field, shift := bitFieldOf(b)
	if field == nil {
		for c.Whole = x; ; {
			switch e := c.Whole.(type) {
			case *Binary:
				c.Whole = e.X
				continue
			case *Byteorder:
				c.Whole = e.X
				continue
			}
			return c
		}
	}
	c.Field, c.shift = field, shift
	typ := field.Common().Type
	switch v := y.(type) {
	case *Value:
		c.Y = shiftedValue(v, shift, typ)
	case *RangeValue:
		out := *v
		out.From, out.To = shiftedValue(v.From, shift, typ), shiftedValue(v.To, shift, typ)
		c.Y = &out
	case *SetRef:
		if shift != 0 {
			out := *v
			out.Set = shiftedSet(v.Set, shift, typ)
			c.Y = &out
		}
	}
	return c
}

// Shifted moves a key as it lies in registers to where Field counts from 0.
func (c *Comparison) Shifted(key []byte) []byte {
	if c.shift == 0 {
		return key
	}
	order := c.X.Common().Order
	if ref, ok := c.Y.(*SetRef); ok && len(ref.Set.KeyFields) == 1 {
		order = ref.Set.KeyFields[0].Order
	}
	n := new(big.Int).SetBytes(numberOf(key, order))
	n.Rsh(n, uint(c.shift))
	return numberOf(n.FillBytes(make([]byte, len(key))), order)
}

// Loaded is the value that Field has when X, loaded into registers, is b.
func (c *Comparison) Loaded(b []byte) *Value {
	v := ValueOf(c.X, b)
	if c.shift == 0 {
		v.Type = listedType(c.X)
		return v
	}
	return shiftedValue(v, c.shift, c.Field.Common().Type)
}

// ValueOf is the value of an expression that is b in registers.
func ValueOf(x Expr, b []byte) *Value {
	a := x.Common()
	v := &Value{Attr: Attr{Span: a.Span, Type: a.Type, Order: a.Order, Bits: a.Bits}}
	if v.Type == nil {
		v.Type = TypeInteger
	}
	if v.Type.IsString() {
		v.Bytes = b
		return v
	}
	v.Bytes = numberOf(b, a.Order)
	return v
}
