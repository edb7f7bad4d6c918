//go:build (!amd64 && !arm64) || purego

package prefetch

import "unsafe"

// Available tells whether Line does anything.
const Available = false

// Line does nothing here.
func Line(unsafe.Pointer) {}
