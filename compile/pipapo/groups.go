package pipapo

// adjustGroupBits converts the lookup table to the other group width when its
// size calls for it (pipapo_lt_bits_adjust).
func (f *field) adjustGroupBits() {
	width, change := nextGroupBits(f.groups, f.groupBits, f.bsize, f.high)
	if !change {
		return
	}
	if width == GroupBitsLargeSet {
		f.split()
	} else {
		f.join()
	}
}

// split converts 8-bit groups into 4-bit groups. The bucket of a nibble is the
// union of the 16 byte buckets that have this nibble (pipapo_lt_8b_to_4b): a rule
// is a prefix, so the values of its two nibbles vary independently.
func (f *field) split() {
	s := f.stride
	lt := make([]uint64, 2*f.groups*16*s)
	for g := range f.groups {
		high := lt[2*g*16*s : (2*g+1)*16*s]
		low := lt[(2*g+1)*16*s : (2*g+2)*16*s]
		for v := range 256 {
			src := f.bucket(g, v)[:f.bsize]
			orInto(high[v>>4*s:], src)
			orInto(low[v&15*s:], src)
		}
	}
	f.lt, f.groups, f.groupBits = lt, 2*f.groups, GroupBitsLargeSet
}

// join converts 4-bit groups into 8-bit groups. The bucket of a byte is the
// intersection of its two nibbles' buckets (pipapo_lt_4b_to_8b).
func (f *field) join() {
	s := f.stride
	lt := make([]uint64, f.groups/2*256*s)
	for g := range f.groups / 2 {
		for v := range 256 {
			high := f.bucket(2*g, v>>4)[:f.bsize]
			low := f.bucket(2*g+1, v&15)[:f.bsize]
			dst := lt[(g*256+v)*s:][:f.bsize]
			for i := range dst {
				dst[i] = high[i] & low[i]
			}
		}
	}
	f.lt, f.groups, f.groupBits = lt, f.groups/2, GroupBitsSmallSet
}

func orInto(dst, src []uint64) {
	dst = dst[:len(src)]
	for i, w := range src {
		dst[i] |= w
	}
}
