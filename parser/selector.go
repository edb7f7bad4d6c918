package parser

import "github.com/nftc/nftc/internal/diag"

// headerFields are the header fields by protocol, as the scanner knows the
// words behind the protocol's name.
var headerFields = map[string][]string{
	"ether":   {"saddr", "daddr", "type"},
	"vlan":    {"id", "cfi", "dei", "pcp", "type"},
	"arp":     {"htype", "ptype", "hlen", "plen", "operation", "saddr", "daddr"},
	"ip":      {"version", "hdrlength", "dscp", "ecn", "length", "id", "frag-off", "ttl", "protocol", "checksum", "saddr", "daddr"},
	"icmp":    {"type", "code", "checksum", "id", "sequence", "gateway", "mtu"},
	"igmp":    {"type", "checksum", "mrt", "group"},
	"ip6":     {"version", "dscp", "ecn", "flowlabel", "length", "nexthdr", "hoplimit", "saddr", "daddr"},
	"icmpv6":  {"type", "code", "checksum", "id", "sequence", "max-delay", "param-problem", "mtu", "taddr", "daddr"},
	"ah":      {"nexthdr", "hdrlength", "reserved", "spi", "sequence"},
	"esp":     {"spi", "sequence"},
	"comp":    {"nexthdr", "flags", "cpi"},
	"udp":     {"sport", "dport", "length", "checksum"},
	"udplite": {"sport", "dport", "csumcov", "checksum"},
	"tcp":     {"sport", "dport", "sequence", "ackseq", "doff", "reserved", "flags", "window", "checksum", "urgptr"},
	"dccp":    {"sport", "dport", "type"},
	"sctp":    {"sport", "dport", "vtag", "checksum"},
	"th":      {"sport", "dport"},
	"vxlan":   {"vni", "flags"},
	"geneve":  {"vni", "type"},
	"gre":     {"version", "flags", "protocol"},
	"gretap":  nil,
}

// extHeaderFields are the fields of the IPv6 extension headers.
var extHeaderFields = map[string][]string{
	"hbh":  {"nexthdr", "hdrlength"},
	"rt":   {"nexthdr", "hdrlength", "type", "seg-left"},
	"rt0":  {"addr"},
	"rt2":  {"addr"},
	"srh":  {"last-entry", "flags", "tag", "sid"},
	"frag": {"nexthdr", "reserved", "frag-off", "reserved2", "more-fragments", "id"},
	"dst":  {"nexthdr", "hdrlength"},
	"mh":   {"nexthdr", "hdrlength", "type", "reserved", "checksum"},
}

