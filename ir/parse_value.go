package ir

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/nftc/nftc/internal/diag"
)

// constant is what a word means as a value of a datatype: Bytes is the number,
// most significant byte first, as long as the number needs or the type says;
// strings are their bytes. Type is the type that the form gives, which is not
// always the one that was asked for.
type constant struct {
	Bytes []byte
	Type  *Datatype
}

// ParseConst parses a constant of the type as the right side of a match may
// hold it and returns its value, (Bits+7)/8 bytes, most significant first
// (strings: their bytes). Types without a size return as many bytes as the
// number needs. Errors carry nft's wording. Interface indexes and local times
// need Options: for them use Resolve.
func (t *Datatype) ParseConst(text string) ([]byte, error) {
	return t.parseSized(&Options{}, text, t.Bits)
}

// parseSized is ParseConst with the machine's facts and a length in bits.
func (t *Datatype) parseSized(opt *Options, text string, bits int) ([]byte, error) {
	c, err := t.parseConst(opt, text)
	if err != nil {
		return nil, err
	}
	if t.IsString() {
		if bits > 0 && (len(c.Bytes)+1)*8 > bits {
			return nil, fmt.Errorf("String exceeds maximum length of %d", bits/8)
		}
		return c.Bytes, nil
	}
	if bits == 0 {
		return c.Bytes, nil
	}
	return fitBits(c.Bytes, bits)
}

// fitBits brings a number to a length in bits, or fails with nft's words.
func fitBits(b []byte, bits int) ([]byte, error) {
	if bitLen(b) > bits {
		mask := new(big.Int).Lsh(big.NewInt(1), uint(bits))
		mask.Sub(mask, big.NewInt(1))
		return nil, fmt.Errorf("Value %s exceeds valid range 0-%s", new(big.Int).SetBytes(b), mask)
	}
	return resize(b, (bits+7)/8), nil
}

// bitLen is the number of bits of a number.
func bitLen(b []byte) int {
	for i, c := range b {
		if c != 0 {
			n := 8 * (len(b) - i - 1)
			for ; c != 0; c >>= 1 {
				n++
			}
			return n
		}
	}
	return 0
}

// resize cuts or extends a number on the left.
func resize(b []byte, n int) []byte {
	if len(b) == n {
		return b
	}
	out := make([]byte, n)
	if len(b) > n {
		copy(out, b[len(b)-n:])
	} else {
		copy(out[n-len(b):], b)
	}
	return out
}

// uintBytes is v in n bytes, most significant first.
func uintBytes(v uint64, n int) []byte {
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i] = byte(v)
		v >>= 8
	}
	return b
}

