package ir

import "github.com/nftc/nftc/compile/bytecode"

// metaKey is a row of the meta keys: name, kernel key, type, length and order.
type metaKey struct {
	Name  string
	Key   bytecode.MetaKey
	Type  *Datatype
	Bits  int
	Order ByteOrder
	// Bare keys are listed without `meta`.
	Bare bool
	// set tells whether the kernel lets rules change it (nft_meta_set_init).
	set bool
}

var (
	metaNFProto  = &metaKeys[bytecode.MetaNFProto]
	metaL4Proto  = &metaKeys[bytecode.MetaL4Proto]
	metaProtocol = &metaKeys[bytecode.MetaProtocol]
	metaIIFType  = &metaKeys[bytecode.MetaIIFType]
)

// metaKeys by kernel key.
var metaKeys = [...]metaKey{
	bytecode.MetaLen:          {Name: "length", Type: TypeInteger, Bits: 32, Order: OrderHost},
	bytecode.MetaProtocol:     {Name: "protocol", Type: TypeEtherType, Bits: 16, Order: OrderBig},
	bytecode.MetaPriority:     {Name: "priority", Type: TypeClassID, Bits: 32, Order: OrderHost, set: true},
	bytecode.MetaMark:         {Name: "mark", Type: TypeMark, Bits: 32, Order: OrderHost, set: true},
	bytecode.MetaIIF:          {Name: "iif", Type: TypeIfIndex, Bits: 32, Order: OrderHost, Bare: true},
	bytecode.MetaOIF:          {Name: "oif", Type: TypeIfIndex, Bits: 32, Order: OrderHost, Bare: true},
	bytecode.MetaIIFName:      {Name: "iifname", Type: TypeIfName, Bits: 128, Order: OrderHost, Bare: true},
	bytecode.MetaOIFName:      {Name: "oifname", Type: TypeIfName, Bits: 128, Order: OrderHost, Bare: true},
	bytecode.MetaIIFType:      {Name: "iiftype", Type: TypeIfType, Bits: 16, Order: OrderHost},
	bytecode.MetaOIFType:      {Name: "oiftype", Type: TypeIfType, Bits: 16, Order: OrderHost},
	bytecode.MetaSKUID:        {Name: "skuid", Type: TypeUID, Bits: 32, Order: OrderHost},
	bytecode.MetaSKGID:        {Name: "skgid", Type: TypeGID, Bits: 32, Order: OrderHost},
	bytecode.MetaNFTrace:      {Name: "nftrace", Type: TypeInteger, Bits: 1, Order: OrderHost, set: true},
	bytecode.MetaRTClassID:    {Name: "rtclassid", Type: TypeRealm, Bits: 32, Order: OrderHost},
	bytecode.MetaSecmark:      {Name: "secmark", Type: TypeInteger, Bits: 32, Order: OrderHost, set: true},
	bytecode.MetaNFProto:      {Name: "nfproto", Type: TypeNFProto, Bits: 8, Order: OrderHost},
	bytecode.MetaL4Proto:      {Name: "l4proto", Type: TypeInetProto, Bits: 8, Order: OrderHost},
	bytecode.MetaBriIIFName:   {Name: "ibrname", Type: TypeIfName, Bits: 128, Order: OrderHost},
	bytecode.MetaBriOIFName:   {Name: "obrname", Type: TypeIfName, Bits: 128, Order: OrderHost},
	bytecode.MetaPktType:      {Name: "pkttype", Type: TypePktType, Bits: 8, Order: OrderHost, set: true},
	bytecode.MetaCPU:          {Name: "cpu", Type: TypeInteger, Bits: 32, Order: OrderHost},
	bytecode.MetaIIFGroup:     {Name: "iifgroup", Type: TypeDevGroup, Bits: 32, Order: OrderHost, Bare: true},
	bytecode.MetaOIFGroup:     {Name: "oifgroup", Type: TypeDevGroup, Bits: 32, Order: OrderHost, Bare: true},
	bytecode.MetaCGroup:       {Name: "cgroup", Type: TypeInteger, Bits: 32, Order: OrderHost},
	bytecode.MetaPRandom:      {Name: "random", Type: TypeInteger, Bits: 32, Order: OrderBig},
	bytecode.MetaSecpath:      {Name: "ipsec", Type: TypeBoolean, Bits: 8, Order: OrderHost},
	bytecode.MetaIIFKind:      {Name: "iifkind", Type: TypeIfName, Bits: 128, Order: OrderHost},
	bytecode.MetaOIFKind:      {Name: "oifkind", Type: TypeIfName, Bits: 128, Order: OrderHost},
	bytecode.MetaBriIIFPVID:   {Name: "ibrpvid", Type: TypeInteger, Bits: 16, Order: OrderHost},
	bytecode.MetaBriIIFVProto: {Name: "ibrvproto", Type: TypeEtherType, Bits: 16, Order: OrderBig},
	bytecode.MetaTimeNS:       {Name: "time", Type: TypeDate, Bits: 64, Order: OrderHost},
	bytecode.MetaTimeDay:      {Name: "day", Type: TypeDay, Bits: 8, Order: OrderHost},
	bytecode.MetaTimeHour:     {Name: "hour", Type: TypeHour, Bits: 32, Order: OrderHost},
	bytecode.MetaSDIF:         {Name: "sdif", Type: TypeIfIndex, Bits: 32, Order: OrderHost},
	bytecode.MetaSDIFName:     {Name: "sdifname", Type: TypeIfName, Bits: 128, Order: OrderHost},
	bytecode.MetaBriBroute:    {Name: "broute", Type: TypeInteger, Bits: 1, Order: OrderHost, set: true},
	bytecode.MetaBriIIFHWAddr: {Name: "ibrhwaddr", Type: TypeEtherAddr, Bits: 48, Order: OrderBig},
}

