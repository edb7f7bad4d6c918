package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/internal/prefetch"
)

// Density is a table of the prefetch suite: Entries of Capacity are used.
type Density struct {
	Entries  int
	Capacity int
}

// Name is as the patch writes it: 10k/40k.
func (d Density) Name() string { return short(d.Entries) + "/" + short(d.Capacity) }

func short(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	case n%100 == 0 && n > 1000:
		return fmt.Sprintf("%d.%dk", n/1000, n%1000/100)
	}
	return fmt.Sprint(n)
}

// Densities are the patch's saturated, dense and sparse tables, and larger ones.
func Densities(largest int) []Density {
	out := []Density{{40000, 40000}, {10000, 40000}, {2500, 40000}}
	for n := 1 << 20; n <= largest; n *= 4 {
		out = append(out, Density{n, n})
	}
	return out
}

// Distances of the prefetch suite.
func Distances() []int { return []int{0, 1, 5, 12, 20, 40} }

// Prefetch is a row of the prefetch suite: one table in one back end.
type Prefetch struct {
	Backend string `json:"backend"`
	Table   string `json:"table"`
	Entries int    `json:"entries"`
	Bytes   uint64 `json:"bytes"`
	// Hint and Touch are by the order of Distances: with the processor's prefetch
	// instruction (empty where there is none) and with plain reads.
	Hint  []Stat `json:"hint"`
	Touch []Stat `json:"touch"`
	// Best is the distance that is fastest, by medians; Gain its time against none.
	Best int     `json:"best_distance"`
	Gain float64 `json:"gain"`
	// Default is the distance that the engine uses for a table of this size.
	Default int `json:"default_distance"`
}

// PrefetchBackends are the back ends that fetch ahead: hash with short and with long
// keys, and masks.
func PrefetchBackends() []string { return []string{"hash8", "hash16", "masks"} }

// prefetchTable builds a table of random keys, as sparse as asked for, and keys to
// look up: all present.
func prefetchTable(backend string, d Density) (*set.Table, []byte, error) {
	s := &bytecode.Set{Name: "s", Key: []bytecode.Field{{Len: 8}}}
	klen := 8
	var opts set.Options
	switch backend {
	case "hash16":
		klen, s.Key = 16, []bytecode.Field{{Len: 16}}
	case "masks":
		s.Key = []bytecode.Field{{Len: 4}, {Len: 4}}
		s.Flags = bytecode.SetInterval | bytecode.SetConcat
		opts.Backend = set.Masks
	}
	r := rand.New(rand.NewPCG(uint64(d.Entries), 5))
	store := make([]byte, d.Entries*klen)
	for i := 0; i < len(store); i += 8 {
		binary.LittleEndian.PutUint64(store[i:], r.Uint64())
	}
	s.Elements = make([]bytecode.Element, d.Entries)
	for i := range s.Elements {
		s.Elements[i].Key = store[i*klen : (i+1)*klen : (i+1)*klen]
		if opts.Backend == set.Masks {
			s.Elements[i].KeyEnd = s.Elements[i].Key
		}
	}
	opts.Capacity = d.Capacity
	t, err := set.Build(s, opts)
	if err != nil {
		return nil, nil, err
	}
	n := min(1<<20, max(d.Entries, keyCount))
	keys := make([]byte, 0, n*klen)
	for range n {
		keys = append(keys, s.Elements[r.IntN(len(s.Elements))].Key...)
	}
	return t, keys, nil
}

// PrefetchCases are the cases of a table: all distances with the instruction, if
// there is one, then those above 0 with plain reads.
func PrefetchCases(backend string, d Density) ([]Case, *set.Table, error) {
	t, keys, err := prefetchTable(backend, d)
	if err != nil {
		return nil, nil, err
	}
	var cases []Case
	for _, touch := range []bool{false, true} {
		for _, n := range Distances() {
			if n > 0 && !touch && !prefetch.Available || n == 0 && touch {
				continue
			}
			kind := "hint"
			if touch {
				kind = "touch"
			}
			run := batchCase(t, keys)
			ahead := set.Ahead{Distance: n, Touch: touch}
			cases = append(cases, Case{Name: fmt.Sprintf("%s/n=%d", kind, n), Run: func(times int) {
				t.SetAhead(ahead)
				run(times)
			}})
		}
	}
	return cases, t, nil
}

// MeasurePrefetch measures a table with every distance.
func MeasurePrefetch(backend string, d Density, opt Options) (Prefetch, error) {
	cases, t, err := PrefetchCases(backend, d)
	if err != nil {
		return Prefetch{}, err
	}
	row := Prefetch{Backend: backend, Table: d.Name(), Entries: d.Entries, Bytes: t.Bytes(), Default: t.Ahead().Distance}
	stats := Measure(cases, opt)
	zero := stats[0]
	n := len(Distances())
	row.Touch = append(row.Touch, zero)
	if prefetch.Available {
		row.Hint = stats[:n]
		row.Touch = append(row.Touch, stats[n:]...)
	} else {
		row.Touch = append(row.Touch, stats[1:]...)
	}
	best := zero
	list := row.Hint
	for i, s := range list {
		if s.Median < best.Median {
			best, row.Best = s, Distances()[i]
		}
	}
	row.Gain = zero.Median / best.Median
	return row, nil
}