// bytesUint reads the low 64 bits of a number.
func bytesUint(b []byte) uint64 {
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// parseConst parses text by the form of the type: the first in the chain of
// bases that has a form or symbols.
func (t *Datatype) parseConst(opt *Options, text string) (constant, error) {
	for d := t; d != nil; d = d.Base {
		if d.form != formNone {
			return d.parseForm(opt, t, text)
		}
		if d.Symbols != nil {
			b, err := t.parseSymbol(opt, d.Symbols, text)
			return constant{b, t}, err
		}
	}
	if t.ID == IDVerdict {
		return constant{}, verdictError(text)
	}
	return constant{}, fmt.Errorf("Could not parse symbolic %s expression", t.Desc)
}

func verdictError(text string) error {
	if s := diag.Nearest(text, []string{"continue", "break", "return", "accept", "drop", "queue", "stolen"}); s != "" {
		return fmt.Errorf("Could not parse netfilter verdict; did you mean `%s'?", s)
	}
	return fmt.Errorf("Could not parse netfilter verdict; did you mean `jump %s'?", text)
}

// parseSymbol parses a named constant, or what the base takes.
func (t *Datatype) parseSymbol(opt *Options, syms *Symbols, text string) ([]byte, error) {
	if v, ok := syms.Lookup(text); ok {
		return uintBytes(v, max(t.Bytes(), 1)), nil
	}
	for d := t.Base; d != nil; d = d.Base {
		if d.form != formNone {
			c, err := d.parseForm(opt, t, text)
			if err != nil {
				if s := diag.Nearest(text, syms.Names()); s != "" {
					return nil, fmt.Errorf("Could not parse %s expression; did you you mean `%s`?", t.Desc, s)
				}
				return nil, err
			}
			return c.Bytes, nil
		}
	}
	return nil, fmt.Errorf("Could not parse %s", t.Desc)
}

// parseForm parses text in the form of d for the type t.
func (d *Datatype) parseForm(opt *Options, t *Datatype, text string) (constant, error) {
	switch d.form {
	case formInteger:
		b, ok := parseInteger(text)
		if !ok {
			return constant{}, fmt.Errorf("Could not parse %s", t.Desc)
		}
		return constant{b, t}, nil
	case formString:
		return constant{[]byte(text), t}, nil
	case formLLAddr:
		b, err := parseLLAddr(text)
		return constant{b, t}, err
	case formIPv4:
		b, err := parseIPv4(text)
		return constant{b, TypeIPv4Addr}, err
	case formIPv6:
		b, err := parseIPv6(text)
		return constant{b, TypeIPv6Addr}, err
	case formProto:
		n, isNum, ok := parseUintC(text)
		if isNum {
			if !ok || n > 255 {
				return constant{}, errors.New("Protocol out of range")
			}
			return constant{[]byte{byte(n)}, TypeInetProto}, nil
		}
		p, ok := ProtocolByName(text)
		if !ok {
			return constant{}, errors.New("Could not resolve protocol name")
		}
		return constant{[]byte{p}, TypeInetProto}, nil
	case formService:
		n, isNum, ok := parseUintC(text)
		if isNum {
			if !ok || n > 65535 {
				return constant{}, errors.New("Service out of range")
			}
			return constant{[]byte{byte(n >> 8), byte(n)}, TypeInetService}, nil
		}
		p, ok := ServiceByName(text)
		if !ok {
			return constant{}, errors.New("Could not resolve service: Servname not supported for ai_socktype")
		}
		return constant{[]byte{byte(p >> 8), byte(p)}, TypeInetService}, nil
	case formTime:
		ms, err := ParseDuration(text)
		if err != nil {
			return constant{}, err
		}
		if ms > 1<<32-1 {
			return constant{}, errors.New("value too large")
		}
		return constant{uintBytes(ms, 4), TypeTime}, nil
	case formBoolean:
		b, ok := parseInteger(text)
		if !ok {
			return constant{}, fmt.Errorf("Could not parse %s", t.Desc)
		}
		if bitLen(b) > 0 {
			return constant{[]byte{1}, TypeBoolean}, nil
		}
		return constant{[]byte{0}, TypeBoolean}, nil
	case formMark:
		b, err := t.parseSymbol(opt, d.Symbols, text)
		return constant{b, t}, err
	case formClassID:
		v, err := parseClassID(text, t)
		return constant{uintBytes(uint64(v), 4), t}, err
	case formIfIndex:
		return parseIfIndex(opt, t, text)
	case formUID:
		return parseID(t, text, userNames, 10, "User does not exist")
	case formGID:
		return parseID(t, text, groupNames, 0, "Group does not exist")
	case formDate:
		ns, err := parseDate(opt, text)
		return constant{uintBytes(ns, 8), t}, err
	case formHour:
		s, err := parseHour(opt, text)
		return constant{uintBytes(uint64(s), 4), t}, err
	case formCTLabel:
		return parseCTLabel(t, text)
	case formCgroupV2:
		// Paths are those of a running machine: only numbers mean the same
		// everywhere.
		n, isNum, ok := parseUintC(text)
		if !isNum || !ok {
			return constant{}, fmt.Errorf("Could not parse %s", t.Desc)
		}
		return constant{uintBytes(n, 8), t}, nil
	case formConcat:
		return constant{}, fmt.Errorf("invalid data type, expected %s", d.Desc)
	}
	return constant{}, fmt.Errorf("Could not parse %s", t.Desc)
}

// parseInteger reads a number as C does: 0x, 0b, leading 0 for octal. It is
// returned in as many bytes as it needs.
func parseInteger(s string) ([]byte, bool) {
	n, isNum, ok := parseUintC(s)
	if isNum && ok && n < 256 {
		return []byte{byte(n)}, true
	}
	if isNum && ok {
		c := 1
		for v := n >> 8; v != 0; v >>= 8 {
			c++
		}
		return uintBytes(n, c), true
	}
	base := 10
	digits := s
	switch {
	case len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X"):
		base, digits = 16, s[2:]
	case len(s) > 2 && (s[:2] == "0b" || s[:2] == "0B"):
		base, digits = 2, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, digits = 8, s[1:]
	}
	if digits == "" || strings.ContainsAny(digits, "_+-") || len(digits) > 2048 {
		return nil, false
	}
	v, good := new(big.Int).SetString(digits, base)
	if !good {
		return nil, false
	}
	b := v.Bytes()
	if len(b) == 0 {
		b = []byte{0}
	}
	return b, true
}

// parseUintC reads an unsigned number of at most 64 bits with C's prefixes.
// isNum tells whether all of s is one, ok that it fits.
func parseUintC(s string) (n uint64, isNum, ok bool) {
	if s == "" {
		return 0, false, false
	}
	base := uint64(10)
	i := 0
	if s[0] == '0' && len(s) > 1 {
		if s[1] == 'x' || s[1] == 'X' {
			base, i = 16, 2
		} else {
			base, i = 8, 1
		}
	}
	if i == len(s) {
		return 0, false, false
	}
	ok = true
	for ; i < len(s); i++ {
		var d uint64
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			d = uint64(c - '0')
		case c >= 'a' && c <= 'f':
			d = uint64(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = uint64(c-'A') + 10
		default:
			return 0, false, false
		}
		if d >= base {
			return 0, false, false
		}
		if n > (1<<64-1-d)/base {
			ok = false
		}
		n = n*base + d
	}
	return n, true, ok
}

func parseLLAddr(s string) ([]byte, error) {
	errLL := errors.New("Invalid LL address")
	out := make([]byte, 0, 8)
	for {
		i := strings.IndexByte(s, ':')
		part := s
		if i >= 0 {
			part = s[:i]
		}
		n, err := strconv.ParseUint(strings.TrimPrefix(part, "0x"), 16, 64)
		if err != nil || n > 0xff {
			return nil, errLL
		}
		out = append(out, byte(n))
		if i < 0 {
			return out, nil
		}
		s = s[i+1:]
	}
}

// parseIPv4 reads an address as inet_aton does (getaddrinfo): up to four
// parts, each decimal, octal or hexadecimal; the last fills what is left.
func parseIPv4(s string) ([]byte, error) {
	var parts [4]uint64
	n := 0
	rest := s
	for {
		i := strings.IndexByte(rest, '.')
		p := rest
		if i >= 0 {
			p = rest[:i]
		}
		v, isNum, ok := parseUintC(p)
		if !isNum || !ok || n == 4 {
			return nil, hostError(s)
		}
		parts[n] = v
		n++
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	out := make([]byte, 4)
	for i := 0; i < n-1; i++ {
		if parts[i] > 255 {
			return nil, hostError(s)
		}
		out[i] = byte(parts[i])
	}
	last := parts[n-1]
	if last >= 1<<(8*uint(5-n)) {
		return nil, hostError(s)
	}
	for i := 3; i >= n-1; i-- {
		out[i] = byte(last)
		last >>= 8
	}
	return out, nil
}

func parseIPv6(s string) ([]byte, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Zone() != "" {
		if err == nil && a.Is4() || isNumericHost(s) {
			return nil, errors.New("Could not resolve hostname: Address family for hostname not supported")
		}
		return nil, hostError(s)
	}
	b := a.As16()
	return b[:], nil
}

// isNumericHost tells whether getaddrinfo would take s for an IPv4 address.
func isNumericHost(s string) bool {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	_, err := parseIPv4(s)
	return err == nil
}

// hostError words the failure of a name: names are never looked up in the DNS,
// so that a file means the same everywhere.
func hostError(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return errors.New("Could not resolve hostname: Address family for hostname not supported")
	}
	return errors.New("Could not resolve hostname: Name or service not known")
}

func parseClassID(s string, t *Datatype) (uint32, error) {
	switch s {
	case "root":
		return 0xffffffff, nil
	case "none":
		return 0, nil
	}
	if i := strings.IndexByte(s, ':'); i >= 0 {
		maj, err1 := strconv.ParseUint(s[:i], 16, 64)
		min := uint64(0)
		var err2 error
		if s[i+1:] != "" {
			min, err2 = strconv.ParseUint(s[i+1:], 16, 64)
		}
		if err1 != nil || err2 != nil {
			return 0, fmt.Errorf("Could not parse %s", t.Desc)
		}
		return uint32(maj)<<16 | uint32(min), nil
	}
	return uint32(leadingUint(s)), nil
}

// leadingUint reads the number at the start of a word as strtoull does; 0 when
// there is none.
func leadingUint(s string) uint64 {
	for n := len(s); n > 0; n-- {
		if v, isNum, _ := parseUintC(s[:n]); isNum {
			return v
		}
	}
	return 0
}

func parseIfIndex(opt *Options, t *Datatype, text string) (constant, error) {
	if n, ok := opt.Interfaces[text]; ok {
		return constant{uintBytes(uint64(n), 4), t}, nil
	}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return constant{uintBytes(n, 4), t}, nil
	}
	if opt.AnyInterface {
		n := opt.inventIndex(text)
		if opt.invented == nil {
			opt.invented = make(map[string]uint32)
		}
		opt.invented[text] = n
		return constant{uintBytes(uint64(n), 4), t}, nil
	}
	return constant{}, errors.New("Interface does not exist")
}

