package conntrack

import (
	"encoding/binary"

	"github.com/nftc/nftc/eval/packet"
)

// Defrag holds fragments until their datagram is whole (nf_defrag_ipv4,
// nf_defrag_ipv6; ip_frag_reasm).
type Defrag struct {
	queues map[fragKey]*fragQueue
	order  []*fragQueue // by arrival, for the memory bound
	memory int
	limit  int
	stats  *Stats
	buf    []byte

	// Meta is what the packet given to In carries beside its bytes; on
	// FragWhole it is that of the first fragment, which the datagram keeps
	// (skb_morph in inet_frag_reasm_prepare).
	Meta FragMeta
}

// FragMeta is what an skb carries beside its bytes.
type FragMeta struct {
	Mark, Priority uint32
	MarkCause      uint8 // the caller's reason why Mark is not known
	PktType        packet.PktType
}

type fragKey struct {
	src, dst [16]byte
	id       uint32
	proto    uint8 // IPv4 only
	l3       uint8
	zone     uint16
	user     uint8
}

// piece is one fragment: its bytes of the datagram's payload.
type piece struct {
	off  int
	data []byte
	have int // bytes of data that the capture held
}

// fragRun is a stretch of a datagram that arrived in order.
type fragRun struct{ off, end int }

type fragQueue struct {
	key     fragKey
	pieces  []piece
	runs    []fragRun
	tail    int   // the run that reaches farthest
	have    int   // bytes
	total   int   // how far fragments reach
	last    bool  // the last fragment was seen
	ecn     uint8 // bits by codepoint
	max     int   // IPv4: size of the largest fragment
	maxDF   int   // and of the largest with IP_DF
	head    []byte
	meta    FragMeta // of the first fragment
	nextHdr uint8    // IPv6: protocol after the fragment header
	nextOff int      // IPv6: where head holds the next header value of the fragment header
	until   int64
	dead    bool
}

// fragTimeout is ipfrag_time for IPv4; IPv6 has 60 s.
const (
	fragTimeout4 = 30 * second
	fragTimeout6 = 60 * second
)

// NewDefrag makes an empty reassembler for a tracker.
func (t *Tracker) NewDefrag() *Defrag {
	limit := t.cfg.FragMemory
	if limit <= 0 {
		limit = DefaultFragMemory
	}
	return &Defrag{queues: make(map[fragKey]*fragQueue), limit: limit, stats: &t.stats}
}

// FragResult is what became of a packet.
type FragResult uint8

const (
	FragNone  FragResult = iota // not a fragment, or one that is left alone
	FragHeld                    // queued: the packet's trip ends here
	FragWhole                   // it completed its datagram, which the packet now is
	FragDrop                    // dropped: overlap, bad length
)

// In takes a packet at the defragmentation hook. user keeps the places apart
// where fragments are collected (prerouting and output). On FragWhole p holds
// the datagram: its Data lies in memory of d that is valid until the next In.
func (d *Defrag) In(p *packet.Packet, zone uint16, user uint8, now int64) FragResult {
	switch p.NFProto {
	case packet.NFProtoIPv4:
		return d.in4(p, zone, user, now)
	case packet.NFProtoIPv6:
		return d.in6(p, zone, user, now)
	}
	return FragNone
}

// in4 is ip_defrag.
func (d *Defrag) in4(p *packet.Packet, zone uint16, user uint8, now int64) FragResult {
	h, a := at(p, p.NH, 20)
	if a != packet.None {
		return FragNone
	}
	fo := binary.BigEndian.Uint16(h[6:])
	if fo&0x3fff == 0 { // no IP_MF, offset 0
		return FragNone
	}
	hl := int(h[0]&15) * 4
	k := fragKey{id: uint32(binary.BigEndian.Uint16(h[4:])), proto: h[9], l3: p.NFProto, zone: zone, user: user}
	copy(k.src[:4], h[12:16])
	copy(k.dst[:4], h[16:20])
	off, more := int(fo&0x1fff)*8, fo&0x2000 != 0
	// Where the capture lacks payload, what is there stands for it.
	end := min(p.Info.End, len(p.Data))
	if p.NH+hl > end {
		return FragDrop
	}
	wire := p.Info.End - p.NH - hl
	if more {
		wire &^= 7
	}
	q := d.queue(k, now, fragTimeout4)
	// ip_frag_queue
	if wire == 0 || !q.extend(off+wire, more) {
		d.drop(q)
		return FragDrop
	}
	switch d.insert(q, off, wire, p.Data[p.NH+hl:end]) {
	case fragDuplicate:
		return FragDrop
	case fragOverlap:
		d.drop(q)
		return FragDrop
	}
	q.ecn |= 1 << (h[1] & 3)
	q.max = max(q.max, hl+wire)
	if fo&0x4000 != 0 {
		q.maxDF = max(q.maxDF, hl+wire)
	}
	if off == 0 {
		q.head, q.meta = append(q.head[:0], p.Data[:p.NH+hl]...), d.Meta
	}
	if !q.whole() {
		return FragHeld
	}
	// ip_frag_reasm
	nh := p.NH
	ecn, ok := fragECN(q.ecn)
	if !ok || nh > len(q.head) || len(q.head)-nh+q.total > 0xffff {
		d.drop(q)
		return FragDrop
	}
	d.join(q)
	ip := d.buf[nh:]
	ip[1] |= ecn
	binary.BigEndian.PutUint16(ip[2:], uint16(len(d.buf)-nh))
	ip[6], ip[7] = 0, 0
	if q.maxDF == q.max {
		ip[6] = 0x40 // IP_DF
	}
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], packet.Checksum(ip[:len(q.head)-nh], 0))
	d.give(p, q)
	return FragWhole
}

