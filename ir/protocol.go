package ir

import "github.com/nftc/nftc/compile/bytecode"

// Protocol is a header that payload or exthdr expressions know: one row per
// protocol, one HeaderField per field.
type Protocol struct {
	Name   string
	Base   bytecode.PayloadBase
	Fields []HeaderField

	// Op and Number say how an extension header, option or chunk is found;
	// Exthdr tells them from payload protocols.
	Exthdr bool
	Op     bytecode.ExthdrOp
	Number uint8

	// Length of the header in bits, of link layers that stack.
	Length int
	// ChecksumType is NFT_PAYLOAD_CSUM_*; Checksum the field, nil for none
	// that writes mend.
	ChecksumType uint8
	Checksum     *HeaderField
	// Inner is how the kernel finds the headers inside this tunnel.
	Inner *InnerProto

	// key is the field that tells the next protocol; metaKey stands in its
	// place for dependencies where the kernel has a better answer.
	key     *HeaderField
	metaKey *metaKey
	upper   []protoLink
}

// protoLink says that key value num means protocol p.
type protoLink struct {
	num uint32
	p   *Protocol
}

// HeaderField is one field of a header: offset and length in bits.
type HeaderField struct {
	Name   string
	Type   *Datatype
	Offset int
	Bits   int
	Order  ByteOrder

	// dep is the kind of ICMP message that has the field.
	dep icmpDep
	// Pseudo tells that the field is part of the pseudo header that layer 4
	// checksums cover.
	Pseudo bool
	// protocol marks the field as telling the next protocol.
	protocol bool
}

// icmpDep is which ICMP types carry a field.
type icmpDep uint8

const (
	icmpAny icmpDep = iota
	icmpEcho
	icmpMTU
	icmpAddress
	icmp6Echo
	icmp6MTU
	icmp6MaxDelay
	icmp6Pointer
	icmp6Address
	icmp6Redirect
)

// types returns the message types that carry a field; the first one stands for
// all.
func (d icmpDep) types() []uint8 {
	switch d {
	case icmpEcho:
		return []uint8{8, 0}
	case icmpMTU:
		return []uint8{3}
	case icmpAddress:
		return []uint8{5}
	case icmp6Echo:
		return []uint8{128, 129}
	case icmp6MTU:
		return []uint8{2}
	case icmp6MaxDelay:
		return []uint8{130}
	case icmp6Pointer:
		return []uint8{4}
	case icmp6Address:
		return []uint8{130, 131, 132, 135, 136, 137}
	case icmp6Redirect:
		return []uint8{137}
	}
	return nil
}

// representative is the type that the context holds once the dependency is met.
func (d icmpDep) representative() uint8 {
	if d == icmp6Address {
		return 135
	}
	if t := d.types(); len(t) > 0 {
		return t[0]
	}
	return 0
}

// Field finds a field by name; nil when there is none.
func (p *Protocol) Field(name string) *HeaderField {
	for i := range p.Fields {
		if p.Fields[i].Name == name {
			return &p.Fields[i]
		}
	}
	return nil
}

// FieldNames returns the names of all fields.
func (p *Protocol) FieldNames() []string {
	names := make([]string, len(p.Fields))
	for i := range p.Fields {
		names[i] = p.Fields[i].Name
	}
	return names
}

// find returns the protocol that a key value means, nil when unknown.
func (p *Protocol) find(num uint32) *Protocol {
	if p != nil {
		for _, l := range p.upper {
			if l.num == num {
				return l.p
			}
		}
	}
	return nil
}

// numberOf returns the key value that means an upper protocol.
func (p *Protocol) numberOf(u *Protocol) (uint32, bool) {
	if p != nil {
		for _, l := range p.upper {
			if l.p == u {
				return l.num, true
			}
		}
	}
	return 0, false
}

// ProtocolNamed returns the payload protocol of a name (`tcp`), nil when there
// is none.
func ProtocolNamed(name string) *Protocol {
	for _, p := range payloadProtocols {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// exthdrNamed returns the IPv6 extension header of a name, nil when there is
// none.
func exthdrNamed(name string) *Protocol {
	for _, p := range exthdrProtocols {
		if p.Name == name {
			return p
		}
	}
	return nil
}
