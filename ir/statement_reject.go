package ir

import (
	"strconv"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// rejectCodes are the named codes of `reject with icmp|icmpv6|icmpx`, as nft
// knows them; listings use the same names.
var rejectCodes = map[string][]SymbolValue{
	"icmp": {
		{"net-unreachable", 0}, {"host-unreachable", 1}, {"prot-unreachable", 2},
		{"port-unreachable", 3}, {"frag-needed", 4}, {"net-prohibited", 9}, {"host-prohibited", 10},
		{"admin-prohibited", 13},
	},
	"icmpv6": {
		{"no-route", 0}, {"admin-prohibited", 1}, {"addr-unreachable", 3}, {"port-unreachable", 4},
		{"policy-fail", 5}, {"reject-route", 6},
	},
	"icmpx": {
		{"port-unreachable", 1}, {"admin-prohibited", 3}, {"no-route", 0}, {"host-unreachable", 2},
	},
}

// Default codes of reject: ICMP_PORT_UNREACH, ICMPV6_PORT_UNREACH and
// NFT_REJECT_ICMPX_PORT_UNREACH.
const (
	icmpPortUnreach   = 3
	icmpv6PortUnreach = 4
	icmpxPortUnreach  = 1
)

// reject resolves a reject statement: the code, the default for the family,
// and the dependency on a protocol, which goes to the front of the rule so that
// nothing before it sees what is not rejected.
func (c *ruleCtx) reject(s *parser.Reject) {
	word := c.keyword(s.Span, 1)
	in := &bytecode.Reject{}
	var fam bytecode.Family // of the ICMP message; 0 where it does not matter
	codeSpan := word
	switch s.With.Text {
	case "":
		in.Type, in.Code, fam = c.rejectDefault()
	case "tcp":
		in.Type = bytecode.RejectTCPReset
		if !c.rejectResetAllowed(word) {
			return
		}
	case "icmp", "icmpv6", "icmpx":
		switch s.With.Text {
		case "icmp":
			fam = bytecode.FamilyIP
		case "icmpv6":
			fam = bytecode.FamilyIP6
		default:
			in.Type = bytecode.RejectICMPX
		}
		code, sp, ok := c.rejectCode(s)
		if !ok {
			return
		}
		in.Code, codeSpan = code, sp
	default:
		c.unknownWord("unknown-reject", s.With, "kind of answer", []string{"icmp", "icmpv6", "icmpx", "tcp reset"})
		return
	}
	if !c.rejectFamily(in, fam, word, codeSpan) {
		return
	}
	c.emit(&Simple{StmtSpan: StmtSpan{word}, Instr: in})
}

// rejectDefault chooses the answer of a bare `reject` (stmt_evaluate_reject_default).
func (c *ruleCtx) rejectDefault() (typ uint32, code uint8, fam bytecode.Family) {
	fam = c.family()
	if fam != bytecode.FamilyIP && fam != bytecode.FamilyIP6 {
		fam = c.networkFamily()
	}
	switch fam {
	case bytecode.FamilyIP:
		return bytecode.RejectICMP, icmpPortUnreach, fam
	case bytecode.FamilyIP6:
		return bytecode.RejectICMP, icmpv6PortUnreach, fam
	}
	return bytecode.RejectICMPX, icmpxPortUnreach, 0
}

func (c *ruleCtx) rejectCode(s *parser.Reject) (code uint8, at diag.Span, ok bool) {
	text, ok := "", false
	if s.Code != nil {
		at = s.Code.Pos()
		text, ok = c.stringOf(s.Code)
	}
	if !ok {
		return 0, at, false
	}
	for _, v := range rejectCodes[s.With.Text] {
		if v.Name == text {
			return uint8(v.Value), at, true
		}
	}
	n, err := strconv.ParseUint(text, 0, 64)
	switch {
	case err != nil && text != "" && text[0] >= '0' && text[0] <= '9', err == nil && n > 255:
		c.diags.Errorf("reject-code", at, "reject code must be integer in range 0-255")
		return 0, at, false
	case err != nil:
		var names []string
		for _, v := range rejectCodes[s.With.Text] {
			names = append(names, v.Name)
		}
		c.diags.Add(diag.Diagnostic{
			Code: "reject-code", Span: at, Message: "Could not parse reject " + s.With.Text + " code",
			Suggest: diag.Nearest(text, names),
		})
		return 0, at, false
	case n == 255:
		// nft keeps -1 for "no code"; nft_reject_init misses the attribute.
		c.kernelRefuses(c.keyword(s.Span, 1), "Invalid argument", "255 is no code")
		return 0, at, true
	}
	return uint8(n), at, true
}

// rejectResetAllowed tells whether a TCP reset fits the transport protocol of
// the rule so far.
func (c *ruleCtx) rejectResetAllowed(word diag.Span) bool {
	if d := c.protoAt(bytecode.BaseTransport); d != nil && d.Name != "tcp" {
		c.diags.Errorf("reject-protocol", word, "you cannot use tcp reset with this protocol (%s)", d.Name)
		return false
	}
	return true
}

// rejectFamily checks the answer against the table's family and the network
// protocol of the rule so far, and adds the dependency
// (stmt_evaluate_reject_family).
func (c *ruleCtx) rejectFamily(in *bytecode.Reject, fam bytecode.Family, word, code diag.Span) bool {
	net := c.protoAt(bytecode.BaseNetwork)
	netFam := c.networkFamily()
	switch c.family() {
	case bytecode.FamilyARP:
		c.diags.Errorf("reject-family", word, "cannot use reject with arp")
		return false
	case bytecode.FamilyIP, bytecode.FamilyIP6:
		switch {
		case in.Type == bytecode.RejectTCPReset:
			return c.rejectDependency(in, fam)
		case in.Type == bytecode.RejectICMPX:
			c.diags.Errorf("reject-family", code, "abstracted ICMP unreachable not supported")
			return false
		case fam != c.family():
			c.diags.Errorf("conflicting-protocols", code, "conflicting protocols specified: ip vs ip6")
			return false
		}
		return true
	case bytecode.FamilyBridge, bytecode.FamilyNetdev:
		if net != nil && netFam == 0 {
			c.diags.Errorf("reject-family", word, "cannot reject this network family")
			return false
		}
	case bytecode.FamilyInet:
		if net != nil && netFam == 0 && in.Type == bytecode.RejectICMP {
			c.diags.Errorf("reject-family", word, "cannot infer ICMP reject variant to use: explicit value required")
			return false
		}
	}
	if netFam != 0 && in.Type == bytecode.RejectICMP && fam != netFam {
		c.diags.Errorf("conflicting-protocols", code, "conflicting protocols specified: ip vs ip6")
		return false
	}
	if in.Type == bytecode.RejectICMPX {
		return true
	}
	return c.rejectDependency(in, fam)
}

// rejectDependency adds the match that an answer needs, at the front of the
// rule (stmt_reject_gen_dependency).
func (c *ruleCtx) rejectDependency(in *bytecode.Reject, fam bytecode.Family) bool {
	var field *parser.Payload
	switch {
	case in.Type == bytecode.RejectTCPReset:
		if c.protoAt(bytecode.BaseTransport) == nil {
			field = &parser.Payload{Proto: parser.Name{Text: "tcp"}, Field: parser.Name{Text: "sport"}}
		}
	case c.protoAt(bytecode.BaseNetwork) == nil && fam == bytecode.FamilyIP:
		field = &parser.Payload{Proto: parser.Name{Text: "ip"}, Field: parser.Name{Text: "protocol"}}
	case c.protoAt(bytecode.BaseNetwork) == nil && fam == bytecode.FamilyIP6:
		field = &parser.Payload{Proto: parser.Name{Text: "ip6"}, Field: parser.Name{Text: "nexthdr"}}
	}
	if field == nil {
		return true
	}
	before := len(c.rule.Stmts)
	if c.primary(field) == nil {
		return false
	}
	deps := append([]Stmt(nil), c.rule.Stmts[before:]...)
	c.rule.Stmts = append(deps, c.rule.Stmts[:before]...)
	return true
}

// networkFamily is the address family of the network protocol that the rule
// has established so far; 0 when it is unknown or another protocol.
func (c *ruleCtx) networkFamily() bytecode.Family {
	if d := c.protoAt(bytecode.BaseNetwork); d != nil {
		switch d.Name {
		case "ip":
			return bytecode.FamilyIP
		case "ip6":
			return bytecode.FamilyIP6
		}
	}
	return 0
}
