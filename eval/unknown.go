package eval

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// Cause is a kind of thing that an evaluation without a kernel cannot know.
type Cause uint8

const (
	CauseNone Cause = iota
	CauseTruncated
	CauseLinkLayer
	CauseRandom
	CauseCPU
	CauseSocket
	CauseCgroup
	CauseSecmark
	CauseInterface    // the incoming one
	CauseOutInterface // the outgoing one
	CauseIfType
	CauseIfGroup
	CauseIfKind
	CauseVRF
	CauseBridge
	CausePriority
	CauseTime
	CauseRoute
	CauseOSF
	CauseHelper
	CauseConnection
	CauseTunnel
	CauseFlowHash
	CauseXtables
	CauseTooMany
	CauseRefragmented
)

var causeNames = [...]string{
	CauseNone:         "none",
	CauseTruncated:    "bytes missing from the capture",
	CauseLinkLayer:    "link layer header missing from the capture",
	CauseRandom:       "random number",
	CauseCPU:          "cpu not stated",
	CauseSocket:       "socket not known",
	CauseCgroup:       "cgroup not stated",
	CauseSecmark:      "secmark not stated",
	CauseInterface:    "interface not stated",
	CauseOutInterface: "outgoing interface not stated",
	CauseIfType:       "interface type not known",
	CauseIfGroup:      "interface group not known",
	CauseIfKind:       "interface kind not known",
	CauseVRF:          "vrf membership not known",
	CauseBridge:       "bridge port not stated",
	CausePriority:     "priority not stated",
	CauseTime:         "time not stated",
	CauseRoute:        "routing not known without a host model",
	CauseOSF:          "no fingerprints for osf",
	CauseHelper:       "connection tracking helper not known",
	CauseConnection:   "not stated of the connection",
	CauseTunnel:       "tunnel metadata not known",
	CauseFlowHash:     "flow hash with the kernel's random key",
	CauseXtables:      "xtables extension",
	CauseTooMany:      "too many unknown expressions on one trip",
	CauseRefragmented: "a reassembled packet leaves in fragments, which egress sees one by one",
}

func (c Cause) String() string {
	if int(c) < len(causeNames) {
		return causeNames[c]
	}
	return "invalid"
}

// Reason is one unknown that a packet met.
type Reason struct {
	Cause Cause
	// Table, Chain and Rule hold the expression that needed it; nil when the
	// question came up outside of a rule.
	Table *bytecode.Table
	Chain *bytecode.Chain
	Rule  *bytecode.Rule
	Instr int       // index in Rule.Instrs
	Span  diag.Span // of the expression, when known
	// Before is the index in Result.Trace of the first event after it, Missed
	// that of the first failure in Result.Explain.
	Before, Missed int
}

// maxBranches is how many alternative ends of a trip are run for one packet
// before the verdict is called unknown: enough for a handful of unknown rules
// in sequence, which is what real rulesets have.
const maxBranches = 64

// noteUnknown records that cause touched the packet at op i of the current
// rule; each place and cause once.
func (e *Engine) noteUnknown(w *walk, c Cause, i int) {
	if w.res == nil {
		return
	}
	r := Reason{Cause: c, Instr: -1, Before: len(w.res.Trace), Missed: len(w.res.Explain)}
	if w.running && w.ri < len(w.chain.rules) {
		rl := &w.chain.rules[w.ri]
		r.Table, r.Chain, r.Rule = w.chain.table.src, w.chain.src, rl.src
		if i >= 0 {
			r.Instr = int(e.opInstr[i])
			if r.Instr < len(rl.src.Spans) {
				r.Span = rl.src.Spans[r.Instr]
			}
			if !r.Span.Valid() {
				r.Span = rl.src.Span
			}
		}
	}
	for k := range w.res.Unknown {
		o := &w.res.Unknown[k]
		if o.Cause == r.Cause && o.Rule == r.Rule && o.Instr == r.Instr {
			return
		}
	}
	w.res.Unknown = append(w.res.Unknown, r)
}
