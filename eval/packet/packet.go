package packet

import "encoding/binary"

// Netfilter protocol families, as NFPROTO_* (what `meta nfproto` yields).
const (
	NFProtoUnspec = 0
	NFProtoIPv4   = 2
	NFProtoARP    = 3
	NFProtoIPv6   = 10
)

// Ethernet types which decoding tells apart (ETH_P_*, host order).
const (
	EtherIPv4   = 0x0800
	EtherARP    = 0x0806
	EtherVLAN   = 0x8100 // ETH_P_8021Q
	EtherIPv6   = 0x86dd
	EtherQinQ   = 0x88a8 // ETH_P_8021AD
	EtherPPPoED = 0x8863
	EtherPPPoE  = 0x8864
	Ether802_3  = 0x0001 // ETH_P_802_3: raw 802.3 (0xffff after the length)
	Ether802_2  = 0x0004 // ETH_P_802_2: LLC after the length
)

// IP protocol numbers used by decoding and notation.
const (
	ProtoHopOpts  = 0
	ProtoICMP     = 1
	ProtoIGMP     = 2
	ProtoIPIP     = 4
	ProtoTCP      = 6
	ProtoUDP      = 17
	ProtoDCCP     = 33
	ProtoIPv6     = 41
	ProtoRouting  = 43
	ProtoFragment = 44
	ProtoGRE      = 47
	ProtoESP      = 50
	ProtoAH       = 51
	ProtoICMPv6   = 58
	ProtoNone     = 59
	ProtoDstOpts  = 60
	ProtoSCTP     = 132
	ProtoMH       = 135
	ProtoUDPLite  = 136
)

const etherHeaderLen = 14

// Packet is one packet: bytes, where its headers are, and what its source
// states about it. The zero value is empty; a Packet is meant to be reused.
//
// Data may be changed by whoever runs the packet (payload mangling, NAT): it
// belongs to the Packet until the next [Source.Next] or Reset. After changing
// header lengths or protocols call Decode again; Enter always reads afresh.
type Packet struct {
	Data     []byte   // captured bytes, from the first byte that the link type defines
	WireLen  int      // bytes on the wire, >= len(Data)
	LinkType LinkType // what Data starts with

	// Set by Decode.
	LL        int      // offset of the link layer header, -1 if none
	LLLen     int      // its length up to the network header, tags included (skb_mac_header_len without the untagged VLAN); 0 if none
	NH        int      // offset of the network header, -1 if none
	LLAbsent  Absent   // why LL is -1, or bytes of it are missing
	NHAbsent  Absent   // why NH is -1
	EtherType uint16   // skb->protocol in host order, after the outer VLAN tag; `meta protocol`
	NFProto   uint8    // NFProtoIPv4, NFProtoIPv6, NFProtoARP or NFProtoUnspec, by EtherType
	Note      LinkNote // how the link layer was taken apart, for reports

	// The outermost VLAN tag, which the kernel moves into skb metadata
	// (skb_vlan_untag). Loads from the link layer header see it re-inserted,
	// as nft_payload_copy_vlan does. VLANs inside of it stay in the payload.
	VLANPresent bool
	VLANProto   uint16 // EtherVLAN or EtherQinQ, host order
	VLANTCI     uint16 // priority (3 bits), DEI, VLAN id (12 bits)

	// LLGap bytes after the first 12 of the link layer header are hidden from
	// link layer loads: a switch tag which the driver removes (DSA), or a
	// priority tag once ClearVLAN took it away.
	LLGap int

	// HardHeader is the length of the link layer header that the device puts in
	// front, for ViewEgress of a packet that has none in Data.
	HardHeader int

	PktType PktType // as eth_type_trans finds it (destination taken as ours), or as the capture says; `meta pkttype`
	DevType uint16  // ARPHRD_* of the device that the link type belongs to; `meta iiftype`

	// Info is nft_pktinfo for the hook last entered.
	Info Info

	// Stated holds what the source of the packet says about it.
	Stated Stated

	// Where it came from, for reports.
	Index     int64  // ordinal in its source, from 1
	Section   int    // pcapng section, from 0
	Interface int    // pcapng interface id in the section; 0 elsewhere
	Line      int    // line in a tuple, CSV or JSON Lines file, from 1; 0 elsewhere
	Name      string // `name:` in packet notation; pcapng has none

	// Bytes of the link layer header that loads see in place of those in Data:
	// llHdr holds those whose bit in llKnown is set. They stand in for a header
	// which the capture replaced.
	llHdr   [18]byte
	llKnown uint32

	trimmed bool // Trim took place
	wireEnd int  // offset where the frame ends on the wire, link layer trailer excluded
	buf     []byte
}

