package eval

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// packetBytes flattens the expressions that read or write the packet.
func (f *flattener) packetBytes(in bytecode.Instr) error {
	switch in := in.(type) {
	case *bytecode.Payload:
		o, err := payloadOp(in)
		if err != nil {
			return err
		}
		f.emit(o)
	case *bytecode.PayloadSet:
		src, err := load(in.Src, int(in.Len))
		if err != nil {
			return err
		}
		if in.Base > bytecode.BaseInner || in.Offset > 0xffff || in.CsumType > 2 || in.CsumOff > 0xffff {
			return fmt.Errorf("base %d, offset %d, checksum %d at %d", in.Base, in.Offset, in.CsumType, in.CsumOff)
		}
		f.emit(op{code: opPayloadSet, src: src, base: uint8(in.Base), n: uint16(in.Len), a: in.Offset, instr: in})
	case *bytecode.Inner:
		return f.innerOp(in)
	case *bytecode.Exthdr:
		n := int(in.Len)
		if in.Present {
			n = 1
		}
		dst, err := load(in.Dst, n)
		if err != nil {
			return err
		}
		if in.Op > bytecode.ExthdrDCCP || in.Offset > 255 {
			return fmt.Errorf("operation %d at offset %d", in.Op, in.Offset)
		}
		o := op{code: opExthdr, dst: dst, base: uint8(in.Op), n: uint16(in.Len), a: in.Offset, b: uint32(in.Type)}
		if in.Present {
			o.flag = 1
		}
		f.emit(o)
	case *bytecode.ExthdrSet:
		src, err := load(in.Src, int(in.Len))
		if err != nil {
			return err
		}
		if in.Op != bytecode.ExthdrTCPOpt || in.Len != 2 && in.Len != 4 || in.Offset < 2 || in.Offset > 255 {
			return fmt.Errorf("%d bytes at offset %d", in.Len, in.Offset)
		}
		f.emit(op{code: opExthdrSet, src: src, n: uint16(in.Len), a: in.Offset, b: uint32(in.Type)})
	case *bytecode.ExthdrReset:
		if in.Op != bytecode.ExthdrTCPOpt {
			return fmt.Errorf("operation %d", in.Op)
		}
		f.emit(op{code: opExthdrReset, b: uint32(in.Type)})
	}
	return nil
}

func payloadOp(in *bytecode.Payload) (op, error) {
	dst, err := load(in.Dst, int(in.Len))
	if err != nil {
		return op{}, err
	}
	if in.Base > bytecode.BaseTunnel || in.Offset > 0xffff {
		return op{}, fmt.Errorf("base %d, offset %d", in.Base, in.Offset)
	}
	return op{code: opPayload, dst: dst, base: uint8(in.Base), n: uint16(in.Len), a: in.Offset}, nil
}

// payload is nft_payload_eval.
func (e *Engine) payload(w *walk, o *op, i int32) int32 {
	p := w.p
	dst := w.regs[o.dst : uint16(o.dst)+o.n]
	off := -1
	// nft_payload_fast_eval: the common case without a call.
	switch packet.Base(o.base) {
	case packet.BaseNetwork:
		off = p.NH
	case packet.BaseTransport:
		if p.Info.THAbsent == packet.None {
			off = p.Info.TH
		}
	}
	if off >= 0 {
		off += int(o.a)
		end := off + int(o.n)
		if end <= p.Info.End && end <= len(p.Data) {
			if o.n&3 != 0 {
				w.put32(o.dst+uint8(o.n&^3), 0)
			}
			w.known(o.dst, o.n)
			copy(dst, p.Data[off:end])
			return codeContinue
		}
	}
	if o.n&3 != 0 {
		w.put32(o.dst+uint8(o.n&^3), 0)
	}
	if a := p.Load(packet.Base(o.base), int(o.a), dst); a != packet.None {
		return w.absent(o.dst, o.n, a)
	}
	w.known(o.dst, o.n)
	return codeContinue
}

// absent is what a failed load of n bytes to dst does: the kernel breaks, and
// where only the capture lacks the bytes they are unknown.
func (w *walk) absent(dst uint8, n uint16, a packet.Absent) int32 {
	if !a.Unknown() {
		return codeBreak
	}
	c := CauseTruncated
	if a == packet.LinkNotCaptured {
		c = CauseLinkLayer
	}
	w.unknown(dst, n, c)
	return codeContinue
}

