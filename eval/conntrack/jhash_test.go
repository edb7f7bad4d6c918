package conntrack

import "testing"

// TestJhash2 compares with the kernel's jhash2 of the words 1, 2, ... and seed
// 99.
func TestJhash2(t *testing.T) {
	w := []uint32{1, 2, 3, 4, 5, 6}
	for i, want := range []uint32{0x76c299bb, 0x89aaa7ab, 0x3181a1a7, 0x9b45d676, 0xa1c4907e, 0xbff54388} {
		if got := jhash2(w[:i+1], 99); got != want {
			t.Errorf("%d words: %#x, want %#x", i+1, got, want)
		}
	}
}
