package set

import (
	"fmt"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/masks"
	"github.com/nftc/nftc/compile/pipapo"
)

// Ref names an element of a Table.
type Ref int32

// None is no element.
const None Ref = -1

// Options tell Build about the surroundings.
type Options struct {
	// Backend forces a back end; Auto lets Build choose.
	Backend Backend
	// Now is the clock in nanoseconds from any origin. Without it time stands still
	// at 0. It is asked only by sets whose elements can expire.
	Now func() int64
	// Capacity is the number of elements that a hash table has room for from the
	// start; it grows beyond it when needed.
	Capacity int
}

// Table is a set as evaluation uses it.
//
// Lookups may go on at the same time from several readers (see NewReader) as long
// as nothing changes the table; the methods of Table itself count as one reader.
type Table struct {
	set     *bytecode.Set
	klen    int
	backend Backend
	now     func() int64

	static   []bytecode.Element // those of the set
	dynamic  []bytecode.Element // those added later, by Ref - len(static)
	catchall Ref
	// expires holds each element's end of life by Ref, 0 for never; nil if the set has
	// no timeouts.
	expires []int64
	free    []Ref // dynamic elements that are gone
	// count is the number of elements without catch-all and interval ends: what the
	// kernel's nelems counts in a set that packets change.
	count int

	short  *wordHash  // Hash with klen <= 8
	long   *bytesHash // Hash with longer keys
	points *intervals
	bits   *bitmap
	ranges *ranges
	tuples *masks.Table
	parts  *segments
	linear *linear

	ahead  Ahead
	reader Reader
}

// Reader looks keys up with scratch areas of its own.
type Reader struct {
	t      *Table
	ranges *pipapo.Reader
}

// Build makes the table of a set. The set's elements must not change afterwards.
//
// It fails when an element's key has the wrong length, when the back end asked
// for cannot hold the set, or when elements clash in it. Loader tells what the
// kernel refuses.
func Build(s *bytecode.Set, opts Options) (*Table, error) {
	backend := opts.Backend
	if backend == Auto {
		backend, _ = choose(s)
	} else if ok, why := backend.Suits(s); !ok {
		return nil, fmt.Errorf("set %s: back end %v %s", s.Name, backend, why)
	}
	t := &Table{set: s, klen: s.KeyLen(), backend: backend, now: opts.Now, static: s.Elements, catchall: None}
	if t.now == nil {
		t.now = func() int64 { return 0 }
	}
	if err := t.checkElements(); err != nil {
		return nil, err
	}
	if s.Flags&bytecode.SetTimeout != 0 {
		t.startTimeouts()
	}
	var err error
	switch backend {
	case Hash:
		err = t.buildHash(opts.Capacity)
	case Intervals:
		t.points, err = newIntervals(t)
	case Bitmap:
		t.bits, err = newBitmap(t)
	case Pipapo:
		t.ranges, err = newRanges(t)
	case Masks:
		t.tuples, err = newTuples(t)
	case Segments:
		t.parts, err = newSegments(t)
	case Linear:
		t.linear, err = newLinear(t)
	default:
		err = fmt.Errorf("no such back end: %v", backend)
	}
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", s.Name, err)
	}
	t.reader = *t.NewReader()
	t.ahead = DefaultAhead(t.Bytes(), t.count)
	return t, nil
}

// checkElements validates key lengths and finds the catch-all.
func (t *Table) checkElements() error {
	for i := range t.static {
		e := &t.static[i]
		switch {
		case e.Flags&bytecode.ElemCatchall != 0:
			t.catchall = Ref(i)
		case len(e.Key) != t.klen:
			return fmt.Errorf("set %s: element %d has a key of %d bytes, want %d", t.set.Name, i, len(e.Key), t.klen)
		case e.KeyEnd != nil && len(e.KeyEnd) != t.klen:
			return fmt.Errorf("set %s: element %d has an upper key of %d bytes, want %d", t.set.Name, i, len(e.KeyEnd), t.klen)
		case e.Flags&bytecode.ElemIntervalEnd == 0:
			t.count++
		}
	}
	return nil
}

// startTimeouts gives each element its end of life, counted from now.
//
// nft_add_set_elem: an element without a timeout of its own gets the set's;
// expiration, if stated, replaces it for this first life.
func (t *Table) startTimeouts() {
	now := t.now()
	t.expires = make([]int64, len(t.static))
	for i := range t.static {
		e := &t.static[i]
		if e.Flags&bytecode.ElemIntervalEnd != 0 {
			continue
		}
		life := t.set.Timeout
		if a := e.Attrs; a != nil {
			if a.TimeoutSet || a.Timeout != 0 {
				life = a.Timeout
			}
			if a.Expires != 0 {
				life = a.Expires
			}
		}
		if life > 0 {
			t.expires[i] = now + int64(life)
		}
	}
}

// Set is the set that the table was built from.
func (t *Table) Set() *bytecode.Set { return t.set }

