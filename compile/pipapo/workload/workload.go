// Package workload makes the element lists and lookup keys that set back ends are
// measured with: the seven shapes of the kernel's concatenated-range selftest
// (nft_concat_range.sh, test_performance) and random ranges. Everything is
// generated, the same for the same arguments, so figures can be compared between
// back ends, versions and machines.
package workload

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Column is the kind of one field.
type Column uint8

// The columns of the selftest, with their values for a counter v.
const (
	Net   Column = iota // IPv4 address 10.0.0.5 + v
	Net6                // IPv6 address 2001:db8:: + v
	Port                // v mod 65534 + 1
	MAC                 // 00:01:00:00:00:00 + v
	Proto               // udp, whatever v is, never a range
)

// String is the selftest's name of the column.
func (c Column) String() string {
	switch c {
	case Net:
		return "net"
	case Net6:
		return "net6"
	case Port:
		return "port"
	case MAC:
		return "mac"
	case Proto:
		return "proto"
	default:
		return fmt.Sprintf("column %d", uint8(c))
	}
}

// Bytes is the length of the column's values.
func (c Column) Bytes() int {
	switch c {
	case Net:
		return 4
	case Net6:
		return 16
	case Port:
		return 2
	case MAC:
		return 6
	default:
		return 1
	}
}

const (
	protoTCP = 6
	protoUDP = 17
)

// put writes the column's value for the counter v.
func (c Column) put(b []byte, v uint32) {
	switch c {
	case Net:
		binary.BigEndian.PutUint32(b, 10<<24+5+v)
	case Net6:
		binary.BigEndian.PutUint64(b, 0x20010db8<<32)
		binary.BigEndian.PutUint64(b[8:], uint64(v))
	case Port:
		binary.BigEndian.PutUint16(b, uint16(v%65534+1))
	case MAC:
		b[0], b[1] = 0, 1
		binary.BigEndian.PutUint32(b[2:], v)
	case Proto:
		b[0] = protoUDP
	}
}

// Shape is a row of the selftest's table: columns and number of entries.
type Shape struct {
	Columns []Column
	Entries int
	Start   uint32 // counter of the first element
}

// Name is the columns' names, as the selftest writes them.
func (s Shape) Name() string {
	name := ""
	for i, c := range s.Columns {
		if i > 0 {
			name += ","
		}
		name += c.String()
	}
	return name
}

// Shapes are the seven of the selftest.
func Shapes() []Shape {
	return []Shape{
		{[]Column{Net, Port}, 1000, 1},
		{[]Column{Port, Net}, 100, 1},
		{[]Column{Net6, Port}, 1000, 10},
		{[]Column{Port, Proto}, 30000, 1},
		{[]Column{Net6, Port, MAC}, 10, 10},
		{[]Column{Net6, Port, MAC, Proto}, 1000, 10},
		{[]Column{Net, MAC}, 1000, 1},
	}
}

// Set is a list of elements.
type Set struct {
	Name    string
	Columns []Column
	// Pairs holds, for each element, the start key and the end key; fields are padded
	// to 4 bytes.
	Pairs []byte

	keyBytes int
}

// Elements makes the shape's elements: one more than Entries, each with the range
// of two neighbouring counters in all columns at once.
func (s Shape) Elements() *Set {
	set := newSet(s.Name(), s.Columns, s.Entries+1)
	for i := range s.Entries + 1 {
		v := s.Start + 2*uint32(i)
		lo, hi := set.Element(i)
		for c, at := 0, 0; c < len(s.Columns); c++ {
			s.Columns[c].put(lo[at:], v)
			s.Columns[c].put(hi[at:], v+1)
			at += padded(s.Columns[c])
		}
	}
	return set
}

// Random makes n elements of a random IPv4 range of 1 to 256 addresses at any
// start, disjoint from the others, and a random range of up to 5000 ports.
func Random(n int, seed uint64) *Set {
	r := rand.New(rand.NewPCG(seed, 1))
	set := newSet(fmt.Sprintf("random net,port %d", n), []Column{Net, Port}, n)
	// used holds the ranges by their first and last block of 256 addresses.
	used := make(map[uint32][][2]uint32)
	free := func(first, last uint32) bool {
		for _, block := range []uint32{first >> 8, last >> 8} {
			for _, u := range used[block] {
				if first <= u[1] && u[0] <= last {
					return false
				}
			}
		}
		used[first>>8] = append(used[first>>8], [2]uint32{first, last})
		if last>>8 != first>>8 {
			used[last>>8] = append(used[last>>8], [2]uint32{first, last})
		}
		return true
	}
	for i := range n {
		lo, hi := set.Element(i)
		size := uint32(1) << r.IntN(9)
		addr := 1<<24 + r.Uint32N(222<<24-256)
		for !free(addr, addr+size-1) {
			addr = 1<<24 + r.Uint32N(222<<24-256)
		}
		binary.BigEndian.PutUint32(lo, addr)
		binary.BigEndian.PutUint32(hi, addr+size-1)
		width := r.Uint32N(5000)
		port := r.Uint32N(65536 - width)
		binary.BigEndian.PutUint16(lo[4:], uint16(port))
		binary.BigEndian.PutUint16(hi[4:], uint16(port+width))
	}
	return set
}

