//go:build linux

package kernel

import (
	"fmt"
	"os"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/eval/packet"
)

// hostState is what the calling thread's namespace has: its ruleset's
// messages, its interfaces and their addresses, its settings.
func hostState() (string, error) {
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return "", err
	}
	defer c.Close()
	s := ""
	for _, msg := range []uint16{unix.NFT_MSG_GETTABLE, unix.NFT_MSG_GETCHAIN, unix.NFT_MSG_GETRULE, unix.NFT_MSG_GETSET, unix.NFT_MSG_GETOBJ} {
		got, err := c.Execute(netlink.Message{
			Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | msg), Flags: netlink.Request | netlink.Dump},
			Data:   []byte{unix.AF_UNSPEC, 0, 0, 0},
		})
		if err != nil {
			return "", err
		}
		for _, m := range got {
			s += fmt.Sprintf("%d %x\n", msg, m.Data)
		}
	}
	ns, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		return "", err
	}
	s += ns + "\n"
	devices, err := os.ReadDir("/sys/class/net")
	if err != nil {
		return "", err
	}
	for _, d := range devices {
		s += d.Name() + "\n"
	}
	for _, name := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding", "net/ipv4/conf/all/accept_local",
		"net/bridge/bridge-nf-call-iptables", "net/netfilter/nf_conntrack_checksum", "net/netfilter/nf_conntrack_count"} {
		b, _ := os.ReadFile("/proc/sys/" + name) // some kernels lack some
		s += name + " " + string(b)
	}
	for _, name := range []string{"route", "ipv6_route", "if_inet6", "nf_conntrack"} {
		b, _ := os.ReadFile("/proc/thread-self/net/" + name)
		if name == "ipv6_route" || name == "nf_conntrack" {
			b = nil // they hold counts and times
		}
		s += name + " " + string(b)
	}
	return s, nil
}

// TestHostUntouched runs sessions on every trip and compares what the process's
// own namespace had before and has after.
func TestHostUntouched(t *testing.T) {
	before, err := hostState()
	if err != nil {
		t.Skip(err)
	}
	rs := compiled("host.nft", `table inet nftc-untouched {
	chain f {
		type filter hook forward priority 0; policy accept;
		ct state new counter
	}
	chain i {
		type filter hook input priority 0; policy accept;
		ct state new counter
	}
}
`, nil)
	if rs == nil {
		t.Fatal("the ruleset does not compile")
	}
	for _, trip := range []Trip{TripInput, TripForward, TripOutput, TripBridge} {
		cfg := Config{Trip: trip}
		withSession(t, cfg, rs, func(s *Session) error {
			v, err := NewVerifier(s, cfg, rs)
			if err != nil {
				return err
			}
			var c Comparison
			for port := range uint16(20) {
				var p packet.Packet
				f := udp(port)
				p.SetFrame(packet.LinkEthernet, f.Data, len(f.Data))
				if err := v.Verify(&p, &c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	after, err := hostState()
	if err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("the host's state changed from\n%s\nto\n%s", before, after)
	}
}
