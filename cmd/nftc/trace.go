package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/internal/diag"
)

// details prints the trace of a packet in the words of `nft monitor trace`, and
// explains a packet that was asked about.
func (e *evaluation) details(res *eval.Result, asked bool) {
	if asked {
		e.explanation(res)
		return
	}
	for i := range res.Trace {
		fmt.Fprintf(e.out, "  %s\n", e.event(&res.Trace[i]))
	}
}

func (e *evaluation) event(ev *eval.Event) string {
	id := strconv.FormatInt(e.number, 10)
	return ev.Format(id, func(r *bytecode.Rule) string { return e.rules.of(r).String() })
}

// quote is the text of a part of a rule, where that is less than the rule.
func (e *evaluation) quote(part diag.Span, r *bytecode.Rule) string {
	if !part.Valid() || part == r.Span {
		return ""
	}
	return diag.Printable(strings.Join(strings.Fields(e.rules.files.Text(part)), " "))
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
	add := func(i int) {
		ev := &res.Trace[i]
		j := jsonEvent{
			Kind: ev.Kind.String(), Hook: ev.Step.Hook.String(), Family: ev.Table.Family.String(), Table: ev.Table.Name,
			Base: eval.ChainName(ev.Base), Chain: eval.ChainName(ev.Chain), Rule: e.jsonRule(ev.Rule),
		}
		j.Why = e.matched[i]
		if ev.Kind == eval.EventRule || ev.Kind == eval.EventPolicy {
			j.Verdict = ev.VerdictText()
		}
		out = append(out, j)
	}
	k := 0
	failed := func(before int) {
		for ; k < len(res.Explain) && res.Explain[k].Before <= before; k++ {
			out = append(out, e.jsonFailure(&res.Explain[k], &e.reasons[k]))
		}
	}
	for i := range res.Trace {
		failed(i)
		add(i)
	}
	failed(len(res.Trace))
	return out
}

func (e *evaluation) jsonFailure(f *eval.Failure, r *reason) jsonEvent {
	return jsonEvent{
		Kind: "no match", Hook: f.Step.Hook.String(), Family: f.Table.Family.String(), Table: f.Table.Name,
		Chain: eval.ChainName(f.Chain), Rule: e.jsonRule(f.Rule), Failed: e.quote(f.Span, f.Rule), Why: r.Text,
	}
}

// writeJSONLine writes one object on one line.
func writeJSONLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
