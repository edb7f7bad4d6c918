package ir

// The datatypes, one row each: number, name, description, size, byte order,
// base and how constants are written and listed. Facts: `nft describe` of 1.1.7.
var (
	TypeInvalid      = &Datatype{ID: IDInvalid, Name: "invalid", Desc: "invalid"}
	TypeVerdict      = &Datatype{ID: IDVerdict, Name: "verdict", Desc: "netfilter verdict"}
	TypeNFProto      = &Datatype{ID: IDNFProto, Name: "nf_proto", Desc: "netfilter protocol", Bits: 8, Base: TypeInteger, Symbols: &nfProtoSymbols}
	TypeBitmask      = &Datatype{ID: IDBitmask, Name: "bitmask", Desc: "bitmask", Base: TypeInteger, hex: 1}
	TypeInteger      = &Datatype{ID: IDInteger, Name: "integer", Desc: "integer", form: formInteger}
	TypeXInteger     = &Datatype{ID: IDInteger, Name: "integer", Desc: "integer", Base: TypeInteger, form: formInteger, hex: 1}
	TypeQueue        = &Datatype{ID: IDInteger, Name: "queue", Desc: "queue", Base: TypeInteger}
	TypeString       = &Datatype{ID: IDString, Name: "string", Desc: "string", Order: OrderHost, form: formString}
	TypeLLAddr       = &Datatype{ID: IDLLAddr, Name: "ll_addr", Desc: "link layer address", Order: OrderBig, Base: TypeInteger, form: formLLAddr}
	TypeIPv4Addr     = &Datatype{ID: IDIPv4Addr, Name: "ipv4_addr", Desc: "IPv4 address", Bits: 32, Order: OrderBig, Base: TypeInteger, form: formIPv4, Prefix: true}
	TypeIPv6Addr     = &Datatype{ID: IDIPv6Addr, Name: "ipv6_addr", Desc: "IPv6 address", Bits: 128, Order: OrderBig, Base: TypeInteger, form: formIPv6, Prefix: true}
	TypeEtherAddr    = &Datatype{ID: IDEtherAddr, Name: "ether_addr", Desc: "Ethernet address", Bits: 48, Order: OrderBig, Base: TypeLLAddr}
	TypeEtherType    = &Datatype{ID: IDEtherType, Name: "ether_type", Desc: "Ethernet protocol", Bits: 16, Order: OrderBig, Base: TypeInteger, hex: 4, Symbols: &etherTypeSymbols}
	TypeArpOp        = &Datatype{ID: IDArpOp, Name: "arp_op", Desc: "ARP operation", Bits: 16, Order: OrderBig, Base: TypeInteger, Symbols: &arpOpSymbols}
	TypeInetProto    = &Datatype{ID: IDInetProto, Name: "inet_proto", Desc: "Internet protocol", Bits: 8, Base: TypeInteger, form: formProto}
	TypeInetService  = &Datatype{ID: IDInetService, Name: "inet_service", Desc: "internet network service", Bits: 16, Order: OrderBig, Base: TypeInteger, form: formService}
	TypeICMPType     = &Datatype{ID: IDICMPType, Name: "icmp_type", Desc: "ICMP type", Bits: 8, Order: OrderBig, Base: TypeInteger, Symbols: &icmpTypeSymbols}
	TypeTCPFlag      = &Datatype{ID: IDTCPFlag, Name: "tcp_flag", Desc: "TCP flag", Bits: 8, Order: OrderBig, Base: TypeBitmask, Symbols: &tcpFlagSymbols}
	TypeMPTCPSubtype = &Datatype{ID: IDInteger, Name: "integer", Desc: "mptcp option subtype", Bits: 4, Base: TypeInteger, Symbols: &mptcpSubtypeSymbols}
	TypeDCCPPktType  = &Datatype{ID: IDDCCPPktType, Name: "dccp_pkttype", Desc: "DCCP packet type", Bits: 4, Base: TypeInteger, Symbols: &dccpPktTypeSymbols}
	TypeMHType       = &Datatype{ID: IDMHType, Name: "mh_type", Desc: "Mobility Header Type", Bits: 8, Order: OrderBig, Base: TypeInteger, Symbols: &mhTypeSymbols}
	TypeTime         = &Datatype{ID: IDTime, Name: "time", Desc: "relative time", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formTime}
	TypeMark         = &Datatype{ID: IDMark, Name: "mark", Desc: "packet mark", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formMark, hex: 8, quoted: true}
	TypeIfIndex      = &Datatype{ID: IDIfIndex, Name: "iface_index", Desc: "network interface index", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formIfIndex}
	TypeIfType       = &Datatype{ID: IDIfType, Name: "iface_type", Desc: "network interface type", Bits: 16, Order: OrderHost, Base: TypeInteger, Symbols: &ifTypeSymbols}
	TypeRealm        = &Datatype{ID: IDRealm, Name: "realm", Desc: "routing realm", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formMark, quoted: true, Symbols: &realmSymbols}
	TypeClassID      = &Datatype{ID: IDClassID, Name: "classid", Desc: "TC classid", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formClassID}
	TypeUID          = &Datatype{ID: IDUID, Name: "uid", Desc: "user ID", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formUID}
	TypeGID          = &Datatype{ID: IDGID, Name: "gid", Desc: "group ID", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formGID}
	TypeCTState      = &Datatype{ID: IDCTState, Name: "ct_state", Desc: "conntrack state", Bits: 32, Order: OrderHost, Base: TypeBitmask, Symbols: &ctStateSymbols}
	TypeCTDir        = &Datatype{ID: IDCTDir, Name: "ct_dir", Desc: "conntrack direction", Bits: 8, Base: TypeInteger, Symbols: &ctDirSymbols}
	TypeCTStatus     = &Datatype{ID: IDCTStatus, Name: "ct_status", Desc: "conntrack status", Bits: 32, Order: OrderHost, Base: TypeBitmask, Symbols: &ctStatusSymbols}
	TypeICMPv6Type   = &Datatype{ID: IDICMPv6Type, Name: "icmpv6_type", Desc: "ICMPv6 type", Bits: 8, Order: OrderBig, Base: TypeInteger, Symbols: &icmpv6TypeSymbols}
	TypeCTLabel      = &Datatype{ID: IDCTLabel, Name: "ct_label", Desc: "conntrack label", Bits: 128, Order: OrderHost, Base: TypeBitmask, form: formCTLabel}
	TypePktType      = &Datatype{ID: IDPktType, Name: "pkt_type", Desc: "packet type", Bits: 8, Order: OrderHost, Base: TypeInteger, Symbols: &pktTypeSymbols}
	TypeICMPCode     = &Datatype{ID: IDICMPCode, Name: "icmp_code", Desc: "icmp code", Bits: 8, Order: OrderBig, Base: TypeInteger, form: formMark, Symbols: &rejectICMPSymbols}
	TypeICMPv6Code   = &Datatype{ID: IDICMPv6Code, Name: "icmpv6_code", Desc: "icmpv6 code", Bits: 8, Order: OrderBig, Base: TypeInteger, form: formMark, Symbols: &rejectICMPv6Symbols}
	TypeICMPXCode    = &Datatype{ID: IDICMPXCode, Name: "icmpx_code", Desc: "icmpx code", Bits: 8, Order: OrderBig, Base: TypeInteger, form: formMark, Symbols: &rejectICMPXSymbols}
	TypeDevGroup     = &Datatype{ID: IDDevGroup, Name: "devgroup", Desc: "devgroup name", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formMark, quoted: true, Symbols: &devGroupSymbols}
	TypeDSCP         = &Datatype{ID: IDDSCP, Name: "dscp", Desc: "Differentiated Services Code Point", Bits: 6, Order: OrderBig, Base: TypeInteger, hex: 2, Symbols: &dscpSymbols}
	TypeECN          = &Datatype{ID: IDECN, Name: "ecn", Desc: "Explicit Congestion Notification", Bits: 2, Order: OrderBig, Base: TypeInteger, hex: 1, Symbols: &ecnSymbols}
	TypeFibAddrType  = &Datatype{ID: IDFibAddrType, Name: "fib_addrtype", Desc: "fib address type", Bits: 32, Order: OrderHost, Base: TypeInteger, Symbols: &fibAddrTypeSymbols}
	TypeBoolean      = &Datatype{ID: IDBoolean, Name: "boolean", Desc: "boolean type", Bits: 1, Base: TypeInteger, form: formBoolean, Symbols: &booleanSymbols}
	TypeCTEvent      = &Datatype{ID: IDCTEvent, Name: "ct_event", Desc: "conntrack event bits", Bits: 32, Order: OrderHost, Base: TypeBitmask, Symbols: &ctEventSymbols}
	TypeIfName       = &Datatype{ID: IDIfName, Name: "ifname", Desc: "network interface name", Bits: 128, Order: OrderHost, Base: TypeString}
	TypeIGMPType     = &Datatype{ID: IDIGMPType, Name: "igmp_type", Desc: "IGMP type", Bits: 8, Order: OrderBig, Base: TypeInteger, Symbols: &igmpTypeSymbols}
	TypeDate         = &Datatype{ID: IDDate, Name: "time", Desc: "Relative time of packet reception", Bits: 64, Order: OrderHost, Base: TypeInteger, form: formDate}
	TypeHour         = &Datatype{ID: IDHour, Name: "hour", Desc: "Hour of day of packet reception", Bits: 32, Order: OrderHost, Base: TypeInteger, form: formHour}
	TypeDay          = &Datatype{ID: IDDay, Name: "day", Desc: "Day of week of packet reception", Bits: 8, Order: OrderHost, Base: TypeInteger, quoted: true, Symbols: &daySymbols}
	TypeCgroupV2     = &Datatype{ID: IDCgroupV2, Name: "cgroupsv2", Desc: "cgroupsv2 path", Bits: 64, Order: OrderHost, Base: TypeInteger, form: formCgroupV2}

	// What reject takes: types without a number.
	TypeRejectICMPCode   = &Datatype{Name: "icmp_code", Desc: "reject icmp code", Bits: 8, Order: OrderBig, Base: TypeInteger, Symbols: &rejectICMPSymbols}
	TypeRejectICMPv6Code = &Datatype{Name: "icmpv6_code", Desc: "reject icmpv6 code", Bits: 8, Order: OrderBig, Base: TypeInteger, Symbols: &rejectICMPv6Symbols}
	TypeRejectICMPXCode  = &Datatype{Name: "icmpx_code", Desc: "reject icmpx code", Bits: 8, Order: OrderBig, Base: TypeInteger, Symbols: &rejectICMPXSymbols}
)

