// Package bytecode is the instruction set of nf_tables: registers, verdicts,
// expressions (each Instr is one nf_tables expression of a rule), sets with
// their elements, stateful objects, chains and tables, as they would go to the
// kernel. It knows nothing of the language they were compiled from, except
// that spans of source text travel along so that a trace can quote a rule.
//
// Registers. Programs name registers by the kernel's numbers: 0 is the verdict
// register, 1..4 are the 16-byte registers, 8..23 the sixteen 4-byte slots
// that lie over them (register 1 is the slots 8..11, and so on). Everything is
// stored from the start of a slot; what is left of the last slot is zero.
//
// Byte order. All constants are held as they lie in a register on the target,
// a little-endian 64-bit kernel unless said otherwise. Data.Fields says which
// parts are in host order, for printing only.
package bytecode
