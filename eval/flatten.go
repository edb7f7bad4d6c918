package eval

import (
	"encoding/binary"
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
)

// flattener turns the rules of one chain into ops.
type flattener struct {
	e     *Engine
	table *table
	chain *chain
	idx   int32 // expression at hand
}

func (f *flattener) emit(o op) {
	f.e.ops = append(f.e.ops, o)
	f.e.opInstr = append(f.e.opInstr, f.idx)
}

// rule flattens all expressions of a rule.
func (f *flattener) rule(r *bytecode.Rule) (rule, error) {
	out := rule{src: r, first: int32(len(f.e.ops))}
	f.e.rule = r
	defer func() { f.e.rule = nil }()
	for i, in := range r.Instrs {
		f.idx = int32(i)
		if err := f.instr(in); err != nil {
			name := "nil"
			if in != nil {
				name = in.Name()
			}
			return out, fmt.Errorf("expression %d (%s): %w", i, name, err)
		}
	}
	out.end = int32(len(f.e.ops))
	return out, nil
}

// load checks a register operand of n bytes and gives its byte offset
// (nft_validate_register_load, nft_validate_register_store).
func load(r bytecode.Register, n int) (uint8, error) {
	off, ok := r.Offset()
	if !ok {
		return 0, fmt.Errorf("no data %v", r)
	}
	if n <= 0 || off+n > bytecode.RegisterBytes {
		return 0, fmt.Errorf("%d bytes do not fit %v", n, r)
	}
	return uint8(off), nil
}

// optional is load for a register where 0 means absent.
func optional(r bytecode.Register, n int) (uint8, error) {
	if r == bytecode.RegVerdict {
		return noReg, nil
	}
	return load(r, n)
}

func word(b []byte) uint32 {
	var w [4]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint32(w[:])
}

func lowMask(n int) uint32 {
	if n >= 4 {
		return 0xffffffff
	}
	return 1<<(8*n) - 1
}

func padded(b []byte, n int) []byte {
	out := make([]byte, (n+3)&^3)
	copy(out, b)
	return out
}

func (f *flattener) instr(in bytecode.Instr) error {
	switch in := in.(type) {
	case *bytecode.Cmp:
		return f.cmp(in)
	case *bytecode.Range:
		n := len(in.From.Bytes)
		src, err := load(in.Src, n)
		if err != nil {
			return err
		}
		if len(in.To.Bytes) != n {
			return fmt.Errorf("ends of %d and %d bytes", n, len(in.To.Bytes))
		}
		o := op{code: opRange, src: src, n: uint16(n), data: in.From.Bytes, data2: in.To.Bytes}
		if in.Neg {
			o.flag = 1
		}
		f.emit(o)
	case *bytecode.Immediate:
		if in.Dst == bytecode.RegVerdict {
			v, err := f.verdict(in.Verdict)
			if err != nil {
				return err
			}
			f.emit(op{code: opVerdict, ref: f.e.addVerdict(v)})
			return nil
		}
		dst, err := load(in.Dst, len(in.Data.Bytes))
		if err != nil {
			return err
		}
		f.emit(op{code: opImmediate, dst: dst, n: uint16(len(in.Data.Bytes)), data: padded(in.Data.Bytes, len(in.Data.Bytes))})
	case *bytecode.Lookup:
		return f.lookup(in)
	case *bytecode.Payload, *bytecode.PayloadSet, *bytecode.Inner,
		*bytecode.Exthdr, *bytecode.ExthdrSet, *bytecode.ExthdrReset:
		return f.packetBytes(in)
	case *bytecode.Bitwise:
		return f.bitwise(in)
	case *bytecode.Byteorder:
		src, err := load(in.Src, int(in.Len))
		if err != nil {
			return err
		}
		dst, err := load(in.Dst, int(in.Len))
		if err != nil {
			return err
		}
		if in.Size != 2 && in.Size != 4 && in.Size != 8 || in.Len%in.Size != 0 {
			return fmt.Errorf("%d bytes in units of %d", in.Len, in.Size)
		}
		f.emit(op{code: opByteorder, src: src, dst: dst, n: uint16(in.Len), a: in.Size})
	case *bytecode.Meta:
		n := metaLen(in.Key)
		if n == 0 {
			return fmt.Errorf("key %d cannot be read", in.Key)
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opMeta, dst: dst, n: uint16(n), a: uint32(in.Key)})
	case *bytecode.MetaSet:
		n := metaSetLen(in.Key)
		if n == 0 {
			return fmt.Errorf("key %v cannot be set", in.Key)
		}
		src, err := load(in.Src, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opMetaSet, src: src, n: uint16(n), a: uint32(in.Key)})
	case *bytecode.CT:
		n := ctLen(in.Key, in.Dir, f.table.src.Family)
		if n == 0 {
			return fmt.Errorf("key %d cannot be read with direction %d", in.Key, in.Dir)
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		switch in.Key { // nft_ct_get_init
		case bytecode.CTPkts, bytecode.CTBytes, bytecode.CTAvgPkt:
			f.e.counts = true
		}
		f.emit(op{code: opCT, dst: dst, n: uint16(n), a: uint32(in.Key), b: uint32(int32(in.Dir))})
		f.e.needCT(f.table.src.Family)
	case *bytecode.CTSet:
		n := ctSetLen(in.Key)
		if n == 0 {
			return fmt.Errorf("key %v cannot be set", in.Key)
		}
		src, err := load(in.Src, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opCTSet, src: src, n: uint16(n), a: uint32(in.Key), b: uint32(int32(in.Dir))})
		f.e.needCT(f.table.src.Family)
	default:
		return f.instrMore(in)
	}
	return nil
}

