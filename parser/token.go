package parser

import "fmt"

// tokenKind is the broad class of a token; which words are keywords is decided
// where they stand.
type tokenKind uint8

const (
	tokEOF      tokenKind = iota
	tokNewline            // \n
	tokWord               // letters, digits, / - _ . beginning with a letter, _ or .
	tokKeyword            // a word that is a keyword wherever it stands
	tokLiteral            // address, MAC address, time, class id: never a keyword
	tokAsterisk           // a word with a * at the end, \*
	tokQuoted             // "…", quotes included
	tokNumber             // decimal, 0octal, 0xhex that fits 64 bits
	tokPunct              // operators and separators
	tokJunk               // a byte that starts no token
	tokCRLF               // \r\n
	tokUnclosed           // a " without its partner
)

func (k tokenKind) String() string {
	switch k {
	case tokEOF:
		return "end of file"
	case tokNewline:
		return "newline"
	case tokWord, tokLiteral:
		return "string"
	case tokKeyword:
		return "keyword"
	case tokAsterisk:
		return "string with a trailing asterisk"
	case tokQuoted:
		return "quoted string"
	case tokNumber:
		return "number"
	case tokPunct:
		return "punctuation"
	case tokJunk:
		return "junk"
	case tokCRLF:
		return "CRLF line terminators"
	case tokUnclosed:
		return "unclosed string"
	}
	return fmt.Sprintf("token(%d)", uint8(k))
}

// token is one token of a file: its kind, its text and the byte offset of it.
type token struct {
	kind tokenKind
	// op is the first byte of punctuation, or one of the op constants.
	op   byte
	pos  int
	text string
}

func (t *token) end() int { return t.pos + len(t.text) }

// Operators of two bytes; those of one byte are themselves.
const (
	opEq     byte = 0x80 + iota // ==
	opNeq                       // !=
	opLte                       // <=
	opGte                       // >=
	opLshift                    // <<
	opRshift                    // >>
)

// describe names the token in the words of nft's messages.
func (t *token) describe() string {
	switch t.kind {
	case tokKeyword:
		if op, ok := wordOps[t.text]; ok {
			return op
		}
		return t.text
	case tokPunct:
		switch t.op {
		case '{', '}', '[', ']', '(', ')', '=', '$', '|':
			return "'" + t.text + "'"
		case ':':
			return "colon"
		case ';':
			return "semicolon"
		case ',':
			return "comma"
		}
		return t.text
	case tokUnclosed:
		return "junk"
	}
	return t.kind.String()
}

// wordOps are the operators that may be written as words.
var wordOps = map[string]string{
	"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
	"and": "&", "or": "|", "xor": "^", "not": "!", "lshift": "<<", "rshift": ">>",
}

// keywords are the words that nft 1.1.7's scanner takes as keywords in every
// state, so that none of them can be the name of a table, chain, set or define
// (identifiers that nft makes an exception for are in identKeywords).
var keywords = wordSet(
	"accept", "add", "ah", "all", "and", "arp", "auto-merge", "bridge", "cgroup", "chain",
	"comment", "comp", "constant", "continue", "counter", "cpu", "create", "ct", "day",
	"dccp", "define", "delete", "describe", "destroy", "device", "devices", "dnat", "drop",
	"dst", "dup", "dynamic", "ecn", "element", "elements", "eq", "esp", "ether", "exists",
	"expires", "export", "exthdr", "fib", "flags", "flow", "flowtable", "flush", "frag",
	"fwd", "gc-interval", "ge", "geneve", "get", "goto", "gre", "gretap", "gt", "handle",
	"hbh", "hook", "hour", "ibriport", "ibrname", "icmp", "icmpv6", "igmp", "iif",
	"iifgroup", "iifname", "iiftype", "import", "include", "index", "inet", "insert",
	"interval", "ip", "ip6", "ipsec", "jhash", "jump", "last", "le", "limit", "list", "log",
	"lshift", "lt", "map", "mark", "masquerade", "meta", "meter", "mh", "missing", "monitor",
	"ne", "netdev", "nftrace", "not", "notrack", "numgen", "obriport", "obrname", "offload",
	"oif", "oifgroup", "oifname", "oiftype", "or", "osf", "pkttype", "policy", "position",
	"priority", "queue", "quota", "random", "redefine", "redirect", "reject", "rename",
	"replace", "reset", "return", "rshift", "rt", "rt0", "rt2", "rtclassid", "rule",
	"ruleset", "sctp", "secmark", "set", "size", "skgid", "skuid", "snat", "socket", "srh",
	"symhash", "synproxy", "table", "tcp", "th", "time", "timeout", "tproxy", "tunnel",
	"type", "typeof", "udp", "udplite", "undefine", "update", "vlan", "vmap", "vni", "vxlan",
	"xor", "xt",
)

type words map[string]struct{}

func wordSet(list ...string) words {
	m := make(words, len(list))
	for _, w := range list {
		m[w] = struct{}{}
	}
	return m
}

func (w words) has(s string) bool { _, ok := w[s]; return ok }

func (w words) list() []string {
	out := make([]string, 0, len(w))
	for s := range w {
		out = append(out, s)
	}
	return sorted(out)
}

// stateWords are the words that nft's scanner takes as keywords while the
// statement or command that began with the word is read, in addition to those
// that are keywords everywhere: `ct state status` names no value, and no
// counter can be called packets.
var stateWords = map[string]words{
	"ct": wordSet("avgpkt", "bytes", "count", "daddr", "direction", "dport", "event",
		"expectation", "expiration", "helper", "helpers", "id", "l3proto", "name", "over",
		"packets", "proto-dst", "proto-src", "protocol", "saddr", "state", "status", "until", "zone"),
	"meta": wordSet("broute", "ibrhwaddr", "ibrpvid", "ibrvproto", "iifkind", "l4proto", "length",
		"nfproto", "oifkind", "protocol", "sdif", "sdifname"),
	"counter": wordSet("bytes", "name", "packets"),
	"quota":   wordSet("bytes", "kbytes", "mbytes", "name", "over", "until", "used"),
	"limit": wordSet("burst", "bytes", "kbytes", "mbytes", "minute", "name", "over", "packets",
		"rate", "second", "until", "week"),
	"synproxy": wordSet("maxseg", "mss", "name", "sack-perm", "sack-permitted", "timestamp", "wscale"),
	"tunnel": wordSet("class", "data", "direction", "dport", "egress", "erspan", "gbp", "id",
		"ingress", "name", "opt-type", "path", "sport", "tos", "ttl", "version"),
	"nat": wordSet("addr", "fully-random", "persistent", "port", "prefix", "to"),
	"to":  wordSet("to"),
}

// ctObjectWords are two more that no ct object can be called, though they are
// values elsewhere behind ct.
var ctObjectWords = wordSet("label", "original", "reply")