func padded(c Column) int { return (c.Bytes() + 3) &^ 3 }

func newSet(name string, columns []Column, n int) *Set {
	s := &Set{Name: name, Columns: columns}
	for _, c := range columns {
		s.keyBytes += padded(c)
	}
	s.Pairs = make([]byte, 2*s.keyBytes*n)
	return s
}

// Len is the number of elements.
func (s *Set) Len() int { return len(s.Pairs) / (2 * s.keyBytes) }

// KeyBytes is the length of a key.
func (s *Set) KeyBytes() int { return s.keyBytes }

// FieldLens is the length of each field in bytes, without padding.
func (s *Set) FieldLens() []int {
	out := make([]int, len(s.Columns))
	for i, c := range s.Columns {
		out[i] = c.Bytes()
	}
	return out
}

// Element gives the start and end key of element i.
func (s *Set) Element(i int) (start, end []byte) {
	p := s.Pairs[2*i*s.keyBytes : 2*(i+1)*s.keyBytes]
	return p[:s.keyBytes], p[s.keyBytes:]
}

// KeyKind is a way to choose lookup keys.
type KeyKind uint8

// The kinds of keys.
const (
	MatchRandom      KeyKind = iota // a random value in each range of a random element
	NoMatchRandom                   // random bytes in every field
	NoMatchLastField                // a matching key with another element's last field (proto: tcp)
	FixedLastEntry                  // always the last element's end key, as the selftest's generator sends
)

// KeyKinds lists all kinds.
func KeyKinds() []KeyKind {
	return []KeyKind{MatchRandom, NoMatchRandom, NoMatchLastField, FixedLastEntry}
}

// String is the kind's name in tables.
func (k KeyKind) String() string {
	switch k {
	case MatchRandom:
		return "match-random"
	case NoMatchRandom:
		return "nomatch-random"
	case NoMatchLastField:
		return "nomatch-lastfield"
	case FixedLastEntry:
		return "fixed-last-entry"
	default:
		return fmt.Sprintf("key kind %d", uint8(k))
	}
}

// Keys makes n keys, one behind the other. A nomatch key may match by chance:
// random bytes in small fields do, and so may ranges that lie side by side.
func (s *Set) Keys(kind KeyKind, n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(kind)+2))
	out := make([]byte, n*s.keyBytes)
	count := s.Len()
	if count == 0 {
		return out
	}
	for i := range n {
		key := out[i*s.keyBytes : (i+1)*s.keyBytes]
		e := r.IntN(count)
		start, end := s.Element(e)
		switch kind {
		case FixedLastEntry:
			_, last := s.Element(count - 1)
			copy(key, last)
		case NoMatchRandom:
			s.eachField(func(c Column, at int) {
				for b := range c.Bytes() {
					key[at+b] = byte(r.Uint32())
				}
			})
		default:
			s.eachField(func(c Column, at int) {
				between(key[at:at+c.Bytes()], start[at:], end[at:], r)
			})
		}
		if kind == NoMatchLastField {
			c := s.Columns[len(s.Columns)-1]
			at := s.keyBytes - padded(c)
			if c == Proto {
				key[at] = protoTCP
			} else if count > 1 {
				other, _ := s.Element((e + 1 + r.IntN(count-1)) % count)
				copy(key[at:], other[at:])
			}
		}
	}
	return out
}

func (s *Set) eachField(fn func(c Column, at int)) {
	at := 0
	for _, c := range s.Columns {
		fn(c, at)
		at += padded(c)
	}
}

// between writes a random value between lo and hi; ranges are short, so their
// difference fits 8 bytes.
func between(dst, lo, hi []byte, r *rand.Rand) {
	low := func(b []byte) uint64 {
		v := uint64(0)
		for _, x := range b[max(0, len(dst)-8):len(dst)] {
			v = v<<8 | uint64(x)
		}
		return v
	}
	copy(dst, lo)
	v := low(lo) + r.Uint64N(low(hi)-low(lo)+1)
	for i := len(dst) - 1; i >= max(0, len(dst)-8); i-- {
		dst[i] = byte(v)
		v >>= 8
	}
}