// instrMore is the rarer half of instr.
func (f *flattener) instrMore(in bytecode.Instr) error {
	switch in := in.(type) {
	case *bytecode.RT:
		n := 4
		switch in.Key {
		case bytecode.RTNextHop6:
			n = 16
		case bytecode.RTTCPMSS:
			n = 2
		case bytecode.RTIPsec:
			n = 1
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opRT, dst: dst, n: uint16(n), a: uint32(in.Key)})
	case *bytecode.Socket:
		n := 4
		switch in.Key {
		case bytecode.SocketTransparent, bytecode.SocketWildcard:
			n = 1
		case bytecode.SocketCgroupV2:
			n = 8
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opSocket, dst: dst, n: uint16(n), a: uint32(in.Key)})
	case *bytecode.Fib:
		n := 4
		if in.Result == fibOifname && in.Flags&fibPresent == 0 {
			n = 16
		}
		if in.Flags&fibPresent != 0 {
			n = 1
		}
		if in.Result < fibOifIndex || in.Result > fibAddrType {
			return fmt.Errorf("result %d", in.Result)
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opFib, dst: dst, n: uint16(n), a: in.Flags, b: in.Result})
	case *bytecode.Osf:
		dst, err := load(in.Dst, 16)
		if err != nil {
			return err
		}
		f.emit(op{code: opOsf, dst: dst, n: 16, a: uint32(in.TTL), b: in.Flags})
	case *bytecode.Xfrm:
		n := 4
		if in.Key == bytecode.XfrmDAddr6 || in.Key == bytecode.XfrmSAddr6 {
			n = 16
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opXfrm, dst: dst, n: uint16(n), a: uint32(in.Key)})
	case *bytecode.Tunnel:
		n := 4
		if in.Key == 0 {
			n = 1
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		f.emit(op{code: opTunnel, dst: dst, n: uint16(n), a: in.Key, b: in.Mode})
	case *bytecode.Numgen:
		dst, err := load(in.Dst, 4)
		if err != nil {
			return err
		}
		if in.Modulus == 0 || in.Offset+in.Modulus-1 < in.Offset {
			return fmt.Errorf("modulus %d with offset %d", in.Modulus, in.Offset)
		}
		o := op{code: opNumgen, dst: dst, n: 4, a: in.Modulus, b: in.Offset}
		if in.Random {
			o.flag = 1
		} else {
			// nft_ng_inc_init: the first number drawn is 0.
			o.ref = int32(len(f.e.numgens))
			f.e.numgens = append(f.e.numgens, in.Modulus-1)
		}
		f.emit(o)
	case *bytecode.Hash:
		dst, err := load(in.Dst, 4)
		if err != nil {
			return err
		}
		if in.Modulus == 0 || in.Offset+in.Modulus-1 < in.Offset {
			return fmt.Errorf("modulus %d with offset %d", in.Modulus, in.Offset)
		}
		if in.Sym {
			f.emit(op{code: opSymhash, dst: dst, n: 4, a: in.Modulus, b: in.Offset})
			return nil
		}
		src, err := load(in.Src, int(in.Len))
		if err != nil {
			return err
		}
		f.emit(op{code: opJhash, src: src, dst: dst, n: uint16(in.Len), a: in.Modulus, b: in.Offset, instr: in})
	case *bytecode.Counter, *bytecode.Quota, *bytecode.Limit, *bytecode.Connlimit, *bytecode.Last:
		st, err := f.e.newStateful(in, f.table.src.Family)
		if err != nil {
			return err
		}
		f.emit(op{code: opStateful, ref: f.e.addStateful(st), flag: uint8(st.kind)})
		if st.kind == statefulCounter {
			f.e.ops[len(f.e.ops)-1].code = opCounter
		}
	case *bytecode.Log:
		f.emit(op{code: opLog, instr: in})
	case *bytecode.Reject:
		f.emit(op{code: opReject, instr: in})
	case *bytecode.NAT, *bytecode.Masq, *bytecode.Redir, *bytecode.TProxy:
		return f.nat(in)
	case *bytecode.Synproxy:
		f.emit(op{code: opSynproxy, instr: in})
		f.e.needCT(f.table.src.Family)
	case *bytecode.Dup:
		addr, dev, err := addrDev(in.Addr, in.Dev, f.table.src.Family, 0)
		if err != nil {
			return err
		}
		f.emit(op{code: opDup, src: addr, src2: dev, instr: in})
	case *bytecode.Fwd:
		addr, dev, err := addrDev(in.Addr, in.Dev, f.table.src.Family, in.Family)
		if err != nil {
			return err
		}
		f.emit(op{code: opFwd, src: addr, src2: dev, instr: in})
	case *bytecode.QueueTo:
		o := op{code: opQueue, a: uint32(in.Num), b: uint32(max(in.Total, 1)), src: noReg, instr: in}
		if in.HasSreg {
			src, err := load(in.Src, 2)
			if err != nil {
				return err
			}
			o.src = src
		}
		f.emit(o)
	case *bytecode.Notrack:
		f.emit(op{code: opNotrack})
	case *bytecode.FlowOffload:
		f.emit(op{code: opFlowOffload, instr: in})
		f.e.needCT(f.table.src.Family)
	case *bytecode.Objref:
		ob := f.table.object(in.Type, in.Object)
		if ob == nil {
			return fmt.Errorf("no %v %q in table %q", in.Type, in.Object, f.table.src.Name)
		}
		f.emit(op{code: opObjref, ref: ob.index})
	case *bytecode.ObjrefMap:
		s := f.table.set(in.Set, in.SetID)
		if s == nil {
			return fmt.Errorf("no map %q in table %q", in.Set, f.table.src.Name)
		}
		if s.src.Flags&bytecode.SetObject == 0 && s.src.DataKind != bytecode.DataObject {
			return fmt.Errorf("map %q holds no objects", in.Set)
		}
		src, err := load(in.Src, s.keyLen)
		if err != nil {
			return err
		}
		f.emit(op{code: opObjrefMap, src: src, n: uint16(s.keyLen), ref: s.index})
	case *bytecode.Dynset:
		return f.dynset(in)
	case *bytecode.Compat:
		f.emit(op{code: opCompat, instr: in})
	case nil:
		return fmt.Errorf("missing")
	default:
		return fmt.Errorf("a definition of an object cannot stand in a rule")
	}
	return nil
}

