package packet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ParseTuple makes p the packet that one line of packet notation describes,
// with real frame bytes and right checksums, decoded:
//
//	[NAME:] PROTO SRC > DST [KEY=VALUE]... [=> VERDICT [; TEXT]] [# comment]
//
//	p1: tcp 198.51.100.9:9 > 198.51.100.1:22 flags=syn in=lan0 hook=input => accept
//	p2: udp [2001:db8:1::9]:9 > [2001:db8:1::1]:53 in=lan0 => drop
//	p3: icmp 198.51.100.9 > 198.51.100.1 type=8 mark=0x10 ct=established
//	p4: ip 192.0.2.1 > 192.0.2.2 proto=89 payload=0201 frag=1480+
//	p5: ip6 2001:db8::1 > 2001:db8::2 proto=59 ext=hbh,dst
//	p6: arp 192.0.2.1 > 192.0.2.2 operation=request vid=5
//	p7: ether 02:00:00:00:00:99 > ff:ff:ff:ff:ff:ff type=0x88cc payload=0207
//	p8: frame=4500… link=RAW wirelen=1500
//
// PROTO is tcp, udp, udplite, sctp or dccp (with ports); icmp, icmpv6, igmp,
// esp, ah, comp, gre; ip or ip6 with proto=; arp; ether with hardware addresses.
//
// Header fields have nft's names: ttl, hoplimit, dscp, ecn, id, frag-off,
// flowlabel, flags, sequence (seq), ackseq (ack), window, urgptr, type, code,
// mtu, spi, vtag, operation, smac, dmac, vid, pcp ... A key means the field of
// the innermost header that has it; ip.id, tcp.checksum, ether.type name the
// header. checksum=bad makes a wrong one. Numbers are decimal or 0x.
//
// Bytes are shaped further by payload=HEX, len=N (the packet from the network
// header on, filled with zeros), pad=N (zeros after it), frag=OFFSET[+] or
// first or df, ext=hbh,rt,dst, options=mss:1460,sackperm,wscale:7, mss=,
// wscale=, timestamp=, ip.options=HEX, chunk= (SCTP), cvid= (a second VLAN tag), link=RAW (no
// Ethernet header). frame=HEX gives all bytes; then PROTO and addresses are
// only for the reader. Without keys: ttl 64, TCP flags syn, no payload,
// Ethernet from 02:00:00:00:00:99 to 02:00:00:00:00:10.
//
// Facts beside the bytes: hook=, path=, in=, out=, iif=, oif=, iiftype=,
// mark=, pkttype=, skuid=, skgid=, cgroup=, priority=, time=, dir=, ct=STATES,
// ct.status=, ct.mark=, ct.zone=, ct.direction=, ct.helper=, ct.label= ...; see
// [Stated]. A value with spaces is put in double quotes.
//
// The error is a *[LineError] with the column of the mistake.
func ParseTuple(line string, p *Packet) error {
	raw, e := scanTuple(line)
	if e == nil {
		_, e = raw.packet(p)
	}
	if e != nil {
		return e
	}
	return nil
}

// rawTuple is a packet description in words, from any of the text formats.
type rawTuple struct {
	name     string
	proto    wordAt
	src, dst wordAt
	pairs    []pairAt
	verdict  wordAt
	rest     string
}

// wordAt is a word and its column; pairAt a key and its value.
type (
	wordAt struct {
		s   string
		col int
	}
	pairAt struct {
		key, value wordAt
	}
)

func errorAt(col int, format string, args ...any) *LineError {
	return &LineError{Col: col, Msg: fmt.Sprintf(format, args...)}
}

// scanWords splits at blanks, outside of double quotes, and stops at a word
// that begins with '#'.
func scanWords(line string) ([]wordAt, *LineError) {
	var words []wordAt
	for i := 0; i < len(line); {
		if c := line[i]; c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' {
			i++
			continue
		}
		if line[i] == '#' {
			break
		}
		start := i
		for i < len(line) && !strings.ContainsRune(" \t\r\n\f", rune(line[i])) {
			if line[i] != '"' {
				i++
				continue
			}
			q, err := strconv.QuotedPrefix(line[i:])
			if err != nil {
				return nil, errorAt(i+1, "the quotation mark is not closed, or a bad escape follows it")
			}
			i += len(q)
		}
		words = append(words, wordAt{line[start:i], start + 1})
	}
	return words, nil
}

