package eval

import (
	"encoding/binary"
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// Flags of nft_inner.
const (
	innerHdrSize = 1
	innerLL      = 2
	innerNH      = 4
	innerTH      = 8
)

const innerGeneve = 2 // NFT_INNER_GENEVE

func (f *flattener) innerOp(in *bytecode.Inner) error {
	if in.HdrSize > 64 {
		return fmt.Errorf("tunnel header of %d bytes", in.HdrSize)
	}
	switch x := in.Instr.(type) {
	case *bytecode.Payload:
		o, err := payloadOp(x)
		if err != nil {
			return err
		}
		if x.Base == bytecode.BaseInner {
			return fmt.Errorf("inner header inside a tunnel")
		}
		o.code, o.instr = opInnerPayload, in
		f.emit(o)
	case *bytecode.Meta:
		if x.Key != bytecode.MetaProtocol && x.Key != bytecode.MetaL4Proto {
			return fmt.Errorf("meta %v inside a tunnel", x.Key)
		}
		dst, err := load(x.Dst, metaLen(x.Key))
		if err != nil {
			return err
		}
		f.emit(op{code: opInnerMeta, dst: dst, n: uint16(metaLen(x.Key)), a: uint32(x.Key), instr: in})
	default:
		return fmt.Errorf("neither payload nor meta inside")
	}
	return nil
}

// innerHeaders are the offsets of nft_inner_tun_ctx; -1 where there is none.
type innerHeaders struct {
	tun, ll, nh, th int
	ethertype       uint16
	l4proto         uint8
}

// inner is nft_inner_eval.
func (e *Engine) inner(w *walk, o *op) int32 {
	in := o.instr.(*bytecode.Inner)
	h, a := parseInner(w.p, in)
	if a != packet.None {
		if o.code == opInnerMeta || a.Unknown() {
			return w.absent(o.dst, o.n, a)
		}
		return codeBreak
	}
	if o.code == opInnerMeta {
		// nft_meta_inner_eval
		if bytecode.MetaKey(o.a) == bytecode.MetaProtocol {
			w.putBytes(o.dst, []byte{byte(h.ethertype >> 8), byte(h.ethertype)})
			return codeContinue
		}
		if h.th < 0 {
			return codeBreak
		}
		w.put8(o.dst, h.l4proto)
		return codeContinue
	}
	// nft_payload_inner_eval
	base := -1
	switch bytecode.PayloadBase(o.base) {
	case bytecode.BaseTunnel:
		base = h.tun
	case bytecode.BaseLink:
		base = h.ll
	case bytecode.BaseNetwork:
		base = h.nh
	case bytecode.BaseTransport:
		base = h.th
	}
	if base < 0 {
		return codeBreak
	}
	b, a := readAt(w.p, base+int(o.a), int(o.n))
	if a != packet.None {
		return w.absent(o.dst, o.n, a)
	}
	w.putBytes(o.dst, b)
	return codeContinue
}

// readAt reads n bytes at an offset of Data inside the packet as the hook sees
// it (skb_header_pointer).
func readAt(p *packet.Packet, off, n int) ([]byte, packet.Absent) {
	return p.Slice(packet.BaseNetwork, off-p.NH, n)
}

// parseInner is nft_inner_parse.
func parseInner(p *packet.Packet, in *bytecode.Inner) (innerHeaders, packet.Absent) {
	h := innerHeaders{tun: -1, ll: -1, nh: -1, th: -1}
	off, a := p.InnerOffset()
	if a != packet.None {
		return h, a
	}
	if in.Flags&innerHdrSize != 0 {
		// nft_inner_parse_tunhdr
		switch p.Info.L4Proto {
		case packet.ProtoGRE:
			h.tun = p.Info.TH
		case packet.ProtoUDP:
			h.tun = off
			if in.Type == innerGeneve {
				g, a := readAt(p, off, 8)
				if a != packet.None {
					return h, a
				}
				off += int(g[0]&0x3f) * 4
			}
			off += int(in.HdrSize)
		default:
			return h, packet.NotFound
		}
	}
	switch {
	case in.Flags&(innerLL|innerNH) != 0:
		return h.l2l3(p, in, off)
	case in.Flags&innerTH != 0:
		h.th = off
	}
	return h, packet.None
}

// l2l3 is nft_inner_parse_l2l3.
func (h innerHeaders) l2l3(p *packet.Packet, in *bytecode.Inner, off int) (innerHeaders, packet.Absent) {
	var proto uint16
	if in.Flags&innerLL != 0 {
		eth, a := readAt(p, off, 14)
		if a != packet.None {
			return h, a
		}
		h.ll = off
		proto = binary.BigEndian.Uint16(eth[12:])
		h.ethertype = proto
		off += 14
		if proto == packet.EtherVLAN {
			v, a := readAt(p, off, 4)
			if a != packet.None {
				return h, a
			}
			proto = binary.BigEndian.Uint16(v[2:])
			off += 4
		}
	} else {
		v, a := readAt(p, off, 4)
		if a != packet.None {
			return h, a
		}
		switch v[0] >> 4 {
		case 4:
			proto = packet.EtherIPv4
		case 6:
			proto = packet.EtherIPv6
		}
		h.ethertype = proto
	}
	switch proto {
	case packet.EtherIPv4:
		ip, a := readAt(p, off, 20)
		if a != packet.None {
			return h, a
		}
		if ip[0]>>4 != 4 || ip[0]&15 < 5 {
			return h, packet.Malformed
		}
		h.nh = off
		if binary.BigEndian.Uint16(ip[6:])&0x1fff == 0 {
			h.th, h.l4proto = off+int(ip[0]&15)*4, ip[9]
		}
	case packet.EtherIPv6:
		ip, a := readAt(p, off, 40)
		if a != packet.None {
			return h, a
		}
		if ip[0]>>4 != 6 {
			return h, packet.Malformed
		}
		h.nh = off
		th, l4, frag, a := p.IPv6TransportAt(off)
		if a != packet.None {
			return h, a
		}
		if frag == 0 {
			h.th, h.l4proto = th, l4
		}
	default:
		return h, packet.NotFound
	}
	return h, packet.None
}
