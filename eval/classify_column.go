package eval

import (
	"cmp"
	"math/bits"
	"slices"
)

// column divides the values of one field into classes for the rules of a group.
type column struct {
	field int
	// sets are the classes' rules; the first is empty.
	sets []members
	// Values that all stand alone are hashed: slots holds class numbers, 0 is
	// free, and keys their values.
	keys  []classValue // by class; nil when values are ranges
	slots []uint32
	shift uint
	// Ranges: class at[i] from starts[i] on. narrow instead of them for short
	// fields, by value.
	starts []classValue
	at     []uint32
	narrow []uint32
	drop   uint // bits to shift a narrow field's value down by
}

const (
	// columnBytes and columnBytesPerRule bound a column's memory: beyond,
	// neighbouring classes are made one, with the rules of both.
	columnBytes        = 4 << 20
	columnBytesPerRule = 64
	// columnSpans and columnSpansPerRule bound the ranges of a column.
	columnSpans        = 4096
	columnSpansPerRule = 16
	// narrowStarts is from how many ranges on a field of two bytes gets a
	// table by value.
	narrowStarts = 256
)

// find is the class of a value.
func (c *column) find(v classValue) *members {
	switch {
	case c.keys != nil:
		for i := v.hash() >> c.shift; ; i++ {
			k := c.slots[int(i)&(len(c.slots)-1)]
			if k == 0 || c.keys[k] == v {
				return &c.sets[k]
			}
		}
	case c.narrow != nil:
		return &c.sets[c.narrow[v[0]>>c.drop]]
	}
	lo, hi := 0, len(c.starts)
	for lo < hi {
		m := int(uint(lo+hi) / 2)
		if v.less(c.starts[m]) {
			hi = m
		} else {
			lo = m + 1
		}
	}
	if lo == 0 {
		return &c.sets[0]
	}
	return &c.sets[c.at[lo-1]]
}

// hash mixes a value; its upper bits are the good ones.
func (v classValue) hash() uint64 {
	h, l := bits.Mul64(v[0]^0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9)
	h2, l2 := bits.Mul64(h^l^v[1], 0x94d049bb133111eb)
	return h2 ^ l2
}

// newColumn makes the column of a field of that many bytes over n rules. ok is
// false when the ranges are too many.
func newColumn(field, width, n int, spans func(rule int) []valueSpan) (c column, ok bool) {
	top := onesFrom(8 * width) // bits that no value has
	total, exact := 0, true
	for i := range n {
		for _, s := range spans(i) {
			total++
			exact = exact && s.lo == classValue{s.hi[0] &^ top[0], s.hi[1] &^ top[1]}
		}
	}
	if total > columnSpans+columnSpansPerRule*n {
		return c, false
	}
	c = column{field: field, sets: make([]members, 1)}
	if exact {
		c.hashValues(n, total, spans)
	} else {
		c.divide(n, total, width, spans)
	}
	return c, true
}

// newMembers makes the rules of a class out of an ascending list.
func newMembers(list []uint32, n int) members {
	if len(list)*32 <= n || n < 64 {
		return members{n: len(list), list: list}
	}
	m := emptyBitmap(n)
	for _, i := range list {
		m.set(i)
	}
	m.n = len(list)
	return m
}

func emptyBitmap(n int) members {
	words := (n + 63) / 64
	all := make([]uint64, words+(words+63)/64)
	return members{bits: all[:words:words], sum: all[words:]}
}

func (m *members) set(i uint32) {
	m.bits[i/64] |= 1 << (i % 64)
	m.sum[i/4096] |= 1 << (i / 64 % 64)
}

func (m *members) unset(i uint32) {
	if m.bits[i/64] &^= 1 << (i % 64); m.bits[i/64] == 0 {
		m.sum[i/4096] &^= 1 << (i / 64 % 64)
	}
}

// appendTo lists a bitmap's members.
func (m *members) appendTo(list []uint32) []uint32 {
	for s, sum := range m.sum {
		for ; sum != 0; sum &= sum - 1 {
			k := s*64 + bits.TrailingZeros64(sum)
			for v := m.bits[k]; v != 0; v &= v - 1 {
				list = append(list, uint32(k*64+bits.TrailingZeros64(v)))
			}
		}
	}
	return list
}

