package ir

import (
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Format writes a value of the type as nft lists it. v is the number, most
// significant byte first (strings: their bytes). numeric lists numbers in
// place of names, as `nft -nn` does. A value of several flags that has no name
// of its own is written in hexadecimal: listings that join flags take Flags.
func (t *Datatype) Format(v []byte, numeric bool) string {
	return t.FormatWith(&Options{}, v, numeric)
}

// FormatWith is Format with the machine's facts: names of interface indexes
// and the local time.
func (t *Datatype) FormatWith(opt *Options, v []byte, numeric bool) string {
	for d := t; d != nil; d = d.Base {
		switch d.form {
		case formString:
			return `"` + strings.TrimRight(string(v), "\x00") + `"`
		case formLLAddr:
			return formatLLAddr(v, t.Bytes())
		case formIPv4:
			return netip.AddrFrom4([4]byte(resize(v, 4))).String()
		case formIPv6:
			return formatIPv6(v)
		case formProto:
			if n := bytesUint(v); !numeric && n <= 255 {
				if name := ProtocolName(uint8(n)); name != "" {
					return name
				}
			}
		case formTime:
			if numeric {
				return strconv.FormatUint(bytesUint(v)/1000, 10) + "s"
			}
			return FormatDuration(bytesUint(v))
		case formClassID:
			switch n := uint32(bytesUint(v)); n {
			case 0xffffffff:
				return "root"
			case 0:
				return "none"
			default:
				return fmt.Sprintf("%x:%x", n>>16, n&0xffff)
			}
		case formIfIndex:
			n := uint32(bytesUint(v))
			for name, i := range opt.Interfaces {
				if i == n {
					return `"` + name + `"`
				}
			}
			return strconv.FormatUint(uint64(n), 10)
		case formDate:
			at := time.Unix(int64(bytesUint(v)/1e9)+int64(opt.TZOffset), 0).UTC()
			return at.Format(`"2006-01-02 15:04:05"`)
		case formHour:
			return formatHour(opt, uint32(bytesUint(v)))
		case formCTLabel:
			return strconv.Itoa(lowestBit(v))
		}
		if d.Symbols != nil && !numeric {
			if name, ok := d.Symbols.NameOf(bytesUint(v)); ok {
				if t.quoted {
					return `"` + name + `"`
				}
				return name
			}
		}
	}
	return formatNumber(t, v)
}

// formatNumber lists a number as the type's base does: decimal, or hexadecimal
// with a least number of digits.
func formatNumber(t *Datatype, v []byte) string {
	n := new(big.Int).SetBytes(v)
	for d := t; d != nil; d = d.Base {
		if d.hex > 0 {
			return fmt.Sprintf("0x%0*x", d.hex, n)
		}
	}
	return n.String()
}

// Flags splits a bitmask into the names of its bits, lowest first; ok is false
// when a bit has no name.
func (t *Datatype) Flags(v []byte) (names []string, ok bool) {
	n := bytesUint(v)
	for bit := uint64(1); bit != 0; bit <<= 1 {
		if n&bit == 0 {
			continue
		}
		name, named := t.Symbols.NameOf(bit)
		if !named {
			return nil, false
		}
		names = append(names, name)
	}
	return names, len(names) > 0
}

func lowestBit(v []byte) int {
	for i := len(v) - 1; i >= 0; i-- {
		for b := 0; b < 8; b++ {
			if v[i]>>b&1 != 0 {
				return (len(v)-1-i)*8 + b
			}
		}
	}
	return 0
}

func formatLLAddr(v []byte, n int) string {
	if n == 0 {
		n = len(v)
	}
	var b strings.Builder
	for i, c := range resize(v, n) {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02x", c)
	}
	return b.String()
}

// formatIPv6 writes an address as inet_ntop does: also ::1.2.3.4 for
// IPv4-compatible ones.
func formatIPv6(v []byte) string {
	a := [16]byte(resize(v, 16))
	compat := a[12] != 0 || a[13] != 0
	for _, c := range a[:12] {
		compat = compat && c == 0
	}
	if compat {
		return "::" + netip.AddrFrom4([4]byte(a[12:])).String()
	}
	return netip.AddrFrom16(a).String()
}

func formatHour(opt *Options, secs uint32) string {
	adj := int64(secs) + int64(opt.TZOffset)
	if adj < 0 {
		adj += 86400
	} else if adj >= 86400 {
		adj -= 86400
	}
	h, m, s := adj/3600, adj/60%60, adj%60
	if s != 0 {
		return fmt.Sprintf(`"%02d:%02d:%02d"`, h, m, s)
	}
	return fmt.Sprintf(`"%02d:%02d"`, h, m)
}

// FormatDuration writes milliseconds as 1d2h3m4s5ms.
func FormatDuration(ms uint64) string {
	if ms == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, u := range [...]struct {
		ms   uint64
		name string
	}{{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}} {
		if n := ms / u.ms; n > 0 {
			b.WriteString(strconv.FormatUint(n, 10))
			b.WriteString(u.name)
			ms %= u.ms
		}
	}
	return b.String()
}
