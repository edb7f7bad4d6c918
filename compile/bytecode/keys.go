package bytecode

// MetaKey is NFT_META_*.
type MetaKey uint32

const (
	MetaLen MetaKey = iota
	MetaProtocol
	MetaPriority
	MetaMark
	MetaIIF
	MetaOIF
	MetaIIFName
	MetaOIFName
	MetaIIFType
	MetaOIFType
	MetaSKUID
	MetaSKGID
	MetaNFTrace
	MetaRTClassID
	MetaSecmark
	MetaNFProto
	MetaL4Proto
	MetaBriIIFName
	MetaBriOIFName
	MetaPktType
	MetaCPU
	MetaIIFGroup
	MetaOIFGroup
	MetaCGroup
	MetaPRandom
	MetaSecpath
	MetaIIFKind
	MetaOIFKind
	MetaBriIIFPVID
	MetaBriIIFVProto
	MetaTimeNS
	MetaTimeDay
	MetaTimeHour
	MetaSDIF
	MetaSDIFName
	MetaBriBroute
	_ // __NFT_META_IIFTYPE
	MetaBriIIFHWAddr
)

var metaKeyNames = [...]string{
	MetaLen:          "len",
	MetaProtocol:     "protocol",
	MetaPriority:     "priority",
	MetaMark:         "mark",
	MetaIIF:          "iif",
	MetaOIF:          "oif",
	MetaIIFName:      "iifname",
	MetaOIFName:      "oifname",
	MetaIIFType:      "iiftype",
	MetaOIFType:      "oiftype",
	MetaSKUID:        "skuid",
	MetaSKGID:        "skgid",
	MetaNFTrace:      "nftrace",
	MetaRTClassID:    "rtclassid",
	MetaSecmark:      "secmark",
	MetaNFProto:      "nfproto",
	MetaL4Proto:      "l4proto",
	MetaBriIIFName:   "bri_iifname",
	MetaBriOIFName:   "bri_oifname",
	MetaPktType:      "pkttype",
	MetaCPU:          "cpu",
	MetaIIFGroup:     "iifgroup",
	MetaOIFGroup:     "oifgroup",
	MetaCGroup:       "cgroup",
	MetaPRandom:      "prandom",
	MetaSecpath:      "secpath",
	MetaIIFKind:      "iifkind",
	MetaOIFKind:      "oifkind",
	MetaBriIIFPVID:   "bri_iifpvid",
	MetaBriIIFVProto: "bri_iifvproto",
	MetaTimeNS:       "time",
	MetaTimeDay:      "day",
	MetaTimeHour:     "hour",
	MetaSDIF:         "sdif",
	MetaSDIFName:     "sdifname",
	MetaBriBroute:    "broute",
	MetaBriIIFHWAddr: "ibrhwaddr",
}

// String returns the name that nft's debug text uses.
func (k MetaKey) String() string {
	if int(k) < len(metaKeyNames) {
		return metaKeyNames[k]
	}
	return "unknown"
}

// CTKey is NFT_CT_*.
type CTKey uint32

const (
	CTState CTKey = iota
	CTDirection
	CTStatus
	CTMark
	CTSecmark
	CTExpiration
	CTHelper
	CTL3Protocol
	CTSrc
	CTDst
	CTProtocol
	CTProtoSrc
	CTProtoDst
	CTLabel
	CTPkts
	CTBytes
	CTAvgPkt
	CTZone
	CTEvent
	CTSrcIP
	CTDstIP
	CTSrcIP6
	CTDstIP6
	CTID
)

var cTKeyNames = [...]string{
	CTState:      "state",
	CTDirection:  "direction",
	CTStatus:     "status",
	CTMark:       "mark",
	CTSecmark:    "secmark",
	CTExpiration: "expiration",
	CTHelper:     "helper",
	CTL3Protocol: "l3protocol",
	CTSrc:        "src",
	CTDst:        "dst",
	CTProtocol:   "protocol",
	CTProtoSrc:   "proto_src",
	CTProtoDst:   "proto_dst",
	CTLabel:      "label",
	CTPkts:       "packets",
	CTBytes:      "bytes",
	CTAvgPkt:     "avgpkt",
	CTZone:       "zone",
	CTEvent:      "event",
	CTSrcIP:      "src_ip",
	CTDstIP:      "dst_ip",
	CTSrcIP6:     "src_ip6",
	CTDstIP6:     "dst_ip6",
	CTID:         "id",
}

// String returns the name that nft's debug text uses.
func (k CTKey) String() string {
	if int(k) < len(cTKeyNames) {
		return cTKeyNames[k]
	}
	return "unknown"
}

// RTKey is NFT_RT_*.
type RTKey uint32

const (
	RTClassID RTKey = iota
	RTNextHop4
	RTNextHop6
	RTTCPMSS
	RTIPsec
)

var rTKeyNames = [...]string{
	RTClassID:  "classid",
	RTNextHop4: "nexthop4",
	RTNextHop6: "nexthop6",
	RTTCPMSS:   "tcpmss",
	RTIPsec:    "ipsec",
}

// String returns the name that nft's debug text uses.
func (k RTKey) String() string {
	if int(k) < len(rTKeyNames) {
		return rTKeyNames[k]
	}
	return "unknown"
}

// SocketKey is NFT_SOCKET_*.
type SocketKey uint32

const (
	SocketTransparent SocketKey = iota
	SocketMark
	SocketWildcard
	SocketCgroupV2
)

var socketKeyNames = [...]string{
	SocketTransparent: "transparent",
	SocketMark:        "mark",
	SocketWildcard:    "wildcard",
	SocketCgroupV2:    "cgroupv2",
}

// String returns the name that nft's debug text uses.
func (k SocketKey) String() string {
	if int(k) < len(socketKeyNames) {
		return socketKeyNames[k]
	}
	return "unknown"
}

// XfrmKey is NFT_XFRM_KEY_*.
type XfrmKey uint32

const (
	XfrmUnspec XfrmKey = iota
	XfrmDAddr4
	XfrmDAddr6
	XfrmSAddr4
	XfrmSAddr6
	XfrmReqID
	XfrmSPI
)

var xfrmKeyNames = [...]string{
	XfrmUnspec: "unspec",
	XfrmDAddr4: "daddr4",
	XfrmDAddr6: "daddr6",
	XfrmSAddr4: "saddr4",
	XfrmSAddr6: "saddr6",
	XfrmReqID:  "reqid",
	XfrmSPI:    "spi",
}

// String returns the name that nft's debug text uses.
func (k XfrmKey) String() string {
	if int(k) < len(xfrmKeyNames) {
		return xfrmKeyNames[k]
	}
	return "unknown"
}
