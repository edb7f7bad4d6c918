package set

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
)

// Errno is a Linux error number.
type Errno = pipapo.Errno

// LoadError is the kernel's refusal of an element or a set.
type LoadError struct {
	// Errno is what userspace gets to see.
	Errno Errno
	// Cause tells partial overlaps (ENOTEMPTY) from duplicates (EEXIST): both reach
	// userspace as EEXIST.
	Cause Errno
	// Index is the element's position in the message, With the element it clashes
	// with, if any.
	Index int
	With  *bytecode.Element
}

// Error describes the refusal.
func (e *LoadError) Error() string {
	switch e.Cause {
	case pipapo.EEXIST:
		return "element exists already (EEXIST)"
	case pipapo.ENOTEMPTY:
		return "element overlaps with another one (EEXIST)"
	case pipapo.ENOENT:
		return "no such element (ENOENT)"
	case pipapo.ENFILE:
		return "more elements than the set's size allows (ENFILE)"
	case pipapo.EOPNOTSUPP:
		return "no set back end of the kernel has all that the set asks for (EOPNOTSUPP)"
	case pipapo.EINVAL:
		return "element is not valid for this set (EINVAL)"
	default:
		return fmt.Sprintf("refused by the kernel (%v)", e.Errno)
	}
}

// Loader gives the kernel's answers to the element messages for one set within
// one transaction: the checks of nft_add_set_elem and nft_del_setelem and those of
// the back end the kernel would use.
type Loader struct {
	set      *bytecode.Set
	backend  KernelBackend
	klen     int
	max      uint32 // elements, 0 for no limit
	active   int    // elements, interval ends included, catch-all not
	catchall *bytecode.Element

	elems []*bytecode.Element // by Ref in the hashes, node in the tree
	short *wordHash
	long  *bytesHash
	tree  *rbtree
	// sorted is the only message so far, of ascending points: not yet in the tree.
	sorted []bytecode.Element
	// ranges holds pipapo's elements; pairs finds one by both keys, byID by its ID.
	ranges *pipapo.Table
	pairs  *bytesHash
	byID   []*bytecode.Element
	// waiting is the only message so far, known to be good but not in ranges yet, and
	// waitingKeys its keys.
	waiting     []*bytecode.Element
	waitingKeys []byte
}

// NewLoader prepares an empty set; the set's own element list is not read. It
// answers EOPNOTSUPP when no back end of the kernel fits.
func NewLoader(s *bytecode.Set) (*Loader, error) {
	l := &Loader{set: s, klen: s.KeyLen(), max: s.Size}
	l.backend, _ = kernelSetOf(s, true).choose()
	switch l.backend {
	case KernelNone:
		return nil, &LoadError{Errno: pipapo.EOPNOTSUPP, Cause: pipapo.EOPNOTSUPP}
	case KernelRBTree:
		l.max *= 2 // nft_rbtree_ksize
		l.tree = newRBTree(s.Flags&bytecode.SetAnonymous != 0)
	case KernelPipapo, KernelPipapoAVX2:
		table, err := pipapo.New(fieldLens(s))
		if err != nil {
			return nil, &LoadError{Errno: pipapo.EINVAL, Cause: pipapo.EINVAL}
		}
		l.ranges, l.pairs = table, newBytesHash(0, 2*l.klen)
	default:
		if l.klen <= 8 {
			l.short = newWordHash(0)
		} else {
			l.long = newBytesHash(0, l.klen)
		}
	}
	return l, nil
}

// Backend is the kernel's back end for the set.
func (l *Loader) Backend() KernelBackend { return l.backend }

// Len is the number of elements in the set as the kernel counts: interval ends
// included, the catch-all not.
func (l *Loader) Len() int { return l.active }

// Add takes the elements of one message. create refuses those that exist already
// (NLM_F_EXCL, nft's `create element`); without it an element that is there with
// the same data is fine. It stops at the first refusal with a *LoadError.
//
// The elements must stay as they are while the Loader is in use.
func (l *Loader) Add(elems []bytecode.Element, create bool) error {
	if l.ranges != nil {
		return l.addRanges(elems, create)
	}
	if l.tree != nil && l.active == 0 && len(l.tree.nodes) == 1 && l.ascending(elems) {
		l.sorted, l.active = elems, len(elems)
		return nil
	}
	l.plant()
	for i := range elems {
		if err := l.add(&elems[i], create); err != nil {
			err.Index = i
			return err
		}
	}
	return nil
}

