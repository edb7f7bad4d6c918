//go:build (amd64 || arm64) && !purego

package prefetch

import "unsafe"

// Available tells whether Line does anything.
const Available = true

// Line asks for the cache line at p, for reading, into all cache levels. p need not
// be aligned, and may be any address: a bad one has no effect.
//
//go:noescape
func Line(p unsafe.Pointer)
