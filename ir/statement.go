package ir

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// otherStmt resolves statements that are neither matches nor assignments.
func (c *ruleCtx) otherStmt(s parser.Stmt) {
	switch s := s.(type) {
	case *parser.Counter, *parser.Quota, *parser.Limit, *parser.CTCount, *parser.Last:
		if in := c.stateful(s); in != nil {
			c.emit(&Stateful{StmtSpan: StmtSpan{s.Pos()}, Instr: in})
		}
	case *parser.ObjRef:
		c.objRef(s)
	case *parser.Log:
		c.log(s)
	case *parser.Reject:
		c.reject(s)
	case *parser.NAT:
		c.nat(s)
	case *parser.TProxy:
		c.tproxy(s)
	case *parser.Synproxy:
		c.synproxy(s)
	case *parser.Dup:
		c.dup(s)
	case *parser.Fwd:
		c.fwd(s)
	case *parser.Queue:
		c.queue(s)
	case *parser.Notrack:
		c.emit(&Simple{StmtSpan: StmtSpan{s.Span}, Instr: &bytecode.Notrack{}})
	case *parser.FlowAdd:
		c.flowAdd(s)
	case *parser.SetUpdate:
		c.setUpdate(s)
	case *parser.Meter:
		c.meter(s)
	case *parser.Reset:
		c.reset(s)
	case *parser.XT:
		c.diags.Errorf("unsupported-statement", s.Span,
			"unsupported xtables compat expression, use iptables-nft with this ruleset")
	default:
		c.diags.Errorf("unsupported-statement", s.Pos(), "statement is not known here")
	}
}

// keyword returns the span of the first n words of a statement: where nft
// points for errors of statements such as log, dnat and limit.
func (c *ruleCtx) keyword(sp diag.Span, n int) diag.Span {
	text := c.files.Text(sp)
	end := 0
	for ; n > 0; n-- {
		for end < len(text) && (text[end] == ' ' || text[end] == '\t') {
			end++
		}
		word := end
		for end < len(text) && (isWordByte(text[end])) {
			end++
		}
		if end == word {
			break
		}
	}
	if end == 0 {
		return sp
	}
	return diag.Span{Start: sp.Start, End: sp.Start + diag.Pos(end)}
}

