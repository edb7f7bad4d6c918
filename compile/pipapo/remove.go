package pipapo

// runs gives the element whose rules start at rule first of the first field, and
// its run of rules in every field.
func (t *Table) runs(first int, rules *[MaxFields]mapping) ID {
	start, n := first, t.fields[0].sameEntry(first)
	for i := range t.fields {
		rules[i] = mapping{to: uint32(start), n: uint32(n)}
		m := t.fields[i].mt[start]
		start, n = int(m.to), int(m.n)
	}
	return ID(start)
}

// Remove drops an element by its ID; false if there is none such
// (nft_pipapo_remove).
func (t *Table) Remove(id ID) bool {
	if _, _, ok := t.Element(id); !ok {
		return false
	}
	var rules [MaxFields]mapping
	for first := 0; first < t.fields[0].rules; first += int(rules[0].n) {
		if t.runs(first, &rules) == id {
			t.drop(&rules)
			t.dropElement(id)
			return true
		}
	}
	return false
}

// Delete drops the element that the key matches and returns its ID. As in the
// kernel any key inside the element will do (nft_pipapo_deactivate).
func (t *Table) Delete(key []byte, now int64) (ID, bool) {
	id, ok := t.Lookup(key, now)
	if !ok {
		return 0, false
	}
	return id, t.Remove(id)
}

// drop removes runs of rules from all tables (pipapo_drop).
func (t *Table) drop(rules *[MaxFields]mapping) {
	for i := range t.fields {
		toOffset := 0
		if i+1 < len(t.fields) {
			toOffset = int(rules[i+1].n)
		}
		t.fields[i].cut(int(rules[i].to), int(rules[i].n), toOffset)
	}
	t.settle()
}

// Collect drops the elements that have expired by now and calls fn, if not nil,
// for each (pipapo_gc_scan, which the kernel runs at commit).
func (t *Table) Collect(now int64, fn func(ID)) {
	if t.timed == 0 {
		return
	}
	var rules [MaxFields]mapping
	for first := 0; first < t.fields[0].rules; {
		id := t.runs(first, &rules)
		if e := t.elems[id].expires; e == 0 || e > now {
			first += int(rules[0].n)
			continue
		}
		t.drop(&rules)
		t.dropElement(id)
		if fn != nil {
			fn(id)
		}
	}
}
