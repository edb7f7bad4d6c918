package masks

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// maxWords is the longest key in 8-byte words: all data registers.
const maxWords = 8

// words is a key or mask, padded with zeroes.
type words [maxWords]uint64

func (w *words) load(b []byte) {
	i := 0
	for ; len(b) >= 8; b = b[8:] {
		w[i] = binary.LittleEndian.Uint64(b)
		i++
	}
	if len(b) == 4 {
		w[i] = uint64(binary.LittleEndian.Uint32(b))
		return
	}
	for k, x := range b {
		w[i] |= uint64(x) << (8 * k)
	}
}

// seed is random so that no input can be made to collide; answers do not depend on
// it.
var seed = [2]uint64{rand.Uint64(), rand.Uint64() | 1}

// tuple is a mask with the hash table of its entries. Slots come in groups of 8 with
// a byte of the hash each, all compared at once; a key that is not there is told
// by the group's bytes alone, nearly always.
type tuple struct {
	id   int // for use counts; stays when the mask moves in the array
	mask words
	// from and to are the words in which the mask has bits.
	from, to int
	tags     []uint64 // by group, a byte a slot
	keys     []uint64 // by slot, to-from words each
	numbers  []uint32 // by slot, the entry's number
	used     int
	gone     int    // slots with tagGone
	lowest   uint32 // lowest number that was ever in the table
}

// A slot's byte: free, was used and has to be passed over, or 0x80 and 7 bits of
// the hash.
const (
	tagFree = 0
	tagGone = 1
	lows    = 0x0101010101010101
	highs   = 0x8080808080808080
)

// zeroBytes marks the bytes of x that are 0; above such a byte it may mark one that
// is 1, too.
func zeroBytes(x uint64) uint64 { return (x - lows) &^ x & highs }

func newTuple(id int, mask *words) *tuple {
	t := &tuple{id: id, mask: *mask, lowest: ^uint32(0)}
	for t.from < maxWords && mask[t.from] == 0 {
		t.from++
	}
	for i := t.from; i < maxWords; i++ {
		if mask[i] != 0 {
			t.to = i + 1
		}
	}
	t.to = max(t.to, t.from)
	t.resize(1)
	return t
}

func (t *tuple) width() int { return t.to - t.from }

func (t *tuple) hash(key *words) uint64 {
	h := seed[0]
	for i := t.from; i < t.to; i++ {
		hi, lo := bits.Mul64(h^key[i&(maxWords-1)]&t.mask[i&(maxWords-1)], seed[1])
		h = hi ^ lo
	}
	return h
}

// find gives the slot of a key, or -1.
func (t *tuple) find(key *words) int { return t.findFrom(t.hash(key), key) }

// findFrom is find for a key whose hash is known.
func (t *tuple) findFrom(h uint64, key *words) int {
	last := len(t.tags) - 1
	tag := (h>>57 | 0x80) * lows
	for g := int(h) & last; ; g = (g + 1) & last {
		tags := t.tags[g]
		for m := zeroBytes(tags ^ tag); m != 0; m &= m - 1 {
			if slot := g*8 + bits.TrailingZeros64(m)/8; t.holds(slot, key) {
				return slot
			}
		}
		if zeroBytes(tags) != 0 {
			return -1
		}
	}
}

func (t *tuple) holds(slot int, key *words) bool {
	w := t.width()
	for i, k := range t.keys[slot*w : (slot+1)*w] {
		if k != key[(t.from+i)&(maxWords-1)]&t.mask[(t.from+i)&(maxWords-1)] {
			return false
		}
	}
	return true
}

// lookup gives the number of the entry that holds the key, plus 1, or 0.
func (t *tuple) lookup(key *words) uint32 {
	if s := t.find(key); s >= 0 {
		return t.numbers[s] + 1
	}
	return 0
}

// put adds a key that is not there into the first slot that is not used.
func (t *tuple) put(key *words, number uint32) {
	h := t.hash(key)
	last := len(t.tags) - 1
	for g := int(h) & last; ; g = (g + 1) & last {
		open := ^t.tags[g] & highs
		if open == 0 {
			continue
		}
		shift := bits.TrailingZeros64(open) &^ 7
		if byte(t.tags[g]>>shift) == tagGone {
			t.gone--
		}
		t.tags[g] = t.tags[g]&^(0xff<<shift) | (h>>57|0x80)<<shift
		slot := g*8 + shift/8
		at := slot * t.width()
		for i := t.from; i < t.to; i++ {
			t.keys[at] = key[i] & t.mask[i]
			at++
		}
		t.numbers[slot] = number
		t.used++
		t.lowest = min(t.lowest, number)
		return
	}
}

// insert adds a key; false if it is there.
func (t *tuple) insert(key *words, number uint32) bool {
	if t.find(key) >= 0 {
		return false
	}
	if 4*(t.used+t.gone+1) > 3*8*len(t.tags) {
		groups := len(t.tags)
		if 4*(t.used+1) > 2*8*groups {
			groups *= 2
		}
		t.resize(groups)
	}
	t.put(key, number)
	return true
}

// resize moves the entries to a table of so many groups, a power of two.
func (t *tuple) resize(groups int) {
	old := *t
	w := t.width()
	t.tags, t.keys, t.numbers = make([]uint64, groups), make([]uint64, 8*groups*w), make([]uint32, 8*groups)
	t.used, t.gone = 0, 0
	for slot, n := range old.numbers {
		if old.tags[slot/8]>>(slot%8*8)&0x80 != 0 {
			var k words
			copy(k[t.from:t.to], old.keys[slot*w:])
			t.put(&k, n)
		}
	}
}

// remove deletes a key. Its slot is free again if its group has a free one anyway:
// then no search passes over it.
func (t *tuple) remove(key *words) (uint32, bool) {
	slot := t.find(key)
	if slot < 0 {
		return 0, false
	}
	g, shift := slot/8, slot%8*8
	tag := uint64(tagGone)
	if zeroBytes(t.tags[g]) != 0 {
		tag = tagFree
	} else {
		t.gone++
	}
	t.tags[g] = t.tags[g]&^(0xff<<shift) | tag<<shift
	t.used--
	return t.numbers[slot], true
}
