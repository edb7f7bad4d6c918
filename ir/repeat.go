package ir

import (
	"bytes"
	"hash/maphash"
)

// repeated tells whether two elements of a long list have the same key. The
// table holds an index plus one for every element, open addressing.
func repeated(es []Element) bool {
	size := 1
	for size < 2*len(es) {
		size *= 2
	}
	table := make([]uint32, size)
	seed := maphash.MakeSeed()
	star := false
	for i := range es {
		e := &es[i]
		if e.Catchall {
			if star {
				return true
			}
			star = true
			continue
		}
		h := maphash.Bytes(seed, e.From)
		if e.To != nil {
			h ^= maphash.Bytes(seed, e.To) * 3
		}
		at := int(h) & (size - 1)
		for table[at] != 0 {
			o := &es[table[at]-1]
			if bytes.Equal(o.From, e.From) && bytes.Equal(o.high(), e.high()) {
				return true
			}
			at = (at + 1) & (size - 1)
		}
		table[at] = uint32(i + 1)
	}
	return false
}
