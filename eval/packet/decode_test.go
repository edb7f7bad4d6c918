package packet

import (
	"encoding/hex"
	"strings"
	"testing"
)

// unhex reads hex with spaces.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	hexEther = "02000000000102000000000b "
	hexIP4   = "4500 0028 0000 4000 4006 0000 c6336409 c6336401 " // 198.51.100.9 > .1, checksum not set
	hexTCP   = "0009 0016 00000001 00000000 5002 2000 0000 0000 "
	hexIP6   = "60000000 0014 06 40 20010db8000000000000000000000009 20010db8000000000000000000000001 "
	hexARP   = "0001 0800 06 04 0001 02000000000b c6336409 000000000000 c6336401"
)

func TestDecodeLinkTypes(t *testing.T) {
	tests := []struct {
		name     string
		lt       LinkType
		hex      string
		nh       int
		etherTyp uint16
		llLen    int
		note     LinkNote
	}{
		{"ethernet", LinkEthernet, hexEther + "0800" + hexIP4 + hexTCP, 14, EtherIPv4, 14, NoteNone},
		{"ethernet ipv6", LinkEthernet, hexEther + "86dd" + hexIP6 + hexTCP, 14, EtherIPv6, 14, NoteNone},
		{"arp", LinkEthernet, hexEther + "0806" + hexARP, 14, EtherARP, 14, NoteNone},
		{"vlan", LinkEthernet, hexEther + "8100 6005 0800" + hexIP4 + hexTCP, 18, EtherIPv4, 14, NoteNone},
		{"two vlans stay one deep", LinkEthernet, hexEther + "88a8 0005 8100 0006 0800" + hexIP4, 18, EtherVLAN, 14, NoteNone},
		{"802.3 with llc", LinkEthernet, hexEther + "0026 424203" + hexIP4, 14, Ether802_2, 14, NoteNone},
		{"802.3 raw", LinkEthernet, hexEther + "0026 ffff00" + hexIP4, 14, Ether802_3, 14, NoteNone},
		{"vlan cut short", LinkEthernet, hexEther + "8100 6005", -1, EtherVLAN, 14, NoteShortVLAN},
		{"ethernet cut short", LinkEthernet, hexEther, -1, 0, 0, NoteShort},
		{"empty", LinkEthernet, "", -1, 0, 0, NoteShort},
		{"pppoe stays whole", LinkEthernet, hexEther + "8864 1100 0001 002a 0021" + hexIP4, 14, EtherPPPoE, 14, NoteNone},
		{"raw", LinkRaw, hexIP4 + hexTCP, 0, EtherIPv4, 0, NoteNone},
		{"raw ipv6", LinkRaw, hexIP6, 0, EtherIPv6, 0, NoteNone},
		{"raw nonsense", LinkRaw, "00", -1, 0, 0, NoteBadVersion},
		{"null", LinkNull, "02000000" + hexIP4, 4, EtherIPv4, 0, NoteNone},
		{"null big-endian", LinkNull, "00000002" + hexIP4, 4, EtherIPv4, 0, NoteNone},
		{"null darwin ipv6", LinkNull, "1e000000" + hexIP6, 4, EtherIPv6, 0, NoteNone},
		{"loop", LinkLoop, "00000018" + hexIP6, 4, EtherIPv6, 0, NoteNone},
		{"ppp", LinkPPP, "ff03 0021" + hexIP4, 4, EtherIPv4, 0, NoteNone},
		{"ppp short protocol", LinkPPP, "21" + hexIP4, 1, EtherIPv4, 0, NoteNone},
		{"ppp without address", LinkPPP, "0057" + hexIP6, 2, EtherIPv6, 0, NoteNone},
		{"ppp lcp", LinkPPP, "ff03 c021 0100", -1, 0, 0, NoteControl},
		{"ppp serial as cisco", LinkPPPSerial, "0f00 0800" + hexIP4, 4, EtherIPv4, 0, NoteNone},
		{"cisco hdlc", LinkCHDLC, "0f00 86dd" + hexIP6, 4, EtherIPv6, 0, NoteNone},
		{"cisco slarp", LinkCHDLC, "8f00 8035 0000", -1, 0x8035, 0, NoteControl},
		{"frame relay", LinkFrameRelay, "1841 03 cc" + hexIP4, 4, EtherIPv4, 0, NoteNone},
		{"frame relay snap", LinkFrameRelay, "1841 03 00 80 000000 0800" + hexIP4, 10, EtherIPv4, 0, NoteNone},
		{"frame relay cisco", LinkFrameRelay, "1841 0800" + hexIP4, 4, EtherIPv4, 0, NoteNone},
		{"multilink whole", LinkMFR, "c001 1841 03 cc" + hexIP4, 6, EtherIPv4, 0, NoteNone},
		{"multilink piece", LinkMFR, "8001 1841 03 cc", -1, 0, 0, NoteFragmented},
		{"cooked", LinkLinuxSLL, "0000 0001 0006 02000000000b0000 0800" + hexIP4, 16, EtherIPv4, 0, NoteNone},
		{"cooked vlan", LinkLinuxSLL, "0000 0001 0006 02000000000b0000 8100 0005 0800" + hexIP4, 20, EtherIPv4, 0, NoteNone},
		{"cooked 2", LinkSLL2, "86dd 0000 00000003 0001 04 06 02000000000b0000" + hexIP6, 20, EtherIPv6, 0, NoteNone},
		{"token ring", LinkIEEE8025, "10 40 02000000000b 020000000001 aaaa03 000000 0800" + hexIP4, 22, EtherIPv4, 0, NoteNone},
		{"token ring with route", LinkIEEE8025, "10 40 02000000000b 820000000001 0630 0011 0022 aaaa03 000000 0800" + hexIP4, 28, EtherIPv4, 0, NoteNone},
		{"fddi", LinkFDDI, "51 02000000000b 020000000001 aaaa03 000000 0800" + hexIP4, 21, EtherIPv4, 0, NoteNone},
		{"wlan", LinkIEEE80211, "0801 0000 020000000001 020000000002 020000000003 0000 aaaa03 000000 0800" + hexIP4, 32, EtherIPv4, 0, NoteNone},
		{"wlan qos both ds", LinkIEEE80211, "8803 0000 020000000001 020000000002 020000000003 0000 020000000004 0000 aaaa03 000000 0800" + hexIP4, 40, EtherIPv4, 0, NoteNone},
		{"wlan encrypted", LinkIEEE80211, "0841 0000 020000000001 020000000002 020000000003 0000 00", -1, 0, 0, NoteEncrypted},
		{"wlan beacon", LinkIEEE80211, "8000 0000", -1, 0, 0, NoteControl},
		{"radiotap", LinkRadiotap, "0000 0900 02000000 10 0801 0000 020000000001 020000000002 020000000003 0000 aaaa03 000000 0800" + hexIP4 + "deadbeef", 41, EtherIPv4, 0, NoteNone},
		{"sun atm llc", LinkSunATM, "02 00 0020 aaaa03 000000 0800" + hexIP4, 12, EtherIPv4, 0, NoteNone},
		{"arcnet rfc 1201", LinkARCNETLinux, "01 02 0000 d4 00 0001" + hexIP4, 8, EtherIPv4, 0, NoteNone},
		{"arcnet rfc 1051", LinkARCNETLinux, "01 00 0000 f1" + hexARP, 5, EtherARP, 0, NoteNone},
		{"nflog", LinkNFLOG, "02 00 0005  0800 0100 0800 01 00  0800 0200 00000010  2c00 0900" + hexIP4 + hexTCP, 24, EtherIPv4, 0, NoteNone},
		{"nflog without payload", LinkNFLOG, "02 00 0005  0800 0100 0800 01 00", -1, 0, 0, NoteNoPayloadTLV},
		{"broadcom tag", LinkBRCMTag, hexEther + "20000001 0800" + hexIP4, 18, EtherIPv4, 14, NoteSwitchTag},
		{"broadcom tag in front", LinkBRCMPrepend, "20000001" + hexEther + "0800" + hexIP4, 18, EtherIPv4, 14, NoteSwitchTag},
		{"edsa", LinkEDSA, hexEther + "dada 0000 c0180000 0800" + hexIP4, 22, EtherIPv4, 14, NoteSwitchTag},
		{"802.15.4", LinkIEEE802154, "4188", -1, 0, 0, NoteUnknownLink},
		{"unknown number", 9999, "00", -1, 0, 0, NoteUnknownLink},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Packet
			p.SetFrame(tt.lt, unhex(t, tt.hex), 0)
			if p.NH != tt.nh || p.EtherType != tt.etherTyp || p.LLLen != tt.llLen || p.Note != tt.note {
				t.Errorf("NH %d, EtherType %#04x, LLLen %d, note %q; want %d, %#04x, %d, %q",
					p.NH, p.EtherType, p.LLLen, p.Note, tt.nh, tt.etherTyp, tt.llLen, tt.note)
			}
			if (p.NH < 0) != (p.NHAbsent != None) {
				t.Errorf("NH %d but NHAbsent %v", p.NH, p.NHAbsent)
			}
		})
	}
}

