package packet

// The header fields of packet notation, by nft's names: one row, one field.
// Parser, builder and printer of the notation all read these tables.

// valueKind is how a field's value is written.
type valueKind uint8

const (
	kindNumber valueKind = iota
	kindHex              // number, printed in hex
	kindMAC
	kindIPv4
	kindIPv6
	kindWord  // number or one of the field's words
	kindFlags // number or a comma separated list of the field's words
)

// word gives a name to a number.
type word struct {
	name  string
	value uint64
}

// field is one header field.
type field struct {
	name    string
	aliases []string // also taken, never printed
	bit     int      // offset in bits from the start of the header
	width   int      // bits
	kind    valueKind
	words   []word
	quiet   bool   // overlaps other fields: taken, never printed
	full    bool   // only taken as header.field
	fullAs  string // another name, only taken as header.name
}

// header is one protocol header: its fixed part and the defaults of it.
type header struct {
	name   string
	def    []byte // fixed part with defaults
	fields []field
}

var (
	tcpFlagWords = []word{{"fin", 0x01}, {"syn", 0x02}, {"rst", 0x04}, {"psh", 0x08}, {"ack", 0x10}, {"urg", 0x20}, {"ecn", 0x40}, {"cwr", 0x80}}

	icmpTypeWords = []word{
		{"echo-reply", 0}, {"destination-unreachable", 3}, {"source-quench", 4}, {"redirect", 5}, {"echo-request", 8},
		{"router-advertisement", 9}, {"router-solicitation", 10}, {"time-exceeded", 11}, {"parameter-problem", 12},
		{"timestamp-request", 13}, {"timestamp-reply", 14}, {"info-request", 15}, {"info-reply", 16},
		{"address-mask-request", 17}, {"address-mask-reply", 18},
	}
	icmpv6TypeWords = []word{
		{"destination-unreachable", 1}, {"packet-too-big", 2}, {"time-exceeded", 3}, {"parameter-problem", 4},
		{"echo-request", 128}, {"echo-reply", 129}, {"mld-listener-query", 130}, {"mld-listener-report", 131},
		{"mld-listener-done", 132}, {"mld-listener-reduction", 132}, {"nd-router-solicit", 133}, {"nd-router-advert", 134},
		{"nd-neighbor-solicit", 135}, {"nd-neighbor-advert", 136}, {"nd-redirect", 137}, {"router-renumbering", 138},
		{"ind-neighbor-solicit", 141}, {"ind-neighbor-advert", 142}, {"mld2-listener-report", 143},
	}
	igmpTypeWords = []word{
		{"membership-query", 0x11}, {"membership-report-v1", 0x12}, {"membership-report-v2", 0x16},
		{"membership-report-v3", 0x22}, {"leave-group", 0x17},
	}
	arpOpWords = []word{
		{"request", 1}, {"reply", 2}, {"rrequest", 3}, {"rreply", 4}, {"inrequest", 8}, {"inreply", 9}, {"nak", 10},
	}
	dccpTypeWords = []word{
		{"request", 0}, {"response", 1}, {"data", 2}, {"ack", 3}, {"dataack", 4}, {"closereq", 5}, {"close", 6},
		{"reset", 7}, {"sync", 8}, {"syncack", 9},
	}
	dscpWords = []word{
		{"cs0", 0}, {"cs1", 8}, {"cs2", 16}, {"cs3", 24}, {"cs4", 32}, {"cs5", 40}, {"cs6", 48}, {"cs7", 56}, {"be", 0},
		{"af11", 10}, {"af12", 12}, {"af13", 14}, {"af21", 18}, {"af22", 20}, {"af23", 22}, {"af31", 26}, {"af32", 28},
		{"af33", 30}, {"af41", 34}, {"af42", 36}, {"af43", 38}, {"va", 44}, {"ef", 46}, {"df", 0}, {"lephb", 1},
	}
	ecnWords       = []word{{"not-ect", 0}, {"ect1", 1}, {"ect0", 2}, {"ce", 3}}
	etherTypeWords = []word{{"ip", EtherIPv4}, {"arp", EtherARP}, {"ip6", EtherIPv6}, {"vlan", EtherVLAN}, {"8021q", EtherVLAN}, {"8021ad", EtherQinQ}}
	ipProtoWords   = []word{
		{"icmp", ProtoICMP}, {"igmp", ProtoIGMP}, {"ipip", ProtoIPIP}, {"ipencap", ProtoIPIP}, {"tcp", ProtoTCP}, {"udp", ProtoUDP},
		{"dccp", ProtoDCCP}, {"ipv6", ProtoIPv6}, {"gre", ProtoGRE}, {"esp", ProtoESP}, {"ah", ProtoAH},
		{"icmpv6", ProtoICMPv6}, {"ipv6-icmp", ProtoICMPv6}, {"ospf", 89}, {"pim", 103}, {"comp", 108}, {"vrrp", 112}, {"l2tp", 115},
		{"sctp", ProtoSCTP}, {"udplite", ProtoUDPLite},
	}
)

