package set

import (
	"unsafe"

	"github.com/nftc/nftc/internal/prefetch"
)

// Ahead says how a batched lookup fetches what later keys will need.
type Ahead struct {
	// Distance is the number of keys between the one whose memory is asked for and
	// the one that is looked up; 0 asks for nothing. It is at most MaxDistance.
	Distance int
	// Touch reads the memory ahead in place of the processor's prefetch instruction:
	// plain Go, but the read must end before much that follows it can.
	Touch bool
}

// MaxDistance bounds Ahead.Distance.
const MaxDistance = 64

// The distance that batches use without being told one. Measured by `nftc bench
// prefetch` (docs/benchmarks.md): tables that stay in the second-level cache lose by
// fetching ahead, those beyond it gain at every distance from 5 on, most at 12 to
// 40. Plain reads ahead are not worth it.
const (
	defaultDistance = 20
	aheadFrom       = 1 << 20 // bytes that lookups touch
	cacheLine       = 64
)

// DefaultAhead is what batches use for a table of so many bytes and elements: of a
// sparse table lookups that succeed touch the lines with elements only.
func DefaultAhead(bytes uint64, elements int) Ahead {
	if !prefetch.Available || min(bytes, cacheLine*uint64(elements)) < aheadFrom {
		return Ahead{}
	}
	return Ahead{Distance: defaultDistance}
}

// SetAhead makes batches fetch ahead in this way. Only Hash and Masks do.
func (t *Table) SetAhead(a Ahead) {
	a.Distance = max(0, min(a.Distance, MaxDistance))
	t.ahead = a
}

// Ahead is how batches fetch ahead.
func (t *Table) Ahead() Ahead { return t.ahead }

// ring holds the hashes of keys between the asking and the looking up.
const ringMask = 2*MaxDistance - 1

// lookupAhead looks up len(out) keys and asks for the slot of each a.Distance keys
// before it is needed.
func (h *wordHash) lookupAhead(keys []byte, klen int, out []Ref, a Ahead) {
	n := min(len(out), len(keys)/klen)
	for i := n; i < len(out); i++ {
		out[i] = None
	}
	type pending struct{ word, slot uint64 }
	var ring [ringMask + 1]pending
	mask := uint64(len(h.slots) - 1)
	touched := int32(0)
	ask := func(i int) {
		w := wordOf(keys[i*klen : (i+1)*klen])
		p := pending{w, hashWord(w) & mask}
		ring[i&ringMask] = p
		if a.Touch {
			touched |= h.slots[p.slot].ref
		} else if a.Distance > 0 {
			prefetch.Line(unsafe.Pointer(&h.slots[p.slot]))
		}
	}
	for i := range min(a.Distance, n) {
		ask(i)
	}
	for i := range n {
		if next := i + a.Distance; next < n {
			ask(next)
		}
		p := &ring[i&ringMask]
		s := &h.slots[p.slot]
		if s.key == p.word || s.ref == 0 {
			out[i] = Ref(s.ref - 1)
		} else {
			out[i] = h.lookup(p.word)
		}
	}
	keep(touched)
}

// lookupAhead is that of wordHash; a slot's key and element lie in two places.
func (h *bytesHash) lookupAhead(keys []byte, out []Ref, a Ahead) {
	klen := h.klen
	n := min(len(out), len(keys)/klen)
	for i := n; i < len(out); i++ {
		out[i] = None
	}
	var ring [ringMask + 1]uint64
	mask := uint64(len(h.refs) - 1)
	touched := int32(0)
	ask := func(i int) {
		slot := hashBytes(keys[i*klen:(i+1)*klen]) & mask
		ring[i&ringMask] = slot
		if a.Touch {
			touched |= h.refs[slot] | int32(h.keys[int(slot)*klen])
		} else if a.Distance > 0 {
			prefetch.Line(unsafe.Pointer(&h.refs[slot]))
			prefetch.Line(unsafe.Pointer(&h.keys[int(slot)*klen]))
		}
	}
	for i := range min(a.Distance, n) {
		ask(i)
	}
	for i := range n {
		if next := i + a.Distance; next < n {
			ask(next)
		}
		out[i] = Ref(h.refs[h.findFrom(ring[i&ringMask], keys[i*klen:(i+1)*klen])] - 1)
	}
	keep(touched)
}

// keep keeps the reads of Ahead.Touch from being left out.
//
//go:noinline
func keep(int32) {}
