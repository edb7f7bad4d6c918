package ir

import (
	"fmt"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// stmtText prints a statement that is no match.
func (r *ruleLister) stmtText(s Stmt) string {
	switch s := s.(type) {
	case *VerdictStmt:
		if v, ok := s.X.(*Verdict); ok && v.Anon != nil {
			return r.anonymousChain(v)
		}
		return r.exprText(s.X, false)
	case *Assign:
		return r.assignText(s)
	case *Stateful:
		return r.statefulText(s.Instr)
	case *Simple:
		return r.simpleText(s)
	case *ObjRef:
		return objRefWord(s.Type) + " " + r.exprText(s.X, false)
	case *NAT:
		return r.natText(s)
	case *TProxy:
		return r.tproxyText(s)
	case *Dup:
		switch {
		case s.Addr != nil && s.Dev != nil:
			return "dup to " + r.exprText(s.Addr, false) + " device " + r.exprText(s.Dev, false)
		case s.Addr != nil:
			return "dup to " + r.exprText(s.Addr, false)
		}
		return "dup to " + r.exprText(s.Dev, false)
	case *Fwd:
		if s.Addr != nil {
			return fmt.Sprintf("fwd %s to %s device %s", s.Family, r.exprText(s.Addr, false), r.exprText(s.Dev, false))
		}
		return "fwd to " + r.exprText(s.Dev, false)
	case *Queue:
		return r.queueText(s)
	case *SetUpdate:
		return r.setUpdateText(s)
	case *Reset:
		return "reset " + r.exprText(s.Target, false)
	}
	return ""
}

// anonymousChain prints `jump { … }` over several lines.
func (r *ruleLister) anonymousChain(v *Verdict) string {
	var b strings.Builder
	b.WriteString(v.Code.String() + " {\n")
	for _, rule := range v.Anon.Rules {
		b.WriteString("\t\t\t" + r.rule(r.family, rule) + "\n")
	}
	b.WriteString("\t\t}")
	return b.String()
}

func (r *ruleLister) assignText(s *Assign) string {
	target := r.exprText(s.Target, false)
	value := s.Value
	if ct, ok := s.Target.(*CT); ok && ct.Key == bytecode.CTEvent {
		if v, ok := value.(*Value); ok {
			return target + " set " + r.flagList(v)
		}
	}
	return target + " set " + r.exprText(value, false)
}

// objRefWord is what stands in front of an object's name.
func objRefWord(t bytecode.ObjectType) string {
	switch t {
	case bytecode.ObjCTHelper, bytecode.ObjCTTimeout, bytecode.ObjCTExpect:
		return t.String() + " set"
	case bytecode.ObjSecmark:
		return "meta secmark set"
	}
	return t.String() + " name"
}

func (l *lister) counter(in *bytecode.Counter) string {
	if l.opt.State {
		return fmt.Sprintf("counter packets %d bytes %d", in.Packets, in.Bytes)
	}
	return "counter"
}

func (l *lister) last(in *bytecode.Last) string {
	switch {
	case !l.opt.State:
		return "last"
	case in.Set:
		return "last used " + l.duration(in.Msecs)
	}
	return "last used never"
}

func (r *ruleLister) simpleText(s *Simple) string {
	switch in := s.Instr.(type) {
	case *bytecode.Log:
		return logText(in)
	case *bytecode.Reject:
		return r.rejectText(in)
	case *bytecode.Notrack:
		return "notrack"
	case *bytecode.FlowOffload:
		return "flow add @" + in.Flowtable
	case *bytecode.Synproxy:
		return synproxyText(in)
	}
	return ""
}

// logLevelWarning is the default level, which is not listed.
const logLevelWarning = 4

func logText(in *bytecode.Log) string {
	var b strings.Builder
	b.WriteString("log")
	if in.Prefix != "" {
		fmt.Fprintf(&b, " prefix \"%s\"", in.Prefix)
	}
	if in.HasGroup {
		fmt.Fprintf(&b, " group %d", in.Group)
		if in.HasSnaplen {
			fmt.Fprintf(&b, " snaplen %d", in.Snaplen)
		}
		if in.Qthreshold != 0 {
			fmt.Fprintf(&b, " queue-threshold %d", in.Qthreshold)
		}
	}
	if in.HasLevel && in.Level != logLevelWarning && int(in.Level) < len(logLevels) {
		b.WriteString(" level " + logLevels[in.Level])
	}
	if in.Flags&bytecode.LogAll == bytecode.LogAll {
		b.WriteString(" flags all")
		return b.String()
	}
	switch in.Flags & (bytecode.LogTCPSeq | bytecode.LogTCPOpt) {
	case bytecode.LogTCPSeq:
		b.WriteString(" flags tcp sequence")
	case bytecode.LogTCPOpt:
		b.WriteString(" flags tcp options")
	case bytecode.LogTCPSeq | bytecode.LogTCPOpt:
		b.WriteString(" flags tcp sequence,options")
	}
	if in.Flags&bytecode.LogIPOpt != 0 {
		b.WriteString(" flags ip options")
	}
	if in.Flags&bytecode.LogUID != 0 {
		b.WriteString(" flags skuid")
	}
	if in.Flags&bytecode.LogMACDecode != 0 {
		b.WriteString(" flags ether")
	}
	return b.String()
}

func (r *ruleLister) rejectText(in *bytecode.Reject) string {
	code := []byte{in.Code}
	switch in.Type {
	case bytecode.RejectTCPReset:
		return "reject with tcp reset"
	case bytecode.RejectICMPX:
		if in.Code == icmpxPortUnreach {
			return "reject"
		}
		return "reject with icmpx " + TypeRejectICMPXCode.Format(code, r.opt.Numeric)
	}
	// In mixed families the code is always told, since the match that said
	// which protocol it is may be gone.
	fam := r.family
	verbose := false
	if fam != bytecode.FamilyIP && fam != bytecode.FamilyIP6 {
		verbose = true
		r.ctx.inner = nil
		fam = r.ctx.networkFamily()
	}
	switch fam {
	case bytecode.FamilyIP:
		if !verbose && in.Code == icmpPortUnreach {
			return "reject"
		}
		return "reject with icmp " + TypeRejectICMPCode.Format(code, r.opt.Numeric)
	case bytecode.FamilyIP6:
		if !verbose && in.Code == icmpv6PortUnreach {
			return "reject"
		}
		return "reject with icmpv6 " + TypeRejectICMPv6Code.Format(code, r.opt.Numeric)
	}
	return "reject"
}

func synproxyText(in *bytecode.Synproxy) string {
	s := "synproxy"
	if in.Flags&(bytecode.SynproxyMSS|bytecode.SynproxyWscale) != 0 {
		s += fmt.Sprintf(" mss %d wscale %d", in.MSS, in.Wscale)
	}
	if in.Flags&bytecode.SynproxyTimestamp != 0 {
		s += " timestamp"
	}
	if in.Flags&bytecode.SynproxySackPerm != 0 {
		s += " sack-perm"
	}
	return s
}

// natFlagNames are in the order of listings.
var natFlagNames = []struct {
	flag uint32
	name string
}{
	{bytecode.NATRandom, "random"},
	{bytecode.NATFullyRandom, "fully-random"},
	{bytecode.NATPersistent, "persistent"},
}

func (r *ruleLister) natText(s *NAT) string {
	var b strings.Builder
	b.WriteString(s.Kind)
	if s.Addr != nil || s.Port != nil {
		// In ip and ip6 tables the family is listed where a map gives ranges or
		// ports (is_nat_addr_map).
		if s.Family != bytecode.FamilyInet && (r.family == bytecode.FamilyInet || s.ConcatAddrPort || s.Interval) {
			b.WriteString(" " + s.Family.String())
		}
		if s.Prefix {
			b.WriteString(" prefix")
		}
		b.WriteString(" to")
	}
	b.WriteString(r.addrPort(s.Addr, s.Port))
	var flags []string
	for _, f := range natFlagNames {
		if s.Flags&f.flag != 0 {
			flags = append(flags, f.name)
		}
	}
	if len(flags) > 0 {
		b.WriteString(" " + strings.Join(flags, ","))
	}
	return b.String()
}

// addrPort prints `ADDR:PORT` with a blank in front; IPv6 addresses in front of
// a port stand in brackets.
func (r *ruleLister) addrPort(addr, port Expr) string {
	var b strings.Builder
	if addr != nil {
		b.WriteString(" ")
		switch a := addr.(type) {
		case *Value:
			b.WriteString(bracketed(r.exprText(a, false), a, port != nil))
		case *RangeValue:
			if port != nil && isIPv6(a.From) {
				b.WriteString("[" + r.exprText(a.From, true) + "]-[" + r.exprText(a.To, true) + "]")
			} else {
				b.WriteString(r.natRange(a))
			}
		default:
			b.WriteString(r.exprText(addr, false))
		}
	}
	if port != nil {
		if addr == nil {
			b.WriteString(" ")
		}
		b.WriteString(":" + r.exprText(port, false))
	}
	return b.String()
}

// natRange prints a range of addresses, as a prefix where it is one.
func (r *ruleLister) natRange(a *RangeValue) string {
	if n, ok := prefixLen(a.From.Bytes, a.To.Bytes); ok {
		return fmt.Sprintf("%s/%d", r.exprText(a.From, false), n)
	}
	return r.exprText(a, false)
}

func isIPv6(v *Value) bool { return v.Type != nil && v.Type.ID == IDIPv6Addr }

func bracketed(text string, v *Value, port bool) string {
	if port && isIPv6(v) {
		return "[" + text + "]"
	}
	return text
}

func (r *ruleLister) tproxyText(s *TProxy) string {
	out := "tproxy"
	if r.family == bytecode.FamilyInet && s.Family != 0 {
		out += " " + s.Family.String()
	}
	out += " to"
	if s.Addr != nil {
		text := r.exprText(s.Addr, false)
		if v, ok := s.Addr.(*Value); ok {
			text = bracketed(text, v, true)
		}
		out += " " + text
	}
	if s.Port != nil {
		if s.Addr == nil {
			out += " "
		}
		out += ":" + r.exprText(s.Port, false)
	}
	return out
}

func (r *ruleLister) queueText(s *Queue) string {
	out := "queue"
	delim := " flags "
	if s.Flags&bytecode.QueueBypass != 0 {
		out += delim + "bypass"
		delim = ","
	}
	if s.Flags&bytecode.QueueFanout != 0 {
		out += delim + "fanout"
	}
	if s.Num == nil {
		return out + " to 0"
	}
	return out + " to " + r.exprText(s.Num, false)
}

func (r *ruleLister) setUpdateText(s *SetUpdate) string {
	out := s.Op.String() + " @" + s.Set.Name + " { " + r.exprText(s.Key, false)
	if o := s.Opts; o != nil {
		if o.Timeout != 0 {
			out += " timeout " + r.duration(uint64(o.Timeout.Milliseconds()))
		}
		for _, st := range o.Stmts {
			if f, ok := st.(*Stateful); ok {
				out += " " + r.stateless().statefulText(f.Instr)
			}
		}
	}
	if s.Data != nil {
		out += " : " + r.exprText(s.Data, false)
	}
	return out + " }"
}

// stateless is the lister without state, for statements of set updates.
func (l *lister) stateless() *lister {
	return &lister{opt: ListOptions{Numeric: l.opt.Numeric, Machine: l.opt.Machine}}
}

// duration prints milliseconds; numeric listings have seconds.
func (l *lister) duration(ms uint64) string {
	if l.opt.Numeric {
		return fmt.Sprintf("%ds", ms/1000)
	}
	return FormatDuration(ms)
}
