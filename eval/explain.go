package eval

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
)

// FailureKind says how an expression failed to match.
type FailureKind uint8

const (
	// FailCompare: a comparison did not hold. Loaded and Want are its sides.
	FailCompare FailureKind = iota
	// FailRange: outside of a range, or inside of an excluded one.
	FailRange
	// FailSet: the key is not in the set, or is in an excluded one.
	FailSet
	// FailAbsent: the packet has not what the expression reads.
	FailAbsent
	// FailState: a limit, quota or count says no.
	FailState
	// FailOther: another condition of the expression.
	FailOther
)

func (k FailureKind) String() string {
	switch k {
	case FailCompare:
		return "compare"
	case FailRange:
		return "range"
	case FailSet:
		return "set"
	case FailAbsent:
		return "absent"
	case FailState:
		return "state"
	case FailOther:
		return "other"
	}
	return "invalid"
}

// Failure is a rule that did not match, and the expression on which it failed.
type Failure struct {
	Kind  FailureKind
	Step  Step
	Table *bytecode.Table
	Chain *bytecode.Chain
	Rule  *bytecode.Rule
	Instr int       // index in Rule.Instrs
	Span  diag.Span // of the expression, when known
	Op    bytecode.CmpOp
	Neg   bool // excluded range or set
	// Loaded is the register's content; Want, for ranges with WantTo, what it
	// was compared with. Both as they lie in registers.
	Loaded, Want, WantTo []byte
	Set                  string        // FailSet, and FailState of an element
	Size                 int           // of the set: its elements, without a catch-all
	Absent               packet.Absent // FailAbsent
	// Why tells for what cause Loaded is not known, where it cannot be Want all
	// the same: a device that certainly is another one.
	Why Cause
	// Before is the index in Result.Trace of the first event after it; equal to
	// the number of events when none follows.
	Before int
}

// explain records why the current rule stopped at op i.
func (e *Engine) explain(w *walk, o *op, i int32) {
	r := &w.chain.rules[w.ri]
	f := Failure{Kind: FailOther, Step: w.end.step, Table: w.chain.table.src, Chain: w.chain.src, Rule: r.src,
		Instr: int(e.opInstr[i]), Before: len(w.res.Trace)}
	if f.Instr < len(r.src.Spans) {
		f.Span = r.src.Spans[f.Instr]
	}
	if !f.Span.Valid() {
		f.Span = r.src.Span
	}
	key := func() []byte { return bytes.Clone(w.regs[o.src:min(uint16(o.src)+o.n, uint16(len(w.regs)))]) }
	switch o.code {
	case opCmpEq4, opCmpEq:
		f.Kind, f.Op, f.Loaded, f.Want = FailCompare, bytecode.CmpEq, key(), o.data
	case opCmpNe4, opCmpNe:
		f.Kind, f.Op, f.Loaded, f.Want = FailCompare, bytecode.CmpNeq, key(), o.data
	case opCmpOrder:
		f.Kind, f.Op, f.Loaded, f.Want = FailCompare, bytecode.CmpOp(o.flag), key(), o.data
	case opRange:
		f.Kind, f.Neg, f.Loaded, f.Want, f.WantTo = FailRange, o.flag == 1, key(), o.data, o.data2
	case opLookup, opLookupMap, opLookupVerdict, opObjrefMap, opDynset:
		s := e.sets[o.ref]
		f.Kind, f.Neg, f.Loaded, f.Set, f.Size = FailSet, o.flag == 1, key(), s.src.Name, s.tab.Len()
		if _, found := s.tab.Lookup(f.Loaded); o.code != opDynset && found != f.Neg || o.code == opDynset && found {
			f.Kind = FailState // of the element
		}
	case opPayload, opPayloadSet, opMeta, opExthdr, opExthdrSet, opExthdrReset, opInnerPayload, opInnerMeta, opCT, opRT, opSocket, opFib, opXfrm, opOsf:
		f.Kind, f.Absent = FailAbsent, absence(w, o)
	case opStateful, opObjref:
		f.Kind = FailState
	}
	if len(f.Loaded) > 0 {
		f.Why = w.cause(o.src, o.n)
	}
	w.res.Explain = append(w.res.Explain, f)
	if w.opts.Probe != nil {
		w.opts.Probe(&w.res.Explain[len(w.res.Explain)-1], &Probe{e, w})
	}
}

