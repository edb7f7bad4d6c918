package ir

// slab hands out small byte slices from large pieces of memory: keys of
// elements are many and live equally long.
type slab struct{ free []byte }

const slabSize = 1 << 16

// alloc returns n zero bytes that nothing else uses.
func (s *slab) alloc(n int) []byte {
	if n > len(s.free) {
		if n > slabSize/4 {
			return make([]byte, n)
		}
		s.free = make([]byte, slabSize)
	}
	b := s.free[:n:n]
	s.free = s.free[n:]
	return b
}
