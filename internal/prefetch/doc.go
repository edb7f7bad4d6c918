// Package prefetch gives Go code the processor's prefetch instruction: it asks for
// a cache line without waiting for it. Go has no such intrinsic outside its own
// runtime, so it is a function of one instruction in assembly; a call costs about
// two nanoseconds, which only a line that is not in the caches is worth.
//
// With the build tag purego, and on other processors, Line does nothing.
package prefetch