// inventIndex gives a name that is not among the interfaces a number of its
// own, the same for the same name.
func (o *Options) inventIndex(name string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return 0x10000 + h%0x7ff00000
}

func parseID(t *Datatype, text string, names []SymbolValue, base int, missing string) (constant, error) {
	if v, ok := lookupName(names, text); ok {
		return constant{uintBytes(v, 4), t}, nil
	}
	n, isNum, ok := parseUintC(text)
	if base == 10 {
		v, err := strconv.ParseUint(text, 10, 64)
		n, isNum, ok = v, err == nil || errors.Is(err, strconv.ErrRange), err == nil
	}
	switch {
	case isNum && (!ok || n > 1<<32-1):
		return constant{}, errors.New("Value too large")
	case !isNum:
		return constant{}, errors.New(missing)
	}
	return constant{uintBytes(n, 4), t}, nil
}

func parseCTLabel(t *Datatype, text string) (constant, error) {
	bit, isNum, ok := parseUintC(text)
	if !isNum || !ok {
		return constant{}, fmt.Errorf("/etc/connlabel.conf: could not parse %s %q", t.Desc, text)
	}
	if bit >= 128 {
		return constant{}, fmt.Errorf("%s: bit %d out of range (128 max)", text, bit)
	}
	b := make([]byte, 16)
	b[15-bit/8] = 1 << (bit % 8)
	return constant{b, t}, nil
}

