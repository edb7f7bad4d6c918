//go:build linux

package kernel

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/internal/diag"
)

// batch wraps messages in NFNL_MSG_BATCH_BEGIN and _END: one transaction.
func batch(ms []netlink.Message) []netlink.Message {
	edge := func(typ uint16) netlink.Message {
		return netlink.Message{
			Header: netlink.Header{Type: netlink.HeaderType(typ), Flags: netlink.Request},
			// struct nfgenmsg: AF_UNSPEC, version, res_id = NFNL_SUBSYS_NFTABLES (be16)
			Data: []byte{0, 0, 0, unix.NFNL_SUBSYS_NFTABLES},
		}
	}
	out := make([]netlink.Message, 0, len(ms)+2)
	out = append(out, edge(unix.NFNL_MSG_BATCH_BEGIN))
	out = append(out, ms...)
	return append(out, edge(unix.NFNL_MSG_BATCH_END))
}

// sendBuffer is what the socket may hold: a transaction must be one datagram,
// and an acknowledgement comes back for each message.
const sendBuffer = 256 << 20

// load sends one transaction in the calling thread's namespace and waits for
// the acknowledgement of each message.
func load(b *Batch, files *diag.FileSet) error {
	ms := b.Messages
	if len(ms) == 0 {
		return nil
	}
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return fmt.Errorf("%w: netlink: %w", ErrUnavailable, err)
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("kernel: netlink: %w", err)
	}
	var optErr error
	err = raw.Control(func(fd uintptr) {
		optErr = errors.Join(
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer),
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, sendBuffer))
	})
	if err := errors.Join(err, optErr); err != nil {
		return fmt.Errorf("%w: netlink buffers: %w", ErrUnavailable, err)
	}
	sent, err := c.SendMessages(batch(ms))
	if err != nil {
		return fmt.Errorf("kernel: sending the ruleset: %w", err)
	}
	first := sent[1].Header.Sequence
	for acked := 0; acked < len(ms); {
		got, err := c.Receive()
		if err != nil {
			var op *netlink.OpError
			if errors.As(err, &op) && op.Sequence != 0 {
				i := int(op.Sequence - first)
				if i < 0 || i >= len(ms) {
					i = -1
				}
				return &LoadError{Index: i, What: b.describe(i, files), Err: op.Err}
			}
			return fmt.Errorf("kernel: loading the ruleset: %w", err)
		}
		for _, m := range got {
			if m.Header.Type == netlink.Error {
				acked++
			}
		}
	}
	return nil
}
