package pipapo

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/nftc/nftc/compile/pipapo/workload"
)

// linear is the obvious reference: elements in order of insertion.
type linear struct {
	fields []field // lengths and offsets only
	keys   int
	elems  []linearElem
}

type linearElem struct {
	id         ID
	start, end []byte
	expires    int64
}

func newLinear(t *Table) *linear { return &linear{fields: t.fields, keys: t.keyBytes} }

func (l *linear) lookup(key []byte, now int64) (ID, bool) {
	for _, e := range l.elems {
		if e.expires != 0 && e.expires <= now {
			continue
		}
		if l.holds(e, key) {
			return e.id, true
		}
	}
	return 0, false
}

func (l *linear) holds(e linearElem, key []byte) bool {
	for i := range l.fields {
		f := &l.fields[i]
		s := slice(key, f)
		if bytes.Compare(s, slice(e.start, f)) < 0 || bytes.Compare(s, slice(e.end, f)) > 0 {
			return false
		}
	}
	return true
}

func slice(key []byte, f *field) []byte { return key[f.offset : f.offset+f.length] }

// insert gives the error number of the kernel's rules, 0 for success.
func (l *linear) insert(start, end []byte, now int64) Errno {
	if id, ok := l.lookup(start, now); ok {
		for _, e := range l.elems {
			if e.id == id && bytes.Equal(e.start, start) && bytes.Equal(e.end, end) {
				return EEXIST
			}
		}
		return ENOTEMPTY
	}
	if _, ok := l.lookup(end, now); ok {
		return ENOTEMPTY
	}
	for i := range l.fields {
		if bytes.Compare(slice(start, &l.fields[i]), slice(end, &l.fields[i])) > 0 {
			return EINVAL
		}
	}
	return 0
}

func (l *linear) remove(id ID) {
	l.elems = slices.DeleteFunc(l.elems, func(e linearElem) bool { return e.id == id })
}