func TestEnter(t *testing.T) {
	eth := hexEther + "0800"
	eth6 := hexEther + "86dd"
	ip6 := func(plen, next string) string {
		return "60000000 " + plen + next + "40 20010db8000000000000000000000009 20010db8000000000000000000000001 "
	}
	tests := []struct {
		name   string
		hex    string
		wire   int
		view   View
		run    bool
		proto  int // -1: not set
		th     int
		absent Absent
		length int
	}{
		{"tcp at input", eth + hexIP4 + hexTCP, 0, ViewInet, true, 6, 34, None, 40},
		{"padding is trimmed at input", eth + hexIP4 + hexTCP + "000000000000", 0, ViewInet, true, 6, 34, None, 40},
		{"padding is there at ingress", eth + hexIP4 + hexTCP + "000000000000", 0, ViewIngress, true, 6, 34, None, 46},
		{"link layer counts at egress", eth + hexIP4 + hexTCP, 0, ViewEgress, true, 6, 34, None, 54},
		{"arp view has no transport", eth + hexIP4 + hexTCP, 0, ViewARP, true, -1, -1, NoTransportHeader, 40},
		{"later fragment", eth + "4500 0028 0000 0001 4006 0000 c6336409 c6336401" + hexTCP, 0, ViewInet, true, 6, 34, Fragment, 40},
		{"total length lies at ingress", eth + "4500 0128 0000 0000 4006 0000 c6336409 c6336401" + hexTCP, 0, ViewIngress, true, -1, -1, Malformed, 40},
		{"total length lies at inet ingress", eth + "4500 0128 0000 0000 4006 0000 c6336409 c6336401" + hexTCP, 0, ViewInetIngress, false, -1, -1, Malformed, 40},
		{"snap length hides the rest", eth + "4500 0128 0000 0000 4006 0000 c6336409 c6336401" + hexTCP, 14 + 0x128, ViewInetIngress, true, 6, 34, None, 0x128},
		{"header not captured", eth + "4500", 100, ViewIngress, true, -1, -1, Truncated, 86},
		{"ipv6 tcp", eth6 + hexIP6 + hexTCP, 0, ViewBridge, true, 6, 54, None, 60},
		{"ipv6 hop-by-hop", eth6 + ip6("001c", "00") + "0600 0104 00000000" + hexTCP, 0, ViewInet, true, 6, 62, None, 68},
		{"ipv6 first fragment", eth6 + ip6("001c", "2c") + "0600 0001 00000007" + hexTCP, 0, ViewInet, true, 6, 62, None, 68},
		{"ipv6 later fragment", eth6 + ip6("001c", "2c") + "0600 0009 00000007" + hexTCP, 0, ViewInet, true, 6, 14, Fragment, 68},
		{"ipv6 later fragment of an extension header", eth6 + ip6("001c", "2c") + "3c00 0009 00000007" + hexTCP, 0, ViewInet, true, -1, -1, NotFound, 68},
		{"ipv6 ah is the transport", eth6 + ip6("0020", "33") + "0601 0000 00000001 00000001" + hexTCP, 0, ViewInet, true, 51, 54, None, 72},
		{"ipv6 no next header", eth6 + ip6("0000", "3b"), 0, ViewInet, true, 59, 54, None, 40},
		{"ipv6 extension header past the end", eth6 + ip6("0008", "3c") + "0605 0104 00000000", 0, ViewInet, true, 6, 102, None, 48},
		{"ipv6 mobility is a transport", eth6 + ip6("0008", "87") + "3b00 0000 00000000", 0, ViewInet, true, 135, 54, None, 48},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Packet
			p.SetFrame(LinkEthernet, unhex(t, tt.hex), tt.wire)
			run := p.Enter(tt.view)
			proto := -1
			if p.Info.L4Set {
				proto = int(p.Info.L4Proto)
			}
			if run != tt.run || proto != tt.proto || p.Info.TH != tt.th || p.Info.THAbsent != tt.absent || p.Info.Len() != tt.length {
				t.Errorf("run %v, l4proto %d, TH %d, absent %q, length %d; want %v, %d, %d, %q, %d",
					run, proto, p.Info.TH, p.Info.THAbsent, p.Info.Len(), tt.run, tt.proto, tt.th, tt.absent, tt.length)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name   string
		lt     LinkType
		hex    string
		wire   int
		base   Base
		off, n int
		want   string
		absent Absent
	}{
		{"ether type", LinkEthernet, hexEther + "0800" + hexIP4, 0, BaseLL, 12, 2, "0800", None},
		{"vlan tag is put back", LinkEthernet, hexEther + "8100 6005 0800" + hexIP4, 0, BaseLL, 12, 6, "810060050800", None},
		{"network header after the tag", LinkEthernet, hexEther + "8100 6005 0800" + hexIP4, 0, BaseNetwork, 0, 2, "4500", None},
		{"switch tag is hidden", LinkBRCMTag, hexEther + "20000001 0800" + hexIP4, 0, BaseLL, 10, 4, "000b0800", None},
		{"no link layer on raw", LinkRaw, hexIP4, 0, BaseLL, 0, 6, "", NoLinkHeader},
		{"link layer not in a cooked capture", LinkLinuxSLL, "0000 0001 0006 02000000000b0000 0800" + hexIP4, 0, BaseLL, 0, 6, "", LinkNotCaptured},
		{"source address of a cooked capture", LinkLinuxSLL, "0000 0001 0006 02000000000b0000 0800" + hexIP4, 0, BaseLL, 6, 6, "02000000000b", None},
		{"ether type of a cooked capture", LinkLinuxSLL, "0000 0001 0006 02000000000b0000 0800" + hexIP4, 0, BaseLL, 12, 2, "0800", None},
		{"vlan of a cooked capture", LinkLinuxSLL, "0000 0001 0006 02000000000b0000 8100 0005 0800" + hexIP4, 0, BaseLL, 12, 6, "810000050800", None},
		{"tunnel in a cooked capture", LinkLinuxSLL, "0000 fffe 0006 02000000000b0000 0800" + hexIP4, 0, BaseLL, 12, 2, "", NoLinkHeader},
		{"addresses of a wlan frame", LinkIEEE80211, "0801 0000 020000000001 020000000002 020000000003 0000 aaaa03 000000 0800" + hexIP4, 0, BaseLL, 0, 14, "0200000000030200000000020800", None},
		{"llc in a vlan", LinkEthernet, hexEther + "8100 0005 0026 424203" + hexIP4, 0, BaseLL, 12, 8, "8100000500044242", None},
		{"ports", LinkRaw, hexIP4 + hexTCP, 0, BaseTransport, 0, 4, "00090016", None},
		{"past the end", LinkRaw, hexIP4 + "0009", 0, BaseTransport, 0, 4, "", PastEnd},
		{"past the captured bytes", LinkRaw, hexIP4 + "0009", 40, BaseTransport, 0, 4, "", Truncated},
		{"past the captured bytes and the total length", LinkRaw, hexIP4 + "0009", 60, BaseTransport, 20, 4, "", PastEnd},
		{"inner of tcp", LinkRaw, "4500 002c 0000 4000 4006 0000 c6336409 c6336401 " + hexTCP + "01020304", 0, BaseInner, 0, 4, "01020304", None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Packet
			p.SetFrame(tt.lt, unhex(t, tt.hex), tt.wire)
			p.Enter(ViewInet)
			dst := make([]byte, tt.n)
			a := p.Load(tt.base, tt.off, dst)
			if a != tt.absent {
				t.Fatalf("got %q, want %q", a, tt.absent)
			}
			if a == None && hex.EncodeToString(dst) != tt.want {
				t.Errorf("got %x, want %s", dst, tt.want)
			}
		})
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	frame := unhex(t, hexEther+"8100 6005 86dd"+hexIP6+hexTCP)
	var p Packet
	var dst [4]byte
	if n := testing.AllocsPerRun(100, func() {
		p.SetFrame(LinkEthernet, frame, 0)
		p.Enter(ViewInet)
		p.Load(BaseTransport, 0, dst[:])
	}); n != 0 {
		t.Errorf("%v allocations a packet, want 0", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	frames := map[string]string{
		"ether-ip-tcp":       hexEther + "0800" + hexIP4 + hexTCP,
		"ether-vlan-ip6-tcp": hexEther + "8100 6005 86dd" + hexIP6 + hexTCP,
	}
	for name, h := range frames {
		frame := unhex(b, h)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var p Packet
			for b.Loop() {
				p.SetFrame(LinkEthernet, frame, 0)
				p.Enter(ViewInet)
			}
		})
	}
}
