package ir

// ByteOrder of a value. Values in this package are always written most
// significant byte first; the order says how the kernel holds them.
type ByteOrder uint8

const (
	OrderInvalid ByteOrder = iota
	OrderHost
	OrderBig
)

func (o ByteOrder) String() string {
	switch o {
	case OrderHost:
		return "host endian"
	case OrderBig:
		return "network endian"
	}
	return "invalid"
}

// TypeID is nft's number of a datatype (enum datatypes in nftables; the kernel
// stores it with sets as NFTA_SET_KEY_TYPE).
type TypeID uint32

// TypeBits is how far a concatenation shifts the type number per field.
const TypeBits = 6

// Datatype is a type of values: its nft name, description as messages quote
// it, size and byte order. Symbols is set for types with named constants.
type Datatype struct {
	ID      TypeID
	Name    string
	Desc    string
	Bits    int // 0: any
	Order   ByteOrder
	Base    *Datatype // what it is made of: integer, string or another type
	Symbols *Symbols
	// Prefix tells whether the type is listed in prefix notation.
	Prefix bool
	// Parts are the fields of a concatenation, else nil.
	Parts []*Datatype
}

// Symbols are the named constants of a datatype, in the order that nft
// searches and describes them.
type Symbols struct {
	// Radix of numbers in listings: 10, 16.
	Radix int
	List  []SymbolValue
}

// SymbolValue is one named constant.
type SymbolValue struct {
	Name  string
	Value uint64
}
