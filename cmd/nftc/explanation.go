package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
)

// maxMisses is how many rules in a row that did not match are listed without
// --all: those that came nearest to a match, and of these the first.
const maxMisses = 20

// explanation prints the way of a packet: by chain the rules that matched, those
// that did not and why, and in the end what made the verdict.
func (e *evaluation) explanation(res *eval.Result) {
	x := &explanation{evaluation: e, res: res}
	for i := range res.Trace {
		x.misses(i)
		x.event(&res.Trace[i])
		if s := e.matched[i]; s != "" {
			fmt.Fprintf(e.out, "      %s\n", s)
		}
	}
	x.misses(len(res.Trace))
	fmt.Fprintf(e.out, "  because %s\n", x.because())
	if res.NAT.Changed {
		fmt.Fprintf(e.out, "  nat: %s > %s becomes %s > %s\n", res.NAT.Src, res.NAT.Dst, res.NAT.NewSrc, res.NAT.NewDst)
	}
	res.Assumed.Each(func(name string) { fmt.Fprintf(e.out, "  assumed: %s\n", name) })
	for k, r := range res.Unknown {
		known := func(o eval.Reason) bool { return o.Cause == r.Cause }
		if s := settles[r.Cause]; s != "" && !slices.ContainsFunc(res.Unknown[:k], known) {
			fmt.Fprintf(e.out, "  not known: %s; what would tell: %s\n", r.Cause, s)
		}
	}
	if x.hidden {
		fmt.Fprintln(e.out, "  (--all lists all rules)")
	}
}

// explanation is one packet's, while it is printed.
type explanation struct {
	*evaluation
	res *eval.Result
	// step and chain stand in the last heading.
	step   eval.Step
	chain  *bytecode.Chain
	headed map[*bytecode.Chain]bool // chains of this hook that had one
	base   *bytecode.Chain
	next   int  // failure to print next
	doubt  int  // unknown to print next
	hidden bool // some were left out
}

// heading names the chain at hand where it changes.
func (x *explanation) heading(step eval.Step, t *bytecode.Table, c *bytecode.Chain) {
	if x.chain == c && x.step == step {
		return
	}
	if x.step != step || x.headed == nil {
		x.headed = make(map[*bytecode.Chain]bool)
	}
	x.step, x.chain = step, c
	if x.headed[c] {
		fmt.Fprintf(x.out, "  %s: back in chain %s %s %s\n", step.Hook, t.Family, t.Name, chainTitle(c, x.base))
		return
	}
	x.headed[c] = true
	s := fmt.Sprintf("  %s: chain %s %s %s", step.Hook, t.Family, t.Name, chainTitle(c, x.base))
	if c.Base != nil {
		s += fmt.Sprintf(" (type %s, priority %d, policy %s)", c.Base.Type, c.Base.Priority, c.Base.Policy)
	}
	fmt.Fprintln(x.out, s)
}

// misses prints the rules that did not match in front of an event.
func (x *explanation) misses(before int) {
	first := x.next
	for x.next < len(x.res.Explain) && x.res.Explain[x.next].Before <= before {
		x.next++
	}
	show := x.nearest(first, x.next)
	for i, left := first, 0; i <= x.next; i++ {
		listed := i == x.next || show == nil || show[i]
		if (listed || x.doubtful(i, before)) && left > 0 {
			fmt.Fprintf(x.out, "    … %s that did not match\n", count(left, "rule"))
			left, x.hidden = 0, true
		}
		for ; x.doubtful(i, before); x.doubt++ {
			x.unknown(&x.res.Unknown[x.doubt])
		}
		switch {
		case i == x.next:
		case !listed:
			left++
		default:
			f := &x.res.Explain[i]
			x.heading(f.Step, f.Table, f.Chain)
			x.line("no match", f.Rule, "")
			fmt.Fprintf(x.out, "      %s\n", x.reasons[i].Text)
		}
	}
}

// doubtful tells whether the next unknown stands in front of failure i.
func (x *explanation) doubtful(i, before int) bool {
	if x.doubt >= len(x.res.Unknown) {
		return false
	}
	r := &x.res.Unknown[x.doubt]
	return r.Missed <= i && r.Before <= before
}

// nearest chooses the failures to list: those whose rules got furthest; nil for
// all of them.
func (x *explanation) nearest(first, end int) map[int]bool {
	if x.cmd.All || end-first <= maxMisses {
		return nil
	}
	order := make([]int, 0, end-first)
	for i := first; i < end; i++ {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x.reasons[b].held, x.reasons[a].held) })
	show := make(map[int]bool, maxMisses)
	for _, i := range order[:maxMisses] {
		show[i] = true
	}
	return show
}

func (x *explanation) line(word string, r *bytecode.Rule, tail string) {
	fmt.Fprintf(x.out, "    %s: %s%s\n", word, x.rules.of(r), tail)
}

