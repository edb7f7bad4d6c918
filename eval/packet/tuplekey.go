package packet

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// tupleKey is one key of packet notation that is not a header field: how its
// value is read, and, for facts that a packet states, how it is printed.
type tupleKey struct {
	name    string
	aliases []string
	set     func(t *tupleParser, v string) error
	get     func(s *Stated) (string, bool)
	shapes  bool // shapes the bytes instead of stating a fact
}

// Words that the keys take.
var (
	ctStateWords  = []word{{"invalid", CTInvalid}, {"established", CTEstablished}, {"related", CTRelated}, {"new", CTNew}, {"untracked", CTUntracked}}
	ctStatusWords = []word{
		{"expected", 1 << 0}, {"seen-reply", 1 << 1}, {"assured", 1 << 2}, {"confirmed", 1 << 3}, {"snat", 1 << 4}, {"dnat", 1 << 5}, {"dying", 1 << 9},
	}
	pktTypeWords = []word{
		{"host", uint64(PktHost)}, {"unicast", uint64(PktHost)}, {"broadcast", uint64(PktBroadcast)}, {"multicast", uint64(PktMulticast)},
		{"other", uint64(PktOther)}, {"outgoing", uint64(PktOutgoing)}, {"loopback", uint64(PktLoopback)},
	}
	devTypeWords = []word{
		{"ether", DevEther}, {"ppp", DevPPP}, {"ipip", 768}, {"ipip6", 769}, {"loopback", DevLoopback}, {"sit", 776}, {"ipgre", 778}, {"none", DevNone},
	}
	verdictWords = []string{"accept", "drop", "reject", "queue", "stolen", "stack", "unknown", "none"}
	dirWords     = []word{{"in", uint64(DirIn)}, {"out", uint64(DirOut)}}
	ctDirWords   = []word{{"original", 0}, {"reply", 1}}
	boolWords    = []word{{"1", 1}, {"0", 0}, {"true", 1}, {"false", 0}, {"yes", 1}, {"no", 0}}
	sctpWords    = []word{
		{"data", 0}, {"init", 1}, {"init-ack", 2}, {"sack", 3}, {"heartbeat", 4}, {"heartbeat-ack", 5}, {"abort", 6}, {"shutdown", 7},
		{"shutdown-ack", 8}, {"error", 9}, {"cookie-echo", 10}, {"cookie-ack", 11}, {"ecne", 12}, {"cwr", 13}, {"shutdown-complete", 14},
		{"i-data", 64}, {"asconf-ack", 128}, {"forward-tsn", 192}, {"asconf", 193}, {"i-forward-tsn", 194},
	}
	extWords = []word{{"hbh", ProtoHopOpts}, {"rt", ProtoRouting}, {"dst", ProtoDstOpts}}
)

// hintError is a message with the nearest valid word.
type hintError struct{ msg, hint string }

func (e *hintError) Error() string { return e.msg }

func bad(v, what string) error { return fmt.Errorf("%q is not %s", v, what) }

func wordNames(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.name
	}
	return out
}

// parseNumber reads a decimal or 0x number of at most max.
func parseNumber(v string, max uint64) (uint64, error) {
	var n uint64
	var err error
	if h, ok := strings.CutPrefix(strings.ToLower(v), "0x"); ok {
		n, err = strconv.ParseUint(h, 16, 64)
	} else {
		n, err = strconv.ParseUint(v, 10, 64)
	}
	if err != nil || n > max {
		return 0, bad(v, fmt.Sprintf("a number from 0 to %d", max))
	}
	return n, nil
}

// parseWord reads a word of the list or a number.
func parseWord(v string, words []word, max uint64) (uint64, error) {
	for _, w := range words {
		if strings.EqualFold(w.name, v) {
			return w.value, nil
		}
	}
	if v != "" && v[0] >= '0' && v[0] <= '9' {
		return parseNumber(v, max)
	}
	names := wordNames(words)
	return 0, &hintError{fmt.Sprintf("%q is none of %s, nor a number", v, strings.Join(names, ", ")), nearest(v, names)}
}

// parseFlags reads a comma separated list of words, "none", or a number.
func parseFlags(v string, words []word, max uint64) (uint64, error) {
	if v == "none" {
		return 0, nil
	}
	var n uint64
	for _, w := range strings.FieldsFunc(v, func(c rune) bool { return c == ',' || c == '|' }) {
		f, err := parseWord(w, words, max)
		if err != nil {
			return 0, err
		}
		n |= f
	}
	if strings.Trim(v, ",|") == "" {
		return 0, bad(v, "a list of "+strings.Join(wordNames(words), ", "))
	}
	return n, nil
}

