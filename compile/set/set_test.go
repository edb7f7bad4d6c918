package set

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo/workload"
)

// fields describes a key.
func fields(lens ...uint16) []bytecode.Field {
	var out []bytecode.Field
	for _, l := range lens {
		out = append(out, bytecode.Field{Len: l})
	}
	return out
}

// randomKey draws from few values per byte, so that keys meet.
func randomKey(r *rand.Rand, fs []bytecode.Field) []byte {
	var key []byte
	for _, f := range fs {
		k := make([]byte, f.Len)
		k[len(k)-1] = byte(r.UintN(256))
		if r.UintN(4) == 0 {
			k[r.IntN(len(k))] = byte(r.UintN(256))
		}
		key = append(key, k...)
		if len(fs) > 1 {
			key = append(key, make([]byte, f.Padded()-int(f.Len))...)
		}
	}
	return key
}

// randomSet makes a set that the kernel would take.
func randomSet(r *rand.Rand) *bytecode.Set {
	s := &bytecode.Set{Name: "s"}
	n := 1
	if r.UintN(2) == 0 {
		n = 2 + r.IntN(3)
	}
	for range n {
		s.Key = append(s.Key, bytecode.Field{Len: []uint16{1, 2, 4, 6, 8, 16, 3}[r.IntN(7)]})
	}
	if n == 1 && r.UintN(5) == 0 {
		s.Key[0].Len = 20
	}
	if n > 1 {
		s.Flags |= bytecode.SetConcat
	}
	if r.UintN(3) == 0 {
		s.Flags |= bytecode.SetTimeout
		s.Timeout = time.Duration(r.IntN(3)) * time.Second
	}
	interval := r.UintN(2) == 0
	if interval {
		s.Flags |= bytecode.SetInterval
	}
	count := r.IntN(200)
	switch {
	case interval && n == 1:
		var keys [][]byte
		for range 2 * count {
			keys = append(keys, randomKey(r, s.Key))
		}
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
		if r.UintN(2) == 0 {
			s.Elements = append(s.Elements, bytecode.Element{Key: make([]byte, s.KeyLen()), Flags: bytecode.ElemIntervalEnd})
		}
		start := false
		for _, k := range keys {
			e := bytecode.Element{Key: k}
			if start && r.UintN(4) != 0 {
				e.Flags = bytecode.ElemIntervalEnd
			}
			start = e.Flags == 0
			s.Elements = append(s.Elements, e)
			if !start && r.UintN(4) == 0 {
				s.Elements = append(s.Elements, bytecode.Element{Key: k})
				start = true
			}
		}
		r.Shuffle(len(s.Elements), func(i, j int) { s.Elements[i], s.Elements[j] = s.Elements[j], s.Elements[i] })
	case interval:
		l, err := NewLoader(s)
		if err != nil {
			panic(err)
		}
		for range count {
			e := bytecode.Element{Key: randomKey(r, s.Key)}
			if r.UintN(3) != 0 {
				e.KeyEnd = slices.Clone(e.Key)
				at := 0
				for _, f := range s.Key {
					last := at + int(f.Len) - 1
					e.KeyEnd[last] = max(e.Key[last], byte(r.UintN(256)))
					if r.UintN(2) == 0 {
						e.KeyEnd[last] = min(255, e.Key[last]|7)
					}
					at += f.Padded()
				}
			}
			if l.Add([]bytecode.Element{e}, true) == nil {
				s.Elements = append(s.Elements, e)
			}
		}
	default:
		seen := map[string]bool{}
		for range count {
			k := randomKey(r, s.Key)
			if !seen[string(k)] {
				seen[string(k)] = true
				s.Elements = append(s.Elements, bytecode.Element{Key: k})
			}
		}
	}
	if r.UintN(3) == 0 {
		s.Elements = append(s.Elements, bytecode.Element{Flags: bytecode.ElemCatchall})
	}
	if s.Flags&bytecode.SetTimeout != 0 {
		for i := range s.Elements {
			if e := &s.Elements[i]; e.Flags&bytecode.ElemIntervalEnd == 0 && r.UintN(2) == 0 {
				e.Attrs = &bytecode.ElementAttrs{Timeout: time.Duration(r.IntN(4)) * time.Second, TimeoutSet: true}
			}
		}
	}
	return s
}

func TestBackendsAgreeWithLinearScan(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		agree(t, seed, randomSet(r), r)
	}
}

func FuzzBackends(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		agree(t, a, randomSet(r), r)
	})
}