// metaAliases are older words for meta keys.
var metaAliases = map[string]bytecode.MetaKey{
	"ibriport": bytecode.MetaBriIIFName,
	"obriport": bytecode.MetaBriOIFName,
	"secpath":  bytecode.MetaSecpath,
}

// metaKeyNamed finds a meta key; nil when there is none.
func metaKeyNamed(name string) *metaKey {
	for i := range metaKeys {
		if metaKeys[i].Name == name {
			return &metaKeys[i]
		}
	}
	if k, ok := metaAliases[name]; ok {
		return &metaKeys[k]
	}
	return nil
}

func metaKeyNames() []string {
	var names []string
	for i := range metaKeys {
		if metaKeys[i].Name != "" {
			names = append(names, metaKeys[i].Name)
		}
	}
	return names
}

// MetaKeyName returns nft's word for a meta key and whether it is listed
// without `meta`.
func MetaKeyName(k bytecode.MetaKey) (name string, bare bool) {
	if int(k) < len(metaKeys) {
		return metaKeys[k].Name, metaKeys[k].Bare
	}
	return "unknown", false
}

// ctKey is a row of the conntrack keys.
type ctKey struct {
	Name  string
	Key   bytecode.CTKey
	Type  *Datatype
	Bits  int
	Order ByteOrder
	// dir tells whether a direction must (1), may (0) or cannot (-1) stand in
	// front.
	dir int8
	// family of addresses, 0 when it does not matter.
	family bytecode.Family
	// set tells whether rules can change it (nft_ct_set_init).
	set bool
}

// ctKeys in the order of the kernel's numbers.
var ctKeys = []ctKey{
	{Name: "state", Key: bytecode.CTState, Type: TypeCTState, Bits: 32, Order: OrderHost, dir: -1},
	{Name: "direction", Key: bytecode.CTDirection, Type: TypeCTDir, Bits: 8, Order: OrderHost, dir: -1},
	{Name: "status", Key: bytecode.CTStatus, Type: TypeCTStatus, Bits: 32, Order: OrderHost, dir: -1},
	{Name: "mark", Key: bytecode.CTMark, Type: TypeMark, Bits: 32, Order: OrderHost, dir: -1, set: true},
	{Name: "secmark", Key: bytecode.CTSecmark, Type: TypeInteger, Bits: 32, Order: OrderHost, dir: -1, set: true},
	{Name: "expiration", Key: bytecode.CTExpiration, Type: TypeTime, Bits: 32, Order: OrderHost, dir: -1},
	{Name: "helper", Key: bytecode.CTHelper, Type: TypeString, Bits: 128, Order: OrderHost, dir: -1},
	{Name: "l3proto", Key: bytecode.CTL3Protocol, Type: TypeNFProto, Bits: 8, Order: OrderHost},
	{Name: "saddr", Key: bytecode.CTSrc, Type: TypeInvalid, Order: OrderBig, dir: 1},
	{Name: "daddr", Key: bytecode.CTDst, Type: TypeInvalid, Order: OrderBig, dir: 1},
	{Name: "protocol", Key: bytecode.CTProtocol, Type: TypeInetProto, Bits: 8, Order: OrderBig},
	{Name: "proto-src", Key: bytecode.CTProtoSrc, Type: TypeInetService, Bits: 16, Order: OrderBig, dir: 1},
	{Name: "proto-dst", Key: bytecode.CTProtoDst, Type: TypeInetService, Bits: 16, Order: OrderBig, dir: 1},
	{Name: "label", Key: bytecode.CTLabel, Type: TypeCTLabel, Bits: 128, Order: OrderHost, dir: -1, set: true},
	{Name: "packets", Key: bytecode.CTPkts, Type: TypeInteger, Bits: 64, Order: OrderHost},
	{Name: "bytes", Key: bytecode.CTBytes, Type: TypeInteger, Bits: 64, Order: OrderHost},
	{Name: "avgpkt", Key: bytecode.CTAvgPkt, Type: TypeInteger, Bits: 64, Order: OrderHost},
	{Name: "zone", Key: bytecode.CTZone, Type: TypeInteger, Bits: 16, Order: OrderHost, set: true},
	{Name: "event", Key: bytecode.CTEvent, Type: TypeCTEvent, Bits: 32, Order: OrderHost, dir: -1, set: true},
	{Name: "saddr", Key: bytecode.CTSrcIP, Type: TypeIPv4Addr, Bits: 32, Order: OrderBig, dir: 1, family: bytecode.FamilyIP},
	{Name: "daddr", Key: bytecode.CTDstIP, Type: TypeIPv4Addr, Bits: 32, Order: OrderBig, dir: 1, family: bytecode.FamilyIP},
	{Name: "saddr", Key: bytecode.CTSrcIP6, Type: TypeIPv6Addr, Bits: 128, Order: OrderBig, dir: 1, family: bytecode.FamilyIP6},
	{Name: "daddr", Key: bytecode.CTDstIP6, Type: TypeIPv6Addr, Bits: 128, Order: OrderBig, dir: 1, family: bytecode.FamilyIP6},
	{Name: "id", Key: bytecode.CTID, Type: TypeInteger, Bits: 32, Order: OrderBig, dir: -1},
}

