package pipapo

import (
	"cmp"
	"math/bits"
	"slices"
)

// mapping is one bucket of a mapping table: the first rule and the number of
// rules in the next field. In the last field to holds the element and n is 0.
type mapping struct{ to, n uint32 }

// field holds the tables of one column.
type field struct {
	length    int // bytes
	offset    int // of the field in a key
	groupBits int // 8 or 4
	groups    int // of that width
	rules     int
	high      uint64 // LookupSizeHigh

	// bsize is the kernel's bucket size in longs, stride the distance between
	// buckets here: stride >= bsize. Bits at rules and above are clear in all
	// buckets, up to the stride.
	bsize, stride int
	lt            []uint64

	// order lists the groups, those first that leave the fewest rules. It was right
	// when the table had orderedAt rules; any order gives the same answers.
	order     []uint8
	orderedAt int

	// rulesAlloc is the length the kernel's mapping table would have.
	rulesAlloc int
	mt         []mapping

	// touched tells that the kernel has allocated a lookup table, be it empty.
	touched bool
}

// bucket is the bitmap of group g's value v.
func (f *field) bucket(g, v int) []uint64 {
	at := (g<<f.groupBits + v) * f.stride
	return f.lt[at : at+f.stride]
}

// buckets is the number of buckets of the table.
func (f *field) buckets() int { return f.groups << f.groupBits }

// setStride moves all buckets to a new distance, which must hold the rules.
func (f *field) setStride(stride int) {
	if stride == f.stride {
		return
	}
	lt := make([]uint64, f.buckets()*stride)
	n := min(stride, f.stride)
	for b := range f.buckets() {
		copy(lt[b*stride:b*stride+n], f.lt[b*f.stride:b*f.stride+n])
	}
	f.lt, f.stride = lt, stride
}

// resize accounts for a new number of rules and makes room for their bits
// (pipapo_resize). Growth is geometric, so that a series of insertions moves the
// table seldom; the kernel moves it for each 256 rules.
func (f *field) resize(rules int) {
	f.bsize = bucketLongs(rules)
	switch {
	case f.bsize > f.stride:
		stride := f.bsize
		if f.stride > 0 {
			stride = max(stride, roundLongs(f.stride+f.stride/2))
		}
		f.setStride(stride)
	case f.bsize < f.stride/4:
		f.setStride(roundLongs(f.bsize + f.bsize/2))
	}
	f.rulesAlloc = nextRulesAlloc(f.rulesAlloc, f.rules, rules)
	f.touched = true
}

func roundLongs(n int) int {
	return (n + bucketAlignLongs - 1) / bucketAlignLongs * bucketAlignLongs
}

// addRule appends one rule, without its mapping (pipapo_insert).
func (f *field) addRule(base value, prefixLen int) {
	f.resize(f.rules + 1)
	rule := f.rules
	f.rules++
	f.mt = append(f.mt, mapping{})
	f.setRule(rule, base, prefixLen)
	f.adjustGroupBits()
}

// setRule sets the bits of a prefix in all groups. A group above the end of the
// prefix has one bucket, one below it has all, and the group in which it ends has
// the run of values that share the prefix' bits.
func (f *field) setRule(rule int, base value, prefixLen int) {
	bb := f.groupBits
	at, bit := rule/longBits, uint64(1)<<(rule%longBits)
	shift := f.length*8 - bb
	for g := range f.groups {
		var v int
		if shift >= 64 {
			v = int(base.hi >> (shift - 64))
		} else {
			v = int(base.lo >> shift) // both widths divide 64: no group straddles the halves
		}
		v &= 1<<bb - 1
		free := bb // bits of the group that the prefix leaves open
		switch known := prefixLen - g*bb; {
		case known >= bb:
			free = 0
		case known > 0:
			free = bb - known
		}
		i := at + v&^(1<<free-1)*f.stride
		for range 1 << free {
			f.lt[i] |= bit
			i += f.stride
		}
		at += f.stride << bb
		shift -= bb
	}
}

// sortGroups brings order up to date when the groups have changed or the number of
// rules is far from what it was. A key that is like the elements selects the bucket
// of v as often as rules are in it, so the mean number of rules that a group leaves
// is the sum of the squares of its buckets' sizes, over the number of rules.
func (f *field) sortGroups() {
	if len(f.order) == f.groups && f.rules <= 2*f.orderedAt && f.orderedAt <= 2*f.rules {
		return
	}
	f.orderedAt = f.rules
	f.order = make([]uint8, f.groups)
	left := make([]uint64, f.groups)
	for g := range f.groups {
		f.order[g] = uint8(g)
		for v := range 1 << f.groupBits {
			n := uint64(0)
			for _, w := range f.bucket(g, v)[:f.bsize] {
				n += uint64(bits.OnesCount64(w))
			}
			left[g] += n * n
		}
	}
	slices.SortStableFunc(f.order, func(a, b uint8) int { return cmp.Compare(left[a], left[b]) })
}

// cut removes n rules from start on: all higher bits move down (pipapo_drop,
// bitmap_cut), as do the mappings; mappings behind the gap point toOffset rules
// lower than before, as the next field loses as many (pipapo_unmap).
func (f *field) cut(start, n, toOffset int) {
	for b := range f.buckets() {
		cutBits(f.lt[b*f.stride:b*f.stride+f.bsize], start, n)
	}
	f.mt = append(f.mt[:start], f.mt[start+n:]...)
	for i := start; i < len(f.mt); i++ {
		f.mt[i].to -= uint32(toOffset)
	}
	f.resize(f.rules - n)
	f.rules -= n
	f.adjustGroupBits()
}

// cutBits removes n bits from start on out of a bitmap; the higher ones move down
// and zeroes follow.
func cutBits(m []uint64, start, n int) {
	w, skip, shift := start/longBits, n/longBits, n%longBits
	if w >= len(m) {
		return
	}
	keep := m[w] & (1<<(start%longBits) - 1)
	at := func(i int) uint64 {
		if i < len(m) {
			return m[i]
		}
		return 0
	}
	// The first word mixes kept bits with moved ones; the others only move.
	for i := w; i < len(m); i++ {
		v := at(i+skip) >> shift
		if shift != 0 {
			v |= at(i+skip+1) << (longBits - shift)
		}
		if i == w {
			v = v&^(1<<(start%longBits)-1) | keep
		}
		m[i] = v
	}
}

// sameEntry is the number of rules from first on that belong to one element, 0
// past the end: they have the same mapping (pipapo_rules_same_key).
func (f *field) sameEntry(first int) int {
	if first >= f.rules {
		return 0
	}
	n := 1
	for first+n < f.rules && f.mt[first+n] == f.mt[first] {
		n++
	}
	return n
}
