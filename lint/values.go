package lint

import (
	"bytes"
	"slices"
)

// interval is a closed range of values of one length, most significant byte
// first.
type interval struct{ lo, hi []byte }

// values is a set of values: sorted, disjoint, not touching.
type values []interval

// newValues normalises intervals of one length.
func newValues(in []interval) values {
	slices.SortFunc(in, func(a, b interval) int { return bytes.Compare(a.lo, b.lo) })
	var out values
	for _, iv := range in {
		if bytes.Compare(iv.lo, iv.hi) > 0 {
			continue
		}
		if n := len(out); n > 0 {
			last := &out[n-1]
			next, ok := successor(last.hi)
			if !ok || bytes.Compare(iv.lo, next) <= 0 {
				if bytes.Compare(iv.hi, last.hi) > 0 {
					last.hi = iv.hi
				}
				continue
			}
		}
		out = append(out, iv)
	}
	return out
}

// single is the set of one value.
func single(v []byte) values { return values{{v, v}} }

// successor returns v+1; ok is false at the top.
func successor(v []byte) (next []byte, ok bool) {
	next = bytes.Clone(v)
	for i := len(next) - 1; i >= 0; i-- {
		next[i]++
		if next[i] != 0 {
			return next, true
		}
	}
	return nil, false
}

// predecessor returns v-1; ok is false at zero.
func predecessor(v []byte) (prev []byte, ok bool) {
	prev = bytes.Clone(v)
	for i := len(prev) - 1; i >= 0; i-- {
		prev[i]--
		if prev[i] != 0xff {
			return prev, true
		}
	}
	return nil, false
}

// bottom and top are the least and greatest value of a length in bits.
func bottom(bits int) []byte { return make([]byte, (bits+7)/8) }

func top(bits int) []byte {
	v := bytes.Repeat([]byte{0xff}, (bits+7)/8)
	if r := bits % 8; r != 0 {
		v[0] = 0xff >> (8 - r)
	}
	return v
}

// all is the set of every value of a length in bits.
func all(bits int) values { return values{{bottom(bits), top(bits)}} }

// complement returns the values of that length that are not in v.
func (v values) complement(bits int) values {
	var out values
	lo := bottom(bits)
	for _, iv := range v {
		if hi, ok := predecessor(iv.lo); ok && bytes.Compare(lo, hi) <= 0 {
			out = append(out, interval{lo, hi})
		}
		var ok bool
		if lo, ok = successor(iv.hi); !ok {
			return out
		}
	}
	if t := top(bits); bytes.Compare(lo, t) <= 0 {
		out = append(out, interval{lo, t})
	}
	return out
}

// intersect returns the values in both.
func (v values) intersect(w values) values {
	var out values
	for i, j := 0, 0; i < len(v) && j < len(w); {
		lo, hi := v[i].lo, v[i].hi
		if bytes.Compare(w[j].lo, lo) > 0 {
			lo = w[j].lo
		}
		if bytes.Compare(w[j].hi, hi) < 0 {
			hi = w[j].hi
		}
		if bytes.Compare(lo, hi) <= 0 {
			out = append(out, interval{lo, hi})
		}
		if bytes.Compare(v[i].hi, w[j].hi) < 0 {
			i++
		} else {
			j++
		}
	}
	return out
}

// contains tells whether every value of w is in v.
func (v values) contains(w values) bool {
	i := 0
	for _, iv := range w {
		for i < len(v) && bytes.Compare(v[i].hi, iv.lo) < 0 {
			i++
		}
		if i == len(v) || bytes.Compare(v[i].lo, iv.lo) > 0 || bytes.Compare(v[i].hi, iv.hi) < 0 {
			return false
		}
	}
	return true
}

// one returns the only value of the set.
func (v values) one() ([]byte, bool) {
	if len(v) == 1 && bytes.Equal(v[0].lo, v[0].hi) {
		return v[0].lo, true
	}
	return nil, false
}