func mustNew(tb testing.TB, lens ...int) *Table {
	tb.Helper()
	t, err := New(lens)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// content is everything that must agree between two tables built in different
// ways: the kernel's accounting, the bits and the mappings.
type content struct {
	Report []FieldReport
	Bits   [][]uint64
	Maps   [][]mapping
	Alloc  []uint64
}

func contentOf(t *Table) content {
	c := content{Report: t.Fields(), Alloc: t.Allocations(2)}
	for i := range t.fields {
		f := &t.fields[i]
		var all []uint64
		for b := range f.buckets() {
			row := f.lt[b*f.stride : (b+1)*f.stride]
			all = append(all, row[:f.bsize]...)
		}
		c.Bits = append(c.Bits, all)
		c.Maps = append(c.Maps, slices.Clone(f.mt))
	}
	return c
}

// checkInvariants looks at what lookups and conversions rely on.
func checkInvariants(tb testing.TB, t *Table) {
	tb.Helper()
	for i := range t.fields {
		f := &t.fields[i]
		if f.bsize != bucketLongs(f.rules) || f.stride < f.bsize || len(f.mt) != f.rules ||
			len(f.lt) != f.buckets()*f.stride || f.groups*f.groupBits != f.length*8 {
			tb.Fatalf("field %d: rules %d bsize %d stride %d mt %d lt %d groups %d bits %d",
				i, f.rules, f.bsize, f.stride, len(f.mt), len(f.lt), f.groups, f.groupBits)
		}
		for b := range f.buckets() {
			row := f.lt[b*f.stride : (b+1)*f.stride]
			for r := f.rules; r < f.stride*longBits; r++ {
				if row[r/longBits]>>(r%longBits)&1 != 0 {
					tb.Fatalf("field %d bucket %d: bit of rule %d of %d is set", i, b, r, f.rules)
				}
			}
		}
	}
	for _, m := range t.reader.maps {
		for _, w := range m {
			if w != 0 {
				tb.Fatal("a lookup left bits in its scratch area")
			}
		}
	}
}

// Rules, widths, bucket sizes and bytes of the selftest's shapes, measured with
// the kernel's own code (nft_set_pipapo.c of 7.2 compiled for user space).
func TestShapesHaveTheKernelsTables(t *testing.T) {
	type row struct{ rules, bits, groups, longs, bytes int }
	tests := []struct {
		name   string
		fields []row
		total  uint64
	}{
		{"net,port", []row{{1001, 8, 4, 16, 131072}, {1001, 8, 2, 16, 65536}}, 212624},
		{"port,net", []row{{101, 8, 2, 4, 16384}, {101, 8, 4, 4, 32768}}, 50768},
		{"net6,port", []row{{1001, 8, 16, 16, 524288}, {2002, 8, 2, 32, 131072}}, 679384},
		{"port,proto", []row{{30001, 8, 2, 472, 1933312}, {30001, 8, 1, 472, 966656}}, 3379984},
		{"net6,port,mac", []row{{11, 8, 16, 4, 131072}, {22, 8, 2, 4, 16384}, {11, 8, 6, 4, 49152}}, 196960},
		{"net6,port,mac,proto", []row{{1001, 8, 16, 16, 524288}, {2002, 8, 2, 32, 131072}, {1001, 8, 6, 16, 196608}, {1001, 8, 1, 16, 32768}}, 924776},
		{"net,mac", []row{{1001, 8, 4, 16, 131072}, {2002, 8, 6, 32, 393216}}, 548312},
	}
	for i, s := range workload.Shapes() {
		tt := tests[i]
		if s.Name() != tt.name {
			t.Fatalf("shape %d is %s, want %s", i, s.Name(), tt.name)
		}
		set := s.Elements()
		table := mustNew(t, set.FieldLens()...)
		if _, err := table.InsertAll(set.Pairs, 0); err != nil {
			t.Fatal(err)
		}
		var got []row
		for _, f := range table.Fields() {
			got = append(got, row{f.Rules, f.GroupBits, f.Groups, f.BucketLongs, int(f.LookupBytes)})
		}
		if !reflect.DeepEqual(got, tt.fields) || table.Bytes() != tt.total {
			t.Errorf("%s: %v, %d bytes; want %v, %d", tt.name, got, table.Bytes(), tt.fields, tt.total)
		}
		checkInvariants(t, table)
	}
}

// The widths and bytes that the kernel's code has for large random sets follow
// from the number of rules.
func TestLargeTablesHaveTheKernelsSizes(t *testing.T) {
	tests := []struct {
		length, rules, bits, groups, longs, bytes int
	}{
		{4, 4217, 8, 4, 68, 557056},
		{2, 10821, 8, 2, 172, 704512},
		{4, 42285, 4, 8, 664, 679936},
		{2, 107577, 4, 4, 1684, 862208},
		{4, 422541, 4, 8, 6604, 6762496},
		{2, 1079842, 4, 4, 16876, 8640512},
	}
	for _, tt := range tests {
		f := field{length: tt.length, groupBits: 8, groups: tt.length, high: LookupSizeHigh}
		f.reserve(tt.rules)
		if f.groupBits != tt.bits || f.groups != tt.groups || f.bsize != tt.longs ||
			lookupBytes(f.groups, f.groupBits, f.bsize) != uint64(tt.bytes) {
			t.Errorf("%d rules: %d bits, %d groups, %d longs", tt.rules, f.groupBits, f.groups, f.bsize)
		}
	}
}

func TestEstimate(t *testing.T) {
	// ilog2(32)*2 = 10 rules of 32+8 bytes, ilog2(16)*2 = 8 of 32+8 bytes.
	if got, ok := Estimate([]int{4, 2}, 1000); !ok || got != 1000*(10*40+8*40)+48+64+64 {
		t.Errorf("net,port: %d %v", got, ok)
	}
	if got, ok := Estimate([]int{4, 2}, 0); !ok || got != 48+64+64 {
		t.Errorf("no size: %d %v", got, ok)
	}
	if _, ok := Estimate([]int{4, 17}, 1); ok {
		t.Error("a field of 17 bytes is accepted")
	}
}

func TestExpand(t *testing.T) {
	type rule struct {
		base uint64
		len  int
	}
	tests := []struct {
		start, end uint64
		width      int
		want       []rule
	}{
		{0, 255, 8, []rule{{0, 0}}},
		{0, 65535, 16, []rule{{0, 0}}},
		{5, 5, 8, []rule{{5, 8}}},
		{1, 255, 8, []rule{{1, 8}, {2, 7}, {4, 6}, {8, 5}, {16, 4}, {32, 3}, {64, 2}, {128, 1}}},
		{0, 254, 8, []rule{{0, 1}, {128, 2}, {192, 3}, {224, 4}, {240, 5}, {248, 6}, {252, 7}, {254, 8}}},
		{0xc0a80100, 0xc0a80201, 32, []rule{{0xc0a80100, 24}, {0xc0a80200, 31}}},
		{1024, 65535, 16, []rule{{1024, 6}, {2048, 5}, {4096, 4}, {8192, 3}, {16384, 2}, {32768, 1}}},
	}
	for _, tt := range tests {
		var got []rule
		expand(value{lo: tt.start}, value{lo: tt.end}, tt.width, func(b value, n int) { got = append(got, rule{b.lo, n}) })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d-%d/%d: %v, want %v", tt.start, tt.end, tt.width, got, tt.want)
		}
		if n := countRules(value{lo: tt.start}, value{lo: tt.end}, tt.width); n != len(tt.want) {
			t.Errorf("%d-%d/%d: count %d, want %d", tt.start, tt.end, tt.width, n, len(tt.want))
		}
	}
	// A range over both halves of 128 bits, and the whole space.
	all := value{^uint64(0), ^uint64(0)}
	if n := countRules(value{}, all, 128); n != 1 {
		t.Errorf("::/0 makes %d rules", n)
	}
	if n := countRules(value{0, 1}, value{^uint64(0), ^uint64(0) - 1}, 128); n != 254 {
		t.Errorf("the longest expansion makes %d rules", n)
	}
}

