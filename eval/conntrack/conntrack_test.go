package conntrack

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nftc/nftc/eval/packet"
)

var both = Zone{Dir: ZoneDirBoth}

// tuple makes a packet from a line of packet notation, entered at an inet hook.
func tuple(t testing.TB, line string) *packet.Packet {
	t.Helper()
	p := new(packet.Packet)
	if err := packet.ParseTuple(line, p); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	p.Enter(packet.ViewInet)
	return p
}

// word is what rules see of an outcome.
func word(o Outcome) string {
	switch {
	case o.Conn != nil:
		return o.Info.String()
	case o.Info == Untracked:
		return "untracked"
	}
	return "invalid"
}

// step is one packet of a trace: when, the packet, what is expected, and the
// state of its connection afterwards. A leading ! in want drops the packet:
// it is not confirmed.
type step struct {
	at    float64
	line  string
	want  string
	state string
}

func play(t *testing.T, tr *Tracker, steps []step) {
	t.Helper()
	for i, s := range steps {
		want, drop := strings.CutPrefix(s.want, "!")
		p := tuple(t, s.line)
		now := int64(s.at * 1e9)
		o := tr.In(p, Prerouting, both, now)
		if got := word(o); got != want {
			t.Fatalf("step %d: %s: %s, want %s", i, s.line, got, want)
		}
		if o.Conn != nil && !drop && !tr.Confirm(o.Conn, o.Info, now) {
			t.Fatalf("step %d: %s: not confirmed", i, s.line)
		}
		if o.Conn != nil && s.state != "" && o.Conn.StateName() != s.state {
			t.Fatalf("step %d: %s: state %s, want %s", i, s.line, o.Conn.StateName(), s.state)
		}
		if o.Conn != nil && drop {
			tr.Release(o.Conn)
		}
	}
}

const (
	c2s = "tcp 10.0.0.1:1000 > 10.0.0.2:80 window=1000 "
	s2c = "tcp 10.0.0.2:80 > 10.0.0.1:1000 window=1000 "
)