func addrDev(a, d bytecode.Register, tf, in bytecode.Family) (addr, dev uint8, err error) {
	n := 4
	if tf == bytecode.FamilyIP6 || in == bytecode.FamilyIP6 {
		n = 16
	}
	if addr, err = optional(a, n); err != nil {
		return
	}
	dev, err = optional(d, 4)
	return
}

func (f *flattener) cmp(in *bytecode.Cmp) error {
	n := len(in.Data.Bytes)
	src, err := load(in.Src, n)
	if err != nil {
		return err
	}
	o := op{src: src, n: uint16(n), data: in.Data.Bytes}
	switch {
	case in.Op > bytecode.CmpGte:
		return fmt.Errorf("comparison %d", in.Op)
	case in.Op != bytecode.CmpEq && in.Op != bytecode.CmpNeq:
		o.code, o.flag = opCmpOrder, uint8(in.Op)
	case n <= 4:
		o.code, o.a, o.b = opCmpEq4, word(in.Data.Bytes), lowMask(n)
		if in.Op == bytecode.CmpNeq {
			o.code = opCmpNe4
		}
	default:
		o.code = opCmpEq
		if in.Op == bytecode.CmpNeq {
			o.code = opCmpNe
		}
	}
	f.emit(o)
	return nil
}

func (f *flattener) bitwise(in *bytecode.Bitwise) error {
	n := int(in.Len)
	src, err := load(in.Src, n)
	if err != nil {
		return err
	}
	dst, err := load(in.Dst, n)
	if err != nil {
		return err
	}
	// nft_bitwise_eval works on whole slots.
	o := op{src: src, dst: dst, n: uint16((n + 3) &^ 3)}
	switch in.Op {
	case bytecode.BitwiseMaskXor:
		if len(in.Mask.Bytes) > n || len(in.Xor.Bytes) > n {
			return fmt.Errorf("mask of %d and xor of %d bytes over %d", len(in.Mask.Bytes), len(in.Xor.Bytes), n)
		}
		if n <= 4 {
			o.code, o.a, o.b = opMask4, word(in.Mask.Bytes), word(in.Xor.Bytes)
		} else {
			o.code, o.data, o.data2 = opMask, padded(in.Mask.Bytes, n), padded(in.Xor.Bytes, n)
		}
	case bytecode.BitwiseLshift, bytecode.BitwiseRshift:
		if in.Shift == 0 || in.Shift >= 32 {
			return fmt.Errorf("shift by %d", in.Shift)
		}
		o.code, o.a = opShift, in.Shift
		if in.Op == bytecode.BitwiseRshift {
			o.flag = 1
		}
	case bytecode.BitwiseAnd, bytecode.BitwiseOr, bytecode.BitwiseXor:
		src2, err := load(in.Src2, n)
		if err != nil {
			return err
		}
		o.code, o.src2, o.flag = opBitwise2, src2, uint8(in.Op)
	default:
		return fmt.Errorf("operation %d", in.Op)
	}
	f.emit(o)
	return nil
}

