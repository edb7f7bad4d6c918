//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ErrUnavailable wraps the reason why the kernel cannot be used: not Linux, not
// root, no namespaces, no nf_tables, no TAP devices.
var ErrUnavailable = errors.New("the live kernel cannot be used")

// enterNamespace locks the goroutine to its thread and moves the thread to a
// network namespace of its own. A goroutine that ends while locked ends its
// thread, and with it the namespace and everything in it: there is nothing to
// clean up. Only this thread leaves the host's namespace.
func enterNamespace() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("%w: unshare(CLONE_NEWNET): %w", ErrUnavailable, err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, kv := range sysctls {
		// /proc/sys/net is that of the calling task's namespace.
		err := os.WriteFile("/proc/sys/net/"+kv[0], []byte(kv[1]), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// sysctls make the stack pass packets on instead of judging them, and keep it
// from sending packets of its own.
var sysctls = [][2]string{
	{"ipv4/ip_forward", "1"},
	{"ipv4/conf/all/rp_filter", "0"},
	{"ipv4/conf/default/rp_filter", "0"},
	{"ipv4/conf/all/accept_local", "1"},
	{"ipv4/conf/default/accept_local", "1"},
	{"ipv4/conf/all/route_localnet", "1"},
	{"ipv4/conf/default/route_localnet", "1"},
	{"ipv4/conf/all/send_redirects", "0"},
	{"ipv4/conf/default/send_redirects", "0"},
	{"ipv4/conf/all/accept_source_route", "1"},
	{"ipv4/conf/default/accept_source_route", "1"},
	{"ipv6/conf/all/forwarding", "1"},
	{"ipv6/conf/all/accept_dad", "0"},
	{"ipv6/conf/default/accept_dad", "0"},
	{"ipv6/conf/default/dad_transmits", "0"},
	{"ipv6/conf/all/accept_ra", "0"},
	{"ipv6/conf/default/accept_ra", "0"},
	{"ipv6/conf/all/router_solicitations", "0"},
	{"ipv6/conf/default/router_solicitations", "0"},
	{"ipv6/conf/default/addr_gen_mode", "1"},
}

// device is a TAP or TUN device: writing a frame to its file makes the stack
// receive it before write returns (tun_get_user calls netif_receive_skb).
type device struct {
	name  string
	index int
	fd    int
	tun   bool // no link layer header
}

// mtu is what a TAP can hold; a smaller one drops large packets before the
// forward hook.
const mtu = 65521

type ifreqFlags struct {
	name  [unix.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

// newDevice creates a TAP (or TUN) device, names it and brings it up without
// ARP, so that packets leave it without asking for neighbours.
func newDevice(name string, tun bool, mac [6]byte) (*device, error) {
	if len(name) >= unix.IFNAMSIZ || name == "" {
		return nil, fmt.Errorf("kernel: %q is no interface name", name)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: /dev/net/tun: %w", ErrUnavailable, err)
	}
	var req ifreqFlags
	copy(req.name[:], name)
	req.flags = unix.IFF_TAP | unix.IFF_NO_PI
	if tun {
		req.flags = unix.IFF_TUN | unix.IFF_NO_PI
	}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&req))); e != 0 {
		unix.Close(fd)
		return nil, fmt.Errorf("kernel: device %s: %w", name, e)
	}
	d := &device{name: name, fd: fd, tun: tun}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("kernel: device %s: %w", name, err)
	}
	d.index = link.Attrs().Index
	if !tun {
		if err := netlink.LinkSetHardwareAddr(link, mac[:]); err != nil {
			return nil, fmt.Errorf("kernel: device %s: %w", name, err)
		}
		if err := netlink.LinkSetARPOff(link); err != nil {
			return nil, fmt.Errorf("kernel: device %s: %w", name, err)
		}
	}
	if err := netlink.LinkSetMTU(link, mtu); err != nil {
		return nil, fmt.Errorf("kernel: device %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("kernel: device %s: %w", name, err)
	}
	return d, nil
}

// write injects one frame (TAP) or IP packet (TUN).
func (d *device) write(frame []byte) error {
	_, err := unix.Write(d.fd, frame)
	return err
}

func isUnavailable(err error) bool { return errors.Is(err, ErrUnavailable) }