// Backend is the back end in use.
func (t *Table) Backend() Backend { return t.backend }

// KeyLen is the length of a key in bytes.
func (t *Table) KeyLen() int { return t.klen }

// Element gives an element; nil for a Ref that names none. It stays valid until
// packets change the set.
func (t *Table) Element(r Ref) *bytecode.Element {
	switch {
	case r < 0:
		return nil
	case int(r) < len(t.static):
		return &t.static[r]
	case int(r)-len(t.static) < len(t.dynamic):
		return &t.dynamic[int(r)-len(t.static)]
	default:
		return nil
	}
}

// Expires gives the time at which an element ends, 0 for never.
func (t *Table) Expires(r Ref) int64 {
	if r < 0 || int(r) >= len(t.expires) {
		return 0
	}
	return t.expires[r]
}

// Len is the number of elements, without catch-all and interval ends; expired ones
// count until their place is used again.
func (t *Table) Len() int { return t.count }

// NewReader returns a reader that may look up beside others.
func (t *Table) NewReader() *Reader {
	r := &Reader{t: t}
	if t.ranges != nil {
		r.ranges = t.ranges.table.NewReader()
	}
	return r
}

// Lookup finds the element for a key: one that holds it and has not expired, else
// the catch-all element (nft_lookup_eval, nft_set_catchall_lookup). Bytes behind
// the key's length are ignored. It does not allocate.
func (t *Table) Lookup(key []byte) (Ref, bool) { return t.reader.Lookup(key) }

// LookupBatch looks up the keys that lie one behind the other in keys and sets
// out[i] to the element of key i, or None.
func (t *Table) LookupBatch(keys []byte, out []Ref) { t.reader.LookupBatch(keys, out) }

// Lookup is Table.Lookup.
func (r *Reader) Lookup(key []byte) (Ref, bool) {
	t := r.t
	if len(key) < t.klen {
		return None, false
	}
	key = key[:t.klen]
	var ref Ref
	switch t.backend {
	case Hash:
		if t.short != nil {
			ref = t.short.lookup(wordOf(key))
		} else {
			ref = t.long.lookup(key)
		}
	case Intervals:
		ref = t.points.lookup(key)
	case Bitmap:
		ref = t.bits.lookup(key)
	case Pipapo:
		// Expired elements must not hide others: the table itself skips them.
		ref = t.ranges.lookup(r.ranges, key, t)
	case Segments:
		ref = t.parts.lookup(key, t)
	case Masks:
		ref = None
		if n, ok := t.tuples.Lookup(key); ok {
			ref = Ref(n)
		}
	default:
		ref = t.linear.lookup(key, t)
	}
	if ref >= 0 && (t.expires == nil || t.alive(ref)) {
		return ref, true
	}
	if c := t.catchall; c >= 0 && t.alive(c) {
		return c, true
	}
	return None, false
}

// LookupBatch is Table.LookupBatch.
func (r *Reader) LookupBatch(keys []byte, out []Ref) {
	t := r.t
	n := t.klen
	if t.expires == nil && t.catchall < 0 {
		switch {
		case t.short != nil:
			t.short.lookupAhead(keys, n, out, t.ahead)
			return
		case t.long != nil:
			t.long.lookupAhead(keys, out, t.ahead)
			return
		case t.tuples != nil:
			t.lookupMasks(keys, out)
			return
		}
	}
	for i := range out {
		out[i] = None
		if (i+1)*n <= len(keys) {
			out[i], _ = r.Lookup(keys[i*n : (i+1)*n])
		}
	}
}

// lookupMasks is LookupBatch through the masks' own batches.
func (t *Table) lookupMasks(keys []byte, out []Ref) {
	const block = 64
	var numbers [block]int64
	for len(out) > 0 {
		n := min(block, len(out))
		t.tuples.LookupBatch(keys, numbers[:n], masks.Ahead{Distance: t.ahead.Distance, Touch: t.ahead.Touch})
		for i, v := range numbers[:n] {
			out[i] = Ref(v)
		}
		keys, out = keys[min(len(keys), n*t.klen):], out[n:]
	}
}

// alive tells whether an element has not expired.
func (t *Table) alive(r Ref) bool {
	if t.expires == nil {
		return true
	}
	e := t.expires[r]
	return e == 0 || e > t.now()
}