// findPrevFragment is find_prev_fhdr: the fragment header may follow others.
// prev is where its next header value stands.
func findPrevFragment(p *packet.Packet, next uint8) (off, prev int, ok bool) {
	off, prev = p.NH+40, p.NH+6
	for next != packet.ProtoFragment {
		e, a := at(p, off, 2)
		if a != packet.None {
			return 0, 0, false
		}
		n := (int(e[1]) + 1) * 8
		switch next {
		case packet.ProtoHopOpts, packet.ProtoRouting, packet.ProtoDstOpts:
		case packet.ProtoAH:
			n = (int(e[1]) + 2) * 4
		default:
			return 0, 0, false
		}
		prev, next, off = off, e[0], off+n
	}
	return off, prev, off <= p.Info.End
}

// truncatedTransport is ipv6frag_thdr_truncated: a first fragment that does not
// hold the transport header.
func truncatedTransport(p *packet.Packet, off int) bool {
	th, proto, frag, a := p.SkipIPv6Ext(off, packet.ProtoFragment)
	if a != packet.None || frag != 0 {
		return false
	}
	switch proto {
	case packet.ProtoTCP:
		th += 20
	case packet.ProtoUDP, packet.ProtoICMPv6:
		th += 8
	default:
		th++
	}
	return th > p.Info.End
}

// in6 is nf_ct_frag6_gather. A fragment that is the whole datagram comes out
// at once, without its fragment header.
func (d *Defrag) in6(p *packet.Packet, zone uint16, user uint8, now int64) FragResult {
	h, a := at(p, p.NH, 40)
	if a != packet.None || binary.BigEndian.Uint16(h[4:]) == 0 {
		return FragNone // a jumbogram has no fragments
	}
	off, prev, ok := findPrevFragment(p, h[6])
	if !ok || truncatedTransport(p, off) {
		return FragNone
	}
	f, a := at(p, off, 8)
	if a != packet.None {
		return FragDrop
	}
	fo := binary.BigEndian.Uint16(f[2:])
	k := fragKey{id: binary.BigEndian.Uint32(f[4:]), l3: p.NFProto, zone: zone, user: user}
	copy(k.src[:], h[8:24])
	copy(k.dst[:], h[24:40])
	start, more := int(fo&^7), fo&1 != 0
	q := d.queue(k, now, fragTimeout6)
	// nf_ct_frag6_queue
	payload := int(binary.BigEndian.Uint16(h[4:]))
	wire := payload - (off + 8 - p.NH - 40)
	if start+wire > 0xffff {
		return FragDrop
	}
	if more && (start+wire)&7 != 0 {
		d.drop(q)
		return FragNone // -EPROTO: left as it is
	}
	if !q.extend(start+wire, more) || wire <= 0 || wire > p.Info.End-off-8 {
		return FragDrop
	}
	switch d.insert(q, start, wire, p.Data[min(off+8, len(p.Data)):min(p.Info.End, len(p.Data))]) {
	case fragDuplicate:
		return FragHeld // as if it were queued
	case fragOverlap:
		d.drop(q)
		return FragDrop
	}
	q.ecn |= 1 << (h[1] >> 4 & 3)
	if start == 0 {
		q.head, q.meta = append(q.head[:0], p.Data[:off]...), d.Meta
		q.nextHdr, q.nextOff = f[0], prev
	}
	if !q.whole() {
		return FragHeld
	}
	// nf_ct_frag6_reasm
	nh := p.NH
	ecn, ok := fragECN(q.ecn)
	if !ok || len(q.head) < nh+40 || len(q.head)-nh-40+q.total > 0xffff {
		d.drop(q)
		return FragHeld
	}
	d.join(q)
	d.buf[q.nextOff] = q.nextHdr
	d.buf[nh+1] |= ecn << 4
	binary.BigEndian.PutUint16(d.buf[nh+4:], uint16(len(d.buf)-nh-40))
	d.give(p, q)
	return FragWhole
}

