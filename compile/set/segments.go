package set

import (
	"bytes"
	"errors"
	"math/bits"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
)

// segments holds concatenated ranges by one of their fields: its values are cut into
// segments at the ends of the elements' ranges, every segment lists the elements
// that reach over it, and a lookup compares the other fields with those one by one.
// It is fast when in one field few elements overlap.
type segments struct {
	at, length int        // the field, in a key
	cuts       *intervals // its Refs are segments
	start      []uint32   // first candidate of each segment, and their number at the end
	refs       []Ref      // candidates, in each segment in the order of the elements
	// bounds holds for each candidate the lower and upper ends of the other fields: a
	// word each, two for fields of more than 8 bytes.
	bounds []uint64
	others []segmentField
	width  int // words of a candidate in bounds
}

type segmentField struct {
	from, to int // in a key
	wide     bool
}

// Limits of segments: candidates of one segment, and of all segments for each
// element.
const (
	maxCandidates = 64
	maxCopies     = 16
)

var errManyCandidates = errors.New("ranges that overlap in every field")

// cut is an end of an element's range in a field: the value from which on it holds,
// or does not hold any more.
type cut struct {
	at  [2]uint64
	ref Ref
	add bool
}

// fieldPair reads a field of up to 16 bytes, right-aligned.
func fieldPair(b []byte) [2]uint64 {
	if len(b) <= 8 {
		return [2]uint64{0, bigWord(b)}
	}
	n := len(b) - 8
	return [2]uint64{bigWord(b[:n]), bigWord(b[n:])}
}

func less(a, b [2]uint64) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// cutsOf lists the cuts of a field in ascending order.
func cutsOf(s *bytecode.Set, from, to int) []cut {
	var out []cut
	var end [2]uint64 // one past the highest value; 0 for 128 bits
	if n := uint(8 * (to - from)); n < 64 {
		end = [2]uint64{0, 1 << n}
	} else if n < 128 {
		end = [2]uint64{1 << (n - 64), 0}
	}
	for i := range s.Elements {
		e := &s.Elements[i]
		if e.Flags&bytecode.ElemCatchall != 0 {
			continue
		}
		hi := e.KeyEnd
		if hi == nil {
			hi = e.Key
		}
		out = append(out, cut{fieldPair(e.Key[from:to]), Ref(i), true})
		past := fieldPair(hi[from:to])
		var carry uint64
		past[1], carry = bits.Add64(past[1], 1, 0)
		past[0] += carry
		if past != end {
			out = append(out, cut{past, Ref(i), false})
		}
	}
	slices.SortFunc(out, func(a, b cut) int {
		switch {
		case less(a.at, b.at):
			return -1
		case less(b.at, a.at):
			return 1
		}
		return int(a.ref) - int(b.ref)
	})
	return out
}

// candidates is the number of candidates that segments over these cuts hold
// altogether and the highest of one segment.
func candidates(cuts []cut) (total, most, segments int) {
	open := 0
	for i, c := range cuts {
		if c.add {
			open++
		} else {
			open--
		}
		if i+1 == len(cuts) || cuts[i+1].at != c.at {
			total += open
			most = max(most, open)
			segments++
		}
	}
	return total, most, segments
}

// segmentsField picks the field with the fewest candidates; ok is false if all have
// too many. mean is the number of candidates in a segment.
func segmentsField(s *bytecode.Set) (cuts []cut, field int, mean float64, ok bool) {
	klen, n := s.KeyLen(), 0
	for i := range s.Elements {
		e := &s.Elements[i]
		if e.Flags&bytecode.ElemCatchall != 0 {
			continue
		}
		if len(e.Key) != klen || e.KeyEnd != nil && len(e.KeyEnd) != klen {
			return nil, 0, 0, false
		}
		n++
	}
	at := 0
	best := 0
	for f, fd := range s.Key {
		if fd.Len > 16 || fd.Len == 0 {
			return nil, 0, 0, false
		}
		c := cutsOf(s, at, at+int(fd.Len))
		total, most, segments := candidates(c)
		if most <= maxCandidates && total <= maxCopies*n+maxCandidates && (!ok || total < best) {
			cuts, field, best, ok = c, f, total, true
			mean = float64(total) / float64(max(segments, 1))
		}
		at += fd.Padded()
	}
	return cuts, field, mean, ok
}