func scanTuple(line string) (*rawTuple, *LineError) {
	raw := &rawTuple{}
	words, e := scanWords(line)
	if e != nil {
		return nil, e
	}
	if len(words) > 0 && strings.HasSuffix(words[0].s, ":") && len(words[0].s) > 1 && !strings.Contains(words[0].s, "=") {
		raw.name = strings.TrimSuffix(words[0].s, ":")
		words = words[1:]
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if v, ok := strings.CutPrefix(w.s, "=>"); ok {
			tail := append([]wordAt(nil), words[i+1:]...)
			if v != "" {
				tail = append([]wordAt{{v, w.col + 2}}, tail...)
			}
			return raw, raw.setVerdict(tail, w.col)
		}
		if k, v, ok := strings.Cut(w.s, "="); ok {
			col := w.col + len(k) + 1
			if len(v) > 0 && v[0] == '"' {
				q, err := strconv.Unquote(v)
				if err != nil {
					return nil, errorAt(col, "%s: text after the closing quotation mark", v)
				}
				v = q
			}
			raw.pairs = append(raw.pairs, pairAt{wordAt{k, w.col}, wordAt{v, col}})
			continue
		}
		if raw.proto.s != "" {
			e := errorAt(w.col, "%q: expected KEY=VALUE or => VERDICT", w.s)
			e.Hint = nearestKey(w.s)
			return nil, e
		}
		raw.proto = w
		i++
		var addrs []wordAt // SRC > DST, with or without blanks
		for ; i < len(words) && len(addrs) < 3 && !strings.HasPrefix(words[i].s, "=>"); i++ {
			w := words[i]
			for w.s != "" && len(addrs) < 3 {
				j := strings.IndexByte(w.s, '>')
				switch {
				case j == 0:
					j = 1
				case j < 0:
					j = len(w.s)
				}
				addrs = append(addrs, wordAt{w.s[:j], w.col})
				w = wordAt{w.s[j:], w.col + j}
			}
			if w.s != "" {
				return nil, errorAt(w.col, "%q after the destination", w.s)
			}
		}
		i--
		if len(addrs) < 3 || addrs[1].s != ">" || addrs[0].s == ">" || addrs[2].s == ">" {
			if findProto(raw.proto.s) == nil {
				return nil, noProto(raw.proto)
			}
			at := raw.proto
			if len(addrs) > 0 {
				at = addrs[0]
			}
			return nil, errorAt(at.col, "%s: expected SOURCE > DESTINATION after it", raw.proto.s)
		}
		raw.src, raw.dst = addrs[0], addrs[2]
	}
	return raw, nil
}

func noProto(w wordAt) *LineError {
	var names []string
	for _, t := range tupleProtos {
		names = append(names, t.word)
	}
	e := errorAt(w.col, "%q is no protocol: %s", w.s, strings.Join(names, ", "))
	e.Hint = nearest(strings.ToLower(w.s), names)
	return e
}

// setVerdict takes what stands behind "=>".
func (raw *rawTuple) setVerdict(tail []wordAt, col int) *LineError {
	var texts []string
	for _, w := range tail {
		texts = append(texts, w.s)
	}
	word, rest, _ := strings.Cut(strings.Join(texts, " "), ";")
	word = strings.TrimSpace(word)
	if word == "" {
		return errorAt(col, "=> without a verdict: expected %s", strings.Join(verdictWords, ", "))
	}
	raw.verdict = wordAt{word, tail[0].col}
	raw.rest = strings.TrimSpace(rest)
	return nil
}

// tupleParser builds one packet out of a rawTuple.
type tupleParser struct {
	s     spec
	st    *Stated
	count int
}