// ascending tells whether a message for an empty interval set holds points in
// ascending order that cannot clash: starts and ends by turns, but for an end at
// key 0 in front and, in anonymous sets, starts that end the interval before.
func (l *Loader) ascending(elems []bytecode.Element) bool {
	if l.max != 0 && len(elems) > int(l.max) {
		return false
	}
	anonymous := l.set.Flags&bytecode.SetAnonymous != 0
	open := false
	for i := range elems {
		e := &elems[i]
		if e.Flags&bytecode.ElemCatchall != 0 || l.valid(e) != nil {
			return false
		}
		end := e.Flags != 0
		if i > 0 {
			prev := &elems[i-1]
			c := bytes.Compare(prev.Key, e.Key)
			if c > 0 || c == 0 && (end || prev.Flags == 0) {
				return false
			}
		}
		switch {
		case end && !open && (i > 0 || !isZero(e.Key)):
			return false
		case !end && open && !anonymous:
			return false
		}
		open = !end
	}
	return true
}

// plant puts the points that ascending found good into the tree, for a message
// that comes after.
func (l *Loader) plant() {
	for i := range l.sorted {
		e := &l.sorted[i]
		l.tree.insert(e.Key, e.Flags != 0, int32(len(l.elems)))
		l.elems = append(l.elems, e)
	}
	l.sorted = nil
}

// add is nft_add_set_elem for one element that is no concatenated range.
func (l *Loader) add(e *bytecode.Element, create bool) *LoadError {
	if err := l.valid(e); err != nil {
		return err
	}
	if e.Flags&bytecode.ElemCatchall != 0 {
		return l.addCatchall(e, create)
	}
	full := l.full()
	var with *bytecode.Element
	cause := Errno(0)
	if l.tree != nil {
		var node int32
		cause, node = l.tree.insert(e.Key, e.Flags&bytecode.ElemIntervalEnd != 0, int32(len(l.elems)))
		if node >= 0 && cause != 0 {
			with = l.elems[node]
		}
	} else if ref := l.find(e.Key); ref >= 0 {
		cause, with = pipapo.EEXIST, l.elems[ref]
	} else {
		l.put(e.Key, Ref(len(l.elems)))
	}
	switch cause {
	case 0:
		l.elems = append(l.elems, e)
		l.active++
		if full {
			return &LoadError{Errno: pipapo.ENFILE, Cause: pipapo.ENFILE}
		}
		return nil
	case ecanceled:
		return nil // the end at key 0 was there already
	}
	return l.clash(cause, e, with, create)
}

// clash decides what a duplicate or an overlap means: with the same data, and
// without create, a duplicate is no error.
func (l *Loader) clash(cause Errno, e, with *bytecode.Element, create bool) *LoadError {
	if cause == pipapo.EEXIST && !create && l.sameData(e, with) {
		return nil
	}
	errno := cause
	if cause == pipapo.ENOTEMPTY {
		errno = pipapo.EEXIST
	}
	return &LoadError{Errno: errno, Cause: cause, With: with}
}

func (l *Loader) addCatchall(e *bytecode.Element, create bool) *LoadError {
	if l.catchall != nil {
		return l.clash(pipapo.EEXIST, e, l.catchall, create)
	}
	l.catchall = e
	return nil
}

// full tells whether one more element exceeds the size (nft_set_maxsize). In
// rbtree the never matching end at key 0 does not count; whether the lowest key is
// that one the kernel tells by its having no byte of value 1
// (nft_rbtree_adjust_maxsize).
func (l *Loader) full() bool {
	if l.max == 0 {
		return false
	}
	limit := uint64(l.max)
	if l.tree != nil {
		if n := l.tree.lowest(); n != nil && n.end && bytes.IndexByte(n.key, 1) < 0 {
			limit++
		}
	}
	return uint64(l.active)+1 > limit
}

