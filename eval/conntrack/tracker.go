package conntrack

import (
	"bytes"

	"github.com/nftc/nftc/eval/packet"
)

const (
	protoTCP  = packet.ProtoTCP
	protoUDP  = packet.ProtoUDP
	protoSCTP = packet.ProtoSCTP
)

// second is a second of the packet clock, in nanoseconds.
const second = int64(1e9)

// Config are the sysctls and bounds of a tracker. The zero Config has the
// kernel's defaults.
type Config struct {
	// Max connections (nf_conntrack_max); 0: DefaultMax.
	Max int
	// NoChecksum turns off checksum checks (nf_conntrack_checksum=0).
	NoChecksum bool
	// NotLoose refuses TCP connections seen from the middle
	// (nf_conntrack_tcp_loose=0).
	NotLoose bool
	// Liberal skips TCP window checks (nf_conntrack_tcp_be_liberal=1).
	Liberal bool
	// NoAcct leaves packet and byte counts of connections at zero
	// (nf_conntrack_acct=0, the kernel's default until something asks).
	NoAcct bool
	// FragMemory bounds reassembly, in bytes; 0: DefaultFragMemory.
	FragMemory int
}

const (
	// DefaultMax is nf_conntrack_max of a machine with 1 GiB or more.
	DefaultMax = 262144
	// DefaultFragMemory is ipfrag_high_thresh.
	DefaultFragMemory = 4 << 20
)

// Stats counts what the bounds did.
type Stats struct {
	Conns   int    // now in the table
	Expired uint64 // ended by their timeout
	Evicted uint64 // gave way to new ones before their time
	Full    uint64 // packets dropped because the table was full
	FragOut uint64 // datagrams given up in reassembly
}

// Tracker is a table of connections. It is not safe for concurrent use.
type Tracker struct {
	cfg     Config
	table   map[key]ref
	list    []*Conn
	hand    int
	nextID  uint32
	free    *Conn
	expects []expectation
	helped  map[hostPair]int // connections with a helper, by their hosts
	bySrc   map[srcKey]*Conn
	stats   Stats
}

type key struct {
	tuple Tuple
	zone  uint16
}

type ref struct {
	conn *Conn
	dir  uint8
}

// hostPair names two hosts, the smaller address first.
type hostPair struct{ a, b [16]byte }

func pairOf(t *Tuple) hostPair {
	if bytes.Compare(t.Src[:], t.Dst[:]) <= 0 {
		return hostPair{t.Src, t.Dst}
	}
	return hostPair{t.Dst, t.Src}
}

// Helped tells whether a helper watches another connection between the hosts
// of c: it may have announced c, so that c would be related.
func (t *Tracker) Helped(c *Conn) bool {
	if len(t.helped) == 0 {
		return false
	}
	return t.helped[pairOf(&c.Orig)] > 0 || t.helped[pairOf(&c.Reply)] > 0
}

// countHelper notes a connection with a helper that comes or goes.
func (t *Tracker) countHelper(c *Conn, d int) {
	if c.Helper == "" {
		return
	}
	if t.helped == nil {
		t.helped = make(map[hostPair]int)
	}
	for _, p := range [2]hostPair{pairOf(&c.Orig), pairOf(&c.Reply)} {
		if t.helped[p] += d; t.helped[p] <= 0 {
			delete(t.helped, p)
		}
	}
}

// NewTracker returns an empty tracker.
func NewTracker(cfg Config) *Tracker {
	if cfg.Max <= 0 {
		cfg.Max = DefaultMax
	}
	return &Tracker{cfg: cfg, table: make(map[key]ref), bySrc: make(map[srcKey]*Conn)}
}

// Stats returns the counts so far.
func (t *Tracker) Stats() Stats {
	s := t.stats
	s.Conns = len(t.list)
	return s
}

// Hook is where In is called: the kernel trusts checksums of packets that the
// host itself sends.
type Hook uint8

const (
	Prerouting Hook = iota
	Output
)

// Outcome is what tracking did with a packet.
type Outcome struct {
	Conn *Conn // nil: no entry, Info Untracked or the packet invalid
	Info Info  // of Conn; Untracked for untracked packets
	Drop bool  // the kernel drops the packet
}

// invalid is the outcome of a packet that belongs to no connection.
var invalid = Outcome{}

// In finds or makes the connection of a packet (nf_conntrack_in). now is in
// nanoseconds.
func (t *Tracker) In(p *packet.Packet, hook Hook, zone Zone, now int64) Outcome {
	th, proto, ok := l4proto(p)
	if !ok { // fragments and broken headers have none
		return invalid
	}
	i := &p.Info
	seen := *i
	i.TH, i.L4Proto, i.L4Set, i.FragOff, i.THAbsent = th, proto, true, 0, packet.None
	out := t.in(p, hook, zone, now)
	*i = seen
	return out
}

