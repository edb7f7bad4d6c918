package eval

import (
	"bytes"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// A packet's device may be unknown by name, and rules ask for it again and
// again. So that the ways through a ruleset stay consistent, a branch on which
// the device was found to be eth0 keeps that, and the way on which it was not
// remembers that too.

// maxDevices is how many names can be ruled out for one packet; further ones
// are asked for afresh each time.
const maxDevices = 64

// deviceBit numbers the names that rules ask for; ok is false beyond
// maxDevices.
func (e *Engine) deviceBit(name string) (bit uint64, ok bool) {
	n, known := e.devBits[name]
	if !known {
		if len(e.devBits) >= maxDevices {
			return 0, false
		}
		if e.devBits == nil {
			e.devBits = make(map[string]uint8)
		}
		n = uint8(len(e.devBits))
		e.devBits[name] = n
	}
	return 1 << n, true
}

func (t *trip) exclude(e *Engine, c Cause, names []string) {
	for _, n := range names {
		if b, ok := e.deviceBit(n); ok {
			if c == CauseInterface {
				t.inNot |= b
			} else {
				t.outNot |= b
			}
		}
	}
}

func (t *trip) bind(c Cause, name string) {
	if c == CauseInterface {
		t.inName = name
	} else {
		t.outName = name
	}
}

// bindDevice makes a branch go on at op i with the device it asks for named.
func (b *branch) bindDevice(e *Engine, i int32, c Cause, name string) {
	b.trip.bind(c, name)
	e.setDevices(&b.walk)
	o := &e.ops[i]
	if o.n == 16 {
		b.putName(o.src, name)
	} else if d := e.ifByName[name]; d != nil {
		b.put32(o.src, d.Index)
	}
	b.resume = i
}

// cannotBe tells whether the device of a cause is certainly not the one named:
// it was ruled out, or it would be lo. Frames on lo have hardware addresses of
// zero, and nothing is forwarded to it.
func (e *Engine) cannotBe(w *walk, c Cause, name string) bool {
	not := w.trip.inNot
	if c == CauseOutInterface {
		not = w.trip.outNot
	}
	if b, ok := e.deviceBit(name); ok && not&b != 0 {
		return true
	}
	if name != "lo" {
		return false
	}
	if c == CauseOutInterface {
		return w.trip.forwarded || w.trip.hook == bytecode.HookForward
	}
	p := w.p
	if p.LL < 0 || p.LL+12 > len(p.Data) || p.LinkType != packet.LinkEthernet {
		return p.LinkType == packet.LinkRaw
	}
	return !bytes.Equal(p.Data[p.LL:p.LL+12], make([]byte, 12))
}

// cmpUnknown decides a comparison with an unknown register.
func (e *Engine) cmpUnknown(w *walk, o *op, i int32, c Cause) int32 {
	if c != CauseInterface && c != CauseOutInterface {
		return w.fork(i, c)
	}
	name := ""
	switch {
	case (o.code == opCmpEq || o.code == opCmpNe) && o.n == 16:
		name = string(bytes.TrimRight(o.data, "\x00"))
	case (o.code == opCmpEq4 || o.code == opCmpNe4) && o.n == 4:
		if d := e.ifByIndex[o.a]; d != nil {
			name = d.Name
		}
	}
	if name == "" {
		return w.fork(i, c)
	}
	ne := o.code == opCmpNe || o.code == opCmpNe4
	if e.cannotBe(w, c, name) {
		if ne {
			return codeContinue
		}
		return codeBreak
	}
	w.fork(i, c)
	w.forkNames, w.forkNot = []string{name}, ne
	return codeFork
}

// maxSetDevices is up to how many elements of a set of device names are tried
// one by one.
const maxSetDevices = 16

// deviceNames lists the elements of a set that an unknown device may be; ok is
// false when the set is not one of a few plain names.
func (e *Engine) deviceNames(w *walk, s *set, c Cause) (names []string, ok bool) {
	if c != CauseInterface && c != CauseOutInterface || len(s.src.Key) != 1 || s.keyLen != 16 ||
		s.src.Flags&(bytecode.SetInterval|bytecode.SetEval|bytecode.SetTimeout) != 0 || len(s.src.Elements) > maxSetDevices {
		return nil, false
	}
	for i := range s.src.Elements {
		el := &s.src.Elements[i]
		if el.Flags&bytecode.ElemCatchall != 0 {
			return nil, false
		}
		if n := string(bytes.TrimRight(el.Key, "\x00")); !e.cannotBe(w, c, n) {
			names = append(names, n)
		}
	}
	return names, true
}