func printWord(n uint64, words []word) string {
	for _, w := range words {
		if w.value == n {
			return w.name
		}
	}
	return strconv.FormatUint(n, 10)
}

func printFlags(n uint64, words []word) string {
	if n == 0 {
		return "none"
	}
	var out []string
	left := n
	for _, w := range words {
		if left&w.value != 0 {
			out = append(out, w.name)
			left &^= w.value
		}
	}
	if left != 0 {
		return fmt.Sprintf("%#x", n)
	}
	return strings.Join(out, ",")
}

func parseHex(v string) ([]byte, error) {
	b, err := hex.DecodeString(strings.NewReplacer(":", "", ".", "", "_", "").Replace(strings.TrimPrefix(v, "0x")))
	if err != nil {
		return nil, bad(v, "an even number of hex digits")
	}
	return b, nil
}

// num makes a key whose value is a number kept in a uint32 field.
func num(name string, has Has, at func(*Stated) *uint32, aliases ...string) tupleKey {
	return tupleKey{name: name, aliases: aliases,
		set: func(t *tupleParser, v string) error {
			n, err := parseNumber(v, math.MaxUint32)
			*at(t.st), t.st.Has = uint32(n), t.st.Has|has
			return err
		},
		get: func(s *Stated) (string, bool) {
			return strconv.FormatUint(uint64(*at(s)), 10), s.Has&has != 0
		}}
}

// ifIndex lets a key for an interface index take a name too, as nft does.
func ifIndex(k tupleKey, name string) tupleKey {
	set := k.set
	k.set = func(t *tupleParser, v string) error {
		if v != "" && (v[0] < '0' || v[0] > '9') {
			return findKey(name).set(t, v)
		}
		return set(t, v)
	}
	return k
}

// hexNum is num, printed in hex.
func hexNum(name string, has Has, at func(*Stated) *uint32, aliases ...string) tupleKey {
	k := num(name, has, at, aliases...)
	k.get = func(s *Stated) (string, bool) { return fmt.Sprintf("%#x", *at(s)), s.Has&has != 0 }
	return k
}

// text makes a key whose value is a name without spaces.
func text(name string, has Has, at func(*Stated) *string, max int, aliases ...string) tupleKey {
	return tupleKey{name: name, aliases: aliases,
		set: func(t *tupleParser, v string) error {
			if v == "" || len(v) > max {
				return bad(v, fmt.Sprintf("a name of 1 to %d bytes", max))
			}
			*at(t.st), t.st.Has = v, t.st.Has|has
			return nil
		},
		get: func(s *Stated) (string, bool) { return *at(s), s.Has&has != 0 }}
}

// devType makes a key for an ARPHRD_* value.
func devType(name string, has Has, at func(*Stated) *uint16) tupleKey {
	return tupleKey{name: name,
		set: func(t *tupleParser, v string) error {
			n, err := parseWord(v, devTypeWords, math.MaxUint16)
			*at(t.st), t.st.Has = uint16(n), t.st.Has|has
			return err
		},
		get: func(s *Stated) (string, bool) { return printWord(uint64(*at(s)), devTypeWords), s.Has&has != 0 }}
}

// ifNameMax bounds interface names: captures of other systems have longer ones
// than Linux, whose IFNAMSIZ allows 15 bytes.
const ifNameMax = 255

var (
	tupleKeys     []tupleKey
	tupleKeyIndex = map[string]*tupleKey{} // by name and alias
)

