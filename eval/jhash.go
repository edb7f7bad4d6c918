package eval

import (
	"encoding/binary"
	"math/bits"

	"github.com/nftc/nftc/compile/bytecode"
)

// jhash is nft_jhash_eval. Without a stated seed the kernel draws one.
func (e *Engine) jhash(w *walk, o *op) {
	if c := w.cause(o.src, o.n); c != CauseNone {
		w.unknown(o.dst, 4, c)
		return
	}
	in := o.instr.(*bytecode.Hash)
	if !in.SeedSet && in.Seed == 0 && o.a > 1 {
		w.unknown(o.dst, 4, CauseFlowHash)
		return
	}
	h := jenkins(w.regs[o.src:uint16(o.src)+o.n], in.Seed)
	// reciprocal_scale
	w.put32(o.dst, uint32(uint64(h)*uint64(o.a)>>32)+o.b)
}

// jenkins is jhash of include/linux/jhash.h: Bob Jenkins' lookup3 on a
// little-endian machine.
func jenkins(k []byte, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(k)) + seed
	b, c := a, a
	for len(k) > 12 {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
		a -= c
		a ^= bits.RotateLeft32(c, 4)
		c += b
		b -= a
		b ^= bits.RotateLeft32(a, 6)
		a += c
		c -= b
		c ^= bits.RotateLeft32(b, 8)
		b += a
		a -= c
		a ^= bits.RotateLeft32(c, 16)
		c += b
		b -= a
		b ^= bits.RotateLeft32(a, 19)
		a += c
		c -= b
		c ^= bits.RotateLeft32(b, 4)
		b += a
		k = k[12:]
	}
	if len(k) == 0 {
		return c
	}
	var t [12]byte
	copy(t[:], k)
	a += binary.LittleEndian.Uint32(t[0:])
	b += binary.LittleEndian.Uint32(t[4:])
	c += binary.LittleEndian.Uint32(t[8:])
	c ^= b
	c -= bits.RotateLeft32(b, 14)
	a ^= c
	a -= bits.RotateLeft32(c, 11)
	b ^= a
	b -= bits.RotateLeft32(a, 25)
	c ^= b
	c -= bits.RotateLeft32(b, 16)
	a ^= c
	a -= bits.RotateLeft32(c, 4)
	b ^= a
	b -= bits.RotateLeft32(a, 14)
	c ^= b
	c -= bits.RotateLeft32(b, 24)
	return c
}
