package conntrack

// Info is enum ip_conntrack_info: how a packet belongs to its connection.
type Info uint8

const (
	Established      Info = 0
	Related          Info = 1
	New              Info = 2
	EstablishedReply Info = 3
	RelatedReply     Info = 4
	Untracked        Info = 7
)

func (i Info) String() string {
	switch i {
	case Established:
		return "established"
	case Related:
		return "related"
	case New:
		return "new"
	case EstablishedReply:
		return "established, reply"
	case RelatedReply:
		return "related, reply"
	case Untracked:
		return "untracked"
	}
	return "invalid"
}

// Reply tells whether the packet goes against the connection's first.
func (i Info) Reply() bool { return i == EstablishedReply || i == RelatedReply }

// Dir is 0 for the original, 1 for the reply direction (CTINFO2DIR).
func (i Info) Dir() int {
	if i >= EstablishedReply && i != Untracked {
		return 1
	}
	return 0
}

// StateBit is NF_CT_STATE_BIT: what `ct state` compares.
func (i Info) StateBit() uint32 { return 1 << (uint32(i)%3 + 1) }

// Status bits of a connection (IPS_*), as `ct status` shows them.
const (
	Expected   = 1 << 0
	SeenReply  = 1 << 1
	Assured    = 1 << 2
	Confirmed  = 1 << 3
	SrcNAT     = 1 << 4
	DstNAT     = 1 << 5
	SrcNATDone = 1 << 7
	DstNATDone = 1 << 8
	Dying      = 1 << 9
	HelperSet  = 1 << 13
	Offload    = 1 << 14
)

// Conn is one connection (struct nf_conn).
type Conn struct {
	Orig, Reply Tuple
	Zone        Zone
	Status      uint32
	Mark        uint32
	Labels      [16]byte
	Packets     [2]uint64 // by direction
	Bytes       [2]uint64
	Helper      string
	MasterHelp  string // helper of the connection that expected this one
	ID          uint32
	Stated      bool  // made up from what a packet states: not in any table
	Timeout     int64 // nanoseconds; after confirmation the time at which it ends

	tcp  tcpState
	sctp sctpState
	// streamAt is when UDP traffic in both directions becomes a stream.
	streamAt int64
	slot     int // index in Tracker.list, -1 when not confirmed
	next     *Conn
}

// Tuple returns the tuple of a direction.
func (c *Conn) Tuple(dir int) *Tuple {
	if dir == 0 {
		return &c.Orig
	}
	return &c.Reply
}

// IsConfirmed tells whether the connection is in the table.
func (c *Conn) IsConfirmed() bool { return c.Status&Confirmed != 0 }

// Closed tells whether a TCP connection is over (already_closed of
// nf_conncount).
func (c *Conn) Closed() bool {
	return c.Orig.Proto == protoTCP && (c.tcp.state == tcpTimeWait || c.tcp.state == tcpClose)
}

// SetHelper attaches a helper to a connection that is not confirmed yet
// (nft_ct_helper_obj_eval).
func (c *Conn) SetHelper(name string) {
	if c.IsConfirmed() || c.Helper != "" {
		return
	}
	c.Helper = name
	c.Status |= HelperSet
}

// StateName names the protocol's state of the connection, empty where there is
// none.
func (c *Conn) StateName() string {
	switch c.Orig.Proto {
	case protoTCP:
		return c.tcp.state.String()
	case protoSCTP:
		return c.sctp.state.String()
	}
	return ""
}

// TCPEstablished is nf_conntrack_tcp_established.
func (c *Conn) TCPEstablished() bool {
	return c.tcp.state == tcpEstablished && c.Status&Assured != 0
}
