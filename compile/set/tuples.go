package set

import (
	"errors"
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/masks"
	"github.com/nftc/nftc/compile/pipapo"
)

// maxPrefixes is the number of entries that an element may take with masks: the
// product of its fields' prefixes.
const maxPrefixes = 16

var errManyPrefixes = errors.New("ranges that take too many prefixes")

// eachPrefix splits all elements of a set with concatenated ranges into prefixes and
// calls fn with a mask and key for each. The slices are valid during the call only.
func eachPrefix(s *bytecode.Set, fn func(mask, key []byte, ref Ref) error) error {
	klen := s.KeyLen()
	type prefix struct {
		base [pipapo.MaxFieldBytes]byte
		len  int
	}
	lists := make([][]prefix, len(s.Key))
	mask, key := make([]byte, klen), make([]byte, klen)
	for i := range s.Elements {
		e := &s.Elements[i]
		if e.Flags&bytecode.ElemCatchall != 0 {
			continue
		}
		end := e.KeyEnd
		if end == nil {
			end = e.Key
		}
		if len(e.Key) != klen || len(end) != klen {
			return fmt.Errorf("element %d has a key of %d bytes, want %d", i, len(e.Key), klen)
		}
		total, at := 1, 0
		for f, field := range s.Key {
			lo, hi := e.Key[at:at+int(field.Len)], end[at:at+int(field.Len)]
			if total *= pipapo.CountPrefixes(lo, hi); total > maxPrefixes {
				return errManyPrefixes
			}
			lists[f] = lists[f][:0]
			pipapo.Prefixes(lo, hi, func(base []byte, n int) {
				p := prefix{len: n}
				copy(p.base[:], base)
				lists[f] = append(lists[f], p)
			})
			at += field.Padded()
		}
		for n := range total {
			at := 0
			for f, field := range s.Key {
				p := &lists[f][n%len(lists[f])]
				n /= len(lists[f])
				copy(key[at:], p.base[:field.Len])
				for b := range int(field.Len) {
					mask[at+b] = ^byte(0xff >> min(max(p.len-8*b, 0), 8))
				}
				at += field.Padded()
			}
			if err := fn(mask, key, Ref(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// countMasks is the number of different masks of a set, up to a limit; more than the
// limit if the set is not for masks at all.
func countMasks(s *bytecode.Set, limit int) int {
	seen := make(map[string]bool)
	err := eachPrefix(s, func(mask, _ []byte, _ Ref) error {
		if !seen[string(mask)] {
			seen[string(mask)] = true
			if len(seen) > limit {
				return errManyPrefixes
			}
		}
		return nil
	})
	if err != nil {
		return limit + 1
	}
	return len(seen)
}

// newTuples builds the masks' table. An element's number is its place in the set, so
// that the first of several that match is found, as in the kernel.
func newTuples(t *Table) (*masks.Table, error) {
	table, err := masks.New(masks.Config{KeyBytes: t.klen})
	if err != nil {
		return nil, err
	}
	err = eachPrefix(t.set, func(mask, key []byte, ref Ref) error {
		err := table.Insert(mask, key, uint32(ref))
		if errors.Is(err, masks.ErrExists) {
			// An earlier element has this very prefix: it answers first anyway.
			return nil
		}
		return err
	})
	return table, err
}