var headerEther = &header{
	name: "ether",
	def:  []byte{0x02, 0, 0, 0, 0, 0x10, 0x02, 0, 0, 0, 0, 0x99, 0, 0},
	fields: []field{
		{name: "dmac", aliases: []string{"daddr"}, bit: 0, width: 48, kind: kindMAC},
		{name: "smac", aliases: []string{"saddr"}, bit: 48, width: 48, kind: kindMAC},
		{name: "type", bit: 96, width: 16, kind: kindWord, words: etherTypeWords, full: true},
	},
}

// vlanFields of a tag; the inner tag has the same with a "c" before the name.
var headerVLAN = &header{
	name: "vlan",
	def:  []byte{0x81, 0x00, 0, 0},
	fields: []field{
		{name: "vproto", bit: 0, width: 16, kind: kindWord, words: []word{{"8021q", EtherVLAN}, {"8021ad", EtherQinQ}}},
		{name: "pcp", bit: 16, width: 3},
		{name: "dei", fullAs: "cfi", bit: 19, width: 1},
		{name: "vid", fullAs: "id", bit: 20, width: 12},
	},
}

var headerCVLAN = &header{
	name: "cvlan",
	def:  []byte{0x81, 0x00, 0, 0},
	fields: []field{
		{name: "cvproto", bit: 0, width: 16, kind: kindWord, words: []word{{"8021q", EtherVLAN}, {"8021ad", EtherQinQ}}},
		{name: "cpcp", bit: 16, width: 3},
		{name: "cdei", bit: 19, width: 1},
		{name: "cvid", bit: 20, width: 12},
	},
}