func newSegments(t *Table) (*segments, error) {
	for i := range t.static {
		if e := &t.static[i]; e.KeyEnd != nil && inverted(t.set, e) {
			return nil, errors.New("an element's range ends before it starts")
		}
	}
	cuts, field, _, ok := segmentsField(t.set)
	if !ok {
		return nil, errManyCandidates
	}
	g := &segments{}
	at := 0
	for f, fd := range t.set.Key {
		if f == field {
			g.at, g.length = at, int(fd.Len)
		} else {
			o := segmentField{at, at + int(fd.Len), fd.Len > 8}
			g.others = append(g.others, o)
			g.width += 2
			if o.wide {
				g.width += 2
			}
		}
		at += fd.Padded()
	}
	g.cuts = &intervals{klen: g.length}
	var open []Ref
	for i, c := range cuts {
		p, found := slices.BinarySearch(open, c.ref)
		if c.add && !found {
			open = slices.Insert(open, p, c.ref)
		} else if !c.add && found {
			open = slices.Delete(open, p, p+1)
		}
		if i+1 < len(cuts) && cuts[i+1].at == c.at {
			continue
		}
		g.cuts.refs = append(g.cuts.refs, Ref(len(g.start)))
		g.start = append(g.start, uint32(len(g.refs)))
		if g.length <= 8 {
			g.cuts.words = append(g.cuts.words, c.at[1])
		} else {
			g.cuts.pairs = append(g.cuts.pairs, alignLeft(c.at, g.length))
		}
		for _, ref := range open {
			g.refs = append(g.refs, ref)
			g.addBounds(&t.static[ref])
		}
	}
	g.start = append(g.start, uint32(len(g.refs)))
	g.cuts.makeIndex()
	return g, nil
}

// alignLeft turns a right-aligned value of length bytes into the form of bigPair:
// the first 8 bytes in the first half.
func alignLeft(v [2]uint64, length int) [2]uint64 {
	n := uint(8 * (16 - length)) // unused bits
	if n == 0 {
		return v
	}
	return [2]uint64{v[0]<<n | v[1]>>(64-n), v[1] & (1<<(64-n) - 1)}
}

func inverted(s *bytecode.Set, e *bytecode.Element) bool {
	at := 0
	for _, f := range s.Key {
		if len(e.Key) < at+int(f.Len) || bytes.Compare(e.Key[at:at+int(f.Len)], e.KeyEnd[at:at+int(f.Len)]) > 0 {
			return true
		}
		at += f.Padded()
	}
	return false
}

func (g *segments) addBounds(e *bytecode.Element) {
	hi := e.KeyEnd
	if hi == nil {
		hi = e.Key
	}
	for _, o := range g.others {
		a, b := fieldPair(e.Key[o.from:o.to]), fieldPair(hi[o.from:o.to])
		if o.wide {
			g.bounds = append(g.bounds, a[0], a[1], b[0], b[1])
		} else {
			g.bounds = append(g.bounds, a[1], b[1])
		}
	}
}

// lookup gives the first element that holds the key and has not expired.
func (g *segments) lookup(key []byte, t *Table) Ref {
	seg := g.cuts.lookup(key[g.at : g.at+g.length])
	if seg < 0 {
		return None
	}
	i, end := int(g.start[seg]), int(g.start[seg+1])
	if i == end {
		return None
	}
	var values [16][2]uint64
	for f, o := range g.others {
		values[f] = fieldPair(key[o.from:o.to])
	}
next:
	for ; i < end; i++ {
		b := g.bounds[i*g.width : (i+1)*g.width]
		for f := range g.others {
			v := &values[f]
			if g.others[f].wide {
				if less(*v, [2]uint64{b[0], b[1]}) || less([2]uint64{b[2], b[3]}, *v) {
					continue next
				}
				b = b[4:]
				continue
			}
			if v[1] < b[0] || v[1] > b[1] {
				continue next
			}
			b = b[2:]
		}
		if ref := g.refs[i]; t.alive(ref) {
			return ref
		}
	}
	return None
}

func (g *segments) bytes() uint64 {
	v := g.cuts
	return 4*uint64(len(g.start)+len(g.refs)+len(v.refs)+len(v.index)) +
		8*uint64(len(g.bounds)+len(v.words)) + 16*uint64(len(v.pairs))
}