var (
	routeKeys = []string{"classid", "nexthop", "mtu", "ipsec"}

	metaQualified = []string{
		"length", "protocol", "priority", "random", "secmark", "nfproto", "l4proto", "iifkind",
		"oifkind", "secpath", "ibrpvid", "ibrvproto", "sdif", "sdifname", "broute", "ibrhwaddr",
	}
	metaUnqualified = wordSet(
		"mark", "iif", "iifname", "iiftype", "oif", "oifname", "oiftype", "skuid", "skgid",
		"nftrace", "rtclassid", "ibriport", "ibrname", "obriport", "obrname", "pkttype", "cpu",
		"iifgroup", "oifgroup", "cgroup", "ipsec", "time", "day", "hour",
	)
	metaKeys = func() words {
		w := wordSet(metaQualified...)
		for k := range metaUnqualified {
			w[k] = struct{}{}
		}
		return w
	}()

	ctKeys = []string{
		"l3proto", "protocol", "mark", "state", "direction", "status", "expiration", "helper",
		"saddr", "daddr", "proto-src", "proto-dst", "label", "event", "secmark", "id",
		"bytes", "packets", "avgpkt", "zone",
	}
	ctDirKeys = []string{
		"saddr", "daddr", "l3proto", "protocol", "proto-src", "proto-dst", "bytes", "packets",
		"avgpkt", "zone",
	}

	tcpOptions = []string{
		"echo", "eol", "fastopen", "md5sig", "mptcp", "maxseg", "mss", "nop", "noop",
		"sack-permitted", "sack-perm", "timestamp", "window", "sack", "sack0", "sack1", "sack2", "sack3",
	}
	tcpOptionFields = map[string][]string{
		"maxseg": {"size"}, "mss": {"size"},
		"sack": {"left", "right"}, "sack0": {"left", "right"}, "sack1": {"left", "right"},
		"sack2": {"left", "right"}, "sack3": {"left", "right"},
		"window": {"count"}, "timestamp": {"tsval", "tsecr"}, "mptcp": {"subtype"},
	}
	ipOptions      = []string{"lsrr", "rr", "ssrr", "ra"}
	ipOptionFields = []string{"type", "length", "value", "ptr", "addr"}

	sctpCommonFields = []string{"type", "flags", "length"}
	sctpInitFields   = []string{"init-tag", "a-rwnd", "num-outbound-streams", "num-inbound-streams", "initial-tsn"}
	sctpChunks       = map[string][]string{
		"data":              {"tsn", "stream", "ssn", "ppid"},
		"init":              sctpInitFields,
		"init-ack":          sctpInitFields,
		"sack":              {"cum-tsn-ack", "a-rwnd", "num-gap-ack-blocks", "num-dup-tsns"},
		"heartbeat":         nil,
		"heartbeat-ack":     nil,
		"abort":             nil,
		"shutdown":          {"cum-tsn-ack"},
		"shutdown-ack":      nil,
		"error":             nil,
		"cookie-echo":       nil,
		"cookie-ack":        nil,
		"ecne":              {"lowest-tsn"},
		"cwr":               {"lowest-tsn"},
		"shutdown-complete": nil,
		"asconf-ack":        {"seqno"},
		"forward-tsn":       {"new-cum-tsn"},
		"asconf":            {"seqno"},
	}
)

func oneIn(w string, list []string) bool {
	for _, s := range list {
		if s == w {
			return true
		}
	}
	return false
}

// key takes one of the words of a list as a name.
func (p *parser) key(list []string) Name {
	if w := p.word(); w == "" || !oneIn(w, list) {
		p.unexpectedOf(list...)
	}
	return p.take()
}

// selector parses what picks a value from the packet or its surroundings. It
// returns nil, and takes nothing, if none begins here. On sideSet a keyword
// that is a value too (`ip`, `ether`) is a selector only if a field follows.
func (p *parser) selector(s side) Expr {
	start := p.tok.pos
	w := p.tok.text
	if _, ok := headerFields[w]; ok {
		if s == sideSet && valueKeywords.has(w) && !p.fieldFollows(w) {
			return nil
		}
		return p.header(start)
	}
	switch w {
	case "rt":
		return p.route(start, s)
	case "hbh", "rt0", "rt2", "srh", "frag", "dst", "mh":
		if s == sideSet {
			return nil
		}
		return p.extHeader(start)
	case "exthdr":
		if s == sideSet {
			return nil
		}
		p.next()
		h := p.key([]string{"hbh", "rt", "frag", "dst", "mh"})
		return &Exthdr{Node: p.node(start), Header: h}
	case "meta":
		p.next()
		if w := p.word(); !metaKeys.has(w) {
			p.unexpectedOf(metaKeys.list()...)
		}
		k := p.take()
		return &Meta{Node: p.node(start), Key: k}
	case "ct":
		return p.conntrack(start)
	case "socket":
		p.next()
		x := &Socket{Key: p.key([]string{"transparent", "mark", "wildcard", "cgroupv2"})}
		if x.Key.Text == "cgroupv2" {
			p.wantWord("level")
			x.Level = p.numberPtr()
		}
		x.Node = p.node(start)
		return x
	case "fib":
		return p.fib(start)
	case "osf":
		p.next()
		x := &Osf{}
		if p.gotWord("ttl") {
			x.TTL = p.key([]string{"loose", "skip"})
		}
		x.Key = p.key([]string{"version", "name"})
		x.Node = p.node(start)
		return x
	case "numgen":
		p.next()
		x := &Numgen{Mode: p.key([]string{"inc", "random"})}
		p.wantWord("mod")
		x.Mod = p.number()
		x.Offset = p.offset()
		x.Node = p.node(start)
		return x
	case "jhash", "symhash":
		x := &Hash{Kind: p.take()}
		if w == "jhash" {
			x.X = p.hashed()
		}
		p.wantWord("mod")
		x.Mod = p.number()
		if w == "jhash" && p.gotWord("seed") {
			x.Seed = p.numberPtr()
		}
		x.Offset = p.offset()
		x.Node = p.node(start)
		return x
	case "tunnel":
		p.next()
		x := &Tunnel{Key: p.key([]string{"id", "path"})}
		x.Node = p.node(start)
		return x
	case "ipsec":
		n := p.peek()
		if n.kind == tokWord && (n.text == "in" || n.text == "out") {
			if s == sideSet {
				return nil
			}
			return p.ipsec(start)
		}
	}
	if metaUnqualified.has(w) {
		k := p.take()
		return &Meta{Node: p.node(start), Key: k, Bare: true}
	}
	return nil
}