// ParseDuration reads 1d2h3m4s5ms; a bare number is seconds. The result is in
// milliseconds.
func ParseDuration(s string) (uint64, error) {
	const day, hour, minute, second, milli = 0, 1, 2, 3, 4
	unitName := [...]string{"Day", "Hour", "Minute", "Second", "Millisecond"}
	unitMS := [...]uint64{86400000, 3600000, 60000, 1000, 1}
	var seen [5]bool
	any := false
	var total, num uint64
	digits := 0
	for i := 0; i < len(s); i++ {
		u := -1
		switch c := s[i]; c {
		case 'd':
			u = day
		case 'h':
			u = hour
		case 'm':
			u = minute
			if s[i:] == "ms" {
				u = milli
				i++
			}
		case 's':
			u = second
		default:
			if c < '0' || c > '9' {
				return 0, errors.New("wrong time format")
			}
			if digits >= 8 {
				return 0, errors.New("value too large")
			}
			digits++
			num = num*10 + uint64(c-'0')
			continue
		}
		if seen[u] {
			return 0, fmt.Errorf("%s has been specified twice", unitName[u])
		}
		seen[u], any = true, true
		total += num * unitMS[u]
		num, digits = 0, 0
	}
	if !any {
		return num * 1000, nil
	}
	return total, nil
}

