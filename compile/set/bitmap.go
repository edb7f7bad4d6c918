package set

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
)

// bitmap holds keys of one or two bytes, single or in intervals: a bit for each
// key at which the element changes, the number of such bits before each word, and
// the elements in the order of the changes.
type bitmap struct {
	words []uint64
	rank  []uint32
	refs  []Ref // refs[0] is below the first change
}

func newBitmap(t *Table) (*bitmap, error) {
	if t.klen < 1 || t.klen > 2 {
		return nil, fmt.Errorf("keys of %d bytes do not fit a bitmap", t.klen)
	}
	keys := 1 << (8 * t.klen)
	m := &bitmap{words: make([]uint64, keys/64), rank: make([]uint32, keys/64), refs: []Ref{None}}
	change := func(at uint64, ref Ref) {
		m.words[at/64] |= 1 << (at % 64)
		m.refs = append(m.refs, ref)
	}
	if shapeOf(t.set).interval {
		spans, err := spansOf(t)
		if err != nil {
			return nil, err
		}
		changes(spans, func(key []byte, ref Ref) { change(bigWord(key), ref) })
	} else {
		type single struct {
			key uint64
			ref Ref
		}
		var all []single
		for i := range t.static {
			if e := &t.static[i]; e.Flags&(bytecode.ElemCatchall|bytecode.ElemIntervalEnd) == 0 {
				all = append(all, single{bigWord(e.Key), Ref(i)})
			}
		}
		slices.SortFunc(all, func(a, b single) int { return int(a.key) - int(b.key) })
		for i, s := range all {
			if i > 0 && all[i-1].key == s.key {
				return nil, fmt.Errorf("element %d has the key of another element", s.ref)
			}
			change(s.key, s.ref)
			if end := s.key + 1; end < uint64(keys) && (i+1 == len(all) || all[i+1].key != end) {
				change(end, None)
			}
		}
	}
	n := uint32(0)
	for i, w := range m.words {
		m.rank[i] = n
		n += uint32(bits.OnesCount64(w))
	}
	return m, nil
}

func (m *bitmap) lookup(key []byte) Ref {
	k := uint(key[0])
	if len(key) == 2 {
		k = k<<8 | uint(key[1])
	}
	w := m.words[k/64] << (63 - k%64) // bits up to and including k
	return m.refs[m.rank[k/64]+uint32(bits.OnesCount64(w))]
}