// datatypes by number; the order in which names are looked up.
var datatypes = [idCount]*Datatype{
	IDInvalid:     TypeInvalid,
	IDVerdict:     TypeVerdict,
	IDNFProto:     TypeNFProto,
	IDBitmask:     TypeBitmask,
	IDInteger:     TypeInteger,
	IDString:      TypeString,
	IDLLAddr:      TypeLLAddr,
	IDIPv4Addr:    TypeIPv4Addr,
	IDIPv6Addr:    TypeIPv6Addr,
	IDEtherAddr:   TypeEtherAddr,
	IDEtherType:   TypeEtherType,
	IDArpOp:       TypeArpOp,
	IDInetProto:   TypeInetProto,
	IDInetService: TypeInetService,
	IDICMPType:    TypeICMPType,
	IDTCPFlag:     TypeTCPFlag,
	IDDCCPPktType: TypeDCCPPktType,
	IDMHType:      TypeMHType,
	IDTime:        TypeTime,
	IDMark:        TypeMark,
	IDIfIndex:     TypeIfIndex,
	IDIfType:      TypeIfType,
	IDRealm:       TypeRealm,
	IDClassID:     TypeClassID,
	IDUID:         TypeUID,
	IDGID:         TypeGID,
	IDCTState:     TypeCTState,
	IDCTDir:       TypeCTDir,
	IDCTStatus:    TypeCTStatus,
	IDICMPv6Type:  TypeICMPv6Type,
	IDCTLabel:     TypeCTLabel,
	IDPktType:     TypePktType,
	IDICMPCode:    TypeICMPCode,
	IDICMPv6Code:  TypeICMPv6Code,
	IDICMPXCode:   TypeICMPXCode,
	IDDevGroup:    TypeDevGroup,
	IDDSCP:        TypeDSCP,
	IDECN:         TypeECN,
	IDFibAddrType: TypeFibAddrType,
	IDBoolean:     TypeBoolean,
	IDCTEvent:     TypeCTEvent,
	IDIfName:      TypeIfName,
	IDIGMPType:    TypeIGMPType,
	IDDate:        TypeDate,
	IDHour:        TypeHour,
	IDDay:         TypeDay,
	IDCgroupV2:    TypeCgroupV2,
}

// DatatypeByID returns the datatype of a number, nil when there is none.
func DatatypeByID(id TypeID) *Datatype {
	if id < idCount {
		return datatypes[id]
	}
	return nil
}

// DatatypeByName returns the datatype of a name as in `type ipv4_addr`, nil
// when there is none.
func DatatypeByName(name string) *Datatype {
	for _, t := range datatypes {
		if t != nil && t.Name == name {
			return t
		}
	}
	return nil
}

// DatatypeNames returns the names of all datatypes, by number.
func DatatypeNames() []string {
	var names []string
	for _, t := range datatypes {
		if t.ID != IDInvalid {
			names = append(names, t.Name)
		}
	}
	return names
}
