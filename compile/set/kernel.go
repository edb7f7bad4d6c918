package set

import (
	"fmt"
	"math/bits"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
)

// KernelBackend is a set implementation of the kernel.
type KernelBackend uint8

// The kernel's back ends, in the order in which it tries them (nft_set_types).
const (
	KernelNone KernelBackend = iota // none fits: the kernel refuses the set
	KernelHashFast
	KernelHash
	KernelRHash
	KernelBitmap
	KernelRBTree
	KernelPipapoAVX2
	KernelPipapo
)

var kernelBackendNames = [...]string{
	KernelNone: "none", KernelHashFast: "hash_fast", KernelHash: "hash", KernelRHash: "rhash",
	KernelBitmap: "bitmap", KernelRBTree: "rbtree", KernelPipapoAVX2: "pipapo_avx2", KernelPipapo: "pipapo",
}

// String is the middle of the kernel's name, nft_set_X_type.
func (k KernelBackend) String() string {
	if int(k) < len(kernelBackendNames) {
		return kernelBackendNames[k]
	}
	return fmt.Sprintf("kernel backend %d", uint8(k))
}

// Class is how cost or space grows (enum nft_set_class).
type Class uint8

// The classes, best first.
const (
	O1 Class = iota
	OLogN
	ON
)

// String is the class in the usual notation.
func (c Class) String() string {
	switch c {
	case O1:
		return "O(1)"
	case OLogN:
		return "O(log n)"
	case ON:
		return "O(n)"
	default:
		return fmt.Sprintf("class %d", uint8(c))
	}
}

// Unknown is an estimate that the kernel does not make.
const Unknown = ^uint64(0)

// Estimate is what a back end promises (struct nft_set_estimate).
type Estimate struct {
	Size   uint64 // bytes, or Unknown
	Lookup Class
	Space  Class
}

// Candidate is one back end's part in the choice.
type Candidate struct {
	Backend  KernelBackend
	Fits     bool
	Estimate Estimate // if it fits
	Why      string   // why not, or how it compared
}

// kernelSet is the description that the kernel chooses from
// (struct nft_set_desc).
type kernelSet struct {
	flags     bytecode.SetFlags
	klen      int
	size      uint32
	memory    bool
	fieldLens []int // empty without concatenation
	exprs     bool
	avx2      bool
}

// features are the flags that a back end must know (NFT_SET_FEATURES).
const features = bytecode.SetInterval | bytecode.SetMap | bytecode.SetTimeout | bytecode.SetObject | bytecode.SetEval

// kernelFeatures is the .features of each back end.
var kernelFeatures = [...]bytecode.SetFlags{
	KernelHashFast:   bytecode.SetMap | bytecode.SetObject,
	KernelHash:       bytecode.SetMap | bytecode.SetObject,
	KernelRHash:      bytecode.SetMap | bytecode.SetObject | bytecode.SetTimeout | bytecode.SetEval,
	KernelBitmap:     0,
	KernelRBTree:     bytecode.SetInterval | bytecode.SetMap | bytecode.SetObject | bytecode.SetTimeout,
	KernelPipapoAVX2: bytecode.SetInterval | bytecode.SetMap | bytecode.SetObject | bytecode.SetTimeout,
	KernelPipapo:     bytecode.SetInterval | bytecode.SetMap | bytecode.SetObject | bytecode.SetTimeout,
}

var featureNames = []struct {
	flag bytecode.SetFlags
	name string
}{
	{bytecode.SetInterval, "intervals"},
	{bytecode.SetMap, "maps"},
	{bytecode.SetTimeout, "timeouts"},
	{bytecode.SetObject, "objects"},
	{bytecode.SetEval, "updates by packets"},
}

func kernelSetOf(s *bytecode.Set, avx2 bool) kernelSet {
	d := kernelSet{
		flags: s.Flags, klen: s.KeyLen(), size: s.Size, memory: s.Policy == bytecode.PolicyMemory,
		exprs: len(s.Exprs) > 0, avx2: avx2,
	}
	if len(s.Key) > 1 {
		d.fieldLens = fieldLens(s)
	}
	return d
}

