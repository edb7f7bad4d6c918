//go:build linux

package kernel

import (
	"encoding/binary"
	"sort"

	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/compile/bytecode"
)

// Attribute numbers of tunnel and ct timeout objects, nf_tables.h.
const (
	nftaCTTimeoutL3  = 1
	nftaCTTimeoutL4  = 2
	nftaCTTimeoutDat = 3

	nftaTunnelKeyID    = 1
	nftaTunnelKeyIP    = 2
	nftaTunnelKeyIP6   = 3
	nftaTunnelKeyTOS   = 5
	nftaTunnelKeyTTL   = 6
	nftaTunnelKeySport = 7
	nftaTunnelKeyDport = 8
	nftaTunnelKeyOpts  = 9
)

// libraryData returns the attributes inside NFTA_EXPR_DATA of an expression of
// the library.
func libraryData(family uint8, x expr.Any) (attrs, error) {
	b, err := expr.MarshalExprData(family, x)
	if err != nil {
		return nil, err
	}
	return netlink.UnmarshalAttributes(b)
}

// ctTimeout encodes the timeout policy: one attribute per state, numbered from
// 1 (nfnetlink_cttimeout.h: CTA_TIMEOUT_TCP_SYN_SENT = 1 …).
func (e *encoder) ctTimeout(in *bytecode.ObjCTTimeoutSpec) attrs {
	var a, policy attrs
	a.u16(nftaCTTimeoutL3, uint16(in.Family))
	a.u8(nftaCTTimeoutL4, in.L4Proto)
	states := make([]int, 0, len(in.Policy))
	for s := range in.Policy {
		states = append(states, s)
	}
	sort.Ints(states)
	for _, s := range states {
		policy.u32(uint16(s)+1, in.Policy[s])
	}
	a.nest(nftaCTTimeoutDat, policy)
	return a
}

// tunnel encodes tunnel metadata (nft_tunnel_obj_init).
func (e *encoder) tunnel(in *bytecode.ObjTunnelSpec) attrs {
	var a, ip attrs
	a.u32(nftaTunnelKeyID, in.ID)
	if len(in.Src) == 16 || len(in.Dst) == 16 {
		if len(in.Src) == 16 {
			ip.bytes(1, in.Src) // NFTA_TUNNEL_KEY_IP6_SRC
		}
		if len(in.Dst) == 16 {
			ip.bytes(2, in.Dst)
		}
		a.nest(nftaTunnelKeyIP6, ip)
	} else if len(in.Src) == 4 || len(in.Dst) == 4 {
		if len(in.Src) == 4 {
			ip.bytes(1, in.Src)
		}
		if len(in.Dst) == 4 {
			ip.bytes(2, in.Dst)
		}
		a.nest(nftaTunnelKeyIP, ip)
	}
	if in.Sport != 0 {
		a.u16(nftaTunnelKeySport, in.Sport)
	}
	if in.Dport != 0 {
		a.u16(nftaTunnelKeyDport, in.Dport)
	}
	if in.TOS != 0 {
		a.u8(nftaTunnelKeyTOS, in.TOS)
	}
	if in.TTL != 0 {
		a.u8(nftaTunnelKeyTTL, in.TTL)
	}
	var opts attrs
	switch in.Kind {
	case "vxlan":
		var v attrs
		v.u32(1, in.VxlanGBP)
		opts.nest(1, v)
	case "erspan":
		var v attrs
		v.u32(1, uint32(in.Erspan.Version))
		if in.Erspan.Version == 2 {
			v.u8(4, in.Erspan.HWID)
			v.u8(3, in.Erspan.Dir)
		} else {
			v.bytes(2, binary.BigEndian.AppendUint32(nil, in.Erspan.Index))
		}
		opts.nest(2, v)
	case "geneve":
		for _, g := range in.Geneve {
			var v attrs
			v.u16(1, g.Class)
			v.u8(2, g.Type)
			v.bytes(3, g.Data)
			opts.nest(3, v)
		}
	}
	if len(opts) > 0 {
		a.bytes(nftaTunnelKeyOpts|unix.NLA_F_NESTED, opts.marshal())
	}
	return a
}
