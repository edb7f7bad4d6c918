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
		if err := sysctl(kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// sysctl sets a value below net. /proc/sys/net is that of the calling task's
// namespace. What this kernel does not have is left alone.
func sysctl(key, value string) error {
	err := os.WriteFile("/proc/sys/net/"+key, []byte(value), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// sysctls make the stack pass packets on whatever addresses they have, and keep
// it from sending packets of its own. What the evaluator models with the
// kernel's defaults (route_localnet, accept_source_route) keeps its default.
var sysctls = [][2]string{
	{"ipv4/ip_forward", "1"},
	{"ipv4/conf/all/rp_filter", "0"},
	{"ipv4/conf/default/rp_filter", "0"},
	{"ipv4/conf/all/accept_local", "1"},
	{"ipv4/conf/default/accept_local", "1"},
	{"ipv4/conf/all/send_redirects", "0"},
	{"ipv4/conf/default/send_redirects", "0"},
	{"ipv6/conf/all/forwarding", "1"},
	{"ipv6/conf/all/accept_dad", "0"},
	{"ipv6/conf/default/accept_dad", "0"},
	{"ipv6/conf/default/dad_transmits", "0"},
	{"ipv6/conf/all/accept_ra", "0"},
	{"ipv6/conf/default/accept_ra", "0"},
	{"ipv6/conf/all/router_solicitations", "0"},
	{"ipv6/conf/default/router_solicitations", "0"},
	{"ipv6/conf/default/addr_gen_mode", "1"},
	// Bridged packets visit bridge chains only (br_netfilter).
	{"bridge/bridge-nf-call-iptables", "0"},
	{"bridge/bridge-nf-call-ip6tables", "0"},
	{"bridge/bridge-nf-call-arptables", "0"},
}

// device is a TAP or TUN device: writing a frame to its file makes the stack
// receive it before write returns (tun_get_user calls netif_receive_skb).
type device struct {
	name  string
	index int
	fd    int
	tun   bool // no link layer header
	mac   [6]byte
	link  netlink.Link
}

type ifreqFlags struct {
	name  [unix.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

// tunSetIfIndex is TUNSETIFINDEX of linux/if_tun.h.
const tunSetIfIndex = 0x400454da

// arpOff lets packets leave the device without asking for neighbours; it also
// stops ARP from coming in (arp_rcv).
func (d *device) arpOff() error {
	if err := netlink.LinkSetARPOff(d.link); err != nil {
		return fmt.Errorf("kernel: device %s: %w", d.name, err)
	}
	return nil
}

// newDevice creates a TAP (or TUN) device, names it and brings it up.
func newDevice(name string, tun bool, mac [6]byte, index uint32) (*device, error) {
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
	if index != 0 {
		if err := unix.IoctlSetPointerInt(fd, tunSetIfIndex, int(index)); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("kernel: device %s: index %d: %w", name, index, err)
		}
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
	d.index, d.link, d.mac = link.Attrs().Index, link, mac
	if !tun {
		if err := netlink.LinkSetHardwareAddr(link, mac[:]); err != nil {
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

// addAddress gives the device an address at once, without asking whether
// another has it.
func (d *device) addAddress(prefix string) error {
	a, err := netlink.ParseAddr(prefix)
	if err != nil {
		return err
	}
	if a.IP.To4() == nil {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := netlink.AddrAdd(d.link, a); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("kernel: device %s: address: %w", d.name, err)
	}
	return nil
}

// setMAC gives the device another address.
func (d *device) setMAC(mac [6]byte) error {
	if err := netlink.LinkSetHardwareAddr(d.link, mac[:]); err != nil {
		return fmt.Errorf("kernel: device %s: address: %w", d.name, err)
	}
	d.mac = mac
	return nil
}

// write injects one frame (TAP) or IP packet (TUN).
func (d *device) write(frame []byte) error {
	if _, err := unix.Write(d.fd, frame); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return nil
}

func isUnavailable(err error) bool { return errors.Is(err, ErrUnavailable) }
