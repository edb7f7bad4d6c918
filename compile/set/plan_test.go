package set

import (
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo/workload"
)

// What nft_select_set_ops picks.
func TestKernelBackend(t *testing.T) {
	const (
		interval = bytecode.SetInterval
		concat   = bytecode.SetConcat
	)
	tests := []struct {
		name   string
		lens   []uint16
		flags  bytecode.SetFlags
		size   uint32
		memory bool
		exprs  bool
		noAVX2 bool
		want   KernelBackend
	}{
		{name: "plain address", lens: []uint16{4}, want: KernelRHash},
		{name: "plain address with a size", lens: []uint16{4}, size: 100, want: KernelHashFast},
		{name: "IPv6 address with a size", lens: []uint16{16}, size: 100, want: KernelHash},
		{name: "port", lens: []uint16{2}, want: KernelBitmap},
		{name: "port with a size", lens: []uint16{2}, size: 5, want: KernelBitmap},
		{name: "protocol", lens: []uint16{1}, flags: bytecode.SetAnonymous | bytecode.SetConstant, want: KernelBitmap},
		{name: "port with counters", lens: []uint16{2}, exprs: true, want: KernelRHash},
		{name: "port with counters and a size", lens: []uint16{2}, exprs: true, size: 10, want: KernelHash},
		{name: "port map", lens: []uint16{2}, flags: bytecode.SetMap, want: KernelRHash},
		{name: "port with timeouts", lens: []uint16{2}, flags: bytecode.SetTimeout, want: KernelRHash},
		{name: "dynamic", lens: []uint16{4}, flags: bytecode.SetEval | bytecode.SetTimeout, size: 65535, want: KernelRHash},
		{name: "object map", lens: []uint16{4}, flags: bytecode.SetObject, want: KernelRHash},
		{name: "intervals", lens: []uint16{4}, flags: interval, want: KernelRBTree},
		{name: "port intervals", lens: []uint16{2}, flags: interval, size: 9, want: KernelRBTree},
		{name: "interval map with timeouts", lens: []uint16{4}, flags: interval | bytecode.SetMap | bytecode.SetTimeout, want: KernelRBTree},
		{name: "dynamic intervals", lens: []uint16{4}, flags: interval | bytecode.SetEval, want: KernelNone},
		{name: "dynamic concatenated intervals", lens: []uint16{4, 2}, flags: interval | concat | bytecode.SetEval, want: KernelNone},
		{name: "concatenation", lens: []uint16{4, 2}, flags: concat, want: KernelRHash},
		{name: "concatenation with a size", lens: []uint16{4, 2}, flags: concat, size: 10, want: KernelHash},
		{name: "concatenated ranges", lens: []uint16{4, 2}, flags: concat | interval, want: KernelPipapoAVX2},
		{name: "concatenated ranges without AVX2", lens: []uint16{4, 2}, flags: concat | interval, noAVX2: true, want: KernelPipapo},
		{name: "policy memory, no size", lens: []uint16{4}, memory: true, want: KernelRHash},
		{name: "policy memory, size", lens: []uint16{4}, memory: true, size: 100, want: KernelRBTree},
		{name: "policy memory, port", lens: []uint16{2}, memory: true, want: KernelBitmap},
		{name: "policy memory, port with a small size", lens: []uint16{2}, memory: true, size: 100, want: KernelRBTree},
		{name: "policy memory, concatenation with a size", lens: []uint16{4, 2}, flags: concat, memory: true, size: 100, want: KernelHash},
		{name: "policy memory, port with a large size", lens: []uint16{2}, memory: true, size: 1000, want: KernelBitmap},
		{name: "a field of 17 bytes", lens: []uint16{4, 17}, flags: concat | interval, want: KernelNone},
	}
	for _, tt := range tests {
		s := &bytecode.Set{Name: "s", Key: fields(tt.lens...), Flags: tt.flags, Size: tt.size}
		if tt.memory {
			s.Policy = bytecode.PolicyMemory
		}
		if tt.exprs {
			s.Exprs = []bytecode.Instr{&bytecode.Counter{}}
		}
		r := Plan(s, Machine{NoAVX2: tt.noAVX2}, Auto)
		if r.Kernel.Backend != tt.want {
			t.Errorf("%s: %v, want %v; %+v", tt.name, r.Kernel.Backend, tt.want, r.Kernel.Candidates)
		}
		if r.Kernel.Why == "" || len(r.Kernel.Candidates) != 7 {
			t.Errorf("%s: no reason given", tt.name)
		}
		for _, c := range r.Kernel.Candidates {
			if c.Why == "" || c.Backend.String() == "" {
				t.Errorf("%s: %v: no reason given", tt.name, c.Backend)
			}
		}
	}
}