// in is In for a packet whose Info points at the transport header that
// tracking sees.
func (t *Tracker) in(p *packet.Packet, hook Hook, zone Zone, now int64) Outcome {
	check := hook == Prerouting && !t.cfg.NoChecksum
	if out, done := t.icmpError(p, check, zone, now); done {
		return out
	}
	tuple, ok := TupleOf(p)
	if !ok {
		return invalid
	}
	for try := 0; ; try++ {
		c, dir := t.find(tuple, zone, now)
		if c == nil {
			if c = t.new(tuple, zone, now); c == nil {
				return invalid
			}
		}
		info := New
		switch {
		case dir == 1:
			info = EstablishedReply
		case c.Status&SeenReply != 0:
			info = Established
		case c.Status&Expected != 0:
			info = Related
		}
		switch t.packet(c, p, info, check, now) {
		case resultInvalid:
			t.forget(c)
			return invalid
		case resultRepeat:
			t.remove(c)
			if try == 0 {
				continue
			}
			return invalid
		}
		if info == EstablishedReply {
			c.Status |= SeenReply
		}
		return Outcome{Conn: c, Info: info}
	}
}

// Peek tells what In would find, without changing anything: for a packet of a
// known connection its present state, else a new connection. The returned Conn
// is a copy.
func (t *Tracker) Peek(p *packet.Packet, zone Zone, now int64) Outcome {
	tuple, ok := TupleOf(p)
	if !ok {
		return invalid
	}
	r, ok := t.table[key{tuple, zone.In(0)}]
	if !ok || r.conn.Timeout <= now {
		reply, ok := tuple.Invert()
		if !ok {
			return invalid
		}
		return Outcome{Conn: &Conn{Orig: tuple, Reply: reply, Zone: zone, slot: -1}, Info: New}
	}
	c := *r.conn
	c.slot = -1
	switch {
	case r.dir == 1:
		return Outcome{Conn: &c, Info: EstablishedReply}
	case c.Status&SeenReply != 0:
		return Outcome{Conn: &c, Info: Established}
	case c.Status&Expected != 0:
		return Outcome{Conn: &c, Info: Related}
	}
	return Outcome{Conn: &c, Info: New}
}

type result uint8

const (
	resultOK result = iota
	resultInvalid
	resultRepeat // forget the connection and look again (NF_REPEAT)
)

// packet is nf_conntrack_handle_packet.
func (t *Tracker) packet(c *Conn, p *packet.Packet, info Info, check bool, now int64) result {
	switch c.Orig.Proto {
	case packet.ProtoTCP:
		return t.tcp(c, p, info, check, now)
	case packet.ProtoUDP, packet.ProtoUDPLite:
		return t.udp(c, p, info, check, now)
	case packet.ProtoICMP:
		return t.icmp(c, p, info, now)
	case packet.ProtoICMPv6:
		return t.icmp6(c, p, info, now)
	case packet.ProtoSCTP:
		return t.sctp(c, p, info, check, now)
	case packet.ProtoGRE:
		return t.gre(c, p, info, now)
	}
	t.refresh(c, p, info, 600*second, now) // nf_conntrack_generic_timeout
	return resultOK
}

// refresh sets the time to live and counts the packet (nf_ct_refresh_acct).
func (t *Tracker) refresh(c *Conn, p *packet.Packet, info Info, timeout, now int64) {
	if c.IsConfirmed() {
		timeout += now
	}
	c.Timeout = timeout
	t.count(c, p, info)
}

func (t *Tracker) count(c *Conn, p *packet.Packet, info Info) {
	if !t.cfg.NoAcct {
		c.Packets[info.Dir()]++
		c.Bytes[info.Dir()] += uint64(p.Info.Len())
	}
}

// find looks a tuple up in both directions (nf_conntrack_find_get). Expired
// entries are removed on the way.
func (t *Tracker) find(tuple Tuple, zone Zone, now int64) (*Conn, uint8) {
	orig, reply := zone.In(0), zone.In(1)
	r, ok := t.table[key{tuple, orig}]
	if ok && r.dir == 1 && orig != reply {
		ok = false
	}
	if !ok && orig != reply {
		r, ok = t.table[key{tuple, reply}]
		ok = ok && r.dir == 1
	}
	if !ok {
		return nil, 0
	}
	if r.conn.Timeout <= now {
		t.stats.Expired++
		t.remove(r.conn)
		return nil, 0
	}
	return r.conn, r.dir
}

// Find returns the connection with a tuple, of either direction, in a zone; nil
// if there is none or it has ended.
func (t *Tracker) Find(tuple Tuple, zone uint16, now int64) *Conn {
	c, _ := t.find(tuple, Zone{ID: zone, Dir: ZoneDirBoth}, now)
	return c
}

// new is init_conntrack.
func (t *Tracker) new(tuple Tuple, zone Zone, now int64) *Conn {
	reply, ok := tuple.Invert()
	if !ok {
		return nil
	}
	c := t.free
	if c != nil {
		t.free = c.next
		*c = Conn{}
	} else {
		c = new(Conn)
	}
	t.nextID++
	c.Orig, c.Reply, c.Zone, c.ID, c.slot = tuple, reply, zone, t.nextID, -1
	t.expected(c, now)
	return c
}

