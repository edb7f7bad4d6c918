package bench

import (
	"encoding/binary"
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
	"github.com/nftc/nftc/compile/pipapo/workload"
	"github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/eval/packet"
)

// keyCount is the number of different keys that a case goes through, a power of
// two: many enough that branch predictors do not learn them, few enough to stay in
// the second-level cache.
const keyCount = 1 << 13

// RangeWorkloads are the element lists of the pipapo suite: the seven of the
// kernel's selftest, then random ranges.
func RangeWorkloads() []*workload.Set {
	var out []*workload.Set
	for _, s := range workload.Shapes() {
		out = append(out, s.Elements())
	}
	for _, n := range []int{1000, 10000, 100000} {
		out = append(out, workload.Random(n, 1))
	}
	return out
}

// SetOf makes a set of a workload's elements: concatenated ranges.
func SetOf(w *workload.Set) *bytecode.Set {
	s := &bytecode.Set{Name: "s", ID: 1, Flags: bytecode.SetInterval | bytecode.SetConcat, Key: fieldsOf(w)}
	if len(w.Columns) == 1 {
		s.Flags = bytecode.SetInterval
	}
	for i := range w.Len() {
		lo, hi := w.Element(i)
		s.Elements = append(s.Elements, bytecode.Element{Key: lo, KeyEnd: hi})
	}
	return s
}

func fieldsOf(w *workload.Set) []bytecode.Field {
	var out []bytecode.Field
	for _, c := range w.Columns {
		out = append(out, bytecode.Field{Len: uint16(c.Bytes())})
	}
	return out
}

// exactSet has the same keys without ranges: the elements' start keys.
func exactSet(w *workload.Set) *bytecode.Set {
	s := &bytecode.Set{Name: "s", Flags: bytecode.SetConcat, Key: fieldsOf(w), Size: uint32(w.Len())}
	seen := make(map[string]bool, w.Len())
	for i := range w.Len() {
		lo, _ := w.Element(i)
		if !seen[string(lo)] {
			seen[string(lo)] = true
			s.Elements = append(s.Elements, bytecode.Element{Key: lo})
		}
	}
	return s
}

// firstFieldSet has the first field's ranges alone, as intervals. Ranges that
// overlap one before them are left out; dropped is their number.
func firstFieldSet(w *workload.Set) (s *bytecode.Set, dropped int) {
	n := w.Columns[0].Bytes()
	s = &bytecode.Set{Name: "s", Flags: bytecode.SetInterval, Key: fieldsOf(w)[:1]}
	seen := make(map[string]bool)
	for i := range w.Len() {
		lo, hi := w.Element(i)
		// The workloads' ranges are the same or disjoint.
		if seen[string(lo[:n])] {
			dropped++
			continue
		}
		seen[string(lo[:n])] = true
		end := append([]byte(nil), hi[:n]...)
		for b := n - 1; b >= 0; b-- {
			if end[b]++; end[b] != 0 {
				break
			}
		}
		s.Elements = append(s.Elements, bytecode.Element{Key: lo[:n]}, bytecode.Element{Key: end, Flags: bytecode.ElemIntervalEnd})
	}
	return s, dropped
}

// Range is a row of the pipapo suite: one workload.
type Range struct {
	Name     string `json:"name"`
	Elements int    `json:"elements"`
	Keys     string `json:"keys"`

	Decode    Stat    `json:"decode"`    // decoding a packet and loading its key: the baseline
	Hash      Stat    `json:"hash"`      // exact keys, found
	Intervals Stat    `json:"intervals"` // the first field alone
	Narrow    Stat    `json:"narrow"`    // pipapo, 4-bit groups only
	Switch    Stat    `json:"switch"`    // pipapo, 8-bit and 4-bit groups
	Gain      float64 `json:"gain"`      // narrow over switch, medians
	Widths    []int   `json:"widths"`    // group widths that the switch came to, by field

	Offline Stat   `json:"offline"`       // the offline plan, keys one by one
	Batch   Stat   `json:"offline_batch"` // the same, 64 at a time
	Backend string `json:"offline_backend"`

	Kernel     Stat   `json:"kernel"`
	KernelNote string `json:"kernel_note,omitempty"` // why there is no figure

	Bytes struct {
		Narrow  uint64 `json:"narrow"`
		Switch  uint64 `json:"switch"`
		Offline uint64 `json:"offline"`
	} `json:"bytes"`
}

