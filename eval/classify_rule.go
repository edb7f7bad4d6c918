package eval

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
)

// valueSpan is a closed range of values of a field.
type valueSpan struct{ lo, hi classValue }

// maxSpans is how many ranges one condition may have; longer lists are left to
// the interpreter.
const maxSpans = 64

// ruleConditions are what a rule asks of fields before it does anything else.
type ruleConditions struct {
	touched uint32 // fields loaded
	fields  uint32 // fields with a condition
	spans   [maxFields][]valueSpan
}

// fieldKey names a field: the load without its length, which may differ for
// parts of a header field, and the conversion.
type fieldKey struct {
	code    opcode
	base    uint8
	a, b    uint32
	swapLen uint16
	swap    uint32
}

func keyOf(o *op) fieldKey { return fieldKey{code: o.code, base: o.base, a: o.a, b: o.b} }

// fieldFinder numbers the fields of a chain's rules.
type fieldFinder struct {
	e      *Engine
	index  map[fieldKey]int
	fields []classField
	// updated are the sets that rules add to or delete from.
	updated map[int32]bool
}

// newClassifier is nil when a classifier would not help.
func (e *Engine) newClassifier(ch *chain, limits classifyLimits, updated map[int32]bool) *classifier {
	f := &fieldFinder{e: e, index: e.frequentFields(ch), updated: updated}
	f.fields = make([]classField, len(f.index))
	c := &classifier{changes: make([]bool, len(ch.rules))}
	type groupKey struct{ touched, fields uint32 }
	byKey := make(map[groupKey][]uint32)
	spans := make([][]valueSpan, 0, 2*len(ch.rules))
	first := make([]uint32, len(ch.rules)) // of a rule's spans
	var rc ruleConditions
	for i := range ch.rules {
		r := &ch.rules[i]
		for k := r.first; k < r.end; k++ {
			c.changes[i] = c.changes[i] || changesFields(e.ops[k].code)
		}
		f.conditions(r, &rc)
		first[i] = uint32(len(spans))
		for k := range rc.spans {
			if rc.fields>>k&1 != 0 {
				spans = append(spans, rc.spans[k])
			}
		}
		key := groupKey{rc.touched, rc.fields}
		if rc.fields == 0 {
			key = groupKey{}
		}
		byKey[key] = append(byKey[key], uint32(i))
	}
	c.fields = f.fields
	keys := make([]groupKey, 0, len(byKey))
	for k := range byKey {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(len(byKey[b]), len(byKey[a])), cmp.Compare(a.touched, b.touched), cmp.Compare(a.fields, b.fields))
	})
	grouped := 0
	for _, k := range keys {
		rules := byKey[k]
		if k.fields == 0 || len(rules) < limits.group || len(c.groups) == maxGroupsOf {
			c.always = append(c.always, rules...)
			continue
		}
		g := ruleGroup{rules: rules, touched: k.touched}
		at := 0
		for m, field := k.fields, 0; m != 0 && len(g.columns) < maxColumns; m, field = m>>1, field+1 {
			if m&1 == 0 {
				continue
			}
			col, ok := newColumn(field, c.fields[field].width, len(rules), func(i int) []valueSpan {
				return spans[int(first[rules[i]])+at]
			})
			if ok {
				g.columns = append(g.columns, col)
			}
			at++
		}
		if len(g.columns) == 0 {
			c.always = append(c.always, rules...)
			continue
		}
		grouped += len(rules)
		c.groups = append(c.groups, g)
	}
	if grouped < limits.rules || grouped < len(ch.rules)/8 {
		return nil
	}
	slices.Sort(c.always)
	return c
}