// parseDate reads a local time, or seconds since the epoch; the result is in
// nanoseconds since the epoch. What follows a time is not looked at.
func parseDate(opt *Options, s string) (uint64, error) {
	for _, layout := range []string{"Y-m-d H:M:S", "Y-m-d H:M", "Y-m-d"} {
		if v, ok := scanTime(layout, s); ok {
			tm := time.Date(v['Y'], time.Month(v['m']), v['d'], v['H'], v['M'], v['S'], 0, time.UTC)
			return uint64(tm.Unix()-int64(opt.TZOffset)) * 1e9, nil
		}
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n * 1e9, nil
	}
	return 0, errors.New("Cannot parse date")
}

// parseHour reads a local time of day, or seconds since midnight UTC; the
// result is in seconds since midnight UTC.
func parseHour(opt *Options, s string) (uint32, error) {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return uint32(n), nil
	}
	var secs int64
	tm, err := time.Parse("15:04:05", s)
	if err != nil {
		tm, err = time.Parse("15:04", s)
	}
	if err == nil {
		secs = int64(tm.Hour()*3600 + tm.Minute()*60 + tm.Second())
	} else {
		ms, err := ParseDuration(s)
		if err != nil {
			return 0, err
		}
		secs = int64(uint32(ms / 1000))
	}
	off := int64(opt.TZOffset)
	if secs >= off {
		secs = (secs - off) % 86400
	} else {
		secs = 86400 - off + secs
	}
	return uint32(secs), nil
}

// scanTime reads numbers as strptime does: blanks in front of one are skipped,
// and its digits end where another would exceed the greatest value.
func scanTime(layout, s string) (v map[byte]int, ok bool) {
	limits := map[byte]struct{ digits, from, to int }{
		'Y': {4, 0, 9999}, 'm': {2, 1, 12}, 'd': {2, 1, 31}, 'H': {2, 0, 23}, 'M': {2, 0, 59}, 'S': {2, 0, 61},
	}
	v = make(map[byte]int)
	for i := 0; i < len(layout); i++ {
		limit, number := limits[layout[i]]
		if number || layout[i] == ' ' {
			s = strings.TrimLeft(s, " \t\n")
		}
		switch {
		case layout[i] == ' ':
		case !number:
			if s == "" || s[0] != layout[i] {
				return nil, false
			}
			s = s[1:]
		default:
			n, val := 0, 0
			for n < limit.digits && n < len(s) && s[n] >= '0' && s[n] <= '9' && (n == 0 || val*10 <= limit.to) {
				val = val*10 + int(s[n]-'0')
				n++
			}
			if n == 0 || val < limit.from || val > limit.to {
				return nil, false
			}
			v[layout[i]], s = val, s[n:]
		}
	}
	return v, true
}
