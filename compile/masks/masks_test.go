package masks

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// linear is the obvious reference.
type linear struct{ entries []entry }

type entry struct {
	mask, key []byte
	number    uint32
}

func (e *entry) holds(key []byte) bool {
	for i, m := range e.mask {
		if key[i]&m != e.key[i]&m {
			return false
		}
	}
	return true
}

func (l *linear) lookup(key []byte) (uint32, bool) {
	best, ok := uint32(0), false
	for i := range l.entries {
		if e := &l.entries[i]; e.holds(key) && (!ok || e.number < best) {
			best, ok = e.number, true
		}
	}
	return best, ok
}

func (l *linear) find(mask, key []byte) int {
	for i := range l.entries {
		e := &l.entries[i]
		if bytes.Equal(e.mask, mask) && e.holds(key) {
			return i
		}
	}
	return -1
}

func TestSequencesAgreeWithLinearScan(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 6000)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		runScript(t, 1+r.IntN(64), seed%3 == 0, script)
	}
}

func FuzzSequences(f *testing.F) {
	f.Add([]byte{4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 3 {
			runScript(t, 1+int(data[0])%64, data[1]&1 == 1, data[2:min(len(data), 5000)])
		}
	})
}

// runScript inserts, deletes, rebalances and looks up, with and without cache. Masks
// come and go, so cached places become stale all the time.
func runScript(t *testing.T, klen int, holes bool, script []byte) {
	table, err := New(Config{KeyBytes: klen, Holes: holes})
	if err != nil {
		t.Fatal(err)
	}
	ref := &linear{}
	cached, other := table.NewReader(), table.NewReader()
	next := func() byte {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return b
	}
	key := func() []byte {
		k := make([]byte, klen)
		k[0] = next() & 7
		k[klen-1] ^= next() & 3
		k[klen/2] ^= next() & 1
		return k
	}
	mask := func() []byte {
		m := make([]byte, klen)
		b := next()
		m[0] = b & 7
		if b&0x80 != 0 {
			m[klen-1] |= b >> 3 & 3
		}
		if b&0x40 != 0 {
			m[klen/2] |= b >> 5 & 1
		}
		return m
	}
	number := uint32(0)
	for len(script) > 0 {
		switch op := next(); {
		case op < 60:
			m, k := mask(), key()
			err := table.Insert(m, k, number)
			if want := ref.find(m, k) >= 0; errors.Is(err, ErrExists) != want || err != nil && !want {
				t.Fatalf("insert %x/%x: %v", k, m, err)
			}
			if err == nil {
				ref.entries = append(ref.entries, entry{m, k, number})
			}
			number++
		case op < 110:
			m, k := mask(), key()
			if n := len(ref.entries); n > 0 && op&1 == 0 {
				e := ref.entries[int(next())%n]
				m, k = e.mask, e.key
			}
			i := ref.find(m, k)
			got, ok := table.Delete(m, k)
			if ok != (i >= 0) || ok && got != ref.entries[i].number {
				t.Fatalf("delete %x/%x: %d %v", k, m, got, ok)
			}
			if ok {
				ref.entries = append(ref.entries[:i], ref.entries[i+1:]...)
			}
		case op < 112:
			table.Rebalance(cached, other)
		default:
			k := key()
			want, ok := ref.lookup(k)
			for name, lookup := range map[string]func() (uint32, bool){
				"plain":    func() (uint32, bool) { return table.Lookup(k) },
				"cached":   func() (uint32, bool) { return cached.Lookup(k, 1+uint32(k[0])) }, // many flows per hash
				"no cache": func() (uint32, bool) { return other.Lookup(k, 0) },
			} {
				if got, gotOK := lookup(); got != want && ok || gotOK != ok {
					t.Fatalf("%s lookup %x: %d %v, want %d %v", name, k, got, gotOK, want, ok)
				}
			}
		}
		if table.Len() != len(ref.entries) {
			t.Fatalf("%d entries, want %d", table.Len(), len(ref.entries))
		}
		checkArray(t, table)
	}
}