// hashValues makes a class of each value.
func (c *column) hashValues(n, total int, spans func(int) []valueSpan) {
	type pair struct {
		v    classValue
		rule uint32
	}
	pairs := make([]pair, 0, total)
	for i := range n {
		for _, s := range spans(i) {
			pairs = append(pairs, pair{s.lo, uint32(i)})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.v[0], b.v[0]), cmp.Compare(a.v[1], b.v[1]), cmp.Compare(a.rule, b.rule))
	})
	c.keys = make([]classValue, 1, len(pairs)+1)
	lists := make([]uint32, 0, len(pairs))
	for i := 0; i < len(pairs); {
		first := len(lists)
		v := pairs[i].v
		for ; i < len(pairs) && pairs[i].v == v; i++ {
			if k := len(lists); k == first || lists[k-1] != pairs[i].rule {
				lists = append(lists, pairs[i].rule)
			}
		}
		c.keys = append(c.keys, v)
		c.sets = append(c.sets, newMembers(lists[first:len(lists):len(lists)], n))
	}
	size := uint(bits.Len(uint(2*len(c.keys) - 1)))
	c.slots, c.shift = make([]uint32, 1<<size), 64-size
	for k := 1; k < len(c.keys); k++ {
		i := c.keys[k].hash() >> c.shift
		for c.slots[int(i)&(len(c.slots)-1)] != 0 {
			i++
		}
		c.slots[int(i)&(len(c.slots)-1)] = uint32(k)
	}
}

// divide makes classes of the ranges between all ends of ranges.
func (c *column) divide(n, total, width int, spans func(int) []valueSpan) {
	type end struct {
		at   classValue
		rule uint32
		stop bool
	}
	ends := make([]end, 0, 2*total)
	high := onesFrom(0)
	for i := range n {
		for _, s := range spans(i) {
			ends = append(ends, end{s.lo, uint32(i), false})
			if s.hi != high {
				ends = append(ends, end{s.hi.successor(), uint32(i), true})
			}
		}
	}
	slices.SortFunc(ends, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.at[0], b.at[0]), cmp.Compare(a.at[1], b.at[1]))
	})
	// A rule may have several ranges that meet or overlap.
	depth := make([]uint16, n)
	now := emptyBitmap(n)
	apply := func(e end) {
		if e.stop {
			if depth[e.rule]--; depth[e.rule] == 0 {
				now.unset(e.rule)
				now.n--
			}
			return
		}
		if depth[e.rule]++; depth[e.rule] == 1 {
			now.set(e.rule)
			now.n++
		}
	}
	// next is the end of the ends at one place. Those that start come first, so
	// that no depth is below zero.
	next := func(i int) int {
		j := i
		for j < len(ends) && ends[j].at == ends[i].at {
			j++
		}
		for k, free := i, i; k < j; k++ {
			if !ends[k].stop {
				ends[free], ends[k] = ends[k], ends[free]
				free++
			}
		}
		return j
	}
	places, size := 0, 0
	for i := 0; i < len(ends); {
		j := next(i)
		for ; i < j; i++ {
			apply(ends[i])
		}
		places++
		size += min(4*now.n, n/8) + 24
	}
	budget := columnBytes + columnBytesPerRule*n
	step := 1 // places that make one class
	if size > budget {
		step = max(1, places/max(64, budget/(n/8+24)))
	}
	clear(depth)
	now = emptyBitmap(n)
	for i, place := 0, 0; i < len(ends); place++ {
		j := next(i)
		if place%step != 0 {
			// Ranges that start here belong to the class at hand, too.
			m := &c.sets[len(c.sets)-1]
			for k := i; k < j; k++ {
				if !ends[k].stop && !m.has(ends[k].rule) {
					m.add(ends[k].rule, n)
				}
				apply(ends[k])
			}
			i = j
			continue
		}
		start := ends[i].at
		for ; i < j; i++ {
			apply(ends[i])
		}
		c.starts = append(c.starts, start)
		class := uint32(0)
		if now.n > 0 || step > 1 {
			class = uint32(len(c.sets))
			c.sets = append(c.sets, now.copyOf(n))
		}
		c.at = append(c.at, class)
	}
	if width <= 2 && len(c.starts) >= narrowStarts {
		c.drop = uint(64 - 8*width)
		narrow := make([]uint32, 1<<(8*width))
		for v := range narrow {
			narrow[v] = uint32(c.classOf(classValue{uint64(v) << c.drop}))
		}
		c.narrow = narrow
	}
}

func (c *column) classOf(v classValue) int {
	i, found := slices.BinarySearchFunc(c.starts, v, func(a, b classValue) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return int(c.at[i])
}

// copyOf makes the smaller form of a bitmap over n rules.
func (m *members) copyOf(n int) members {
	if m.n*32 <= n || n < 64 {
		return members{n: m.n, list: m.appendTo(make([]uint32, 0, m.n))}
	}
	out := emptyBitmap(n)
	copy(out.bits, m.bits)
	copy(out.sum, m.sum)
	out.n = m.n
	return out
}

// add puts a rule into a class over n rules.
func (m *members) add(i uint32, n int) {
	if m.bits == nil {
		at, _ := slices.BinarySearch(m.list, i)
		*m = newMembers(slices.Insert(m.list, at, i), n)
		return
	}
	m.set(i)
	m.n++
}
