package set

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// scenario is a set and messages with one element each, all in one transaction.
type scenario struct {
	set      bytecode.Set
	messages []elementMessage
}

type elementMessage struct {
	del, create bool
	elem        bytecode.Element
}

// randomScenario is made for clashes: few keys, few data values.
func randomScenario(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 11))
	var s scenario
	set := &s.set
	set.Name = "s"
	kind := r.IntN(6)
	switch kind {
	case 0: // hash
		set.Key = fields([]uint16{4, 16, 1, 2}[r.IntN(4)])
	case 1, 2, 3: // rbtree
		set.Key = fields([]uint16{1, 2, 4}[r.IntN(3)])
		set.Flags = bytecode.SetInterval
		if kind == 3 {
			set.Flags |= bytecode.SetAnonymous | bytecode.SetConstant
		}
	case 4: // pipapo
		set.Key = fields([]uint16{1, 2, 4}[r.IntN(3)], []uint16{1, 2, 16}[r.IntN(3)])
		set.Flags = bytecode.SetInterval | bytecode.SetConcat
	default: // exact keys in rbtree
		set.Key = fields(4)
		set.Policy, set.Size = bytecode.PolicyMemory, 100
	}
	if r.UintN(3) == 0 && set.Size == 0 {
		set.Size = uint32(1 + r.IntN(6))
	}
	if r.UintN(3) == 0 {
		set.Flags |= bytecode.SetMap
		set.DataKind, set.DataType, set.Data = bytecode.DataValue, 1, fields(4)
	}
	key := func() []byte {
		var k []byte
		for _, f := range set.Key {
			b := make([]byte, f.Len)
			b[len(b)-1] = byte(r.IntN(12))
			k = append(k, b...)
			if len(set.Key) > 1 {
				k = append(k, make([]byte, f.Padded()-int(f.Len))...)
			}
		}
		return k
	}
	add := func(m elementMessage) {
		if set.Flags&bytecode.SetMap != 0 && m.elem.Flags&bytecode.ElemIntervalEnd == 0 && !m.del {
			m.elem.Data = &bytecode.ElementData{Value: []byte{0, 0, 0, byte(r.IntN(4) / 3)}}
		}
		s.messages = append(s.messages, m)
	}
	for range 4 + r.IntN(16) {
		m := elementMessage{del: r.UintN(4) == 0, create: r.UintN(4) == 0}
		// Messages that delete name the set, and an anonymous one has no name yet.
		m.del = m.del && set.Flags&bytecode.SetAnonymous == 0
		m.create = m.create && !m.del
		switch {
		case r.UintN(12) == 0:
			m.elem.Flags = bytecode.ElemCatchall
			add(m)
		case set.Flags&(bytecode.SetInterval|bytecode.SetConcat) == bytecode.SetInterval:
			a, b := key(), key()
			if bytes.Compare(a, b) > 0 {
				a, b = b, a
			}
			m.elem.Key = a
			n := m
			n.elem = bytecode.Element{Key: b, Flags: bytecode.ElemIntervalEnd}
			switch r.UintN(8) {
			case 0:
				add(n)
			case 1:
				add(m)
			default:
				add(m)
				if !bytes.Equal(a, b) {
					add(n)
				}
			}
		case set.Flags&bytecode.SetConcat != 0:
			a, b := key(), key()
			if r.UintN(8) != 0 {
				at := 0
				for _, f := range set.Key {
					i := at + int(f.Len) - 1
					a[i], b[i] = min(a[i], b[i]), max(a[i], b[i])
					at += f.Padded()
				}
			}
			m.elem.Key, m.elem.KeyEnd = a, b
			if r.UintN(4) == 0 {
				m.elem.KeyEnd = nil
			}
			add(m)
		default:
			m.elem.Key = key()
			add(m)
		}
	}
	return s
}

// answers is what the Loader says to each message: 0 or the error number.
func (s *scenario) answers() []int {
	l, err := NewLoader(&s.set)
	out := make([]int, len(s.messages))
	for i := range s.messages {
		m := &s.messages[i]
		e := err
		if e == nil {
			// One after the other, as a message that fails does not stop the kernel.
			if m.del {
				e = l.Delete([]bytecode.Element{m.elem}, false)
			} else {
				e = l.Add([]bytecode.Element{m.elem}, m.create)
			}
		}
		var le *LoadError
		if errors.As(e, &le) {
			out[i] = int(le.Errno)
		}
	}
	return out
}

func (s *scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flags %#x key %v size %d policy %d\n", s.set.Flags, s.set.Key, s.set.Size, s.set.Policy)
	for _, m := range s.messages {
		op := "add"
		if m.del {
			op = "delete"
		} else if m.create {
			op = "create"
		}
		fmt.Fprintf(&b, "  %s %s %s flags %d", op, hex.EncodeToString(m.elem.Key), hex.EncodeToString(m.elem.KeyEnd), m.elem.Flags)
		if m.elem.Data != nil {
			fmt.Fprintf(&b, " data %x", m.elem.Data.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
