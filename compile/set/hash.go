package set

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/nftc/nftc/compile/bytecode"
)

// Both hash tables use linear probing, are at most half full, and close the gap
// after a removal. Their seed is random, so that no ruleset can be written that
// makes them slow; answers do not depend on it.
var hashSeed = [2]uint64{rand.Uint64(), rand.Uint64()}

// mix folds the 128-bit product of two words.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func hashWord(k uint64) uint64 {
	return mix(k^hashSeed[0], hashSeed[1]|1)
}

func hashBytes(k []byte) uint64 {
	h := hashSeed[0] ^ uint64(len(k))
	for len(k) >= 8 {
		h = mix(h^binary.LittleEndian.Uint64(k), hashSeed[1]|1)
		k = k[8:]
	}
	return mix(h^wordOf(k), hashSeed[1]|1)
}

// wordOf packs up to 8 bytes.
func wordOf(k []byte) uint64 {
	switch len(k) {
	case 4:
		return uint64(binary.LittleEndian.Uint32(k))
	case 8:
		return binary.LittleEndian.Uint64(k)
	}
	w := uint64(0)
	for i, b := range k {
		w |= uint64(b) << (8 * i)
	}
	return w
}

// wordHash maps keys of up to 8 bytes to elements.
type wordHash struct {
	slots []wordSlot // a power of two; ref is stored plus 1, 0 is free
	used  int
}

type wordSlot struct {
	key uint64
	ref int32
}

func tableSize(n int) int {
	size := 8
	for size < 2*n {
		size *= 2
	}
	return size
}

func newWordHash(n int) *wordHash { return &wordHash{slots: make([]wordSlot, tableSize(n))} }

func (h *wordHash) lookup(key uint64) Ref {
	mask := uint64(len(h.slots) - 1)
	for i := hashWord(key) & mask; ; i = (i + 1) & mask {
		s := &h.slots[i]
		if s.key == key || s.ref == 0 {
			// A free slot has key 0, so a key of 0 stops there as well, with ref -1.
			return Ref(s.ref - 1)
		}
	}
}

// put adds a key or gives it another element.
func (h *wordHash) put(key uint64, ref Ref) {
	if 2*(h.used+1) > len(h.slots) {
		old := h.slots
		h.slots = make([]wordSlot, 2*len(old))
		h.used = 0
		for _, s := range old {
			if s.ref != 0 {
				h.put(s.key, Ref(s.ref-1))
			}
		}
	}
	mask := uint64(len(h.slots) - 1)
	for i := hashWord(key) & mask; ; i = (i + 1) & mask {
		s := &h.slots[i]
		if s.ref == 0 {
			h.used++
		} else if s.key != key {
			continue
		}
		*s = wordSlot{key, int32(ref) + 1}
		return
	}
}

// remove takes a key out; the slots behind move up where their probing allows.
func (h *wordHash) remove(key uint64) {
	mask := uint64(len(h.slots) - 1)
	i := hashWord(key) & mask
	for h.slots[i].ref != 0 && h.slots[i].key != key {
		i = (i + 1) & mask
	}
	if h.slots[i].ref == 0 {
		return
	}
	h.used--
	for j := i; ; {
		j = (j + 1) & mask
		s := h.slots[j]
		if s.ref == 0 {
			break
		}
		if home := hashWord(s.key) & mask; (j-home)&mask >= (j-i)&mask {
			h.slots[i] = s
			i = j
		}
	}
	h.slots[i] = wordSlot{}
}

// bytesHash maps longer keys to elements; the keys lie in one array by slot.
type bytesHash struct {
	klen int
	keys []byte
	refs []int32 // plus 1, 0 is free
	used int
}

func newBytesHash(n, klen int) *bytesHash {
	size := tableSize(n)
	return &bytesHash{klen: klen, keys: make([]byte, size*klen), refs: make([]int32, size)}
}

func (h *bytesHash) key(i uint64) []byte { return h.keys[int(i)*h.klen:][:h.klen] }

func (h *bytesHash) find(key []byte) uint64 {
	return h.findFrom(hashBytes(key)&uint64(len(h.refs)-1), key)
}

// findFrom is find for a key whose hash names slot i.
func (h *bytesHash) findFrom(i uint64, key []byte) uint64 {
	mask := uint64(len(h.refs) - 1)
	for h.refs[i] != 0 && !bytes.Equal(h.key(i), key) {
		i = (i + 1) & mask
	}
	return i
}

func (h *bytesHash) lookup(key []byte) Ref { return Ref(h.refs[h.find(key)] - 1) }

func (h *bytesHash) put(key []byte, ref Ref) {
	if 2*(h.used+1) > len(h.refs) {
		old := *h
		*h = *newBytesHash(len(old.refs), h.klen)
		for i, r := range old.refs {
			if r != 0 {
				h.put(old.key(uint64(i)), Ref(r-1))
			}
		}
	}
	i := h.find(key)
	if h.refs[i] == 0 {
		h.used++
		copy(h.key(i), key)
	}
	h.refs[i] = int32(ref) + 1
}

func (h *bytesHash) remove(key []byte) {
	i := h.find(key)
	if h.refs[i] == 0 {
		return
	}
	h.used--
	mask := uint64(len(h.refs) - 1)
	for j := i; ; {
		j = (j + 1) & mask
		if h.refs[j] == 0 {
			break
		}
		if home := hashBytes(h.key(j)) & mask; (j-home)&mask >= (j-i)&mask {
			h.refs[i] = h.refs[j]
			copy(h.key(i), h.key(j))
			i = j
		}
	}
	h.refs[i] = 0
}

// buildHash fills the hash table, of room for capacity elements at least. A key that comes twice is an error, as the
// kernel holds each once.
func (t *Table) buildHash(capacity int) error {
	if t.klen <= 8 {
		t.short = newWordHash(max(t.count, capacity))
	} else {
		t.long = newBytesHash(max(t.count, capacity), t.klen)
	}
	for i := range t.static {
		e := &t.static[i]
		if e.Flags&(bytecode.ElemCatchall|bytecode.ElemIntervalEnd) != 0 {
			continue
		}
		if t.exact(e.Key) >= 0 {
			return fmt.Errorf("element %d has the key of another element", i)
		}
		t.put(Ref(i))
	}
	return nil
}
