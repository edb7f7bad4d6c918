package set

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
)

// span is an interval: lo up to, not including, hi; nil hi is open.
type span struct {
	lo, hi []byte
	ref    Ref
}

// spansOf makes intervals out of start and end points, in ascending order.
//
// nft_rbtree_commit: points are visited from low to high, an end before a start of
// the same key. A start opens an interval; the next point closes it, also when it
// is a start (adjacent intervals of anonymous sets leave the end out); an end
// without a start before it means nothing, as the one at key 0 that nft sends
// first. Two starts at one key are refused.
func spansOf(t *Table) ([]span, error) {
	type point struct {
		key []byte
		ref Ref
		end bool
	}
	points := make([]point, 0, len(t.static))
	sorted := true
	less := func(a, b point) int {
		if c := bytes.Compare(a.key, b.key); c != 0 {
			return c
		}
		switch {
		case a.end == b.end:
			return 0
		case a.end:
			return -1
		default:
			return 1
		}
	}
	for i := range t.static {
		e := &t.static[i]
		if e.Flags&bytecode.ElemCatchall != 0 {
			continue
		}
		if e.KeyEnd != nil {
			return nil, fmt.Errorf("element %d has an upper key, but the set has no concatenation", i)
		}
		points = append(points, point{e.Key, Ref(i), e.Flags&bytecode.ElemIntervalEnd != 0})
		if n := len(points); n > 1 && less(points[n-2], points[n-1]) > 0 {
			sorted = false
		}
	}
	if !sorted {
		slices.SortStableFunc(points, less)
	}
	var spans []span
	open := false
	for i, p := range points {
		if open {
			spans[len(spans)-1].hi = p.key
			open = false
		}
		if p.end {
			continue
		}
		if i > 0 && !points[i-1].end && bytes.Equal(points[i-1].key, p.key) {
			return nil, fmt.Errorf("elements %d and %d start at the same key", points[i-1].ref, p.ref)
		}
		spans = append(spans, span{lo: p.key, ref: p.ref})
		open = true
	}
	return spans, nil
}

// changes gives the points at which the element changes, and the element from each
// point on: spans with the gaps between them.
func changes(spans []span, add func(key []byte, ref Ref)) {
	for i, s := range spans {
		add(s.lo, s.ref)
		if s.hi != nil && (i+1 == len(spans) || !bytes.Equal(spans[i+1].lo, s.hi)) {
			add(s.hi, None)
		}
	}
}

// intervals finds the last change at or below a key by binary search. An index
// over the key's leading bits narrows it first.
type intervals struct {
	klen  int
	refs  []Ref       // from point i on
	words []uint64    // points, keys of up to 8 bytes, right-aligned
	pairs [][2]uint64 // points, keys of up to 16 bytes
	long  [][]byte    // points of longer keys

	shift uint     // leading bits of a word or of a pair's first half
	index []uint32 // number of points below each value of the leading bits
}

func newIntervals(t *Table) (*intervals, error) {
	spans, err := spansOf(t)
	if err != nil {
		return nil, err
	}
	v := &intervals{klen: t.klen}
	changes(spans, func(key []byte, ref Ref) {
		v.refs = append(v.refs, ref)
		switch {
		case t.klen <= 8:
			v.words = append(v.words, bigWord(key))
		case t.klen <= 16:
			v.pairs = append(v.pairs, bigPair(key))
		default:
			v.long = append(v.long, key)
		}
	})
	v.makeIndex()
	return v, nil
}

// bigWord reads up to 8 bytes, most significant first.
func bigWord(k []byte) uint64 {
	switch len(k) {
	case 4:
		return uint64(binary.BigEndian.Uint32(k))
	case 8:
		return binary.BigEndian.Uint64(k)
	}
	w := uint64(0)
	for _, b := range k {
		w = w<<8 | uint64(b)
	}
	return w
}

// bigPair reads 9 to 16 bytes; the first 8 are the first half.
func bigPair(k []byte) [2]uint64 {
	return [2]uint64{binary.BigEndian.Uint64(k), bigWord(k[8:])}
}

// makeIndex builds the index for larger sets, with about one entry a point.
func (v *intervals) makeIndex() {
	n := len(v.refs)
	if n < 64 || v.long != nil {
		return
	}
	width := min(v.klen, 8) * 8
	lead := min(bits.Len(uint(n)), width, 20)
	v.shift = uint(width - lead)
	v.index = make([]uint32, 1<<lead+1)
	at := func(i int) uint64 {
		if v.words != nil {
			return v.words[i] >> v.shift
		}
		return v.pairs[i][0] >> v.shift
	}
	i := 0
	for b := range v.index {
		for i < n && at(i) < uint64(b) {
			i++
		}
		v.index[b] = uint32(i)
	}
}

// lookup gives the element of the last point at or below the key.
func (v *intervals) lookup(key []byte) Ref {
	lo, hi := 0, len(v.refs) // points below lo are <= key, those from hi on are > key
	switch {
	case v.words != nil:
		k := bigWord(key)
		if v.index != nil {
			b := k >> v.shift
			lo, hi = int(v.index[b]), int(v.index[b+1])
		}
		for lo < hi {
			m := int(uint(lo+hi) / 2)
			if v.words[m] <= k {
				lo = m + 1
			} else {
				hi = m
			}
		}
	case v.pairs != nil:
		k := bigPair(key)
		if v.index != nil {
			b := k[0] >> v.shift
			lo, hi = int(v.index[b]), int(v.index[b+1])
		}
		for lo < hi {
			m := int(uint(lo+hi) / 2)
			if p := &v.pairs[m]; p[0] < k[0] || p[0] == k[0] && p[1] <= k[1] {
				lo = m + 1
			} else {
				hi = m
			}
		}
	default:
		for lo < hi {
			m := int(uint(lo+hi) / 2)
			if bytes.Compare(v.long[m], key) <= 0 {
				lo = m + 1
			} else {
				hi = m
			}
		}
	}
	if lo == 0 {
		return None
	}
	return v.refs[lo-1]
}