// choose goes through the back ends as nft_select_set_ops does and returns the
// chosen one, KernelNone if the kernel answers EOPNOTSUPP.
//
// Nothing keeps rbtree from being a candidate for sets without intervals: with
// policy memory and a size it can be the smallest.
func (d kernelSet) choose() (KernelBackend, []Candidate) {
	best := KernelNone
	bestEst := Estimate{Size: Unknown, Lookup: 255, Space: 255}
	var all []Candidate
	for b := KernelHashFast; b <= KernelPipapo; b++ {
		c := Candidate{Backend: b}
		est, why := d.estimate(b)
		if why != "" {
			c.Why = why
			all = append(all, c)
			continue
		}
		c.Fits, c.Estimate = true, est
		better := false
		switch {
		case !d.memory:
			better = est.Lookup < bestEst.Lookup || est.Lookup == bestEst.Lookup && est.Space < bestEst.Space
			c.Why = fmt.Sprintf("lookup %v, space %v", est.Lookup, est.Space)
		case d.size == 0:
			better = est.Space < bestEst.Space || est.Space == bestEst.Space && est.Lookup < bestEst.Lookup
			c.Why = fmt.Sprintf("space %v, lookup %v", est.Space, est.Lookup)
		default:
			better = est.Size < bestEst.Size || best == KernelNone
			c.Why = fmt.Sprintf("%d bytes", est.Size)
			if est.Size == Unknown {
				c.Why = "size not estimated"
			}
		}
		if better {
			if best != KernelNone {
				c.Why += fmt.Sprintf(": better than %v", best)
			}
			best, bestEst = b, est
		} else {
			c.Why += fmt.Sprintf(": no better than %v", best)
		}
		all = append(all, c)
	}
	return best, all
}

// estimate is a back end's promise, or why it does not come into question
// (nft_set_ops_candidate and the .estimate functions).
func (d kernelSet) estimate(b KernelBackend) (Estimate, string) {
	if missing := d.flags & features &^ kernelFeatures[b]; missing != 0 {
		for _, f := range featureNames {
			if missing&f.flag != 0 {
				return Estimate{}, "has no " + f.name
			}
		}
	}
	switch b {
	case KernelHashFast, KernelHash:
		switch {
		case d.size == 0:
			return Estimate{}, "needs a size"
		case b == KernelHashFast && d.klen != 4:
			return Estimate{}, "is for keys of 4 bytes"
		case b == KernelHash && d.klen == 4:
			return Estimate{}, "leaves keys of 4 bytes to hash_fast"
		}
		size := sizeofHash + 8*hashBuckets(d.size) + uint64(d.size)*sizeofHashElem
		return Estimate{size, O1, ON}, ""
	case KernelRHash:
		return Estimate{Unknown, O1, ON}, ""
	case KernelBitmap:
		switch {
		case d.klen > 2:
			return Estimate{}, "is for keys of at most 2 bytes"
		case d.exprs:
			return Estimate{}, "keeps no statements with elements"
		}
		return Estimate{sizeofBitmap + bitmapBytes(d.klen), O1, O1}, ""
	case KernelRBTree:
		if len(d.fieldLens) > 1 {
			return Estimate{}, "has no concatenations"
		}
		est := Estimate{Unknown, OLogN, ON}
		if d.size != 0 {
			est.Size = sizeofRBTree + uint64(d.size)*sizeofRBTreeElem
		}
		return est, ""
	default:
		switch {
		case d.flags&bytecode.SetInterval == 0 || len(d.fieldLens) < pipapo.MinFields:
			return Estimate{}, "is for concatenations with intervals"
		case b == KernelPipapoAVX2 && !d.avx2:
			return Estimate{}, "needs AVX2"
		}
		size, ok := pipapo.Estimate(d.fieldLens, d.size)
		if !ok {
			return Estimate{}, "has no fields of more than 16 bytes"
		}
		return Estimate{size, OLogN, ON}, ""
	}
}

// Structure sizes of a 64-bit 6.18 kernel, as its BTF states them.
const (
	sizeofSet         = 256 // struct nft_set
	sizeofHash        = 8   // struct nft_hash
	sizeofHashElem    = 32  // struct nft_hash_elem
	sizeofRHash       = 232 // struct nft_rhash
	sizeofBucketTable = 64  // struct bucket_table
	sizeofBitmap      = 24  // struct nft_bitmap
	sizeofRBTree      = 72  // struct nft_rbtree
	sizeofRBTreeElem  = 40  // struct nft_rbtree_elem
	sizeofArray       = 32  // struct nft_array
	sizeofInterval    = 16  // struct nft_array_interval
	sizeofExt         = 16  // struct nft_set_ext, aligned
	sizeofTimeout     = 16  // struct nft_timeout
	sizeofElemExpr    = 8   // struct nft_set_elem_expr
	sizeofVerdict     = 16  // struct nft_verdict
	sizeofCatchall    = 40  // struct nft_set_elem_catchall
)

// elemOffset is each back end's .elemsize: the bytes before an element's
// extensions.
var elemOffset = [...]uint64{
	KernelNone: 0, KernelHashFast: 16, KernelHash: 16, KernelRHash: 24, KernelBitmap: 16,
	KernelRBTree: 24, KernelPipapoAVX2: 0, KernelPipapo: 0,
}

// hashBuckets is nft_hash_buckets: the size hint over 3/4, as a power of two.
func hashBuckets(size uint32) uint64 {
	n := uint64(size) * 4 / 3
	if n >= 1<<31 {
		return 1 << 31
	}
	return roundUpPow2(n)
}

