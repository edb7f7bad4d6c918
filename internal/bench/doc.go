// Package bench measures the set back ends and the whole path of packets, for
// `nftc bench` and for `go test -bench`.
//
// A suite turns workloads into cases, functions that do one thing n times, and
// [Measure] turns cases into nanoseconds per operation. All cases of a
// comparison are run in turns, slice by slice, so that whatever slows the machine
// down slows all of them down: ratios within one comparison mean more than the
// figures themselves. A case's figures are the median of its slices and the best
// one, in CPU time of the thread where the system tells it, else in wall time.
//
// The kernel's own cost of a lookup is measured by amplification: two chains that
// differ in nothing but K lookups see the same packets (see KernelCases).
package bench
