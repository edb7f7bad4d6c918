package bytecode

import (
	"fmt"
	"strings"
)

// NF_LOG_* flags of Log.
const (
	LogTCPSeq    uint32 = 1
	LogTCPOpt    uint32 = 2
	LogIPOpt     uint32 = 4
	LogUID       uint32 = 8
	LogMACDecode uint32 = 0x20
	LogAll       uint32 = LogTCPSeq | LogTCPOpt | LogIPOpt | LogUID | LogMACDecode
)

// LogLevelAudit is NFT_LOGLEVEL_AUDIT.
const LogLevelAudit uint32 = 8

// NF_NAT_RANGE_* flags of NAT, Masq and Redir that rules can set.
const (
	NATProtoSpecified uint32 = 2
	NATRandom         uint32 = 4
	NATPersistent     uint32 = 8
	NATFullyRandom    uint32 = 0x10
	NATNetmap         uint32 = 0x40
)

// Types of Reject (NFT_REJECT_*) and codes of RejectICMPX.
const (
	RejectICMP     uint32 = 0
	RejectTCPReset uint32 = 1
	RejectICMPX    uint32 = 2
)

// NF_SYNPROXY_OPT_* flags of Synproxy.
const (
	SynproxyMSS       uint32 = 1
	SynproxyWscale    uint32 = 2
	SynproxySackPerm  uint32 = 4
	SynproxyTimestamp uint32 = 8
)

// NFT_QUEUE_FLAG_* of QueueTo.
const (
	QueueBypass uint16 = 1
	QueueFanout uint16 = 2
)

// logFlagNames are in the order of the debug text.
var logFlagNames = []struct {
	flag uint32
	name string
}{
	{LogTCPSeq, "tcpseq"},
	{LogTCPOpt, "tcpopt"},
	{LogIPOpt, "ipopt"},
	{LogUID, "uid"},
	{LogMACDecode, "macdecode"},
}

// LimitUnit returns the word for the period of a limit in seconds, or
// "unknown".
func LimitUnit(seconds uint64) string {
	switch seconds {
	case 1:
		return "second"
	case 60:
		return "minute"
	case 3600:
		return "hour"
	case 86400:
		return "day"
	case 604800:
		return "week"
	}
	return "unknown"
}