// forget gives back a connection that was never confirmed.
func (t *Tracker) forget(c *Conn) {
	if c.Stated || c.IsConfirmed() || c.slot >= 0 {
		return
	}
	t.release(c)
}

// Release gives back a connection whose first packet was dropped. It must not
// be used afterwards.
func (t *Tracker) Release(c *Conn) { t.forget(c) }

func (t *Tracker) release(c *Conn) {
	if k := (srcKey{c.Orig.Src, c.Orig.SrcPort, c.Orig.L3, c.Orig.Proto, c.Zone.In(0)}); t.bySrc[k] == c {
		delete(t.bySrc, k)
	}
	c.next, t.free = t.free, c
}

// Confirm puts the connection of an original-direction packet into the table
// (__nf_conntrack_confirm). It returns false when the packet is dropped: the
// table is full or another connection has taken the tuple.
func (t *Tracker) Confirm(c *Conn, info Info, now int64) bool {
	if c.Stated || c.IsConfirmed() || info.Dir() != 0 {
		return true
	}
	if c.Status&Dying != 0 {
		return true
	}
	ko, kr := key{c.Orig, c.Zone.In(0)}, key{c.Reply, c.Zone.In(1)}
	for _, k := range [2]key{ko, kr} {
		if r, taken := t.table[k]; taken {
			if r.conn.Timeout > now {
				return false
			}
			t.remove(r.conn)
		}
	}
	if len(t.list) >= t.cfg.Max && !t.makeRoom(now) {
		t.stats.Full++
		return false
	}
	t.sweep(2, now)
	c.Timeout += now
	c.Status |= Confirmed
	t.countHelper(c, 1)
	c.slot = len(t.list)
	t.list = append(t.list, c)
	t.table[ko] = ref{c, 0}
	if kr != ko {
		t.table[kr] = ref{c, 1}
	}
	return true
}

// remove takes a confirmed connection out of the table.
func (t *Tracker) remove(c *Conn) {
	if c.slot < 0 || c.slot >= len(t.list) || t.list[c.slot] != c {
		return
	}
	for dir := 0; dir < 2; dir++ {
		k := key{*c.Tuple(dir), c.Zone.In(dir)}
		if r, ok := t.table[k]; ok && r.conn == c {
			delete(t.table, k)
		}
	}
	t.countHelper(c, -1)
	last := len(t.list) - 1
	t.list[c.slot] = t.list[last]
	t.list[c.slot].slot = c.slot
	t.list[last] = nil
	t.list = t.list[:last]
	c.slot = -1
	c.Status |= Dying
	if k := (srcKey{c.Orig.Src, c.Orig.SrcPort, c.Orig.L3, c.Orig.Proto, c.Zone.In(0)}); t.bySrc[k] == c {
		delete(t.bySrc, k)
	}
}

// sweep looks at the next n connections and removes those that have ended, so
// that the table shrinks as fast as it grows (gc_worker).
func (t *Tracker) sweep(n int, now int64) {
	for ; n > 0 && len(t.list) > 0; n-- {
		if t.hand >= len(t.list) {
			t.hand = 0
		}
		if c := t.list[t.hand]; c.Timeout <= now {
			t.stats.Expired++
			t.remove(c)
		} else {
			t.hand++
		}
	}
}

// evictScan is how many connections are looked at for one that may go:
// early_drop looks at eight hash chains.
const evictScan = 256

// makeRoom is early_drop.
func (t *Tracker) makeRoom(now int64) bool {
	n := len(t.list)
	t.sweep(min(evictScan, n), now)
	if len(t.list) < n {
		return true
	}
	for k := 0; k < min(evictScan, n); k++ {
		if t.hand >= len(t.list) {
			t.hand = 0
		}
		c := t.list[t.hand]
		if c.Status&Assured == 0 || c.earlyDrop() {
			t.stats.Evicted++
			t.remove(c)
			return true
		}
		t.hand++
	}
	return false
}

// earlyDrop tells whether an assured connection is on its end and may go
// (tcp_can_early_drop, sctp_can_early_drop).
func (c *Conn) earlyDrop() bool {
	switch c.Orig.Proto {
	case protoTCP:
		return c.tcp.canEarlyDrop()
	case protoSCTP:
		return c.sctp.state >= sctpShutdownSent && c.sctp.state <= sctpShutdownAckSent
	}
	return false
}

// badChecksum verifies a transport checksum with its pseudo header
// (nf_checksum). What the capture lacks counts as good.
func badChecksum(p *packet.Packet, proto uint8) bool {
	i := &p.Info
	if i.End > len(p.Data) || i.TH >= i.End {
		return false
	}
	b := p.Data[i.TH:i.End]
	if proto == packet.ProtoICMP {
		return packet.Checksum(b, 0) != 0
	}
	var sum uint32
	if p.NFProto == packet.NFProtoIPv4 {
		sum = packet.PartialSum(p.Data[p.NH+12:p.NH+20], 0)
	} else {
		sum = packet.PartialSum(p.Data[p.NH+8:p.NH+40], 0)
	}
	sum = packet.PartialSum([]byte{0, proto}, sum) + uint32(len(b))
	return packet.Checksum(b, sum) != 0
}