// fragECN is ip_frag_ecn_table: the ECN bits to set in a datagram by the set of
// codepoints that its fragments had; ok is false when they contradict.
func fragECN(seen uint8) (set uint8, ok bool) {
	const notECT, ce = 1, 8
	switch {
	case seen&notECT != 0:
		return 0, seen == notECT
	case seen&ce != 0 && seen != ce:
		return 3, true
	}
	return 0, true
}

// queue finds or makes the queue of a datagram (ip_find, fq_find).
func (d *Defrag) queue(k fragKey, now, timeout int64) *fragQueue {
	d.expire(now)
	q := d.queues[k]
	if q == nil {
		q = &fragQueue{key: k, until: now + timeout}
		d.queues[k] = q
		d.order = append(d.order, q)
	}
	return q
}

// extend notes how far a fragment reaches; it is false when that contradicts
// the others.
func (q *fragQueue) extend(end int, more bool) bool {
	if !more {
		if end < q.total || q.last && end != q.total {
			return false
		}
		q.last, q.total = true, end
		return true
	}
	if end > q.total {
		if q.last {
			return false
		}
		q.total = end
	}
	return true
}

// whole tells whether all fragments are there.
func (q *fragQueue) whole() bool { return q.last && q.head != nil && q.have == q.total }

type fragInsert uint8

const (
	fragQueued fragInsert = iota
	fragDuplicate
	fragOverlap
)

// insert is inet_frag_queue_insert. Pieces form runs: one run grows by pieces
// that come right behind the last one, and what lies in a run is a duplicate.
func (d *Defrag) insert(q *fragQueue, off, n int, body []byte) fragInsert {
	end, run := off+n, -1
	if len(q.pieces) > 0 {
		last := &q.runs[q.tail]
		if last.end < end {
			switch {
			case off < last.end:
				return fragOverlap
			case off == last.end:
				run = q.tail
			}
		} else {
			for _, r := range q.runs {
				if off < r.end && r.off < end {
					if off >= r.off && end <= r.end {
						return fragDuplicate
					}
					return fragOverlap
				}
			}
		}
		if run >= 0 {
			last.end = end
		} else {
			q.runs = append(q.runs, fragRun{off, end})
			if last := &q.runs[q.tail]; last.end < end {
				q.tail = len(q.runs) - 1
			}
		}
	} else {
		q.runs, q.tail = append(q.runs, fragRun{off, end}), 0
	}
	data := make([]byte, n)
	q.pieces = append(q.pieces, piece{off, data, copy(data, body)})
	q.have += n
	d.memory += n
	for d.memory > d.limit && len(d.order) > 1 {
		for _, o := range d.order {
			if o != q {
				d.stats.FragOut++
				d.drop(o)
				break
			}
		}
	}
	return fragQueued
}

// expire gives up datagrams whose time is over.
func (d *Defrag) expire(now int64) {
	for len(d.order) > 0 && (d.order[0].dead || d.order[0].until <= now) {
		if !d.order[0].dead {
			d.stats.FragOut++
		}
		d.drop(d.order[0])
	}
}

func (d *Defrag) drop(q *fragQueue) {
	if !q.dead {
		q.dead = true
		d.memory -= q.have
		if d.queues[q.key] == q {
			delete(d.queues, q.key)
		}
	}
	for i, o := range d.order {
		if o == q {
			d.order = append(d.order[:i], d.order[i+1:]...)
			break
		}
	}
}

// join puts the datagram together in d.buf.
func (d *Defrag) join(q *fragQueue) {
	d.buf = append(d.buf[:0], q.head...)
	n := len(d.buf)
	for len(d.buf) < n+q.total {
		d.buf = append(d.buf, 0)
	}
	for _, o := range q.pieces {
		copy(d.buf[n+o.off:], o.data)
	}
}

// give makes p the joined datagram, known up to the first byte that a
// capture lacks.
func (d *Defrag) give(p *packet.Packet, q *fragQueue) {
	d.drop(q)
	d.Meta = q.meta
	known := q.total
	for _, o := range q.pieces {
		if o.have < len(o.data) {
			known = min(known, o.off+o.have)
		}
	}
	p.Replace(d.buf[:len(d.buf)-q.total+known], len(d.buf))
}