func init() {
	tupleKeys = []tupleKey{
		text("in", HasIifName, func(s *Stated) *string { return &s.IifName }, ifNameMax, "iifname"),
		text("out", HasOifName, func(s *Stated) *string { return &s.OifName }, ifNameMax, "oifname"),
		{name: "hook", set: setHook, get: func(s *Stated) (string, bool) { return s.PathString(), s.PathLen == 1 }},
		{name: "path", set: setPath, get: func(s *Stated) (string, bool) { return s.PathString(), s.PathLen > 1 }},
		ifIndex(num("iif", HasIif, func(s *Stated) *uint32 { return &s.Iif }), "in"),
		ifIndex(num("oif", HasOif, func(s *Stated) *uint32 { return &s.Oif }), "out"),
		devType("iiftype", HasIifType, func(s *Stated) *uint16 { return &s.IifType }),
		devType("oiftype", HasOifType, func(s *Stated) *uint16 { return &s.OifType }),
		num("iifgroup", HasIifGroup, func(s *Stated) *uint32 { return &s.IifGroup }),
		num("oifgroup", HasOifGroup, func(s *Stated) *uint32 { return &s.OifGroup }),
		text("ibrname", HasIbrName, func(s *Stated) *string { return &s.IbrName }, ifNameMax, "ibridgename"),
		text("obrname", HasObrName, func(s *Stated) *string { return &s.ObrName }, ifNameMax, "obridgename"),
		hexNum("mark", HasMark, func(s *Stated) *uint32 { return &s.Mark }),
		num("priority", HasPriority, func(s *Stated) *uint32 { return &s.Priority }),
		{name: "pkttype",
			set: func(t *tupleParser, v string) error {
				n, err := parseWord(v, pktTypeWords, 7)
				t.st.PktType, t.st.Has = PktType(n), t.st.Has|HasPktType
				return err
			},
			get: func(s *Stated) (string, bool) {
				return printWord(uint64(s.PktType), pktTypeWords), s.Has&HasPktType != 0
			}},
		num("skuid", HasSkuid, func(s *Stated) *uint32 { return &s.Skuid }),
		num("skgid", HasSkgid, func(s *Stated) *uint32 { return &s.Skgid }),
		num("cgroup", HasCgroup, func(s *Stated) *uint32 { return &s.Cgroup }),
		num("rtclassid", HasRtClassID, func(s *Stated) *uint32 { return &s.RtClassID }, "realm"),
		num("secmark", HasSecMark, func(s *Stated) *uint32 { return &s.SecMark }),
		num("cpu", HasCPU, func(s *Stated) *uint32 { return &s.CPU }),
		{name: "nftrace",
			set: func(t *tupleParser, v string) error {
				n, err := parseWord(v, boolWords, 1)
				t.st.NFTrace, t.st.Has = n == 1, t.st.Has|HasNFTrace
				return err
			},
			get: func(s *Stated) (string, bool) {
				if s.NFTrace {
					return "1", s.Has&HasNFTrace != 0
				}
				return "0", s.Has&HasNFTrace != 0
			}},
		{name: "dir", aliases: []string{"direction"},
			set: func(t *tupleParser, v string) error {
				n, err := parseWord(v, dirWords, 2)
				t.st.Direction = Direction(n)
				return err
			},
			get: func(s *Stated) (string, bool) { return s.Direction.String(), s.Direction != DirUnknown }},
		{name: "time", set: setTime, get: getTime},
		{name: "ct", aliases: []string{"ct.state", "ctstate", "state"},
			set: func(t *tupleParser, v string) error {
				n, err := parseFlags(v, ctStateWords, 0x7f)
				t.st.CT.State, t.st.Has = uint32(n), t.st.Has|HasCTState
				return err
			},
			get: func(s *Stated) (string, bool) {
				return printFlags(uint64(s.CT.State), ctStateWords), s.Has&HasCTState != 0
			}},
		{name: "ct.status",
			set: func(t *tupleParser, v string) error {
				n, err := parseFlags(v, ctStatusWords, math.MaxUint32)
				t.st.CT.Status, t.st.Has = uint32(n), t.st.Has|HasCTStatus
				return err
			},
			get: func(s *Stated) (string, bool) {
				return printFlags(uint64(s.CT.Status), ctStatusWords), s.Has&HasCTStatus != 0
			}},
		{name: "ct.direction",
			set: func(t *tupleParser, v string) error {
				n, err := parseWord(v, ctDirWords, 1)
				t.st.CT.Reply, t.st.Has = n == 1, t.st.Has|HasCTDirection
				return err
			},
			get: func(s *Stated) (string, bool) {
				n := uint64(0)
				if s.CT.Reply {
					n = 1
				}
				return printWord(n, ctDirWords), s.Has&HasCTDirection != 0
			}},
		hexNum("ct.mark", HasCTMark, func(s *Stated) *uint32 { return &s.CT.Mark }),
		{name: "ct.zone",
			set: func(t *tupleParser, v string) error {
				n, err := parseNumber(v, math.MaxUint16)
				t.st.CT.Zone, t.st.Has = uint16(n), t.st.Has|HasCTZone
				return err
			},
			get: func(s *Stated) (string, bool) {
				return strconv.Itoa(int(s.CT.Zone)), s.Has&HasCTZone != 0
			}},
		text("ct.helper", HasCTHelper, func(s *Stated) *string { return &s.CT.Helper }, 15),
		{name: "ct.label", set: setLabel, get: getLabel},
		num("ct.expiration", HasCTExpiration, func(s *Stated) *uint32 { return &s.CT.Expiration }),
		num64("ct.packets", HasCTPackets, func(s *Stated) *uint64 { return &s.CT.Packets }),
		num64("ct.bytes", HasCTBytes, func(s *Stated) *uint64 { return &s.CT.Bytes }),
		num("ct.id", HasCTID, func(s *Stated) *uint32 { return &s.CT.ID }),

		// What follows shapes the bytes.
		{name: "frag", shapes: true, set: setFrag},
		{name: "ext", shapes: true, set: setExt},
		{name: "ip.options", shapes: true, aliases: []string{"ipopts"}, set: func(t *tupleParser, v string) (err error) {
			t.s.ipOpts, err = parseHex(v)
			return err
		}},
		{name: "options", shapes: true, set: setTCPOptions},
		{name: "mss", shapes: true, set: func(t *tupleParser, v string) error { return t.tcpOption("mss:" + v) }},
		{name: "wscale", shapes: true, set: func(t *tupleParser, v string) error { return t.tcpOption("wscale:" + v) }},
		{name: "sackperm", shapes: true, set: func(t *tupleParser, v string) error {
			if n, err := parseWord(v, boolWords, 1); err != nil || n == 0 {
				return err
			}
			return t.tcpOption("sackperm")
		}},
		{name: "timestamp", shapes: true, set: func(t *tupleParser, v string) error { return t.tcpOption("timestamp:" + v) }},
		{name: "chunk", shapes: true, set: setChunk},
		{name: "payload", shapes: true, set: func(t *tupleParser, v string) error {
			b, err := parseHex(v)
			t.s.payload = append(t.s.payload, b...)
			return err
		}},
		{name: "len", shapes: true, set: func(t *tupleParser, v string) error {
			n, err := parseNumber(v, 65575)
			t.s.length = int(n)
			if err == nil && n == 0 {
				return bad(v, "a length above 0")
			}
			return err
		}},
		{name: "pad", shapes: true, set: func(t *tupleParser, v string) error {
			n, err := parseNumber(v, 65535)
			t.s.pad = int(n)
			return err
		}},
		{name: "link", shapes: true, set: setLink},
		{name: "frame", shapes: true, set: func(t *tupleParser, v string) (err error) {
			t.s.frame, err = parseHex(v)
			t.s.hasFrame = true
			return err
		}},
		{name: "wirelen", shapes: true, set: func(t *tupleParser, v string) error {
			n, err := parseNumber(v, 1<<30)
			t.s.wireLen = int(n)
			return err
		}},
		{name: "count", shapes: true, set: func(t *tupleParser, v string) error {
			n, err := parseNumber(v, 1<<31)
			t.count = int(n)
			return err
		}},
	}
	for i := range tupleKeys {
		k := &tupleKeys[i]
		tupleKeyIndex[k.name] = k
		for _, a := range k.aliases {
			tupleKeyIndex[a] = k
		}
	}
}

