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
	Set                  string        // FailSet
	Absent               packet.Absent // FailAbsent
}

// explain records why the current rule stopped at op i.
func (e *Engine) explain(w *walk, o *op, i int32) {
	r := &w.chain.rules[w.ri]
	f := Failure{Kind: FailOther, Step: w.end.step, Table: w.chain.table.src, Chain: w.chain.src, Rule: r.src, Instr: int(e.opInstr[i])}
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
		f.Kind, f.Neg, f.Loaded, f.Set = FailSet, o.flag == 1, key(), e.sets[o.ref].src.Name
	case opPayload, opPayloadSet:
		f.Kind = FailAbsent
		_, f.Absent = w.p.Slice(packet.Base(o.base), int(o.a), int(o.n))
	case opMeta:
		f.Kind, f.Absent = FailAbsent, packet.NotFound
		if bytecode.MetaKey(o.a) == bytecode.MetaL4Proto {
			f.Absent = w.p.Info.THAbsent
		}
	case opExthdr, opExthdrSet, opExthdrReset, opInnerPayload, opInnerMeta, opCT, opRT, opSocket, opFib, opXfrm, opOsf:
		f.Kind, f.Absent = FailAbsent, packet.NotFound
	case opStateful, opObjref:
		f.Kind = FailState
	}
	w.res.Explain = append(w.res.Explain, f)
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