// packet fills p. The count is how many such packets the line stands for.
func (raw *rawTuple) packet(p *Packet) (count int, e *LineError) {
	p.Reset()
	t := &tupleParser{st: &p.Stated, count: 1}
	if raw.proto.s != "" {
		if e := t.addresses(raw); e != nil {
			return 0, e
		}
	}
	seen := map[string]bool{}
	for _, kv := range raw.pairs {
		id, e := t.pair(kv)
		if e != nil {
			return 0, e
		}
		if seen[id] {
			return 0, errorAt(kv.key.col, "%s= is given twice", kv.key.s)
		}
		seen[id] = true
	}
	if raw.proto.s == "" && !t.s.hasFrame {
		e := errorAt(1, "no protocol and no frame=: expected PROTO SOURCE > DESTINATION")
		if len(raw.pairs) > 0 {
			e.Col = raw.pairs[0].key.col
		}
		return 0, e
	}
	if t.s.hasLink && !t.s.hasFrame && t.s.link != LinkEthernet && t.s.link.row().framing != frameRaw {
		return 0, errorAt(raw.proto.col, "link=%v needs frame=, since only EN10MB and RAW frames are built", t.s.link)
	}
	if e := t.s.check(raw); e != nil {
		return 0, e
	}
	if raw.verdict.s != "" {
		if !slices.Contains(verdictWords, raw.verdict.s) {
			e := errorAt(raw.verdict.col, "%q is no verdict: %s", raw.verdict.s, strings.Join(verdictWords, ", "))
			e.Hint = nearest(raw.verdict.s, verdictWords)
			return 0, e
		}
		p.Stated.Expect, p.Stated.ExpectRest = raw.verdict.s, raw.rest
	}
	buf, err := t.s.build(p.buf[:0])
	if err != nil {
		return 0, errorAt(raw.proto.col, "%v", err)
	}
	if t.s.wireLen != 0 && t.s.wireLen < len(buf) {
		return 0, errorAt(raw.proto.col, "wirelen=%d is less than the %d bytes of the frame", t.s.wireLen, len(buf))
	}
	p.buf, p.Data, p.WireLen = buf, buf, t.s.wireLen
	p.LinkType = LinkEthernet
	if t.s.hasLink {
		p.LinkType = t.s.link
	}
	p.Name = raw.name
	p.Decode()
	return t.count, nil
}

// check finds keys that would have no effect on the bytes.
func (s *spec) check(raw *rawTuple) *LineError {
	ether := !s.hasLink || s.link == LinkEthernet
	for _, kv := range raw.pairs {
		k := findKey(strings.ToLower(kv.key.s))
		if k != nil && !k.shapes {
			continue
		}
		why := ""
		switch name := keyOrEmpty(k); {
		case name == "frame" || name == "link" || name == "wirelen" || name == "count":
			continue
		case s.hasFrame:
			why = "frame= gives all bytes"
		case name == "" && !ether && s.setsEther(kv.key.col):
			why = fmt.Sprintf("link=%v has no Ethernet header", s.link)
		case name == "frag" && s.family() != NFProtoIPv4 && s.family() != NFProtoIPv6:
			why = "only IP has fragments"
		case name == "ext" && s.family() != NFProtoIPv6:
			why = "only IPv6 has extension headers"
		case name == "ip.options" && s.family() != NFProtoIPv4:
			why = "only IPv4 has them"
		case (name == "options" || name == "mss" || name == "wscale" || name == "sackperm" || name == "timestamp") && s.proto.l4 != headerTCP:
			why = "only TCP has it"
		case name == "chunk" && s.proto.l4 != headerSCTP:
			why = "only SCTP has chunks"
		}
		if why != "" {
			return errorAt(kv.key.col, "%s= would have no effect: %s", kv.key.s, why)
		}
	}
	return nil
}

func keyOrEmpty(k *tupleKey) string {
	if k == nil {
		return ""
	}
	return k.name
}

// setsEther reports whether the key at a column set an Ethernet or VLAN field.
func (s *spec) setsEther(col int) bool {
	for i := range s.sets {
		if t := &s.sets[i]; t.col == col && (t.h == headerEther || t.h == headerVLAN || t.h == headerCVLAN) {
			return true
		}
	}
	return false
}