func (p *parser) offset() *Number {
	if p.gotWord("offset") {
		return p.numberPtr()
	}
	return nil
}

// hashed parses what jhash hashes (nft's expr).
func (p *parser) hashed() Expr {
	if p.at('{') {
		return p.setLit(elemsOfSet, false)
	}
	return p.mapRest(p.tok.pos, p.concat())
}

// mapRest parses `map …` behind an expression, if it is there.
func (p *parser) mapRest(start int, x Expr) Expr {
	if !p.gotWord("map") {
		return x
	}
	m := &Map{X: x, Maps: p.rhs()}
	m.Node = p.node(start)
	return m
}

// fieldFollows tells whether the token behind the protocol's name is one of
// its fields.
func (p *parser) fieldFollows(proto string) bool {
	n := p.peek()
	if n.kind != tokWord && n.kind != tokKeyword {
		return false
	}
	return oneIn(n.text, headerFields[proto]) || n.text == "option" && proto == "ip"
}

// innerProtocols are the headers that can be looked at inside a tunnel.
func innerProtocol(tunnel, w string) bool {
	switch w {
	case "ether", "vlan", "arp":
		return tunnel != "gre"
	case "vxlan", "geneve", "gre", "gretap":
		return false
	}
	_, ok := headerFields[w]
	return ok
}

// header parses a header field: `tcp dport`, `ip option rr value`, …
func (p *parser) header(start int) Expr {
	proto := p.take()
	w := p.word()
	switch proto.Text {
	case "tcp":
		if w == "option" {
			p.next()
			return p.tcpOption(start, proto)
		}
	case "ip":
		if w == "option" {
			p.next()
			x := &Option{Proto: proto, Kind: p.key(ipOptions)}
			if oneIn(p.word(), ipOptionFields) {
				x.Field = p.take()
			}
			x.Node = p.node(start)
			return x
		}
	case "dccp":
		if w == "option" {
			p.next()
			if p.tok.kind != tokNumber {
				p.unexpected("number")
			}
			x := &Option{Proto: proto, Kind: p.take()}
			x.Node = p.node(start)
			if v, _ := parseNumber(x.Kind.Text); v > 255 {
				p.fail("value-too-large", proto.Span, "value too large")
			}
			return x
		}
	case "sctp":
		if w == "chunk" {
			p.next()
			return p.sctpChunk(start, proto)
		}
	case "vxlan", "geneve", "gre", "gretap":
		if innerProtocol(proto.Text, w) {
			at := p.tok.pos
			x := &Payload{Proto: proto, Inner: p.header(at)}
			x.Node = p.node(start)
			return x
		}
	}
	fields := headerFields[proto.Text]
	if w == "" || !oneIn(w, fields) {
		p.unknownField(proto, fields)
	}
	x := &Payload{Proto: proto, Field: p.take()}
	if proto.Text == "arp" && (w == "saddr" || w == "daddr") {
		which := p.key([]string{"ether", "ip"})
		x.Field.Text += " " + which.Text
		x.Field.Span = x.Field.Span.Join(which.Span)
	}
	x.Node = p.node(start)
	return x
}

