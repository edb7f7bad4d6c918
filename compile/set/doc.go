// Package set turns a set of bytecode into the table that evaluation looks keys
// up in, and tells what the kernel would do with it: which back end it picks and
// why, how much memory that takes, and which elements it refuses.
//
// Terms. A key is a register's content: for a plain key exactly the type's bytes,
// for a concatenation every field padded to 4 bytes. A back end is a way to store
// elements; the kernel's are named by KernelBackend, ours by Backend. An interval
// set without concatenation consists of start and end points: an interval runs
// from a start point up to, not including, the next point, be it its end or
// another start; without one it is open. In a concatenated set with intervals an
// element has a lower and an upper key, both included.
//
// A Ref names an element of a Table: those that the set was built with have their
// index in the set's element list, those added by packets follow.
//
// Out of range: a key shorter than the set's never matches, the catch-all element
// included; elements of the wrong key length are an error of Build.
package set