func isWordByte(b byte) bool {
	return b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// kernelRefuses notes what the kernel answers with an error number when the
// rule is loaded; reason says what it objects to. It is reported when everything
// else is right: until then nothing reaches the kernel.
func (c *ruleCtx) kernelRefuses(sp diag.Span, errno, reason string) {
	c.refused = append(c.refused, diag.Diagnostic{
		Code: "kernel-refuses", Span: sp, Message: "Could not process rule: " + errno + " (" + reason + ")",
	})
}

// byteUnits are the units of quotas and byte limits.
var byteUnits = map[string]uint64{"": 1, "bytes": 1, "kbytes": 1 << 10, "mbytes": 1 << 20}

// limitPeriods are the periods of limits in seconds.
var limitPeriods = map[string]uint64{
	"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800,
}

// defaultPacketBurst is what nft sends when a packet limit states no burst.
const defaultPacketBurst = 5

// stateful turns a stateful statement (counter, quota, limit, ct count, last)
// into its expression; nil after an error, which is reported.
func (c *ruleCtx) stateful(s parser.Stmt) bytecode.Instr {
	switch s := s.(type) {
	case *parser.Counter:
		return &bytecode.Counter{Packets: number(s.Packets), Bytes: number(s.Bytes)}
	case *parser.Quota:
		unit, ok := byteUnits[s.Unit.Text]
		usedUnit, ok2 := byteUnits[s.UsedUnit.Text]
		if !ok || !ok2 {
			c.diags.Errorf("unknown-unit", s.Unit.Span, "unknown unit %q, expected bytes, kbytes or mbytes", s.Unit.Text)
			return nil
		}
		q := &bytecode.Quota{Bytes: s.Amount.Value * unit, Consumed: number(s.Used) * usedUnit, Over: s.Over}
		if q.Bytes>>63 != 0 || q.Consumed>>63 != 0 {
			// nft_quota_do_init: both must fit into a signed 64-bit integer.
			c.kernelRefuses(c.keyword(s.Span, 1), "Value too large for defined data type", "quota exceeds 2^63-1 bytes")
		}
		return q
	case *parser.Limit:
		return c.limit(s)
	case *parser.CTCount:
		if f := c.family(); f == bytecode.FamilyNetdev || f == bytecode.FamilyARP {
			// nft_connlimit_do_init: nf_ct_netns_get has no connection tracking here.
			c.kernelRefuses(s.Span, protoError, "no connection tracking in the "+f.String()+" family")
		}
		return &bytecode.Connlimit{Count: uint32(s.Count.Value), Over: s.Over}
	case *parser.Last:
		return c.last(s)
	}
	c.diags.Errorf("not-stateful", s.Pos(), "statement must be stateful")
	return nil
}

func (c *ruleCtx) limit(s *parser.Limit) bytecode.Instr {
	period, ok := limitPeriods[s.Per.Text]
	if !ok {
		c.diags.Errorf("unknown-unit", s.Per.Span, "unknown period %q, expected second, minute, hour, day or week", s.Per.Text)
		return nil
	}
	unit, ok := byteUnits[s.RateUnit.Text]
	if !ok {
		c.diags.Errorf("unknown-unit", s.RateUnit.Span, "unknown unit %q, expected bytes, kbytes or mbytes", s.RateUnit.Text)
		return nil
	}
	l := &bytecode.Limit{Rate: s.Rate.Value * unit, Unit: period, Over: s.Over, Bytes: s.RateUnit.Text != ""}
	switch {
	case l.Bytes:
		if s.Burst != nil {
			burst, ok := byteUnits[s.BurstUnit.Text]
			if !ok {
				c.diags.Errorf("unknown-unit", s.BurstUnit.Span,
					"the burst of a byte limit is in bytes, kbytes or mbytes, not %s", s.BurstUnit.Text)
				return nil
			}
			l.Burst = uint32(s.Burst.Value * burst)
		}
	case s.Burst == nil:
		l.Burst = defaultPacketBurst
	default:
		if s.BurstUnit.Text != "packets" && s.BurstUnit.Text != "" {
			c.diags.Errorf("unknown-unit", s.BurstUnit.Span,
				"the burst of a packet limit is in packets, not %s", s.BurstUnit.Text)
			return nil
		}
		l.Burst = uint32(s.Burst.Value)
		if l.Burst == 0 {
			c.diags.Errorf("zero-burst", s.Burst.Span, "packet limit burst must be > 0")
			return nil
		}
	}
	if msg, errno := limitRefused(l); msg != "" {
		c.kernelRefuses(c.keyword(s.Span, 2), errno, msg)
	}
	return l
}

// limitRefused tells why the kernel would refuse a limit (nft_limit_init).
func limitRefused(l *bytecode.Limit) (reason, errno string) {
	const nsecPerSec = 1_000_000_000
	const overflow = "Value too large for defined data type"
	if l.Rate == 0 {
		return "the rate of a limit must not be 0", "Invalid argument"
	}
	nsecs := l.Unit * nsecPerSec
	burst := uint64(l.Burst)
	if !l.Bytes {
		// With packets the tokens are burst times the nanoseconds per packet.
		if tokens := nsecs / l.Rate; tokens != 0 && burst > (1<<64-1)/tokens {
			return "the burst of the limit overflows", overflow
		}
		return "", ""
	}
	if l.Rate+burst < l.Rate {
		return "rate and burst of the limit overflow", overflow
	}
	if total := l.Rate + burst; nsecs > (1<<64-1)/total {
		return "rate and burst of the limit overflow", overflow
	}
	return "", ""
}

func (c *ruleCtx) last(s *parser.Last) bytecode.Instr {
	if s.Used.Text == "" || s.Used.Text == "never" {
		return &bytecode.Last{}
	}
	d, ok := c.duration(s.Used)
	if !ok {
		return nil
	}
	return &bytecode.Last{Set: true, Msecs: uint64(d.Milliseconds())}
}

func number(n *parser.Number) uint64 {
	if n == nil {
		return 0
	}
	return n.Value
}

func (c *ruleCtx) synproxy(s *parser.Synproxy) {
	in := &bytecode.Synproxy{MSS: uint16(number(s.MSS)), Wscale: uint8(number(s.Wscale))}
	if s.MSS != nil {
		in.Flags |= bytecode.SynproxyMSS
	}
	if s.Wscale != nil {
		in.Flags |= bytecode.SynproxyWscale
	}
	if s.Timestamp {
		in.Flags |= bytecode.SynproxyTimestamp
	}
	if s.SackPerm {
		in.Flags |= bytecode.SynproxySackPerm
	}
	if f := c.family(); f == bytecode.FamilyNetdev || f == bytecode.FamilyARP {
		// nft_synproxy_do_init: nf_ct_netns_get has no connection tracking here.
		c.kernelRefuses(s.Span, protoError, "no connection tracking in the "+f.String()+" family")
	}
	c.emit(&Simple{StmtSpan: StmtSpan{s.Span}, Instr: in})
}

func (c *ruleCtx) flowAdd(s *parser.FlowAdd) {
	name, ok := c.word(s.Flowtable)
	if !ok {
		return
	}
	c.emit(&Simple{StmtSpan: StmtSpan{s.Span}, Instr: &bytecode.FlowOffload{Flowtable: name}})
}

// reset resolves `reset tcp option X`.
func (c *ruleCtx) reset(s *parser.Reset) {
	x := c.primary(s.Target)
	if x == nil {
		return
	}
	c.emit(&Reset{StmtSpan: StmtSpan{s.Span}, Target: x})
}

// objTypes are the kinds of object that a statement can name.
var objTypes = map[string]bytecode.ObjectType{
	"counter": bytecode.ObjCounter, "quota": bytecode.ObjQuota, "limit": bytecode.ObjLimit,
	"synproxy": bytecode.ObjSynproxy, "tunnel": bytecode.ObjTunnel,
	"ct helper": bytecode.ObjCTHelper, "ct timeout": bytecode.ObjCTTimeout,
	"ct expectation": bytecode.ObjCTExpect, "secmark": bytecode.ObjSecmark,
}

func (c *ruleCtx) objRef(s *parser.ObjRef) {
	typ, ok := objTypes[s.Kind]
	if !ok {
		c.diags.Errorf("unknown-object-type", s.Span, "unknown type of object %q", s.Kind)
		return
	}
	c.objRefTo(s.Span, typ, s.X)
}