// addresses reads protocol, source and destination.
func (t *tupleParser) addresses(raw *rawTuple) *LineError {
	s := &t.s
	if s.proto = findProto(strings.ToLower(raw.proto.s)); s.proto == nil {
		return noProto(raw.proto)
	}
	if s.proto.ether {
		for _, a := range []struct {
			w wordAt
			b *[6]byte
		}{{raw.src, &s.smac}, {raw.dst, &s.dmac}} {
			m, err := net.ParseMAC(a.w.s)
			if err != nil || len(m) != 6 {
				return errorAt(a.w.col, "%q is no Ethernet address", a.w.s)
			}
			copy(a.b[:], m)
		}
		return nil
	}
	var e *LineError
	if s.src, s.sport, e = s.proto.endpoint(raw.src); e != nil {
		return e
	}
	if s.dst, s.dport, e = s.proto.endpoint(raw.dst); e != nil {
		return e
	}
	if s.src.Is4() != s.dst.Is4() {
		return errorAt(raw.dst.col, "%s and %s are of different families", raw.src.s, raw.dst.s)
	}
	switch s.proto.family {
	case NFProtoIPv4, NFProtoARP:
		if !s.src.Is4() {
			return errorAt(raw.src.col, "%s needs IPv4 addresses", s.proto.word)
		}
	case NFProtoIPv6:
		if s.src.Is4() {
			return errorAt(raw.src.col, "%s needs IPv6 addresses", s.proto.word)
		}
	}
	return nil
}

// endpoint reads ADDRESS or ADDRESS:PORT, IPv6 in brackets.
func (tp *tupleProto) endpoint(w wordAt) (a netip.Addr, port uint16, e *LineError) {
	host, rest := w.s, ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return a, 0, errorAt(w.col, "%q: the bracket is not closed", w.s)
		}
		host, rest = host[1:end], host[end+1:]
	} else if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Count(host, ":") == 1 {
		host, rest = host[:i], host[i:]
	}
	a, err := netip.ParseAddr(host)
	if err != nil || a.Zone() != "" {
		return a, 0, errorAt(w.col, "%q is no IPv4 or IPv6 address", host)
	}
	switch {
	case rest == "" && tp.ports:
		if a.Is6() {
			return a, 0, errorAt(w.col, "%s needs a port: [%s]:PORT", tp.word, host)
		}
		return a, 0, errorAt(w.col, "%s needs a port: %s:PORT", tp.word, host)
	case rest == "":
		return a, 0, nil
	case !tp.ports:
		return a, 0, errorAt(w.col, "%s has no ports, found %q", tp.word, w.s)
	case rest[0] != ':':
		return a, 0, errorAt(w.col, "%q after the bracket: expected :PORT", rest)
	}
	n, err := parseNumber(rest[1:], 65535)
	if err != nil {
		return a, 0, errorAt(w.col+len(w.s)-len(rest)+1, "%q is no port from 0 to 65535", rest[1:])
	}
	return a, uint16(n), nil
}

// headers lists the headers that this packet has, innermost first.
func (s *spec) headers() []*header {
	var hs []*header
	if s.proto == nil {
		return nil
	}
	if s.proto.l4 != nil {
		hs = append(hs, s.proto.l4)
	}
	switch s.family() {
	case NFProtoIPv4:
		hs = append(hs, headerIP)
	case NFProtoIPv6:
		hs = append(hs, headerIP6, headerFrag)
	case NFProtoARP:
		hs = append(hs, headerARP)
	}
	return append(hs, headerEther, headerVLAN, headerCVLAN)
}

// allHeaders is every header of the notation.
var allHeaders = []*header{headerTCP, headerUDP, headerUDPLite, headerSCTP, headerDCCP, headerICMP, headerICMPv6, headerIGMP,
	headerESP, headerAH, headerComp, headerGRE, headerIP, headerIP6, headerFrag, headerARP, headerEther, headerVLAN, headerCVLAN}

