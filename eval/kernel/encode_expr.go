//go:build linux

package kernel

import (
	"fmt"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/compile/bytecode"
)

// encodeExprs makes the list of expressions of a rule, set or element: one
// NFTA_LIST_ELEM each.
func (e *encoder) exprs(list []bytecode.Instr) (attrs, error) {
	var out attrs
	for _, in := range list {
		b, err := e.expr(in)
		if err != nil {
			return nil, err
		}
		out.bytes(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, b)
	}
	return out, nil
}

// expr encodes one expression: NFTA_EXPR_NAME and NFTA_EXPR_DATA.
func (e *encoder) expr(in bytecode.Instr) ([]byte, error) {
	if lib, ok := e.library(in); ok {
		return expr.Marshal(uint8(e.family), lib)
	}
	data, err := e.own(in)
	if err != nil {
		return nil, err
	}
	var a attrs
	a.str(unix.NFTA_EXPR_NAME, in.Name())
	a.nest(unix.NFTA_EXPR_DATA, data)
	return a.marshal(), nil
}

// library converts an expression to google/nftables' where its encoding is the
// one that nft sends. ok is false where the library has no such expression or
// encodes it wrongly (ct with a direction: a 4-byte value for a u8).
func (e *encoder) library(in bytecode.Instr) (expr.Any, bool) {
	r := func(x bytecode.Register) uint32 { return uint32(x) }
	switch in := in.(type) {
	case *bytecode.Meta:
		return &expr.Meta{Key: expr.MetaKey(in.Key), Register: r(in.Dst)}, true
	case *bytecode.MetaSet:
		return &expr.Meta{Key: expr.MetaKey(in.Key), Register: r(in.Src), SourceRegister: true}, true
	case *bytecode.Cmp:
		return &expr.Cmp{Op: expr.CmpOp(in.Op), Register: r(in.Src), Data: in.Data.Bytes}, true
	case *bytecode.Range:
		op := expr.CmpOpEq
		if in.Neg {
			op = expr.CmpOpNeq
		}
		return &expr.Range{Op: op, Register: r(in.Src), FromData: in.From.Bytes, ToData: in.To.Bytes}, true
	case *bytecode.Immediate:
		if in.Dst == bytecode.RegVerdict {
			return nil, false // jumps to anonymous chains need NFTA_VERDICT_CHAIN_ID
		}
		return &expr.Immediate{Register: r(in.Dst), Data: in.Data.Bytes}, true
	case *bytecode.Payload:
		return &expr.Payload{OperationType: expr.PayloadLoad, DestRegister: r(in.Dst), Base: expr.PayloadBase(in.Base), Offset: in.Offset, Len: in.Len}, true
	case *bytecode.Bitwise:
		if in.Op != bytecode.BitwiseMaskXor {
			return nil, false
		}
		return &expr.Bitwise{SourceRegister: r(in.Src), DestRegister: r(in.Dst), Len: in.Len, Mask: in.Mask.Bytes, Xor: in.Xor.Bytes}, true
	case *bytecode.Byteorder:
		op := expr.ByteorderNtoh
		if in.Hton {
			op = expr.ByteorderHton
		}
		return &expr.Byteorder{SourceRegister: r(in.Src), DestRegister: r(in.Dst), Op: op, Len: in.Len, Size: in.Size}, true
	case *bytecode.RT:
		return &expr.Rt{Register: r(in.Dst), Key: expr.RtKey(in.Key)}, true
	case *bytecode.Numgen:
		typ := uint32(unix.NFT_NG_INCREMENTAL)
		if in.Random {
			typ = unix.NFT_NG_RANDOM
		}
		return &expr.Numgen{Register: r(in.Dst), Modulus: in.Modulus, Type: typ, Offset: in.Offset}, true
	case *bytecode.Counter:
		return &expr.Counter{Packets: in.Packets, Bytes: in.Bytes}, true
	case *bytecode.Quota:
		return &expr.Quota{Bytes: in.Bytes, Consumed: in.Consumed, Over: in.Over}, true
	case *bytecode.Limit:
		typ := expr.LimitTypePkts
		if in.Bytes {
			typ = expr.LimitTypePktBytes
		}
		return &expr.Limit{Type: typ, Rate: in.Rate, Unit: expr.LimitTime(in.Unit), Burst: in.Burst, Over: in.Over}, true
	case *bytecode.Reject:
		return &expr.Reject{Type: in.Type, Code: in.Code}, true
	case *bytecode.Redir:
		return &expr.Redir{RegisterProtoMin: r(in.ProtoMin), RegisterProtoMax: r(in.ProtoMax), Flags: in.Flags}, true
	case *bytecode.Notrack:
		return &expr.Notrack{}, true
	case *bytecode.FlowOffload:
		return &expr.FlowOffload{Name: in.Flowtable}, true
	case *bytecode.Objref:
		return &expr.Objref{Type: int(in.Type), Name: in.Object}, true
	case *bytecode.QueueTo:
		if in.HasSreg {
			return nil, false
		}
		return &expr.Queue{Num: in.Num, Total: in.Total, Flag: expr.QueueFlag(in.Flags)}, true
	case *bytecode.ObjCTHelperSpec:
		return &expr.CtHelper{Name: in.Helper, L3Proto: uint16(in.Family), L4Proto: in.L4Proto}, true
	}
	return nil, false
}