func agree(t *testing.T, seed uint64, s *bytecode.Set, r *rand.Rand) {
	t.Helper()
	now := int64(0)
	clock := func() int64 { return now }
	ref, err := Build(s, Options{Backend: Linear, Now: clock})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	tables := []*Table{}
	for _, b := range append(Backends(), Auto) {
		if ok, _ := b.Suits(s); !ok && b != Auto {
			if _, err := Build(s, Options{Backend: b}); err == nil {
				t.Fatalf("seed %d: %v builds what it does not suit", seed, b)
			}
			continue
		}
		table, err := Build(s, Options{Backend: b, Now: clock})
		if err != nil {
			t.Fatalf("seed %d: %v: %v", seed, b, err)
		}
		tables = append(tables, table)
	}
	keys := []byte{}
	want := []Ref{}
	for i := range 300 {
		key := randomKey(r, s.Key)
		if len(s.Elements) > 0 && i%2 == 0 {
			if e := s.Elements[r.IntN(len(s.Elements))]; e.Key != nil {
				key = slices.Clone(e.Key)
				key[int(s.Key[0].Len)-1] += byte(r.UintN(3)) - 1
			}
		}
		if i == 200 {
			now = int64(time.Second)
			keys, want = nil, nil
		}
		w, wok := ref.Lookup(key)
		for _, table := range tables {
			if g, ok := table.Lookup(key); g != w || ok != wok {
				t.Fatalf("seed %d: %v finds %d %v for %x, linear scan %d %v", seed, table.Backend(), g, ok, key, w, wok)
			}
			if _, ok := table.Lookup(key[:len(key)-1]); ok {
				t.Fatalf("seed %d: %v takes a short key", seed, table.Backend())
			}
		}
		keys, want = append(keys, key...), append(want, w)
	}
	for _, table := range tables {
		out := make([]Ref, len(want))
		for _, ahead := range []Ahead{table.Ahead(), {}, {Distance: 1}, {Distance: 5, Touch: true}, {Distance: 40}, {Distance: 1000}} {
			table.SetAhead(ahead)
			clear(out)
			table.LookupBatch(keys, out)
			if !slices.Equal(out, want) {
				t.Fatalf("seed %d: %v: batch gives other answers with %+v", seed, table.Backend(), ahead)
			}
		}
	}
}

// Packets add, refresh and delete; hash and linear scan go the same way.
func TestDynamicSetsAgree(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		lens := [][]uint16{{4}, {2}, {16}, {4, 2}, {20}, {1}}[r.IntN(6)]
		s := &bytecode.Set{Name: "d", Key: fields(lens...), Flags: bytecode.SetEval, Size: uint32(r.IntN(40))}
		if r.UintN(2) == 0 {
			s.Flags |= bytecode.SetTimeout
			s.Timeout = 5 * time.Second
		}
		now := int64(0)
		opts := Options{Now: func() int64 { return now }}
		a, err := Build(s, opts)
		if err != nil {
			t.Fatal(err)
		}
		if a.Backend() != Hash {
			t.Fatalf("packets change a %v", a.Backend())
		}
		opts.Backend = Linear
		b, err := Build(s, opts)
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			key := randomKey(r, s.Key)
			now += int64(r.IntN(int(time.Second) / 2))
			switch r.UintN(4) {
			case 0, 1:
				timeout, refresh := time.Duration(r.IntN(3))*time.Second, r.UintN(2) == 0
				_, added1, ok1 := a.Update(key, timeout, refresh, nil)
				_, added2, ok2 := b.Update(key, timeout, refresh, nil)
				if added1 != added2 || ok1 != ok2 || a.Len() != b.Len() {
					t.Fatalf("seed %d: update %x: %v %v of %d, linear scan %v %v of %d", seed, key, added1, ok1, a.Len(), added2, ok2, b.Len())
				}
			case 2:
				_, ok1 := a.Delete(key)
				_, ok2 := b.Delete(key)
				if ok1 != ok2 {
					t.Fatalf("seed %d: delete %x: %v, linear scan %v", seed, key, ok1, ok2)
				}
			default:
				r1, ok1 := a.Lookup(key)
				_, ok2 := b.Lookup(key)
				if ok1 != ok2 || ok1 && !bytes.Equal(a.Element(r1).Key, key) {
					t.Fatalf("seed %d: lookup %x: %v, linear scan %v", seed, key, ok1, ok2)
				}
			}
		}
		n := 0
		a.Walk(func(r Ref) bool { n++; return true })
		m := 0
		b.Walk(func(r Ref) bool { m++; return true })
		if n != m || n > a.Len() {
			t.Fatalf("seed %d: walk gives %d, linear scan %d, of %d", seed, n, m, a.Len())
		}
	}
}