func TestTCP(t *testing.T) {
	open := []step{
		{1, c2s + "flags=syn seq=100", "new", "SYN_SENT"},
		{1, s2c + "flags=syn,ack seq=500 ack=101", "established, reply", "SYN_RECV"},
		{1, c2s + "flags=ack seq=101 ack=501", "established", "ESTABLISHED"},
	}
	for _, c := range []struct {
		name  string
		cfg   Config
		steps []step
	}{
		{"close from the client", Config{}, append(open[:3:3],
			step{2, c2s + "flags=fin,ack seq=101 ack=501", "established", "FIN_WAIT"},
			step{2, s2c + "flags=ack seq=501 ack=102", "established, reply", "CLOSE_WAIT"},
			step{2, s2c + "flags=fin,ack seq=501 ack=102", "established, reply", "LAST_ACK"},
			step{2, c2s + "flags=ack seq=102 ack=502", "established", "TIME_WAIT"},
			// Reopened out of TIME_WAIT: a new connection.
			step{3, c2s + "flags=syn seq=9000", "new", "SYN_SENT"})},
		{"reset", Config{}, append(open[:3:3],
			step{2, s2c + "flags=rst seq=501", "established, reply", "CLOSE"},
			step{20, c2s + "flags=ack seq=101 ack=501", "new", "ESTABLISHED"})},
		{"reset out of sequence", Config{}, append(open[:3:3],
			step{2, s2c + "flags=rst seq=400", "invalid", ""},
			step{2, s2c + "flags=rst,ack seq=600 ack=101", "established, reply", "ESTABLISHED"})},
		{"out of window", Config{}, append(open[:3:3],
			step{2, c2s + "flags=ack seq=101 ack=90000", "invalid", ""},
			step{2, c2s + "flags=ack seq=200000 ack=501", "invalid", ""},
			step{2, c2s + "flags=ack,psh seq=101 ack=501 payload=01020304", "established", "ESTABLISHED"})},
		{"liberal", Config{Liberal: true}, append(open[:3:3],
			step{2, c2s + "flags=ack seq=200000 ack=501", "established", "ESTABLISHED"})},
		{"syn in an established connection is let through", Config{}, append(open[:3:3],
			step{2, c2s + "flags=syn seq=7000", "established", "ESTABLISHED"})},
		{"simultaneous open", Config{}, []step{
			{1, c2s + "flags=syn seq=100", "new", "SYN_SENT"},
			{1, s2c + "flags=syn seq=500", "established, reply", "SYN_SENT2"},
			{1, s2c + "flags=syn,ack seq=500 ack=101", "established, reply", "SYN_RECV"},
		}},
		{"picked up", Config{}, []step{
			{1, c2s + "flags=ack seq=100 ack=7", "new", "ESTABLISHED"},
			{1, s2c + "flags=ack seq=7 ack=100", "established, reply", "ESTABLISHED"},
		}},
		{"not picked up", Config{NotLoose: true}, []step{{1, c2s + "flags=ack seq=100 ack=7", "invalid", ""}}},
		{"unanswered syn and reset", Config{}, []step{
			{1, c2s + "flags=syn seq=100", "new", "SYN_SENT"},
			{1, c2s + "flags=rst seq=101", "new", ""},
			{1, s2c + "flags=syn,ack seq=500 ack=101", "invalid", ""},
		}},
		{"flags", Config{}, []step{
			{1, c2s + "flags=none", "invalid", ""},
			{1, c2s + "flags=fin", "invalid", ""},
			{1, c2s + "flags=syn,fin", "invalid", ""},
			{1, c2s + "flags=fin,psh,urg", "invalid", ""},
			{1, c2s + "flags=syn,rst", "invalid", ""},
			{1, c2s + "flags=fin,ack seq=1 ack=1", "invalid", ""},
			{1, c2s + "flags=rst seq=1", "invalid", ""},
			{1, c2s + "flags=syn,ack seq=1 ack=1", "invalid", ""},
			{1, c2s + "flags=syn,ecn,cwr seq=1", "new", "SYN_SENT"},
		}},
		{"checksum", Config{}, []step{{1, c2s + "flags=syn seq=1 checksum=bad", "invalid", ""}}},
		{"checksum off", Config{NoChecksum: true}, []step{{1, c2s + "flags=syn seq=1 checksum=bad", "new", ""}}},
		{"syn timeout", Config{}, []step{
			{1, c2s + "flags=syn seq=100", "new", "SYN_SENT"},
			{122, s2c + "flags=syn,ack seq=500 ack=101", "invalid", ""},
		}},
		{"first packet dropped", Config{}, []step{
			{1, c2s + "flags=syn seq=100", "!new", ""},
			{1, s2c + "flags=syn,ack seq=500 ack=101", "invalid", ""},
		}},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, NewTracker(c.cfg), c.steps) })
	}
}

