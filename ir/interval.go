package ir

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// Elements of interval sets without concatenation are kept as closed ranges
// From..To, most significant byte first, so that bytes compare as values.

// high returns the upper end of an element.
func (e *Element) high() []byte {
	if e.To == nil {
		return e.From
	}
	return e.To
}

// sortKey is the first eight bytes of a key as a number, or all ones for the
// catch-all, which nft sorts as the highest value.
func sortKey(e *Element) uint64 {
	if e.Catchall {
		return ^uint64(0)
	}
	if len(e.From) >= 8 {
		return binary.BigEndian.Uint64(e.From)
	}
	var v uint64
	for _, b := range e.From {
		v = v<<8 | uint64(b)
	}
	return v << (8 * (8 - len(e.From)))
}

// sortElements sorts by the lower end; equal ones keep their order
// (list_expr_sort).
func sortElements(es []Element) {
	type ref struct {
		key uint64
		i   uint32
	}
	sorted := true
	refs := make([]ref, len(es))
	for i := range es {
		refs[i] = ref{sortKey(&es[i]), uint32(i)}
		if i > 0 && sorted {
			if refs[i].key < refs[i-1].key || (refs[i].key == refs[i-1].key && len(es[i].From) > 8) {
				sorted = false
			}
		}
	}
	if sorted {
		return
	}
	slices.SortFunc(refs, func(a, b ref) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		x, y := &es[a.i], &es[b.i]
		if x.Catchall || y.Catchall {
			if x.Catchall != y.Catchall && (x.Catchall && !allOnes(y.From) || y.Catchall && !allOnes(x.From)) {
				if x.Catchall {
					return 1
				}
				return -1
			}
			return cmp.Compare(a.i, b.i)
		}
		if c := bytes.Compare(x.From, y.From); c != 0 {
			return c
		}
		return cmp.Compare(a.i, b.i)
	})
	// The elements move along the cycles of the permutation.
	const done = ^uint32(0)
	for i := range refs {
		if refs[i].i == done {
			continue
		}
		first := es[i]
		at := i
		for {
			from := int(refs[at].i)
			refs[at].i = done
			if from == i {
				es[at] = first
				break
			}
			es[at] = es[from]
			at = from
		}
	}
}

func allOnes(b []byte) bool {
	for _, x := range b {
		if x != 0xff {
			return false
		}
	}
	return true
}

// adjacent tells whether b is a + 1.
func adjacent(a, b []byte) bool {
	i := len(a) - 1
	for ; i >= 0 && a[i] == 0xff; i-- {
		if b[i] != 0 {
			return false
		}
	}
	return i >= 0 && b[i] == a[i]+1 && bytes.Equal(a[:i], b[:i])
}

// plusOne returns a + 1 and minusOne a - 1, in new memory, wrapping.
func plusOne(a []byte) []byte {
	out := bytes.Clone(a)
	for i := len(out) - 1; i >= 0; i-- {
		out[i]++
		if out[i] != 0 {
			break
		}
	}
	return out
}

func minusOne(a []byte) []byte {
	out := bytes.Clone(a)
	for i := len(out) - 1; i >= 0; i-- {
		out[i]--
		if out[i] != 0xff {
			break
		}
	}
	return out
}

// addIntervals prepares the elements that a command adds to an interval set:
// sorted, together with what nft's cache has of the set, merged (auto-merge)
// or checked for overlaps. It updates the cache. existing is false for the
// set's own definition. ok is false after an error (set_automerge,
// set_overlap).
func (r *resolver) addIntervals(w where, set *Set, es []Element, existing bool) (out []Element, ok bool) {
	if set.AutoMerge {
		if set.Flags&(bytecode.SetMap|bytecode.SetObject) != 0 {
			sortElements(es)
			return es, true
		}
		return r.autoMerge(w, set, es, existing), true
	}
	sortElements(es)
	if existing {
		es = splice(set, es)
	}
	ok = r.checkOverlap(es)
	if !existing {
		return es, ok
	}
	return set.keep(es), ok
}

// splice moves the cache's elements into a sorted list (list_splice_sorted).
func splice(set *Set, es []Element) []Element {
	if len(set.init) > 0 && !set.broken {
		es = append(set.init[:len(set.init):len(set.init)], es...)
		sortElements(es)
		set.init = nil
	}
	set.hasInit = true
	return es
}

// keep splits a list: what came from the cache goes back to it, and what is new
// stays and is copied to the cache.
func (s *Set) keep(es []Element) []Element {
	out := es[:0:0]
	for i := range es {
		e := es[i]
		if e.kernel {
			s.init = append(s.init, e)
			continue
		}
		out = append(out, e)
		e.kernel = true
		s.init = append(s.init, e)
	}
	return out
}

// checkOverlap reports intervals that overlap without being equal; the list is
// sorted (setelem_overlap).
func (r *resolver) checkOverlap(es []Element) bool {
	var prev *Element
	for i := range es {
		e := &es[i]
		if e.Catchall {
			continue
		}
		if prev != nil && bytes.Compare(e.From, prev.high()) <= 0 &&
			!(bytes.Equal(e.From, prev.From) && bytes.Equal(e.high(), prev.high())) {
			switch {
			case prev.kernel:
				r.overlaps(e, prev)
			case e.kernel:
				r.overlaps(prev, e)
			default:
				r.diags.Add(diag.Diagnostic{Code: "overlapping-elements", Span: e.Span,
					Message: "conflicting intervals specified",
					Notes:   []diag.Note{{Span: prev.Span, Message: "the other interval"}}})
			}
			return false
		}
		prev = e
	}
	return true
}