// valid checks what the message must hold (nft_add_set_elem,
// nft_setelem_valid_key_end).
func (l *Loader) valid(e *bytecode.Element) *LoadError {
	bad := &LoadError{Errno: pipapo.EINVAL, Cause: pipapo.EINVAL}
	end := e.Flags&bytecode.ElemIntervalEnd != 0
	catchall := e.Flags&bytecode.ElemCatchall != 0
	switch {
	case catchall != (e.Key == nil):
		return bad
	case !catchall && len(e.Key) != l.klen:
		return bad
	case l.ranges != nil && (end || catchall && e.KeyEnd != nil):
		return bad
	case l.ranges == nil && e.KeyEnd != nil:
		return bad
	case e.KeyEnd != nil && len(e.KeyEnd) != l.klen:
		return bad
	case end && l.set.Flags&bytecode.SetInterval == 0:
		return bad // nft_setelem_parse_flags
	}
	return nil
}

// sameData compares the right sides of a map's elements.
func (l *Loader) sameData(a, b *bytecode.Element) bool {
	if a.Data == nil || b.Data == nil {
		return a.Data == b.Data
	}
	switch l.set.DataKind {
	case bytecode.DataVerdict:
		return a.Data.Verdict.Code == b.Data.Verdict.Code && a.Data.Verdict.Chain == b.Data.Verdict.Chain
	case bytecode.DataObject:
		return a.Data.Object == b.Data.Object
	default:
		return bytes.Equal(a.Data.Value, b.Data.Value)
	}
}

func (l *Loader) find(key []byte) Ref {
	if l.short != nil {
		return l.short.lookup(wordOf(key))
	}
	return l.long.lookup(key)
}

func (l *Loader) put(key []byte, ref Ref) {
	if l.short != nil {
		l.short.put(wordOf(key), ref)
	} else {
		l.long.put(key, ref)
	}
}

// addRanges inserts concatenated ranges. Elements between exact duplicates go in
// together.
func (l *Loader) addRanges(elems []bytecode.Element, create bool) error {
	keys := make([]byte, 0, 2*l.klen*len(elems))
	at := make([]int, 0, len(elems)) // positions of those in keys
	if l.pairs.used == 0 {
		l.pairs = newBytesHash(len(elems), 2*l.klen)
		l.elems = slices.Grow(l.elems, len(elems))
	}
	// insert adds what is collected.
	insert := func() *LoadError {
		if len(at) == 0 {
			return nil
		}
		if l.ranges.Len() == 0 && l.waiting == nil && l.ranges.Acceptable(keys, 0) == len(at) {
			for _, i := range at {
				l.waiting = append(l.waiting, &elems[i])
			}
			l.active += len(at)
			l.waitingKeys, keys, at = keys, nil, nil
			return nil
		}
		l.plantRanges()
		ids, err := l.ranges.InsertAll(keys, 0)
		for k, id := range ids {
			l.setByID(id, &elems[at[k]])
		}
		// What was not inserted is no duplicate of what comes later.
		for k := len(ids); k < len(at); k++ {
			l.pairs.remove(keys[2*l.klen*k : 2*l.klen*(k+1)])
		}
		l.active += len(ids)
		done := at
		keys, at = nil, nil
		if err == nil {
			return nil
		}
		e := err.(*pipapo.InsertError)
		refused := &LoadError{Errno: e.Errno, Cause: e.Errno, Index: done[e.Index]}
		if e.Errno == pipapo.ENOTEMPTY || e.Errno == pipapo.EEXIST {
			refused.Errno = pipapo.EEXIST
			refused.With = l.byID[e.With]
		}
		return refused
	}
	for i := range elems {
		e := &elems[i]
		if err := l.valid(e); err != nil {
			if err := insert(); err != nil {
				return err
			}
			err.Index = i
			return err
		}
		if e.Flags&bytecode.ElemCatchall != 0 {
			if err := l.addCatchall(e, create); err != nil {
				if err := insert(); err != nil {
					return err
				}
				err.Index = i
				return err
			}
			continue
		}
		end := e.KeyEnd
		if end == nil {
			end = e.Key
		}
		keys = append(append(keys, e.Key...), end...)
		pair := keys[len(keys)-2*l.klen:]
		if old := l.pairs.lookup(pair); old >= 0 {
			keys = keys[:len(keys)-len(pair)]
			if err := l.clash(pipapo.EEXIST, e, l.elems[old], create); err != nil {
				if err := insert(); err != nil {
					return err
				}
				err.Index = i
				return err
			}
			continue
		}
		l.pairs.put(pair, Ref(len(l.elems)))
		l.elems = append(l.elems, e)
		at = append(at, i)
		if l.max != 0 && l.active+len(at) > int(l.max) {
			if err := insert(); err != nil {
				return err
			}
			return &LoadError{Errno: pipapo.ENFILE, Cause: pipapo.ENFILE, Index: i}
		}
	}
	if err := insert(); err != nil {
		return err
	}
	return nil
}

