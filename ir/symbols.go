package ir

// The named constants of the datatypes, as `nft describe` of 1.1.7 gives them
// and in its order: the first name of a value is the one that listings use.
// Values are numbers, whatever the byte order of the type.

var nfProtoSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"ipv4", 2},
	{"ipv6", 10},
}}

var etherTypeSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"ip", 0x800},
	{"arp", 0x806},
	{"ip6", 0x86dd},
	{"8021q", 0x8100},
	{"8021ad", 0x88a8},
	{"vlan", 0x8100},
}}

var arpOpSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"request", 0x1},
	{"reply", 0x2},
	{"rrequest", 0x3},
	{"rreply", 0x4},
	{"inrequest", 0x8},
	{"inreply", 0x9},
	{"nak", 0xa},
}}

var icmpTypeSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"echo-reply", 0},
	{"destination-unreachable", 3},
	{"source-quench", 4},
	{"redirect", 5},
	{"echo-request", 8},
	{"router-advertisement", 9},
	{"router-solicitation", 10},
	{"time-exceeded", 11},
	{"parameter-problem", 12},
	{"timestamp-request", 13},
	{"timestamp-reply", 14},
	{"info-request", 15},
	{"info-reply", 16},
	{"address-mask-request", 17},
	{"address-mask-reply", 18},
}}

var tcpFlagSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"fin", 0x01},
	{"syn", 0x02},
	{"rst", 0x04},
	{"psh", 0x08},
	{"ack", 0x10},
	{"urg", 0x20},
	{"ecn", 0x40},
	{"cwr", 0x80},
}}

var dccpPktTypeSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"request", 0x00},
	{"response", 0x01},
	{"data", 0x02},
	{"ack", 0x03},
	{"dataack", 0x04},
	{"closereq", 0x05},
	{"close", 0x06},
	{"reset", 0x07},
	{"sync", 0x08},
	{"syncack", 0x09},
}}

var mhTypeSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"binding-refresh-request", 0},
	{"home-test-init", 1},
	{"careof-test-init", 2},
	{"home-test", 3},
	{"careof-test", 4},
	{"binding-update", 5},
	{"binding-acknowledgement", 6},
	{"binding-error", 7},
	{"fast-binding-update", 8},
	{"fast-binding-acknowledgement", 9},
	{"fast-binding-advertisement", 10},
	{"experimental-mobility-header", 11},
	{"home-agent-switch-message", 12},
}}

var ifTypeSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"ether", 0x0001},
	{"ppp", 0x0200},
	{"ipip", 0x0300},
	{"ipip6", 0x0301},
	{"loopback", 0x0304},
	{"sit", 0x0308},
	{"ipgre", 0x030a},
}}

var realmSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"cosmos", 0},
}}

var ctStateSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"invalid", 0x00000001},
	{"new", 0x00000008},
	{"established", 0x00000002},
	{"related", 0x00000004},
	{"untracked", 0x00000040},
}}

var ctDirSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"original", 0},
	{"reply", 1},
}}

var ctStatusSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"expected", 0x00000001},
	{"seen-reply", 0x00000002},
	{"assured", 0x00000004},
	{"confirmed", 0x00000008},
	{"snat", 0x00000010},
	{"dnat", 0x00000020},
	{"seq-adjust", 0x00000040},
	{"snat-done", 0x00000080},
	{"dnat-done", 0x00000100},
	{"dying", 0x00000200},
	{"fixed-timeout", 0x00000400},
	{"helper", 0x0000000d},
	{"offload", 0x0000000e},
	{"hw-offload", 0x0000000f},
}}

