package packet

import (
	"encoding/hex"
	"testing"
)

// What Linux 6.18.44 did with each packet, written to a tun device of a host
// with addresses 10.0.0.1 and 2001:db8::1: the last place it was seen at.
func TestStackReasons(t *testing.T) {
	const (
		v4 = "tcp 10.0.0.9:9 > 10.0.0.1:22 link=RAW "
		v6 = "tcp [2001:db8::9]:9 > [2001:db8::1]:22 link=RAW "
	)
	tests := []struct {
		name, line  string
		prerouting  StackReason // between ingress and prerouting
		route       StackReason // between prerouting and input
		transportOK bool        // prerouting saw `meta l4proto tcp`
	}{
		{"plain", v4, StackNone, StackNone, true},
		{"bad checksum", v4 + "ip.checksum=1", StackChecksum, StackNone, true},
		{"padded", v4 + "pad=6", StackNone, StackNone, true},
		{"total length too long", v4 + "ip.length=60", StackTotalLength, StackNone, true},
		{"total length 0", v4 + "ip.length=0", StackLengthIHL, StackNone, true},
		{"source 0.0.0.0", "tcp 0.0.0.0:9 > 10.0.0.1:22 link=RAW", StackNone, StackMartianSource, true},
		{"source 0.1.2.3", "tcp 0.1.2.3:9 > 10.0.0.1:22 link=RAW", StackNone, StackNone, true},
		{"source 127.0.0.2", "tcp 127.0.0.2:9 > 10.0.0.1:22 link=RAW", StackNone, StackLoopbackWire, true},
		{"destination 127.0.0.2", "tcp 10.0.0.9:9 > 127.0.0.2:22 link=RAW", StackNone, StackLoopbackWire, true},
		{"loopback device", "tcp 127.0.0.1:9 > 127.0.0.1:22 smac=00:00:00:00:00:00 dmac=00:00:00:00:00:00", StackNone, StackNone, true},
		{"loopback device, ipv6", "tcp [::1]:9 > [::1]:22 smac=00:00:00:00:00:00 dmac=00:00:00:00:00:00", StackNone, StackNone, true},
		{"source multicast", "tcp 224.0.0.1:9 > 10.0.0.1:22 link=RAW", StackNone, StackMartianSource, true},
		{"source 240/4", "tcp 240.0.0.1:9 > 10.0.0.1:22 link=RAW", StackNone, StackNone, true},
		{"limited broadcast", "tcp 10.0.0.9:9 > 255.255.255.255:22 link=RAW", StackNone, StackNone, true},
		{"limited broadcast from loopback", "tcp 127.0.0.1:9 > 255.255.255.255:22 link=RAW", StackNone, StackLoopbackWire, true},
		{"all hosts", "tcp 10.0.0.9:9 > 224.0.0.1:22 link=RAW", StackNone, StackNone, true},
		{"all hosts from 0.0.0.0", "tcp 0.0.0.0:9 > 224.0.0.1:22 link=RAW", StackNone, StackNone, true},
		{"record route", v4 + "ip.options=0707040000000000", StackNone, StackNone, true},
		{"record route full", v4 + "ip.options=0707080000000000", StackNone, StackNone, true},
		{"record route pointer low", v4 + "ip.options=0707030000000000", StackNone, StackIPOptions, true},
		{"option too long", v4 + "ip.options=0709040000000000", StackNone, StackIPOptions, true},
		{"option without length", v4 + "ip.options=01010107", StackNone, StackIPOptions, true},
		{"source route", v4 + "ip.options=8307040000000000", StackNone, StackSourceRoute, true},
		{"router alert", v4 + "ip.options=94040000", StackNone, StackNone, true},
		{"unknown option", v4 + "ip.options=99040000", StackNone, StackNone, true},
		{"timestamp", v4 + "ip.options=4408050000000000", StackNone, StackNone, true},
		{"timestamp overflow", v4 + "ip.options=440809f000000000", StackNone, StackIPOptions, true},
		{"end of list, then anything", v4 + "ip.options=00ff0101", StackNone, StackNone, true},

		{"ipv6", v6, StackNone, StackNone, true},
		{"hop-by-hop with 6 pad1", v6 + "ext=hbh:000000000000", StackNone, StackNone, true},
		{"hop-by-hop with 8 pad1", v6 + "ext=hbh:0000000000000000010400000000", StackHopByHop, StackNone, true},
		{"hop-by-hop padn with content", v6 + "ext=hbh:010400000100", StackHopByHop, StackNone, true},
		{"hop-by-hop padn of 8", v6 + "ext=hbh:0106000000000000010400000000", StackHopByHop, StackNone, true},
		{"hop-by-hop unknown to skip", v6 + "ext=hbh:1e0400000000", StackNone, StackNone, true},
		{"hop-by-hop unknown to discard", v6 + "ext=hbh:5e0400000000", StackHopByHop, StackNone, true},
		{"hop-by-hop router alert", v6 + "ext=hbh:050200000100", StackNone, StackNone, true},
		{"hop-by-hop two router alerts", v6 + "ext=hbh:0502000005020000010400000000", StackNone, StackNone, true},
		{"hop-by-hop small jumbo", v6 + "ext=hbh:c20400000030 ip6.length=0", StackHopByHop, StackNone, true},
		{"hop-by-hop with payload length 0", v6 + "ext=hbh:010400000000 ip6.length=0", StackNone, StackNone, true},
		{"hop-by-hop option overrun", v6 + "ext=hbh:1e0900000000", StackHopByHop, StackNone, true},
		{"hop-by-hop 9 options", v6 + "ext=hbh:1e001e001e001e001e001e001e001e001e0001020000", StackHopByHop, StackNone, true},
		{"20 destination options", v6 + "ext=dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst,dst", StackNone, StackNone, true},
		{"first fragment", v6 + "frag=first", StackNone, StackNone, true},
		{"later fragment", v6 + "frag=8", StackNone, StackNone, true},
		{"destination scope 0", "tcp [2001:db8::9]:9 > [ff10::1]:22 link=RAW", StackMulticastScope, StackNone, true},
		{"source link-local", "tcp [fe80::9]:9 > [2001:db8::1]:22 link=RAW", StackNone, StackNone, true},
		{"source ::", "tcp [::]:9 > [2001:db8::1]:22 link=RAW", StackNone, StackNone, true},
		{"source ::1", "tcp [::1]:9 > [2001:db8::1]:22 link=RAW", StackLoopback, StackNone, true},
		{"source multicast, ipv6", "tcp [ff02::1]:9 > [2001:db8::1]:22 link=RAW", StackSrcMulticast, StackNone, true},
		{"payload length too long", v6 + "ip6.length=60", StackTotalLength, StackNone, true},
		{"version 4 under EtherType IPv6", "tcp [2001:db8::9]:9 > [2001:db8::1]:22 version=4", StackVersion, StackNone, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Packet
			if err := ParseTuple(tt.line, &p); err != nil {
				t.Fatal(err)
			}
			if got := p.StackPrerouting(); got != tt.prerouting {
				t.Errorf("before prerouting %q, want %q", got, tt.prerouting)
			}
			if got := p.StackRoute(); got != tt.route {
				t.Errorf("after prerouting %q, want %q", got, tt.route)
			}
			p.Enter(ViewInet)
			if got := p.Info.L4Set && p.Info.L4Proto == ProtoTCP; got != tt.transportOK {
				t.Errorf("transport set: %v, want %v", got, tt.transportOK)
			}
		})
	}
}

// In Linux 6.18 `tcp dport 22` and `tcp sequence 1000` match a later fragment
// whose bytes happen to fit, `@th,16,24` and `@th,32,64` do not.
func TestLoadFromLaterFragment(t *testing.T) {
	var p Packet
	if err := ParseTuple("tcp 10.0.0.9:9 > 10.0.0.1:22 frag=8", &p); err != nil {
		t.Fatal(err)
	}
	p.Enter(ViewInet)
	for _, tt := range []struct {
		off, n int
		want   string
		absent Absent
	}{
		{2, 2, "0016", None}, {4, 4, "000003e8", None}, {13, 1, "02", None},
		{2, 3, "", Fragment}, {4, 8, "", Fragment}, {1, 2, "", Fragment},
	} {
		b := make([]byte, tt.n)
		a := p.Load(BaseTransport, tt.off, b)
		if a != tt.absent || a == None && hex.EncodeToString(b) != tt.want {
			t.Errorf("load of %d at %d: %x, %v", tt.n, tt.off, b, a)
		}
		if _, a := p.Slice(BaseTransport, tt.off, tt.n); a != Fragment {
			t.Errorf("slice of %d at %d: %v", tt.n, tt.off, a)
		}
	}
}
