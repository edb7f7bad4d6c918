package eval

import (
	"encoding/binary"
	"math/bits"

	"github.com/nftc/nftc/compile/bytecode"
)

// bitwiseTaint carries what is not known from src to dst, slot by slot.
func (w *walk) bitwiseTaint(src, dst uint8, n uint16) {
	if w.unk == 0 {
		return
	}
	for k := uint8(0); k < uint8(n); k += 4 {
		s, d := (src+k)/4, (dst+k)/4
		if w.unk&(1<<s) != 0 {
			w.unk |= 1 << d
			w.why[d] = w.why[s]
		} else {
			w.unk &^= 1 << d
		}
	}
}

// bitwise is nft_bitwise_eval for all but the one-slot mask. n is whole slots.
func (w *walk) bitwise(o *op) {
	le := binary.LittleEndian
	switch o.code {
	case opMask:
		w.bitwiseTaint(o.src, o.dst, o.n)
		for k := uint16(0); k < o.n; k += 4 {
			s := le.Uint32(w.regs[uint16(o.src)+k:])
			le.PutUint32(w.regs[uint16(o.dst)+k:], s&le.Uint32(o.data[k:])^le.Uint32(o.data2[k:]))
		}
	case opShift:
		if c := w.cause(o.src, o.n); c != CauseNone {
			w.unknown(o.dst, o.n, c)
			return
		}
		w.known(o.dst, o.n)
		var carry uint32
		if o.flag == 1 {
			for k := uint16(0); k < o.n; k += 4 {
				s := le.Uint32(w.regs[uint16(o.src)+k:])
				le.PutUint32(w.regs[uint16(o.dst)+k:], carry|s>>o.a)
				carry = s << (32 - o.a)
			}
			return
		}
		for k := int(o.n) - 4; k >= 0; k -= 4 {
			s := le.Uint32(w.regs[int(o.src)+k:])
			le.PutUint32(w.regs[int(o.dst)+k:], s<<o.a|carry)
			carry = s >> (32 - o.a)
		}
	case opBitwise2:
		c := w.cause(o.src, o.n)
		if c == CauseNone {
			c = w.cause(o.src2, o.n)
		}
		if c != CauseNone {
			w.unknown(o.dst, o.n, c)
			return
		}
		w.known(o.dst, o.n)
		for k := uint16(0); k < o.n; k += 4 {
			a := le.Uint32(w.regs[uint16(o.src)+k:])
			b := le.Uint32(w.regs[uint16(o.src2)+k:])
			switch bytecode.BitwiseOp(o.flag) {
			case bytecode.BitwiseAnd:
				a &= b
			case bytecode.BitwiseOr:
				a |= b
			default:
				a ^= b
			}
			le.PutUint32(w.regs[uint16(o.dst)+k:], a)
		}
	}
}

// byteorder is nft_byteorder_eval: on a little-endian target both directions
// swap.
func (w *walk) byteorder(o *op) {
	if c := w.cause(o.src, o.n); c != CauseNone {
		w.unknown(o.dst, o.n, c)
		return
	}
	w.known(o.dst, o.n)
	le := binary.LittleEndian
	src, dst := uint16(o.src), uint16(o.dst)
	switch o.a {
	case 8:
		for k := uint16(0); k < o.n; k += 8 {
			le.PutUint64(w.regs[dst+k:], bits.ReverseBytes64(le.Uint64(w.regs[src+k:])))
		}
	case 4:
		for k := uint16(0); k < o.n; k += 4 {
			le.PutUint32(w.regs[dst+k:], bits.ReverseBytes32(le.Uint32(w.regs[src+k:])))
		}
	case 2:
		for k := uint16(0); k < o.n; k += 2 {
			le.PutUint16(w.regs[dst+k:], bits.ReverseBytes16(le.Uint16(w.regs[src+k:])))
		}
		if o.n == 2 {
			// nft_reg_store16
			le.PutUint16(w.regs[dst+2:], 0)
		}
	}
}
