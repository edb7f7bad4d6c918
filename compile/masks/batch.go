package masks

import (
	"unsafe"

	"github.com/nftc/nftc/internal/prefetch"
)

// Ahead says how a batched lookup fetches what later keys will need: the memory of
// the key Distance places on, by the processor's prefetch instruction, or with Touch
// by reading it. With distance 0 nothing is asked for.
type Ahead struct {
	Distance int
	Touch    bool
}

// batchKeys is the number of keys that are taken through the masks together.
const batchKeys = 64

// keep keeps the reads of Ahead.Touch from being left out.
//
//go:noinline
func keep(uint64) {}

// LookupBatch looks up the keys that lie one behind the other in keys and sets
// out[i] to the entry's number for key i, or -1. It takes blocks of keys mask by
// mask, so that the lookups in one mask's table do not wait for one another.
func (t *Table) LookupBatch(keys []byte, out []int64, a Ahead) {
	n := t.cfg.KeyBytes
	have := len(keys) / n
	var block [batchKeys]words
	for len(out) > 0 {
		count := min(batchKeys, len(out), have)
		if count == 0 {
			for i := range out {
				out[i] = -1
			}
			return
		}
		for i := range count {
			block[i] = words{}
			block[i].load(keys[i*n : (i+1)*n])
			out[i] = -1
		}
		t.lookupBlock(block[:count], out, a)
		keys, out, have = keys[count*n:], out[count:], have-count
	}
}

// lookupBlock takes a block of keys through all masks. A key leaves when it cannot
// get a better answer.
func (t *Table) lookupBlock(block []words, out []int64, a Ahead) {
	var open [batchKeys]uint8
	left := len(block)
	for i := range left {
		open[i] = uint8(i)
	}
	var hashes [batchKeys]uint64
	touched := uint64(0)
	for _, tu := range t.array {
		if tu == nil {
			continue
		}
		last := uint64(len(tu.tags) - 1)
		w := uint64(tu.width())
		ask := func(i int) {
			h := tu.hash(&block[open[i]])
			hashes[i] = h
			g := h & last
			switch {
			case a.Distance == 0:
			case a.Touch:
				touched |= tu.tags[g]
				if w > 0 {
					touched |= tu.keys[g*8*w]
				}
			default:
				prefetch.Line(unsafe.Pointer(&tu.tags[g]))
				if w > 0 {
					prefetch.Line(unsafe.Pointer(&tu.keys[g*8*w]))
				}
				prefetch.Line(unsafe.Pointer(&tu.numbers[g*8]))
			}
		}
		for i := range min(a.Distance, left) {
			ask(i)
		}
		kept := 0
		for i := range left {
			if next := i + a.Distance; next < left {
				ask(next)
			}
			k := open[i]
			if best := out[k]; best >= 0 && int64(tu.lowest) >= best {
				open[kept] = k
				kept++
				continue
			}
			if slot := tu.findFrom(hashes[i], &block[k]); slot >= 0 {
				if n := int64(tu.numbers[slot]); out[k] < 0 || n < out[k] {
					out[k] = n
				}
				if t.cfg.Disjoint {
					continue
				}
			}
			open[kept] = k
			kept++
		}
		if left = kept; left == 0 {
			break
		}
	}
	keep(touched)
}