// Both conversions of a live table give what building from scratch in the other
// width gives.
func TestConversionsEqualBuildingFromScratch(t *testing.T) {
	for _, set := range []*workload.Set{workload.Random(300, 7), workload.Shapes()[5].Elements(), workload.Shapes()[6].Elements()} {
		for i, c := range set.Columns {
			wide, narrow := fieldOf(set, i, c, 8), fieldOf(set, i, c, 4)
			if wide.groupBits != 8 || narrow.groupBits != 4 {
				t.Fatal("widths")
			}
			split, join := *wide, *narrow
			split.split()
			join.join()
			if !slices.Equal(split.lt, narrow.lt) || split.groups != narrow.groups {
				t.Errorf("%s field %s: 8 to 4 bits differs from a table built with 4", set.Name, c)
			}
			if !slices.Equal(join.lt, wide.lt) || join.groups != wide.groups {
				t.Errorf("%s field %s: 4 to 8 bits differs from a table built with 8", set.Name, c)
			}
		}
	}
}

// fieldOf builds one column with a fixed width.
func fieldOf(set *workload.Set, column int, c workload.Column, bits int) *field {
	f := &field{length: c.Bytes(), groupBits: bits, groups: c.Bytes() * 8 / bits}
	at := 0
	for _, before := range set.Columns[:column] {
		at += (before.Bytes() + 3) &^ 3
	}
	for pass := range 2 {
		rule := 0
		for i := range set.Len() {
			lo, hi := set.Element(i)
			expand(loadValue(lo[at:at+f.length]), loadValue(hi[at:at+f.length]), f.length*8, func(b value, n int) {
				if pass == 1 {
					f.setRule(rule, b, n)
				}
				rule++
			})
		}
		if pass == 0 {
			f.bsize = bucketLongs(rule)
			f.setStride(f.bsize)
		}
	}
	return f
}