func TestPlanOfPipapoSet(t *testing.T) {
	w := workload.Shapes()[0].Elements()
	s := &bytecode.Set{Name: "s", Key: fields(4, 2), Flags: bytecode.SetInterval | bytecode.SetConcat}
	for i := range w.Len() {
		lo, hi := w.Element(i)
		s.Elements = append(s.Elements, bytecode.Element{Key: lo, KeyEnd: hi})
	}
	s.Elements = append(s.Elements, bytecode.Element{Flags: bytecode.ElemCatchall})
	r := Plan(s, Machine{CPUs: 2}, Auto)
	if r.Elements != 1002 || !r.Catchall || r.Kernel.Err != nil {
		t.Errorf("%+v", r)
	}
	if f := r.Kernel.Fields; len(f) != 2 || f[0].LookupBytes != 131072 || f[1].Rules != 1001 {
		t.Errorf("fields %+v", f)
	}
	// 16 bytes of extension offsets and two keys of 8 bytes: slab of 32, and 8 for the
	// control group.
	if want := uint64(1001*(32+8) + 32 + 8 + 64 + 8); r.Kernel.ElementBytes != want {
		t.Errorf("elements take %d bytes, want %d", r.Kernel.ElementBytes, want)
	}
	// All elements are a /31 and a /15: one mask.
	if r.Offline.Backend != Masks || r.Offline.Bytes == 0 {
		t.Errorf("offline %+v", r.Offline)
	}
	if r = Plan(s, Machine{}, Pipapo); r.Offline.Backend != Pipapo || r.Offline.Bytes < 212624 {
		t.Errorf("offline, forced: %+v", r.Offline)
	}
	forced := Plan(s, Machine{}, Hash)
	if forced.Offline.Backend != Masks {
		t.Errorf("a hash for ranges: %+v", forced.Offline)
	}
}

func TestKernelMemoryFormulas(t *testing.T) {
	if got := bitmapBytes(1); got != 64 {
		t.Errorf("bitmap of 8-bit keys: %d", got)
	}
	if got := bitmapBytes(2); got != 16384 {
		t.Errorf("bitmap of 16-bit keys: %d", got)
	}
	if got := hashBuckets(1000); got != 2048 {
		t.Errorf("hash buckets: %d", got)
	}
	for _, tt := range []struct {
		n    int
		want uint64
	}{{0, 4}, {3, 4}, {4, 8}, {6, 8}, {7, 16}, {1000, 2048}} {
		if got := rhashBuckets(0, tt.n); got != tt.want {
			t.Errorf("rhash with %d elements: %d buckets, want %d", tt.n, got, tt.want)
		}
	}
	for _, tt := range []struct {
		n    int
		anon bool
		want uint64
	}{{0, false, 0}, {1, false, 1024}, {2044, false, 1024}, {2046, false, 1536}, {16, true, 16}, {17, true, 32}, {513, true, 768}} {
		if got := rbtreeIntervals(tt.n, tt.anon); got != tt.want {
			t.Errorf("rbtree with %d points: %d intervals, want %d", tt.n, got, tt.want)
		}
	}
	for _, tt := range [][2]uint64{{0, 0}, {1, 8}, {24, 32}, {65, 96}, {97, 128}, {129, 192}, {200, 256}, {8192, 8192}, {8193, 16384}, {5 << 20, 5 << 20}, {5<<20 + 1, 5<<20 + 4096}} {
		if got := kmallocBytes(tt[0]); got != tt[1] {
			t.Errorf("kmalloc(%d): %d, want %d", tt[0], got, tt[1])
		}
	}
}

