package eval

import (
	"fmt"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// EventKind tells the events of a trace apart.
type EventKind uint8

const (
	// EventPacket starts a base chain: the packet as that chain sees it.
	EventPacket EventKind = iota
	// EventRule is a rule that ran to its end.
	EventRule
	// EventReturn is the end of a chain without a verdict, base chains
	// included.
	EventReturn
	// EventPolicy is the end of a base chain: its policy decides.
	EventPolicy
)

func (k EventKind) String() string {
	switch k {
	case EventPacket:
		return "packet"
	case EventRule:
		return "rule"
	case EventReturn:
		return "return"
	case EventPolicy:
		return "policy"
	}
	return "invalid"
}

// Event is one step of a trace, as the kernel's NFT_MSG_TRACE tells it.
type Event struct {
	Kind  EventKind
	Step  Step
	Table *bytecode.Table
	Base  *bytecode.Chain
	Chain *bytecode.Chain
	Rule  *bytecode.Rule // EventRule
	// Verdict of the rule or policy: accept, drop (also reject), continue,
	// return, jump, goto, queue; stolen is Stolen.
	Verdict bytecode.Code
	Stolen  bool
	Target  *bytecode.Chain // jump and goto

	// EventPacket: what the chain sees.
	In, Out string
	Mark    uint32
	CTState uint32
	Headers []byte // from the network header on, at most 60 bytes
}

func (e *Engine) event(w *walk, k EventKind) *Event {
	w.res.Trace = append(w.res.Trace, Event{Kind: k, Step: w.end.step, Table: w.base.table.src,
		Base: w.base.src, Chain: w.chain.src})
	return &w.res.Trace[len(w.res.Trace)-1]
}

// maxTraceHeaders is how many bytes the kernel's trace shows of the network
// and transport header together.
const maxTraceHeaders = 60

func (e *Engine) traceStart(w *walk) {
	ev := e.event(w, EventPacket)
	ev.In, ev.Out, ev.Mark, ev.CTState = w.in.name, w.out.name, w.mark, w.ctState()
	if nh := w.p.NH; nh >= 0 && nh < len(w.p.Data) {
		ev.Headers = append([]byte(nil), w.p.Data[nh:min(len(w.p.Data), nh+maxTraceHeaders)]...)
	}
}

func (e *Engine) traceRule(w *walk, r *rule, code int32) {
	ev := e.event(w, EventRule)
	ev.Rule = r.src
	ev.Verdict = bytecode.Code(code)
	switch code {
	case codeJump, codeGoto:
		ev.Target = w.vd.chain.src
	case codeStolen:
		ev.Stolen = true
	}
	if w.opts.ProbeMatch != nil {
		w.opts.ProbeMatch(ev, &Probe{e, w})
	}
}

func (e *Engine) traceReturn(w *walk) {
	e.event(w, EventReturn).Verdict = bytecode.Continue
}

func (e *Engine) tracePolicy(w *walk) {
	w.chain = w.base
	e.event(w, EventPolicy).Verdict = bytecode.Code(w.base.policy)
}

// VerdictText words the verdict as `nft monitor trace` does.
func (ev *Event) VerdictText() string {
	if ev.Stolen {
		return "stolen"
	}
	s := ev.Verdict.String()
	if ev.Target != nil {
		s += " " + ChainName(ev.Target)
	}
	return s
}

// ChainName is a chain's name, or for an anonymous one nft's stand-in for it.
func ChainName(c *bytecode.Chain) string {
	if c == nil {
		return ""
	}
	if c.Name == "" {
		return fmt.Sprintf("__chain%d", c.ID)
	}
	return c.Name
}

// Format words an event as a line of `nft monitor trace`, without the trace
// id: id stands there instead. source gives the text of a rule, and may be
// nil.
func (ev *Event) Format(id string, source func(*bytecode.Rule) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "trace id %s %v %s %s ", id, ev.Table.Family, ev.Table.Name, ChainName(ev.Chain))
	switch ev.Kind {
	case EventPacket:
		b.WriteString("packet:")
		if ev.In != "" {
			fmt.Fprintf(&b, " iif %q", ev.In)
		}
		if ev.Out != "" {
			fmt.Fprintf(&b, " oif %q", ev.Out)
		}
		if ev.Mark != 0 {
			fmt.Fprintf(&b, " meta mark 0x%08x", ev.Mark)
		}
	case EventRule:
		text := ""
		if source != nil {
			text = source(ev.Rule)
		}
		if text == "" {
			text = fmt.Sprintf("handle %d", ev.Rule.Handle)
		}
		fmt.Fprintf(&b, "rule %s (verdict %s)", text, ev.VerdictText())
	case EventReturn:
		b.WriteString("verdict continue")
	case EventPolicy:
		fmt.Fprintf(&b, "policy %s", ev.VerdictText())
	}
	return b.String()
}
