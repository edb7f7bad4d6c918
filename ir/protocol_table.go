package ir

import "github.com/nftc/nftc/compile/bytecode"

// The headers that payload expressions know, with offsets and lengths in bits.
// Facts: the headers' RFCs, and what nft 1.1.7 compiles.

func field(name string, t *Datatype, offset, bits int) HeaderField {
	return HeaderField{Name: name, Type: t, Offset: offset, Bits: bits, Order: OrderBig}
}

func num(name string, offset, bits int) HeaderField {
	return field(name, TypeInteger, offset, bits)
}

func icmpField(name string, t *Datatype, offset, bits int, dep icmpDep) HeaderField {
	f := field(name, t, offset, bits)
	f.dep = dep
	return f
}

var (
	protoEther = &Protocol{Name: "ether", Base: bytecode.BaseLink, Length: 112, Fields: []HeaderField{
		field("daddr", TypeEtherAddr, 0, 48),
		field("saddr", TypeEtherAddr, 48, 48),
		field("type", TypeEtherType, 96, 16),
	}}
	protoVlan = &Protocol{Name: "vlan", Base: bytecode.BaseLink, Length: 32, Fields: []HeaderField{
		num("pcp", 0, 3),
		num("dei", 3, 1),
		num("cfi", 3, 1),
		num("id", 4, 12),
		field("type", TypeEtherType, 16, 16),
	}}
	protoArp = &Protocol{Name: "arp", Base: bytecode.BaseNetwork, Fields: []HeaderField{
		num("htype", 0, 16),
		field("ptype", TypeEtherType, 16, 16),
		num("hlen", 32, 8),
		num("plen", 40, 8),
		field("operation", TypeArpOp, 48, 16),
		field("saddr ether", TypeEtherAddr, 64, 48),
		field("saddr ip", TypeIPv4Addr, 112, 32),
		field("daddr ether", TypeEtherAddr, 144, 48),
		field("daddr ip", TypeIPv4Addr, 192, 32),
	}}
	protoIP = &Protocol{Name: "ip", Base: bytecode.BaseNetwork, ChecksumType: 1, Fields: []HeaderField{
		num("version", 0, 4),
		num("hdrlength", 4, 4),
		field("dscp", TypeDSCP, 8, 6),
		field("ecn", TypeECN, 14, 2),
		num("length", 16, 16),
		num("id", 32, 16),
		field("frag-off", TypeXInteger, 48, 16),
		num("ttl", 64, 8),
		field("protocol", TypeInetProto, 72, 8),
		num("checksum", 80, 16),
		field("saddr", TypeIPv4Addr, 96, 32),
		field("daddr", TypeIPv4Addr, 128, 32),
	}}
	protoIP6 = &Protocol{Name: "ip6", Base: bytecode.BaseNetwork, Fields: []HeaderField{
		num("version", 0, 4),
		field("dscp", TypeDSCP, 4, 6),
		field("ecn", TypeECN, 10, 2),
		num("flowlabel", 12, 20),
		num("length", 32, 16),
		field("nexthdr", TypeInetProto, 48, 8),
		num("hoplimit", 56, 8),
		field("saddr", TypeIPv6Addr, 64, 128),
		field("daddr", TypeIPv6Addr, 192, 128),
	}}
	protoICMP = &Protocol{Name: "icmp", Base: bytecode.BaseTransport, ChecksumType: 1, Fields: []HeaderField{
		field("type", TypeICMPType, 0, 8),
		field("code", TypeICMPCode, 8, 8),
		num("checksum", 16, 16),
		icmpField("id", TypeInteger, 32, 16, icmpEcho),
		icmpField("sequence", TypeInteger, 48, 16, icmpEcho),
		icmpField("gateway", TypeInteger, 32, 32, icmpAddress),
		icmpField("mtu", TypeInteger, 48, 16, icmpMTU),
	}}
	protoICMPv6 = &Protocol{Name: "icmpv6", Base: bytecode.BaseTransport, ChecksumType: 1, Fields: []HeaderField{
		field("type", TypeICMPv6Type, 0, 8),
		field("code", TypeICMPv6Code, 8, 8),
		num("checksum", 16, 16),
		icmpField("parameter-problem", TypeInteger, 32, 32, icmp6Pointer),
		icmpField("mtu", TypeInteger, 32, 32, icmp6MTU),
		icmpField("id", TypeInteger, 32, 16, icmp6Echo),
		icmpField("sequence", TypeInteger, 48, 16, icmp6Echo),
		icmpField("max-delay", TypeInteger, 32, 16, icmp6MaxDelay),
		icmpField("taddr", TypeIPv6Addr, 64, 128, icmp6Address),
		icmpField("daddr", TypeIPv6Addr, 192, 128, icmp6Redirect),
	}}
	protoIGMP = &Protocol{Name: "igmp", Base: bytecode.BaseTransport, ChecksumType: 1, Fields: []HeaderField{
		field("type", TypeIGMPType, 0, 8),
		num("mrt", 8, 8),
		num("checksum", 16, 16),
		num("group", 32, 32),
	}}
	protoAH = &Protocol{Name: "ah", Base: bytecode.BaseTransport, Fields: []HeaderField{
		field("nexthdr", TypeInetProto, 0, 8),
		num("hdrlength", 8, 8),
		num("reserved", 16, 16),
		num("spi", 32, 32),
		num("sequence", 64, 32),
	}}
	protoESP = &Protocol{Name: "esp", Base: bytecode.BaseTransport, Fields: []HeaderField{
		num("spi", 0, 32),
		num("sequence", 32, 32),
	}}
	protoComp = &Protocol{Name: "comp", Base: bytecode.BaseTransport, Fields: []HeaderField{
		field("nexthdr", TypeInetProto, 0, 8),
		field("flags", TypeBitmask, 8, 8),
		num("cpi", 16, 16),
	}}
	protoUDP = &Protocol{Name: "udp", Base: bytecode.BaseTransport, Fields: []HeaderField{
		field("sport", TypeInetService, 0, 16),
		field("dport", TypeInetService, 16, 16),
		num("length", 32, 16),
		num("checksum", 48, 16),
	}}
	protoUDPLite = &Protocol{Name: "udplite", Base: bytecode.BaseTransport, Fields: []HeaderField{
		field("sport", TypeInetService, 0, 16),
		field("dport", TypeInetService, 16, 16),
		num("csumcov", 32, 16),
		num("checksum", 48, 16),
	}}
	protoTCP = &Protocol{Name: "tcp", Base: bytecode.BaseTransport, ChecksumType: 1, Fields: []HeaderField{
		field("sport", TypeInetService, 0, 16),
		field("dport", TypeInetService, 16, 16),
		num("sequence", 32, 32),
		num("ackseq", 64, 32),
		num("doff", 96, 4),
		num("reserved", 100, 4),
		field("flags", TypeTCPFlag, 104, 8),
		num("window", 112, 16),
		num("checksum", 128, 16),
		num("urgptr", 144, 16),
	}}
	protoDCCP = &Protocol{Name: "dccp", Base: bytecode.BaseTransport, Fields: []HeaderField{
		field("sport", TypeInetService, 0, 16),
		field("dport", TypeInetService, 16, 16),
		field("type", TypeDCCPPktType, 67, 4),
	}}
	protoSCTP = &Protocol{Name: "sctp", Base: bytecode.BaseTransport, ChecksumType: 2, Fields: []HeaderField{
		field("sport", TypeInetService, 0, 16),
		field("dport", TypeInetService, 16, 16),
		num("vtag", 32, 32),
		num("checksum", 64, 32),
	}}
	// protoTH stands for whatever has ports.
	protoTH = &Protocol{Name: "th", Base: bytecode.BaseTransport, Fields: []HeaderField{
		field("sport", TypeInetService, 0, 16),
		field("dport", TypeInetService, 16, 16),
	}}
	protoGRE = &Protocol{Name: "gre", Base: bytecode.BaseTransport, metaKey: metaL4Proto, Fields: []HeaderField{
		num("flags", 0, 5),
		num("version", 13, 3),
		field("protocol", TypeEtherType, 16, 16),
	}, Inner: &InnerProto{Name: "gre", Type: 3, HdrSize: 4, Flags: innerNH | innerTH}}
	protoGRETap = &Protocol{Name: "gretap", Base: bytecode.BaseTransport, metaKey: metaL4Proto,
		Inner: &InnerProto{Name: "gretap", Type: 4, HdrSize: 4, Flags: innerLL | innerNH | innerTH}}
	protoVXLAN = &Protocol{Name: "vxlan", Base: bytecode.BaseInner, Fields: []HeaderField{
		field("flags", TypeBitmask, 0, 8),
		num("vni", 32, 24),
	}, Inner: &InnerProto{Name: "vxlan", Type: 1, HdrSize: 8, Flags: innerHdrSize | innerLL | innerNH | innerTH}}
	protoGeneve = &Protocol{Name: "geneve", Base: bytecode.BaseInner, Fields: []HeaderField{
		field("type", TypeEtherType, 16, 16),
		num("vni", 32, 24),
	}, Inner: &InnerProto{Name: "geneve", Type: 2, HdrSize: 8, Flags: innerHdrSize | innerLL | innerNH | innerTH}}

	// Pseudo protocols: what a family or a mixed table knows of a layer.
	protoInet = &Protocol{Name: "inet", Base: bytecode.BaseLink, metaKey: metaNFProto}
	// protoNetdev tells the network layer by skb->protocol.
	protoNetdev = &Protocol{Name: "netdev", Base: bytecode.BaseLink, metaKey: metaProtocol}
	// protoInetService stands for IPv4 or IPv6 where it does not matter which.
	protoInetService = &Protocol{Name: "inet-service", Base: bytecode.BaseTransport, metaKey: metaL4Proto}
	// protoUnknown is a protocol that was tested for but has no row here.
	protoUnknown = &Protocol{Name: "unknown", Base: bytecode.BaseLink}
)