// Attribute numbers that golang.org/x/sys/unix does not name, from
// include/uapi/linux/netfilter/nf_tables.h.
const (
	nftaBitwiseOp     = 6
	nftaBitwiseData   = 7
	nftaBitwiseSreg2  = 8
	nftaQueueSregQnum = 4
	nftaLastSet       = 1
	nftaLastMsecs     = 2
	nftaConnlimitCnt  = 1
	nftaConnlimitFlag = 2
	nftaOsfDreg       = 1
	nftaOsfTTL        = 2
	nftaOsfFlags      = 3
	nftaXfrmDreg      = 1
	nftaXfrmKey       = 2
	nftaXfrmDir       = 3
	nftaXfrmSPNum     = 4
	nftaTunnelKey     = 1
	nftaTunnelDreg    = 2
	nftaTunnelMode    = 3
	nftaInnerNum      = 1
	nftaInnerType     = 2
	nftaInnerFlags    = 3
	nftaInnerHdrsize  = 4
	nftaInnerExpr     = 5
	nftaFwdSregDev    = 1
	nftaFwdSregAddr   = 2
	nftaFwdNFProto    = 3
	nftaSocketKey     = 1
	nftaSocketDreg    = 2
	nftaSocketLevel   = 3
	nftaTproxyFamily  = 1
	nftaTproxyRegAddr = 2
	nftaTproxyRegPort = 3
	nftaSynproxyMSS   = 1
	nftaSynproxyWS    = 2
	nftaSynproxyFlags = 3
	nftaVerdictID     = 3

	nftaPayloadCsumFlags = 8
	nftaDynsetFlags      = 9
	nftaDynsetExprs      = 10
)

// optReg adds a register attribute unless the register is absent (0).
func optReg(a *attrs, t uint16, r bytecode.Register) {
	if r != 0 {
		a.u32(t, uint32(r))
	}
}

