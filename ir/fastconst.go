package ir

import (
	"strconv"

	"github.com/nftc/nftc/parser"
)

// fastConst parses the constants that long lists are made of (addresses, port
// numbers) without allocating. false means: not one of these, or not valid;
// the general path then decides.
func fastConst(f SetField, s *parser.Symbol, buf []byte) bool {
	if f.Type == nil || s.Quoted {
		return false
	}
	switch f.Type.ID {
	case IDIPv4Addr:
		return fastIPv4(s.Text, buf)
	case IDInetService, IDMark, IDInteger:
		return fastNumber(s.Text, f.Bits, buf)
	case IDEtherAddr:
		return fastMAC(s.Text, buf)
	}
	return false
}

func fastIPv4(s string, buf []byte) bool {
	if len(buf) != 4 {
		return false
	}
	part, digits, val := 0, 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			val = val*10 + int(c-'0')
			if digits++; digits > 3 || val > 255 || digits > 1 && val < 10 {
				return false
			}
		case c == '.' && digits > 0 && part < 3:
			buf[part] = byte(val)
			part++
			val, digits = 0, 0
		default:
			return false
		}
	}
	if part != 3 || digits == 0 {
		return false
	}
	buf[3] = byte(val)
	return true
}

func fastNumber(s string, bits int, buf []byte) bool {
	if s == "" || len(s) > 10 || s[0] == '0' && len(s) > 1 {
		return false
	}
	var v uint64
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		v = v*10 + uint64(s[i]-'0')
	}
	if bits < 64 && v>>bits != 0 {
		return false
	}
	for i := len(buf) - 1; i >= 0; i-- {
		buf[i] = byte(v)
		v >>= 8
	}
	return v == 0
}

func fastMAC(s string, buf []byte) bool {
	if len(s) != 17 || len(buf) != 6 {
		return false
	}
	for i := 0; i < 6; i++ {
		hi, lo := hexDigit(s[3*i]), hexDigit(s[3*i+1])
		if hi > 15 || lo > 15 || i < 5 && s[3*i+2] != ':' {
			return false
		}
		buf[i] = hi<<4 | lo
	}
	return true
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// fastLen reads a prefix length within 0..bits.
func fastLen(e parser.Expr, bits int) (int, bool) {
	s, ok := e.(*parser.Symbol)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(s.Text)
	return n, err == nil && n >= 0 && n <= bits
}
