package packet

// Checksum is the Internet checksum (RFC 1071) of b, started with the partial
// sum of [PartialSum]: 0 when b contains its own right checksum.
func Checksum(b []byte, partial uint32) uint16 {
	s := PartialSum(b, partial)
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return ^uint16(s)
}

// PartialSum adds b, as big-endian 16-bit words padded with a zero byte, to a
// sum that has been folded no further than 32 bits.
func PartialSum(b []byte, partial uint32) uint32 {
	s := uint64(partial)
	for len(b) >= 4 {
		s += uint64(be32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		s += uint64(be16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	for s>>32 != 0 {
		s = s&0xffffffff + s>>32
	}
	s = s&0xffff + s>>16
	return uint32(s)
}

// pseudoSum is the partial sum of the pseudo header for the transport
// checksums of IPv4 and IPv6; n is the length of the transport segment.
func pseudoSum(src, dst []byte, proto uint8, n int) uint32 {
	s := PartialSum(src, 0)
	s = PartialSum(dst, s)
	return s + uint32(proto) + uint32(n&0xffff) + uint32(n>>16)
}
