// Package pipapo turns concatenated ranges into the tables of the kernel's
// PIPAPO set back end and matches keys against them.
//
// An element is one closed range per field, given as two keys of the same
// layout: the start key holds the lower end of every field, the end key the
// upper end. The fields of a key follow one another, each padded to 4 bytes, as
// they stand in the 32-bit registers of nf_tables.
//
// Terms, all the kernel's:
//
//   - field: one column of the concatenation. It owns a lookup table and a
//     mapping table.
//   - rule: one prefix of a field. A range that is no prefix is split into the
//     few prefixes that make it up (pipapo_expand); every element owns a run of
//     consecutive rules in every field.
//   - group: 4 or 8 bits of the field, most significant first. The group width
//     is a property of the field's table and may change while elements come and
//     go.
//   - bucket: the row of a lookup table for one value of one group, a bitmap
//     with one bit a rule. A rule's bit is set in the buckets of all group values
//     that its prefix covers.
//   - lookup table: groups × 2^width buckets. ANDing the buckets that a key
//     selects leaves the rules that match it.
//   - mapping table: for every rule of a field the run of rules in the next field
//     that belongs to the same element; in the last field the element itself.
//
// The kernel sizes a bucket in longs and rounds it up to 32 bytes for its AVX2
// code; the accounting here (Table.Fields, Table.Bytes) follows it byte for byte.
// The tables themselves may be held with spare room at the end of each bucket so
// that adding a rule seldom moves them.
//
// Width switching: a field starts with 8-bit groups; when its lookup table
// exceeds LookupSizeHigh it is converted to 4-bit groups, and back when it falls
// below LookupSizeLow, unless the result would exceed LookupSizeHigh again
// (pipapo_lt_bits_adjust).
//
// Out of range: a key shorter than the set's key never matches; inserting
// elements with keys of another length, an inverted range, a duplicate or a
// partial overlap gives an *InsertError with the kernel's error number and leaves
// the table as it was.
package pipapo