// Growing by insertion and shrinking by removal passes both thresholds; at each
// size the table equals one built at once, except that it may stay with 4-bit
// groups between the thresholds.
func TestWidthSwitchesWithHysteresis(t *testing.T) {
	table := mustNew(t, 4, 2)
	pair := func(i int) (s, e []byte) {
		s, e = make([]byte, 8), make([]byte, 8)
		value{lo: uint64(i) * 2}.store(s[:4])
		value{lo: uint64(i) * 2}.store(e[:4])
		e[4], e[5] = 255, 255
		return s, e
	}
	// 4 groups × 256 × 8 bytes × longs: 256 longs are exactly the threshold.
	const limit = 256 * 64
	var ids []ID
	for i := range limit + 1 {
		s, e := pair(i)
		id, err := table.Insert(s, e, 0)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		want := 8
		if i >= limit {
			want = 4
		}
		if got := table.fields[0].groupBits; got != want {
			t.Fatalf("%d rules: %d bits, want %d", i+1, got, want)
		}
	}
	checkInvariants(t, table)
	// At exactly 2 MiB the kernel's check includes the alignment headroom, so the
	// table stays; below it goes back.
	steps := 0
	for table.fields[0].rules > limit-4*64 {
		table.Remove(ids[len(ids)-1])
		ids = ids[:len(ids)-1]
		steps++
		want := 4
		if table.fields[0].rules <= limit-4*64 {
			want = 8
		}
		if got := table.fields[0].groupBits; got != want {
			t.Fatalf("%d rules left: %d bits, want %d", table.fields[0].rules, got, want)
		}
	}
	if steps != 257 {
		t.Fatalf("%d removals", steps)
	}
	checkInvariants(t, table)
	fresh := mustNew(t, 4, 2)
	var pairs []byte
	for i := range ids {
		s, e := pair(i)
		pairs = append(append(pairs, s...), e...)
	}
	if _, err := fresh.InsertAll(pairs, 0); err != nil {
		t.Fatal(err)
	}
	a, b := contentOf(table), contentOf(fresh)
	a.Alloc, b.Alloc = nil, nil // slack depends on history
	for i := range a.Report {
		a.Report[i].MappingAlloc, b.Report[i].MappingAlloc = 0, 0
	}
	if !reflect.DeepEqual(a, b) {
		t.Error("after both conversions the table differs from one built from scratch")
	}
}

func TestInsertAllEqualsInsert(t *testing.T) {
	sets := []*workload.Set{workload.Random(2000, 3), workload.Random(50, 4)}
	for _, s := range workload.Shapes() {
		if s.Entries <= 1000 {
			sets = append(sets, s.Elements())
		}
	}
	for _, set := range sets {
		one, all := mustNew(t, set.FieldLens()...), mustNew(t, set.FieldLens()...)
		for i := range set.Len() {
			s, e := set.Element(i)
			if _, err := one.Insert(s, e, 0); err != nil {
				t.Fatal(err)
			}
		}
		// Half at once, the rest added to a live table.
		half := set.Len() / 2 * 2 * set.KeyBytes()
		if _, err := all.InsertAll(set.Pairs[:half], 0); err != nil {
			t.Fatal(err)
		}
		if _, err := all.InsertAll(set.Pairs[half:], 0); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(contentOf(one), contentOf(all)) {
			t.Errorf("%s: tables differ", set.Name)
		}
		checkInvariants(t, all)
	}
}