func TestUpdateIsRefusedWhereTheKernelHasNone(t *testing.T) {
	s := &bytecode.Set{Key: fields(4), Flags: bytecode.SetInterval, Elements: []bytecode.Element{{Key: []byte{1, 2, 3, 4}}}}
	table, err := Build(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := table.Update([]byte{1, 2, 3, 4}, 0, false, nil); ok {
		t.Error("a packet updates an interval set")
	}
	if ref, ok := table.Lookup([]byte{255, 255, 255, 255}); !ok || ref != 0 {
		t.Error("an open interval ends")
	}
}

func TestBuildRefuses(t *testing.T) {
	tests := []struct {
		name string
		set  bytecode.Set
	}{
		{"wrong key length", bytecode.Set{Key: fields(4), Elements: []bytecode.Element{{Key: []byte{1}}}}},
		{"wrong upper key length", bytecode.Set{Key: fields(4, 2), Flags: bytecode.SetInterval | bytecode.SetConcat,
			Elements: []bytecode.Element{{Key: make([]byte, 8), KeyEnd: []byte{1}}}}},
		{"the same key twice", bytecode.Set{Key: fields(4), Elements: []bytecode.Element{{Key: make([]byte, 4)}, {Key: make([]byte, 4)}}}},
		{"the same key twice in a bitmap", bytecode.Set{Key: fields(2), Elements: []bytecode.Element{{Key: make([]byte, 2)}, {Key: make([]byte, 2)}}}},
		{"two starts", bytecode.Set{Key: fields(4), Flags: bytecode.SetInterval, Elements: []bytecode.Element{{Key: make([]byte, 4)}, {Key: make([]byte, 4)}}}},
	}
	for _, tt := range tests {
		if _, err := Build(&tt.set, Options{}); err == nil {
			t.Errorf("%s is accepted", tt.name)
		}
	}
}

func TestBackendNames(t *testing.T) {
	for _, b := range append(Backends(), Auto) {
		got, err := ParseBackend(b.String())
		if err != nil || got != b {
			t.Errorf("%v: %v %v", b, got, err)
		}
	}
	if _, err := ParseBackend("hsh"); err == nil {
		t.Error("an unknown name is accepted")
	}
	if Backend(200).String() == "" {
		t.Error("no name")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := randomSet(r)
		table, err := Build(s, Options{Now: func() int64 { return 0 }})
		if err != nil {
			t.Fatal(err)
		}
		key := randomKey(r, s.Key)
		table.Lookup(key)
		if n := testing.AllocsPerRun(5, func() { table.Lookup(key) }); n != 0 {
			t.Errorf("%v: %v allocations", table.Backend(), n)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{10, 1000, 100000} {
		for _, kind := range []string{"hash4", "hash16", "intervals4", "intervals16", "bitmap2"} {
			r := rand.New(rand.NewPCG(1, 1))
			s := &bytecode.Set{Key: fields(4)}
			if kind[len(kind)-2:] == "16" {
				s.Key = fields(16)
			}
			if kind == "bitmap2" {
				s.Key = fields(2)
				if n > 10000 {
					continue
				}
			}
			if kind[0] == 'i' {
				s.Flags = bytecode.SetInterval
			}
			seen := map[string]bool{}
			for len(s.Elements) < n {
				k := make([]byte, s.KeyLen())
				for i := range k {
					k[i] = byte(r.UintN(256))
				}
				if !seen[string(k)] {
					seen[string(k)] = true
					s.Elements = append(s.Elements, bytecode.Element{Key: k})
				}
			}
			table, err := Build(s, Options{})
			if err != nil {
				b.Fatal(err)
			}
			order := r.Perm(n)
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					table.Lookup(s.Elements[order[i%n]].Key)
				}
			})
		}
	}
}

// setOf makes a set of a workload's elements.
func setOf(w *workload.Set) *bytecode.Set {
	s := &bytecode.Set{Name: w.Name, Flags: bytecode.SetInterval | bytecode.SetConcat}
	for _, c := range w.Columns {
		s.Key = append(s.Key, bytecode.Field{Len: uint16(c.Bytes())})
	}
	for i := range w.Len() {
		lo, hi := w.Element(i)
		s.Elements = append(s.Elements, bytecode.Element{Key: lo, KeyEnd: hi})
	}
	return s
}

func BenchmarkRanges(b *testing.B) {
	sets := []*workload.Set{workload.Random(1000, 1), workload.Random(10000, 1)}
	for _, s := range workload.Shapes() {
		sets = append(sets, s.Elements())
	}
	for _, w := range sets {
		s := setOf(w)
		chosen, why := choose(s)
		b.Logf("%s: %v: %s", w.Name, chosen, why)
		keys := w.Keys(workload.MatchRandom, 1<<12, 1)
		n := w.KeyBytes()
		for _, backend := range []Backend{Pipapo, Masks, Segments} {
			table, err := Build(s, Options{Backend: backend})
			if err != nil {
				continue
			}
			b.Run(fmt.Sprintf("%s/%v", w.Name, backend), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					at := i & (1<<12 - 1) * n
					table.Lookup(keys[at : at+n])
				}
			})
		}
	}
}

// A catch-all answers lookups, but to packets that change the set it is no element.
func TestUpdateIgnoresTheCatchall(t *testing.T) {
	s := &bytecode.Set{Key: fields(4), Flags: bytecode.SetEval, Elements: []bytecode.Element{{Flags: bytecode.ElemCatchall}}}
	table, err := Build(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := []byte{1, 2, 3, 4}
	if ref, ok := table.Lookup(key); !ok || ref != 0 {
		t.Error("the catch-all does not match")
	}
	if _, ok := table.Find(key); ok {
		t.Error("the catch-all is found for a key")
	}
	ref, added, ok := table.Update(key, 0, false, nil)
	if !added || !ok || ref != 1 {
		t.Errorf("update: %d %v %v", ref, added, ok)
	}
	if got, ok := table.Lookup(key); !ok || got != ref {
		t.Errorf("lookup: %d %v", got, ok)
	}
	if _, ok := table.Delete([]byte{9, 9, 9, 9}); ok {
		t.Error("the catch-all is deleted")
	}
}