// checkArray looks at the array's rules: no holes, places in steps, never more than
// twice too large plus a step.
func checkArray(t *testing.T, table *Table) {
	t.Helper()
	n := 0
	for _, tu := range table.array {
		if tu != nil {
			n++
		} else if !table.cfg.Holes {
			t.Fatal("a hole in the array")
		}
	}
	if n != table.Masks() || n > table.size || table.size < ArrayStep || len(table.array) > table.size {
		t.Fatalf("%d masks, %d in the array, %d places", table.Masks(), n, table.size)
	}
	if !table.cfg.Holes && len(table.array) != n {
		t.Fatal("the array goes on behind the last mask")
	}
}

// byteMask makes masks and keys as the patch's scenario: ff:ff:ff:ff:ff:M over
// 00:M:00:00:00:00.
func scenarioFlow(m byte) (mask, key []byte) {
	return []byte{255, 255, 255, 255, 255, m}, []byte{0, m, 0, 0, 0, 0}
}

func TestArrayGrowsAndShrinks(t *testing.T) {
	table, _ := New(Config{KeyBytes: 6})
	sizes := []int{}
	note := func() {
		if n := len(sizes); n == 0 || sizes[n-1] != table.Places() {
			sizes = append(sizes, table.Places())
		}
	}
	for m := 1; m <= 160; m++ {
		mask, key := scenarioFlow(byte(m))
		if err := table.Insert(mask, key, uint32(m)); err != nil {
			t.Fatal(err)
		}
		note()
	}
	for m := 1; m <= 160; m++ {
		mask, key := scenarioFlow(byte(m))
		if _, ok := table.Delete(mask, key); !ok {
			t.Fatal(m)
		}
		note()
	}
	want := "[16 32 48 64 80 96 112 128 144 160 80 40 20]"
	if got := fmt.Sprint(sizes); got != want {
		t.Errorf("sizes %v, want %v", got, want)
	}
}

// A cached place whose mask was moved, deleted or replaced still leads to the right
// answer: this is what the patch's reviewers asked.
func TestCacheStaysCorrectWhenMasksMove(t *testing.T) {
	for _, disjoint := range []bool{false, true} {
		table, _ := New(Config{KeyBytes: 6, Disjoint: disjoint})
		r := table.NewReader()
		flows := map[byte]bool{}
		for m := byte(1); m <= 40; m++ {
			mask, key := scenarioFlow(m)
			if err := table.Insert(mask, key, uint32(m)); err != nil {
				t.Fatal(err)
			}
			flows[m] = true
		}
		check := func() {
			t.Helper()
			for m := byte(1); m <= 40; m++ {
				_, key := scenarioFlow(m)
				got, ok := r.Lookup(key, uint32(m)*0x01010101)
				if ok != flows[m] || ok && got != uint32(m) {
					t.Fatalf("flow %d: %d %v, want %v", m, got, ok, flows[m])
				}
			}
		}
		check()
		hits := r.Stats().CacheHits
		check()
		if got := r.Stats().CacheHits - hits; got != 40 {
			t.Fatalf("%d cache hits of 40", got)
		}
		for m := byte(1); m < 40; m += 2 { // the last mask moves into each gap
			mask, key := scenarioFlow(m)
			table.Delete(mask, key)
			delete(flows, m)
			check()
		}
		table.Rebalance(r)
		check()
		for m := byte(39); m >= 1 && m < 40; m -= 2 { // new masks at places of old ones
			mask, key := scenarioFlow(m)
			if err := table.Insert(mask, key, uint32(m)); err != nil {
				t.Fatal(err)
			}
			flows[m] = true
			check()
		}
	}
}