// unknownField refuses the token in hand where a field of a header must stand.
func (p *parser) unknownField(proto Name, fields []string) {
	d := p.syntaxError("")
	if w := p.word(); w != "" {
		d.Code = "unknown-field"
		d.Message += ": unknown field " + quoteWord(w) + " of " + proto.Text
		if near := diag.Nearest(w, fields); near != "" {
			d.Suggest = near
			d.Message += "; did you mean " + quoteWord(near) + "?"
			panic(bailout{d})
		}
	}
	if len(fields) > 0 {
		d.Message += ", expected " + oneOf(fields)
	}
	panic(bailout{d})
}

func quoteWord(w string) string { return `"` + clip(w) + `"` }

func (p *parser) tcpOption(start int, proto Name) Expr {
	x := &Option{Proto: proto}
	if p.at('@') {
		at := p.tok.pos
		p.next()
		x.Kind = p.tcpOptionKind()
		r := &RawPayload{Base: x.Kind}
		p.want(',')
		r.Offset = p.number()
		p.want(',')
		r.Len = p.rawLen()
		r.Node = p.node(at)
		x.Raw = r
		x.Node = p.node(start)
		return x
	}
	x.Kind = p.tcpOptionKind()
	if w := p.word(); w == "length" || w != "" && oneIn(w, tcpOptionFields[x.Kind.Text]) {
		x.Field = p.take()
	} else if tcpOptionWords.has(w) {
		p.unexpected("a value to compare with")
	}
	x.Node = p.node(start)
	return x
}

// tcpOptionWords are the words that nft's scanner takes as keywords behind a
// TCP option.
var tcpOptionWords = wordSet(append([]string{
	"ackseq", "doff", "urgptr", "left", "right", "count", "tsval", "tsecr", "subtype",
	"options", "option", "sport", "dport", "checksum", "sequence", "reserved",
}, tcpOptions...)...)

func (p *parser) tcpOptionKind() Name {
	if p.tok.kind == tokNumber {
		n := p.take()
		if v, _ := parseNumber(n.Text); v > 255 {
			p.fail("value-too-large", n.Span, "value too large")
		}
		return n
	}
	return p.key(tcpOptions)
}

func (p *parser) sctpChunk(start int, proto Name) Expr {
	if _, ok := sctpChunks[p.word()]; !ok || p.word() == "" {
		list := make(words, len(sctpChunks))
		for k := range sctpChunks {
			list[k] = struct{}{}
		}
		p.unexpectedOf(list.list()...)
	}
	x := &Option{Proto: proto, Kind: p.take()}
	if w := p.word(); w != "" && (oneIn(w, sctpCommonFields) || oneIn(w, sctpChunks[x.Kind.Text])) {
		x.Field = p.take()
	} else if w != "" && sctpChunkWords.has(w) {
		p.unexpectedOf(append(append([]string{}, sctpCommonFields...), sctpChunks[x.Kind.Text]...)...)
	}
	x.Node = p.node(start)
	return x
}

// sctpChunkWords are the words that nft's scanner takes as keywords behind a
// chunk.
var sctpChunkWords = func() words {
	w := wordSet(sctpCommonFields...)
	for kind, fields := range sctpChunks {
		w[kind] = struct{}{}
		for _, f := range fields {
			w[f] = struct{}{}
		}
	}
	return w
}()

// rawMaxBits is the most that a raw payload expression loads
// (NFT_MAX_EXPR_LEN_BITS).
const rawMaxBits = 256 * 8

func (p *parser) rawLen() Number {
	n := p.number()
	switch {
	case n.Value > rawMaxBits:
		p.fail("value-too-large", n.Span, "raw payload length %d exceeds upper limit of %d", n.Value, rawMaxBits)
	case n.Value == 0:
		p.fail("zero-length", n.Span, "raw payload length cannot be 0")
	}
	return n
}

