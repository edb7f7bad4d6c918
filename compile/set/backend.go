package set

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
)

// Backend is a way to store elements for evaluation.
type Backend uint8

// The back ends. Auto lets Build choose.
const (
	Auto      Backend = iota
	Hash              // exact keys, open addressing
	Intervals         // sorted points with binary search
	Bitmap            // keys of one or two bytes: bitmap of changes, counted by rank
	Pipapo            // concatenated ranges
	Masks             // concatenated ranges that are prefixes, or few of them
	Segments          // concatenated ranges by the field in which few overlap
	Linear            // one element after the other: the reference
)

var backendNames = [...]string{
	Auto: "auto", Hash: "hash", Intervals: "intervals", Bitmap: "bitmap", Pipapo: "pipapo", Masks: "masks", Segments: "segments", Linear: "linear",
}

// String is the name that --set-backend takes.
func (b Backend) String() string {
	if int(b) < len(backendNames) {
		return backendNames[b]
	}
	return fmt.Sprintf("backend %d", uint8(b))
}

// ParseBackend reads a back end's name.
func ParseBackend(name string) (Backend, error) {
	for b, n := range backendNames {
		if n == name {
			return Backend(b), nil
		}
	}
	return Auto, fmt.Errorf("unknown set back end %q, want one of %s", name, strings.Join(backendNames[:], ", "))
}

// Backends lists those that can be chosen, without Auto.
func Backends() []Backend { return []Backend{Hash, Intervals, Bitmap, Pipapo, Masks, Segments, Linear} }

// shape is what a back end must cope with.
type shape struct {
	klen     int
	interval bool // start and end points
	ranges   bool // concatenated ranges
	dynamic  bool // packets add and delete elements
}

// shapeOf follows the kernel's choice: with policy memory and a size, a set of
// exact keys may end up in rbtree, which takes each key for the start of an
// interval.
func shapeOf(s *bytecode.Set) shape {
	concat := len(s.Key) > 1
	kernel, _ := kernelSetOf(s, true).choose()
	return shape{
		klen:     s.KeyLen(),
		interval: kernel == KernelRBTree || s.Flags&bytecode.SetInterval != 0 && !concat,
		ranges:   s.Flags&bytecode.SetInterval != 0 && concat,
		dynamic:  s.Flags&bytecode.SetEval != 0,
	}
}

// Suits tells whether a back end can hold the set, else why not.
func (b Backend) Suits(s *bytecode.Set) (bool, string) {
	sh := shapeOf(s)
	switch b {
	case Hash:
		if sh.interval || sh.ranges {
			return false, "holds exact keys only"
		}
	case Intervals:
		if !sh.interval {
			return false, "holds intervals of one field only"
		}
	case Bitmap:
		if sh.klen > 2 || sh.ranges {
			return false, "holds keys of one or two bytes only"
		}
		if sh.dynamic {
			return false, "is built once, packets change this set"
		}
	case Pipapo:
		if !sh.ranges {
			return false, "holds concatenated ranges only"
		}
	case Segments:
		if !sh.ranges {
			return false, "holds concatenated ranges only"
		}
		if _, _, _, ok := segmentsField(s); !ok {
			return false, "needs a field in which few ranges overlap"
		}
	case Masks:
		if !sh.ranges {
			return false, "holds concatenated ranges only"
		}
		if s.Flags&bytecode.SetTimeout != 0 {
			return false, "keeps no timeouts"
		}
		if countMasks(s, maxMasks) > maxMasks {
			return false, "needs ranges that are prefixes, with few different masks"
		}
	}
	return true, ""
}

// maxMasks is the number of masks beyond which nobody wants to try them one by one.
const maxMasks = 1024

// choose picks the offline plan's back end and says why.
func choose(s *bytecode.Set) (Backend, string) {
	sh := shapeOf(s)
	switch {
	case sh.ranges:
		return chooseForRanges(s)
	case sh.klen <= 2 && !sh.dynamic:
		return Bitmap, "keys of at most two bytes: one word and one count per lookup"
	case sh.interval:
		return Intervals, "intervals of one field"
	default:
		return Hash, "exact keys"
	}
}

// The cost of a lookup in nanoseconds, fitted to BenchmarkRanges: pipapo's grows with
// the words of the first field's buckets, that of masks with their number, that of
// segments with the candidates of a segment and, by cache misses, with the number
// of elements.
const (
	costPipapoField   = 25
	costPipapoWord    = 1.1
	costMasks         = 10
	costMask          = 13
	costSegments      = 20
	costCandidate     = 4
	costSegmentsLevel = 2.0
)

func chooseForRanges(s *bytecode.Set) (Backend, string) {
	rules := 0
	first := int(s.Key[0].Len)
	for i := range s.Elements {
		e := &s.Elements[i]
		switch {
		case len(e.Key) < first || first > pipapo.MaxFieldBytes:
		case len(e.KeyEnd) < first:
			rules++
		default:
			rules += pipapo.CountPrefixes(e.Key[:first], e.KeyEnd[:first])
		}
	}
	ranges := costPipapoField*float64(len(s.Key)) + costPipapoWord*float64((rules+255)/256*4)
	best, cost := Pipapo, ranges
	why := "ranges that overlap in every field"
	if cuts, field, mean, ok := segmentsField(s); ok {
		c := costSegments + costCandidate*mean + costSegmentsLevel*float64(bits.Len(uint(len(cuts))))
		if c < cost {
			best, cost = Segments, c
			why = fmt.Sprintf("%.1f elements a segment of field %d", mean, field+1)
		}
	}
	limit := min(int((cost-costMasks)/costMask), 64)
	if s.Flags&bytecode.SetTimeout == 0 && limit > 0 {
		if n := countMasks(s, limit); n <= limit {
			best, cost = Masks, costMasks+costMask*float64(n)
			why = fmt.Sprintf("%d masks", n)
			if n == 1 {
				why = "one mask"
			}
		}
	}
	return best, fmt.Sprintf("%s, about %.0f ns a lookup (pipapo about %.0f ns)", why, cost, ranges)
}