var headerARP = &header{
	name: "arp",
	def: []byte{0, 1, 8, 0, 6, 4, 0, 1, 0x02, 0, 0, 0, 0, 0x99, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	fields: []field{
		{name: "htype", bit: 0, width: 16},
		{name: "ptype", bit: 16, width: 16, kind: kindWord, words: etherTypeWords},
		{name: "hlen", bit: 32, width: 8},
		{name: "plen", bit: 40, width: 8},
		{name: "operation", aliases: []string{"op"}, bit: 48, width: 16, kind: kindWord, words: arpOpWords},
		{name: "sha", aliases: []string{"saddr-ether"}, bit: 64, width: 48, kind: kindMAC},
		{name: "saddr", bit: 112, width: 32, kind: kindIPv4, quiet: true},
		{name: "tha", aliases: []string{"daddr-ether"}, bit: 144, width: 48, kind: kindMAC},
		{name: "daddr", bit: 192, width: 32, kind: kindIPv4, quiet: true},
	},
}

var headerIP = &header{
	name: "ip",
	def:  []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	fields: []field{
		{name: "version", bit: 0, width: 4},
		{name: "hdrlength", bit: 4, width: 4},
		{name: "tos", bit: 8, width: 8, quiet: true},
		{name: "dscp", bit: 8, width: 6, kind: kindWord, words: dscpWords},
		{name: "ecn", bit: 14, width: 2, kind: kindWord, words: ecnWords},
		{name: "length", bit: 16, width: 16, full: true},
		{name: "id", bit: 32, width: 16},
		{name: "frag-off", bit: 48, width: 16, kind: kindHex},
		{name: "ttl", bit: 64, width: 8},
		{name: "protocol", aliases: []string{"proto"}, bit: 72, width: 8, kind: kindWord, words: ipProtoWords},
		{name: "checksum", bit: 80, width: 16, kind: kindHex, full: true},
		{name: "saddr", bit: 96, width: 32, kind: kindIPv4, quiet: true},
		{name: "daddr", bit: 128, width: 32, kind: kindIPv4, quiet: true},
	},
}

var headerIP6 = &header{
	name: "ip6",
	def:  append([]byte{0x60, 0, 0, 0, 0, 0, 0, 64}, make([]byte, 32)...),
	fields: []field{
		{name: "version", bit: 0, width: 4},
		{name: "tos", aliases: []string{"tclass"}, bit: 4, width: 8, quiet: true},
		{name: "dscp", bit: 4, width: 6, kind: kindWord, words: dscpWords},
		{name: "ecn", bit: 10, width: 2, kind: kindWord, words: ecnWords},
		{name: "flowlabel", bit: 12, width: 20, kind: kindHex},
		{name: "length", bit: 32, width: 16, full: true},
		{name: "nexthdr", aliases: []string{"proto", "protocol"}, bit: 48, width: 8, kind: kindWord, words: ipProtoWords},
		{name: "hoplimit", aliases: []string{"ttl"}, bit: 56, width: 8},
		{name: "saddr", bit: 64, width: 128, kind: kindIPv6, quiet: true},
		{name: "daddr", bit: 192, width: 128, kind: kindIPv6, quiet: true},
	},
}

var headerFrag = &header{
	name: "frag",
	def:  []byte{0, 0, 0, 0, 0, 0, 0, 1},
	fields: []field{
		{name: "reserved", bit: 8, width: 8, full: true},
		{name: "reserved2", bit: 29, width: 2, full: true},
		{name: "id", bit: 32, width: 32, full: true},
	},
}

func ports(rest ...field) []field {
	return append([]field{
		{name: "sport", bit: 0, width: 16, quiet: true},
		{name: "dport", bit: 16, width: 16, quiet: true},
	}, rest...)
}

var headerTCP = &header{
	name: "tcp",
	def:  []byte{0, 0, 0, 0, 0, 0, 0x03, 0xe8, 0, 0, 0, 0, 0x50, 0x02, 0xfa, 0xf0, 0, 0, 0, 0},
	fields: ports(
		field{name: "sequence", aliases: []string{"seq"}, bit: 32, width: 32},
		field{name: "ackseq", aliases: []string{"ack"}, bit: 64, width: 32},
		field{name: "doff", bit: 96, width: 4},
		field{name: "reserved", bit: 100, width: 4},
		field{name: "flags", bit: 104, width: 8, kind: kindFlags, words: tcpFlagWords},
		field{name: "window", bit: 112, width: 16},
		field{name: "checksum", bit: 128, width: 16, kind: kindHex},
		field{name: "urgptr", bit: 144, width: 16},
	),
}

var headerUDP = &header{
	name: "udp",
	def:  make([]byte, 8),
	fields: ports(
		field{name: "length", bit: 32, width: 16},
		field{name: "checksum", bit: 48, width: 16, kind: kindHex},
	),
}

var headerUDPLite = &header{
	name: "udplite",
	def:  make([]byte, 8),
	fields: ports(
		field{name: "csumcov", bit: 32, width: 16},
		field{name: "checksum", bit: 48, width: 16, kind: kindHex},
	),
}

var headerSCTP = &header{
	name: "sctp",
	def:  []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
	fields: ports(
		field{name: "vtag", bit: 32, width: 32},
		field{name: "checksum", bit: 64, width: 32, kind: kindHex},
	),
}

var headerDCCP = &header{
	name: "dccp",
	def:  []byte{0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, // request with its service code
	fields: ports(
		field{name: "doff", bit: 32, width: 8},
		field{name: "ccval", bit: 40, width: 4},
		field{name: "cscov", bit: 44, width: 4},
		field{name: "checksum", bit: 48, width: 16, kind: kindHex},
		field{name: "reserved", bit: 64, width: 3},
		field{name: "type", bit: 67, width: 4, kind: kindWord, words: dccpTypeWords},
		field{name: "x", bit: 71, width: 1},
		field{name: "sequence2", bit: 72, width: 8},
		field{name: "sequence", aliases: []string{"seq"}, bit: 80, width: 16},
		field{name: "service", bit: 96, width: 32, kind: kindHex},
	),
}

var headerICMP = &header{
	name: "icmp",
	def:  []byte{8, 0, 0, 0, 0, 0, 0, 0},
	fields: []field{
		{name: "type", bit: 0, width: 8, kind: kindWord, words: icmpTypeWords},
		{name: "code", bit: 8, width: 8},
		{name: "checksum", bit: 16, width: 16, kind: kindHex},
		{name: "gateway", bit: 32, width: 32, kind: kindIPv4, quiet: true},
		{name: "mtu", bit: 48, width: 16, quiet: true},
		{name: "id", bit: 32, width: 16},
		{name: "sequence", aliases: []string{"seq"}, bit: 48, width: 16},
	},
}

var headerICMPv6 = &header{
	name: "icmpv6",
	def:  []byte{128, 0, 0, 0, 0, 0, 0, 0},
	fields: []field{
		{name: "type", bit: 0, width: 8, kind: kindWord, words: icmpv6TypeWords},
		{name: "code", bit: 8, width: 8},
		{name: "checksum", bit: 16, width: 16, kind: kindHex},
		{name: "parameter-problem", bit: 32, width: 32, quiet: true},
		{name: "mtu", aliases: []string{"packet-too-big"}, bit: 32, width: 32, quiet: true},
		{name: "max-delay", bit: 32, width: 16, quiet: true},
		{name: "id", bit: 32, width: 16},
		{name: "sequence", aliases: []string{"seq"}, bit: 48, width: 16},
	},
}

var headerIGMP = &header{
	name: "igmp",
	def:  []byte{0x16, 0, 0, 0, 0, 0, 0, 0},
	fields: []field{
		{name: "type", bit: 0, width: 8, kind: kindWord, words: igmpTypeWords},
		{name: "mrt", bit: 8, width: 8},
		{name: "checksum", bit: 16, width: 16, kind: kindHex},
		{name: "group", bit: 32, width: 32, kind: kindIPv4},
	},
}

var headerESP = &header{
	name: "esp",
	def:  []byte{0, 0, 1, 0, 0, 0, 0, 1},
	fields: []field{
		{name: "spi", bit: 0, width: 32},
		{name: "sequence", aliases: []string{"seq"}, bit: 32, width: 32},
	},
}

var headerAH = &header{
	name: "ah",
	def:  []byte{ProtoNone, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
	fields: []field{
		{name: "nexthdr", bit: 0, width: 8, kind: kindWord, words: ipProtoWords},
		{name: "hdrlength", bit: 8, width: 8},
		{name: "reserved", bit: 16, width: 16},
		{name: "spi", bit: 32, width: 32},
		{name: "sequence", aliases: []string{"seq"}, bit: 64, width: 32},
	},
}

var headerComp = &header{
	name: "comp",
	def:  []byte{ProtoTCP, 0, 0, 2},
	fields: []field{
		{name: "nexthdr", bit: 0, width: 8, kind: kindWord, words: ipProtoWords},
		{name: "flags", bit: 8, width: 8, kind: kindHex},
		{name: "cpi", bit: 16, width: 16},
	},
}

var headerGRE = &header{
	name: "gre",
	def:  []byte{0, 0, 0x08, 0x00},
	fields: []field{
		{name: "flags", bit: 0, width: 13, kind: kindHex},
		{name: "version", bit: 13, width: 3},
		{name: "protocol", aliases: []string{"proto"}, bit: 16, width: 16, kind: kindWord, words: etherTypeWords},
	},
}

// tupleProto is a first word of packet notation.
type tupleProto struct {
	word    string
	aliases []string
	proto   uint8   // IP protocol
	l4      *header // nil: none
	family  uint8   // NFProtoIPv4, NFProtoIPv6, NFProtoARP; 0: by the addresses
	ports   bool
	ether   bool // addresses are hardware addresses
}

var tupleProtos = []tupleProto{
	{word: "tcp", proto: ProtoTCP, l4: headerTCP, ports: true},
	{word: "udp", proto: ProtoUDP, l4: headerUDP, ports: true},
	{word: "udplite", proto: ProtoUDPLite, l4: headerUDPLite, ports: true},
	{word: "sctp", proto: ProtoSCTP, l4: headerSCTP, ports: true},
	{word: "dccp", proto: ProtoDCCP, l4: headerDCCP, ports: true},
	{word: "icmp", proto: ProtoICMP, l4: headerICMP, family: NFProtoIPv4},
	{word: "icmpv6", aliases: []string{"icmp6", "ipv6-icmp"}, proto: ProtoICMPv6, l4: headerICMPv6, family: NFProtoIPv6},
	{word: "igmp", proto: ProtoIGMP, l4: headerIGMP, family: NFProtoIPv4},
	{word: "esp", proto: ProtoESP, l4: headerESP},
	{word: "ah", proto: ProtoAH, l4: headerAH},
	{word: "comp", aliases: []string{"ipcomp"}, proto: 108, l4: headerComp},
	{word: "gre", proto: ProtoGRE, l4: headerGRE},
	{word: "ip", proto: ProtoNone, family: NFProtoIPv4},
	{word: "ip6", proto: ProtoNone, family: NFProtoIPv6},
	{word: "arp", family: NFProtoARP},
	{word: "ether", ether: true},
}

func findProto(w string) *tupleProto {
	for i := range tupleProtos {
		t := &tupleProtos[i]
		if t.word == w {
			return t
		}
		for _, a := range t.aliases {
			if a == w {
				return t
			}
		}
	}
	return nil
}

func (h *header) find(name string) *field {
	for i := range h.fields {
		f := &h.fields[i]
		if f.name == name || f.fullAs != "" && f.fullAs == name {
			return f
		}
		for _, a := range f.aliases {
			if a == name {
				return f
			}
		}
	}
	return nil
}

// get reads a field of up to 64 bits.
func (f *field) get(h []byte) uint64 {
	var v uint64
	for i := f.bit; i < f.bit+f.width; i++ {
		v = v<<1 | uint64(h[i/8]>>(7-i%8)&1)
	}
	return v
}

// set writes a field of up to 64 bits.
func (f *field) set(h []byte, v uint64) {
	for i := f.bit + f.width - 1; i >= f.bit; i-- {
		m := byte(1) << (7 - i%8)
		h[i/8] &^= m
		if v&1 != 0 {
			h[i/8] |= m
		}
		v >>= 1
	}
}
