package packet

// IPv6TransportAt is ipv6_find_hdr for the IPv6 header at offset nh of Data,
// which may lie inside a tunnel: where its transport header stands, its
// protocol, and the fragment offset in bytes. An authentication header counts
// as transport header (IP6_FH_F_AUTH).
func (p *Packet) IPv6TransportAt(nh int) (off int, proto uint8, frag uint16, a Absent) {
	return p.findIPv6(nh, -1, true)
}

// Replace gives the packet other bytes with the same link layer header, as
// reassembly does. wireLen is how many there are, at least len(data); none of
// them is a trailer. Enter must be called afterwards.
func (p *Packet) Replace(data []byte, wireLen int) {
	p.Data, p.WireLen, p.wireEnd = data, max(wireLen, len(data)), max(wireLen, len(data))
}