func TestOverlapAnswers(t *testing.T) {
	key := func(a, p int) []byte {
		k := make([]byte, 8)
		value{lo: uint64(a)}.store(k[:4])
		value{lo: uint64(p)}.store(k[4:6])
		return k
	}
	type box struct{ a0, a1, p0, p1 int }
	tests := []struct {
		name     string
		old, new box
		want     Errno
	}{
		{"same", box{10, 20, 1, 5}, box{10, 20, 1, 5}, EEXIST},
		{"starts inside", box{10, 20, 1, 5}, box{15, 30, 1, 5}, ENOTEMPTY},
		{"ends inside", box{10, 20, 1, 5}, box{5, 15, 1, 5}, ENOTEMPTY},
		{"inside", box{10, 20, 1, 5}, box{12, 13, 2, 3}, ENOTEMPTY},
		{"same start, other end", box{10, 20, 1, 5}, box{10, 25, 1, 5}, ENOTEMPTY},
		{"encloses: not seen", box{10, 20, 2, 5}, box{5, 25, 1, 9}, 0},
		{"crosses: not seen", box{10, 20, 2, 5}, box{5, 25, 3, 4}, 0},
		{"beside in the second field", box{10, 20, 1, 5}, box{10, 20, 6, 9}, 0},
		{"inverted", box{10, 20, 1, 5}, box{40, 30, 1, 5}, EINVAL},
		{"inverted but the start matches", box{10, 20, 1, 5}, box{15, 5, 1, 5}, ENOTEMPTY},
	}
	for _, tt := range tests {
		for _, bulk := range []bool{false, true} {
			table := mustNew(t, 4, 2)
			s, e := key(tt.old.a0, tt.old.p0), key(tt.old.a1, tt.old.p1)
			s2, e2 := key(tt.new.a0, tt.new.p0), key(tt.new.a1, tt.new.p1)
			var err error
			if bulk {
				_, err = table.InsertAll(slices.Concat(s, e, s2, e2), 0)
			} else {
				if _, err = table.Insert(s, e, 0); err != nil {
					t.Fatal(err)
				}
				_, err = table.Insert(s2, e2, 0)
			}
			if got := errnoOf(err); got != tt.want {
				t.Errorf("%s (bulk %v): %v, want %v", tt.name, bulk, got, tt.want)
			}
		}
	}
}

func errnoOf(err error) Errno {
	var e *InsertError
	if errors.As(err, &e) {
		return e.Errno
	}
	return 0
}