// unknown prints a rule of which it is not known whether it matches, or a chain
// of which it is not known whether it runs.
func (x *explanation) unknown(r *eval.Reason) {
	switch {
	case r.Rule != nil:
		if x.chain != r.Chain {
			x.heading(x.step, r.Table, r.Chain)
		}
		x.line("unknown", r.Rule, "")
		text := r.Cause.String()
		if part := x.quote(r.Span, r.Rule); part != "" {
			text = part + ": " + text
		}
		fmt.Fprintf(x.out, "      %s\n", text)
	case r.Chain != nil:
		fmt.Fprintf(x.out, "  unknown whether chain %s %s %s runs: %s\n", r.Table.Family, r.Table.Name, chainTitle(r.Chain, nil), r.Cause)
	}
}

// event prints a rule that matched, or the end of a chain.
func (x *explanation) event(ev *eval.Event) {
	x.base = ev.Base
	if ev.Kind != eval.EventReturn || ev.Chain != ev.Base {
		x.heading(ev.Step, ev.Table, ev.Chain)
	}
	switch ev.Kind {
	case eval.EventRule:
		tail, v := "", ev.VerdictText()
		if rejects(ev.Rule) && ev.Verdict == bytecode.Drop {
			v = "reject"
		}
		if v != bytecode.Continue.String() && !strings.HasSuffix(" "+x.rules.of(ev.Rule).text, " "+v) {
			tail = " => " + v
		}
		x.line("match", ev.Rule, tail)
	case eval.EventReturn:
		if ev.Chain != ev.Base {
			fmt.Fprintf(x.out, "    end of chain %s\n", chainTitle(ev.Chain, ev.Base))
		}
	case eval.EventPolicy:
		fmt.Fprintf(x.out, "    policy %s: no rule gave a verdict\n", ev.VerdictText())
	}
}

// rejects tells whether a rule ends in a reject.
func rejects(r *bytecode.Rule) bool {
	if len(r.Instrs) == 0 {
		return false
	}
	_, ok := r.Instrs[len(r.Instrs)-1].(*bytecode.Reject)
	return ok
}

// because says in a sentence what made the verdict.
func (x *explanation) because() string {
	res := x.res
	word := outcomeWord(res)
	if res.Verdict == eval.Unknown {
		word = res.Likely.String()
	}
	s := x.decided(word)
	if res.Verdict == eval.Unknown {
		return "it is not known whether the rules marked unknown match; if none does: " + s
	}
	return s
}

func (x *explanation) decided(word string) string {
	res := x.res
	switch {
	case res.Likely == eval.Stack:
		return "the network stack drops it: " + res.Stack.String()
	case res.By != eval.ByRule:
		return "of " + res.By.String()
	case res.Table == nil:
		var hooks []string
		for _, s := range res.Path {
			hooks = append(hooks, s.Hook.String())
		}
		if len(hooks) == 0 {
			return "no chain sees it"
		}
		return "no chain sees it on its way: " + strings.Join(hooks, ", ")
	}
	chain := fmt.Sprintf("%s %s %s", res.Family, res.Table.Name, chainTitle(res.Chain, res.Base))
	var s string
	if res.Rule != nil {
		p := x.rules.of(res.Rule)
		s = fmt.Sprintf("of the rule %s:%d in chain %s (%s)", p.file, p.line, chain, res.Hook)
		if p.line == 0 {
			s = fmt.Sprintf("of the %s in chain %s (%s)", p.text, chain, res.Hook)
		}
		s += ": " + word
	} else {
		s = fmt.Sprintf("no rule of chain %s (%s) gave a verdict: policy %s", chain, res.Hook, policyOf(res))
	}
	if res.Likely == eval.Accept {
		s += "; it is the last chain on the packet's way"
	}
	return s
}

// jsonReason is a rule that did not match, as --explain --json gives it.
type jsonReason struct {
	Rule      *jsonRule `json:"rule"`
	Hook      string    `json:"hook"`
	Family    string    `json:"family"`
	Table     string    `json:"table"`
	Chain     string    `json:"chain"`
	Statement string    `json:"statement,omitempty"`
	Kind      string    `json:"kind"`
	Field     string    `json:"field,omitempty"`
	Got       string    `json:"got,omitempty"`
	Wanted    string    `json:"wanted,omitempty"`
	Text      string    `json:"text"`
	Raw       *jsonRaw  `json:"raw,omitempty"`
}

// jsonRaw has what was compared as it lay in registers.
type jsonRaw struct {
	Got      string `json:"got"`
	Wanted   string `json:"wanted,omitempty"`
	WantedTo string `json:"wanted_to,omitempty"`
}

func (e *evaluation) jsonReasons(res *eval.Result) *[]jsonReason {
	out := make([]jsonReason, 0, len(res.Explain))
	for i := range res.Explain {
		f, r := &res.Explain[i], &e.reasons[i]
		j := jsonReason{
			Rule: e.jsonRule(f.Rule), Hook: f.Step.Hook.String(), Family: f.Table.Family.String(), Table: f.Table.Name,
			Chain: eval.ChainName(f.Chain), Statement: e.quote(f.Span, f.Rule), Kind: f.Kind.String(),
			Field: r.Field, Got: r.Got, Wanted: r.Wanted, Text: r.Text,
		}
		if len(f.Loaded) > 0 {
			j.Raw = &jsonRaw{rawHex(f.Loaded), rawHex(f.Want), rawHex(f.WantTo)}
		}
		out = append(out, j)
	}
	return &out
}
