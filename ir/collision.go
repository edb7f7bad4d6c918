package ir

import (
	"bytes"
	"sort"
)

// collision finds an element among those from index fresh on that the kernel
// refuses because of one inserted before it: its lower or its upper end,
// taken as a point, lies in the other one. Ranges that only cross in some
// fields pass (nft_pipapo_insert). nil when there is none.
//
// All elements are sorted by one field, the one whose ranges are narrowest;
// only those around a point in that field are then compared.
func (ks *kernelSet) collision(fresh int) *Element {
	es := ks.elems
	if len(es)-fresh < 1 || len(es) < 2 {
		return nil
	}
	off, n := ks.selective()
	order := make([]int32, 0, len(es))
	for i := range es {
		if !es[i].Catchall && !es[i].remove {
			order = append(order, int32(i))
		}
	}
	from := func(i int32) []byte { return es[i].From[off : off+n] }
	high := func(i int32) []byte { return es[i].high()[off : off+n] }
	sort.Slice(order, func(a, b int) bool { return bytes.Compare(from(order[a]), from(order[b])) < 0 })
	// reach[k] is the highest upper end among order[:k+1]
	reach := make([][]byte, len(order))
	for k, i := range order {
		reach[k] = high(i)
		if k > 0 && bytes.Compare(reach[k-1], reach[k]) > 0 {
			reach[k] = reach[k-1]
		}
	}
	for j := fresh; j < len(es); j++ {
		e := &es[j]
		if e.Catchall || e.remove {
			continue
		}
		for _, p := range [2][]byte{e.From, e.high()} {
			q := p[off : off+n]
			k := sort.Search(len(order), func(k int) bool { return bytes.Compare(from(order[k]), q) > 0 }) - 1
			for ; k >= 0 && bytes.Compare(reach[k], q) >= 0; k-- {
				if i := int(order[k]); i < j && ks.holds(&es[i], p) {
					return e
				}
			}
		}
	}
	return nil
}

// holds tells whether a point lies in an element, in every field.
func (ks *kernelSet) holds(e *Element, p []byte) bool {
	off := 0
	to := e.high()
	for _, f := range ks.set.KeyFields {
		n := off + f.Len()
		if bytes.Compare(p[off:n], e.From[off:n]) < 0 || bytes.Compare(p[off:n], to[off:n]) > 0 {
			return false
		}
		off += f.padded()
	}
	return true
}

// selective returns place and length of the field with the most different
// values in a sample.
func (ks *kernelSet) selective() (off, n int) {
	const sample = 256
	best, at := -1, 0
	for _, f := range ks.set.KeyFields {
		seen := make(map[string]struct{})
		step := max(1, len(ks.elems)/sample)
		for i := 0; i < len(ks.elems); i += step {
			if e := &ks.elems[i]; !e.Catchall && bytes.Equal(e.From[at:at+f.Len()], e.high()[at:at+f.Len()]) {
				seen[string(e.From[at:at+f.Len()])] = struct{}{}
			} else if !e.Catchall {
				seen[string(e.From[at:at+f.Len()])+"-"+string(e.high()[at:at+f.Len()])] = struct{}{}
			}
		}
		if len(seen) > best {
			best, off, n = len(seen), at, f.Len()
		}
		at += f.padded()
	}
	return off, n
}