// An expired element matches nothing and hinders no insertion; its rules stay
// until they are collected.
func TestExpiredElements(t *testing.T) {
	table := mustNew(t, 1, 1)
	k := []byte{7, 0, 0, 0, 9, 0, 0, 0}
	old, err := table.Insert(k, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	table.SetExpires(old, 100)
	if id, ok := table.Lookup(k, 99); !ok || id != old {
		t.Error("not found before it expires")
	}
	if _, ok := table.Lookup(k, 100); ok {
		t.Error("found after it expired")
	}
	fresh, err := table.Insert(k, nil, 100)
	if err != nil {
		t.Fatalf("the expired element is in the way: %v", err)
	}
	if id, ok := table.Lookup(k, 200); !ok || id != fresh {
		t.Errorf("found %d %v, want %d", id, ok, fresh)
	}
	if n := table.fields[0].rules; n != 2 {
		t.Errorf("%d rules before collection", n)
	}
	var gone []ID
	table.Collect(200, func(id ID) { gone = append(gone, id) })
	if !slices.Equal(gone, []ID{old}) || table.fields[0].rules != 1 || table.Len() != 1 {
		t.Errorf("collected %v, %d rules", gone, table.fields[0].rules)
	}
	checkInvariants(t, table)
}

func TestNewRefusesBadDescriptions(t *testing.T) {
	for _, lens := range [][]int{nil, {0}, {17}, {-1, 4}, make([]int, 17), {16, 16, 16, 16, 1}} {
		if _, err := New(lens); err == nil {
			t.Errorf("%v is accepted", lens)
		}
	}
}

func TestShortKeyNeverMatches(t *testing.T) {
	table := mustNew(t, 4, 2)
	if _, err := table.Insert(make([]byte, 8), bytes.Repeat([]byte{255}, 8), 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := table.Lookup(make([]byte, 7), 0); ok {
		t.Error("a short key matches")
	}
	if _, err := table.Insert(make([]byte, 7), nil, 0); errnoOf(err) != EINVAL {
		t.Error("a short key is inserted")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	set := workload.Random(1000, 1)
	table := mustNew(t, set.FieldLens()...)
	if _, err := table.InsertAll(set.Pairs, 0); err != nil {
		t.Fatal(err)
	}
	keys := set.Keys(workload.MatchRandom, 64, 1)
	out := make([]int32, 64)
	table.LookupBatch(keys, 0, out)
	if n := testing.AllocsPerRun(10, func() { table.LookupBatch(keys, 0, out) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestErrnoNames(t *testing.T) {
	for _, e := range []Errno{ENOENT, ENOMEM, EEXIST, EINVAL, ENOSPC, ENOTEMPTY, ENFILE, EOPNOTSUPP} {
		if e.String() == "" || e.String()[0] != 'E' || (&InsertError{Errno: e}).Error() == "" {
			t.Errorf("%d", int(e))
		}
	}
}

// Random sequences of insertions, removals, expiries and lookups against the
// linear scan.
func TestSequencesAgreeWithLinearScan(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		lens := make([]int, 1+r.IntN(4))
		for i := range lens {
			lens[i] = []int{1, 2, 3, 4, 6, 8, 16}[r.IntN(7)]
		}
		script := make([]byte, 3000)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		runScript(t, lens, script, seed%2 == 0)
	}
}

func FuzzSequences(f *testing.F) {
	f.Add([]byte{2, 4, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{3, 1, 16, 6, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 6 {
			return
		}
		lens := make([]int, 1+int(data[0])%4)
		for i := range lens {
			lens[i] = 1 + int(data[1+i])%16
		}
		runScript(t, lens, data[5:min(len(data), 4000)], data[0]&0x80 != 0)
	})
}

// runScript reads operations out of bytes and does them on a table and on the
// linear reference. With low the table's width changes at 256 rules and at 512
// again, so that sequences pass the thresholds often.
func runScript(t *testing.T, lens []int, script []byte, low bool) {
	table, err := New(lens)
	if err != nil {
		return
	}
	ref := newLinear(table)
	widths := map[int]int{}
	if low {
		for i := range table.fields {
			f := &table.fields[i]
			f.high = lookupBytes(f.groups, 8, 4) + alignHeadroom
			if i%2 == 0 {
				f.high *= 2
			}
		}
	}
	next := func() byte {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return b
	}
	// A value has few distinct bytes so that elements meet.
	value := func(b []byte) {
		for i := range b {
			b[i] = 0
		}
		b[len(b)-1] = next()
		if x := next(); x&3 == 0 {
			b[0] = x >> 2
		} else if x&3 == 1 {
			b[len(b)/2] = x >> 2
		}
	}
	key := func() []byte {
		k := make([]byte, table.keyBytes)
		for i := range table.fields {
			value(slice(k, &table.fields[i]))
		}
		return k
	}
	now := int64(1)
	for len(script) > 0 {
		switch op := next(); {
		case op < 130:
			s, e := key(), key()
			for i := range table.fields {
				if f := &table.fields[i]; op&7 != 0 && bytes.Compare(slice(s, f), slice(e, f)) > 0 {
					for k := range slice(s, f) {
						slice(s, f)[k], slice(e, f)[k] = slice(e, f)[k], slice(s, f)[k]
					}
				}
			}
			want := ref.insert(s, e, now)
			id, err := table.Insert(s, e, now)
			if got := errnoOf(err); got != want {
				t.Fatalf("insert %x-%x: %v, want %v", s, e, got, want)
			}
			if err == nil {
				el := linearElem{id: id, start: s, end: e}
				if op&16 != 0 {
					el.expires = now + int64(next()&15)
					table.SetExpires(id, el.expires)
				}
				ref.elems = append(ref.elems, el)
			}
			for i := range table.fields {
				widths[table.fields[i].groupBits]++
			}
		case op < 160:
			k := key()
			if len(ref.elems) > 0 && op&1 == 0 {
				k = ref.elems[int(next())%len(ref.elems)].start
			}
			want, ok := ref.lookup(k, now)
			got, gotOK := table.Delete(k, now)
			if got != want || ok != gotOK {
				t.Fatalf("delete %x: %d %v, want %d %v", k, got, gotOK, want, ok)
			}
			if ok {
				ref.remove(want)
			}
		case op < 170:
			now += int64(op & 3)
			table.Collect(now, func(id ID) {
				for _, e := range ref.elems {
					if e.id == id && (e.expires == 0 || e.expires > now) {
						t.Fatalf("element %d collected at %d, expires %d", id, now, e.expires)
					}
				}
				ref.remove(id)
			})
			for _, e := range ref.elems {
				if e.expires != 0 && e.expires <= now {
					t.Fatalf("element %d not collected", e.id)
				}
			}
		default:
			k := key()
			want, ok := ref.lookup(k, now)
			if got, gotOK := table.Lookup(k, now); got != want || ok != gotOK {
				t.Fatalf("lookup %x: %d %v, want %d %v", k, got, gotOK, want, ok)
			}
		}
	}
	if testing.Verbose() {
		t.Logf("%v low %v: insertions by width %v", lens, low, widths)
	}
	checkInvariants(t, table)
	var order []ID
	table.Walk(func(id ID) bool { order = append(order, id); return true })
	for i, e := range ref.elems {
		if i >= len(order) || order[i] != e.id {
			t.Fatalf("walk gives %v, element %d should be %d", order, i, e.id)
		}
	}
	if len(order) != len(ref.elems) || table.Len() != len(order) {
		t.Fatalf("walk gives %d of %d elements", len(order), len(ref.elems))
	}
}

// A list with clashes is cut at the element that the one-by-one insertion refuses,
// with the same answer.
func FuzzInsertAll(f *testing.F) {
	f.Add([]byte{2, 1, 2, 10, 20, 1, 5, 15, 30, 1, 5})
	f.Add([]byte{1, 3, 0, 0, 0, 9, 0, 255, 0, 3, 0, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		lens := make([]int, 1+int(data[0])%3)
		for i := range lens {
			lens[i] = 1 + int(data[1+i])%5
		}
		compareInsertAll(t, lens, data[4:min(len(data), 3000)])
	})
}

func TestInsertAllWithClashes(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		lens := make([]int, 1+r.IntN(3))
		for i := range lens {
			lens[i] = 1 + r.IntN(5)
		}
		data := make([]byte, 20+r.IntN(1500))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		compareInsertAll(t, lens, data)
	}
}

func compareInsertAll(t *testing.T, lens []int, data []byte) {
	one, err := New(lens)
	if err != nil {
		return
	}
	all := mustNew(t, lens...)
	for i := range one.fields {
		// Half of the widths change at 256 rules.
		if len(data)%2 == 0 {
			f := &one.fields[i]
			f.high = lookupBytes(f.groups, 8, 4) + alignHeadroom
			all.fields[i].high = f.high
		}
	}
	var pairs []byte
	for len(data) >= 2*len(lens) {
		s, e := make([]byte, one.keyBytes), make([]byte, one.keyBytes)
		for i := range one.fields {
			f := &one.fields[i]
			lo, hi := data[0], data[0]+data[1]&7
			data = data[2:]
			slice(s, f)[f.length-1], slice(e, f)[f.length-1] = lo, hi
		}
		pairs = append(append(pairs, s...), e...)
	}
	size := 2 * one.keyBytes
	var wantErr error
	at := 0
	for ; at*size < len(pairs); at++ {
		p := pairs[at*size : (at+1)*size]
		if _, wantErr = one.Insert(p[:one.keyBytes], p[one.keyBytes:], 0); wantErr != nil {
			break
		}
	}
	ids, err := all.InsertAll(pairs, 0)
	if errnoOf(err) != errnoOf(wantErr) || len(ids) != at {
		t.Fatalf("%d elements, %v; want %d, %v", len(ids), err, at, wantErr)
	}
	var a, b *InsertError
	if errors.As(err, &a) && errors.As(wantErr, &b) && (a.Index != at || a.With != b.With) {
		t.Fatalf("refused at %d with %d, want at %d with %d", a.Index, a.With, at, b.With)
	}
	if !reflect.DeepEqual(contentOf(one), contentOf(all)) {
		t.Fatal("tables differ")
	}
}