func TestNames(t *testing.T) {
	for k := KernelNone; k <= KernelPipapo; k++ {
		if k.String() == "" {
			t.Errorf("kernel back end %d has no name", k)
		}
	}
	for c := O1; c <= ON; c++ {
		if c.String()[0] != 'O' {
			t.Errorf("class %d has no name", c)
		}
	}
	if KernelBackend(99).String() == "" || Class(99).String() == "" {
		t.Error("no name")
	}
}

// Memory that a 6.18 kernel with two CPUs charged to a control group for such sets
// (memory.kmem.usage_in_bytes before and after loading; rhash's buckets are not
// charged).
func TestKernelMemoryAsMeasured(t *testing.T) {
	address := func(i int) []byte { return []byte{10, byte(i >> 16), byte(i >> 8), byte(i)} }
	exact := func(n int) (out []bytecode.Element) {
		for i := range n {
			out = append(out, bytecode.Element{Key: address(i)})
		}
		return out
	}
	ranges := func(n int) (out []bytecode.Element) {
		for i := range n {
			port := i%65534 + 1
			key := append(address(i), byte(port>>8), byte(port), 0, 0)
			port++
			out = append(out, bytecode.Element{Key: key, KeyEnd: append(address(i), byte(port>>8), byte(port), 0, 0)})
		}
		return out
	}
	points := []bytecode.Element{{Key: make([]byte, 4), Flags: bytecode.ElemIntervalEnd}}
	for i := range 20000 {
		points = append(points, bytecode.Element{Key: address(2 * i)},
			bytecode.Element{Key: address(2*i + 1), Flags: bytecode.ElemIntervalEnd})
	}
	concat := bytecode.SetInterval | bytecode.SetConcat
	counter := []bytecode.Instr{&bytecode.Counter{}}
	tests := []struct {
		name      string
		set       bytecode.Set
		uncharged uint64
		measured  float64
	}{
		{"hash", bytecode.Set{Key: fields(4), Size: 50000, Elements: exact(50000)}, 0, 5701632},
		{"rhash", bytecode.Set{Key: fields(4), Elements: exact(50000)}, 2 << 20, 3596288},
		{"rhash with counters", bytecode.Set{Key: fields(4), Exprs: counter, Elements: exact(50000)}, 2 << 20, 8404992},
		{"rbtree", bytecode.Set{Key: fields(4), Flags: bytecode.SetInterval, Elements: points}, 0, 3407872},
		{"pipapo 500", bytecode.Set{Key: fields(4, 2), Flags: concat, Elements: ranges(500)}, 0, 237568},
		{"pipapo 5000", bytecode.Set{Key: fields(4, 2), Flags: concat, Elements: ranges(5000)}, 0, 1916928},
		{"pipapo 20000", bytecode.Set{Key: fields(4, 2), Flags: concat, Elements: ranges(20000)}, 0, 3952640},
	}
	for _, tt := range tests {
		tt.set.Name = "s"
		r := Plan(&tt.set, Machine{CPUs: 2}, Auto)
		got := float64(r.Kernel.Bytes() - tt.uncharged)
		if d := got/tt.measured - 1; d < -0.01 || d > 0.01 {
			t.Errorf("%s: %.0f bytes planned, %.0f measured: %+.1f %%", tt.name, got, tt.measured, 100*d)
		}
	}
}
