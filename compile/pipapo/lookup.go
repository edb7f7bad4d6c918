package pipapo

import (
	"math/bits"
)

// Reader looks keys up with a scratch area of its own. It sees the table's
// changes, which must not happen at the same time as a lookup.
type Reader struct {
	t *Table
	// maps are two bitmaps over the rules of a field, all clear between lookups.
	maps [2][]uint64
}

// NewReader returns a Reader of the table.
func (t *Table) NewReader() *Reader { return &Reader{t: t} }

// Lookup finds the element that holds key; an element that has expired by now
// does not count. If several match it is the one inserted first. It does not
// allocate.
func (t *Table) Lookup(key []byte, now int64) (ID, bool) {
	return t.reader.Lookup(key, now)
}

// LookupBatch looks up the keys that lie one behind the other in keys and sets
// out[i] to the element of key i, or -1. It handles as many keys as both hold.
func (t *Table) LookupBatch(keys []byte, now int64, out []int32) {
	t.reader.LookupBatch(keys, now, out)
}

// LookupBatch is Table.LookupBatch.
func (r *Reader) LookupBatch(keys []byte, now int64, out []int32) {
	n := r.t.keyBytes
	for i := range out {
		if (i+1)*n > len(keys) {
			return
		}
		out[i] = -1
		if id, ok := r.Lookup(keys[i*n:(i+1)*n], now); ok {
			out[i] = int32(id)
		}
	}
}

// Lookup is Table.Lookup.
//
// pipapo_get: field by field, the buckets that the key selects are intersected
// with the rules that the fields before allow; each rule left allows its run in
// the next field. Only the words between the lowest and the highest allowed rule
// are visited.
func (r *Reader) Lookup(key []byte, now int64) (ID, bool) {
	t := r.t
	if len(key) < t.keyBytes || t.count == 0 {
		return 0, false
	}
	if len(r.maps[0]) < t.maxStride {
		r.maps = [2][]uint64{make([]uint64, t.maxStride), make([]uint64, t.maxStride)}
	}
	var rows [2 * MaxFieldBytes]int
	lo, hi := 0, t.fields[0].bsize
	for i := range t.fields {
		f := &t.fields[i]
		n := f.selectBuckets(key[f.offset:f.offset+f.length], &rows)
		last := i == len(t.fields)-1
		if i == 0 && !last {
			lo, hi = f.first(rows[:n], r.maps[1])
			if lo >= hi {
				return 0, false
			}
			continue
		}
		var cur []uint64
		if i > 0 {
			cur = r.maps[i&1]
		}
		if last {
			return r.lastField(f, rows[:n], cur, lo, hi, now)
		}
		lo, hi = f.next(rows[:n], cur, r.maps[1-i&1], lo, hi)
		if lo >= hi {
			return 0, false
		}
	}
	return 0, false
}

// selectBuckets sets rows to the places in the lookup table of the buckets that
// the field's value selects, most selective group first, and returns their
// number.
func (f *field) selectBuckets(data []byte, rows *[2 * MaxFieldBytes]int) int {
	if f.groupBits == 8 {
		for i, g := range f.order {
			rows[i] = (int(g)<<8 + int(data[g])) * f.stride
		}
		return len(f.order)
	}
	for i, g := range f.order {
		v := data[g/2] >> (4 &^ (g << 2)) & 15
		rows[i] = (int(g)<<4 + int(v)) * f.stride
	}
	return len(f.order)
}