// Probe reads a packet as it is where a rule failed or matched. It is valid only
// while Options.Probe or Options.ProbeMatch runs.
type Probe struct {
	e *Engine
	w *walk
}

// Load runs expressions of the rule's table that only read, and returns
// the n bytes from the first register on. Where there is nothing to read missing
// says why; where it cannot be known cause does.
func (p *Probe) Load(instrs []bytecode.Instr, n int) (value []byte, missing packet.Absent, cause Cause) {
	if n <= 0 || n > bytecode.RegisterBytes {
		return nil, packet.NotFound, CauseNone
	}
	e := p.e
	first, wishes := len(e.ops), len(e.wantTrack)
	defer func() { e.ops, e.opInstr, e.wantTrack = e.ops[:first], e.opInstr[:first], e.wantTrack[:wishes] }()
	f := flattener{e: e, table: p.w.chain.table, chain: p.w.chain}
	for _, in := range instrs {
		if !reads(in) || f.instr(in) != nil {
			return nil, packet.NotFound, CauseNone
		}
	}
	b := e.copyWalk(p.w)
	defer func() { e.free = append(e.free, b) }()
	b.running = false
	for i := int32(first); i < int32(len(e.ops)); i++ {
		switch e.eval(&b.walk, i, i+1) {
		case codeContinue:
		case codeFork:
			return nil, packet.None, b.forkCause
		default:
			return nil, absence(&b.walk, &e.ops[i]), CauseNone
		}
	}
	if c := b.cause(0, uint16(n)); c != CauseNone {
		return nil, packet.None, c
	}
	return bytes.Clone(b.regs[:n]), packet.None, CauseNone
}

// reads tells whether an expression loads or computes a value and does nothing
// else. numgen counts, so it is none of them.
func reads(in bytecode.Instr) bool {
	switch in := in.(type) {
	case *bytecode.Payload, *bytecode.Inner, *bytecode.Meta, *bytecode.Exthdr, *bytecode.CT, *bytecode.RT, *bytecode.Fib,
		*bytecode.Socket, *bytecode.Osf, *bytecode.Xfrm, *bytecode.Tunnel, *bytecode.Hash, *bytecode.Bitwise, *bytecode.Byteorder:
		return true
	case *bytecode.Immediate:
		return in.Dst != bytecode.RegVerdict
	}
	return false
}

// absence is why an op that loads found nothing.
func absence(w *walk, o *op) packet.Absent {
	switch o.code {
	case opPayload, opPayloadSet:
		_, a := w.p.Slice(packet.Base(o.base), int(o.a), int(o.n))
		return a
	case opMeta:
		if bytecode.MetaKey(o.a) == bytecode.MetaL4Proto {
			return w.p.Info.THAbsent
		}
	}
	return packet.NotFound
}

// String says in one line what failed, with register contents in hexadecimal.
func (f *Failure) String() string {
	h := func(b []byte) string { return "0x" + hex.EncodeToString(b) }
	switch f.Kind {
	case FailCompare:
		return fmt.Sprintf("is %s, not %v %s", h(f.Loaded), f.Op, h(f.Want))
	case FailRange:
		if f.Neg {
			return fmt.Sprintf("is %s, inside %s-%s", h(f.Loaded), h(f.Want), h(f.WantTo))
		}
		return fmt.Sprintf("is %s, outside %s-%s", h(f.Loaded), h(f.Want), h(f.WantTo))
	case FailSet:
		if f.Neg {
			return fmt.Sprintf("is %s, an element of %s", h(f.Loaded), f.Set)
		}
		return fmt.Sprintf("is %s, no element of %s", h(f.Loaded), f.Set)
	case FailAbsent:
		return f.Absent.String()
	case FailState:
		return "limit, quota or count not met"
	}
	return "condition not met"
}
