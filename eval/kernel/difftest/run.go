package difftest

import (
	"errors"
	"fmt"
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
	Differing                    []uint64 // seeds of the rulesets with a difference
}

func (s *Stats) add(o *Stats) {
	s.Rulesets, s.Refused, s.NotLoaded = s.Rulesets+o.Rulesets, s.Refused+o.Refused, s.NotLoaded+o.NotLoaded
	s.Differing = append(s.Differing, o.Differing...)
	for i := range s.Packets {
		s.Packets[i] += o.Packets[i]
	}
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