var icmpv6TypeSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"destination-unreachable", 1},
	{"packet-too-big", 2},
	{"time-exceeded", 3},
	{"parameter-problem", 4},
	{"echo-request", 128},
	{"echo-reply", 129},
	{"mld-listener-query", 130},
	{"mld-listener-report", 131},
	{"mld-listener-done", 132},
	{"mld-listener-reduction", 132},
	{"nd-router-solicit", 133},
	{"nd-router-advert", 134},
	{"nd-neighbor-solicit", 135},
	{"nd-neighbor-advert", 136},
	{"nd-redirect", 137},
	{"router-renumbering", 138},
	{"ind-neighbor-solicit", 141},
	{"ind-neighbor-advert", 142},
	{"mld2-listener-report", 143},
}}

var pktTypeSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"host", 0},
	{"unicast", 0},
	{"broadcast", 1},
	{"multicast", 2},
	{"other", 3},
}}

var devGroupSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"default", 0},
}}

var dscpSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"cs0", 0x00},
	{"cs1", 0x08},
	{"cs2", 0x10},
	{"cs3", 0x18},
	{"cs4", 0x20},
	{"cs5", 0x28},
	{"cs6", 0x30},
	{"cs7", 0x38},
	{"df", 0x00},
	{"be", 0x00},
	{"lephb", 0x01},
	{"af11", 0x0a},
	{"af12", 0x0c},
	{"af13", 0x0e},
	{"af21", 0x12},
	{"af22", 0x14},
	{"af23", 0x16},
	{"af31", 0x1a},
	{"af32", 0x1c},
	{"af33", 0x1e},
	{"af41", 0x22},
	{"af42", 0x24},
	{"af43", 0x26},
	{"va", 0x2c},
	{"ef", 0x2e},
}}

var fibAddrTypeSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"unspec", 0},
	{"unicast", 1},
	{"local", 2},
	{"broadcast", 3},
	{"anycast", 4},
	{"multicast", 5},
	{"blackhole", 6},
	{"unreachable", 7},
	{"prohibit", 8},
}}

var booleanSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"exists", 1},
	{"missing", 0},
}}

var ctEventSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"new", 0x00000001},
	{"related", 0x00000002},
	{"destroy", 0x00000004},
	{"reply", 0x00000008},
	{"assured", 0x00000010},
	{"protoinfo", 0x00000020},
	{"helper", 0x00000040},
	{"mark", 0x00000080},
	{"seqadj", 0x00000100},
	{"secmark", 0x00000200},
	{"label", 0x00000400},
}}

var igmpTypeSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"membership-query", 17},
	{"membership-report-v1", 18},
	{"membership-report-v2", 22},
	{"membership-report-v3", 34},
	{"leave-group", 23},
}}

var daySymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"Sunday", 0},
	{"Monday", 1},
	{"Tuesday", 2},
	{"Wednesday", 3},
	{"Thursday", 4},
	{"Friday", 5},
	{"Saturday", 6},
}}

var ecnSymbols = Symbols{Radix: 16, List: []SymbolValue{
	{"not-ect", 0},
	{"ect1", 1},
	{"ect0", 2},
	{"ce", 3},
}}

var rejectICMPSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"net-unreachable", 0},
	{"host-unreachable", 1},
	{"prot-unreachable", 2},
	{"port-unreachable", 3},
	{"net-prohibited", 9},
	{"host-prohibited", 10},
	{"admin-prohibited", 13},
	{"frag-needed", 4},
}}

var rejectICMPv6Symbols = Symbols{Radix: 10, List: []SymbolValue{
	{"no-route", 0},
	{"admin-prohibited", 1},
	{"addr-unreachable", 3},
	{"port-unreachable", 4},
	{"policy-fail", 5},
	{"reject-route", 6},
}}

var rejectICMPXSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"port-unreachable", 1},
	{"admin-prohibited", 3},
	{"no-route", 0},
	{"host-unreachable", 2},
}}

var mptcpSubtypeSymbols = Symbols{Radix: 10, List: []SymbolValue{
	{"mp-capable", 0},
	{"mp-join", 1},
	{"dss", 2},
	{"add-addr", 3},
	{"remove-addr", 4},
	{"mp-prio", 5},
	{"mp-fail", 6},
	{"mp-fastclose", 7},
	{"mp-tcprst", 8},
}}
