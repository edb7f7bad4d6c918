//go:build linux

package kernel

import (
	"encoding/binary"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// attrs builds the netlink attributes of one message or nest. Integers of
// nf_tables are big-endian (nla_get_be32 throughout nf_tables_api.c).
type attrs []netlink.Attribute

func (a *attrs) bytes(t uint16, b []byte) { *a = append(*a, netlink.Attribute{Type: t, Data: b}) }
func (a *attrs) str(t uint16, s string)   { a.bytes(t, append([]byte(s), 0)) }
func (a *attrs) u8(t uint16, v uint8)     { a.bytes(t, []byte{v}) }
func (a *attrs) u16(t uint16, v uint16)   { a.bytes(t, binary.BigEndian.AppendUint16(nil, v)) }
func (a *attrs) u32(t uint16, v uint32)   { a.bytes(t, binary.BigEndian.AppendUint32(nil, v)) }
func (a *attrs) u64(t uint16, v uint64)   { a.bytes(t, binary.BigEndian.AppendUint64(nil, v)) }
func (a *attrs) nest(t uint16, in attrs)  { a.bytes(t|unix.NLA_F_NESTED, in.marshal()) }

// marshal lays the attributes out. A single attribute is at most 65535 bytes
// long (nla_len is 16 bits); the callers keep lists below that.
func (a attrs) marshal() []byte {
	b, err := netlink.MarshalAttributes(a)
	if err != nil {
		panic(err) // only for attributes over 64 KiB, a bug of the caller
	}
	return b
}

// message makes one nf_tables message.
func message(typ uint16, family uint8, flags netlink.HeaderFlags, a attrs) netlink.Message {
	return netlink.Message{
		Header: netlink.Header{
			Type:  netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | typ),
			Flags: netlink.Request | netlink.Acknowledge | flags,
		},
		Data: append([]byte{family, 0, 0, 0}, a.marshal()...), // struct nfgenmsg
	}
}
