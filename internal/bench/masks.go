package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/nftc/nftc/compile/masks"
)

// The scenario of the mask array's patch: 100 masks, the flow that packets belong
// to, 60 more masks; then the first 100 are deleted.
const (
	maskKeyBytes   = 6
	masksDeleted   = 100
	masksKept      = 60
	maskTargetFlow = 0
)

var targetMAC = [maskKeyBytes]byte{0x98, 0x03, 0x9b, 0x6e, 0x4a, 0xf5}

// scenarioEntry is flow m of the scenario: destination 00:m:00:00:00:00 under mask
// ff:ff:ff:ff:ff:m.
func scenarioEntry(m byte) (mask, key [maskKeyBytes]byte) {
	return [maskKeyBytes]byte{0xff, 0xff, 0xff, 0xff, 0xff, m}, [maskKeyBytes]byte{0, m}
}

// MaskScenario builds the scenario's table.
func MaskScenario(holes bool) (*masks.Table, error) {
	t, err := masks.New(masks.Config{KeyBytes: maskKeyBytes, Disjoint: true, Holes: holes})
	if err != nil {
		return nil, err
	}
	insert := func(mask, key [maskKeyBytes]byte, n uint32) {
		if err == nil {
			err = t.Insert(mask[:], key[:], n)
		}
	}
	full := [maskKeyBytes]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for m := 1; m <= masksDeleted+masksKept; m++ {
		mask, key := scenarioEntry(byte(m))
		insert(mask, key, uint32(m))
		if m == masksDeleted {
			insert(full, targetMAC, maskTargetFlow)
		}
	}
	for m := 1; m <= masksDeleted; m++ {
		mask, key := scenarioEntry(byte(m))
		if _, ok := t.Delete(mask[:], key[:]); !ok && err == nil {
			err = fmt.Errorf("flow %d of the scenario is not there", m)
		}
	}
	return t, err
}

// Traffic is what the packets of a masks case are.
type Traffic struct {
	Name string
	// Flows is the number of different flows.
	Flows int
	// Known are those of the table: the scenario's one flow, or flows spread over its
	// masks; else none matches.
	Known bool
}

// MaskTraffics are the mixes that the masks suite runs: the patch's own single flow,
// and more flows than the cache has entries for.
func MaskTraffics() []Traffic {
	return []Traffic{
		{"the patch's flow", 1, true},
		{"61 flows", 61, true},
		{"1000 flows", 1000, true},
		{"100,000 flows", 100000, true},
		{"1000 flows, none known", 1000, false},
	}
}

// packets makes a sequence of keys and flow hashes.
func (tr Traffic) packets() (keys []byte, hashes []uint32) {
	r := rand.New(rand.NewPCG(3, 3))
	type flow struct {
		key  [maskKeyBytes]byte
		hash uint32
	}
	flows := make([]flow, tr.Flows)
	for i := range flows {
		f := &flows[i]
		f.hash = r.Uint32() | 1
		switch {
		case !tr.Known:
			binary.BigEndian.PutUint32(f.key[:], r.Uint32()|0x80000000)
		case i%(masksKept+1) == 0:
			f.key = targetMAC
		default:
			m := byte(masksDeleted + i%(masksKept+1))
			_, f.key = scenarioEntry(m)
			f.key[maskKeyBytes-1] = byte(r.Uint32()) &^ m // bits that the mask leaves open
		}
	}
	for range keyCount {
		f := &flows[r.IntN(len(flows))]
		keys = append(keys, f.key[:]...)
		hashes = append(hashes, f.hash)
	}
	return keys, hashes
}

// Masks is a row of the masks suite.
type Masks struct {
	Traffic string `json:"traffic"`
	Array   string `json:"array"` // holes, dense, sorted
	Cache   bool   `json:"cache"`
	Time    Stat   `json:"time"`
	// Tries is the mean number of masks tried, Places the number of places that the
	// array has, CacheHits the part of lookups that the cache answered, Matches that of
	// those that found a flow.
	Tries     float64 `json:"tries"`
	Places    int     `json:"places"`
	CacheHits float64 `json:"cache_hits"`
	Matches   float64 `json:"matches"`
	// Gain is the same traffic's time with holes and this cache over this row's.
	Gain float64 `json:"gain"`
}

// maskArrays are the forms of the array: with holes, dense, and dense with the masks
// sorted by use.
var maskArrays = []string{"holes", "dense", "sorted"}

// MaskCases are the cases of a traffic: the arrays with cache off, then on.
func MaskCases(tr Traffic) (cases []Case, readers []*masks.Reader, err error) {
	keys, hashes := tr.packets()
	for _, cache := range []bool{false, true} {
		for _, form := range maskArrays {
			t, err := MaskScenario(form == "holes")
			if err != nil {
				return nil, nil, err
			}
			if form == "sorted" {
				use := t.NewReader()
				runMasks(use, keys, hashes, false)(keyCount)
				t.Rebalance(use)
			}
			r := t.NewReader()
			readers = append(readers, r)
			name := form
			if cache {
				name += ", cache"
			}
			cases = append(cases, Case{Name: name, Run: runMasks(r, keys, hashes, cache)})
		}
	}
	return cases, readers, nil
}

func runMasks(r *masks.Reader, keys []byte, hashes []uint32, cache bool) func(int) {
	at := 0
	return func(times int) {
		sum := uint64(0)
		for range times {
			if at++; at >= len(hashes) {
				at = 0
			}
			hash := uint32(0)
			if cache {
				hash = hashes[at]
			}
			n, _ := r.Lookup(keys[at*maskKeyBytes:(at+1)*maskKeyBytes], hash)
			sum += uint64(n)
		}
		Sink += sum
	}
}

// MeasureMasks measures a traffic with every form of the array.
func MeasureMasks(tr Traffic, opt Options) ([]Masks, error) {
	cases, readers, err := MaskCases(tr)
	if err != nil {
		return nil, err
	}
	stats := Measure(cases, opt)
	var rows []Masks
	for i, s := range stats {
		st := readers[i].Stats()
		rows = append(rows, Masks{
			Traffic: tr.Name, Array: maskArrays[i%len(maskArrays)], Cache: i >= len(maskArrays), Time: s,
			Tries: part(st.MaskTries, st.Lookups), CacheHits: part(st.CacheHits, st.Lookups), Matches: part(st.Matches, st.Lookups),
			Gain: stats[i/len(maskArrays)*len(maskArrays)].Median / s.Median, Places: readers[i].Places(),
		})
	}
	return rows, nil
}

func part(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