func (r *resolver) overlaps(e, other *Element) {
	r.diags.Add(diag.Diagnostic{Code: "overlapping-elements", Span: e.Span,
		Message: "interval overlaps with an existing one",
		Notes:   []diag.Note{{Span: other.Span, Message: "the existing interval"}}})
}

// autoMerge joins overlapping and neighbouring ranges. Elements of the cache
// that change are deleted by a step of their own (setelem_automerge).
func (r *resolver) autoMerge(w where, set *Set, es []Element, existing bool) []Element {
	sortElements(es)
	if existing {
		es = splice(set, es)
	}
	merged, purge := mergeRanges(es, set.AutoMerge)
	if set.Flags&bytecode.SetAnonymous != 0 {
		set.Covered = append(set.Covered, coveredRanges(es)...)
	}
	if !existing {
		return merged
	}
	out := set.keep(merged)
	if len(purge) > 0 {
		r.step(w, Step{Kind: bytecode.OpDelElements, Set: set, Elements: purge, Internal: true})
	}
	return out
}

// coveredRanges finds the elements of a sorted list that lie inside of another
// one. Of equal ones the first stays.
func coveredRanges(es []Element) (out []Covered) {
	var top *Element // the one that reaches highest
	for i := range es {
		e := &es[i]
		switch {
		case e.Catchall:
		case top == nil || bytes.Compare(top.high(), e.high()) < 0:
			if top != nil && bytes.Equal(top.From, e.From) {
				out = append(out, Covered{Span: top.Span, By: e.Span})
			}
			top = e
		default:
			out = append(out, Covered{Span: e.Span, By: top.Span})
		}
	}
	return out
}

func mergeRanges(es []Element, neighbours bool) (merged, purge []Element) {
	merged = es[:0:0]
	last := -1 // index of prev in merged
	for i := range es {
		e := es[i]
		if e.Catchall {
			merged = append(merged, e)
			continue
		}
		if last < 0 {
			last = len(merged)
			merged = append(merged, e)
			continue
		}
		p := &merged[last]
		switch {
		case bytes.Compare(p.high(), e.high()) >= 0:
			// inside the one before
			if e.kernel {
				e.Span = p.Span
				purge = append(purge, e)
			}
		case bytes.Compare(e.From, p.high()) <= 0, neighbours && adjacent(p.high(), e.From):
			switch {
			case p.kernel:
				old := *p
				old.Span = e.Span
				purge = append(purge, old)
				from := p.From
				*p = e
				p.From, p.To = from, e.high()
			default:
				if e.kernel {
					old := e
					old.Span = p.Span
					purge = append(purge, old)
				}
				p.To = e.high()
			}
		default:
			last = len(merged)
			merged = append(merged, e)
		}
	}
	return merged, purge
}

// deleteIntervals prepares a delete from an interval set: every element must
// be in the cache; with auto-merge a range may be cut out of a larger one.
// gone are the intervals to delete from the kernel, add those to add in their
// place (set_delete).
func (r *resolver) deleteIntervals(set *Set, es []Element) (gone, add []Element, ok bool) {
	if set.AutoMerge {
		sortElements(es)
		es, _ = mergeRanges(es, true)
	}
	var purge []Element
	for i := range es {
		rm := es[i]
		rm.remove = true
		list := append(set.init[:len(set.init):len(set.init)], rm)
		sortElements(list)
		var good bool
		list, purge, good = r.deleteOne(set, list, purge)
		set.init = list
		if !good {
			return nil, nil, false
		}
	}
	for i := range set.init {
		e := &set.init[i]
		if !e.kernel {
			add = append(add, *e)
			e.kernel = true
		}
	}
	return purge, add, true
}

// deleteOne takes the element marked remove out of the sorted list.
func (r *resolver) deleteOne(set *Set, list, purge []Element) (rest, gone []Element, ok bool) {
	at := -1
	prev := -1
	for i := range list {
		if list[i].remove {
			at = i
			break
		}
		prev = i
	}
	rm := list[at]
	rest = append(list[:at:at], list[at+1:]...)
	missing := func() ([]Element, []Element, bool) {
		r.diags.Errorf("unknown-element", rm.Span, "element does not exist")
		return rest, purge, false
	}
	if rm.Catchall {
		for i := range rest {
			if rest[i].Catchall {
				purge = append(purge, rm)
				return append(rest[:i:i], rest[i+1:]...), purge, true
			}
		}
		return missing()
	}
	if prev < 0 {
		return missing()
	}
	p := &rest[prev]
	lo, hi := bytes.Compare(p.From, rm.From), bytes.Compare(p.high(), rm.high())
	was := *p
	was.Span = rm.Span
	switch {
	case lo == 0 && hi == 0:
		if !p.kernel {
			// What was declared in the same file stays.
			return rest, purge, true
		}
		return append(rest[:prev:prev], rest[prev+1:]...), append(purge, was), true
	case !set.AutoMerge:
		return missing()
	case lo <= 0 && hi >= 0:
		// What is left of the interval comes first in the list, the upper part
		// of one that is split last (split_range).
		if p.kernel {
			purge = append(purge, was)
		}
		left := *p
		left.kernel, left.Span = false, rm.Span
		rest = append(rest[:prev:prev], rest[prev+1:]...)
		if lo == 0 {
			left.From, left.To = plusOne(rm.high()), left.high()
			return append([]Element{left}, rest...), purge, true
		}
		upper := left
		left.To = minusOne(rm.From)
		rest = append([]Element{left}, rest...)
		if hi > 0 {
			upper.From, upper.To = plusOne(rm.high()), upper.high()
			rest = append(rest, upper)
		}
		return rest, purge, true
	}
	return missing()
}