// ctKeyNamed finds a conntrack key; nil when there is none.
func ctKeyNamed(name string, family bytecode.Family) *ctKey {
	for i := range ctKeys {
		if ctKeys[i].Name == name && ctKeys[i].family == family {
			return &ctKeys[i]
		}
	}
	return nil
}

func ctKeyNames() []string {
	var names []string
	for i := range ctKeys {
		if ctKeys[i].family == 0 {
			names = append(names, ctKeys[i].Name)
		}
	}
	return names
}

// CTKeyName returns nft's word for a conntrack key, without family and
// direction.
func CTKeyName(k bytecode.CTKey) string {
	for i := range ctKeys {
		if ctKeys[i].Key == k {
			return ctKeys[i].Name
		}
	}
	return "unknown"
}

// rtKey is a row of the routing keys.
type rtKey struct {
	Name   string
	Key    bytecode.RTKey
	Type   *Datatype
	Bits   int
	Order  ByteOrder
	family bytecode.Family
}

var rtKeys = []rtKey{
	{"classid", bytecode.RTClassID, TypeRealm, 32, OrderHost, 0},
	{"nexthop", bytecode.RTNextHop4, TypeInvalid, 0, OrderBig, 0},
	{"nexthop", bytecode.RTNextHop4, TypeIPv4Addr, 32, OrderBig, bytecode.FamilyIP},
	{"nexthop", bytecode.RTNextHop6, TypeIPv6Addr, 128, OrderBig, bytecode.FamilyIP6},
	{"mtu", bytecode.RTTCPMSS, TypeInteger, 16, OrderHost, 0},
	{"ipsec", bytecode.RTIPsec, TypeBoolean, 8, OrderHost, 0},
}

func rtKeyNamed(name string, family bytecode.Family) *rtKey {
	for i := range rtKeys {
		if rtKeys[i].Name == name && rtKeys[i].family == family {
			return &rtKeys[i]
		}
	}
	return nil
}

// socketKey is a row of the socket keys.
type socketKey struct {
	Name  string
	Key   bytecode.SocketKey
	Type  *Datatype
	Bits  int
	Order ByteOrder
	max   uint32
}

var socketKeys = []socketKey{
	{"transparent", bytecode.SocketTransparent, TypeInteger, 8, OrderHost, 1},
	{"mark", bytecode.SocketMark, TypeMark, 32, OrderHost, 0},
	{"wildcard", bytecode.SocketWildcard, TypeInteger, 8, OrderHost, 1},
	{"cgroupv2", bytecode.SocketCgroupV2, TypeCgroupV2, 64, OrderHost, 0},
}

// xfrmKey is a row of the ipsec keys.
type xfrmKey struct {
	Name   string
	Family bytecode.Family
	Key    bytecode.XfrmKey
	Type   *Datatype
	Bits   int
	Order  ByteOrder
}

var xfrmKeys = []xfrmKey{
	{"daddr", bytecode.FamilyIP, bytecode.XfrmDAddr4, TypeIPv4Addr, 32, OrderBig},
	{"saddr", bytecode.FamilyIP, bytecode.XfrmSAddr4, TypeIPv4Addr, 32, OrderBig},
	{"daddr", bytecode.FamilyIP6, bytecode.XfrmDAddr6, TypeIPv6Addr, 128, OrderBig},
	{"saddr", bytecode.FamilyIP6, bytecode.XfrmSAddr6, TypeIPv6Addr, 128, OrderBig},
	{"reqid", 0, bytecode.XfrmReqID, TypeInteger, 32, OrderHost},
	{"spi", 0, bytecode.XfrmSPI, TypeInteger, 32, OrderBig},
}

// familyWord maps the words ip and ip6.
func familyWord(s string) bytecode.Family {
	switch s {
	case "ip":
		return bytecode.FamilyIP
	case "ip6":
		return bytecode.FamilyIP6
	}
	return 0
}

func init() {
	for k := range metaKeys {
		metaKeys[k].Key = bytecode.MetaKey(k)
	}
}
