package packet

// Absent says why a header or a byte range cannot be read; None means that it
// can. It is kept apart from a plain failure because an evaluator must tell
// "the kernel breaks the rule here" from "this capture does not say".
type Absent uint8

const (
	// None: the thing is present.
	None Absent = iota
	// NoLinkHeader: the device has no link layer header (raw IP, tun, PPP), or
	// the packet has none yet (locally generated): skb_mac_header_len is 0.
	NoLinkHeader
	// LinkNotCaptured: the device has a link layer header, but the capture
	// replaced or dropped it (Linux cooked capture, NFLOG). Unknown.
	LinkNotCaptured
	// NoNetworkHeader: the frame carries no packet (or one that is unknown).
	NoNetworkHeader
	// NoTransportHeader: the family or protocol has none (ARP, not IP), or the
	// kernel did not set NFT_PKTINFO_L4PROTO.
	NoTransportHeader
	// Fragment: a fragment other than the first: the transport header is in
	// another packet (nft_pktinfo.fragoff is not 0).
	Fragment
	// Truncated: inside the packet on the wire but past the captured bytes.
	// Unknown.
	Truncated
	// PastEnd: past the end of the packet on the wire.
	PastEnd
	// Malformed: a length, version or chain of headers that the kernel rejects.
	Malformed
	// NotFound: the header, option or chunk asked for is not in the packet.
	NotFound
)

var absentNames = [...]string{
	None:              "present",
	NoLinkHeader:      "no link layer header",
	LinkNotCaptured:   "link layer header not in the capture",
	NoNetworkHeader:   "no network header",
	NoTransportHeader: "no transport header",
	Fragment:          "not the first fragment",
	Truncated:         "truncated capture",
	PastEnd:           "past the end of the packet",
	Malformed:         "malformed packet",
	NotFound:          "not in the packet",
}

// String names the reason in words fit for a report.
func (a Absent) String() string {
	if int(a) < len(absentNames) {
		return absentNames[a]
	}
	return "unknown reason"
}

// Unknown reports whether the kernel would have an answer which the capture
// does not hold, so that a verdict depending on it is not certain.
func (a Absent) Unknown() bool { return a == Truncated || a == LinkNotCaptured }
