package difftest

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/kernel"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// Finding is a difference between the engines, or a ruleset that the kernel
// does not load although the compiler accepted it.
type Finding struct {
	Case   *Case
	Packet int // index in Case.Packets; -1: the ruleset
	What   string
	Ours   []string
	Theirs []string
}

func (f *Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d trip %v: %s\n", f.Case.Seed, f.Case.Trip, f.What)
	b.WriteString(f.Case.Text())
	for i, p := range f.Case.Packets {
		mark := "  "
		if i == f.Packet {
			mark = "> "
		}
		fmt.Fprintf(&b, "%s%s\n", mark, p)
	}
	for _, l := range f.Ours {
		fmt.Fprintf(&b, "    nftc    %s\n", l)
	}
	for _, l := range f.Theirs {
		fmt.Fprintf(&b, "    kernel  %s\n", l)
	}
	return b.String()
}

// Stats count what was compared.
type Stats struct {
	Rulesets, Refused, NotLoaded int
	Packets                      [kernel.NotVerifiable + 1]int
}

// Compared is how many packets were judged by both engines.
func (s *Stats) Compared() int {
	return s.Packets[kernel.Agree] + s.Packets[kernel.AgreeStack] + s.Packets[kernel.Differ]
}

func (s *Stats) String() string {
	return fmt.Sprintf("%d rulesets (%d more refused by nftc, %d not loaded by the kernel), %d comparisons: %d agree, %d agree on stack drops, %d differ; %d unknown, %d not verifiable",
		s.Rulesets, s.Refused, s.NotLoaded, s.Compared(), s.Packets[kernel.Agree], s.Packets[kernel.AgreeStack], s.Packets[kernel.Differ], s.Packets[kernel.NotKnown], s.Packets[kernel.NotVerifiable])
}

// Compile compiles a case's ruleset; the error holds the first diagnostic.
func Compile(text string) (rs *bytecode.Ruleset, err error) {
	var files diag.FileSet
	f, ds := parser.Parse(&files, "case.nft", text, parser.Options{})
	if first(ds) == nil {
		var resolved *ir.Ruleset
		resolved, ds = ir.Resolve(f, ir.Options{AnyInterface: true, Interfaces: map[string]uint32{"lo": 1}})
		if first(ds) == nil {
			return compile.Compile(resolved), nil
		}
	}
	d := first(ds)
	return nil, fmt.Errorf("%v: %s", files.Position(d.Span.Start), d.Message)
}

func first(ds []diag.Diagnostic) *diag.Diagnostic {
	for i := range ds {
		if ds[i].Severity == diag.Error {
			return &ds[i]
		}
	}
	return nil
}

// Run compares the engines on one case and returns the first difference, or
// nil. The error is about the means (no kernel).
func Run(c *Case, st *Stats) (*Finding, error) {
	text := c.Text()
	rs, err := Compile(text)
	if err != nil {
		st.Refused++
		return nil, nil
	}
	var found *Finding
	cfg := kernel.Config{Trip: c.Trip}
	err = kernel.Do(cfg, rs, func(s *kernel.Session) error {
		v, err := kernel.NewVerifier(s, cfg, rs)
		if err != nil {
			found = &Finding{Case: c, Packet: -1, What: "the evaluator refuses what the compiler made: " + err.Error()}
			return nil
		}
		st.Rulesets++
		var p packet.Packet
		var cmp kernel.Comparison
		for i, line := range c.Packets {
			if err := packet.ParseTuple(line, &p); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			if err := v.Verify(&p, &cmp); err != nil {
				return err
			}
			st.Packets[cmp.Status]++
			if cmp.Status == kernel.Differ {
				found = finding(c, i, rs, &cmp)
				return nil
			}
			if cmp.Status == kernel.NotKnown {
				return nil // what the engines remember may differ from here on
			}
		}
		return nil
	})
	var refused *kernel.LoadError
	if errors.As(err, &refused) {
		st.NotLoaded++
		return &Finding{Case: c, Packet: -1, What: err.Error()}, nil
	}
	return found, err
}

