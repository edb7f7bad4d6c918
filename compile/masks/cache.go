package masks

import (
	"cmp"
	"slices"
)

// The flow mask cache has 256 entries; each hash may stand in one of four, chosen
// by its bytes (MC_HASH_ENTRIES, MC_HASH_SEGS).
const (
	cacheEntries = 256
	cacheSegs    = 4
)

type cacheEntry struct {
	hash  uint32 // 0 is free
	place uint32
}

// Reader looks keys up through a flow mask cache of its own and counts which masks
// are hit. It sees the table's changes, which must not happen at the same time.
type Reader struct {
	t     *Table
	cache [cacheEntries]cacheEntry
	uses  []uint64 // by mask ID
	stats Stats
}

// Stats counts what lookups did.
type Stats struct {
	Lookups   uint64
	Matches   uint64
	CacheHits uint64 // a cached place had the answer
	MaskTries uint64 // masks tried, over all lookups
}

// NewReader returns a reader with an empty cache.
func (t *Table) NewReader() *Reader { return &Reader{t: t} }

// Stats gives the counts since the reader was made.
func (r *Reader) Stats() Stats { return r.stats }

// Lookup finds the lowest entry that matches the key. hash stands for the packet's
// flow; keys of one flow should have the same one. With hash 0 the cache is not
// used.
//
// ovs_flow_tbl_lookup_stats: of the hash's four cache entries, one with this very
// hash names the place to try first; else the one with the lowest hash is given
// away. An entry whose flow is not found any more is freed.
func (r *Reader) Lookup(key []byte, hash uint32) (number uint32, ok bool) {
	t := r.t
	if len(key) < t.cfg.KeyBytes {
		return 0, false
	}
	var k words
	k.load(key[:t.cfg.KeyBytes])
	r.stats.Lookups++
	if hash == 0 {
		found, at, tried := t.scan(&k, 0, -1, 0)
		return r.count(found, at, tried)
	}

	var entry *cacheEntry
	for seg := range cacheSegs {
		e := &r.cache[hash>>(8*seg)&(cacheEntries-1)]
		if e.hash == hash {
			entry = e
			break
		}
		if entry == nil || e.hash < entry.hash {
			entry = e
		}
	}
	found, at, tried := uint32(0), 0, 0
	skip := -1
	if entry.hash == hash {
		if skip = int(entry.place); skip < len(t.array) && t.array[skip] != nil {
			tried++
			if found = t.array[skip].lookup(&k); found != 0 {
				at = skip
				if t.cfg.Disjoint {
					r.stats.CacheHits++
					return r.count(found, at, tried)
				}
			}
		} else {
			skip = -1
		}
	}
	best, place, more := t.scan(&k, found, skip, at)
	if best != 0 && best == found {
		r.stats.CacheHits++
	}
	switch {
	case best != 0:
		*entry = cacheEntry{hash, uint32(place)}
	case entry.hash == hash:
		entry.hash = 0
	}
	return r.count(best, place, tried+more)
}

// count notes the outcome of a lookup.
func (r *Reader) count(found uint32, at, tried int) (uint32, bool) {
	r.stats.MaskTries += uint64(tried)
	if found == 0 {
		return 0, false
	}
	r.stats.Matches++
	id := r.t.array[at].id
	if id >= len(r.uses) {
		r.uses = append(r.uses, make([]uint64, id+1-len(r.uses))...)
	}
	r.uses[id]++
	return found - 1, true
}

// Rebalance sorts the masks by how often the readers hit them, most used first, and
// starts their counts anew (ovs_flow_masks_rebalance). Cached places stay hints.
func (t *Table) Rebalance(readers ...*Reader) {
	uses := make([]uint64, t.nextID)
	for _, r := range readers {
		for id, n := range r.uses {
			uses[id] += n
		}
		clear(r.uses)
	}
	t.setSize(t.size)
	slices.SortStableFunc(t.array, func(a, b *tuple) int { return cmp.Compare(uses[b.id], uses[a.id]) })
}

// Places is the number of places that lookups step over at most: up to the last
// mask, holes included.
func (r *Reader) Places() int { return len(r.t.array) }
