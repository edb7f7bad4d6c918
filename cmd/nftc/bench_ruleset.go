package main

import (
	"bufio"
	"fmt"
	"text/tabwriter"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/bench"
	"github.com/nftc/nftc/internal/diag"
)

type benchRulesetCmd struct {
	packetFlags `embed:""`
	hostFlags   `embed:""`
	Rounds      int    `default:"5" help:"How often to run the packets."`
	Backend     string `name:"set-backend" default:"auto" placeholder:"NAME" help:"Back end of sets for the whole path: auto, hash, intervals, bitmap, pipapo, masks, segments or linear; a set that it cannot hold keeps its own."`
	File        string `arg:"" help:"Ruleset; - is standard input."`
}

// rulesetReport is what bench RULESET writes as JSON.
type rulesetReport struct {
	Version int            `json:"version"`
	Sets    []benchSet     `json:"sets"`
	Packets []benchPackets `json:"packets"`
}

type benchSet struct {
	Family   string             `json:"family"`
	Table    string             `json:"table"`
	Name     string             `json:"name"`
	Elements int                `json:"elements"`
	Backends []bench.SetBackend `json:"backends"`
}

type benchPackets struct {
	File string `json:"file"`
	bench.Path
}

func (c *benchRulesetCmd) Run(a *app, parent *benchCmd) error {
	force, err := set.ParseBackend(c.Backend)
	if err != nil {
		return usageError{err.Error()}
	}
	env, err := c.hostFlags.env(a)
	if err != nil {
		return err
	}
	env.SetBackend = force
	defaults, err := c.packetFlags.defaults(env.Host)
	if err != nil {
		return err
	}
	s, program, err := a.program(c.File)
	if err != nil {
		return err
	}
	addInterfaces(env, s.ruleset)
	report := rulesetReport{Version: diag.JSONVersion, Sets: []benchSet{}, Packets: []benchPackets{}}
	w := bufio.NewWriter(a.stdout)
	if !a.global.JSON {
		machineLine(w)
	}
	for _, ps := range setsOf(program) {
		if len(ps.set.Elements) == 0 {
			continue
		}
		rows, err := bench.MeasureSet(ps.set, parent.options())
		if err != nil {
			return err
		}
		bs := benchSet{ps.table.Family.String(), ps.table.Name, ps.set.Name, elementsOf(ps.set), rows}
		report.Sets = append(report.Sets, bs)
		if !a.global.JSON {
			printBenchSet(w, bs, ps)
			w.Flush()
		}
	}
	for _, in := range c.inputs() {
		if in.name == "-" {
			return usageError{"bench reads packets several times: standard input will not do"}
		}
		path, err := bench.MeasurePath(
			func() (packet.Source, error) { return packet.Open(in.name, in.kind, nil) },
			func() (*eval.Engine, error) { return eval.New(program, *env) },
			defaults.apply, max(1, c.Rounds))
		if err != nil {
			return err
		}
		report.Packets = append(report.Packets, benchPackets{in.name, path})
		if !a.global.JSON {
			printPath(w, in.name, path)
		}
	}
	if a.global.JSON {
		return a.writeJSON(report)
	}
	if len(report.Sets)+len(report.Packets) == 0 {
		fmt.Fprintln(w, "nothing to measure: the ruleset has no sets with elements, and no packets are given")
	}
	return w.Flush()
}

// elementsOf counts as nft does: an interval is one.
func elementsOf(s *bytecode.Set) int {
	n := 0
	for i := range s.Elements {
		if s.Elements[i].Flags&bytecode.ElemIntervalEnd == 0 {
			n++
		}
	}
	return n
}

func printBenchSet(w *bufio.Writer, s benchSet, ps placedSet) {
	fmt.Fprintf(w, "%s %s %s %s: %d elements, %s\n", describeSet(ps.set), s.Family, s.Table, s.Name, s.Elements, shapeOf(ps.set))
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "back end\tmatch\tno match\tin batches\tmemory\t")
	for _, b := range s.Backends {
		name := b.Backend
		if b.Chosen {
			name += " *"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", name, statWord(b.Match), statWord(b.NoMatch), statWord(b.Batch), byteCount(b.Bytes))
	}
	tw.Flush()
	fmt.Fprintln(w, "  * chosen by the offline plan")
	fmt.Fprintln(w)
}

func printPath(w *bufio.Writer, name string, p bench.Path) {
	fmt.Fprintf(w, "%s: %d packets\n", name, p.Packets)
	if !p.Evaluate.Measured() {
		return
	}
	fmt.Fprintf(w, "  reading and decoding: %s ns a packet, %.2f million packets/s\n", statWord(p.Read), 1e3/p.Read.Median)
	fmt.Fprintf(w, "  the whole path:       %s ns a packet, %.2f million packets/s\n", statWord(p.Evaluate), 1e3/p.Evaluate.Median)
}
