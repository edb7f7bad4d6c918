package pipapo

import "math/bits"

// Limits of the kernel's implementation (nft_set_pipapo.h).
const (
	// MaxFields is NFT_PIPAPO_MAX_FIELDS: one per 32-bit register.
	MaxFields = 16
	// MinFields is NFT_PIPAPO_MIN_FIELDS: with one field the kernel uses rbtree.
	MinFields = 2
	// MaxFieldBytes is NFT_PIPAPO_MAX_BYTES: an IPv6 address.
	MaxFieldBytes = 16
	// MaxKeyBytes is the size of all data registers together.
	MaxKeyBytes = 64

	// GroupBitsSmallSet and GroupBitsLargeSet are the two group widths.
	GroupBitsSmallSet = 8
	GroupBitsLargeSet = 4

	// LookupSizeHigh is the size of a lookup table in bytes above which it goes to
	// 4-bit groups; below LookupSizeLow it may return to 8-bit groups
	// (NFT_PIPAPO_LT_SIZE_HIGH, _LOW).
	LookupSizeHigh = 1 << 21
	LookupSizeLow  = LookupSizeHigh - 1<<16

	// MaxRules is NFT_PIPAPO_RULE0_MAX: rule numbers take 31 bits, less one run of
	// the longest expansion (2^NFT_PIPAPO_MAP_NBITS).
	MaxRules = 1<<31 - 1<<8
)

const (
	longBytes = 8
	longBits  = 64
	// bucketAlignLongs rounds bucket sizes: NFT_PIPAPO_ALIGN is one YMM register.
	bucketAlignLongs = 32 / longBytes
	// alignHeadroom is NFT_PIPAPO_ALIGN_HEADROOM with an ARCH_KMALLOC_MINALIGN of 8.
	alignHeadroom = 32 - 8
	// mapBucketBytes is sizeof(union nft_pipapo_map_bucket).
	mapBucketBytes = 8
	// mapExtra is the number of mapping buckets in a page: the slack that
	// pipapo_realloc_mt adds to larger tables.
	mapExtra = 4096 / mapBucketBytes
	intMax   = 1<<31 - 1

	// Structure sizes of a 64-bit 6.18 kernel, as its BTF states them.
	sizeofPipapo  = 48 // struct nft_pipapo
	sizeofMatch   = 32 // struct nft_pipapo_match
	sizeofField   = 32 // struct nft_pipapo_field
	sizeofScratch = 8  // struct nft_pipapo_scratch without its map
)

// Estimate is the kernel's worst-case size in bytes for size elements of fields
// with the given lengths in bytes; false if the kernel refuses the description
// (a field too long, or overflow).
//
// pipapo_estimate_size: every field expands to ilog2(bits) * 2 rules, each with
// one bit in each bucket of the initial 8-bit groups and a mapping bucket.
func Estimate(fieldLens []int, size uint32) (uint64, bool) {
	entry := uint64(0)
	for _, l := range fieldLens {
		if l <= 0 || l > MaxFieldBytes {
			return 0, false
		}
		rules := uint64(bits.Len(uint(l*8))-1) * 2
		entry += rules * (1 << GroupBitsSmallSet) / 8
		entry += rules * mapBucketBytes
	}
	return uint64(size)*entry + sizeofPipapo + 2*sizeofMatch + sizeofField*uint64(len(fieldLens)), true
}

// bucketLongs is the kernel's bucket size for a number of rules, in longs
// (pipapo_resize).
func bucketLongs(rules int) int {
	n := (rules + longBits - 1) / longBits
	return (n + bucketAlignLongs - 1) / bucketAlignLongs * bucketAlignLongs
}

// lookupBytes is the size of a lookup table without alignment headroom.
func lookupBytes(groups, groupBits, bsize int) uint64 {
	return uint64(groups) << groupBits * uint64(bsize) * longBytes
}

// lookupFits reports whether the kernel can allocate the lookup table
// (lt_calculate_size).
func lookupFits(groups, groupBits, bsize int) bool {
	return lookupBytes(groups, groupBits, bsize)+alignHeadroom <= intMax
}

