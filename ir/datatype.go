package ir

import "strings"

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
		return "big endian"
	}
	return "invalid"
}

// TypeID is nft's number of a datatype (enum datatypes in nftables; the kernel
// stores it with sets as NFTA_SET_KEY_TYPE).
type TypeID uint32

const (
	IDInvalid TypeID = iota
	IDVerdict
	IDNFProto
	IDBitmask
	IDInteger
	IDString
	IDLLAddr
	IDIPv4Addr
	IDIPv6Addr
	IDEtherAddr
	IDEtherType
	IDArpOp
	IDInetProto
	IDInetService
	IDICMPType
	IDTCPFlag
	IDDCCPPktType
	IDMHType
	IDTime
	IDMark
	IDIfIndex
	IDIfType
	IDRealm
	IDClassID
	IDUID
	IDGID
	IDCTState
	IDCTDir
	IDCTStatus
	IDICMPv6Type
	IDCTLabel
	IDPktType
	IDICMPCode
	IDICMPv6Code
	IDICMPXCode
	IDDevGroup
	IDDSCP
	IDECN
	IDFibAddrType
	IDBoolean
	IDCTEvent
	IDIfName
	IDIGMPType
	IDDate
	IDHour
	IDDay
	IDCgroupV2
	idCount
)

// TypeBits is how far a concatenation shifts the type number per field.
const TypeBits = 6

// form is how constants of a datatype are written, where that is not by the
// type's symbols and the form of its base.
type form uint8

const (
	formNone form = iota
	formInteger
	formString
	formLLAddr
	formIPv4
	formIPv6
	formProto
	formService
	formTime
	formBoolean
	formMark
	formClassID
	formIfIndex
	formUID
	formGID
	formDate
	formHour
	formCTLabel
	formCgroupV2
	formConcat
)

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

	form form
	// hex is the least number of digits of a hexadecimal listing; 0 lists in
	// decimal.
	hex int
	// quoted symbols are listed in double quotes.
	quoted bool
}

// Root follows Base to the end: integer, string, or the type itself.
func (t *Datatype) Root() *Datatype {
	for t.Base != nil {
		t = t.Base
	}
	return t
}

// IsInteger tells whether values are numbers in the end.
func (t *Datatype) IsInteger() bool { return t.Root().ID == IDInteger }

// IsString tells whether values are strings.
func (t *Datatype) IsString() bool { return t.Root().ID == IDString }

// IsBitmask tells whether values are sets of flags.
func (t *Datatype) IsBitmask() bool { return t.Base != nil && t.Base.ID == IDBitmask }

// direct returns the type one step below, or the type itself.
func (t *Datatype) direct() *Datatype {
	if t.Base != nil {
		return t.Base
	}
	return t
}

// Equal compares types by their numbers, as nft does.
func (t *Datatype) Equal(u *Datatype) bool { return t == u || t != nil && u != nil && t.ID == u.ID }

// compatible tells whether a value of type u may stand where t is expected: a
// packet mark takes any type that is an integer one step below.
func (t *Datatype) compatible(u *Datatype) bool {
	return t.ID == IDMark && t.direct().Equal(u.direct()) || t.Equal(u)
}

// Sized returns the type with a size and byte order of its own when it has
// none (integers), else itself.
func (t *Datatype) Sized(bits int, order ByteOrder) *Datatype {
	if t.Parts != nil || t.Bits == bits && t.Order == order {
		return t
	}
	c := *t
	c.Bits, c.Order = bits, order
	return &c
}

// Bytes is the length of a value of the type in bytes, 0 when any.
func (t *Datatype) Bytes() int { return (t.Bits + 7) / 8 }

// paddedBits is the room that a value of that many bits takes in registers.
func paddedBits(bits int) int { return (bits + 31) / 32 * 32 }

// ConcatType returns the type of a concatenation of parts. Bits counts the
// padding of each field to four bytes.
func ConcatType(parts []*Datatype) *Datatype {
	t := &Datatype{Parts: parts, form: formConcat}
	var name, desc strings.Builder
	desc.WriteString("concatenation of (")
	for i, p := range parts {
		if i > 0 {
			name.WriteString(" . ")
			desc.WriteString(", ")
		}
		name.WriteString(p.Name)
		desc.WriteString(p.Desc)
		t.Bits += paddedBits(p.Bits)
		t.ID = t.ID<<TypeBits | p.ID
	}
	desc.WriteString(")")
	t.Name, t.Desc = name.String(), desc.String()
	return t
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

// Lookup finds a constant by its name.
func (s *Symbols) Lookup(name string) (uint64, bool) {
	if s != nil {
		for i := range s.List {
			if s.List[i].Name == name {
				return s.List[i].Value, true
			}
		}
	}
	return 0, false
}

// NameOf finds the first name of a value.
func (s *Symbols) NameOf(v uint64) (string, bool) {
	if s != nil {
		for i := range s.List {
			if s.List[i].Value == v {
				return s.List[i].Name, true
			}
		}
	}
	return "", false
}

// Names returns all names in order.
func (s *Symbols) Names() []string {
	if s == nil {
		return nil
	}
	names := make([]string, len(s.List))
	for i := range s.List {
		names[i] = s.List[i].Name
	}
	return names
}
