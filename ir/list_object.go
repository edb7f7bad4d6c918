package ir

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// object prints a named object.
func (l *lister) object(o *Object) {
	l.printf("\t%s %s {", o.Type, o.Name)
	if o.CommentSet {
		l.printf("\n\t\tcomment \"%s\"", o.Comment)
	}
	l.printf("\n")
	switch in := o.Spec.(type) {
	case *bytecode.Counter:
		if l.opt.State {
			l.printf("\t\tpackets %d bytes %d\n", in.Packets, in.Bytes)
		}
	case *bytecode.Quota:
		l.printf("\t\t%s\n", strings.TrimPrefix(l.quota(in), "quota "))
	case *bytecode.Limit:
		l.printf("\t\t%s\n", strings.TrimPrefix(limitText(in, true), "limit "))
	case *bytecode.Connlimit:
		l.printf("\t\t%s\n", strings.TrimPrefix(connlimitText(in), "ct "))
	case *bytecode.Synproxy:
		l.synproxyObject(in)
	case *bytecode.ObjCTHelperSpec:
		l.printf("\t\ttype \"%s\" protocol %s\n", in.Helper, l.protocolName(in.L4Proto))
		l.printf("\t\tl3proto %s\n", objectFamily(o, in.Family))
	case *bytecode.ObjCTTimeoutSpec:
		l.printf("\t\tprotocol %s\n", l.protocolName(in.L4Proto))
		l.printf("\t\tl3proto %s\n", objectFamily(o, in.Family))
		l.printf("\t\tpolicy = { %s }\n", l.timeoutPolicy(in))
	case *bytecode.ObjCTExpectSpec:
		l.printf("\t\tprotocol %s\n\t\tdport %d\n\t\ttimeout %s\n\t\tsize %d\n\t\tl3proto %s\n",
			l.protocolName(in.L4Proto), in.Port, l.duration(uint64(in.Timeout)), in.Size, objectFamily(o, in.Family))
	case *bytecode.ObjSecmarkSpec:
		l.printf("\t\t\"%s\"\n", in.Context)
	case *bytecode.ObjTunnelSpec:
		l.tunnelObject(in)
	}
	l.printf("\t}\n")
}

// objectFamily is the network protocol of a conntrack object: that of the table
// unless the object states one.
func objectFamily(o *Object, f bytecode.Family) bytecode.Family {
	if f == 0 && o.Table != nil {
		return o.Table.Family
	}
	return f
}

// protocolName prints a layer-4 protocol in an object, where it is a name in
// numeric listings too.
func (l *lister) protocolName(n uint8) string {
	if name := ProtocolName(n); name != "" {
		return name
	}
	return strconv.Itoa(int(n))
}

func (l *lister) synproxyObject(in *bytecode.Synproxy) {
	if in.Flags&bytecode.SynproxyMSS != 0 {
		l.printf("\t\tmss %d\n", in.MSS)
	}
	if in.Flags&bytecode.SynproxyWscale != 0 {
		l.printf("\t\twscale %d\n", in.Wscale)
	}
	if in.Flags&(bytecode.SynproxyTimestamp|bytecode.SynproxySackPerm) != 0 {
		ts, sack := "", ""
		if in.Flags&bytecode.SynproxyTimestamp != 0 {
			ts = "timestamp"
		}
		if in.Flags&bytecode.SynproxySackPerm != 0 {
			sack = "sack-perm"
		}
		l.printf("\t\t%s %s\n", ts, sack)
	}
}

// ctTimeoutState is a state of a protocol with the seconds that the kernel
// gives it when no policy says otherwise.
type ctTimeoutState struct {
	name    string
	seconds uint32
}

// ctTimeoutStates are the states by protocol number, in the kernel's order.
var ctTimeoutStates = map[uint8][]ctTimeoutState{
	6: {
		{"syn_sent", 120}, {"syn_recv", 60}, {"established", 432000}, {"fin_wait", 120},
		{"close_wait", 60}, {"last_ack", 30}, {"time_wait", 120}, {"close", 10},
		{"syn_sent2", 120}, {"retrans", 300}, {"unack", 300},
	},
	17: {{"unreplied", 30}, {"replied", 120}},
}

