package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
)

// details prints the trace of a packet in the words of `nft monitor trace`, and
// for a packet that was asked about, why rules on its way did not match.
func (e *evaluation) details(res *eval.Result, asked bool) {
	if !asked {
		for i := range res.Trace {
			fmt.Fprintf(e.out, "  %s\n", e.event(&res.Trace[i]))
		}
		return
	}
	failures := res.Explain
	for i := range res.Trace {
		ev := &res.Trace[i]
		failures = e.failed(failures, ev)
		fmt.Fprintf(e.out, "  %s\n", e.event(ev))
	}
	e.failed(failures, nil)
	res.Assumed.Each(func(name string) { fmt.Fprintf(e.out, "  assumed: %s\n", name) })
	for _, r := range res.Unknown {
		fmt.Fprintf(e.out, "  not known: %s", r.Cause)
		if r.Rule != nil {
			fmt.Fprintf(e.out, " (%s)", e.rules.of(r.Rule))
		}
		fmt.Fprintln(e.out)
	}
	if res.NAT.Changed {
		fmt.Fprintf(e.out, "  nat: %s > %s becomes %s > %s\n", res.NAT.Src, res.NAT.Dst, res.NAT.NewSrc, res.NAT.NewDst)
	}
}

func (e *evaluation) event(ev *eval.Event) string {
	id := strconv.FormatInt(e.number, 10)
	return ev.Format(id, func(r *bytecode.Rule) string { return e.rules.of(r).String() })
}

// failed prints the rules that did not match in front of an event; all that are
// left when there is none.
func (e *evaluation) failed(fs []eval.Failure, until *eval.Event) []eval.Failure {
	for len(fs) > 0 {
		f := &fs[0]
		if until != nil && !before(f, until) {
			break
		}
		fmt.Fprintf(e.out, "  no match: %s\n", e.rules.of(f.Rule))
		if part := e.part(f); part != "" {
			fmt.Fprintf(e.out, "            %s: %s\n", part, f)
		} else {
			fmt.Fprintf(e.out, "            %s\n", f)
		}
		fs = fs[1:]
	}
	return fs
}

// before tells whether a rule that did not match was tried before an event: it
// stands in the chain of the event, in front of the event's rule.
func before(f *eval.Failure, ev *eval.Event) bool {
	if f.Step != ev.Step || f.Chain != ev.Chain || ev.Kind == eval.EventPacket {
		return false
	}
	if ev.Rule == nil {
		return true
	}
	for _, r := range ev.Chain.Rules {
		switch r {
		case f.Rule:
			return true
		case ev.Rule:
			return false
		}
	}
	return true
}

// part quotes the expression that failed, where that is less than the rule.
func (e *evaluation) part(f *eval.Failure) string {
	if !f.Span.Valid() || f.Span == f.Rule.Span {
		return ""
	}
	return strings.Join(strings.Fields(e.rules.files.Text(f.Span)), " ")
}

// jsonEvent is one step of a trace.
type jsonEvent struct {
	Kind    string    `json:"kind"`
	Hook    string    `json:"hook"`
	Family  string    `json:"family"`
	Table   string    `json:"table"`
	Base    string    `json:"base_chain"`
	Chain   string    `json:"chain"`
	Rule    *jsonRule `json:"rule,omitempty"`
	Verdict string    `json:"verdict,omitempty"`
	Failed  string    `json:"failed,omitempty"`
	Why     string    `json:"why,omitempty"`
}

// jsonTrace is the trace, with the rules that did not match behind it when they
// were asked for.
func (e *evaluation) jsonTrace(res *eval.Result) []jsonEvent {
	var out []jsonEvent
	add := func(ev *eval.Event) {
		j := jsonEvent{
			Kind: ev.Kind.String(), Hook: ev.Step.Hook.String(), Family: ev.Table.Family.String(), Table: ev.Table.Name,
			Base: eval.ChainName(ev.Base), Chain: eval.ChainName(ev.Chain), Rule: e.jsonRule(ev.Rule),
		}
		if ev.Kind == eval.EventRule || ev.Kind == eval.EventPolicy {
			j.Verdict = ev.VerdictText()
		}
		out = append(out, j)
	}
	failures := res.Explain
	for i := range res.Trace {
		for len(failures) > 0 && before(&failures[0], &res.Trace[i]) {
			out = append(out, e.jsonFailure(&failures[0]))
			failures = failures[1:]
		}
		add(&res.Trace[i])
	}
	for i := range failures {
		out = append(out, e.jsonFailure(&failures[i]))
	}
	return out
}

func (e *evaluation) jsonFailure(f *eval.Failure) jsonEvent {
	return jsonEvent{
		Kind: "no match", Hook: f.Step.Hook.String(), Family: f.Table.Family.String(), Table: f.Table.Name,
		Chain: eval.ChainName(f.Chain), Rule: e.jsonRule(f.Rule), Failed: e.part(f), Why: f.String(),
	}
}

// writeJSONLine writes one object on one line.
func writeJSONLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
