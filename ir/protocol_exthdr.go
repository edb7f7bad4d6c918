package ir

import "github.com/nftc/nftc/compile/bytecode"

// The headers and options that exthdr expressions know, with offsets and
// lengths in bits from the start of the header or option. Facts: the headers'
// RFCs, and what nft 1.1.7 compiles.

func ipv6Exthdr(name string, number uint8, fields ...HeaderField) *Protocol {
	return &Protocol{Name: name, Exthdr: true, Op: bytecode.ExthdrIPv6, Number: number, Fields: fields}
}

// exthdrProtocols are the IPv6 extension headers.
var exthdrProtocols = []*Protocol{
	ipv6Exthdr("hbh", 0, field("nexthdr", TypeInetProto, 0, 8), num("hdrlength", 8, 8)),
	ipv6Exthdr("rt", 43, field("nexthdr", TypeInetProto, 0, 8), num("hdrlength", 8, 8),
		num("type", 16, 8), num("seg-left", 24, 8)),
	ipv6Exthdr("rt0", 43, num("reserved", 32, 32),
		field("addr[1]", TypeIPv6Addr, 64, 128), field("addr[2]", TypeIPv6Addr, 192, 128)),
	ipv6Exthdr("rt2", 43, num("reserved", 32, 32), field("addr", TypeIPv6Addr, 64, 128)),
	ipv6Exthdr("srh", 43, num("last-entry", 32, 8), num("flags", 40, 8), num("tag", 48, 16),
		field("sid[1]", TypeIPv6Addr, 64, 128), field("sid[2]", TypeIPv6Addr, 192, 128)),
	ipv6Exthdr("frag", 44, field("nexthdr", TypeInetProto, 0, 8), num("reserved", 8, 8),
		num("frag-off", 16, 13), num("reserved2", 29, 2), num("more-fragments", 31, 1), num("id", 32, 32)),
	ipv6Exthdr("dst", 60, field("nexthdr", TypeInetProto, 0, 8), num("hdrlength", 8, 8)),
	ipv6Exthdr("mh", 135, field("nexthdr", TypeInetProto, 0, 8), num("hdrlength", 8, 8),
		field("type", TypeMHType, 16, 8), num("reserved", 24, 8), num("checksum", 32, 16)),
}

func tcpOption(name string, number uint8, fields ...HeaderField) *Protocol {
	fields = append([]HeaderField{num("kind", 0, 8), num("length", 8, 8)}, fields...)
	return &Protocol{Name: name, Exthdr: true, Op: bytecode.ExthdrTCPOpt, Number: number, Fields: fields}
}

// tcpOptions by name.
var tcpOptions = []*Protocol{
	tcpOption("eol", 0),
	tcpOption("nop", 1),
	tcpOption("maxseg", 2, num("size", 16, 16)),
	tcpOption("window", 3, num("count", 16, 8)),
	tcpOption("sack-perm", 4),
	tcpOption("sack", 5, num("left", 16, 32), num("right", 48, 32)),
	tcpOption("timestamp", 8, num("tsval", 16, 32), num("tsecr", 48, 32)),
	tcpOption("md5sig", 19),
	tcpOption("mptcp", 30, field("subtype", TypeMPTCPSubtype, 16, 4)),
	tcpOption("fastopen", 34),
}

// tcpOptionOther is an option that is only known by its number.
var tcpOptionOther = tcpOption("", 0)

// tcpOptionAliases are other words for options; sack blocks after the first
// come with their distance in bits.
var tcpOptionAliases = map[string]struct {
	name   string
	offset int
}{
	"mss": {"maxseg", 0}, "noop": {"nop", 0}, "sack-permitted": {"sack-perm", 0}, "echo": {"timestamp", 0},
	"sack0": {"sack", 0}, "sack1": {"sack", 64}, "sack2": {"sack", 128}, "sack3": {"sack", 192},
}

func ipOption(name string, number uint8, fields ...HeaderField) *Protocol {
	fields = append([]HeaderField{num("type", 0, 8), num("length", 8, 8)}, fields...)
	return &Protocol{Name: name, Exthdr: true, Op: bytecode.ExthdrIPv4, Number: number, Fields: fields}
}

// ipOptions by name.
var ipOptions = []*Protocol{
	ipOption("lsrr", 131, num("ptr", 16, 8), field("addr", TypeIPv4Addr, 24, 32)),
	ipOption("rr", 7, num("ptr", 16, 8), field("addr", TypeIPv4Addr, 24, 32)),
	ipOption("ssrr", 137, num("ptr", 16, 8), field("addr", TypeIPv4Addr, 24, 32)),
	ipOption("ra", 148, num("value", 16, 16)),
}

func sctpChunk(name string, number uint8, fields ...HeaderField) *Protocol {
	fields = append([]HeaderField{num("type", 0, 8), num("flags", 8, 8), num("length", 16, 16)}, fields...)
	return &Protocol{Name: name, Exthdr: true, Op: bytecode.ExthdrSCTP, Number: number, Fields: fields}
}

func sctpInit(name string, number uint8) *Protocol {
	return sctpChunk(name, number, num("init-tag", 32, 32), num("a-rwnd", 64, 32),
		num("num-outbound-streams", 96, 16), num("num-inbound-streams", 112, 16), num("initial-tsn", 128, 32))
}

// sctpChunks by name.
var sctpChunks = []*Protocol{
	sctpChunk("data", 0, num("tsn", 32, 32), num("stream", 64, 16), num("ssn", 80, 16), num("ppid", 96, 32)),
	sctpInit("init", 1),
	sctpInit("init-ack", 2),
	sctpChunk("sack", 3, num("cum-tsn-ack", 32, 32), num("a-rwnd", 64, 32),
		num("num-gap-ack-blocks", 96, 16), num("num-dup-tsns", 112, 16)),
	sctpChunk("heartbeat", 4),
	sctpChunk("heartbeat-ack", 5),
	sctpChunk("abort", 6),
	sctpChunk("shutdown", 7, num("cum-tsn-ack", 32, 32)),
	sctpChunk("shutdown-ack", 8),
	sctpChunk("error", 9),
	sctpChunk("cookie-echo", 10),
	sctpChunk("cookie-ack", 11),
	sctpChunk("ecne", 12, num("lowest-tsn", 32, 32)),
	sctpChunk("cwr", 13, num("lowest-tsn", 32, 32)),
	sctpChunk("shutdown-complete", 14),
	sctpChunk("asconf-ack", 0x80, num("seqno", 32, 32)),
	sctpChunk("forward-tsn", 0xc0, num("new-cum-tsn", 32, 32)),
	sctpChunk("asconf", 0xc1, num("seqno", 32, 32)),
}

// dccpOption is any DCCP option: only its presence can be tested.
var dccpOption = &Protocol{Name: "dccp option", Exthdr: true, Op: bytecode.ExthdrDCCP, Fields: []HeaderField{num("type", 0, 8)}}

// optionNamed finds an option by its name.
func optionNamed(list []*Protocol, name string) *Protocol {
	for _, p := range list {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// optionNumbered finds an option by its number.
func optionNumbered(list []*Protocol, n uint8) *Protocol {
	for _, p := range list {
		if p.Number == n {
			return p
		}
	}
	return nil
}

func protocolNames(list []*Protocol) []string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	return names
}
