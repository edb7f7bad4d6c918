package prefetch

import (
	"testing"
	"unsafe"
)

func TestLineHasNoEffectOnMemory(t *testing.T) {
	b := []byte{1, 2, 3}
	Line(unsafe.Pointer(&b[0]))
	Line(unsafe.Pointer(&b[2]))
	Line(nil)
	if b[0] != 1 || b[1] != 2 || b[2] != 3 {
		t.Error(b)
	}
}

func BenchmarkLine(b *testing.B) {
	var x [64]byte
	for b.Loop() {
		Line(unsafe.Pointer(&x))
	}
}