func TestOtherProtocols(t *testing.T) {
	const (
		q = "udp 10.0.0.1:1000 > 10.0.0.2:53 "
		a = "udp 10.0.0.2:53 > 10.0.0.1:1000 "
	)
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"udp", []step{{1, q, "new", ""}, {2, q, "new", ""}, {3, a, "established, reply", ""}, {3, q, "established", ""}, {34, q, "new", ""}}},
		{"udp stream lives longer", []step{{1, q, "new", ""}, {2, a, "established, reply", ""}, {4, q, "established", ""},
			{5, a, "established, reply", ""}, {100, q, "established", ""}}},
		{"udp length", []step{{1, q + "udp.length=99", "invalid", ""}}},
		{"udp without checksum", []step{{1, q + "checksum=0", "new", ""}}},
		{"echo", []step{
			{1, "icmp 10.0.0.1 > 10.0.0.2 type=8 id=5", "new", ""},
			{1, "icmp 10.0.0.2 > 10.0.0.1 type=0 id=6", "invalid", ""},
			{1, "icmp 10.0.0.2 > 10.0.0.1 type=0 id=5", "established, reply", ""},
			{1, "icmp 10.0.0.1 > 10.0.0.2 type=8 id=5", "established", ""},
		}},
		{"icmp types", []step{
			{1, "icmp 10.0.0.1 > 10.0.0.2 type=10", "invalid", ""},
			{1, "icmp 10.0.0.1 > 10.0.0.2 type=13 id=5", "new", ""},
			{1, "icmp 10.0.0.1 > 10.0.0.2 type=40", "invalid", ""},
		}},
		{"icmpv6", []step{
			{1, "icmpv6 2001:db8::1 > 2001:db8::2 type=128 id=5", "new", ""},
			{1, "icmpv6 2001:db8::2 > 2001:db8::1 type=129 id=5", "established, reply", ""},
			{1, "icmpv6 fe80::1 > ff02::1 type=134 hoplimit=255", "untracked", ""},
			{1, "icmpv6 fe80::1 > ff02::16 type=143", "untracked", ""},
			{1, "icmpv6 2001:db8::1 > 2001:db8::2 type=1", "invalid", ""},
			{1, "icmpv6 2001:db8::1 > 2001:db8::2 type=200", "invalid", ""},
		}},
		{"generic", []step{
			{1, "ip 10.0.0.1 > 10.0.0.2 proto=89 payload=00", "new", ""},
			{1, "ip 10.0.0.2 > 10.0.0.1 proto=89 payload=00", "established, reply", ""},
		}},
		{"gre", []step{
			{1, "gre 10.0.0.1 > 10.0.0.2", "new", ""},
			{1, "gre 10.0.0.2 > 10.0.0.1", "established, reply", ""},
		}},
		{"fragment", []step{{1, "ip 10.0.0.1 > 10.0.0.2 proto=17 frag=1480 payload=0102030405060708", "invalid", ""}}},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, NewTracker(Config{}), c.steps) })
	}
}

func TestErrorsAreRelated(t *testing.T) {
	tr := NewTracker(Config{})
	inner := tuple(t, "udp 10.0.0.1:1000 > 10.0.0.2:53 link=RAW")
	play(t, tr, []step{{1, "udp 10.0.0.1:1000 > 10.0.0.2:53", "new", ""}})
	for _, c := range []struct{ to, want string }{
		{"10.0.0.1", "related, reply"}, // answers the original direction
		{"10.0.0.7", "invalid"},        // sent to someone else
	} {
		p := tuple(t, fmt.Sprintf("icmp 192.0.2.1 > %s type=3 code=1 payload=%x", c.to, inner.Data))
		if got := word(tr.In(p, Prerouting, both, 2e9)); got != c.want {
			t.Errorf("to %s: %s, want %s", c.to, got, c.want)
		}
	}
}

func TestZones(t *testing.T) {
	tr := NewTracker(Config{})
	one, two := Zone{ID: 1, Dir: ZoneDirBoth}, Zone{ID: 2, Dir: ZoneDirBoth}
	p := tuple(t, "udp 10.0.0.1:1000 > 10.0.0.2:53")
	o := tr.In(p, Prerouting, one, 1)
	tr.Confirm(o.Conn, o.Info, 1)
	r := tuple(t, "udp 10.0.0.2:53 > 10.0.0.1:1000")
	if got := word(tr.In(r, Prerouting, two, 2)); got != "new" {
		t.Errorf("reply in another zone is %s", got)
	}
	if got := word(tr.In(r, Prerouting, one, 2)); got != "established, reply" {
		t.Errorf("reply in its zone is %s", got)
	}
}