// MeasureRange measures a workload with one kind of keys. Keys are looked up from
// an array; Decode is not part of the other figures.
func MeasureRange(w *workload.Set, kind workload.KeyKind, opt Options) (Range, error) {
	r := Range{Name: w.Name, Elements: w.Len(), Keys: kind.String()}
	cases, err := r.cases(w, kind)
	if err != nil {
		return r, err
	}
	stats := Measure(cases, opt)
	for i, s := range []*Stat{&r.Decode, &r.Hash, &r.Intervals, &r.Narrow, &r.Switch, &r.Offline, &r.Batch} {
		*s = stats[i]
	}
	r.Gain = r.Narrow.Median / r.Switch.Median
	return r, nil
}

// RangeCases are the cases of a workload: decode, hash, intervals, narrow, switch,
// offline, batch.
func RangeCases(w *workload.Set, kind workload.KeyKind) ([]Case, error) {
	return new(Range).cases(w, kind)
}

func (r *Range) cases(w *workload.Set, kind workload.KeyKind) ([]Case, error) {
	keys := w.Keys(kind, keyCount, 1)
	klen := w.KeyBytes()

	exact := exactSet(w)
	hash, err := set.Build(exact, set.Options{})
	if err != nil {
		return nil, err
	}
	var exactKeys []byte
	for i := range keyCount {
		exactKeys = append(exactKeys, exact.Elements[i*7919%len(exact.Elements)].Key...)
	}
	first, _ := firstFieldSet(w)
	points, err := set.Build(first, set.Options{Backend: set.Intervals})
	if err != nil {
		return nil, err
	}
	n := w.Columns[0].Bytes()
	firstKeys := make([]byte, 0, keyCount*n)
	for i := range keyCount {
		firstKeys = append(firstKeys, keys[i*klen:i*klen+n]...)
	}
	narrow, err := pipapo.NewNarrow(w.FieldLens())
	if err == nil {
		_, err = narrow.InsertAll(w.Pairs, 0)
	}
	if err != nil {
		return nil, err
	}
	wide, err := pipapo.New(w.FieldLens())
	if err == nil {
		_, err = wide.InsertAll(w.Pairs, 0)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range wide.Fields() {
		r.Widths = append(r.Widths, f.GroupBits)
	}
	offline, err := set.Build(SetOf(w), set.Options{})
	if err != nil {
		return nil, err
	}
	r.Backend = offline.Backend().String()
	r.Bytes.Narrow, r.Bytes.Switch, r.Bytes.Offline = narrow.Bytes(), wide.Bytes(), offline.Bytes()
	return []Case{
		{Name: "decode", Run: decodeCase(w, keys)},
		{Name: "hash", Run: tableCase(hash, exactKeys)},
		{Name: "intervals", Run: tableCase(points, firstKeys)},
		{Name: "narrow", Run: pipapoCase(narrow, keys)},
		{Name: "switch", Run: pipapoCase(wide, keys)},
		{Name: "offline", Run: tableCase(offline, keys)},
		{Name: "batch", Run: batchCase(offline, keys)},
	}, nil
}

// tableCase looks keys up one by one.
func tableCase(t *set.Table, keys []byte) func(int) {
	n := t.KeyLen()
	count := len(keys) / n
	r := t.NewReader()
	at := 0
	return func(times int) {
		sum := uint64(0)
		for range times {
			if at++; at >= count {
				at = 0
			}
			ref, _ := r.Lookup(keys[at*n : at*n+n])
			sum += uint64(ref)
		}
		Sink += sum
	}
}

// batchSize is the number of keys of one batch.
const batchSize = 64

// batchCase looks keys up in batches. An operation is one key.
func batchCase(t *set.Table, keys []byte) func(int) {
	n := t.KeyLen()
	r := t.NewReader()
	var out [batchSize]set.Ref
	at := 0
	return func(times int) {
		for left := times; left > 0; left -= batchSize {
			count := min(left, batchSize)
			if (at+count)*n > len(keys) {
				at = 0
			}
			r.LookupBatch(keys[at*n:(at+count)*n], out[:count])
			at += count
		}
		Sink += uint64(out[0])
	}
}

func pipapoCase(t *pipapo.Table, keys []byte) func(int) {
	n := t.KeyBytes()
	count := len(keys) / n
	r := t.NewReader()
	at := 0
	return func(times int) {
		sum := uint64(0)
		for range times {
			if at++; at >= count {
				at = 0
			}
			id, _ := r.Lookup(keys[at*n:at*n+n], 0)
			sum += uint64(id)
		}
		Sink += sum
	}
}

// decodeCase decodes frames that hold the keys and loads each field into a
// register area: what every lookup pays before it starts.
func decodeCase(w *workload.Set, keys []byte) func(int) {
	const frames = 512
	n := w.KeyBytes()
	data := make([][]byte, frames)
	for i := range data {
		data[i] = frameOf(w.Columns, keys[i*n:(i+1)*n])
	}
	type load struct{ base, off, len, at int }
	var loads []load
	at := 0
	for _, c := range w.Columns {
		l := load{len: c.Bytes(), at: at}
		switch c {
		case workload.Net:
			l.base, l.off = int(packet.BaseNetwork), 16
		case workload.Net6:
			l.base, l.off = int(packet.BaseNetwork), 24
		case workload.Port:
			l.base, l.off = int(packet.BaseTransport), 2
		case workload.MAC:
			l.base, l.off = int(packet.BaseLL), 6
		case workload.Proto:
			l.base, l.off = int(packet.BaseNetwork), 9
			if v6(w.Columns) {
				l.off = 6
			}
		}
		loads = append(loads, l)
		at += (l.len + 3) &^ 3
	}
	var p packet.Packet
	var regs [64]byte
	next := 0
	return func(times int) {
		for range times {
			if next++; next >= frames {
				next = 0
			}
			p.SetFrame(packet.LinkEthernet, data[next], len(data[next]))
			p.Enter(packet.ViewInet)
			for _, l := range loads {
				p.Load(packet.Base(l.base), l.off, regs[l.at:l.at+l.len])
			}
		}
		Sink += uint64(regs[0])
	}
}

func v6(columns []workload.Column) bool {
	for _, c := range columns {
		if c == workload.Net6 {
			return true
		}
	}
	return false
}

// frameOf makes a UDP or TCP frame with the key's values: source MAC, destination
// address and port, protocol.
func frameOf(columns []workload.Column, key []byte) []byte {
	ip, proto := 20, byte(17)
	f := make([]byte, 14+40+20)
	f[12], f[13] = 0x08, 0x00
	f[14] = 0x45
	if v6(columns) {
		ip = 40
		f[12], f[13] = 0x86, 0xdd
		f[14] = 0x60
	}
	at := 0
	for _, c := range columns {
		v := key[at : at+c.Bytes()]
		switch c {
		case workload.Net:
			copy(f[14+16:], v)
		case workload.Net6:
			copy(f[14+24:], v)
		case workload.Port:
			copy(f[14+ip+2:], v)
		case workload.MAC:
			copy(f[6:], v)
		case workload.Proto:
			proto = v[0]
		}
		at += (len(v) + 3) &^ 3
	}
	f = f[:14+ip+20]
	if ip == 20 {
		binary.BigEndian.PutUint16(f[16:], uint16(ip+20))
		f[22], f[23] = 64, proto
		binary.BigEndian.PutUint16(f[14+10:], packet.Checksum(f[14:34], 0))
	} else {
		binary.BigEndian.PutUint16(f[18:], 20)
		f[20], f[21] = proto, 64
	}
	binary.BigEndian.PutUint16(f[14+ip+4:], 20) // UDP length
	return f
}

// WidthWord words group widths: "8,4".
func WidthWord(widths []int) string {
	s := ""
	for i, w := range widths {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(w)
	}
	return s
}
