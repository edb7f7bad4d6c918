package set

import (
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
)

// Machine is what the kernel plan assumes of the machine.
type Machine struct {
	NoAVX2 bool // the CPU lacks AVX2
	CPUs   int  // possible CPUs, for per-CPU memory; 0 is 1
}

// Report is the plan of a set: what the kernel does with it and what nftc does.
type Report struct {
	Set *bytecode.Set
	// Elements counts as nft does: an interval is one, the catch-all is one.
	Elements int
	Catchall bool
	Kernel   KernelPlan
	Offline  OfflinePlan
}

// KernelPlan is the kernel's choice and its memory.
type KernelPlan struct {
	Backend    KernelBackend
	Why        string
	Candidates []Candidate // in the kernel's order

	// Estimate is the chosen back end's own, from the set's stated size; its Size is
	// Unknown when the back end cannot tell. SizeForElements is the same formula with
	// the number of elements in place of the size.
	Estimate        Estimate
	SizeForElements uint64

	// TableBytes is the set's fixed part and the back end's tables, ElementBytes what
	// the elements take, both as allocated: slab sizes, whole pages, and what memory
	// control groups add to each object. Measured with them, hash, rbtree and pipapo
	// sets differ by less than one percent; rhash's buckets are not charged to them.
	TableBytes   uint64
	ElementBytes uint64
	// Fields are pipapo's tables; empty for other back ends.
	Fields []pipapo.FieldReport
	// Err is why the elements cannot be loaded, if so.
	Err error
}

// Bytes is all memory of the set.
func (k *KernelPlan) Bytes() uint64 { return k.TableBytes + k.ElementBytes }

// OfflinePlan is what nftc evaluates with.
type OfflinePlan struct {
	Backend Backend
	Why     string
	Bytes   uint64 // the table's, without the elements themselves
}

// Plan tells what becomes of a set. force is a back end for the offline plan, or
// Auto.
func Plan(s *bytecode.Set, m Machine, force Backend) Report {
	cpus := max(m.CPUs, 1)
	r := Report{Set: s}
	points := 0
	for i := range s.Elements {
		e := &s.Elements[i]
		switch {
		case e.Flags&bytecode.ElemCatchall != 0:
			r.Catchall = true
			r.Elements++
		case e.Flags&bytecode.ElemIntervalEnd == 0:
			r.Elements++
			points++
		default:
			points++
		}
	}

	k := &r.Kernel
	d := kernelSetOf(s, !m.NoAVX2)
	k.Backend, k.Candidates = d.choose()
	k.Why = d.why(k.Backend)
	k.SizeForElements = Unknown
	if k.Backend != KernelNone {
		k.Estimate, _ = d.estimate(k.Backend)
		sized := d
		sized.size = uint32(r.Elements)
		if est, why := sized.estimate(k.Backend); why == "" {
			k.SizeForElements = est.Size
		}
	}
	for i := range s.Elements {
		k.ElementBytes += elementBytes(s, &s.Elements[i], k.Backend, cpus)
	}
	k.tables(s, points, cpus)

	r.Offline = offlinePlan(s, force, k.Fields)
	return r
}

// why puts the choice in a sentence.
func (d kernelSet) why(b KernelBackend) string {
	switch b {
	case KernelNone:
		return "no back end has all that the set's flags ask for: the kernel answers EOPNOTSUPP"
	case KernelHashFast, KernelHash:
		if d.memory {
			return "policy memory with a stated size: the smallest estimate"
		}
		return "exact keys and a stated size"
	case KernelRHash:
		switch {
		case d.flags&bytecode.SetEval != 0:
			return "packets change the set"
		case d.flags&bytecode.SetTimeout != 0:
			return "exact keys with timeouts"
		default:
			return "exact keys, no size stated"
		}
	case KernelBitmap:
		return "keys of at most 2 bytes and nothing but membership"
	case KernelRBTree:
		if d.flags&bytecode.SetInterval == 0 {
			return "policy memory with a stated size: the smallest estimate; but rbtree takes each key for the start of an interval"
		}
		return "intervals of one field"
	case KernelPipapo:
		return "concatenation with intervals, no AVX2"
	default:
		return "concatenation with intervals, AVX2"
	}
}