func num64(name string, has Has, at func(*Stated) *uint64) tupleKey {
	return tupleKey{name: name,
		set: func(t *tupleParser, v string) error {
			n, err := parseNumber(v, math.MaxUint64)
			*at(t.st), t.st.Has = n, t.st.Has|has
			return err
		},
		get: func(s *Stated) (string, bool) { return strconv.FormatUint(*at(s), 10), s.Has&has != 0 }}
}

func setHook(t *tupleParser, v string) error {
	if err := setPath(t, v); err != nil {
		return err
	}
	if t.st.PathLen != 1 {
		return fmt.Errorf("hook=%s: one hook expected; path= takes several", v)
	}
	return nil
}

func setPath(t *tupleParser, v string) error {
	t.st.PathLen = 0
	for _, n := range strings.Split(v, ",") {
		h, ok := ParseHook(n)
		if !ok {
			return &hintError{fmt.Sprintf("%q is no hook: %s", n, strings.Join(hookNames[1:], ", ")), nearest(n, hookNames[1:])}
		}
		if t.st.PathLen == MaxPath {
			return fmt.Errorf("%q lists more than %d hooks", v, MaxPath)
		}
		t.st.Path[t.st.PathLen] = h
		t.st.PathLen++
	}
	return nil
}

// setTime takes seconds since 1970 with up to nine decimals, or RFC 3339; a date
// without a zone is UTC.
func setTime(t *tupleParser, v string) error {
	t.st.Has |= HasTime
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		when, err := time.Parse(layout, v)
		if err != nil {
			continue
		}
		if y := when.Year(); y < 1970 || y > 2261 {
			return bad(v, "a time between 1970 and 2261")
		}
		t.st.TimeNs = when.UnixNano()
		return nil
	}
	sec, frac, _ := strings.Cut(v, ".")
	n, err := parseNumber(sec, maxSeconds)
	if err != nil || len(frac) > 9 {
		return bad(v, "a time: seconds since 1970, or like 2026-01-02T15:04:05Z")
	}
	ns := uint64(0)
	if frac != "" {
		if ns, err = strconv.ParseUint(frac+strings.Repeat("0", 9-len(frac)), 10, 64); err != nil {
			return bad(v, "a time: seconds since 1970, or like 2026-01-02T15:04:05Z")
		}
	}
	t.st.TimeNs = int64(n)*1e9 + int64(ns)
	return nil
}

