package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
)

// rulePlace is where a rule stands and what it says.
type rulePlace struct {
	file string
	line int
	text string
}

func (p rulePlace) String() string {
	if p.line == 0 {
		return p.text
	}
	return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.text)
}

// ruleNames remembers how rules are quoted.
type ruleNames struct {
	files *diag.FileSet
	known map[*bytecode.Rule]rulePlace
}

func newRuleNames(files *diag.FileSet) *ruleNames {
	return &ruleNames{files, make(map[*bytecode.Rule]rulePlace)}
}

// maxRuleText cuts the quotation of long rules.
const maxRuleText = 120

func (n *ruleNames) of(r *bytecode.Rule) rulePlace {
	if p, ok := n.known[r]; ok {
		return p
	}
	at := n.files.Position(r.Span.Start)
	text := strings.Join(strings.Fields(n.files.Text(r.Span)), " ")
	if at.Line == 0 {
		text = fmt.Sprintf("rule with handle %d", r.Handle)
	}
	if len(text) > maxRuleText {
		text = strings.ToValidUTF8(text[:maxRuleText], "") + "…"
	}
	p := rulePlace{at.File, at.Line, diag.Printable(text)}
	n.known[r] = p
	return p
}

// outcomeWord is the verdict as it is compared with an expected one.
func outcomeWord(res *eval.Result) string {
	switch {
	case res.Verdict == eval.Drop && res.Reject != nil:
		return "reject"
	case res.Verdict == eval.Unknown:
		return "unknown (likely " + res.Likely.String() + ")"
	}
	return res.Verdict.String()
}

// line is one packet with its outcome, in packet notation:
//
//	p1: tcp … => accept; input inet filter input rules.nft:12: tcp dport 22 accept
func (e *evaluation) line(packet string, res *eval.Result) string {
	word := outcomeWord(res)
	if res.Verdict == eval.Unknown {
		word = "unknown"
	}
	return packet + " => " + word + "; " + e.because(res)
}

// because says which hook, chain and rule made the verdict.
func (e *evaluation) because(res *eval.Result) string {
	var b strings.Builder
	if res.Verdict == eval.Unknown {
		fmt.Fprintf(&b, "likely %s; ", res.Likely)
	}
	switch {
	case res.Verdict == eval.Stack:
		fmt.Fprintf(&b, "network stack: %s", res.Stack)
	case res.By != eval.ByRule:
		b.WriteString(res.By.String())
	case res.Table == nil:
		b.WriteString("no chain")
	default:
		fmt.Fprintf(&b, "%s %s %s %s", res.Hook, res.Family, res.Table.Name, chainTitle(res.Chain, res.Base))
		if res.Rule != nil {
			b.WriteString(" " + e.rules.of(res.Rule).String())
		} else {
			fmt.Fprintf(&b, " policy %s", policyOf(res))
		}
	}
	if res.Verdict == eval.Queue {
		fmt.Fprintf(&b, " (queue %d)", res.QueueNum)
	}
	for i, r := range res.Unknown {
		if !slices.ContainsFunc(res.Unknown[:i], func(o eval.Reason) bool { return o.Cause == r.Cause }) {
			fmt.Fprintf(&b, "; %s", r.Cause)
		}
	}
	return b.String()
}

// chainTitle names a chain; an anonymous one by the base chain it serves.
func chainTitle(c, base *bytecode.Chain) string {
	if c == nil {
		c = base
	}
	switch {
	case c == nil:
		return "?"
	case c.Name != "":
		return c.Name
	case base != nil:
		return base.Name + "{}"
	}
	return "{}"
}

func policyOf(res *eval.Result) bytecode.Code {
	if res.Base == nil || res.Base.Base == nil {
		return bytecode.Accept
	}
	return res.Base.Base.Policy
}

// jsonRule is a rule as JSON quotes it.
type jsonRule struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Handle uint64 `json:"handle"`
	Text   string `json:"text"`
}

func (e *evaluation) jsonRule(r *bytecode.Rule) *jsonRule {
	if r == nil {
		return nil
	}
	p := e.rules.of(r)
	return &jsonRule{p.file, p.line, r.Handle, p.text}
}