// nextGroupBits is the width that pipapo_lt_bits_adjust picks for a table of the
// given shape, and whether it differs from the present one. groups counts groups
// of the present width; high is LookupSizeHigh, or less in tests that want to pass
// it often.
func nextGroupBits(groups, groupBits, bsize int, high uint64) (int, bool) {
	size := lookupBytes(groups, groupBits, bsize)
	switch {
	case groupBits == GroupBitsSmallSet && size > high:
		return GroupBitsLargeSet, lookupFits(groups*2, GroupBitsLargeSet, bsize)
	case groupBits == GroupBitsLargeSet && size < high-high/32: // LookupSizeLow
		// The kernel compares the allocation, headroom included, with the threshold.
		wide := lookupBytes(groups/2, GroupBitsSmallSet, bsize) + alignHeadroom
		return GroupBitsSmallSet, wide <= high
	default:
		return groupBits, false
	}
}

// nextRulesAlloc is the number of mapping buckets allocated after going from old
// to rules rules with alloc buckets at hand (pipapo_realloc_mt).
func nextRulesAlloc(alloc, old, rules int) int {
	if rules == 0 {
		return 0
	}
	if rules > old && alloc > rules {
		return alloc
	}
	if rules < old && alloc-rules < 2*mapExtra {
		return alloc
	}
	if rules > mapExtra {
		return rules + mapExtra
	}
	return rules
}

// FieldReport describes the tables of one field as the kernel would hold them.
type FieldReport struct {
	Length       int    // field length in bytes
	Rules        int    // prefixes
	GroupBits    int    // group width, 4 or 8
	Groups       int    // number of groups
	BucketLongs  int    // bucket size in 64-bit words
	LookupBytes  uint64 // lookup table, without alignment headroom
	MappingBytes uint64 // mapping table: 8 bytes a rule
	// LookupAlloc and MappingAlloc are what the kernel asks its allocator for: the
	// lookup table with headroom for alignment, the mapping table with its slack.
	LookupAlloc, MappingAlloc uint64
}

// Fields describes every field's tables.
func (t *Table) Fields() []FieldReport {
	out := make([]FieldReport, len(t.fields))
	for i := range t.fields {
		f := &t.fields[i]
		lt := lookupBytes(f.groups, f.groupBits, f.bsize)
		r := FieldReport{
			Length: f.length, Rules: f.rules, GroupBits: f.groupBits, Groups: f.groups,
			BucketLongs: f.bsize, LookupBytes: lt, MappingBytes: uint64(f.rules) * mapBucketBytes,
		}
		if f.touched {
			r.LookupAlloc = lt + alignHeadroom
			r.MappingAlloc = uint64(f.rulesAlloc) * mapBucketBytes
		}
		out[i] = r
	}
	return out
}

// Bytes is the size of all lookup and mapping tables: the number to compare set
// shapes with. Allocations adds what else the kernel allocates.
func (t *Table) Bytes() uint64 {
	n := uint64(0)
	for _, f := range t.Fields() {
		n += f.LookupBytes + f.MappingBytes
	}
	return n
}

// PrivateBytes is sizeof(struct nft_pipapo), which lies behind struct nft_set.
const PrivateBytes = sizeofPipapo

// Allocations lists the sizes of what the kernel allocates for a committed set,
// apart from the set itself and its elements: the matching data, the tables, and
// one scratch area for each of cpus possible CPUs (pipapo_clone,
// pipapo_realloc_scratch).
func (t *Table) Allocations(cpus int) []uint64 {
	out := []uint64{uint64(sizeofMatch + sizeofField*len(t.fields))}
	for _, f := range t.Fields() {
		if f.LookupAlloc != 0 {
			out = append(out, f.LookupAlloc)
		}
		if f.MappingAlloc != 0 {
			out = append(out, f.MappingAlloc)
		}
	}
	if t.bsizeMax > 0 {
		for range cpus {
			out = append(out, uint64(sizeofScratch+2*t.bsizeMax*longBytes+alignHeadroom))
		}
	}
	return out
}
