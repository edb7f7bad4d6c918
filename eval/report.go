package eval

import (
	"net/netip"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
)

// Report is a Result as `eval --json` prints it, one object a packet. Fields
// may be added; those here keep name and meaning.
type Report struct {
	Packet   int64         `json:"packet"`
	Name     string        `json:"name,omitempty"`
	Verdict  string        `json:"verdict"`
	Likely   string        `json:"likely,omitempty"` // of an unknown verdict
	Hook     string        `json:"hook"`
	Family   string        `json:"family"`
	Table    string        `json:"table"`
	Chain    string        `json:"chain"`
	Rule     *RuleRef      `json:"rule"`
	Policy   bool          `json:"policy"`
	Reject   string        `json:"reject,omitempty"`
	Queue    *uint16       `json:"queue,omitempty"`
	By       string        `json:"by,omitempty"`    // what of the kernel ended it, if not a rule
	Stack    string        `json:"stack,omitempty"` // why the network stack dropped it
	CT       string        `json:"ct,omitempty"`    // state of the connection
	Mark     uint32        `json:"mark,omitempty"`
	NAT      *NATReport    `json:"nat,omitempty"`
	Mutated  bool          `json:"mutated,omitempty"`
	Unknown  []ReasonText  `json:"unknown,omitempty"`
	Assumed  []string      `json:"assumed,omitempty"`
	Trace    []EventText   `json:"trace,omitempty"`
	Failures []FailureText `json:"explain,omitempty"`
}

// RuleRef says where a rule stands.
type RuleRef struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Handle uint64 `json:"handle"`
	Text   string `json:"text,omitempty"`
}

// NATReport is how NAT changed a packet.
type NATReport struct {
	Src  string `json:"src"`
	Dst  string `json:"dst"`
	Note string `json:"note,omitempty"`
}

// ReasonText is a Reason in words.
type ReasonText struct {
	Reason string   `json:"reason"`
	Rule   *RuleRef `json:"rule,omitempty"`
}

// EventText is an Event in words.
type EventText struct {
	Hook    string   `json:"hook"`
	Family  string   `json:"family"`
	Table   string   `json:"table"`
	Chain   string   `json:"chain"`
	Kind    string   `json:"kind"`
	Verdict string   `json:"verdict,omitempty"`
	Rule    *RuleRef `json:"rule,omitempty"`
}

// FailureText is a Failure in words.
type FailureText struct {
	Table  string   `json:"table"`
	Chain  string   `json:"chain"`
	Rule   *RuleRef `json:"rule"`
	Failed string   `json:"failed"`         // what was found and what was expected
	Part   string   `json:"part,omitempty"` // source text of the expression
}

// RuleRef places a rule in the source; nil for nil.
func (e *Engine) RuleRef(r *bytecode.Rule) *RuleRef {
	if r == nil {
		return nil
	}
	pos := e.rs.Files.Position(r.Span.Start)
	return &RuleRef{File: pos.File, Line: pos.Line, Handle: r.Handle, Text: e.Source(r.Span)}
}

// Source is the text of a span; empty when the program did not come from text.
func (e *Engine) Source(sp diag.Span) string {
	if e.rs.Files == nil {
		return ""
	}
	return e.rs.Files.Text(sp)
}

// rejectNames are the words of `reject with`, by NFT_REJECT_* and code.
var (
	icmp4Codes = map[uint8]string{0: "net-unreachable", 1: "host-unreachable", 2: "prot-unreachable", 3: "port-unreachable",
		9: "net-prohibited", 10: "host-prohibited", 13: "admin-prohibited"}
	icmp6Codes = map[uint8]string{0: "no-route", 1: "admin-prohibited", 3: "addr-unreachable", 4: "port-unreachable",
		5: "policy-fail", 6: "reject-route"}
	icmpxCodes = map[uint8]string{0: "no-route", 1: "port-unreachable", 2: "host-unreachable", 3: "admin-prohibited"}
)

// RejectText words how a sender is told.
func RejectText(r *bytecode.Reject, f bytecode.Family) string {
	if r == nil {
		return ""
	}
	kind, names := "icmp", icmp4Codes
	switch {
	case r.Type == 1:
		return "tcp reset"
	case r.Type == 2:
		kind, names = "icmpx", icmpxCodes
	case f == bytecode.FamilyIP6:
		kind, names = "icmpv6", icmp6Codes
	}
	if n, ok := names[r.Code]; ok {
		return kind + " " + n
	}
	return kind
}

// StateText is the word of a ct state bit; empty for 0.
func StateText(bit uint32) string {
	switch bit {
	case packet.CTInvalid:
		return "invalid"
	case packet.CTEstablished:
		return "established"
	case packet.CTRelated:
		return "related"
	case packet.CTNew:
		return "new"
	case packet.CTUntracked:
		return "untracked"
	}
	return ""
}

// Report words a result. index is the packet's ordinal in its source, from 1.
func (e *Engine) Report(index int64, name string, res *Result) Report {
	r := Report{Packet: index, Name: name, Verdict: res.Verdict.String(), Hook: res.Hook.String(), Family: res.Family.String(),
		Rule: e.RuleRef(res.Rule), Policy: res.Policy, Mark: res.Mark, Mutated: res.Mutated,
		CT: StateText(res.CT.State), Reject: RejectText(res.Reject, res.Family)}
	if res.Verdict == Unknown {
		r.Likely = res.Likely.String()
	}
	if res.Table != nil {
		r.Table = res.Table.Name
	}
	r.Chain = ChainName(res.Chain)
	if res.Verdict == Queue {
		n := res.QueueNum
		r.Queue = &n
	}
	if res.By != ByRule {
		r.By = res.By.String()
	}
	if res.Stack != StackNone {
		r.Stack = res.Stack.String()
	}
	if n := &res.NAT; n.Changed || n.AddrNotKnown {
		r.NAT = &NATReport{}
		if n.Changed {
			r.NAT.Src, r.NAT.Dst = endpointText(n.NewSrc), endpointText(n.NewDst)
		}
		switch {
		case n.AddrNotKnown:
			r.NAT.Note = "address not known"
		case n.Random:
			r.NAT.Note = "port drawn at random"
		}
	}
	for i := range res.Unknown {
		u := &res.Unknown[i]
		r.Unknown = append(r.Unknown, ReasonText{Reason: u.Cause.String(), Rule: e.RuleRef(u.Rule)})
	}
	res.Assumed.Each(func(name string) { r.Assumed = append(r.Assumed, name) })
	for i := range res.Trace {
		ev := &res.Trace[i]
		t := EventText{Hook: ev.Step.Hook.String(), Family: ev.Table.Family.String(), Table: ev.Table.Name,
			Chain: ChainName(ev.Chain), Kind: ev.Kind.String(), Rule: e.RuleRef(ev.Rule)}
		if ev.Kind != EventPacket {
			t.Verdict = ev.VerdictText()
		}
		r.Trace = append(r.Trace, t)
	}
	for i := range res.Explain {
		f := &res.Explain[i]
		r.Failures = append(r.Failures, FailureText{Table: f.Table.Name, Chain: ChainName(f.Chain), Rule: e.RuleRef(f.Rule),
			Failed: f.String(), Part: e.Source(f.Span)})
	}
	return r
}

func endpointText(a netip.AddrPort) string {
	if !a.Addr().IsValid() {
		return ""
	}
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}