// jsonPacket is one packet of eval --json; docs/json.md describes it.
type jsonPacket struct {
	Version  int           `json:"version"`
	Packet   int64         `json:"packet"`
	Name     string        `json:"name,omitempty"`
	Summary  string        `json:"summary"`
	Verdict  string        `json:"verdict"`
	Likely   string        `json:"likely,omitempty"`
	Hook     string        `json:"hook"`
	Family   string        `json:"family"`
	Table    string        `json:"table"`
	Chain    string        `json:"chain"`
	Base     string        `json:"base_chain"`
	Rule     *jsonRule     `json:"rule"`
	Policy   bool          `json:"policy"`
	Reject   bool          `json:"reject,omitempty"`
	Queue    *uint16       `json:"queue,omitempty"`
	By       string        `json:"by,omitempty"`
	Stack    string        `json:"stack,omitempty"`
	Mark     uint32        `json:"mark,omitempty"`
	Path     []string      `json:"path"`
	Expected string        `json:"expected,omitempty"`
	Differs  *bool         `json:"differs,omitempty"`
	Unknown  []jsonUnknown `json:"unknown,omitempty"`
	Assumed  []string      `json:"assumed,omitempty"`
	Trace    []jsonEvent   `json:"trace,omitempty"`
	Explain  *[]jsonReason `json:"explain,omitempty"` // null but for packets that were asked about
}

// jsonUnknown is something that nftc does not know and that the packet met.
type jsonUnknown struct {
	Cause   string    `json:"cause"`
	Rule    *jsonRule `json:"rule"`
	Settles string    `json:"settled_by,omitempty"`
}

func (e *evaluation) json(p *packet.Packet, res *eval.Result, line string, asked bool) error {
	j := jsonPacket{
		Version: diag.JSONVersion,
		Packet:  e.number, Name: p.Name, Summary: line, Verdict: res.Verdict.String(),
		Hook: hookName(res), Rule: e.jsonRule(res.Rule), Policy: res.Policy, Reject: res.Reject != nil, Mark: res.Mark,
		Path: []string{},
	}
	if res.Table != nil {
		j.Family, j.Table = res.Family.String(), res.Table.Name
		j.Chain = chainTitle(res.Chain, res.Base)
	}
	if res.Base != nil {
		j.Base = res.Base.Name
	}
	if res.Verdict == eval.Unknown {
		j.Likely = res.Likely.String()
	}
	if res.Verdict == eval.Queue {
		j.Queue = &res.QueueNum
	}
	if res.By != eval.ByRule {
		j.By = res.By.String()
	}
	if res.Verdict == eval.Stack {
		j.Stack = res.Stack.String()
	}
	for _, s := range res.Path {
		j.Path = append(j.Path, s.Hook.String())
	}
	if want := p.Stated.Expect; want != "" {
		differs := !expected(want, res)
		j.Expected, j.Differs = want, &differs
	}
	for _, r := range res.Unknown {
		j.Unknown = append(j.Unknown, jsonUnknown{r.Cause.String(), e.jsonRule(r.Rule), settles[r.Cause]})
	}
	res.Assumed.Each(func(name string) { j.Assumed = append(j.Assumed, name) })
	j.Trace = e.jsonTrace(res)
	if asked {
		j.Explain = e.jsonReasons(res)
	}
	return writeJSONLine(e.out, j)
}

func hookName(res *eval.Result) string {
	if res.Hook == bytecode.HookNone {
		return ""
	}
	return res.Hook.String()
}

// stateWords are the connection states, for descriptions.
func stateWords(state uint32) string {
	var words []string
	for _, s := range []struct {
		bit  uint32
		name string
	}{
		{packet.CTInvalid, "invalid"}, {packet.CTEstablished, "established"}, {packet.CTRelated, "related"},
		{packet.CTNew, "new"}, {packet.CTUntracked, "untracked"},
	} {
		if state&s.bit != 0 {
			words = append(words, s.name)
		}
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}
