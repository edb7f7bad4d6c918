package bytecode

import "io"

// Dump writes what `nft --debug=netlink -c -f FILE` of nft 1.1.7 prints for the
// transaction.
func Dump(w io.Writer, rs *Ruleset) error { return nil }

// DumpInstr returns the text of one expression without the brackets' indent,
// e.g. `[ cmp eq reg 1 0x06 ]`.
func DumpInstr(in Instr) string { return "" }
