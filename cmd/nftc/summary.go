package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/internal/diag"
)

// summary counts outcomes.
type summary struct {
	packets  int64
	verdicts map[string]int64
	rules    map[decision]int64
	assumed  map[string]int64
	unknown  map[unknownAt]int64
	unsure   int64 // packets whose verdict is unknown
}

// decision is what makes a verdict.
type decision struct {
	verdict string
	hook    bytecode.Hook
	family  bytecode.Family
	table   *bytecode.Table
	chain   *bytecode.Chain
	base    *bytecode.Chain
	rule    *bytecode.Rule
	by      eval.Internal
	stack   eval.StackReason
}

// unknownAt is something unknown and the rule that asked for it.
type unknownAt struct {
	cause eval.Cause
	rule  *bytecode.Rule
}

func newSummary() *summary {
	return &summary{
		verdicts: make(map[string]int64), rules: make(map[decision]int64),
		assumed: make(map[string]int64), unknown: make(map[unknownAt]int64),
	}
}

func verdictWord(res *eval.Result) string {
	if res.Verdict == eval.Drop && res.Reject != nil {
		return "reject"
	}
	return res.Verdict.String()
}

func (s *summary) add(res *eval.Result) {
	s.packets++
	word := verdictWord(res)
	s.verdicts[word]++
	s.rules[decision{word, res.Hook, res.Family, res.Table, res.Chain, res.Base, res.Rule, res.By, res.Stack}]++
	if res.Verdict == eval.Unknown {
		s.unsure++
	}
	if res.Assumed != 0 {
		res.Assumed.Each(func(name string) { s.assumed[name]++ })
	}
	for _, r := range res.Unknown {
		s.unknown[unknownAt{r.Cause, r.Rule}]++
	}
}

// byCount lists the keys of a count, greatest first, equals by name.
func byCount[K comparable](m map[K]int64, name func(K) string) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(name(a), name(b)))
	})
	return keys
}

// where puts the parts of a decision in words.
func (d decision) where(rules *ruleNames) (hook, table, chain, rule string) {
	if d.hook != bytecode.HookNone {
		hook = d.hook.String()
	}
	switch {
	case d.stack != eval.StackNone:
		return hook, "", "", "network stack: " + d.stack.String()
	case d.by != eval.ByRule:
		return hook, "", "", d.by.String()
	case d.table == nil:
		return hook, "", "", "no chain"
	}
	table = d.family.String() + " " + d.table.Name
	chain = chainTitle(d.chain, d.base)
	if d.rule == nil {
		return hook, table, chain, "policy"
	}
	return hook, table, chain, rules.of(d.rule).String()
}

func (e *evaluation) printSummary() {
	s := e.sum
	name := func(d decision) string {
		hook, table, chain, rule := d.where(e.rules)
		return d.verdict + hook + table + chain + rule
	}
	if e.app.global.JSON {
		writeJSONLine(e.out, e.jsonSummary(name))
		return
	}
	w := tabwriter.NewWriter(e.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "packets\tverdict")
	for _, v := range byCount(s.verdicts, func(v string) string { return v }) {
		fmt.Fprintf(w, "%d\t%s\n", s.verdicts[v], v)
	}
	w.Flush()
	fmt.Fprintln(e.out)
	fmt.Fprintln(w, "packets\tverdict\thook\ttable\tchain\trule")
	for _, d := range byCount(s.rules, name) {
		hook, table, chain, rule := d.where(e.rules)
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", s.rules[d], d.verdict, hook, table, chain, rule)
	}
	w.Flush()
}

// report says what was assumed and what was not known, with the number of
// packets that it touched.
func (s *summary) report(w io.Writer, rules *ruleNames) {
	for _, a := range byCount(s.assumed, func(a string) string { return a }) {
		fmt.Fprintf(w, "nftc: assumed for %s: %s\n", packets(s.assumed[a]), a)
	}
	name := func(u unknownAt) string {
		if u.rule == nil {
			return u.cause.String()
		}
		return u.cause.String() + " (" + rules.of(u.rule).String() + ")"
	}
	for _, u := range byCount(s.unknown, name) {
		fmt.Fprintf(w, "nftc: not known for %s: %s\n", packets(s.unknown[u]), name(u))
	}
	if s.unsure > 0 {
		fmt.Fprintf(w, "nftc: verdict unknown for %s\n", packets(s.unsure))
	}
}

func packets(n int64) string {
	if n == 1 {
		return "1 packet"
	}
	return fmt.Sprintf("%d packets", n)
}

// jsonSummary is what eval --summary --json writes.
type jsonSummary struct {
	Version  int              `json:"version"`
	Packets  int64            `json:"packets"`
	Verdicts map[string]int64 `json:"verdicts"`
	Rules    []jsonDecision   `json:"rules"`
	Assumed  map[string]int64 `json:"assumed"`
	Unknown  []jsonCause      `json:"unknown"`
	Expected int64            `json:"expected"`
	Differ   int64            `json:"differ"`
}

type jsonDecision struct {
	Packets int64     `json:"packets"`
	Verdict string    `json:"verdict"`
	Hook    string    `json:"hook"`
	Family  string    `json:"family"`
	Table   string    `json:"table"`
	Chain   string    `json:"chain"`
	Rule    *jsonRule `json:"rule"`
	By      string    `json:"by,omitempty"`
}

type jsonCause struct {
	Packets int64     `json:"packets"`
	Cause   string    `json:"cause"`
	Rule    *jsonRule `json:"rule"`
}

func (e *evaluation) jsonSummary(name func(decision) string) jsonSummary {
	s := e.sum
	j := jsonSummary{
		Version: diag.JSONVersion, Packets: s.packets, Verdicts: s.verdicts, Rules: []jsonDecision{},
		Assumed: s.assumed, Unknown: []jsonCause{}, Expected: e.expected, Differ: e.differ,
	}
	for _, d := range byCount(s.rules, name) {
		hook, _, chain, rule := d.where(e.rules)
		jd := jsonDecision{Packets: s.rules[d], Verdict: d.verdict, Hook: hook, Chain: chain, Rule: e.jsonRule(d.rule)}
		if d.table != nil {
			jd.Family, jd.Table = d.family.String(), d.table.Name
		}
		if d.rule == nil && rule != "policy" {
			jd.By = rule
		}
		j.Rules = append(j.Rules, jd)
	}
	for _, u := range byCount(s.unknown, func(u unknownAt) string { return u.cause.String() }) {
		j.Unknown = append(j.Unknown, jsonCause{s.unknown[u], u.cause.String(), e.jsonRule(u.rule)})
	}
	return j
}
