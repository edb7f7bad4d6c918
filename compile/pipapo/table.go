package pipapo

import (
	"bytes"
	"fmt"
)

// ID names an element of a table. IDs are small and are used again after removal.
type ID uint32

// Table is a set of concatenated ranges.
//
// Insertion and removal need exclusive use. Lookup uses a scratch area in the
// table, so it needs exclusive use, too; a Reader has its own and any number of
// them may look up at the same time.
type Table struct {
	fields    []field
	keyBytes  int
	bsizeMax  int // highest bucket size that ever was, in longs: the kernel's scratch
	maxStride int // length of bitmap that any field may need
	elems     []element
	free      []ID
	count     int
	// timed counts elements with an expiry; with none, lookups skip the check.
	timed  int
	reader Reader
}

// element is what the table keeps of an element. keys is nil for a free ID.
type element struct {
	keys    []byte // start key, then end key
	expires int64
}

// New returns an empty table for fields of the given lengths in bytes: 1 to 16
// fields of 1 to 16 bytes, 64 bytes together after padding each to 4
// (nft_pipapo_init, nft_set_desc_concat).
func New(fieldLens []int) (*Table, error) {
	if len(fieldLens) == 0 || len(fieldLens) > MaxFields {
		return nil, fmt.Errorf("pipapo: %d fields, want 1 to %d", len(fieldLens), MaxFields)
	}
	t := &Table{fields: make([]field, len(fieldLens))}
	for i, l := range fieldLens {
		if l < 1 || l > MaxFieldBytes {
			return nil, fmt.Errorf("pipapo: field %d has %d bytes, want 1 to %d", i, l, MaxFieldBytes)
		}
		t.fields[i] = field{length: l, offset: t.keyBytes, groupBits: GroupBitsSmallSet, groups: l, high: LookupSizeHigh}
		t.keyBytes += (l + 3) &^ 3
	}
	if t.keyBytes > MaxKeyBytes {
		return nil, fmt.Errorf("pipapo: key of %d bytes, want at most %d", t.keyBytes, MaxKeyBytes)
	}
	t.reader.t = t
	return t, nil
}

// NewNarrow is New for a table that keeps 4-bit groups whatever its size, as all
// were before groups of 8 bits came (Linux 5.6). It is there to be compared with.
func NewNarrow(fieldLens []int) (*Table, error) {
	t, err := New(fieldLens)
	if err != nil {
		return nil, err
	}
	for i := range t.fields {
		f := &t.fields[i]
		// With a threshold of 0 no table is small enough for wide groups.
		f.groups, f.groupBits, f.high = 2*f.length, GroupBitsLargeSet, 0
	}
	return t, nil
}

// KeyBytes is the key length in bytes, padding included.
func (t *Table) KeyBytes() int { return t.keyBytes }

// Len is the number of elements, expired ones included.
func (t *Table) Len() int { return t.count }

// Element gives an element's start and end keys; they must not be modified.
func (t *Table) Element(id ID) (start, end []byte, ok bool) {
	if int(id) >= len(t.elems) || t.elems[id].keys == nil {
		return nil, nil, false
	}
	k := t.elems[id].keys
	return k[:t.keyBytes], k[t.keyBytes:], true
}

// SetExpires makes an element expire at a time, in the unit that lookups use; 0
// is never. An expired element matches nothing but keeps its rules until Collect.
func (t *Table) SetExpires(id ID, at int64) {
	if int(id) >= len(t.elems) || t.elems[id].keys == nil {
		return
	}
	e := &t.elems[id]
	if e.expires != 0 {
		t.timed--
	}
	e.expires = at
	if at != 0 {
		t.timed++
	}
}

// Walk calls fn for each element, expired ones included, in order of insertion:
// that is the order of their rules (nft_pipapo_do_walk). It stops when fn returns
// false.
func (t *Table) Walk(fn func(id ID) bool) {
	last := &t.fields[len(t.fields)-1]
	for r := 0; r < last.rules; {
		id := ID(last.mt[r].to)
		if !fn(id) {
			return
		}
		r += last.sameEntry(r)
	}
}

// newElement stores the keys and gives them an ID.
func (t *Table) newElement(keys []byte) ID {
	t.count++
	if n := len(t.free); n > 0 {
		id := t.free[n-1]
		t.free = t.free[:n-1]
		t.elems[id] = element{keys: keys}
		return id
	}
	t.elems = append(t.elems, element{keys: keys})
	return ID(len(t.elems) - 1)
}

func (t *Table) dropElement(id ID) {
	if t.elems[id].expires != 0 {
		t.timed--
	}
	t.elems[id] = element{}
	t.free = append(t.free, id)
	t.count--
}

