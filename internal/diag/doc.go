// Package diag holds what every stage shares about source text: files and
// spans in them, and diagnostics, which are data until something renders them.
//
// A Pos is an offset in the text of all files of one FileSet laid end to end,
// so that a place needs four bytes and a Span eight, whatever file it is in.
// The zero Pos is no place at all. Spans of source text are never mixed with
// offsets in packets, which have their own names in eval/packet.
package diag
