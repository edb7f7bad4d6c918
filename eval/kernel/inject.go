//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func itoa(i int) string { return strconv.Itoa(i) }

// hostU32 lays out an integer as the running kernel holds it.
func hostU32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// localTable is the routing table that takes every address for local.
const localTable = 100

// routes lets every packet find its way: to this host when it came in by a
// device of a TripInput, else out by the out device.
func routes(trip Trip, in []*device, out *device) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	all := []*net.IPNet{
		{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
		{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
	}
	for i, dst := range all {
		family := unix.AF_INET
		if i == 1 {
			family = unix.AF_INET6
		}
		if trip == TripInput {
			r := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: dst, Table: localTable, Type: unix.RTN_LOCAL, Scope: unix.RT_SCOPE_HOST, Family: family}
			if err := netlink.RouteAdd(r); err != nil {
				return fmt.Errorf("kernel: local route: %w", err)
			}
			for _, d := range in {
				rule := netlink.NewRule()
				rule.Priority, rule.IifName, rule.Table, rule.Family = 0, d.name, localTable, family
				if err := netlink.RuleAdd(rule); err != nil && !errors.Is(err, unix.EEXIST) {
					return fmt.Errorf("kernel: routing rule: %w", err)
				}
			}
		}
		if out != nil {
			r := &netlink.Route{LinkIndex: out.index, Dst: dst, Family: family, Scope: unix.RT_SCOPE_LINK}
			if i == 1 {
				r.Scope = unix.RT_SCOPE_UNIVERSE
			}
			if err := netlink.RouteAdd(r); err != nil && !errors.Is(err, unix.EEXIST) {
				return fmt.Errorf("kernel: default route: %w", err)
			}
		}
	}
	return nil
}

// bridge makes the two devices ports of a bridge that floods: no snooping.
// Without STP a port forwards at once (br_make_forwarding).
func bridge(ports ...*device) error {
	br := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()}
	br.Name = bridgeName
	off := false
	br.MulticastSnooping = &off
	if err := netlink.LinkAdd(br); err != nil {
		return fmt.Errorf("kernel: bridge: %w", err)
	}
	for _, p := range ports {
		if err := netlink.LinkSetMaster(p.link, br); err != nil {
			return fmt.Errorf("kernel: bridge port %s: %w", p.name, err)
		}
	}
	if err := netlink.LinkSetUp(br); err != nil {
		return fmt.Errorf("kernel: bridge: %w", err)
	}
	return nil
}

// rawSockets send packets with their own IP header.
type rawSockets struct{ fd4, fd6 int }

func openRaw() (*rawSockets, error) {
	r := &rawSockets{fd4: -1, fd6: -1}
	var err error
	if r.fd4, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW); err != nil {
		return nil, fmt.Errorf("%w: raw socket: %w", ErrUnavailable, err)
	}
	if r.fd6, err = unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW); err != nil {
		unix.Close(r.fd4)
		return nil, fmt.Errorf("%w: raw socket: %w", ErrUnavailable, err)
	}
	for _, fd := range []int{r.fd4, r.fd6} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, sentMark); err != nil {
			r.close()
			return nil, fmt.Errorf("%w: SO_MARK: %w", ErrUnavailable, err)
		}
	}
	return r, nil
}

func (r *rawSockets) close() {
	unix.Close(r.fd4)
	unix.Close(r.fd6)
}

// send sends one IP packet. EPERM is what a drop in output looks like, and no
// error here; the trace tells.
func (r *rawSockets) send(ip []byte) error {
	var err error
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		err = unix.Sendto(r.fd4, ip, 0, &unix.SockaddrInet4{Addr: [4]byte(ip[16:20])})
	case len(ip) >= 40 && ip[0]>>4 == 6:
		err = unix.Sendto(r.fd6, ip, 0, &unix.SockaddrInet6{Addr: [16]byte(ip[24:40])})
	default:
		return fmt.Errorf("kernel: not an IP packet")
	}
	if err == nil || errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("%w: %w", errRefused, err)
}