// checkKeys validates a pair of keys: length, and start not above end in any
// field (nft_pipapo_insert).
func (t *Table) checkKeys(start, end []byte) Errno {
	if len(start) != t.keyBytes || len(end) != t.keyBytes {
		return EINVAL
	}
	for i := range t.fields {
		f := &t.fields[i]
		if bytes.Compare(start[f.offset:f.offset+f.length], end[f.offset:f.offset+f.length]) > 0 {
			return EINVAL
		}
	}
	return 0
}

// Insert adds the element start..end. now is the time for which elements count as
// expired. end may be nil for a single key.
//
// nft_pipapo_insert: if the start key matches an element, that is a duplicate
// (EEXIST, when both keys are equal) or a partial overlap (ENOTEMPTY); if the end
// key matches one, a partial overlap. Other overlaps are not looked for: a new
// element may enclose an old one, and then the older answers first. The check
// precedes that of the keys' order.
func (t *Table) Insert(start, end []byte, now int64) (ID, error) {
	if end == nil {
		end = start
	}
	if len(start) != t.keyBytes || len(end) != t.keyBytes {
		return 0, &InsertError{Errno: EINVAL}
	}
	if id, ok := t.Lookup(start, now); ok {
		return 0, &InsertError{Errno: t.clash(id, start, end), With: id}
	}
	if id, ok := t.Lookup(end, now); ok {
		return 0, &InsertError{Errno: ENOTEMPTY, With: id}
	}
	if errno := t.checkKeys(start, end); errno != 0 {
		return 0, &InsertError{Errno: errno}
	}
	if errno := t.checkRoom(start, end); errno != 0 {
		return 0, &InsertError{Errno: errno}
	}

	keys := make([]byte, 2*t.keyBytes)
	copy(keys, start)
	copy(keys[t.keyBytes:], end)
	id := t.newElement(keys)

	var rules [MaxFields]mapping
	for i := range t.fields {
		f := &t.fields[i]
		rules[i].to = uint32(f.rules)
		expand(loadValue(start[f.offset:f.offset+f.length]), loadValue(end[f.offset:f.offset+f.length]), f.length*8, f.addRule)
		rules[i].n = uint32(f.rules) - rules[i].to
		t.bsizeMax = max(t.bsizeMax, f.bsize)
	}
	t.mapRules(&rules, id)
	t.settle()
	return id, nil
}

// settle prepares lookups after a change.
func (t *Table) settle() {
	t.maxStride = 0
	for i := range t.fields {
		t.maxStride = max(t.maxStride, t.fields[i].stride)
		t.fields[i].sortGroups()
	}
}

// clash tells a duplicate of an element from an overlap with it.
func (t *Table) clash(id ID, start, end []byte) Errno {
	k := t.elems[id].keys
	if bytes.Equal(k[:t.keyBytes], start) && bytes.Equal(k[t.keyBytes:], end) {
		return EEXIST
	}
	return ENOTEMPTY
}

// checkRoom tells beforehand whether a field would pass the kernel's limits, so
// that a refused element changes nothing.
func (t *Table) checkRoom(start, end []byte) Errno {
	for i := range t.fields {
		f := &t.fields[i]
		if f.rules >= MaxRules {
			return ENOSPC
		}
		// An expansion adds less than 256 rules: only near the limit is it counted.
		if lookupFits(f.groups, f.groupBits, bucketLongs(f.rules+256)) && f.rules+256 < MaxRules {
			continue
		}
		n := countRules(loadValue(start[f.offset:f.offset+f.length]), loadValue(end[f.offset:f.offset+f.length]), f.length*8)
		if errno := f.roomFor(n); errno != 0 {
			return errno
		}
	}
	return 0
}

// roomFor follows the widths through the addition of n rules.
func (f *field) roomFor(n int) Errno {
	groups, width := f.groups, f.groupBits
	for rules := f.rules + 1; rules <= f.rules+n; rules++ {
		if rules >= MaxRules {
			return ENOSPC
		}
		if !lookupFits(groups, width, bucketLongs(rules)) {
			return ENOMEM
		}
		if to, change := nextGroupBits(groups, width, bucketLongs(rules), f.high); change {
			groups, width = groups*width/to, to
		}
	}
	return 0
}

// mapRules fills the mapping tables of a new element: each of its rules maps to
// its run in the next field, those of the last one to the element (pipapo_map).
func (t *Table) mapRules(rules *[MaxFields]mapping, id ID) {
	for i := range t.fields {
		next := mapping{to: uint32(id)}
		if i+1 < len(t.fields) {
			next = rules[i+1]
		}
		mt := t.fields[i].mt
		for r := rules[i].to; r < rules[i].to+rules[i].n; r++ {
			mt[r] = next
		}
	}
}