func roundUpPow2(n uint64) uint64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(n-1)
}

// bitmapBytes is nft_bitmap_size: two bits for each key.
func bitmapBytes(klen int) uint64 { return 2 << (8*klen - 1) / 8 << 1 }

// rhashBuckets is the number of buckets after n insertions into a table with the
// given size hint: it starts at 4/3 of the hint, at least 4, and doubles when more
// than three quarters full (rhashtable_init, rht_grow_above_75).
func rhashBuckets(hint uint32, n int) uint64 {
	if hint == 0 {
		hint = 3 // NFT_RHASH_ELEMENT_HINT
	}
	b := max(roundUpPow2(uint64(hint)*4/3), 4)
	for uint64(n) > b/4*3 {
		b *= 2
	}
	return b
}

// rbtreeIntervals is the length of the array for binary search after n insertions
// of points (nft_array_may_resize, nft_array_elems).
func rbtreeIntervals(n int, anonymous bool) uint64 {
	if n == 0 {
		return 0
	}
	size := 1024
	need := n/2 + 2
	if anonymous {
		size, need = 16, n
	}
	for need > size {
		if anonymous && size < 8192/sizeofInterval {
			size *= 2
		} else {
			size += size / 2
		}
	}
	return uint64(size)
}

// kmallocBytes is the memory behind an allocation (kmalloc, kvmalloc): the slab
// caches' sizes up to 8 KiB, a power of two of pages up to 4 MiB, pages beyond that.
func kmallocBytes(n uint64) uint64 {
	switch {
	case n == 0:
		return 0
	case n <= 8:
		return 8
	case n > 64 && n <= 96:
		return 96
	case n > 128 && n <= 192:
		return 192
	case n <= 4<<20:
		return roundUpPow2(n)
	default:
		return (n + 4095) &^ 4095
	}
}

// accounted is the memory behind an allocation that is charged to a control group
// (GFP_KERNEL_ACCOUNT): a pointer for each slab object more.
func accounted(n uint64) uint64 {
	if n == 0 || n > 8192 {
		return kmallocBytes(n)
	}
	return kmallocBytes(n) + 8
}

// accountedPerCPU is the same for memory of each CPU: a pointer for each four bytes
// more (pcpu_obj_full_size).
func accountedPerCPU(n uint64, cpus int) uint64 { return n*uint64(cpus) + n/4*8 }

// exprMemory gives a stateful expression's bytes inside an element, its
// operations pointer included, and those it allocates beside it.
func exprMemory(in bytecode.Instr, cpus int) (inside, beside uint64) {
	switch in := in.(type) {
	case *bytecode.Counter:
		return 16, accountedPerCPU(16, cpus)
	case *bytecode.Limit:
		if in.Bytes {
			return 48, accounted(24)
		}
		return 56, accounted(24)
	case *bytecode.Quota:
		return 32, accounted(8)
	case *bytecode.Connlimit:
		return 24, accounted(32)
	case *bytecode.Last:
		return 16, accounted(16)
	default:
		return 16, 0
	}
}

// elementBytes is the memory of one element in a back end: the extensions in the
// order and alignment in which nft_add_set_elem adds them.
func elementBytes(s *bytecode.Set, e *bytecode.Element, b KernelBackend, cpus int) uint64 {
	n, beside := uint64(sizeofExt), uint64(0)
	add := func(align, length uint64) {
		n = (n+align-1)&^(align-1) + length
	}
	if e.Flags != 0 {
		add(1, 1)
	}
	end := e.Flags&bytecode.ElemIntervalEnd != 0
	if e.Key != nil {
		add(4, uint64(s.KeyLen()))
	}
	if e.KeyEnd != nil {
		add(4, uint64(s.KeyLen()))
	}
	if s.Flags&bytecode.SetTimeout != 0 {
		add(8, sizeofTimeout)
	}
	exprs := s.Exprs
	if e.Attrs != nil && len(e.Attrs.Exprs) > 0 {
		exprs = e.Attrs.Exprs
	}
	if len(exprs) > 0 && !end {
		size := uint64(sizeofElemExpr)
		for _, in := range exprs {
			inside, out := exprMemory(in, cpus)
			size += inside
			beside += out
		}
		add(8, size)
	}
	if e.Data != nil {
		switch s.DataKind {
		case bytecode.DataObject:
			add(8, 8)
		case bytecode.DataVerdict:
			add(4, sizeofVerdict)
		default:
			add(4, uint64(s.DataLen()))
		}
	}
	if e.Attrs != nil && len(e.Attrs.Userdata) > 0 {
		add(1, 1+uint64(len(e.Attrs.Userdata)))
	}
	if e.Flags&bytecode.ElemCatchall != 0 {
		beside += accounted(sizeofCatchall)
	}
	return accounted(elemOffset[b]+n) + beside
}
