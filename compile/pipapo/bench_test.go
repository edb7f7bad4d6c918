package pipapo

import (
	"fmt"
	"testing"

	"github.com/nftc/nftc/compile/pipapo/workload"
)

func benchSets() []*workload.Set {
	var sets []*workload.Set
	for _, s := range workload.Shapes() {
		sets = append(sets, s.Elements())
	}
	return append(sets, workload.Random(1000, 1), workload.Random(10000, 1))
}

func BenchmarkLookup(b *testing.B) {
	for _, set := range benchSets() {
		table := mustNew(b, set.FieldLens()...)
		if _, err := table.InsertAll(set.Pairs, 0); err != nil {
			b.Fatal(err)
		}
		for _, kind := range workload.KeyKinds() {
			const n = 1 << 14
			keys := set.Keys(kind, n, 1)
			k := set.KeyBytes()
			b.Run(fmt.Sprintf("%s/%s", set.Name, kind), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					at := i & (n - 1) * k
					table.Lookup(keys[at:at+k], 0)
				}
			})
		}
	}
}

// The linear scan that stands beside it.
func BenchmarkLinear(b *testing.B) {
	for _, set := range benchSets() {
		if set.Len() > 2000 {
			continue
		}
		table := mustNew(b, set.FieldLens()...)
		ref := newLinear(table)
		for i := range set.Len() {
			s, e := set.Element(i)
			ref.elems = append(ref.elems, linearElem{id: ID(i), start: s, end: e})
		}
		keys := set.Keys(workload.MatchRandom, 1<<12, 1)
		k := set.KeyBytes()
		b.Run(set.Name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				at := i & (1<<12 - 1) * k
				ref.lookup(keys[at:at+k], 0)
			}
		})
	}
}

func BenchmarkInsertAll(b *testing.B) {
	sets := append(benchSets(), workload.Random(100000, 1))
	for _, set := range sets {
		b.Run(set.Name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				table := mustNew(b, set.FieldLens()...)
				ids, _ := table.InsertAll(set.Pairs, 0)
				n = len(ids)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
		})
	}
}

func BenchmarkInsertOneByOne(b *testing.B) {
	for _, set := range []*workload.Set{workload.Random(1000, 1), workload.Random(10000, 1)} {
		b.Run(set.Name, func(b *testing.B) {
			for b.Loop() {
				table := mustNew(b, set.FieldLens()...)
				for i := range set.Len() {
					s, e := set.Element(i)
					_, _ = table.Insert(s, e, 0)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(set.Len()), "ns/elem")
		})
	}
}