// Update is what a packet does to a set by `add` and `update`: it finds the
// element of a key or makes one. A new one lives for timeout, or the set's timeout
// if that is 0; refresh tells whether a found one starts a new life (`update`).
// data is kept with a new element of a map.
//
// added tells that the element is new; ok is false when the set is full or packets
// cannot change it, and then the rule breaks (nft_dynset_eval, nft_dynset_new:
// element count below the set's size, expired ones included).
func (t *Table) Update(key []byte, timeout time.Duration, refresh bool, data *bytecode.ElementData) (ref Ref, added, ok bool) {
	if len(key) < t.klen || t.backend != Hash && t.backend != Linear || t.linear != nil && !t.linear.exact {
		return None, false, false
	}
	key = key[:t.klen]
	if timeout == 0 {
		timeout = t.set.Timeout
	}
	ends := int64(0)
	if t.expires != nil && timeout > 0 {
		ends = t.now() + int64(timeout)
	}
	old := t.exact(key)
	if old >= 0 && t.alive(old) {
		// nft_dynset_eval: an element whose own timeout is 0 stays for ever.
		if refresh && t.expires != nil && t.expires[old] != 0 {
			t.expires[old] = ends
		}
		return old, false, true
	}
	if t.set.Size != 0 && t.count >= int(t.set.Size) {
		t.Collect(nil)
		if t.count >= int(t.set.Size) {
			return None, false, false
		}
		old = t.exact(key)
	}
	if old >= 0 {
		t.drop(old)
	}
	ref = t.newElement(bytecode.Element{Key: append([]byte(nil), key...), Data: data}, ends)
	t.put(ref)
	return ref, true, true
}

// Find gives the living element of exactly this key in a set that packets can
// change: what Update would find. The catch-all does not count.
func (t *Table) Find(key []byte) (Ref, bool) {
	if len(key) < t.klen {
		return None, false
	}
	ref := t.exact(key[:t.klen])
	if ref < 0 || !t.alive(ref) {
		return None, false
	}
	return ref, true
}

// Delete is what a packet does by `delete`: the element of the key goes. It
// reports whether there was one.
func (t *Table) Delete(key []byte) (Ref, bool) {
	if len(key) < t.klen || t.backend != Hash && t.backend != Linear || t.linear != nil && !t.linear.exact {
		return None, false
	}
	ref := t.exact(key[:t.klen])
	if ref < 0 || !t.alive(ref) {
		return None, false
	}
	t.drop(ref)
	return ref, true
}

// Collect removes expired elements of a set that packets change and calls fn, if
// not nil, for each. The kernel does it in the set's gc interval; when a set is
// full, collecting first differs from it at most by that interval.
func (t *Table) Collect(fn func(Ref)) {
	if t.expires == nil || t.backend != Hash && t.backend != Linear {
		return
	}
	now := t.now()
	for r, e := range t.expires {
		if ref := Ref(r); e != 0 && e <= now && ref != t.catchall && t.Element(ref).Key != nil {
			if t.exact(t.Element(ref).Key) != ref {
				continue
			}
			t.drop(ref)
			if fn != nil {
				fn(ref)
			}
		}
	}
}

// Walk calls fn for each living element but the catch-all, in no special order,
// until it returns false.
func (t *Table) Walk(fn func(Ref) bool) {
	for r := range Ref(len(t.static) + len(t.dynamic)) {
		e := t.Element(r)
		if r == t.catchall || e.Key == nil || e.Flags&bytecode.ElemIntervalEnd != 0 || !t.alive(r) {
			continue
		}
		if t.short != nil || t.long != nil {
			if t.exact(e.Key) != r {
				continue // deleted
			}
		}
		if !fn(r) {
			return
		}
	}
}

func (t *Table) newElement(e bytecode.Element, ends int64) Ref {
	t.count++
	var ref Ref
	if n := len(t.free); n > 0 {
		ref = t.free[n-1]
		t.free = t.free[:n-1]
		t.dynamic[int(ref)-len(t.static)] = e
	} else {
		ref = Ref(len(t.static) + len(t.dynamic))
		t.dynamic = append(t.dynamic, e)
		if t.expires != nil {
			t.expires = append(t.expires, 0)
		}
	}
	if t.expires != nil {
		t.expires[ref] = ends
	}
	return ref
}

// exact finds the element of exactly this key, expired or not.
func (t *Table) exact(key []byte) Ref {
	switch {
	case t.short != nil:
		return t.short.lookup(wordOf(key))
	case t.long != nil:
		return t.long.lookup(key)
	case t.linear != nil:
		return t.linear.find(key, t)
	default:
		return None
	}
}

func (t *Table) put(ref Ref) {
	key := t.Element(ref).Key
	switch {
	case t.short != nil:
		t.short.put(wordOf(key), ref)
	case t.long != nil:
		t.long.put(key, ref)
	case t.linear != nil:
		t.linear.items = append(t.linear.items, linearItem{lo: key, hi: key, ref: ref})
	}
}

func (t *Table) drop(ref Ref) {
	key := t.Element(ref).Key
	switch {
	case t.short != nil:
		t.short.remove(wordOf(key))
	case t.long != nil:
		t.long.remove(key)
	case t.linear != nil:
		t.linear.remove(ref)
	}
	t.count--
	if t.expires != nil {
		t.expires[ref] = 0
	}
	if int(ref) >= len(t.static) {
		t.dynamic[int(ref)-len(t.static)] = bytecode.Element{}
		t.free = append(t.free, ref)
	}
}
