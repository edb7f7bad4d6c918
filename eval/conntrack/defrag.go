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

type fragQueue struct {
	key     fragKey
	pieces  []piece
	have    int // bytes
	total   int // -1 until the last fragment is seen
	head    []byte
	nextHdr uint8 // IPv6: protocol after the fragment header
	nextOff int   // IPv6: where head holds the next header value of the fragment header
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
	end := p.Info.End
	k := fragKey{id: uint32(binary.BigEndian.Uint16(h[4:])), proto: h[9], l3: p.NFProto, zone: zone, user: user}
	copy(k.src[:4], h[12:16])
	copy(k.dst[:4], h[16:20])
	off, more := int(fo&0x1fff)*8, fo&0x2000 != 0
	if end > len(p.Data) {
		// The capture lacks payload: what is there stands for it.
		end = len(p.Data)
	}
	if p.NH+hl > end {
		return FragDrop
	}
	body := p.Data[p.NH+hl : end]
	wire := p.Info.End - p.NH - hl
	q, res := d.add(k, off, wire, body, more, now, fragTimeout4)
	if q == nil {
		return res
	}
	if off == 0 {
		q.head = append(q.head[:0], p.Data[:p.NH+hl]...)
	}
	if q.total < 0 || q.have < q.total || q.head == nil {
		return FragHeld
	}
	nh := p.NH
	if nh > len(q.head) || len(q.head)-nh+q.total > 0xffff {
		d.drop(q)
		return FragDrop
	}
	d.join(q)
	ip := d.buf[nh:]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(d.buf)-nh))
	ip[6], ip[7] = ip[6]&0x40, 0
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], packet.Checksum(ip[:len(q.head)-nh], 0))
	d.give(p, q)
	return FragWhole
}

// in6 is nf_ct_frag6_gather. A fragment that is the whole datagram comes out
// at once, without its fragment header.
func (d *Defrag) in6(p *packet.Packet, zone uint16, user uint8, now int64) FragResult {
	// find_prev_fhdr: the fragment header may follow others.
	off := p.NH + 40
	h, a := at(p, p.NH, 40)
	if a != packet.None || binary.BigEndian.Uint16(h[4:]) == 0 {
		return FragNone // a jumbogram has no fragments
	}
	next, prev := h[6], p.NH+6
	for next != packet.ProtoFragment {
		e, a := at(p, off, 2)
		if a != packet.None {
			return FragNone
		}
		switch next {
		case packet.ProtoHopOpts, packet.ProtoRouting, packet.ProtoDstOpts:
			prev, next, off = off, e[0], off+(int(e[1])+1)*8
		case packet.ProtoAH:
			prev, next, off = off, e[0], off+(int(e[1])+2)*4
		default:
			return FragNone
		}
	}
	f, a := at(p, off, 8)
	if a != packet.None {
		return FragNone
	}
	fo := binary.BigEndian.Uint16(f[2:])
	k := fragKey{id: binary.BigEndian.Uint32(f[4:]), l3: p.NFProto, zone: zone, user: user}
	copy(k.src[:], h[8:24])
	copy(k.dst[:], h[24:40])
	start, more := int(fo&^7), fo&1 != 0
	end := min(p.Info.End, len(p.Data))
	if off+8 > end {
		return FragDrop
	}
	wire := p.Info.End - off - 8
	q, res := d.add(k, start, wire, p.Data[off+8:end], more, now, fragTimeout6)
	if q == nil {
		return res
	}
	if start == 0 {
		q.head = append(q.head[:0], p.Data[:off]...)
		q.nextHdr, q.nextOff = f[0], prev
	}
	if q.total < 0 || q.have < q.total || q.head == nil {
		return FragHeld
	}
	nh := p.NH
	if len(q.head) < nh+40 || len(q.head)-nh-40+q.total > 0xffff {
		d.drop(q)
		return FragDrop
	}
	d.join(q)
	d.buf[q.nextOff] = q.nextHdr
	binary.BigEndian.PutUint16(d.buf[nh+4:], uint16(len(d.buf)-nh-40))
	d.give(p, q)
	return FragWhole
}

// add queues one fragment (ip_frag_queue, nf_ct_frag6_queue). q is nil when the
// packet's fate is res.
func (d *Defrag) add(k fragKey, off, wire int, body []byte, more bool, now, timeout int64) (*fragQueue, FragResult) {
	d.expire(now)
	q := d.queues[k]
	if q == nil {
		q = &fragQueue{key: k, total: -1, until: now + timeout}
		d.queues[k] = q
		d.order = append(d.order, q)
	}
	end := off + wire
	if more {
		if wire&7 != 0 {
			if k.l3 == packet.NFProtoIPv6 {
				return nil, FragDrop
			}
			wire &^= 7
			end = off + wire
		}
		if q.total >= 0 && end > q.total {
			d.drop(q)
			return nil, FragDrop
		}
	} else {
		for _, o := range q.pieces {
			if o.off+len(o.data) > end {
				d.drop(q)
				return nil, FragDrop
			}
		}
		if q.total >= 0 && q.total != end {
			d.drop(q)
			return nil, FragDrop
		}
		q.total = end
	}
	if wire <= 0 || end > 0xffff {
		d.drop(q)
		return nil, FragDrop
	}
	for _, o := range q.pieces {
		if off < o.off+len(o.data) && o.off < end {
			if off >= o.off && end <= o.off+len(o.data) {
				return nil, FragDrop // a duplicate (inet_frag_queue_insert: IPFRAG_DUP)
			}
			d.drop(q) // overlap ends the datagram
			return nil, FragDrop
		}
	}
	data := make([]byte, wire)
	q.pieces = append(q.pieces, piece{off, data, copy(data, body)})
	q.have += wire
	d.memory += wire
	for d.memory > d.limit && len(d.order) > 1 {
		for _, o := range d.order {
			if o != q {
				d.stats.FragOut++
				d.drop(o)
				break
			}
		}
	}
	return q, FragHeld
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
	known := q.total
	for _, o := range q.pieces {
		if o.have < len(o.data) {
			known = min(known, o.off+o.have)
		}
	}
	p.Replace(d.buf[:len(d.buf)-q.total+known], len(d.buf))
}
