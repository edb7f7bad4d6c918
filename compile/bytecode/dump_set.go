package bytecode

import (
	"strconv"
	"time"
)

// setHeader writes the line of a set's declaration: family, name, table, flags
// in hex, and what else was stated (nftnl_set_snprintf_default).
func (d *dumper) setHeader(op *Op) {
	s := op.Set
	d.str("family ")
	d.num(uint64(op.Family))
	d.str(" " + s.Name + " " + op.TableName + " ")
	d.buf = strconv.AppendUint(d.buf[:0], uint64(s.Flags), 16)
	d.w.Write(d.buf)
	if s.Timeout != 0 {
		d.str(" timeout ")
		d.num(uint64(s.Timeout / time.Millisecond))
		d.str("ms")
	}
	if s.GC != 0 {
		d.str(" gc_interval ")
		d.num(uint64(s.GC / time.Millisecond))
		d.str("ms")
	}
	if s.Policy != PolicyPerformance {
		d.str(" policy ")
		d.num(uint64(s.Policy))
	}
	if s.Size != 0 {
		d.str(" size ")
		d.num(uint64(s.Size))
	}
	d.str("\n")
}

// elements writes all elements of a message on one line.
func (d *dumper) elements(s *Set, es []Element) {
	for i := range es {
		e := &es[i]
		b := append(d.buf[:0], "\telement "...)
		b = appendFields(b, s.Key, e.Key)
		if e.KeyEnd != nil {
			b = append(b, " - "...)
			b = appendFields(b, s.Key, e.KeyEnd)
		}
		if e.Data != nil {
			b = append(b, " : "...)
			switch s.DataKind {
			case DataVerdict:
				b = append(b, e.Data.Verdict.Code.String()...)
				if e.Data.Verdict.Code == Jump || e.Data.Verdict.Code == Goto {
					if e.Data.Verdict.ChainID == 0 {
						b = append(b, " -> "...)
						b = append(b, e.Data.Verdict.Chain...)
					}
				}
			case DataObject:
				b = append(b, e.Data.Object...)
			default:
				b = appendFields(b, s.Data, e.Data.Value)
			}
		}
		if e.Flags != 0 {
			b = append(b, " flags "...)
			b = strconv.AppendUint(b, uint64(e.Flags), 10)
		}
		d.w.Write(b)
		d.buf = b
		if e.Attrs != nil && e.Attrs.Userdata != nil {
			d.userdata(e.Attrs.Userdata)
		}
	}
	if len(es) > 0 {
		d.str("\n")
	}
}

// appendFields writes a key or data: fields parted by dots, each most
// significant byte first, in words of four bytes.
func appendFields(b []byte, fs []Field, v []byte) []byte {
	for i, f := range fs {
		if len(v) < int(f.Len) {
			break
		}
		if i > 0 {
			b = append(b, " . "...)
		}
		b = appendWords(b, v[:f.Len], f.Host)
		v = v[min(f.Padded(), len(v)):]
	}
	return b
}

const hexDigits = "0123456789abcdef"

func appendWords(b, v []byte, host bool) []byte {
	for i := range v {
		c := v[i]
		if host {
			c = v[len(v)-1-i]
		}
		if i > 0 && i%4 == 0 {
			b = append(b, ' ')
		}
		b = append(b, hexDigits[c>>4], hexDigits[c&15])
	}
	return b
}