// Reset empties the packet but keeps its memory.
func (p *Packet) Reset() {
	p.Data, p.WireLen, p.wireEnd, p.LinkType = nil, 0, 0, 0
	p.buf = p.buf[:0]
	p.clear()
	p.Info = Info{TH: -1, THAbsent: NoNetworkHeader}
	p.Stated.reset()
	p.Index, p.Section, p.Interface, p.Line = 0, 0, 0, 0
	if p.Name != "" {
		p.Name = ""
	}
}

// clear forgets what Decode finds.
func (p *Packet) clear() {
	p.LL, p.LLLen, p.LLGap, p.NH = -1, 0, 0, -1
	p.LLAbsent, p.NHAbsent = NoLinkHeader, NoNetworkHeader
	p.EtherType, p.NFProto, p.Note = 0, NFProtoUnspec, NoteNone
	p.VLANPresent, p.VLANProto, p.VLANTCI = false, 0, 0
	p.PktType, p.DevType = PktHost, DevVoid
	p.llKnown = 0
	p.HardHeader, p.trimmed = 0, false
}

// knowLL notes bytes of the Ethernet header that the capture replaced.
func (p *Packet) knowLL(off int, b []byte) {
	copy(p.llHdr[off:], b)
	p.llKnown |= (1<<len(b) - 1) << off
}

// knowLLType notes the EtherType, and the VLAN tag before it.
func (p *Packet) knowLLType() {
	off := 12
	if p.VLANPresent {
		p.knowLL(12, []byte{byte(p.VLANProto >> 8), byte(p.VLANProto), byte(p.VLANTCI >> 8), byte(p.VLANTCI)})
		off = 16
	}
	if p.EtherType >= 0x0600 { // else the header holds a length
		p.knowLL(off, []byte{byte(p.EtherType >> 8), byte(p.EtherType)})
	}
}

// SetFrame makes p a packet of the given bytes and decodes it. data is kept,
// not copied. wireLen below len(data) is raised to it.
func (p *Packet) SetFrame(lt LinkType, data []byte, wireLen int) {
	p.Reset()
	p.Data, p.WireLen, p.LinkType = data, wireLen, lt
	p.Decode()
}

// Clone returns a deep copy that outlives the source's next packet.
func (p *Packet) Clone() *Packet {
	q := *p
	q.Data = append([]byte(nil), p.Data...)
	q.buf = nil
	return &q
}

// VLANID is the id (0-4095) in the outermost VLAN tag; 0 without a tag.
func (p *Packet) VLANID() uint16 { return p.VLANTCI & 0x0fff }

// HasIP reports whether a network header of IPv4 or IPv6 is present.
func (p *Packet) HasIP() bool {
	return p.NH >= 0 && (p.NFProto == NFProtoIPv4 || p.NFProto == NFProtoIPv6)
}

// ClearLL removes the link layer header from the view of rules: a locally
// generated packet has none at output and postrouting (skb_mac_header_len is
// 0), so that link layer loads break.
func (p *Packet) ClearLL() {
	p.LL, p.LLLen, p.LLAbsent, p.LLGap = -1, 0, NoLinkHeader, 0
}

// ClearVLAN forgets a VLAN tag, as __netif_receive_skb_core does with a
// priority tag (VLAN id 0) after the ingress hook: link layer loads then see
// the frame without it.
func (p *Packet) ClearVLAN() {
	if !p.VLANPresent {
		return
	}
	p.VLANPresent, p.VLANProto, p.VLANTCI = false, 0, 0
	if p.LL >= 0 {
		p.LLGap += 4
		p.llKnown = 0
	}
}

// at reads n bytes at offset off of Data for decoding: it looks at the wire
// end of the frame, not at a hook's view.
func (p *Packet) at(off, n int) ([]byte, Absent) {
	if off < 0 || n < 0 {
		return nil, Malformed
	}
	if off+n > p.wireEnd {
		return nil, PastEnd
	}
	if off+n > len(p.Data) {
		return nil, Truncated
	}
	return p.Data[off : off+n], None
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