func (f *flattener) lookup(in *bytecode.Lookup) error {
	s := f.table.set(in.Set, in.SetID)
	if s == nil {
		return fmt.Errorf("no set %q in table %q", in.Set, f.table.src.Name)
	}
	src, err := load(in.Src, s.keyLen)
	if err != nil {
		return err
	}
	o := op{code: opLookup, src: src, n: uint16(s.keyLen), ref: s.index}
	if in.Invert {
		o.flag = 1
	}
	if in.HasDst {
		switch {
		case in.Invert:
			return fmt.Errorf("inverted lookup in a map")
		case in.Dst == bytecode.RegVerdict:
			if s.src.DataKind != bytecode.DataVerdict {
				return fmt.Errorf("map %q holds no verdicts", in.Set)
			}
			o.code = opLookupVerdict
		default:
			if s.src.DataKind != bytecode.DataValue {
				return fmt.Errorf("map %q holds no values", in.Set)
			}
			if o.dst, err = load(in.Dst, s.dataLen); err != nil {
				return err
			}
			o.code = opLookupMap
		}
	}
	f.emit(o)
	return nil
}

func (f *flattener) dynset(in *bytecode.Dynset) error {
	s := f.table.set(in.Set, in.SetID)
	if s == nil {
		return fmt.Errorf("no set %q in table %q", in.Set, f.table.src.Name)
	}
	src, err := load(in.Key, s.keyLen)
	if err != nil {
		return err
	}
	o := op{code: opDynset, src: src, src2: noReg, n: uint16(s.keyLen), ref: s.index, instr: in}
	if in.Invert {
		o.flag = 1
	}
	if in.HasData {
		if s.src.DataKind != bytecode.DataValue {
			return fmt.Errorf("map %q holds no values", in.Set)
		}
		if o.src2, err = load(in.Data, s.dataLen); err != nil {
			return err
		}
	}
	if in.Op > bytecode.DynsetDelete {
		return fmt.Errorf("operation %d", in.Op)
	}
	for _, x := range in.Exprs {
		if _, err := f.e.newStateful(x, f.table.src.Family); err != nil {
			return err
		}
	}
	f.emit(o)
	return nil
}

func (f *flattener) verdict(v bytecode.Verdict) (verdict, error) {
	switch v.Code {
	case bytecode.Drop:
		return verdict{code: codeDrop}, nil
	case bytecode.Accept:
		return verdict{code: codeAccept}, nil
	case bytecode.Queue:
		return verdict{code: codeQueue}, nil
	case bytecode.Continue:
		return verdict{code: codeContinue}, nil
	case bytecode.Break:
		return verdict{code: codeBreak}, nil
	case bytecode.Return:
		return verdict{code: codeReturn}, nil
	case bytecode.Jump, bytecode.Goto:
		c := f.table.chain(v.Chain, v.ChainID)
		if c == nil {
			return verdict{}, fmt.Errorf("no chain %q in table %q", v.Chain, f.table.src.Name)
		}
		if c.src.Base != nil {
			return verdict{}, fmt.Errorf("%v to base chain %q", v.Code, v.Chain)
		}
		return verdict{code: int32(v.Code), chain: c}, nil
	}
	return verdict{}, fmt.Errorf("verdict code %d", v.Code)
}
