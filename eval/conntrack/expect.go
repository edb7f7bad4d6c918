package conntrack

// expectation announces a connection that belongs to another
// (nf_conntrack_expect), as ct expectation objects make them.
type expectation struct {
	src, dst [16]byte
	port     uint16
	l3       uint8
	proto    uint8
	zone     uint16
	until    int64
	mark     uint32
	helper   string
}

// maxExpectations is nf_conntrack_expect_max of a small table; the oldest goes
// first.
const maxExpectations = 1024

// Expect announces a connection from the replier of c to c's sender, on a port
// (nft_ct_expect_obj_eval). l4 is its protocol.
func (t *Tracker) Expect(c *Conn, dir int, l4 uint8, port uint16, timeout, now int64, size int) {
	if c.Stated || size == 0 {
		return
	}
	other := c.Tuple(1 - dir)
	n := 0
	for _, x := range t.expects {
		if x.until > now {
			t.expects[n] = x
			n++
		}
	}
	t.expects = t.expects[:n]
	for _, x := range t.expects {
		if x.src == other.Src && x.dst == other.Dst && x.port == port && x.proto == l4 {
			return
		}
	}
	if n >= maxExpectations {
		t.expects = t.expects[:copy(t.expects, t.expects[1:])]
	}
	t.expects = append(t.expects, expectation{
		src: other.Src, dst: other.Dst, port: port, l3: other.L3, proto: l4,
		zone: c.Zone.In(0), until: now + timeout, mark: c.Mark, helper: c.Helper,
	})
}

// expected marks a new connection that was announced (the expectation part of
// init_conntrack).
func (t *Tracker) expected(c *Conn, now int64) {
	for i, x := range t.expects {
		if x.until > now && x.l3 == c.Orig.L3 && x.proto == c.Orig.Proto && x.src == c.Orig.Src &&
			x.dst == c.Orig.Dst && x.port == c.Orig.DstPort && x.zone == c.Zone.In(0) {
			c.Status |= Expected
			c.Mark = x.mark
			c.MasterHelp = x.helper
			t.expects = append(t.expects[:i], t.expects[i+1:]...)
			return
		}
	}
}
