package bytecode

// Instr is one nf_tables expression. The implementations are pointers to the
// structs of this package; there are no others.
type Instr interface {
	// Name is the kernel's name of the expression (nft_expr_type.name).
	Name() string
	instr()
}

// CmpOp is NFT_CMP_*.
type CmpOp uint8

const (
	CmpEq CmpOp = iota
	CmpNeq
	CmpLt
	CmpLte
	CmpGt
	CmpGte
)

func (o CmpOp) String() string {
	switch o {
	case CmpEq:
		return "eq"
	case CmpNeq:
		return "neq"
	case CmpLt:
		return "lt"
	case CmpLte:
		return "lte"
	case CmpGt:
		return "gt"
	case CmpGte:
		return "gte"
	}
	return "unknown"
}

// Cmp breaks unless memcmp(register, Data) fulfils Op (nft_cmp_eval). A Data
// shorter than the register's content compares a prefix.
type Cmp struct {
	Op   CmpOp
	Src  Register
	Data Data
}

// Range breaks unless From <= register <= To, or the opposite with Neg
// (nft_range_eval).
type Range struct {
	Neg      bool
	Src      Register
	From, To Data
}

// Immediate stores a constant, or a verdict when Dst is the verdict register.
type Immediate struct {
	Dst     Register
	Data    Data
	Verdict Verdict
}

// Lookup looks a key up in a set (nft_lookup_eval). For a map HasDst is true
// and the data goes to Dst; Dst 0 is the verdict register.
type Lookup struct {
	Src    Register
	Set    string
	SetID  uint32
	Invert bool
	HasDst bool
	Dst    Register
}

// PayloadBase is NFT_PAYLOAD_*_HEADER.
type PayloadBase uint8

const (
	BaseLink PayloadBase = iota
	BaseNetwork
	BaseTransport
	BaseInner
	BaseTunnel
)

func (b PayloadBase) String() string {
	switch b {
	case BaseLink:
		return "link header"
	case BaseNetwork:
		return "network header"
	case BaseTransport:
		return "transport header"
	case BaseInner:
		return "inner header"
	case BaseTunnel:
		return "tunnel header"
	}
	return "unknown"
}

// Payload loads Len bytes at Offset from a header to Dst (nft_payload_eval).
type Payload struct {
	Base   PayloadBase
	Offset uint32
	Len    uint32
	Dst    Register
}

// PayloadSet writes Len bytes from Src to the packet and mends checksums
// (nft_payload_set_eval).
type PayloadSet struct {
	Src       Register
	Base      PayloadBase
	Offset    uint32
	Len       uint32
	CsumType  uint8  // 0 none, 1 inet, 2 sctp
	CsumOff   uint32 // from the base
	CsumFlags uint32 // 1: the layer-4 checksum covers a pseudo header
}

// Inner runs Instr (Payload or Meta) on the header inside a tunnel
// (nft_inner_eval). Type: 0 vxlan, 1 geneve ...(NFT_INNER_*); HdrSize bytes of
// tunnel header; Flags NFT_INNER_HDRSIZE 1, LL 2, NH 4, TH 8.
type Inner struct {
	Type    uint32
	HdrSize uint32
	Flags   uint32
	Instr   Instr
}

// ExthdrOp is NFT_EXTHDR_OP_*.
type ExthdrOp uint8

const (
	ExthdrIPv6 ExthdrOp = iota
	ExthdrTCPOpt
	ExthdrIPv4
	ExthdrSCTP
	ExthdrDCCP
)

// Exthdr loads from an extension header or option of type Type, or with
// Present whether it is there (one byte, 0 or 1) (nft_exthdr_eval).
type Exthdr struct {
	Op      ExthdrOp
	Type    uint8
	Offset  uint32
	Len     uint32
	Present bool // NFT_EXTHDR_F_PRESENT
	Dst     Register
}

// ExthdrSet writes a TCP option (nft_exthdr_tcp_set_eval).
type ExthdrSet struct {
	Op     ExthdrOp
	Type   uint8
	Offset uint32
	Len    uint32
	Src    Register
}

// ExthdrReset overwrites a TCP option with NOPs (nft_exthdr_tcp_strip_eval).
type ExthdrReset struct {
	Op   ExthdrOp
	Type uint8
}

// BitwiseOp is NFT_BITWISE_*.
type BitwiseOp uint8