// dumpStmt gives the debug text of expressions that come from statements which
// are neither matches nor assignments; ok is false for all others.
func dumpStmt(in Instr) (text string, ok bool) {
	var b strings.Builder
	b.WriteString("[ ")
	b.WriteString(in.Name())
	b.WriteByte(' ')
	switch in := in.(type) {
	case *Counter:
		fmt.Fprintf(&b, "pkts %d bytes %d ", in.Packets, in.Bytes)
	case *Quota:
		fmt.Fprintf(&b, "bytes %d consumed %d flags %d ", in.Bytes, in.Consumed, bit(in.Over))
	case *Limit:
		typ := "packets"
		if in.Bytes {
			typ = "bytes"
		}
		fmt.Fprintf(&b, "rate %d/%s burst %d type %s flags 0x%x ",
			in.Rate, LimitUnit(in.Unit), in.Burst, typ, bit(in.Over))
	case *Connlimit:
		fmt.Fprintf(&b, "count %d flags %x ", in.Count, bit(in.Over))
	case *Last:
		if in.Set {
			fmt.Fprintf(&b, "%d ", in.Msecs)
		} else {
			b.WriteString("never ")
		}
	case *Log:
		dumpLog(&b, in)
	case *Reject:
		fmt.Fprintf(&b, "type %d code %d ", in.Type, in.Code)
	case *NAT:
		kind := "snat"
		if in.Type == NATDest {
			kind = "dnat"
		}
		fmt.Fprintf(&b, "%s %s ", kind, in.Family)
		dumpReg(&b, "addr_min reg", in.AddrMin)
		dumpReg(&b, "addr_max reg", in.AddrMax)
		dumpReg(&b, "proto_min reg", in.ProtoMin)
		dumpReg(&b, "proto_max reg", in.ProtoMax)
		dumpFlags(&b, in.Flags)
	case *Masq:
		dumpReg(&b, "proto_min reg", in.ProtoMin)
		dumpReg(&b, "proto_max reg", in.ProtoMax)
		dumpFlags(&b, in.Flags)
	case *Redir:
		dumpReg(&b, "proto_min reg", in.ProtoMin)
		dumpReg(&b, "proto_max reg", in.ProtoMax)
		dumpFlags(&b, in.Flags)
	case *TProxy:
		if in.Family != 0 {
			fmt.Fprintf(&b, "%s ", in.Family)
		}
		dumpReg(&b, "addr reg", in.Addr)
		dumpReg(&b, "port reg", in.Port)
	case *Synproxy:
		fmt.Fprintf(&b, "mss %d wscale %d ", in.MSS, in.Wscale)
	case *Dup:
		dumpReg(&b, "sreg_addr", in.Addr)
		dumpReg(&b, "sreg_dev", in.Dev)
	case *Fwd:
		dumpReg(&b, "sreg_dev", in.Dev)
		dumpReg(&b, "sreg_addr", in.Addr)
		if in.Family != 0 {
			fmt.Fprintf(&b, "nfproto %d ", in.Family)
		}
	case *QueueTo:
		dumpQueue(&b, in)
	case *Notrack:
	case *FlowOffload:
		fmt.Fprintf(&b, "flowtable %s ", in.Flowtable)
	case *Objref:
		fmt.Fprintf(&b, "type %d name %s ", in.Type, in.Object)
	case *ObjrefMap:
		fmt.Fprintf(&b, "sreg %d set %s ", in.Src, in.Set)
	case *Dynset:
		fmt.Fprintf(&b, "%s reg_key %d set %s ", in.Op, in.Key, in.Set)
		if in.HasData {
			fmt.Fprintf(&b, "sreg_data %d ", in.Data)
		}
		if in.Timeout != 0 {
			fmt.Fprintf(&b, "timeout %dms ", in.Timeout)
		}
		for _, e := range in.Exprs {
			fmt.Fprintf(&b, "expr %s ", DumpInstr(e))
		}
	case *Compat:
		fmt.Fprintf(&b, "name %s rev %d ", in.XTName, in.Revision)
	default:
		return "", false
	}
	b.WriteByte(']')
	return b.String(), true
}

func dumpLog(b *strings.Builder, in *Log) {
	if in.Prefix != "" {
		fmt.Fprintf(b, "prefix %s ", in.Prefix)
	}
	if in.HasGroup {
		fmt.Fprintf(b, "group %d snaplen %d qthreshold %d ", in.Group, in.Snaplen, in.Qthreshold)
		return
	}
	if in.HasLevel {
		fmt.Fprintf(b, "level %d ", in.Level)
	}
	for _, f := range logFlagNames {
		if in.Flags&f.flag != 0 {
			fmt.Fprintf(b, "%s ", f.name)
		}
	}
}

func dumpQueue(b *strings.Builder, in *QueueTo) {
	if in.HasSreg {
		fmt.Fprintf(b, "sreg_qnum %d ", in.Src)
	} else if last := in.Num + in.Total - 1; in.Total > 1 {
		fmt.Fprintf(b, "num %d-%d ", in.Num, last)
	} else {
		fmt.Fprintf(b, "num %d ", in.Num)
	}
	if in.Flags&QueueBypass != 0 {
		b.WriteString("bypass ")
	}
	if in.Flags&QueueFanout != 0 {
		b.WriteString("fanout ")
	}
}

// dumpReg prints a register that 0 stands for the absence of.
func dumpReg(b *strings.Builder, what string, r Register) {
	if r != 0 {
		fmt.Fprintf(b, "%s %d ", what, uint8(r))
	}
}

func dumpFlags(b *strings.Builder, flags uint32) {
	if flags != 0 {
		fmt.Fprintf(b, "flags 0x%x ", flags)
	}
}

func bit(set bool) uint8 {
	if set {
		return 1
	}
	return 0
}