// rawPayload parses `@th,16,8`.
func (p *parser) rawPayload(start int) Expr {
	p.want('@')
	x := &RawPayload{}
	switch p.word() {
	case "ll", "nh", "th", "ih":
		x.Base = p.take()
	default:
		if p.tok.isString() {
			p.fail("unknown-base", p.spanOf(&p.tok), "unknown raw payload base %q, expected ll, nh, th or ih", clip(p.tok.text))
		}
		p.unexpectedOf("ll", "nh", "th", "ih")
	}
	p.want(',')
	x.Offset = p.number()
	p.want(',')
	x.Len = p.rawLen()
	x.Node = p.node(start)
	return x
}

func (p *parser) extHeader(start int) Expr {
	x := &Exthdr{Header: p.take()}
	fields := extHeaderFields[x.Header.Text]
	if w := p.word(); w == "" || !oneIn(w, fields) {
		p.unknownField(x.Header, fields)
	}
	x.Field = p.take()
	if x.Header.Text == "rt0" || x.Field.Text == "sid" {
		p.want('[')
		n := p.number()
		p.want(']')
		x.Index = &n
	}
	x.Node = p.node(start)
	return x
}

// route parses `rt KEY`, `rt ip nexthop` and the routing header's fields.
func (p *parser) route(start int, s side) Expr {
	kw := p.take()
	w := p.word()
	if s != sideSet && oneIn(w, extHeaderFields["rt"]) {
		x := &Exthdr{Header: kw, Field: p.take()}
		x.Node = p.node(start)
		return x
	}
	x := &RT{}
	if w == "ip" || w == "ip6" {
		x.Family = p.take()
	}
	if !oneIn(p.word(), routeKeys) {
		p.unexpectedOf(append(append([]string{}, routeKeys...), extHeaderFields["rt"]...)...)
	}
	x.Key = p.take()
	x.Node = p.node(start)
	return x
}

// conntrack parses `ct [original|reply] KEY`.
func (p *parser) conntrack(start int) Expr {
	p.next()
	x := &CT{}
	keys := ctKeys
	if w := p.word(); w == "original" || w == "reply" {
		x.Dir = p.take()
		keys = ctDirKeys
		if w := p.word(); w == "ip" || w == "ip6" {
			x.Family = p.take()
			keys = []string{"saddr", "daddr"}
		}
	}
	x.Key = p.key(keys)
	x.Node = p.node(start)
	return x
}

func (p *parser) fib(start int) Expr {
	p.next()
	x := &Fib{}
	at := p.tok.pos
	flags := []string{"saddr", "daddr", "mark", "iif", "oif"}
	has := func(w string) bool {
		for _, f := range x.Flags {
			if f.Text == w {
				return true
			}
		}
		return false
	}
	x.Flags = append(x.Flags, p.key(flags))
	for p.got('.') {
		x.Flags = append(x.Flags, p.key(flags))
	}
	sp := p.from(at)
	x.Result = p.key([]string{"oif", "oifname", "type", "check"})
	x.Node = p.node(start)
	switch {
	case !has("saddr") && !has("daddr"):
		p.fail("fib", sp, "fib: need either saddr or daddr")
	case has("saddr") && has("daddr"):
		p.fail("fib", sp, "fib: saddr and daddr are mutually exclusive")
	case has("iif") && has("oif"):
		p.fail("fib", sp, "fib: iif and oif are mutually exclusive")
	}
	return x
}

// ipsec parses `ipsec in [spnum N] reqid` and the like.
func (p *parser) ipsec(start int) Expr {
	p.next()
	x := &IPsec{Dir: p.take()}
	if p.gotWord("spnum") {
		x.SPNum = p.numberPtr()
		if x.SPNum.Value > 255 {
			p.fail("value-too-large", x.SPNum.Span, "value too large")
		}
	}
	switch p.word() {
	case "ip", "ip6":
		x.Family = p.take()
		x.Key = p.key([]string{"daddr", "saddr"})
	default:
		x.Key = p.key([]string{"spi", "reqid", "ip", "ip6"})
	}
	x.Node = p.node(start)
	return x
}
