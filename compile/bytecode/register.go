package bytecode

import "fmt"

// Register is a register number of nf_tables (enum nft_registers).
type Register uint8

const (
	RegVerdict Register = 0
	Reg1       Register = 1
	Reg2       Register = 2
	Reg3       Register = 3
	Reg4       Register = 4
	Reg32_00   Register = 8
	Reg32_15   Register = 23
)

// RegisterBytes is the size of the register file without the verdict
// (NFT_REG32_NUM slots of 4 bytes).
const RegisterBytes = 64

// Offset returns the byte offset of the register in the register file.
// ok is false for the verdict register and numbers that do not exist
// (nft_parse_register).
func (r Register) Offset() (offset int, ok bool) {
	switch {
	case r >= Reg1 && r <= Reg4:
		return int(r-Reg1) * 16, true
	case r >= Reg32_00 && r <= Reg32_15:
		return int(r-Reg32_00) * 4, true
	}
	return 0, false
}

// SlotRegister returns the register that nft names for a 4-byte slot 0..15:
// the 16-byte name where the slot starts one, else the 4-byte name.
func SlotRegister(slot int) Register {
	if slot%4 == 0 {
		return Reg1 + Register(slot/4)
	}
	return Reg32_00 + Register(slot)
}

func (r Register) String() string { return fmt.Sprintf("reg %d", uint8(r)) }

// Data is a constant operand, as it lies in a register: for a concatenation
// every field starts at a multiple of four bytes.
type Data struct {
	Bytes []byte
	// Fields are the parts in order, for printing; nil means one field of
	// len(Bytes) in network order.
	Fields []Field
}

// Field is one part of a Data or of a set key: its length in bytes, without
// padding, and whether it is an integer in the target's own byte order.
type Field struct {
	Len  uint16
	Host bool
}

// Padded returns the bytes that a field takes in registers and set keys.
func (f Field) Padded() int { return (int(f.Len) + 3) &^ 3 }

// Code is a verdict code (NF_* and NFT_* of the kernel).
type Code int32

const (
	Drop     Code = 0
	Accept   Code = 1
	Queue    Code = 3
	Continue Code = -1
	Break    Code = -2
	Jump     Code = -3
	Goto     Code = -4
	Return   Code = -5
)

func (c Code) String() string {
	switch c {
	case Drop:
		return "drop"
	case Accept:
		return "accept"
	case Queue:
		return "queue"
	case Continue:
		return "continue"
	case Break:
		return "break"
	case Jump:
		return "jump"
	case Goto:
		return "goto"
	case Return:
		return "return"
	}
	return fmt.Sprintf("verdict(%d)", int32(c))
}

// Verdict is a verdict with its target chain for jump and goto. ChainID is set
// instead of Chain for an anonymous chain (`jump { … }`): it is the Chain.ID.
type Verdict struct {
	Code    Code
	Chain   string
	ChainID uint32
}