// own encodes the data of the expressions that the library cannot.
func (e *encoder) own(in bytecode.Instr) (attrs, error) {
	var a attrs
	switch in := in.(type) {
	case *bytecode.Immediate:
		a.u32(unix.NFTA_IMMEDIATE_DREG, uint32(in.Dst))
		a.nest(unix.NFTA_IMMEDIATE_DATA, e.verdict(in.Verdict))
	case *bytecode.Lookup:
		a.str(unix.NFTA_LOOKUP_SET, in.Set)
		a.u32(unix.NFTA_LOOKUP_SET_ID, in.SetID)
		a.u32(unix.NFTA_LOOKUP_SREG, uint32(in.Src))
		if in.HasDst {
			a.u32(unix.NFTA_LOOKUP_DREG, uint32(in.Dst))
		}
		if in.Invert {
			a.u32(unix.NFTA_LOOKUP_FLAGS, unix.NFT_LOOKUP_F_INV)
		}
	case *bytecode.PayloadSet: // the library leaves the flags out when there is no checksum type
		a.u32(unix.NFTA_PAYLOAD_SREG, uint32(in.Src))
		a.u32(unix.NFTA_PAYLOAD_BASE, uint32(in.Base))
		a.u32(unix.NFTA_PAYLOAD_OFFSET, in.Offset)
		a.u32(unix.NFTA_PAYLOAD_LEN, in.Len)
		a.u32(unix.NFTA_PAYLOAD_CSUM_TYPE, uint32(in.CsumType))
		a.u32(unix.NFTA_PAYLOAD_CSUM_OFFSET, in.CsumOff)
		if in.CsumFlags != 0 {
			a.u32(nftaPayloadCsumFlags, in.CsumFlags)
		}
	case *bytecode.Bitwise:
		a.u32(unix.NFTA_BITWISE_SREG, uint32(in.Src))
		a.u32(unix.NFTA_BITWISE_DREG, uint32(in.Dst))
		a.u32(unix.NFTA_BITWISE_LEN, in.Len)
		a.u32(nftaBitwiseOp, uint32(in.Op))
		switch in.Op {
		case bytecode.BitwiseLshift, bytecode.BitwiseRshift:
			// The kernel takes the bytes as they are for a u32 of its own
			// (nft_bitwise_init_shift).
			a.nest(nftaBitwiseData, dataValue(hostU32(in.Shift)))
		default:
			if in.Src2 != 0 {
				a.u32(nftaBitwiseSreg2, uint32(in.Src2))
			} else {
				a.nest(nftaBitwiseData, dataValue(in.Mask.Bytes))
			}
		}
	case *bytecode.CT:
		a.u32(unix.NFTA_CT_KEY, uint32(in.Key))
		a.u32(unix.NFTA_CT_DREG, uint32(in.Dst))
		if in.Dir >= 0 {
			a.u8(unix.NFTA_CT_DIRECTION, uint8(in.Dir))
		}
	case *bytecode.CTSet:
		a.u32(unix.NFTA_CT_KEY, uint32(in.Key))
		a.u32(unix.NFTA_CT_SREG, uint32(in.Src))
		if in.Dir >= 0 {
			a.u8(unix.NFTA_CT_DIRECTION, uint8(in.Dir))
		}
	case *bytecode.Exthdr:
		a.u32(unix.NFTA_EXTHDR_DREG, uint32(in.Dst))
		a.u8(unix.NFTA_EXTHDR_TYPE, in.Type)
		a.u32(unix.NFTA_EXTHDR_OFFSET, in.Offset)
		a.u32(unix.NFTA_EXTHDR_LEN, in.Len)
		a.u32(unix.NFTA_EXTHDR_OP, uint32(in.Op))
		if in.Present {
			a.u32(unix.NFTA_EXTHDR_FLAGS, unix.NFT_EXTHDR_F_PRESENT)
		}
	case *bytecode.ExthdrSet:
		a.u32(unix.NFTA_EXTHDR_SREG, uint32(in.Src))
		a.u8(unix.NFTA_EXTHDR_TYPE, in.Type)
		a.u32(unix.NFTA_EXTHDR_OFFSET, in.Offset)
		a.u32(unix.NFTA_EXTHDR_LEN, in.Len)
		a.u32(unix.NFTA_EXTHDR_OP, uint32(in.Op))
	case *bytecode.ExthdrReset:
		a.u8(unix.NFTA_EXTHDR_TYPE, in.Type)
		a.u32(unix.NFTA_EXTHDR_OP, uint32(in.Op))
	case *bytecode.Socket:
		a.u32(nftaSocketKey, uint32(in.Key))
		a.u32(nftaSocketDreg, uint32(in.Dst))
		if in.Key == bytecode.SocketCgroupV2 {
			a.u32(nftaSocketLevel, in.Level)
		}
	case *bytecode.Fib:
		a.u32(unix.NFTA_FIB_DREG, uint32(in.Dst))
		a.u32(unix.NFTA_FIB_RESULT, in.Result)
		a.u32(unix.NFTA_FIB_FLAGS, in.Flags)
	case *bytecode.Osf:
		a.u32(nftaOsfDreg, uint32(in.Dst))
		a.u8(nftaOsfTTL, in.TTL)
		if in.Flags != 0 {
			a.u32(nftaOsfFlags, in.Flags)
		}
	case *bytecode.Hash:
		if !in.Sym {
			a.u32(unix.NFTA_HASH_SREG, uint32(in.Src))
			a.u32(unix.NFTA_HASH_LEN, in.Len)
		}
		a.u32(unix.NFTA_HASH_DREG, uint32(in.Dst))
		a.u32(unix.NFTA_HASH_MODULUS, in.Modulus)
		if in.SeedSet {
			a.u32(unix.NFTA_HASH_SEED, in.Seed)
		}
		a.u32(unix.NFTA_HASH_OFFSET, in.Offset)
		typ := uint32(unix.NFT_HASH_JENKINS)
		if in.Sym {
			typ = unix.NFT_HASH_SYM
		}
		a.u32(unix.NFTA_HASH_TYPE, typ)
	case *bytecode.Xfrm:
		a.u32(nftaXfrmDreg, uint32(in.Dst))
		a.u32(nftaXfrmKey, uint32(in.Key))
		a.u8(nftaXfrmDir, in.Dir)
		a.u32(nftaXfrmSPNum, in.SP)
	case *bytecode.Tunnel:
		a.u32(nftaTunnelKey, in.Key)
		a.u32(nftaTunnelDreg, uint32(in.Dst))
		a.u32(nftaTunnelMode, in.Mode)
	case *bytecode.Inner:
		b, err := e.expr(in.Instr)
		if err != nil {
			return nil, err
		}
		a.u32(nftaInnerNum, 0)
		a.u32(nftaInnerType, in.Type)
		a.u32(nftaInnerFlags, in.Flags)
		a.u32(nftaInnerHdrsize, in.HdrSize)
		a.bytes(nftaInnerExpr|unix.NLA_F_NESTED, b)
	case *bytecode.Connlimit:
		a.u32(nftaConnlimitCnt, in.Count)
		if in.Over {
			a.u32(nftaConnlimitFlag, 1)
		}
	case *bytecode.Last:
		if in.Set {
			a.u32(nftaLastSet, 1)
			a.u64(nftaLastMsecs, in.Msecs)
		}
	case *bytecode.Log:
		if in.HasGroup {
			a.u16(unix.NFTA_LOG_GROUP, in.Group)
			if in.HasSnaplen {
				a.u32(unix.NFTA_LOG_SNAPLEN, in.Snaplen)
			}
			if in.Qthreshold != 0 {
				a.u16(unix.NFTA_LOG_QTHRESHOLD, in.Qthreshold)
			}
		} else {
			if in.HasLevel {
				a.u32(unix.NFTA_LOG_LEVEL, in.Level)
			}
			if in.Flags != 0 {
				a.u32(unix.NFTA_LOG_FLAGS, in.Flags)
			}
		}
		if in.Prefix != "" {
			a.str(unix.NFTA_LOG_PREFIX, in.Prefix)
		}
	case *bytecode.NAT:
		a.u32(unix.NFTA_NAT_TYPE, uint32(in.Type))
		a.u32(unix.NFTA_NAT_FAMILY, uint32(in.Family))
		optReg(&a, unix.NFTA_NAT_REG_ADDR_MIN, in.AddrMin)
		optReg(&a, unix.NFTA_NAT_REG_ADDR_MAX, in.AddrMax)
		optReg(&a, unix.NFTA_NAT_REG_PROTO_MIN, in.ProtoMin)
		optReg(&a, unix.NFTA_NAT_REG_PROTO_MAX, in.ProtoMax)
		if in.Flags != 0 {
			a.u32(unix.NFTA_NAT_FLAGS, in.Flags)
		}
	case *bytecode.Masq:
		if in.Flags != 0 {
			a.u32(unix.NFTA_MASQ_FLAGS, in.Flags)
		}
		optReg(&a, unix.NFTA_MASQ_REG_PROTO_MIN, in.ProtoMin)
		optReg(&a, unix.NFTA_MASQ_REG_PROTO_MAX, in.ProtoMax)
	case *bytecode.TProxy:
		a.u32(nftaTproxyFamily, uint32(in.Family))
		optReg(&a, nftaTproxyRegAddr, in.Addr)
		optReg(&a, nftaTproxyRegPort, in.Port)
	case *bytecode.Synproxy:
		a.u16(nftaSynproxyMSS, in.MSS)
		a.u8(nftaSynproxyWS, in.Wscale)
		a.u32(nftaSynproxyFlags, in.Flags)
	case *bytecode.Dup:
		optReg(&a, unix.NFTA_DUP_SREG_ADDR, in.Addr)
		optReg(&a, unix.NFTA_DUP_SREG_DEV, in.Dev)
	case *bytecode.Fwd:
		optReg(&a, nftaFwdSregDev, in.Dev)
		if in.Addr != 0 {
			a.u32(nftaFwdSregAddr, uint32(in.Addr))
			a.u32(nftaFwdNFProto, uint32(in.Family))
		}
	case *bytecode.QueueTo:
		a.u32(nftaQueueSregQnum, uint32(in.Src))
		a.u16(unix.NFTA_QUEUE_FLAGS, in.Flags)
	case *bytecode.ObjrefMap:
		a.u32(unix.NFTA_OBJREF_SET_SREG, uint32(in.Src))
		a.str(unix.NFTA_OBJREF_SET_NAME, in.Set)
		a.u32(unix.NFTA_OBJREF_SET_ID, in.SetID)
	case *bytecode.Dynset:
		a.str(unix.NFTA_DYNSET_SET_NAME, in.Set)
		a.u32(unix.NFTA_DYNSET_SET_ID, in.SetID)
		a.u32(unix.NFTA_DYNSET_OP, uint32(in.Op))
		a.u32(unix.NFTA_DYNSET_SREG_KEY, uint32(in.Key))
		if in.HasData {
			a.u32(unix.NFTA_DYNSET_SREG_DATA, uint32(in.Data))
		}
		if in.Timeout != 0 {
			a.u64(unix.NFTA_DYNSET_TIMEOUT, in.Timeout)
		}
		var flags uint32
		if in.Invert {
			flags |= 1 // NFT_DYNSET_F_INV
		}
		switch len(in.Exprs) {
		case 0:
		case 1:
			b, err := e.expr(in.Exprs[0])
			if err != nil {
				return nil, err
			}
			a.bytes(unix.NFTA_DYNSET_EXPR|unix.NLA_F_NESTED, b)
		default:
			list, err := e.exprs(in.Exprs)
			if err != nil {
				return nil, err
			}
			flags |= 2 // NFT_DYNSET_F_EXPR
			a.nest(nftaDynsetExprs, list)
		}
		if flags != 0 {
			a.u32(nftaDynsetFlags, flags)
		}
	case *bytecode.ObjCTExpectSpec: // the library swaps the timeout, which the kernel takes in its own order
		a.u16(1, uint16(in.Family)) // NFTA_CT_EXPECT_L3PROTO
		a.u8(2, in.L4Proto)
		a.u16(3, in.Port)
		a.bytes(4, hostU32(in.Timeout)) // NFTA_CT_EXPECT_TIMEOUT
		a.u8(5, in.Size)
	case *bytecode.ObjCTTimeoutSpec:
		return e.ctTimeout(in), nil
	case *bytecode.ObjSecmarkSpec:
		a.str(1, in.Context) // NFTA_SECMARK_CTX
	case *bytecode.ObjTunnelSpec:
		return e.tunnel(in), nil
	default:
		return nil, fmt.Errorf("kernel: cannot encode expression %s", in.Name())
	}
	return a, nil
}

// verdict makes the contents of a data attribute that holds a verdict.
func (e *encoder) verdict(v bytecode.Verdict) attrs {
	var in, out attrs
	in.u32(unix.NFTA_VERDICT_CODE, uint32(v.Code))
	switch {
	case v.ChainID != 0:
		in.u32(nftaVerdictID, v.ChainID)
	case v.Chain != "":
		in.str(unix.NFTA_VERDICT_CHAIN, v.Chain)
	}
	out.nest(unix.NFTA_DATA_VERDICT, in)
	return out
}

// dataValue makes the contents of a data attribute that holds a value.
func dataValue(b []byte) attrs {
	var a attrs
	a.bytes(unix.NFTA_DATA_VALUE, b)
	return a
}

// msec is a duration as the kernel takes it (nf_msecs_to_jiffies64).
func msec(d time.Duration) uint64 { return uint64(d / time.Millisecond) }