func TestTableIsBounded(t *testing.T) {
	tr := NewTracker(Config{Max: 10})
	for i := range 100 {
		p := tuple(t, fmt.Sprintf("udp 10.0.0.1:%d > 10.0.0.2:53", 1000+i))
		o := tr.In(p, Prerouting, both, int64(i))
		if !tr.Confirm(o.Conn, o.Info, int64(i)) {
			t.Fatalf("connection %d refused", i)
		}
	}
	if s := tr.Stats(); s.Conns != 10 || s.Evicted != 90 {
		t.Errorf("%+v", s)
	}
	// Later, the old ones have ended.
	p := tuple(t, "udp 10.0.0.1:1 > 10.0.0.2:53")
	o := tr.In(p, Prerouting, both, 1000e9)
	tr.Confirm(o.Conn, o.Info, 1000e9)
	if s := tr.Stats(); s.Expired == 0 || s.Evicted != 90 {
		t.Errorf("%+v", s)
	}
}

// checksums fails the test unless the packet's are right.
func checksums(t *testing.T, p *packet.Packet) {
	t.Helper()
	p.Enter(packet.ViewInet)
	if p.NFProto == packet.NFProtoIPv4 && packet.Checksum(p.Data[p.NH:p.NH+20], 0) != 0 {
		t.Errorf("bad header checksum")
	}
	if badChecksum(p, p.Info.L4Proto) {
		t.Errorf("bad transport checksum")
	}
}

func addr(b ...byte) (a [16]byte) {
	copy(a[:], b)
	return a
}

func TestSourceNAT(t *testing.T) {
	tr := NewTracker(Config{})
	for i, port := range []uint16{1000, 1001} {
		p := tuple(t, fmt.Sprintf("tcp 192.168.0.%d:1000 > 198.51.100.1:80 flags=syn", i+1))
		o := tr.In(p, Prerouting, both, 1)
		r := Range{Flags: RangeMapIPs, MinAddr: addr(203, 0, 113, 1), MaxAddr: addr(203, 0, 113, 1)}
		random := tr.Setup(o.Conn, &r, ManipSrc, 1, false)
		if random != (i == 1) {
			t.Errorf("connection %d: random %v", i, random)
		}
		changed, ok := Translate(p, o.Conn, o.Info, ManipSrc)
		if !changed || !ok {
			t.Fatalf("changed %v, ok %v", changed, ok)
		}
		checksums(t, p)
		tr.Confirm(o.Conn, o.Info, 1)
		got, _ := TupleOf(p)
		if got.Src != addr(203, 0, 113, 1) || i == 0 && got.SrcPort != port || i == 1 && got.SrcPort == 1000 {
			t.Errorf("connection %d has source %v:%d", i, got.Src[:4], got.SrcPort)
		}
		// The reply goes back to the host inside.
		back := tuple(t, fmt.Sprintf("tcp 198.51.100.1:80 > 203.0.113.1:%d flags=syn,ack", got.SrcPort))
		o = tr.In(back, Prerouting, both, 2)
		if word(o) != "established, reply" {
			t.Fatalf("reply is %s", word(o))
		}
		if changed, ok := Translate(back, o.Conn, o.Info, ManipDst); !changed || !ok {
			t.Fatalf("reply not translated")
		}
		checksums(t, back)
		got, _ = TupleOf(back)
		if got.Dst != addr(192, 168, 0, byte(i+1)) || got.DstPort != 1000 {
			t.Errorf("reply goes to %v:%d", got.Dst[:4], got.DstPort)
		}
	}
}

