package eval

import "testing"

// TestJenkins compares with the values that jhash of the kernel's
// include/linux/jhash.h gives for the bytes 1, 8, 15, ... and seed 0x12345678
// on a little-endian machine.
func TestJenkins(t *testing.T) {
	var b [40]byte
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	for _, c := range []struct {
		n    int
		want uint32
	}{
		{0, 0xf0e21567}, {3, 0xd8f0e5df}, {6, 0xf3a160da}, {9, 0xf8093a99}, {12, 0xe8f4c145}, {15, 0x2bcbceb5},
		{18, 0x9021cfc9}, {21, 0xb64962ac}, {24, 0x56fa96df}, {27, 0x3be752d0}, {30, 0x73c37e4e}, {33, 0x4be2faa8},
		{36, 0xedcc0c42}, {39, 0xa6a26c2e},
	} {
		if got := jenkins(b[:c.n], 0x12345678); got != c.want {
			t.Errorf("%d bytes: %#x, want %#x", c.n, got, c.want)
		}
	}
}