const (
	BitwiseMaskXor BitwiseOp = iota
	BitwiseLshift
	BitwiseRshift
	BitwiseAnd
	BitwiseOr
	BitwiseXor
)

// Bitwise computes, over Len bytes: (src & Mask) ^ Xor; a shift by Shift bits;
// or src op Src2 (nft_bitwise_eval).
type Bitwise struct {
	Op       BitwiseOp
	Src, Dst Register
	Src2     Register // And, Or, Xor
	Len      uint32
	Mask     Data
	Xor      Data
	Shift    uint32
}

// Byteorder swaps Len bytes in units of Size (2, 4, 8); Hton false is ntoh
// (nft_byteorder_eval).
type Byteorder struct {
	Src, Dst Register
	Hton     bool
	Len      uint32
	Size     uint32
}

// Meta loads a packet's meta data (nft_meta_get_eval). Key is NFT_META_*.
type Meta struct {
	Key MetaKey
	Dst Register
}

// MetaSet stores to a packet's meta data (nft_meta_set_eval).
type MetaSet struct {
	Key MetaKey
	Src Register
}

// CT loads from the packet's connection tracking entry (nft_ct_get_eval).
// Dir: -1 none, 0 original, 1 reply.
type CT struct {
	Key CTKey
	Dir int8
	Dst Register
}

// CTSet stores to the connection tracking entry (nft_ct_set_eval).
type CTSet struct {
	Key CTKey
	Dir int8
	Src Register
}

// RT loads routing data (nft_rt_get_eval). Key is NFT_RT_*.
type RT struct {
	Key RTKey
	Dst Register
}

// Socket loads from the socket a packet belongs to (nft_socket_eval).
type Socket struct {
	Key   SocketKey
	Level uint32
	Dst   Register
}

// Fib asks the routing table (nft_fib4_eval, nft_fib6_eval). Result:
// NFT_FIB_RESULT_* (1 oif, 2 oifname, 3 address type); Flags NFTA_FIB_F_*:
// 1 saddr, 2 daddr, 4 mark, 8 iif, 16 oif, 32 present.
type Fib struct {
	Flags  uint32
	Result uint32
	Dst    Register
}

// Osf loads the passive OS fingerprint's name (nft_osf_eval).
type Osf struct {
	Dst   Register
	TTL   uint8
	Flags uint32
}

// Numgen counts or draws (nft_ng_inc_eval, nft_ng_random_eval).
type Numgen struct {
	Random  bool
	Modulus uint32
	Offset  uint32
	Dst     Register
}

// Hash is jhash over Len bytes of Src, or symhash with Sym (nft_jhash_eval,
// nft_symhash_eval).
type Hash struct {
	Sym     bool
	Src     Register
	Len     uint32
	Modulus uint32
	Seed    uint32
	SeedSet bool
	Offset  uint32
	Dst     Register
}

// Xfrm loads from the packet's IPsec state (nft_xfrm_get_eval). Dir 0 in, 1 out.
type Xfrm struct {
	Key XfrmKey
	Dir uint8
	SP  uint32
	Dst Register
}

// Tunnel loads tunnel metadata (nft_tunnel_get_eval). Key 0 path, 1 id; Mode
// 0 none, 1 rx, 2 tx.
type Tunnel struct {
	Key  uint32
	Mode uint32
	Dst  Register
}

// Counter counts packets and bytes.
type Counter struct {
	Packets, Bytes uint64
}

// Quota matches while (or, with Over, once) more than Bytes have passed.
type Quota struct {
	Bytes, Consumed uint64
	Over            bool
}

// Limit is a token bucket (nft_limit_eval). Unit is the period in seconds.
type Limit struct {
	Rate  uint64
	Unit  uint64
	Burst uint32
	Bytes bool // type bytes instead of packets
	Over  bool // NFT_LIMIT_F_INV
}

// Connlimit is `ct count` (nft_connlimit_eval).
type Connlimit struct {
	Count uint32
	Over  bool
}

// Last remembers when it last ran; Set tells whether it ever did.
type Last struct {
	Set   bool
	Msecs uint64
}

// Log writes a log entry (nft_log_eval). Level 8 is audit; HasGroup chooses
// nfnetlink_log.
type Log struct {
	Prefix     string
	HasLevel   bool
	Level      uint32
	Flags      uint32 // NF_LOG_*
	HasGroup   bool
	Group      uint16
	Snaplen    uint32
	HasSnaplen bool
	Qthreshold uint16
}

