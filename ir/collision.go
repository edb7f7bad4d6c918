package ir

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
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
	spans := ks.fieldSpans()
	// reach[k] is the highest upper end among spans[:k+1].
	reach := make([]uint64, len(spans))
	for k := range spans {
		reach[k] = spans[k].to
		if k > 0 {
			reach[k] = max(reach[k], reach[k-1])
		}
	}
	first := len(es) // the refused element that came first
	for at := range spans {
		s := &spans[at]
		j := int(s.i)
		if j < fresh || j > first {
			continue
		}
		e := &es[j]
		k := at
		for n, p := range [2][]byte{e.From, e.high()} {
			q := s.from
			if n == 1 {
				q = s.to
			}
			// The last span that starts at or below q is not far behind.
			for k+1 < len(spans) && spans[k+1].from <= q {
				k++
			}
			for b := k; b >= 0 && reach[b] >= q; b-- {
				if i := int(spans[b].i); i < j && spans[b].to >= q && ks.holds(&es[i], p) {
					first = min(first, j)
					break
				}
			}
		}
	}
	if first == len(es) {
		return nil
	}
	return &es[first]
}

// fieldSpan is what an element covers of one field, in eight bytes of it.
type fieldSpan struct {
	from, to uint64
	i        uint32 // index of the element
}

// fieldSpans are the spans of the most selective field, sorted by their lower
// ends. Bytes that all elements share are left out, and bytes behind the
// eighth: two spans may then seem to meet that do not, never the reverse.
func (ks *kernelSet) fieldSpans() []fieldSpan {
	off, n := ks.selective()
	spans := make([]fieldSpan, 0, len(ks.elems))
	skip := n
	var sample []byte
	for i := range ks.elems {
		e := &ks.elems[i]
		if e.Catchall || e.remove {
			continue
		}
		if sample == nil {
			sample = e.From[off : off+n]
		}
		for _, b := range [2][]byte{e.From[off : off+n], e.high()[off : off+n]} {
			for skip > 0 && !bytes.Equal(b[:skip], sample[:skip]) {
				skip--
			}
		}
		spans = append(spans, fieldSpan{i: uint32(i)})
	}
	off, n = off+skip, min(n-skip, 8)
	ascending := true
	for k := range spans {
		e := &ks.elems[spans[k].i]
		spans[k].from, spans[k].to = bigEndian(e.From[off:off+n]), bigEndian(e.high()[off:off+n])
		ascending = ascending && (k == 0 || spans[k-1].from <= spans[k].from)
	}
	if !ascending {
		slices.SortFunc(spans, func(a, b fieldSpan) int { return cmp.Compare(a.from, b.from) })
	}
	return spans
}

// bigEndian reads up to eight bytes as a number.
func bigEndian(b []byte) uint64 {
	switch len(b) {
	case 8:
		return binary.BigEndian.Uint64(b)
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	}
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
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