func TestRebalancePutsUsedMasksFirst(t *testing.T) {
	table, _ := New(Config{KeyBytes: 6, Disjoint: true})
	for m := byte(1); m <= 100; m++ {
		mask, key := scenarioFlow(m)
		if err := table.Insert(mask, key, uint32(m)); err != nil {
			t.Fatal(err)
		}
	}
	r := table.NewReader()
	_, key := scenarioFlow(100)
	tries := func() uint64 {
		before := r.Stats().MaskTries
		if got, ok := r.Lookup(key, 0); !ok || got != 100 {
			t.Fatal(got, ok)
		}
		return r.Stats().MaskTries - before
	}
	if got := tries(); got != 100 {
		t.Errorf("%d masks tried before", got)
	}
	table.Rebalance(r)
	if got := tries(); got != 1 {
		t.Errorf("%d masks tried after", got)
	}
}

func TestRefusals(t *testing.T) {
	for _, n := range []int{0, 65, -1} {
		if _, err := New(Config{KeyBytes: n}); err == nil {
			t.Errorf("keys of %d bytes are accepted", n)
		}
	}
	table, _ := New(Config{KeyBytes: 4})
	if err := table.Insert(make([]byte, 3), make([]byte, 4), 1); err == nil {
		t.Error("a short mask is accepted")
	}
	if _, ok := table.Lookup(make([]byte, 3)); ok {
		t.Error("a short key matches")
	}
	// The mask of no bits matches everything.
	if err := table.Insert(make([]byte, 4), make([]byte, 4), 7); err != nil {
		t.Fatal(err)
	}
	if n, ok := table.Lookup([]byte{9, 9, 9, 9}); !ok || n != 7 {
		t.Error("the empty mask does not match")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	table, _ := New(Config{KeyBytes: 6})
	mask, key := scenarioFlow(3)
	if err := table.Insert(mask, key, 1); err != nil {
		t.Fatal(err)
	}
	r := table.NewReader()
	r.Lookup(key, 5)
	if n := testing.AllocsPerRun(10, func() { table.Lookup(key); r.Lookup(key, 5); r.Lookup(key, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The patch's scenario: 161 masks, the first 100 deleted; a flow whose mask came
// between the two lots, and one that no mask has.
func BenchmarkScenario(b *testing.B) {
	target := []byte{0x98, 3, 0x9b, 0x6e, 0x4a, 0xf5}
	for _, holes := range []bool{true, false} {
		for _, cache := range []bool{false, true} {
			table, _ := New(Config{KeyBytes: 6, Disjoint: true, Holes: holes})
			for m := 1; m <= 160; m++ {
				mask, key := scenarioFlow(byte(m))
				_ = table.Insert(mask, key, uint32(m))
				if m == 100 {
					_ = table.Insert(bytes.Repeat([]byte{255}, 6), target, 0)
				}
			}
			for m := 1; m <= 100; m++ {
				mask, key := scenarioFlow(byte(m))
				table.Delete(mask, key)
			}
			for _, flow := range []struct {
				name string
				key  []byte
			}{{"flow", target}, {"miss", []byte{0x98, 3, 0x9b, 0x6e, 0x4a, 0xf6}}} {
				r := table.NewReader()
				name, hash := "dense", uint32(0)
				if holes {
					name = "holes"
				}
				if cache {
					name, hash = name+"/cache", 77
				}
				b.Run(name+"/"+flow.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						r.Lookup(flow.key, hash)
					}
				})
			}
		}
	}
}

func BenchmarkLookupByMasks(b *testing.B) {
	for _, n := range []int{1, 4, 16, 64} {
		table, _ := New(Config{KeyBytes: 8, Disjoint: true})
		r := rand.New(rand.NewPCG(1, 1))
		var keys []byte
		for i := range 4096 {
			key := make([]byte, 8)
			for k := range key {
				key[k] = byte(r.Uint32())
			}
			mask := bytes.Repeat([]byte{255}, 8)
			mask[7] = byte(i % n)
			_ = table.Insert(mask, key, uint32(i))
			keys = append(keys, key...)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				at := i & 4095 * 8
				table.Lookup(keys[at : at+8])
			}
		})
	}
}