// frequentFields numbers the fields that most rules of a chain load.
func (e *Engine) frequentFields(ch *chain) map[fieldKey]int {
	count := make(map[fieldKey]int)
	var order []fieldKey
	note := func(k fieldKey) {
		if count[k]++; count[k] == 1 {
			order = append(order, k)
		}
	}
	for i := range ch.rules {
		for k := ch.rules[i].first; k < ch.rules[i].end; k++ {
			o := &e.ops[k]
			if !fieldOp(o) {
				continue
			}
			note(keyOf(o))
			if k+1 < ch.rules[i].end && e.ops[k+1].code == opByteorder {
				note(swapped(keyOf(o), &e.ops[k+1]))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b fieldKey) int { return cmp.Compare(count[b], count[a]) })
	index := make(map[fieldKey]int)
	for i, k := range order[:min(len(order), maxFields)] {
		index[k] = i
	}
	return index
}

func swapped(k fieldKey, o *op) fieldKey {
	k.swapLen, k.swap = o.n, o.a
	return k
}

// find is the number of a field that n bytes are loaded of.
func (f *fieldFinder) find(k fieldKey, load, order *op) (int, bool) {
	i, ok := f.index[k]
	if !ok {
		return 0, false
	}
	c := &f.fields[i]
	n := int(load.n)
	if c.width == 0 {
		c.load = *load
		c.load.dst = 0
		c.width = n
		if order != nil {
			c.order, c.swap = *order, true
			c.order.src, c.order.dst = 0, 0
		}
		return i, true
	}
	if n != c.width {
		if order != nil || load.code != opPayload {
			return 0, false
		}
		c.narrower = true
		c.width = max(c.width, n)
		c.load.n = uint16(c.width)
	}
	return i, true
}

// held is what the classifier knows of a register.
type held struct {
	field  int // -1: nothing
	n      int // bytes
	prefix int // leading bits that a mask left, -1 for all
	load   *op
}

// conditions works out what a rule asks of fields. Where an expression is not
// understood, or may have an effect of its own, the rest of the rule is left
// out.
func (f *fieldFinder) conditions(r *rule, rc *ruleConditions) {
	rc.touched, rc.fields = 0, 0
	var regs [16]held
	for i := range regs {
		regs[i].field = -1
	}
	drop := func(off uint8, n uint16) {
		for s := int(off) / 4; s < len(regs) && s*4 < int(off)+int(n); s++ {
			regs[s].field = -1
		}
		for s := range regs[:min(int(off)/4, len(regs))] {
			if regs[s].field >= 0 && s*4+regs[s].n > int(off) {
				regs[s].field = -1
			}
		}
	}
	at := func(off uint8, n uint16) (h held, ok bool) {
		if off%4 != 0 || int(off)/4 >= len(regs) {
			return held{}, false
		}
		h = regs[off/4]
		return h, h.field >= 0 && int(n) <= h.n
	}
	for i := r.first; i < r.end; i++ {
		o := &f.e.ops[i]
		switch o.code {
		case opPayload, opMeta, opCT:
			if !fieldOp(o) {
				return
			}
			k, ok := f.find(keyOf(o), o, nil)
			if !ok {
				return
			}
			rc.touched |= 1 << k
			drop(o.dst, o.n)
			if o.dst%4 == 0 {
				regs[o.dst/4] = held{k, int(o.n), -1, o}
			}
		case opByteorder:
			h, ok := at(o.src, o.n)
			drop(o.dst, o.n)
			if ok && h.prefix < 0 && int(o.n) == h.n && h.load != nil && o.dst%4 == 0 {
				if k, ok := f.find(swapped(keyOf(h.load), o), h.load, o); ok {
					rc.touched |= 1 << k
					regs[o.dst/4] = held{k, h.n, -1, nil}
				}
			}
		case opMask4, opMask:
			h, ok := at(o.src, 1)
			drop(o.dst, o.n)
			if p, isPrefix := prefixMask(o, h.n); ok && isPrefix && h.prefix < 0 && o.dst%4 == 0 {
				regs[o.dst/4] = held{h.field, h.n, p, nil}
			}
		case opShift, opBitwise2, opImmediate:
			drop(o.dst, o.n)
		case opCmpEq4, opCmpEq:
			if h, ok := at(o.src, o.n); ok {
				if s, ok := equalSpan(o.data, h); ok {
					rc.narrow(h.field, []valueSpan{s})
				}
			}
		case opCmpNe4, opCmpNe:
		case opCmpOrder:
			if h, ok := at(o.src, o.n); ok && h.prefix < 0 && int(o.n) == h.n {
				if s, ok := orderSpan(o); ok {
					rc.narrow(h.field, []valueSpan{s})
				}
			}
		case opRange:
			if h, ok := at(o.src, o.n); ok && h.prefix < 0 && int(o.n) == h.n && o.flag == 0 {
				rc.narrow(h.field, []valueSpan{{valueOf(o.data), filled(o.data2)}})
			}
		case opLookup:
			s := f.e.sets[o.ref]
			if s.src.Flags&bytecode.SetTimeout != 0 || s.extra != nil || len(s.exprs) > 0 {
				return // a lookup counts, or asks for the time
			}
			if h, ok := at(o.src, o.n); ok && h.prefix < 0 && int(o.n) == h.n && o.flag == 0 && !f.updated[o.ref] {
				if spans, ok := setSpans(s); ok {
					rc.narrow(h.field, spans)
				}
			}
		default:
			return
		}
	}
}

// narrow adds a condition.
func (rc *ruleConditions) narrow(field int, spans []valueSpan) {
	if rc.fields>>field&1 == 0 {
		rc.fields |= 1 << field
		rc.spans[field] = spans
		return
	}
	var out []valueSpan
	for _, a := range rc.spans[field] {
		for _, b := range spans {
			s := a
			if s.lo.less(b.lo) {
				s.lo = b.lo
			}
			if b.hi.less(s.hi) {
				s.hi = b.hi
			}
			if !s.hi.less(s.lo) {
				out = append(out, s)
			}
		}
	}
	if len(out) <= maxSpans {
		rc.spans[field] = out
	}
}

// filled is a value with all bits behind its bytes set: the highest that starts
// with them.
func filled(b []byte) classValue {
	v := valueOf(b)
	ones := onesFrom(8 * len(b))
	return classValue{v[0] | ones[0], v[1] | ones[1]}
}

// onesFrom has all bits from the n-th on.
func onesFrom(n int) classValue {
	switch {
	case n >= 128:
		return classValue{}
	case n >= 64:
		return classValue{0, ^uint64(0) >> (n - 64)}
	}
	return classValue{^uint64(0) >> n, ^uint64(0)}
}

// equalSpan are the values of a register's field whose first bytes, after its
// mask, are these.
func equalSpan(b []byte, h held) (valueSpan, bool) {
	s := valueSpan{valueOf(b), filled(b)}
	if h.prefix < 0 || h.prefix >= 8*len(b) {
		return s, true
	}
	low := onesFrom(h.prefix)
	if s.lo[0]&low[0]|s.lo[1]&low[1] != 0 {
		return s, false // never true, or of more bytes than the mask
	}
	s.hi = classValue{s.hi[0] | low[0], s.hi[1] | low[1]}
	return s, true
}

// prefixMask gives the length of a mask over n bytes that keeps leading bits
// only.
func prefixMask(o *op, n int) (length int, ok bool) {
	var mask [16]byte
	if n <= 0 || n > len(mask) || int(o.n) < n {
		return 0, false
	}
	if o.code == opMask4 {
		if o.b != 0 {
			return 0, false
		}
		for i := range 4 {
			mask[i] = byte(o.a >> (8 * i))
		}
	} else {
		copy(mask[:], o.data)
		for _, x := range o.data2 {
			if x != 0 {
				return 0, false
			}
		}
	}
	for length < 8*n && mask[length/8]&(0x80>>(length%8)) != 0 {
		length++
	}
	for i := length; i < 8*n; i++ {
		if mask[i/8]&(0x80>>(i%8)) != 0 {
			return 0, false
		}
	}
	return length, true
}

// orderSpan are the values for which an ordered comparison holds.
func orderSpan(o *op) (valueSpan, bool) {
	var top classValue = onesFrom(0)
	switch bytecode.CmpOp(o.flag) {
	case bytecode.CmpLte:
		return valueSpan{classValue{}, filled(o.data)}, true
	case bytecode.CmpGte:
		return valueSpan{valueOf(o.data), top}, true
	case bytecode.CmpLt:
		v := valueOf(o.data)
		if v == (classValue{}) {
			return valueSpan{}, false
		}
		if v[1]--; v[1] == ^uint64(0) {
			v[0]--
		}
		return valueSpan{classValue{}, v}, true
	case bytecode.CmpGt:
		v := filled(o.data)
		if v == top {
			return valueSpan{}, false
		}
		return valueSpan{v.successor(), top}, true
	}
	return valueSpan{}, false
}

func (v classValue) successor() classValue {
	if v[1]++; v[1] == 0 {
		v[0]++
	}
	return v
}

// setSpans are the elements of a set that does not change, if they are few.
func setSpans(s *set) ([]valueSpan, bool) {
	es := s.src.Elements
	if s.src.Flags&bytecode.SetEval != 0 || len(s.src.Key) != 1 || len(es) > 2*maxSpans || s.keyLen > 16 ||
		s.src.DataKind != bytecode.DataNone {
		return nil, false
	}
	for i := range es {
		if es[i].Flags&bytecode.ElemCatchall != 0 || es[i].KeyEnd != nil || len(es[i].Key) != s.keyLen {
			return nil, false
		}
	}
	spans := make([]valueSpan, 0, len(es))
	if s.src.Flags&bytecode.SetInterval == 0 {
		for i := range es {
			spans = append(spans, valueSpan{valueOf(es[i].Key), filled(es[i].Key)})
		}
		return spans, len(spans) <= maxSpans
	}
	// Points: a start opens an interval, the next point closes it.
	points := make([]*bytecode.Element, len(es))
	for i := range es {
		points[i] = &es[i]
	}
	end := func(e *bytecode.Element) bool { return e.Flags&bytecode.ElemIntervalEnd != 0 }
	slices.SortStableFunc(points, func(a, b *bytecode.Element) int {
		if c := bytes.Compare(a.Key, b.Key); c != 0 || end(a) == end(b) {
			return c
		}
		if end(a) {
			return -1
		}
		return 1
	})
	for i, p := range points {
		if end(p) {
			continue
		}
		s := valueSpan{valueOf(p.Key), onesFrom(0)}
		if i+1 < len(points) {
			hi := valueOf(points[i+1].Key)
			if hi[1]--; hi[1] == ^uint64(0) {
				hi[0]--
			}
			s.hi = hi
		}
		spans = append(spans, s)
	}
	return spans, len(spans) <= maxSpans
}
