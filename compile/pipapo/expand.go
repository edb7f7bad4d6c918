package pipapo

import (
	"encoding/binary"
	"math/bits"
)

// value is a field value of up to 128 bits, right-aligned.
type value struct{ hi, lo uint64 }

func loadValue(b []byte) value {
	var buf [16]byte
	copy(buf[16-len(b):], b)
	return value{binary.BigEndian.Uint64(buf[:8]), binary.BigEndian.Uint64(buf[8:])}
}

// store writes the low len(b) bytes, most significant first.
func (v value) store(b []byte) {
	var buf [16]byte
	binary.BigEndian.PutUint64(buf[:8], v.hi)
	binary.BigEndian.PutUint64(buf[8:], v.lo)
	copy(b, buf[16-len(b):])
}

func (v value) less(w value) bool {
	return v.hi < w.hi || v.hi == w.hi && v.lo < w.lo
}

// withLowBits sets the n lowest bits.
func (v value) withLowBits(n int) value {
	switch {
	case n >= 128:
		return value{^uint64(0), ^uint64(0)}
	case n >= 64:
		return value{v.hi | (1<<(n-64) - 1), ^uint64(0)}
	default:
		return value{v.hi, v.lo | (1<<n - 1)}
	}
}

// addBit adds 2^n; the carry out of 128 bits is lost.
func (v value) addBit(n int) value {
	if n >= 64 {
		return value{v.hi + 1<<(n-64), v.lo}
	}
	lo, carry := bits.Add64(v.lo, 1<<n, 0)
	return value{v.hi + carry, lo}
}

// trailingZeros counts the unset low bits, at most limit.
func (v value) trailingZeros(limit int) int {
	n := bits.TrailingZeros64(v.lo)
	if n == 64 {
		n += bits.TrailingZeros64(v.hi)
	}
	return min(n, limit)
}

// expand calls rule for each prefix that makes up start..end of a field of width
// bits, in ascending order: the base value and the prefix length.
//
// pipapo_expand: from the low end on, each prefix is the largest one that starts
// there and does not pass the end; a range that covers the whole field is one
// rule of length 0.
func expand(start, end value, width int, rule func(base value, prefixLen int)) {
	for {
		step := 0
		for limit := start.trailingZeros(width); step < limit; step++ {
			if end.less(start.withLowBits(step + 1)) {
				break
			}
		}
		rule(start, width-step)
		last := start.withLowBits(step)
		if !last.less(end) {
			return
		}
		start = start.addBit(step)
	}
}

// countRules is the number of prefixes expand would give.
func countRules(start, end value, width int) int {
	n := 0
	for {
		step := start.trailingZeros(width)
		// The largest block that still ends at or below end.
		for step > 0 && end.less(start.withLowBits(step)) {
			step--
		}
		n++
		if !start.withLowBits(step).less(end) {
			return n
		}
		start = start.addBit(step)
	}
}

// Prefixes calls fn for each of the prefixes that a field's range is split into, in
// ascending order: the base value, valid during the call only, and the prefix
// length in bits. lo and hi have the same length of up to 16 bytes, lo is not
// above hi.
func Prefixes(lo, hi []byte, fn func(base []byte, prefixLen int)) {
	var buf [MaxFieldBytes]byte
	expand(loadValue(lo), loadValue(hi), 8*len(lo), func(base value, prefixLen int) {
		base.store(buf[:len(lo)])
		fn(buf[:len(lo)], prefixLen)
	})
}

// CountPrefixes is the number of prefixes that a field's range is split into.
func CountPrefixes(lo, hi []byte) int {
	return countRules(loadValue(lo), loadValue(hi), 8*len(lo))
}
