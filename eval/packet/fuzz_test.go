package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzDecode decodes bytes as every link type, and looks at the result in every
// way; printing it as a tuple and reading that back must give the same packet.
func FuzzDecode(f *testing.F) {
	add := func(lt LinkType, h string) { f.Add(uint16(lt), unhex(f, h), uint16(0)) }
	add(LinkEthernet, hexEther+"0800"+hexIP4+hexTCP)
	add(LinkEthernet, hexEther+"8100 6005 8100 0006 86dd"+hexIP6+hexTCP)
	add(LinkEthernet, hexEther+"0806"+hexARP)
	add(LinkRaw, hexIP6)
	add(LinkPPP, "ff03 0021"+hexIP4)
	add(LinkFrameRelay, "1841 03 00 80 000000 0800"+hexIP4)
	add(LinkIEEE80211, "8803 0000 020000000001 020000000002 020000000003 0000 020000000004 0000 aaaa03 000000 0800"+hexIP4)
	add(LinkRadiotap, "0000 0900 02000000 10 0801 0000 020000000001 020000000002 020000000003 0000 aaaa03 000000 0800"+hexIP4)
	add(LinkNFLOG, "02 00 0005  0800 0100 0800 01 00  0800 0200 00000010  2c00 0900"+hexIP4+hexTCP)
	add(LinkPKTAP, "28000000 01000000 65000000 656e3000"+strings.Repeat("00", 20)+"01000000"+hexIP4)
	add(LinkSLL2, "86dd 0000 00000003 0001 04 06 02000000000b0000"+hexIP6)
	f.Fuzz(func(t *testing.T, lt uint16, data []byte, more uint16) {
		var p, q Packet
		p.SetFrame(LinkType(lt), data, len(data)+int(more))
		walkAll(&p)
		line := p.Tuple()
		if err := ParseTuple(line, &q); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !bytes.Equal(p.Data, q.Data) || p.WireLen != q.WireLen || p.LinkType != q.LinkType || p.Stated != q.Stated {
			t.Errorf("%s\ngives %x, not %x\nstated %+v, not %+v", line, q.Data, p.Data, q.Stated, p.Stated)
		}
	})
}

// FuzzRead reads bytes as a capture.
func FuzzRead(f *testing.F) {
	le, be := order(binary.LittleEndian), order(binary.BigEndian)
	data := []byte{0x45, 1, 2, 3}
	f.Add(pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 4, 4, data)))
	f.Add(pcapFile(be, magicNano, 4, 1, pcapRecord(be, 1, 2, 4, 40, data)))
	ng := bytes.Join([][]byte{ngSection(be), ngIface(be, LinkRaw, 0, ngOption(be, 2, []byte("a"))), ngEnhanced(be, 0, 1, 4, data),
		ngSection(le), ngIface(le, LinkNull, 0, ngOption(le, 9, []byte{0x83})), ngEnhanced(le, 0, 1, 4, data, ngOption(le, 2, data))}, nil)
	f.Add(ng)
	f.Add(zipped(ng))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := NewSource("f", bytes.NewReader(file), KindAny)
		packets := 0
		for err == nil {
			var p Packet
			if err = s.Next(&p); err == nil {
				walkAll(&p)
				packets++
			}
			if packets > 8*len(file)+100 && s.Format() != "packet notation" && s.Format() != "CSV" && s.Format() != "JSON Lines" {
				t.Fatalf("%d packets out of %d bytes", packets, len(file))
			}
			if packets > 100_000 {
				break
			}
		}
		var re *ReadError
		var les *LineErrors
		if err != nil && err != io.EOF && !errors.As(err, &re) && !errors.As(err, &les) {
			t.Errorf("untyped error %T: %v", err, err)
		}
	})
}

// FuzzTuple parses a line, prints the packet and parses again: the packet and
// the printed line stay the same.
func FuzzTuple(f *testing.F) {
	for _, s := range []string{
		"p1: tcp 198.51.100.9:9 > 198.51.100.1:22 flags=syn in=lan0 hook=input => accept; matches: a",
		"udp [2001:db8::9]:9 > [2001:db8::1]:53 vid=5 pcp=3 cvid=6 ext=hbh,dst frag=8+ payload=0102 ct=new,established",
		"icmp 1.2.3.4 > 5.6.7.8 type=echo-request code=3 id=7 ip.id=8 checksum=bad pad=3",
		"arp 1.2.3.4 > 5.6.7.8 operation=reply tha=02:00:00:00:00:07",
		"ether 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff type=0x0026 payload=424203",
		"tcp 1.2.3.4:1 > 5.6.7.8:2 options=mss:1460,sackperm,timestamp:1:2,nop,wscale:7,30:aabb link=RAW",
		"frame=4500 link=IPV4 wirelen=100 time=1.5 dir=out in=\"a b\"",
		"sctp 1.2.3.4:1 > 5.6.7.8:2 chunk=init:0102,data ip.options=94040000",
		"dccp 1.2.3.4:1 > 5.6.7.8:2 type=data", "gre 1.2.3.4 > 5.6.7.8 protocol=ip6 version=1", "igmp 1.2.3.4 > 224.0.0.1 group=224.0.0.5",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var p, q Packet
		if err := ParseTuple(line, &p); err != nil {
			return
		}
		if len(p.Data) > 1<<16 {
			return
		}
		walkAll(&p)
		printed := p.Tuple()
		if err := ParseTuple(printed, &q); err != nil {
			t.Fatalf("%s: %v", printed, err)
		}
		if !bytes.Equal(p.Data, q.Data) || p.WireLen != q.WireLen || p.LinkType != q.LinkType || p.Stated != q.Stated {
			t.Errorf("%s\ngives %x, not %x\nstated %+v, not %+v", printed, q.Data, p.Data, q.Stated, p.Stated)
		}
		if again := q.Tuple(); again != printed {
			t.Errorf("printed %s\nthen    %s", printed, again)
		}
	})
}