// first intersects the selected buckets of the first field, where all rules are
// allowed, and marks in fill the rules of the next field that remain. It returns
// the range of words of fill that have bits; empty if nothing matches.
//
// Up to four buckets are intersected in blocks of four words, as most words turn
// out empty; the other buckets are only looked at where a bit is left.
func (f *field) first(rows []int, fill []uint64) (lo, hi int) {
	lo = len(fill)
	n := f.bsize
	a := f.lt[rows[0]:][:n]
	b, c, d := a, a, a
	if len(rows) >= 2 {
		b = f.lt[rows[1]:][:n]
	}
	if len(rows) >= 4 {
		c, d = f.lt[rows[2]:][:n], f.lt[rows[3]:][:n]
		rows = rows[4:]
	} else {
		rows = rows[min(2, len(rows)):]
	}
	two := &c[0] == &a[0]
	for k := 0; k+4 <= n; k += 4 {
		var w [4]uint64
		pa, pb := a[k:k+4:k+4], b[k:k+4:k+4]
		if two {
			w[0], w[1], w[2], w[3] = pa[0]&pb[0], pa[1]&pb[1], pa[2]&pb[2], pa[3]&pb[3]
		} else {
			pc, pd := c[k:k+4:k+4], d[k:k+4:k+4]
			w[0], w[1] = pa[0]&pb[0]&pc[0]&pd[0], pa[1]&pb[1]&pc[1]&pd[1]
			w[2], w[3] = pa[2]&pb[2]&pc[2]&pd[2], pa[3]&pb[3]&pc[3]&pd[3]
		}
		if w[0]|w[1]|w[2]|w[3] == 0 {
			continue
		}
		for i, w := range w {
			if w == 0 {
				continue
			}
			for _, row := range rows {
				w &= f.lt[row+k+i]
			}
			for ; w != 0; w &= w - 1 {
				m := f.mt[(k+i)*longBits+bits.TrailingZeros64(w)]
				from, to := setRun(fill, m)
				lo, hi = min(lo, from), max(hi, to)
			}
		}
	}
	return lo, hi
}

// next intersects the selected buckets with the allowed rules cur[lo:hi], which
// it clears, and marks the rules of the next field in fill.
func (f *field) next(rows []int, cur, fill []uint64, lo, hi int) (nlo, nhi int) {
	nlo = len(fill)
	for k := lo; k < hi; k++ {
		w := cur[k]
		if w == 0 {
			continue
		}
		cur[k] = 0
		for _, row := range rows {
			w &= f.lt[row+k]
		}
		for ; w != 0; w &= w - 1 {
			m := f.mt[k*longBits+bits.TrailingZeros64(w)]
			from, to := setRun(fill, m)
			nlo, nhi = min(nlo, from), max(nhi, to)
		}
	}
	return nlo, nhi
}

// lastField returns the element of the lowest rule that matches and has not
// expired. cur is nil if all rules are allowed.
func (r *Reader) lastField(f *field, rows []int, cur []uint64, lo, hi int, now int64) (ID, bool) {
	t := r.t
	for k := lo; k < hi; k++ {
		w := ^uint64(0)
		if cur != nil {
			w = cur[k]
			cur[k] = 0
		}
		if w == 0 {
			continue
		}
		for _, row := range rows {
			w &= f.lt[row+k]
		}
		for ; w != 0; w &= w - 1 {
			id := ID(f.mt[k*longBits+bits.TrailingZeros64(w)].to)
			if t.timed != 0 {
				if e := t.elems[id].expires; e != 0 && e <= now {
					continue
				}
			}
			if cur != nil {
				clear(cur[k:hi])
			}
			return id, true
		}
	}
	return 0, false
}

// setRun sets the bits of a run of rules and returns the range of words touched.
func setRun(dst []uint64, m mapping) (lo, hi int) {
	first, end := int(m.to), int(m.to+m.n)
	lo = first / longBits
	hi = (end-1)/longBits + 1
	head := ^uint64(0) << (first % longBits)
	tail := ^uint64(0) >> ((longBits - end%longBits) % longBits)
	if hi-lo == 1 {
		dst[lo] |= head & tail
		return lo, hi
	}
	dst[lo] |= head
	for i := lo + 1; i < hi-1; i++ {
		dst[i] = ^uint64(0)
	}
	dst[hi-1] |= tail
	return lo, hi
}
