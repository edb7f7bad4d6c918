//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/compile/bytecode"
)

// traceGroup is NFNLGRP_NFTRACE.
const traceGroup = 9

// traceBuffer is asked for with SO_RCVBUFFORCE. A trace message is charged
// about 1280 bytes of it; at most one packet's messages wait at a time.
const traceBuffer = 64 << 20

// errTraceLost means that the kernel dropped trace messages (ENOBUFS); what was
// read is incomplete and the run must be repeated.
var errTraceLost = errors.New("kernel: trace messages were lost (ENOBUFS)")

// traceSocket receives NFT_MSG_TRACE messages.
type traceSocket struct {
	fd   int
	bufs [][]byte
	iovs []unix.Iovec
	msgs []mmsghdr
}

type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

func openTrace() (*traceSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("%w: trace socket: %w", ErrUnavailable, err)
	}
	for _, f := range []func() error{
		func() error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, traceBuffer) },
		func() error { return unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) },
		func() error {
			return unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, traceGroup)
		},
	} {
		if err := f(); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("%w: trace socket: %w", ErrUnavailable, err)
		}
	}
	const n = 64
	t := &traceSocket{fd: fd, bufs: make([][]byte, n), iovs: make([]unix.Iovec, n), msgs: make([]mmsghdr, n)}
	for i := range t.bufs {
		t.bufs[i] = make([]byte, 2048)
		t.iovs[i].Base = &t.bufs[i][0]
		t.iovs[i].SetLen(len(t.bufs[i]))
		t.msgs[i].hdr.Iov = &t.iovs[i]
		t.msgs[i].hdr.SetIovlen(1)
	}
	return t, nil
}

func (t *traceSocket) close() { unix.Close(t.fd) }

// drain calls f for each waiting message. When an injection has returned, all
// messages of its packet are waiting: the stack ran inside the system call.
func (t *traceSocket) drain(f func(ev *traceEvent)) error {
	var ev traceEvent
	for {
		n, _, e := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(t.fd), uintptr(unsafe.Pointer(&t.msgs[0])), uintptr(len(t.msgs)), unix.MSG_DONTWAIT, 0, 0)
		switch e {
		case 0:
		case unix.EAGAIN:
			return nil
		case unix.EINTR:
			continue
		case unix.ENOBUFS:
			return errTraceLost
		default:
			return fmt.Errorf("kernel: trace socket: %w", e)
		}
		for i := range int(n) {
			if ev.parse(t.bufs[i][:t.msgs[i].len]) {
				f(&ev)
			}
		}
		if int(n) < len(t.msgs) {
			return nil
		}
	}
}

// traceType is NFT_TRACETYPE_*.
type traceType uint8

const (
	tracePolicy traceType = 1
	traceReturn traceType = 2
	traceRule   traceType = 3
)

// traceEvent is one trace message. Byte slices alias the receive buffer.
type traceEvent struct {
	typ      traceType
	family   bytecode.Family
	table    []byte
	chain    []byte
	handle   uint64 // 0: the end of a chain
	verdict  bytecode.Code
	jump     []byte
	policy   bytecode.Code
	iif, oif uint32
	mark     uint32
	hasMark  bool
	link     []byte
	network  []byte // at most 40 bytes
	trans    []byte // at most 20 bytes
	hasCT    bool
	ctState  uint32
	ctDir    uint8
	ctStatus uint32
}

// parse reads one datagram, which holds exactly one message
// (nft_trace_notify). It reports false for anything else.
func (e *traceEvent) parse(b []byte) bool {
	const header = 16 + 4 // nlmsghdr, nfgenmsg
	if len(b) < header || binary.NativeEndian.Uint16(b[4:]) != unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_TRACE {
		return false
	}
	*e = traceEvent{family: bytecode.Family(b[16])}
	walk(b[header:], func(t uint16, d []byte) {
		switch t {
		case unix.NFTA_TRACE_TABLE:
			e.table = cstring(d)
		case unix.NFTA_TRACE_CHAIN:
			e.chain = cstring(d)
		case unix.NFTA_TRACE_RULE_HANDLE:
			e.handle = be64(d)
		case unix.NFTA_TRACE_TYPE:
			e.typ = traceType(be32(d))
		case unix.NFTA_TRACE_VERDICT:
			walk(d, func(t uint16, d []byte) {
				switch t {
				case unix.NFTA_VERDICT_CODE:
					e.verdict = bytecode.Code(int32(be32(d)))
				case unix.NFTA_VERDICT_CHAIN:
					e.jump = cstring(d)
				}
			})
		case unix.NFTA_TRACE_POLICY:
			e.policy = bytecode.Code(int32(be32(d)))
		case unix.NFTA_TRACE_IIF:
			e.iif = be32(d)
		case unix.NFTA_TRACE_OIF:
			e.oif = be32(d)
		case unix.NFTA_TRACE_MARK:
			e.mark, e.hasMark = be32(d), true
		case unix.NFTA_TRACE_LL_HEADER:
			e.link = d
		case unix.NFTA_TRACE_NETWORK_HEADER:
			e.network = d
		case unix.NFTA_TRACE_TRANSPORT_HEADER:
			e.trans = d
		case 19: // NFTA_TRACE_CT_DIRECTION
			if len(d) > 0 {
				e.ctDir = d[0]
			}
		case 20: // NFTA_TRACE_CT_STATUS
			e.ctStatus = be32(d)
		case 21: // NFTA_TRACE_CT_STATE
			e.hasCT, e.ctState = true, be32(d)
		}
	})
	return e.typ != 0
}

// walk calls f for each attribute.
func walk(b []byte, f func(t uint16, d []byte)) {
	for len(b) >= unix.SizeofNlAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofNlAttr || n > len(b) {
			return
		}
		f(binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER), b[unix.SizeofNlAttr:n])
		n = (n + unix.NLA_ALIGNTO - 1) &^ (unix.NLA_ALIGNTO - 1)
		if n >= len(b) {
			return
		}
		b = b[n:]
	}
}

func be32(d []byte) uint32 {
	if len(d) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(d)
}

func be64(d []byte) uint64 {
	if len(d) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(d)
}

func cstring(d []byte) []byte {
	for i, c := range d {
		if c == 0 {
			return d[:i]
		}
	}
	return d
}
