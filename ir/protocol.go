package ir

import "github.com/nftc/nftc/compile/bytecode"

// Protocol is a header that payload or exthdr expressions know: one row per
// protocol, one HeaderField per field.
type Protocol struct {
	Name   string
	Base   bytecode.PayloadBase
	Fields []HeaderField
}

// HeaderField is one field of a header: offset and length in bits.
type HeaderField struct {
	Name   string
	Type   *Datatype
	Offset int
	Bits   int
	Order  ByteOrder
}
