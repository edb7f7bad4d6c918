package masks

import (
	"errors"
	"fmt"
	"slices"
)

// ArrayStep is the number of places by which the mask array grows, and the size it
// has at least (MASK_ARRAY_SIZE_MIN).
const ArrayStep = 16

// Errors of Insert.
var (
	ErrExists = errors.New("masks: an entry with this mask and key exists")
	ErrLength = errors.New("masks: mask or key of the wrong length")
)

// Config describes a table.
type Config struct {
	KeyBytes int // 1 to 64
	// Disjoint promises that no two entries match the same key, so that a lookup may
	// stop at the first match.
	Disjoint bool
	// Holes keeps the mask array as it was before it became dense: a deleted mask
	// leaves a hole that lookups step over.
	Holes bool
}

// Table is a set of entries under masks. Lookups may go on at the same time,
// except while it is changed.
type Table struct {
	cfg    Config
	byMask map[words]*tuple
	array  []*tuple // length is up to the last mask; nil is a hole
	size   int      // places that the array has
	nextID int
	count  int
}

// New makes an empty table.
func New(cfg Config) (*Table, error) {
	if cfg.KeyBytes < 1 || cfg.KeyBytes > 8*maxWords {
		return nil, fmt.Errorf("masks: keys of %d bytes, want 1 to %d", cfg.KeyBytes, 8*maxWords)
	}
	return &Table{cfg: cfg, byMask: make(map[words]*tuple), size: ArrayStep}, nil
}

// Len is the number of entries.
func (t *Table) Len() int { return t.count }

// Masks is the number of masks.
func (t *Table) Masks() int { return len(t.byMask) }

// Places is the number of places that the mask array has, used or not.
func (t *Table) Places() int { return t.size }

// Bytes is the memory of the hash tables and the mask array.
func (t *Table) Bytes() uint64 {
	n := uint64(8 * t.size)
	for _, m := range t.array {
		if m != nil {
			n += uint64(8*len(m.tags) + 8*len(m.keys) + 4*len(m.numbers) + 184)
		}
	}
	return n
}

// Insert adds an entry: keys that equal key in all bits of mask. number must be
// below 1<<32 - 1.
func (t *Table) Insert(mask, key []byte, number uint32) error {
	if len(mask) != t.cfg.KeyBytes || len(key) != t.cfg.KeyBytes || number == ^uint32(0) {
		return ErrLength
	}
	var m, k words
	m.load(mask)
	k.load(key)
	tu := t.byMask[m]
	if tu == nil {
		tu = newTuple(t.nextID, &m)
		t.nextID++
		t.byMask[m] = tu
		t.addMask(tu)
	}
	if !tu.insert(&k, number) {
		return ErrExists
	}
	t.count++
	return nil
}

// Delete removes the entry with this mask and key and gives its number.
func (t *Table) Delete(mask, key []byte) (uint32, bool) {
	if len(mask) != t.cfg.KeyBytes || len(key) != t.cfg.KeyBytes {
		return 0, false
	}
	var m, k words
	m.load(mask)
	k.load(key)
	tu := t.byMask[m]
	if tu == nil {
		return 0, false
	}
	number, ok := tu.remove(&k)
	if !ok {
		return 0, false
	}
	t.count--
	if tu.used == 0 {
		delete(t.byMask, m)
		t.deleteMask(tu)
	}
	return number, true
}

// addMask puts a mask into the first hole, or behind the last mask.
func (t *Table) addMask(tu *tuple) {
	if t.cfg.Holes {
		if i := slices.Index(t.array, nil); i >= 0 {
			t.array[i] = tu
			return
		}
	}
	if len(t.array) == t.size {
		t.setSize(t.size + ArrayStep)
	}
	t.array = append(t.array, tu)
}

// deleteMask takes a mask out of the array and shrinks it if little of it is used
// (tbl_mask_array_del_mask).
func (t *Table) deleteMask(tu *tuple) {
	i := slices.Index(t.array, tu)
	last := len(t.array) - 1
	if t.cfg.Holes {
		t.array[i] = nil
		for last >= 0 && t.array[last] == nil {
			t.array = t.array[:last]
			last--
		}
	} else {
		t.array[i] = t.array[last]
		t.array[last] = nil
		t.array = t.array[:last]
	}
	if t.size >= 2*ArrayStep && len(t.byMask) <= t.size/3 {
		t.setSize(t.size / 2)
	}
}

// setSize moves the array to a new size; that closes holes (tbl_mask_array_realloc).
func (t *Table) setSize(size int) {
	array := make([]*tuple, 0, size)
	for _, tu := range t.array {
		if tu != nil {
			array = append(array, tu)
		}
	}
	t.array, t.size = array, size
}

// Lookup finds the lowest entry that matches the key, without cache and without
// counting. It does not allocate.
func (t *Table) Lookup(key []byte) (number uint32, ok bool) {
	if len(key) < t.cfg.KeyBytes {
		return 0, false
	}
	var k words
	k.load(key[:t.cfg.KeyBytes])
	found, _, _ := t.scan(&k, 0, -1, 0)
	return found - 1, found != 0
}

// scan goes through the array but for the place skip. It returns the lowest number
// plus 1, starting from best, the place where that was found, at if none was, and
// how many masks were tried.
func (t *Table) scan(key *words, best uint32, skip, at int) (uint32, int, int) {
	tried := 0
	for i, tu := range t.array {
		if tu == nil || i == skip {
			continue
		}
		if best != 0 && tu.lowest >= best-1 {
			continue // nothing lower in there
		}
		tried++
		if n := tu.lookup(key); n != 0 && (best == 0 || n < best) {
			best, at = n, i
			if t.cfg.Disjoint {
				break
			}
		}
	}
	return best, at, tried
}