// pair applies one key; id names what it set, to find repetitions.
func (t *tupleParser) pair(kv pairAt) (id string, e *LineError) {
	key := strings.ToLower(kv.key.s)
	if k := findKey(key); k != nil {
		if err := k.set(t, kv.value.s); err != nil {
			return "", valueError(kv, err)
		}
		if k.name == "chunk" || k.name == "payload" || k.name == "ext" || k.name == "options" {
			return key + strconv.Itoa(kv.key.col), nil
		}
		return k.name, nil
	}
	hname, fname, qualified := strings.Cut(key, ".")
	if !qualified {
		fname = key
	}
	for _, h := range t.s.headers() {
		if qualified && h.name != hname {
			continue
		}
		f := h.find(fname)
		if f == nil || f.fullAs == fname && !qualified || f.full && !qualified && !(h == headerEther && t.s.proto.ether) {
			continue
		}
		v := fieldSet{h: h, f: f, col: kv.key.col}
		if err := v.parse(kv.value.s); err != nil {
			return "", valueError(kv, err)
		}
		switch h {
		case headerVLAN:
			t.s.vlan = true
		case headerCVLAN:
			t.s.cvlan = true
		case headerFrag:
			if t.s.frag == nil {
				t.s.frag = &fragSpec{}
			}
		}
		t.s.sets = append(t.s.sets, v)
		return h.name + "." + f.name, nil
	}
	var owners []string
	for _, h := range allHeaders {
		if h.find(fname) != nil && (!qualified || h.name == hname) {
			owners = append(owners, h.name)
		}
	}
	if len(owners) > 0 && t.s.proto != nil {
		return "", errorAt(kv.key.col, "%s= does not fit a packet of %s: it is a field of %s", kv.key.s, t.s.proto.word, strings.Join(owners, ", "))
	}
	if len(owners) > 0 {
		return "", errorAt(kv.key.col, "%s= needs a protocol: it is a field of %s", kv.key.s, strings.Join(owners, ", "))
	}
	e = errorAt(kv.key.col, "unknown key %q", kv.key.s)
	e.Hint = nearestKey(key)
	return "", e
}

func valueError(kv pairAt, err error) *LineError {
	e := errorAt(kv.value.col, "%s: %v", kv.key.s, err)
	var h *hintError
	if errors.As(err, &h) {
		e.Hint = h.hint
	}
	return e
}

// findKey finds a key by its name or another name of it; nil if there is none.
func findKey(name string) *tupleKey { return tupleKeyIndex[name] }

// nearestKey finds the key that a word was probably meant to be.
func nearestKey(w string) string {
	var names []string
	for _, k := range tupleKeys {
		names = append(names, k.name)
	}
	for _, h := range allHeaders {
		for _, f := range h.fields {
			if !f.full {
				names = append(names, f.name)
			}
		}
	}
	w, _, _ = strings.Cut(strings.ToLower(w), "=")
	return nearest(w, names)
}

// parse reads a field's value.
func (t *fieldSet) parse(v string) error {
	var err error
	max := uint64(1)<<min(t.f.width, 63) - 1
	switch t.f.kind {
	case kindMAC:
		m, err := net.ParseMAC(v)
		if err != nil || len(m) != 6 {
			return bad(v, "an Ethernet address")
		}
		copy(t.b[:], m)
	case kindIPv4:
		a, err := netip.ParseAddr(v)
		if err != nil || !a.Is4() {
			return bad(v, "an IPv4 address")
		}
		b := a.As4()
		t.v = uint64(be32(b[:]))
	case kindIPv6:
		a, err := netip.ParseAddr(v)
		if err != nil || !a.Is6() || a.Zone() != "" {
			return bad(v, "an IPv6 address")
		}
		t.b = a.As16()
	case kindWord:
		t.v, err = parseWord(v, t.f.words, max)
	case kindFlags:
		t.v, err = parseFlags(v, t.f.words, max)
	default:
		if v == "bad" && t.f.name == "checksum" {
			t.bad = true
			return nil
		}
		t.v, err = parseNumber(v, max)
	}
	return err
}
