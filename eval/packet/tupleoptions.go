package packet

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// TCP options in packet notation: options=mss:1460,sackperm,timestamp:1:0,nop,
// wscale:7, or kind:hex for any other.

// tcpOption appends one option.
func (t *tupleParser) tcpOption(v string) error {
	name, arg, _ := strings.Cut(v, ":")
	add := func(b ...byte) error {
		if t.s.tcpOpts = append(t.s.tcpOpts, b...); len(t.s.tcpOpts) > 40 {
			return fmt.Errorf("TCP options take %d bytes, at most 40 fit", len(t.s.tcpOpts))
		}
		return nil
	}
	switch name {
	case "eol":
		return add(TCPOptEOL)
	case "nop":
		return add(TCPOptNOP)
	case "sackperm", "sack-perm", "sack-permitted":
		return add(TCPOptSACKPerm, 2)
	case "mss", "maxseg":
		n, err := parseNumber(arg, math.MaxUint16)
		if err != nil {
			return err
		}
		return add(TCPOptMSS, 4, byte(n>>8), byte(n))
	case "wscale", "window":
		n, err := parseNumber(arg, math.MaxUint8)
		if err != nil {
			return err
		}
		return add(TCPOptWindow, 3, byte(n))
	case "timestamp":
		val, echo, _ := strings.Cut(arg, ":")
		n, err := parseNumber(val, math.MaxUint32)
		var m uint64
		if err == nil && echo != "" {
			m, err = parseNumber(echo, math.MaxUint32)
		}
		if err != nil {
			return err
		}
		return add(TCPOptTimestamp, 10, byte(n>>24), byte(n>>16), byte(n>>8), byte(n), byte(m>>24), byte(m>>16), byte(m>>8), byte(m))
	}
	kind, err := parseNumber(name, math.MaxUint8)
	if err != nil {
		names := []string{"mss", "wscale", "sackperm", "timestamp", "nop", "eol"}
		return &hintError{fmt.Sprintf("%q is no TCP option: %s, or a number", name, strings.Join(names, ", ")), nearest(name, names)}
	}
	b, err := parseHex(arg)
	if err != nil {
		return err
	}
	if len(b) > 38 {
		return fmt.Errorf("TCP option of %d bytes: at most 40 fit", len(b)+2)
	}
	return add(append([]byte{byte(kind), byte(len(b) + 2)}, b...)...)
}

func setTCPOptions(t *tupleParser, v string) error {
	if h, ok := strings.CutPrefix(v, "hex:"); ok {
		b, err := parseHex(h)
		if err == nil && len(b) > 40 {
			err = fmt.Errorf("TCP options take %d bytes, at most 40 fit", len(b))
		}
		t.s.tcpOpts = append(t.s.tcpOpts, b...)
		return err
	}
	for _, w := range strings.Split(v, ",") {
		if err := t.tcpOption(w); err != nil {
			return err
		}
	}
	return nil
}

// printTCPOptions gives the value of options= for the bytes after the fixed
// TCP header: as words when they say it exactly, else as hex:.
func printTCPOptions(b []byte) string {
	var out []string
	for i := 0; i < len(b); {
		switch {
		case b[i] == TCPOptNOP:
			out = append(out, "nop")
			i++
			continue
		case b[i] == TCPOptEOL:
			out = append(out, "eol")
			i++
			continue
		case i+1 >= len(b) || b[i+1] < 2 || i+int(b[i+1]) > len(b):
			return "hex:" + hex.EncodeToString(b)
		}
		o := b[i : i+int(b[i+1])]
		switch {
		case o[0] == TCPOptMSS && len(o) == 4:
			out = append(out, "mss:"+strconv.Itoa(int(be16(o[2:]))))
		case o[0] == TCPOptWindow && len(o) == 3:
			out = append(out, "wscale:"+strconv.Itoa(int(o[2])))
		case o[0] == TCPOptSACKPerm && len(o) == 2:
			out = append(out, "sackperm")
		case o[0] == TCPOptTimestamp && len(o) == 10:
			out = append(out, fmt.Sprintf("timestamp:%d:%d", be32(o[2:]), be32(o[6:])))
		default:
			out = append(out, fmt.Sprintf("%d:%x", o[0], o[2:]))
		}
		i += len(o)
	}
	return strings.Join(out, ",")
}
