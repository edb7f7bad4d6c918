package bytecode

func (*Cmp) Name() string         { return "cmp" }
func (*Range) Name() string       { return "range" }
func (*Immediate) Name() string   { return "immediate" }
func (*Lookup) Name() string      { return "lookup" }
func (*Payload) Name() string     { return "payload" }
func (*PayloadSet) Name() string  { return "payload" }
func (*Inner) Name() string       { return "inner" }
func (*Exthdr) Name() string      { return "exthdr" }
func (*ExthdrSet) Name() string   { return "exthdr" }
func (*ExthdrReset) Name() string { return "exthdr" }
func (*Bitwise) Name() string     { return "bitwise" }
func (*Byteorder) Name() string   { return "byteorder" }
func (*Meta) Name() string        { return "meta" }
func (*MetaSet) Name() string     { return "meta" }
func (*CT) Name() string          { return "ct" }
func (*CTSet) Name() string       { return "ct" }
func (*RT) Name() string          { return "rt" }
func (*Socket) Name() string      { return "socket" }
func (*Fib) Name() string         { return "fib" }
func (*Osf) Name() string         { return "osf" }
func (*Numgen) Name() string      { return "numgen" }
func (*Hash) Name() string        { return "hash" }
func (*Xfrm) Name() string        { return "xfrm" }
func (*Tunnel) Name() string      { return "tunnel" }
func (*Counter) Name() string     { return "counter" }
func (*Quota) Name() string       { return "quota" }
func (*Limit) Name() string       { return "limit" }
func (*Connlimit) Name() string   { return "connlimit" }
func (*Last) Name() string        { return "last" }
func (*Log) Name() string         { return "log" }
func (*Reject) Name() string      { return "reject" }
func (*NAT) Name() string         { return "nat" }
func (*Masq) Name() string        { return "masq" }
func (*Redir) Name() string       { return "redir" }
func (*TProxy) Name() string      { return "tproxy" }
func (*Synproxy) Name() string    { return "synproxy" }
func (*Dup) Name() string         { return "dup" }
func (*Fwd) Name() string         { return "fwd" }
func (*QueueTo) Name() string     { return "queue" }
func (*Notrack) Name() string     { return "notrack" }
func (*FlowOffload) Name() string { return "flow_offload" }
func (*Objref) Name() string      { return "objref" }
func (*ObjrefMap) Name() string   { return "objref" }
func (*Dynset) Name() string      { return "dynset" }
func (c *Compat) Name() string {
	if c.Target {
		return "target"
	}
	return "match"
}
func (*ObjCTHelperSpec) Name() string  { return "ct helper" }
func (*ObjCTTimeoutSpec) Name() string { return "ct timeout" }
func (*ObjCTExpectSpec) Name() string  { return "ct expectation" }
func (*ObjSecmarkSpec) Name() string   { return "secmark" }
func (*ObjTunnelSpec) Name() string    { return "tunnel" }

func (*Cmp) instr()              {}
func (*Range) instr()            {}
func (*Immediate) instr()        {}
func (*Lookup) instr()           {}
func (*Payload) instr()          {}
func (*PayloadSet) instr()       {}
func (*Inner) instr()            {}
func (*Exthdr) instr()           {}
func (*ExthdrSet) instr()        {}
func (*ExthdrReset) instr()      {}
func (*Bitwise) instr()          {}
func (*Byteorder) instr()        {}
func (*Meta) instr()             {}
func (*MetaSet) instr()          {}
func (*CT) instr()               {}
func (*CTSet) instr()            {}
func (*RT) instr()               {}
func (*Socket) instr()           {}
func (*Fib) instr()              {}
func (*Osf) instr()              {}
func (*Numgen) instr()           {}
func (*Hash) instr()             {}
func (*Xfrm) instr()             {}
func (*Tunnel) instr()           {}
func (*Counter) instr()          {}
func (*Quota) instr()            {}
func (*Limit) instr()            {}
func (*Connlimit) instr()        {}
func (*Last) instr()             {}
func (*Log) instr()              {}
func (*Reject) instr()           {}
func (*NAT) instr()              {}
func (*Masq) instr()             {}
func (*Redir) instr()            {}
func (*TProxy) instr()           {}
func (*Synproxy) instr()         {}
func (*Dup) instr()              {}
func (*Fwd) instr()              {}
func (*QueueTo) instr()          {}
func (*Notrack) instr()          {}
func (*FlowOffload) instr()      {}
func (*Objref) instr()           {}
func (*ObjrefMap) instr()        {}
func (*Dynset) instr()           {}
func (*Compat) instr()           {}
func (*ObjCTHelperSpec) instr()  {}
func (*ObjCTTimeoutSpec) instr() {}
func (*ObjCTExpectSpec) instr()  {}
func (*ObjSecmarkSpec) instr()   {}
func (*ObjTunnelSpec) instr()    {}
