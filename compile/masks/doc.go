// Package masks is tuple-space search: entries are grouped by their mask, every
// mask has a hash table of the masked keys, and a lookup tries one mask after the
// other. It turns (mask, key, number) entries into a Table that finds the entries
// matching a key.
//
// Terms are Open vSwitch's:
//
//   - mask: the bits of a key that entries compare. A mask exists as long as an
//     entry has it.
//   - mask array: the masks in the order in which a lookup tries them. It has no
//     holes: deleting a mask moves the last one into the gap, so a lookup ends
//     with the last mask. It grows in steps of ArrayStep places and shrinks to
//     half when at most a third of them is used. (The array with holes, which
//     tries every place up to the last mask, exists for comparison.)
//   - flow mask cache: for a packet's hash, the place in the mask array at which it
//     was found last. A place is a hint only: that mask is tried first, and if it
//     does not match, all the others are. So a cache entry whose mask was moved or
//     deleted costs a look at a wrong mask, never a wrong answer.
//   - rebalancing: sorting the array by how often masks were hit.
//
// Where several entries match, the one with the lowest number is found. A Table
// that is told that its entries are disjoint stops at the first match.
//
// Out of range: a key shorter than the table's never matches; inserting or
// deleting with a mask or key of the wrong length is refused.
package masks
