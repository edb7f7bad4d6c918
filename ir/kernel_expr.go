package ir

import "github.com/nftc/nftc/compile/bytecode"

// What the kernel says of expressions when a rule is sent, whether or not it
// is ever reached.
const (
	notSupported = "Operation not supported"
	protoError   = "Protocol error"
	noData       = "No data available"
	outOfRange   = "Numerical result out of range"
	overflow     = "Value too large for defined data type"
)

// maxPayloadOffset and maxExthdrOffset are the farthest that the kernel loads
// from, in bytes (nft_payload_select_ops, nft_exthdr_init).
const (
	maxPayloadOffset = 1<<16 - 1
	maxExthdrOffset  = 255
)

// kernelExprs refuses a statement with an expression that the kernel does not
// take.
func (c *ruleCtx) kernelExprs(s Stmt) {
	refuse := func(at Expr, errno, reason string) {
		sp := at.Common().Span
		if !sp.Valid() {
			sp = s.Pos()
		}
		c.kernelRefuses(sp, errno, reason)
	}
	check := func(es ...Expr) {
		for _, e := range es {
			c.kernelExpr(e, refuse)
		}
	}
	switch s := s.(type) {
	case *Match:
		check(s.X)
		switch y := s.Y.(type) {
		case *Value, *RangeValue, *Prefix:
			if y.Common().Bits > maxRegisterBits {
				// nft_data_init
				refuse(y, overflow, "a value has at most 16 bytes")
			}
		}
		if v, ok := s.Y.(*Value); ok && !v.Wildcard && paddedBits(v.Bits) > paddedBits(s.X.Common().Bits) {
			// nft_parse_register_load: the comparison reads what was never written.
			refuse(s.Y, noData, "the value is longer than what it is compared with")
		}
	case *VerdictStmt:
		check(s.X)
	case *Assign:
		check(s.Value)
		if have := valueBits(s.Value); have > 0 && paddedBits(s.Target.Common().Bits) > paddedBits(have) {
			refuse(s.Target, noData, "the value is shorter than what it is written to")
		}
		switch t := s.Target.(type) {
		case *Meta:
			if k := &metaKeys[t.Key]; !k.set || t.Key == bytecode.MetaBriBroute && c.family() != bytecode.FamilyBridge {
				refuse(t, notSupported, "meta "+k.Name+" cannot be set")
			}
		case *CT:
			c.kernelCT(t, refuse)
			if k := ctRow(t.Key); k != nil && !k.set {
				refuse(t, notSupported, "ct "+k.Name+" cannot be set")
			}
		case *Exthdr:
			// nft_exthdr_tcp_set_init
			switch n := t.Bits / 8; {
			case t.Op != bytecode.ExthdrTCPOpt:
				refuse(t, notSupported, "only TCP options can be set")
			case t.Offset < 16 || n != 2 && n != 4 || t.Bits%8 != 0:
				refuse(t, notSupported, "only 2 or 4 bytes of an option's data can be set")
			}
		}
	case *ObjRef:
		check(s.X)
	case *NAT:
		check(s.Addr, s.Port)
	case *TProxy:
		check(s.Addr, s.Port)
	case *Dup:
		check(s.Addr, s.Dev)
	case *Fwd:
		check(s.Addr, s.Dev)
	case *Queue:
		check(s.Num)
	case *SetUpdate:
		check(s.Key, s.Data)
	}
}

// valueBits is the length of what an expression leaves in its register.
func valueBits(e Expr) int {
	if m, ok := e.(*Map); ok {
		if len(m.Set.DataFields) == 1 {
			return m.Set.DataFields[0].Bits
		}
		return 0
	}
	return e.Common().Bits
}

func ctRow(k bytecode.CTKey) *ctKey {
	for i := range ctKeys {
		if ctKeys[i].Key == k {
			return &ctKeys[i]
		}
	}
	return nil
}

// kernelCT: connection tracking knows no ARP and no netdev
// (nf_ct_netns_get).
func (c *ruleCtx) kernelCT(e *CT, refuse func(Expr, string, string)) {
	switch f := c.family(); f {
	case bytecode.FamilyARP, bytecode.FamilyNetdev:
		refuse(e, protoError, "no connection tracking in the "+f.String()+" family")
	}
}

func (c *ruleCtx) kernelExpr(e Expr, refuse func(Expr, string, string)) {
	switch e := e.(type) {
	case nil:
	case *Concat:
		for _, it := range e.Items {
			c.kernelExpr(it, refuse)
		}
	case *Map:
		c.kernelExpr(e.Key, refuse)
	case *Binary:
		c.kernelExpr(e.X, refuse)
		c.kernelExpr(e.Y, refuse)
		if !isConstant(e.Y) && paddedBits(e.Bits) > paddedBits(e.Y.Common().Bits) {
			// nft_parse_register_load
			refuse(e.Y, noData, "the right side is shorter than the left")
		}
	case *Byteorder:
		c.kernelExpr(e.X, refuse)
	case *RangeValue, *Value, *Prefix, *SetRef, *Verdict, *ObjectName:
	case *Meta:
		if why := metaUnreadable(c.family(), e.Key); why {
			refuse(e, notSupported, "meta "+metaKeys[e.Key].Name+" cannot be matched in the "+c.family().String()+" family")
		}
	case *CT:
		if e.Key == bytecode.CTEvent {
			refuse(e, notSupported, "ct event can only be set")
			return
		}
		c.kernelCT(e, refuse)
	case *Payload:
		if e.Offset/8 > maxPayloadOffset {
			refuse(e, outOfRange, "the offset exceeds 65535 bytes")
		}
	case *Exthdr:
		if e.Offset/8 > maxExthdrOffset {
			refuse(e, outOfRange, "the offset exceeds 255 bytes")
		}
	case *Numgen:
		c.kernelModulus(e, e.Modulus, e.Offset, refuse)
	case *Hash:
		c.kernelExpr(e.X, refuse)
		c.kernelModulus(e, e.Modulus, e.Offset, refuse)
	}
}

// kernelModulus is what nft_ng_inc_init and nft_jhash_init check.
func (c *ruleCtx) kernelModulus(e Expr, mod, offset uint32, refuse func(Expr, string, string)) {
	switch {
	case mod == 0:
		refuse(e, outOfRange, "mod must be at least 1")
	case offset+mod-1 < offset:
		refuse(e, overflow, "mod and offset together exceed 32 bits")
	}
}

// metaUnreadable tells which keys rules cannot load (nft_meta_get_init,
// nft_meta_bridge_get_init).
func metaUnreadable(f bytecode.Family, k bytecode.MetaKey) bool {
	switch k {
	case bytecode.MetaNFTrace, bytecode.MetaBriBroute:
		return true
	case bytecode.MetaBriIIFName, bytecode.MetaBriOIFName, bytecode.MetaBriIIFPVID,
		bytecode.MetaBriIIFVProto, bytecode.MetaBriIIFHWAddr:
		return f != bytecode.FamilyBridge
	}
	return false
}