func TestErrorOfTranslatedConnection(t *testing.T) {
	tr := NewTracker(Config{})
	p := tuple(t, "udp 192.168.0.1:1000 > 198.51.100.1:53 link=RAW")
	o := tr.In(p, Prerouting, both, 1)
	r := Range{Flags: RangeMapIPs | RangeProtoSpecified, MinAddr: addr(203, 0, 113, 1), MaxAddr: addr(203, 0, 113, 1), MinPort: 7, MaxPort: 7}
	tr.Setup(o.Conn, &r, ManipSrc, 1, false)
	Translate(p, o.Conn, o.Info, ManipSrc)
	tr.Confirm(o.Conn, o.Info, 1)
	e := tuple(t, fmt.Sprintf("icmp 198.51.100.1 > 203.0.113.1 type=3 code=3 payload=%x", p.Data))
	o = tr.In(e, Prerouting, both, 2)
	if word(o) != "related, reply" {
		t.Fatalf("error is %s", word(o))
	}
	if changed, ok := Translate(e, o.Conn, o.Info, ManipDst); !changed || !ok {
		t.Fatalf("changed %v, ok %v", changed, ok)
	}
	checksums(t, e)
	outer, _ := TupleOf(e)
	quoted, _, ok := innerTuple(e, e.Info.TH+8)
	if !ok || outer.Dst != addr(192, 168, 0, 1) || quoted.Src != addr(192, 168, 0, 1) || quoted.SrcPort != 1000 {
		t.Errorf("to %v, quotes %v:%d", outer.Dst[:4], quoted.Src[:4], quoted.SrcPort)
	}
}

func TestDestinationNATOfIPv6(t *testing.T) {
	tr := NewTracker(Config{})
	p := tuple(t, "udp [2001:db8::1]:1000 > [2001:db8::2]:53 payload=0102")
	o := tr.In(p, Prerouting, both, 1)
	to := addr(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9)
	r := Range{Flags: RangeMapIPs | RangeProtoSpecified, MinAddr: to, MaxAddr: to, MinPort: 5353, MaxPort: 5353}
	tr.Setup(o.Conn, &r, ManipDst, 1, false)
	Translate(p, o.Conn, o.Info, ManipDst)
	checksums(t, p)
	if got, _ := TupleOf(p); got.Dst != to || got.DstPort != 5353 {
		t.Errorf("goes to %x:%d", got.Dst, got.DstPort)
	}
}

func TestDefrag(t *testing.T) {
	const whole = "udp 10.0.0.1:1000 > 10.0.0.2:53 id=9 payload="
	body := strings.Repeat("0102030405060708", 6)
	full := tuple(t, whole+body+" link=RAW")
	udp := full.Data[20:]
	part := func(from, to int, more string) *packet.Packet {
		return tuple(t, fmt.Sprintf("ip 10.0.0.1 > 10.0.0.2 proto=17 id=9 frag=%d%s payload=%x", from, more, udp[from:to]))
	}
	d := NewTracker(Config{}).NewDefrag()
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		parts := []*packet.Packet{part(0, 24, "+"), part(24, 40, "+"), part(40, len(udp), "")}
		var res FragResult
		var last *packet.Packet
		for _, i := range order {
			last = parts[i]
			res = d.In(last, 0, 0, 1)
		}
		if res != FragWhole {
			t.Fatalf("order %v: %d", order, res)
		}
		last.Enter(packet.ViewInet)
		got := last.Data[last.Info.TH:]
		if string(got) != string(udp) {
			t.Errorf("order %v: %x, want %x", order, got, udp)
		}
		checksums(t, last)
	}
	// An overlap ends the datagram, a duplicate does not.
	d.In(part(0, 24, "+"), 0, 0, 1)
	if res := d.In(part(0, 24, "+"), 0, 0, 1); res != FragDrop {
		t.Errorf("duplicate: %d", res)
	}
	if res := d.In(part(16, 40, "+"), 0, 0, 1); res != FragDrop {
		t.Errorf("overlap: %d", res)
	}
	if res := d.In(part(24, len(udp), ""), 0, 0, 1); res != FragHeld {
		t.Errorf("after the overlap: %d", res)
	}
	// Time is over for it.
	if res := d.In(part(0, 24, "+"), 0, 0, 40e9); res != FragHeld {
		t.Errorf("after the timeout: %d", res)
	}
}