func (l *Loader) setByID(id pipapo.ID, e *bytecode.Element) {
	for int(id) >= len(l.byID) {
		l.byID = append(l.byID, nil)
	}
	l.byID[id] = e
}

// plantRanges inserts the elements that are waiting.
func (l *Loader) plantRanges() {
	if l.waiting == nil {
		return
	}
	ids, _ := l.ranges.InsertAll(l.waitingKeys, 0)
	for i, id := range ids {
		l.setByID(id, l.waiting[i])
	}
	l.waiting, l.waitingKeys = nil, nil
}

// Delete takes the elements of a delete message. destroy makes absent ones no
// error. It stops at the first refusal.
func (l *Loader) Delete(elems []bytecode.Element, destroy bool) error {
	l.plant()
	l.plantRanges()
	for i := range elems {
		if err := l.delete(&elems[i]); err != nil {
			if destroy && err.Errno == pipapo.ENOENT {
				continue
			}
			err.Index = i
			return err
		}
	}
	return nil
}

// delete is nft_del_setelem: in a hash the key decides, in rbtree the start and end
// points one by one, in pipapo any key inside the element.
func (l *Loader) delete(e *bytecode.Element) *LoadError {
	if err := l.valid(e); err != nil {
		return err
	}
	absent := &LoadError{Errno: pipapo.ENOENT, Cause: pipapo.ENOENT}
	switch {
	case e.Flags&bytecode.ElemCatchall != 0:
		if l.catchall == nil {
			return absent
		}
		l.catchall = nil
		return nil
	case l.tree != nil:
		if !l.tree.deactivate(e.Key, e.Flags&bytecode.ElemIntervalEnd != 0) {
			return absent
		}
	case l.ranges != nil:
		id, ok := l.ranges.Delete(e.Key, 0)
		if !ok {
			return absent
		}
		old := l.byID[id]
		end := old.KeyEnd
		if end == nil {
			end = old.Key
		}
		l.pairs.remove(append(append(make([]byte, 0, 2*l.klen), old.Key...), end...))
	default:
		if l.find(e.Key) < 0 {
			return absent
		}
		if l.short != nil {
			l.short.remove(wordOf(e.Key))
		} else {
			l.long.remove(e.Key)
		}
	}
	l.active--
	return nil
}

// Matching gives the element that a delete message for e would remove, or nil. For
// interval sets without concatenation it is the start or end point itself.
func (l *Loader) Matching(e *bytecode.Element) *bytecode.Element {
	l.plant()
	l.plantRanges()
	switch {
	case e.Flags&bytecode.ElemCatchall != 0:
		return l.catchall
	case len(e.Key) != l.klen:
		return nil
	case l.tree != nil:
		if n := l.tree.find(e.Key, e.Flags&bytecode.ElemIntervalEnd != 0); n != 0 {
			return l.elems[l.tree.nodes[n].ref]
		}
	case l.ranges != nil:
		if id, ok := l.ranges.Lookup(e.Key, 0); ok {
			return l.byID[id]
		}
	default:
		if ref := l.find(e.Key); ref >= 0 {
			return l.elems[ref]
		}
	}
	return nil
}

// Flush deletes all elements, the catch-all included.
func (l *Loader) Flush() {
	l.plant()
	l.catchall = nil
	l.active = 0
	switch {
	case l.tree != nil:
		l.tree.flush()
	case l.ranges != nil:
		l.waiting, l.waitingKeys = nil, nil
		table, err := pipapo.New(fieldLens(l.set))
		if err == nil {
			l.ranges, l.pairs, l.byID = table, newBytesHash(0, 2*l.klen), nil
		}
	case l.short != nil:
		l.short = newWordHash(0)
	default:
		l.long = newBytesHash(0, l.klen)
	}
}