func getTime(s *Stated) (string, bool) {
	if s.TimeNs < 0 {
		return "", false
	}
	out := strconv.FormatInt(s.TimeNs/1e9, 10)
	if ns := s.TimeNs % 1e9; ns != 0 {
		out += strings.TrimRight(fmt.Sprintf(".%09d", ns), "0")
	}
	return out, s.Has&HasTime != 0
}

// setLabel takes bit numbers, comma separated.
func setLabel(t *tupleParser, v string) error {
	t.st.CT.Label = [16]byte{}
	t.st.Has |= HasCTLabel
	for _, w := range strings.Split(v, ",") {
		n, err := parseNumber(w, 127)
		if err != nil {
			return err
		}
		t.st.CT.Label[n/8] |= 1 << (n % 8)
	}
	return nil
}

func getLabel(s *Stated) (string, bool) {
	var out []string
	for n := range 128 {
		if s.CT.Label[n/8]>>(n%8)&1 != 0 {
			out = append(out, strconv.Itoa(n))
		}
	}
	return strings.Join(out, ","), s.Has&HasCTLabel != 0 && len(out) > 0
}

// setFrag takes "df", or an offset in bytes with "+" for more fragments, or
// both, comma separated; "first" is 0+, "middle" 1480+ and "last" 1480.
func setFrag(t *tupleParser, v string) error {
	f := &fragSpec{}
	for _, w := range strings.Split(v, ",") {
		switch w {
		case "df":
			f.df = true
		case "first", "mf":
			f.more = true
		case "middle":
			f.off, f.more = 1480, true
		case "last", "later":
			f.off = 1480
		default:
			d, more := strings.CutSuffix(w, "+")
			n, err := parseNumber(d, 65528)
			if err != nil {
				return bad(v, "a fragment: df, first, middle, last, or an offset in bytes with + if more follow")
			}
			f.off, f.more = int(n), more
		}
	}
	t.s.frag = f
	return nil
}

// setExt takes IPv6 extension headers in order: hbh, rt, dst, each with its
// content after the first two bytes as hex behind a colon.
func setExt(t *tupleParser, v string) error {
	for _, w := range strings.Split(v, ",") {
		name, body, _ := strings.Cut(w, ":")
		n, err := parseWord(name, extWords, 255)
		if err != nil {
			return err
		}
		if n != ProtoHopOpts && n != ProtoRouting && n != ProtoDstOpts {
			return bad(name, "an extension header: hbh, rt or dst")
		}
		b, err := parseHex(body)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			b = []byte{1, 4, 0, 0, 0, 0} // padding option
		}
		t.s.ext = append(t.s.ext, extSpec{uint8(n), b})
	}
	return nil
}

func setLink(t *tupleParser, v string) error {
	var names []string
	for i, r := range linkTable {
		if r.name == "" {
			continue
		}
		if strings.EqualFold(r.name, v) && (r.name != "RAW" || LinkType(i) == LinkRaw) {
			t.s.link, t.s.hasLink = LinkType(i), true
			return nil
		}
		names = append(names, r.name)
	}
	if n, err := parseNumber(v, math.MaxUint16); err == nil {
		t.s.link, t.s.hasLink = LinkType(n), true
		return nil
	}
	return &hintError{fmt.Sprintf("%q is no link type", v), nearest(strings.ToUpper(v), names)}
}

// setChunk appends SCTP chunks: a word or number, with the bytes after the
// chunk header as hex behind a colon.
func setChunk(t *tupleParser, v string) error {
	for _, w := range strings.Split(v, ",") {
		name, body, _ := strings.Cut(w, ":")
		n, err := parseWord(name, sctpWords, 255)
		if err != nil {
			return err
		}
		b, err := parseHex(body)
		if err != nil {
			return err
		}
		l := len(b) + 4
		if l > 0xffff {
			return fmt.Errorf("chunk of %d bytes: at most 65535 fit", l)
		}
		t.s.payload = append(t.s.payload, byte(n), 0, byte(l>>8), byte(l))
		t.s.payload = append(t.s.payload, b...)
		for len(t.s.payload)%4 != 0 {
			t.s.payload = append(t.s.payload, 0)
		}
	}
	return nil
}