// tables computes the fixed memory of the chosen back end.
func (k *KernelPlan) tables(s *bytecode.Set, points, cpus int) {
	private, extra := uint64(0), uint64(0)
	if l, err := NewLoader(s); err != nil {
		k.Err = err
	} else if l.ranges == nil {
		k.Err = l.Add(s.Elements, false)
	}
	switch k.Backend {
	case KernelNone:
		return
	case KernelHashFast, KernelHash:
		private = sizeofHash + 8*hashBuckets(s.Size)
	case KernelRHash:
		private = sizeofRHash
		extra = kmallocBytes(sizeofBucketTable + 8*rhashBuckets(s.Size, points))
	case KernelBitmap:
		private = sizeofBitmap + bitmapBytes(s.KeyLen())
	case KernelRBTree:
		private = sizeofRBTree
		if n := rbtreeIntervals(points, s.Flags&bytecode.SetAnonymous != 0); n > 0 {
			extra = accounted(sizeofArray) + accounted(n*sizeofInterval)
		}
	default:
		table, err := kernelRanges(s)
		if err != nil {
			k.Err = err
		}
		if table != nil {
			k.Fields = table.Fields()
			private = pipapo.PrivateBytes
			for _, n := range table.Allocations(cpus) {
				extra += accounted(n)
			}
		}
	}
	k.TableBytes = accounted(sizeofSet+private+uint64(len(s.Userdata))) + extra + accounted(uint64(len(s.Name))+1)
}

// kernelRanges loads the elements into pipapo tables, as far as they go.
func kernelRanges(s *bytecode.Set) (*pipapo.Table, error) {
	table, err := pipapo.New(fieldLens(s))
	if err != nil {
		return nil, err
	}
	klen := s.KeyLen()
	keys := make([]byte, 0, 2*klen*len(s.Elements))
	for i := range s.Elements {
		e := &s.Elements[i]
		if e.Flags&bytecode.ElemCatchall != 0 {
			continue
		}
		end := e.KeyEnd
		if end == nil {
			end = e.Key
		}
		if len(e.Key) != klen || len(end) != klen {
			return table, fmt.Errorf("element %d has a key of %d bytes, want %d", i, len(e.Key), klen)
		}
		keys = append(append(keys, e.Key...), end...)
	}
	_, err = table.InsertAll(keys, 0)
	return table, err
}

// offlinePlan describes nftc's own table. Given the kernel's pipapo tables it need
// not build the same ones again.
func offlinePlan(s *bytecode.Set, force Backend, fields []pipapo.FieldReport) OfflinePlan {
	p := OfflinePlan{Backend: force, Why: "asked for"}
	if force == Auto {
		p.Backend, p.Why = choose(s)
	} else if ok, why := force.Suits(s); !ok {
		p.Backend, p.Why = choose(s)
		p.Why = fmt.Sprintf("%s (%v %s)", p.Why, force, why)
	}
	if p.Backend == Pipapo && fields != nil {
		for _, f := range fields {
			p.Bytes += f.LookupBytes + f.MappingBytes
		}
		p.Bytes += 4 * uint64(len(s.Elements))
	} else if t, err := Build(s, Options{Backend: p.Backend}); err == nil {
		p.Bytes = t.Bytes()
	}
	return p
}

// Bytes is the memory of the table without the elements themselves.
func (t *Table) Bytes() uint64 {
	n := uint64(8 * len(t.expires))
	switch {
	case t.short != nil:
		n += 16 * uint64(len(t.short.slots))
	case t.long != nil:
		n += uint64(len(t.long.keys)) + 4*uint64(len(t.long.refs))
	case t.points != nil:
		v := t.points
		n += 4*uint64(len(v.refs)+len(v.index)) + 8*uint64(len(v.words)) + 16*uint64(len(v.pairs)) + 24*uint64(len(v.long))
	case t.bits != nil:
		n += 8*uint64(len(t.bits.words)) + 4*uint64(len(t.bits.rank)+len(t.bits.refs))
	case t.ranges != nil:
		n += t.ranges.table.Bytes() + 4*uint64(len(t.ranges.refs))
	case t.parts != nil:
		n += t.parts.bytes()
	case t.tuples != nil:
		n += t.tuples.Bytes()
	case t.linear != nil:
		n += 56 * uint64(len(t.linear.items))
	}
	return n
}
