package pipapo

// InsertAll adds many elements at once; the result is the same as that of one
// Insert after the other, in a small part of the time. keys holds, for each
// element, its start key and its end key; the table keeps it. At the first
// element that Insert would refuse it stops with an *InsertError whose Index is
// its position; those before it are in the table. It returns the IDs of the
// inserted elements.
func (t *Table) InsertAll(keys []byte, now int64) ([]ID, error) {
	size := 2 * t.keyBytes
	n := len(keys) / size
	if n*size != len(keys) {
		return nil, &InsertError{Errno: EINVAL, Index: n}
	}
	pair := func(i int) (start, end []byte) {
		k := keys[i*size : (i+1)*size]
		return k[:t.keyBytes], k[t.keyBytes:]
	}

	// What stops the list is left to Insert.
	good := t.Acceptable(keys, now)
	ids := make([]ID, good)
	for i := range ids {
		ids[i] = t.newElement(keys[i*size : (i+1)*size : (i+1)*size])
	}
	if good > 0 {
		t.build(keys[:good*size], ids)
	}
	if good == n {
		return ids, nil
	}
	start, end := pair(good)
	id, err := t.Insert(start, end, now)
	if err != nil {
		err.(*InsertError).Index = good
		return ids, err
	}
	// Not reached: what stopped the list stops Insert as well.
	return append(ids, id), nil
}

// Acceptable is the number of elements that InsertAll would insert before it stops;
// the table does not change. keys is as for InsertAll.
func (t *Table) Acceptable(keys []byte, now int64) int {
	size := 2 * t.keyBytes
	good := len(keys) / size
	for i := range good {
		k := keys[i*size : (i+1)*size]
		if t.checkKeys(k[:t.keyBytes], k[t.keyBytes:]) != 0 {
			good = i
			break
		}
	}
	good = t.firstOverlap(keys[:good*size], now)
	return t.firstTooMany(keys[:good*size])
}

// firstOverlap is the position of the first pair of keys that clashes with an
// element or an earlier pair, or their number.
func (t *Table) firstOverlap(keys []byte, now int64) int {
	size := 2 * t.keyBytes
	n := len(keys) / size
	if n == 0 {
		return 0
	}
	// Elements of the table come first.
	var old [][]byte
	for i := range t.elems {
		if e := &t.elems[i]; e.keys != nil && (e.expires == 0 || e.expires > now) {
			old = append(old, e.keys)
		}
	}
	all := len(old) + n
	scratch := make([]ranked, 0, 2*all)
	var o overlaps
	for i := range t.fields {
		f := &t.fields[i]
		o.add(all, func(i int) (lo, hi value) {
			var k []byte
			if i < len(old) {
				k = old[i]
			} else {
				k = keys[(i-len(old))*size:]
			}
			return loadValue(k[f.offset : f.offset+f.length]), loadValue(k[t.keyBytes+f.offset : t.keyBytes+f.offset+f.length])
		}, scratch)
	}
	return o.firstRefused(len(old)) - len(old)
}

// firstTooMany is the position of the first pair of keys whose rules do not fit,
// or their number.
func (t *Table) firstTooMany(keys []byte) int {
	size := 2 * t.keyBytes
	good := len(keys) / size
	for i := range t.fields {
		f := &t.fields[i]
		if total := f.rules + t.totalRules(keys[:good*size], f); total < MaxRules && lookupFits(2*f.length, GroupBitsLargeSet, bucketLongs(total)) {
			continue // even with the narrow groups that it gets by then
		}
		trial := field{rules: f.rules, groups: f.groups, groupBits: f.groupBits, high: f.high}
		for at := range good {
			lo, hi := t.fieldRange(keys[at*size:], f)
			n := countRules(lo, hi, f.length*8)
			if trial.roomFor(n) != 0 {
				good = at
				break
			}
			trial.rules += n
			if to, change := nextGroupBits(trial.groups, trial.groupBits, bucketLongs(trial.rules), trial.high); change {
				trial.groups, trial.groupBits = trial.groups*trial.groupBits/to, to
			}
		}
	}
	return good
}

// totalRules is the number of rules of a field that the pairs of keys take.
func (t *Table) totalRules(keys []byte, f *field) int {
	size, n := 2*t.keyBytes, 0
	for ; len(keys) >= size; keys = keys[size:] {
		lo, hi := t.fieldRange(keys, f)
		n += countRules(lo, hi, f.length*8)
	}
	return n
}

// fieldRange gives a field's range out of a pair of keys.
func (t *Table) fieldRange(pair []byte, f *field) (lo, hi value) {
	end := pair[t.keyBytes:]
	return loadValue(pair[f.offset : f.offset+f.length]), loadValue(end[f.offset : f.offset+f.length])
}

// build adds elements that are known to be good: each field's tables get their
// final width and size first, then the rules.
func (t *Table) build(keys []byte, ids []ID) {
	size := 2 * t.keyBytes
	runs := make([][]mapping, len(t.fields))
	for i := range t.fields {
		f := &t.fields[i]
		runs[i] = make([]mapping, len(ids))
		total := f.rules
		for at := range ids {
			lo, hi := t.fieldRange(keys[at*size:], f)
			n := countRules(lo, hi, f.length*8)
			runs[i][at] = mapping{to: uint32(total), n: uint32(n)}
			total += n
		}
		f.reserve(total)
		t.bsizeMax = max(t.bsizeMax, f.bsize)
		for at := range ids {
			lo, hi := t.fieldRange(keys[at*size:], f)
			expand(lo, hi, f.length*8, func(base value, prefixLen int) {
				f.setRule(f.rules, base, prefixLen)
				f.rules++
			})
		}
	}
	t.settle()
	for i := range t.fields {
		mt := t.fields[i].mt
		for at, id := range ids {
			next := mapping{to: uint32(id)}
			if i+1 < len(t.fields) {
				next = runs[i+1][at]
			}
			run := runs[i][at]
			for r := run.to; r < run.to+run.n; r++ {
				mt[r] = next
			}
		}
	}
}

// reserve brings the tables to the width and size that they have after growing to
// total rules one by one. While rules are only added a table can leave 8-bit groups
// but never return to them.
func (f *field) reserve(total int) {
	f.bsize = bucketLongs(total)
	if width, change := nextGroupBits(f.groups, f.groupBits, f.bsize, f.high); change && width == GroupBitsLargeSet {
		bsize := f.bsize
		f.bsize = bucketLongs(f.rules)
		f.split()
		f.bsize = bsize
	}
	if f.bsize > f.stride {
		f.setStride(f.bsize)
	}
	for r := f.rules + 1; r <= total; r++ {
		f.rulesAlloc = nextRulesAlloc(f.rulesAlloc, r-1, r)
	}
	f.mt = append(f.mt, make([]mapping, total-f.rules)...)
	f.touched = true
}