func TestDefragIPv6(t *testing.T) {
	full := tuple(t, "udp [2001:db8::1]:1000 > [2001:db8::2]:53 payload=0102030405060708090a link=RAW")
	udp := full.Data[40:]
	frag := func(from, to int, more byte) *packet.Packet {
		ext := append([]byte{17, 0, byte(from >> 8), byte(from) | more, 0, 0, 0, 7}, udp[from:to]...)
		return tuple(t, fmt.Sprintf("ip6 2001:db8::1 > 2001:db8::2 proto=44 payload=%x", ext))
	}
	d := NewTracker(Config{}).NewDefrag()
	if res := d.In(frag(0, 8, 1), 0, 0, 1); res != FragHeld {
		t.Fatalf("first: %d", res)
	}
	p := frag(8, len(udp), 0)
	if res := d.In(p, 0, 0, 1); res != FragWhole {
		t.Fatalf("last: %d", res)
	}
	p.Enter(packet.ViewInet)
	if p.Info.L4Proto != 17 || string(p.Data[p.Info.TH:]) != string(udp) {
		t.Errorf("protocol %d, %x", p.Info.L4Proto, p.Data[p.Info.TH:])
	}
	checksums(t, p)
}

// TestRandomPackets looks for panics, and for a table that grows.
func TestRandomPackets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	tr := NewTracker(Config{Max: 50})
	d := tr.NewDefrag()
	seeds := []*packet.Packet{
		tuple(t, c2s+"flags=syn options=mss:1460,sackperm,wscale:7"), tuple(t, "udp 10.0.0.1:1 > 10.0.0.2:2 payload=0102"),
		tuple(t, "icmp 10.0.0.1 > 10.0.0.2 type=8"), tuple(t, "icmpv6 2001:db8::1 > 2001:db8::2 type=137 payload=00"),
		tuple(t, "sctp 10.0.0.1:1 > 10.0.0.2:2 chunk=init"), tuple(t, "gre 10.0.0.1 > 10.0.0.2"),
		tuple(t, fmt.Sprintf("icmp 192.0.2.1 > 10.0.0.1 type=3 payload=%x", tuple(t, c2s+"link=RAW").Data)),
		tuple(t, "ip 10.0.0.1 > 10.0.0.2 proto=17 frag=8+ payload=0102030405060708"),
	}
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	for i := range n {
		s := seeds[rnd.IntN(len(seeds))]
		b := append([]byte(nil), s.Data...)
		for range rnd.IntN(4) {
			b[rnd.IntN(len(b))] = byte(rnd.Uint32())
		}
		if rnd.IntN(8) == 0 {
			b = b[:rnd.IntN(len(b)+1)]
		}
		var p packet.Packet
		p.SetFrame(s.LinkType, b, len(b)+rnd.IntN(2)*rnd.IntN(50))
		p.Enter(packet.ViewInet)
		now := int64(i) * 1e7
		if d.In(&p, 0, 0, now) > FragWhole {
			continue
		}
		p.Enter(packet.ViewInet)
		o := tr.In(&p, Hook(rnd.IntN(2)), Zone{ID: uint16(rnd.IntN(2)), Dir: uint8(rnd.IntN(4))}, now)
		if o.Conn == nil {
			continue
		}
		m := Manip(rnd.IntN(2))
		if rnd.IntN(3) == 0 {
			lo := byte(rnd.Uint32())
			tr.Setup(o.Conn, &Range{Flags: uint32(rnd.IntN(128)), MinAddr: addr(10, 0, 1, lo), MaxAddr: addr(10, 0, 2, lo), MinPort: 5, MaxPort: 9}, m, now, false)
		} else {
			tr.NullBinding(o.Conn, m, now, false)
		}
		Translate(&p, o.Conn, o.Info, m)
		if rnd.IntN(4) == 0 || !tr.Confirm(o.Conn, o.Info, now) {
			tr.Release(o.Conn)
		}
		if s := tr.Stats(); s.Conns > 50 || len(tr.table) > 100 || len(tr.bySrc) > 200 {
			t.Fatalf("packet %d: %+v, %d keys, %d sources", i, s, len(tr.table), len(tr.bySrc))
		}
	}
	t.Logf("%+v", tr.Stats())
}