// NFT_INNER_*: which headers the tunnel carries.
const (
	innerHdrSize = 1
	innerLL      = 2
	innerNH      = 4
	innerTH      = 8
)

// payloadProtocols are the words that begin a payload expression.
var payloadProtocols = []*Protocol{
	protoEther, protoVlan, protoArp, protoIP, protoIP6, protoICMP, protoICMPv6, protoIGMP,
	protoAH, protoESP, protoComp, protoUDP, protoUDPLite, protoTCP, protoDCCP, protoSCTP,
	protoTH, protoGRE, protoGRETap, protoVXLAN, protoGeneve,
}

func init() {
	ports := []protoLink{
		{50, protoESP}, {51, protoAH}, {108, protoComp}, {17, protoUDP},
		{136, protoUDPLite}, {6, protoTCP}, {33, protoDCCP}, {132, protoSCTP},
	}
	ip := append([]protoLink{{1, protoICMP}, {2, protoIGMP}, {58, protoICMPv6}}, ports...)
	ip = append(ip, protoLink{47, protoGRE}, protoLink{47, protoGRETap})
	both := append(append([]protoLink{}, ports...),
		protoLink{1, protoICMP}, protoLink{2, protoIGMP}, protoLink{58, protoICMPv6},
		protoLink{47, protoGRE}, protoLink{47, protoGRETap})
	ether := []protoLink{
		{0x0800, protoIP}, {0x0806, protoArp}, {0x86dd, protoIP6}, {0x8100, protoVlan}, {0x88a8, protoVlan},
	}
	protoAH.upper, protoComp.upper = ports, ports
	protoIP.upper, protoIP6.upper, protoInetService.upper = ip, both, both
	protoEther.upper, protoVlan.upper, protoNetdev.upper = ether, ether, ether
	protoVXLAN.upper, protoGeneve.upper = ether[:4], ether[:4]
	protoInet.upper = []protoLink{{2, protoIP}, {10, protoIP6}}
	protoUDP.upper = []protoLink{{0, protoVXLAN}, {0, protoGeneve}}

	protoIP.metaKey, protoIP6.metaKey = metaL4Proto, metaL4Proto
	for p, name := range map[*Protocol]string{
		protoEther: "type", protoVlan: "type", protoAH: "nexthdr", protoComp: "nexthdr",
		protoICMP: "type", protoICMPv6: "type",
	} {
		p.key = p.Field(name)
		p.key.protocol = true
	}
	// Where the table has no key of its own, nft takes the first slot of the
	// table, which no field uses, except in these two.
	protoIP.Field("protocol").protocol = true
	protoIP6.Field("nexthdr").protocol = true

	for _, p := range []*Protocol{protoIP, protoICMP, protoICMPv6, protoIGMP, protoTCP, protoSCTP} {
		p.Checksum = p.Field("checksum")
	}
	for _, name := range []string{"saddr", "daddr", "protocol", "length"} {
		protoIP.Field(name).Pseudo = true
	}
	for _, name := range []string{"saddr", "daddr", "nexthdr", "length"} {
		protoIP6.Field(name).Pseudo = true
	}
}
