package set

import (
	"bytes"

	"github.com/nftc/nftc/compile/bytecode"
)

// linear is the reference back end: it compares a key with every element.
type linear struct {
	fields []linearField
	// exact tells that elements are single keys, so packets may change the set.
	exact bool
	items []linearItem
}

type linearField struct{ from, to int }

// linearItem holds the keys between lo and hi in every field. open says that the
// upper end is the end of the key space.
type linearItem struct {
	lo, hi []byte
	ref    Ref
	below  bool // hi itself does not belong
	open   bool
}

func newLinear(t *Table) (*linear, error) {
	sh := shapeOf(t.set)
	l := &linear{exact: !sh.interval && !sh.ranges}
	if sh.ranges {
		at := 0
		for _, f := range t.set.Key {
			l.fields = append(l.fields, linearField{at, at + int(f.Len)})
			at += f.Padded()
		}
	} else {
		l.fields = []linearField{{0, t.klen}}
	}
	if sh.interval {
		spans, err := spansOf(t)
		if err != nil {
			return nil, err
		}
		for _, s := range spans {
			l.items = append(l.items, linearItem{lo: s.lo, hi: s.hi, ref: s.ref, below: true, open: s.hi == nil})
		}
		return l, nil
	}
	for i := range t.static {
		e := &t.static[i]
		if e.Flags&(bytecode.ElemCatchall|bytecode.ElemIntervalEnd) != 0 {
			continue
		}
		item := linearItem{lo: e.Key, hi: e.KeyEnd, ref: Ref(i)}
		if item.hi == nil {
			item.hi = e.Key
		}
		l.items = append(l.items, item)
	}
	return l, nil
}

func (l *linear) lookup(key []byte, t *Table) Ref {
	for i := range l.items {
		it := &l.items[i]
		if l.holds(it, key) && t.alive(it.ref) {
			return it.ref
		}
	}
	return None
}

// find gives the element of exactly this key, expired or not.
func (l *linear) find(key []byte, _ *Table) Ref {
	for i := range l.items {
		if bytes.Equal(l.items[i].lo, key) {
			return l.items[i].ref
		}
	}
	return None
}

func (l *linear) holds(it *linearItem, key []byte) bool {
	for _, f := range l.fields {
		k := key[f.from:f.to]
		if bytes.Compare(k, it.lo[f.from:f.to]) < 0 {
			return false
		}
		if it.open {
			continue
		}
		c := bytes.Compare(k, it.hi[f.from:f.to])
		if c > 0 || c == 0 && it.below {
			return false
		}
	}
	return true
}

func (l *linear) remove(ref Ref) {
	for i := range l.items {
		if l.items[i].ref == ref {
			l.items = append(l.items[:i], l.items[i+1:]...)
			return
		}
	}
}