// Reject drops and answers. Type: 0 icmp unreachable, 1 tcp reset, 2 icmpx.
type Reject struct {
	Type uint32
	Code uint8
}

// NATType is NFT_NAT_*.
type NATType uint32

const (
	NATSource NATType = 0
	NATDest   NATType = 1
)

// NAT changes addresses and ports (nft_nat_eval). A register of 0 is absent.
// Flags are NF_NAT_RANGE_*.
type NAT struct {
	Type     NATType
	Family   Family
	AddrMin  Register
	AddrMax  Register
	ProtoMin Register
	ProtoMax Register
	Flags    uint32
}

// Masq is masquerade.
type Masq struct {
	Flags              uint32
	ProtoMin, ProtoMax Register
}

// Redir is redirect.
type Redir struct {
	ProtoMin, ProtoMax Register
	Flags              uint32
}

// TProxy is tproxy; Family 0 is unspecified.
type TProxy struct {
	Family Family
	Addr   Register
	Port   Register
}

// Synproxy answers handshakes in place of a server.
type Synproxy struct {
	MSS    uint16
	Wscale uint8
	Flags  uint32
}

// Dup copies the packet to an address or device.
type Dup struct {
	Addr Register
	Dev  Register
}

// Fwd sends the packet out of a device.
type Fwd struct {
	Dev    Register
	Addr   Register
	Family Family
}

// QueueTo hands the packet to user space. With HasSreg the number comes from
// Src. Flags: 1 bypass, 2 fanout.
type QueueTo struct {
	Num     uint16
	Total   uint16
	Flags   uint16
	HasSreg bool
	Src     Register
}

// Notrack takes the packet out of connection tracking.
type Notrack struct{}

// FlowOffload puts the flow in a flowtable.
type FlowOffload struct{ Flowtable string }

// Objref uses a named object.
type Objref struct {
	Type   ObjectType
	Object string
}

// ObjrefMap uses the object that a map gives for a key.
type ObjrefMap struct {
	Src   Register
	Set   string
	SetID uint32
}

// DynsetOp is NFT_DYNSET_OP_*.
type DynsetOp uint32

const (
	DynsetAdd DynsetOp = iota
	DynsetUpdate
	DynsetDelete
)

func (o DynsetOp) String() string {
	switch o {
	case DynsetAdd:
		return "add"
	case DynsetUpdate:
		return "update"
	case DynsetDelete:
		return "delete"
	}
	return "unknown"
}

// Dynset adds to, refreshes in or deletes from a set (nft_dynset_eval).
type Dynset struct {
	Op      DynsetOp
	Key     Register
	HasData bool
	Data    Register
	Set     string
	SetID   uint32
	Timeout uint64 // milliseconds, 0 none
	Invert  bool
	Exprs   []Instr
}

// Compat is an xtables match or target, which only the kernel can run.
type Compat struct {
	Target   bool
	XTName   string
	Revision uint32
	Info     []byte
}

// ObjCTHelperSpec is the definition of a ct helper object.
type ObjCTHelperSpec struct {
	Helper  string
	Family  Family // l3proto
	L4Proto uint8
}

// ObjCTTimeoutSpec is the definition of a ct timeout object; Policy is in
// seconds by state number of the protocol.
type ObjCTTimeoutSpec struct {
	Family  Family
	L4Proto uint8
	Policy  map[int]uint32
}

// ObjCTExpectSpec is the definition of a ct expectation object. Timeout in
// milliseconds.
type ObjCTExpectSpec struct {
	Family  Family
	L4Proto uint8
	Port    uint16
	Timeout uint32
	Size    uint8
}

// ObjSecmarkSpec is the definition of a secmark object.
type ObjSecmarkSpec struct{ Context string }

// ObjTunnelSpec is the definition of a tunnel object.
type ObjTunnelSpec struct {
	ID           uint32
	Src, Dst     []byte // 4 or 16 bytes
	Sport, Dport uint16
	TOS, TTL     uint8
	Kind         string // "", vxlan, erspan, geneve
	VxlanGBP     uint32
	Erspan       struct {
		Version uint8
		Index   uint32
		Dir     uint8
		HWID    uint8
	}
	Geneve []TunnelGeneveOpt
}

// TunnelGeneveOpt is one geneve option of a tunnel object.
type TunnelGeneveOpt struct {
	Class uint16
	Type  uint8
	Data  []byte
}
