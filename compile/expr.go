package compile

import (
	"math/big"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// byteLen is how many bytes a value of that many bits takes.
func byteLen(bits int) int { return (bits + 7) / 8 }

// slots is how many 4-byte slots a value of that many bits takes.
func slots(bits int) int { return (bits + 31) / 32 }

// number lays a number out as it lies in a register.
func number(v []byte, n int, order ir.ByteOrder) bytecode.Data {
	b := make([]byte, n)
	for len(v) > n && v[0] == 0 {
		v = v[1:]
	}
	switch {
	case len(v) <= n:
		copy(b[n-len(v):], v)
	case order == ir.OrderHost:
		copy(b, v[len(v)-n:])
	default:
		// Too long a number is written from its first byte on.
		copy(b, v)
	}
	d := bytecode.Data{Bytes: b}
	if order == ir.OrderHost && n > 1 {
		for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
		d.Fields = []bytecode.Field{{Len: uint16(n), Host: true}}
	}
	return d
}

// constant lays a constant out as it lies in a register: strings from the left,
// filled up with zero bytes.
func constant(v *ir.Value) bytecode.Data {
	n := byteLen(v.Bits)
	if v.Type.IsString() {
		b := make([]byte, n)
		copy(b, v.Bytes)
		return bytecode.Data{Bytes: b}
	}
	return number(v.Bytes, n, v.Order)
}

// expr loads the value of e into registers starting with slot. Registers that
// computing it takes lie behind it.
func (g *gen) expr(s ir.Stmt, e ir.Expr, slot int) {
	low := g.low
	g.low = slot + operandSlots(e)
	g.load(s, e, slot)
	g.low = low
}

// take reserves registers for one more operand.
func (g *gen) take(e ir.Expr) int {
	slot := g.low
	g.low += operandSlots(e)
	return slot
}

func (g *gen) load(s ir.Stmt, e ir.Expr, slot int) {
	dst := bytecode.SlotRegister(min(slot, 15))
	switch e := e.(type) {
	case *ir.Value:
		g.emit(s, &bytecode.Immediate{Dst: dst, Data: constant(e)})
	case *ir.Concat:
		for _, it := range e.Items {
			g.load(s, it, slot)
			slot += slots(it.Common().Bits)
		}
	case *ir.Map:
		low := g.low
		if c, ok := e.Key.(*ir.Concat); ok {
			g.low += slots(c.Bits)
		}
		g.load(s, e.Key, slot)
		g.low = low
		g.emit(s, &bytecode.Lookup{Src: dst, Set: e.Set.Name, SetID: e.Set.ID, HasDst: true, Dst: dst})
	case *ir.Payload:
		base := e.Base
		if e.Inner != nil && base == bytecode.BaseInner {
			base = bytecode.BaseTunnel
		}
		g.inner(s, e.Inner, &bytecode.Payload{Base: base, Offset: uint32(e.Offset / 8), Len: uint32(byteLen(e.Bits)), Dst: dst})
	case *ir.Meta:
		g.inner(s, e.Inner, &bytecode.Meta{Key: e.Key, Dst: dst})
	case *ir.Exthdr:
		g.emit(s, &bytecode.Exthdr{
			Op: e.Op, Type: e.Number, Offset: uint32(e.Offset / 8), Len: uint32(byteLen(e.Bits)), Present: e.Present, Dst: dst,
		})
	case *ir.CT:
		g.emit(s, &bytecode.CT{Key: e.Key, Dir: e.Dir, Dst: dst})
	case *ir.RT:
		g.emit(s, &bytecode.RT{Key: e.Key, Dst: dst})
	case *ir.Fib:
		g.emit(s, &bytecode.Fib{Flags: e.Flags, Result: e.Result, Dst: dst})
	case *ir.Socket:
		g.emit(s, &bytecode.Socket{Key: e.Key, Level: e.Level, Dst: dst})
	case *ir.Osf:
		g.emit(s, &bytecode.Osf{Dst: dst, TTL: e.TTL, Flags: e.Flags})
	case *ir.Numgen:
		g.emit(s, &bytecode.Numgen{Random: e.Random, Modulus: e.Modulus, Offset: e.Offset, Dst: dst})
	case *ir.Hash:
		g.hash(s, e, dst)
	case *ir.Xfrm:
		g.emit(s, &bytecode.Xfrm{Key: e.Key, Dir: e.Dir, SP: e.SP, Dst: dst})
	case *ir.Tunnel:
		g.emit(s, &bytecode.Tunnel{Key: e.Key, Dst: dst})
	case *ir.Byteorder:
		g.load(s, e.X, slot)
		g.emit(s, &bytecode.Byteorder{Src: dst, Dst: dst, Hton: e.Hton, Len: uint32(byteLen(e.Bits)), Size: uint32(e.Size)})
	case *ir.Binary:
		g.binary(s, e, slot, dst)
	case *ir.Verdict:
		v := bytecode.Verdict{Code: e.Code, Chain: e.ChainName}
		if e.Anon != nil {
			v.ChainID = e.Anon.ID
		}
		g.emit(s, &bytecode.Immediate{Dst: bytecode.RegVerdict, Verdict: v})
	}
}

// inner wraps a load that looks inside a tunnel.
func (g *gen) inner(s ir.Stmt, t *ir.InnerProto, in bytecode.Instr) {
	if t != nil {
		in = &bytecode.Inner{Type: t.Type, HdrSize: t.HdrSize, Flags: t.Flags, Instr: in}
	}
	g.emit(s, in)
}

func (g *gen) hash(s ir.Stmt, e *ir.Hash, dst bytecode.Register) {
	in := &bytecode.Hash{Sym: e.X == nil, Modulus: e.Modulus, Seed: e.Seed, SeedSet: e.SeedSet, Offset: e.Offset, Dst: dst}
	if e.X != nil {
		low := g.low
		slot := g.take(e.X)
		g.load(s, e.X, slot)
		g.low = low
		in.Src = bytecode.SlotRegister(min(slot, 15))
		in.Len = uint32(byteLen(e.X.Common().Bits))
	}
	g.emit(s, in)
}

func isConst(e ir.Expr) (*ir.Value, bool) {
	v, ok := e.(*ir.Value)
	return v, ok
}

func (g *gen) binary(s ir.Stmt, e *ir.Binary, slot int, dst bytecode.Register) {
	n := byteLen(e.Bits)
	switch e.Op {
	case ir.OpLshift, ir.OpRshift:
		g.load(s, e.X, slot)
		op := bytecode.BitwiseLshift
		if e.Op == ir.OpRshift {
			op = bytecode.BitwiseRshift
		}
		in := &bytecode.Bitwise{Op: op, Src: dst, Dst: dst, Len: uint32(n)}
		if v, ok := isConst(e.Y); ok {
			in.Shift = uint32(new(big.Int).SetBytes(v.Bytes).Uint64())
		}
		g.emit(s, in)
		return
	}
	if _, ok := isConst(e.Y); ok {
		g.maskXor(s, e, slot, dst)
		return
	}
	op := map[ir.BinaryOp]bytecode.BitwiseOp{ir.OpAnd: bytecode.BitwiseAnd, ir.OpOr: bytecode.BitwiseOr, ir.OpXor: bytecode.BitwiseXor}[e.Op]
	g.load(s, e.X, slot)
	low := g.low
	slot2 := g.take(e.Y)
	g.load(s, e.Y, slot2)
	g.low = low
	g.emit(s, &bytecode.Bitwise{Op: op, Src: dst, Dst: dst, Src2: bytecode.SlotRegister(min(slot2, 15)), Len: uint32(n)})
}

// maskXor folds a chain of operations with constants into one mask and xor
// (netlink_gen_bitwise_mask_xor).
func (g *gen) maskXor(s ir.Stmt, e *ir.Binary, slot int, dst bytecode.Register) {
	var chain []*ir.Binary
	var x ir.Expr = e
	for {
		b, ok := x.(*ir.Binary)
		if !ok || b.Op == ir.OpLshift || b.Op == ir.OpRshift {
			break
		}
		if _, ok := isConst(b.Y); !ok {
			break
		}
		chain = append(chain, b)
		x = b.X
	}
	g.load(s, x, slot)
	ones := new(big.Int).Lsh(big.NewInt(1), uint(e.Bits))
	ones.Sub(ones, big.NewInt(1))
	mask, xor := new(big.Int).Set(ones), new(big.Int)
	for i := len(chain) - 1; i >= 0; i-- {
		v, _ := isConst(chain[i].Y)
		val := new(big.Int).SetBytes(v.Bytes)
		switch chain[i].Op {
		case ir.OpAnd:
			mask.And(mask, val)
			xor.And(xor, val)
		case ir.OpOr:
			mask.AndNot(mask, val)
			xor.AndNot(xor, val)
			xor.Xor(xor, val)
		case ir.OpXor:
			xor.And(xor, ones)
			xor.Xor(xor, val)
		}
	}
	n := byteLen(e.Bits)
	g.emit(s, &bytecode.Bitwise{
		Op: bytecode.BitwiseMaskXor, Src: dst, Dst: dst, Len: uint32(n),
		Mask: number(mask.Bytes(), n, e.Order), Xor: number(xor.Bytes(), n, e.Order),
	})
}