// fold16 folds a sum of 16-bit words.
func fold16(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// sum16 is the sum of b as big-endian 16-bit words, an odd byte padded.
func sum16(b []byte) uint16 { return fold16(packet.PartialSum(b, 0)) }

// csumReplace changes an internet checksum at c for bytes whose sum was from
// and becomes to (csum_replace4).
func csumReplace(c []byte, from, to uint16) uint16 {
	s := uint32(^binary.BigEndian.Uint16(c)) + uint32(^from) + uint32(to)
	return ^fold16(s)
}

// payloadSet is nft_payload_set_eval.
func (e *Engine) payloadSet(w *walk, o *op, i int32) int32 {
	in := o.instr.(*bytecode.PayloadSet)
	p := w.p
	if c := w.cause(o.src, o.n); c != CauseNone {
		// The bytes become something unknown; the old ones stay in our copy.
		w.bytesWhy = c
		if w.res != nil {
			e.noteUnknown(w, c, int(i))
		}
	}
	val := w.regs[o.src : uint16(o.src)+o.n]
	base := packet.Base(o.base)
	if base == packet.BaseLL && p.VLANPresent && o.a+uint32(o.n) > 12 {
		if done, code := w.setVLAN(int(o.a), val); done {
			return code
		}
	}
	if _, a := p.Slice(base, int(o.a), int(o.n)); a != packet.None {
		if a.Unknown() {
			// The kernel would write where the capture has no bytes.
			e.noteUnknown(w, CauseTruncated, int(i))
			return codeContinue
		}
		return codeBreak
	}
	w.touch()
	dst, _ := p.Slice(base, int(o.a), int(o.n))
	if in.CsumType == 1 || in.CsumFlags != 0 {
		from, to := sum16(dst), sum16(val)
		if in.CsumType == 1 {
			c, a := p.Slice(base, int(in.CsumOff), 2)
			if a == packet.None {
				storeSum(c, csumReplace(c, from, to))
			} else if !a.Unknown() {
				return codeBreak
			}
		}
		if in.CsumFlags != 0 && !w.l4Csum(from, to) {
			return codeBreak
		}
	}
	copy(dst, val)
	if in.CsumType == 2 && p.Info.L4Proto == packet.ProtoSCTP && p.Info.THAbsent == packet.None {
		w.sctpCsum()
	}
	w.entered = w.entered && base != packet.BaseNetwork
	return codeContinue
}

// storeSum writes a checksum as nft_csum_replace does: 0 becomes 0xffff
// (CSUM_MANGLED_0).
func storeSum(c []byte, v uint16) {
	if v == 0 {
		v = 0xffff
	}
	binary.BigEndian.PutUint16(c, v)
}

// l4CsumOffset is nft_payload_l4csum_offset: where the checksum of a transport
// header with pseudo header stands, counted from that header, or -1.
func l4CsumOffset(p *packet.Packet) int {
	if p.Info.THAbsent != packet.None {
		return -1
	}
	switch p.Info.L4Proto {
	case packet.ProtoTCP:
		return 16
	case packet.ProtoUDP:
		if c, a := p.Slice(packet.BaseTransport, 6, 2); a != packet.None || c[0]|c[1] == 0 {
			return -1
		}
		return 6
	case packet.ProtoUDPLite:
		return 6
	case packet.ProtoICMPv6:
		return 2
	}
	return -1
}

// l4Csum is nft_payload_l4csum_update.
//
// It is false where the packet ends before the checksum.
func (w *walk) l4Csum(from, to uint16) bool {
	off := l4CsumOffset(w.p)
	if off < 0 {
		return true
	}
	c, a := w.p.Slice(packet.BaseTransport, off, 2)
	if a == packet.None {
		storeSum(c, csumReplace(c, from, to))
	}
	return a == packet.None || a.Unknown()
}

// sctpCsum is nft_payload_csum_sctp: the CRC32c is computed afresh.
func (w *walk) sctpCsum() {
	i := &w.p.Info
	if i.End > len(w.p.Data) || i.TH+12 > i.End {
		return
	}
	b := w.p.Data[i.TH:i.End]
	clear(b[8:12])
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// setVLAN is nft_payload_set_vlan: the outer tag is not in the bytes. done is
// false when the store goes behind the tag.
func (w *walk) setVLAN(off int, val []byte) (done bool, code int32) {
	p := w.p
	if off >= 16 { // h_vlan_encapsulated_proto
		return false, codeContinue
	}
	switch {
	case off == 12 && len(val) == 2:
		p.VLANProto = binary.BigEndian.Uint16(val)
	case off == 12 && len(val) == 4:
		p.VLANProto = binary.BigEndian.Uint16(val)
		p.VLANTCI = binary.BigEndian.Uint16(val[2:])
	case off == 14 && len(val) == 2:
		p.VLANTCI = binary.BigEndian.Uint16(val)
	default:
		return true, codeBreak
	}
	w.touch()
	// The tag's bytes are in Data as they came; loads read them there.
	if b, a := p.Slice(packet.BaseLL, off, len(val)); a == packet.None {
		copy(b, val)
	}
	return true, codeContinue
}

// touch is called before the packet's bytes change: a dry run works on a copy
// of its own (see clone), so that only the flag remains to set.
func (w *walk) touch() { w.mutated = true }