func (l *lister) timeoutPolicy(in *bytecode.ObjCTTimeoutSpec) string {
	var parts []string
	for i, st := range ctTimeoutStates[in.L4Proto] {
		if secs, ok := in.Policy[i]; ok && secs != st.seconds {
			parts = append(parts, st.name+" : "+l.duration(uint64(secs)*1000))
		}
	}
	return strings.Join(parts, ", ")
}

// tunnelObject prints a tunnel object.
func (l *lister) tunnelObject(in *bytecode.ObjTunnelSpec) {
	l.printf("\t\tid %d\n", in.ID)
	addr, typ := "ip", TypeIPv4Addr
	if len(in.Src) == 16 {
		addr, typ = "ip6", TypeIPv6Addr
	}
	if len(in.Src) > 0 {
		l.printf("\t\t%s saddr %s\n", addr, typ.Format(in.Src, false))
	}
	if len(in.Dst) > 0 {
		l.printf("\t\t%s daddr %s\n", addr, typ.Format(in.Dst, false))
	}
	if in.Sport != 0 {
		l.printf("\t\tsport %d\n", in.Sport)
	}
	if in.Dport != 0 {
		l.printf("\t\tdport %d\n", in.Dport)
	}
	if in.TOS != 0 {
		l.printf("\t\ttos %d\n", in.TOS)
	}
	if in.TTL != 0 {
		l.printf("\t\tttl %d\n", in.TTL)
	}
	switch in.Kind {
	case "vxlan":
		l.printf("\t\tvxlan {\n\t\t\tgbp %d\n\t\t}\n", in.VxlanGBP)
	case "erspan":
		l.printf("\t\terspan {\n\t\t\tversion %d\n", in.Erspan.Version)
		if in.Erspan.Version == 1 {
			l.printf("\t\t\tindex %d\n", in.Erspan.Index)
		} else {
			dir := "ingress"
			if in.Erspan.Dir != 0 {
				dir = "egress"
			}
			l.printf("\t\t\tdirection %s\n\t\t\tid %d\n", dir, in.Erspan.HWID)
		}
		l.printf("\t\t}\n")
	case "geneve":
		l.printf("\t\tgeneve {\n")
		for _, o := range in.Geneve {
			l.printf("\t\t\tclass 0x%x opt-type 0x%x data \"0x%x\"\n", o.Class, o.Type, o.Data)
		}
		l.printf("\t\t}\n")
	}
}

// dataRate splits an amount of bytes into the largest unit that divides it
// (get_rate in nft); 0 stays in bytes.
func dataRate(n uint64) (uint64, string) {
	units := [...]string{"bytes", "kbytes", "mbytes"}
	i := 0
	for n != 0 && i+1 < len(units) && n%1024 == 0 {
		n /= 1024
		i++
	}
	return n, units[i]
}

func (l *lister) quota(in *bytecode.Quota) string {
	n, unit := dataRate(in.Bytes)
	s := fmt.Sprintf("quota %s%d %s", overWord(in.Over), n, unit)
	if l.opt.State && in.Consumed != 0 {
		n, unit = dataRate(in.Consumed)
		s += fmt.Sprintf(" used %d %s", n, unit)
	}
	return s
}

func overWord(over bool) string {
	if over {
		return "over "
	}
	return ""
}

// limitText prints a limit. Objects leave out the default burst, statements do
// not.
func limitText(in *bytecode.Limit, object bool) string {
	unit := bytecode.LimitUnit(in.Unit)
	if !in.Bytes {
		s := fmt.Sprintf("limit rate %s%d/%s", overWord(in.Over), in.Rate, unit)
		if object && (in.Burst == 0 || in.Burst == defaultPacketBurst) {
			return s
		}
		return s + fmt.Sprintf(" burst %d packets", in.Burst)
	}
	n, data := dataRate(in.Rate)
	s := fmt.Sprintf("limit rate %s%d %s/%s", overWord(in.Over), n, data, unit)
	if in.Burst != 0 {
		n, data = dataRate(uint64(in.Burst))
		s += fmt.Sprintf(" burst %d %s", n, data)
	}
	return s
}

func connlimitText(in *bytecode.Connlimit) string {
	return fmt.Sprintf("ct count %s%d", overWord(in.Over), in.Count)
}