func finding(c *Case, i int, rs *bytecode.Ruleset, cmp *kernel.Comparison) *Finding {
	f := &Finding{Case: c, Packet: i, What: strings.Join(cmp.Reason, "; ")}
	source := func(r *bytecode.Rule) string { return strings.TrimSpace(rs.Files.Text(r.Span)) }
	for k := range cmp.Ours.Trace {
		if ev := &cmp.Ours.Trace[k]; ev.Kind != eval.EventPacket {
			f.Ours = append(f.Ours, strings.TrimPrefix(ev.Format("-", source), "trace id - "))
		}
	}
	for k := range cmp.Theirs.Events {
		f.Theirs = append(f.Theirs, kernel.FormatEvent(&cmp.Theirs.Events[k], source))
	}
	f.Ours = append(f.Ours, "end: "+cmp.Ours.Verdict.String())
	f.Theirs = append(f.Theirs, "end: "+cmp.Theirs.End())
	return f
}

// Shrink takes pieces out of a case while some difference remains, and returns
// the smallest finding.
func Shrink(f *Finding) *Finding {
	best := f
	var st Stats
	try := func(c *Case) bool {
		got, err := Run(c, &st)
		if err != nil || got == nil || (got.Packet < 0) != (f.Packet < 0) {
			return false
		}
		best = got
		return true
	}
	if f.Packet >= 0 {
		c := f.Case.clone()
		c.Packets = c.Packets[f.Packet : f.Packet+1]
		if !try(c) { // earlier packets matter
			c = f.Case.clone()
			c.Packets = c.Packets[:f.Packet+1]
			try(c)
		}
	}
	for changed, rounds := true, 0; changed && rounds < 10; rounds++ {
		changed = false
		for _, smaller := range cuts(best.Case) {
			if len(smaller.Packets) > 0 && try(smaller) {
				changed = true
				break
			}
		}
		if changed {
			rounds--
			if st.Rulesets+st.Refused > 400 {
				break
			}
		}
	}
	return best
}

// cuts are the cases with one piece less, the largest pieces first.
func cuts(c *Case) []*Case {
	type cut struct {
		size int
		c    *Case
	}
	var all []cut
	add := func(size int, f func(n *Case)) {
		n := c.clone()
		f(n)
		all = append(all, cut{size, n})
	}
	for ti, t := range c.Tables {
		if len(c.Tables) > 1 {
			add(1000, func(n *Case) { n.Tables = append(n.Tables[:ti], n.Tables[ti+1:]...) })
		}
		for di := range t.Decls {
			add(5, func(n *Case) {
				d := n.Tables[ti].Decls
				n.Tables[ti].Decls = append(d[:di], d[di+1:]...)
			})
		}
		for ci, ch := range t.Chains {
			add(100, func(n *Case) {
				l := n.Tables[ti].Chains
				n.Tables[ti].Chains = append(l[:ci], l[ci+1:]...)
			})
			for ri, rule := range ch.Rules {
				add(10, func(n *Case) {
					l := n.Tables[ti].Chains[ci].Rules
					n.Tables[ti].Chains[ci].Rules = append(l[:ri], l[ri+1:]...)
				})
				words := strings.Fields(rule)
				for from := range words {
					for to := from + 1; to <= len(words) && to-from <= 6; to++ {
						if to-from == len(words) {
							continue
						}
						add(to-from, func(n *Case) {
							left := append(append([]string(nil), words[:from]...), words[to:]...)
							n.Tables[ti].Chains[ci].Rules[ri] = strings.Join(left, " ")
						})
					}
				}
			}
		}
	}
	if len(c.Packets) > 1 {
		for i := range c.Packets[:len(c.Packets)-1] {
			add(7, func(n *Case) { n.Packets = append(n.Packets[:i], n.Packets[i+1:]...) })
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].size > all[j].size })
	out := make([]*Case, len(all))
	for i := range all {
		out[i] = all[i].c
	}
	return out
}
