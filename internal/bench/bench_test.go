package bench

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nftc/nftc/compile/pipapo/workload"
	"github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/eval/kernel"
)

func runCases(b *testing.B, prefix string, cases []Case) {
	for _, c := range cases {
		b.Run(prefix+"/"+c.Name, func(b *testing.B) {
			b.ReportAllocs()
			c.Run(64) // warm
			b.ResetTimer()
			c.Run(b.N)
		})
	}
}

// BenchmarkPipapo is `nftc bench pipapo`.
func BenchmarkPipapo(b *testing.B) {
	for _, w := range RangeWorkloads() {
		if testing.Short() && w.Len() > 20000 {
			continue
		}
		cases, err := RangeCases(w, workload.MatchRandom)
		if err != nil {
			b.Fatal(err)
		}
		runCases(b, w.Name, cases)
	}
}

// BenchmarkMasks is `nftc bench masks`.
func BenchmarkMasks(b *testing.B) {
	for _, tr := range MaskTraffics() {
		cases, _, err := MaskCases(tr)
		if err != nil {
			b.Fatal(err)
		}
		runCases(b, tr.Name, cases)
	}
}

// BenchmarkPrefetch is `nftc bench prefetch`.
func BenchmarkPrefetch(b *testing.B) {
	for _, backend := range PrefetchBackends() {
		for _, d := range Densities(1 << 20) {
			cases, _, err := PrefetchCases(backend, d)
			if err != nil {
				b.Fatal(err)
			}
			runCases(b, backend+"/"+d.Name(), cases)
		}
	}
}

// BenchmarkSize shows how a lookup grows with the number of elements.
func BenchmarkSize(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000, 100000, 1000000} {
		w := workload.Random(n, 1)
		keys := w.Keys(workload.MatchRandom, keyCount, 1)
		t, err := set.Build(SetOf(w), set.Options{})
		if err != nil {
			b.Fatal(err)
		}
		runCases(b, fmt.Sprintf("ranges/%d", n), []Case{{Name: t.Backend().String(), Run: tableCase(t, keys)}, {Name: "batch", Run: batchCase(t, keys)}})
		exact := exactSet(w)
		if t, err = set.Build(exact, set.Options{}); err != nil {
			b.Fatal(err)
		}
		keys = keys[:0]
		for i := range keyCount {
			keys = append(keys, exact.Elements[i*7919%n].Key...)
		}
		runCases(b, fmt.Sprintf("exact/%d", n), []Case{{Name: t.Backend().String(), Run: tableCase(t, keys)}, {Name: "batch", Run: batchCase(t, keys)}})
	}
}

func TestMeasureCountsOperations(t *testing.T) {
	slow := Case{Run: func(n int) {
		for end := threadTime() + time.Duration(n)*10*time.Microsecond; threadTime() < end; {
		}
	}}
	fast := Case{Run: func(n int) {
		for end := threadTime() + time.Duration(n)*time.Microsecond; threadTime() < end; {
		}
	}}
	st := Measure([]Case{slow, fast}, Options{Slices: 3, Slice: time.Millisecond})
	if st[0].Median < 9000 || st[1].Median < 900 || st[0].Median < 3*st[1].Median || st[0].Best > st[0].Median {
		t.Errorf("10 µs and 1 µs measured as %+v", st)
	}
}

// All cases of a workload find what they should: the elements that the keys were
// made of.
func TestRangeWorkloadsAreFound(t *testing.T) {
	for _, w := range RangeWorkloads() {
		if w.Len() > 20000 {
			continue
		}
		table, err := set.Build(SetOf(w), set.Options{})
		if err != nil {
			t.Fatal(err)
		}
		keys := w.Keys(workload.MatchRandom, 500, 3)
		for i := range 500 {
			if _, ok := table.Lookup(keys[i*w.KeyBytes() : (i+1)*w.KeyBytes()]); !ok {
				t.Fatalf("%s: key %d is not found", w.Name, i)
			}
		}
	}
}

func TestMaskScenario(t *testing.T) {
	for _, tr := range MaskTraffics() {
		rows, err := MeasureMasks(tr, Options{Slices: 1, Slice: 100 * time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			want := 1.0
			if !tr.Known {
				want = 0
			}
			if r.Matches != want {
				t.Errorf("%s, %s: %.2f of the packets match, want %.0f", tr.Name, r.Array, r.Matches, want)
			}
			if places := map[string]int{"holes": 161, "dense": 61, "sorted": 61}[r.Array]; r.Places != places {
				t.Errorf("%s, %s: %d places, want %d", tr.Name, r.Array, r.Places, places)
			}
		}
	}
}

func TestPrefetchRow(t *testing.T) {
	for _, backend := range PrefetchBackends() {
		row, err := MeasurePrefetch(backend, Density{1000, 40000}, Options{Slices: 1, Slice: 100 * time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		if len(row.Touch) != len(Distances()) || row.Default != 0 || row.Gain < 1 {
			t.Errorf("%s: %+v", backend, row)
		}
	}
}

func TestKernelLookup(t *testing.T) {
	st, err := KernelLookup(workload.Shapes()[1].Elements(), workload.MatchRandom, Options{Slices: 3})
	if errors.Is(err, kernel.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if st.Median < 5 || st.Median > 10000 {
		t.Errorf("a lookup takes %.1f ns", st.Median)
	}
}
