package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/nftc/nftc/compile/pipapo/workload"
	"github.com/nftc/nftc/eval/kernel"
	"github.com/nftc/nftc/internal/bench"
	"github.com/nftc/nftc/internal/diag"
)

// benchCmd has the suites; without one it measures a ruleset.
type benchCmd struct {
	Slices int           `default:"15" help:"Samples of each figure, taken in turns."`
	Slice  time.Duration `default:"4ms" help:"How long one sample takes."`

	Pipapo   benchPipapoCmd   `cmd:"" help:"Concatenated ranges: group widths, other back ends, the offline plan, the live kernel."`
	Masks    benchMasksCmd    `cmd:"" help:"Tuple-space search: a mask array with holes and without, flow mask cache off and on."`
	Prefetch benchPrefetchCmd `cmd:"" help:"Batched lookups that fetch ahead, by distance and size of the table."`
	Ruleset  benchRulesetCmd  `cmd:"" default:"withargs" help:"The sets of a ruleset in each back end, and with --pcap the whole path."`
}

func (c *benchCmd) options() bench.Options { return bench.Options{Slices: c.Slices, Slice: c.Slice} }

// machineLine says what the figures come from.
func machineLine(w io.Writer) {
	fmt.Fprintf(w, "%s/%s, %d CPUs, %s; ns per operation: median (best)\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// stat prints a figure.
func statWord(s bench.Stat) string {
	if !s.Measured() {
		return "-"
	}
	return fmt.Sprintf("%.1f (%.1f)", s.Median, s.Best)
}

type benchPipapoCmd struct {
	Keys     string `enum:"match-random,nomatch-random,nomatch-lastfield,fixed-last-entry,all" default:"match-random" help:"Keys to look up: match-random, nomatch-random, nomatch-lastfield, fixed-last-entry or all."`
	NoKernel bool   `name:"no-kernel" help:"Leave the live kernel out."`
}

// pipapoReport is what bench pipapo writes as JSON.
type pipapoReport struct {
	Version int           `json:"version"`
	Rows    []bench.Range `json:"rows"`
}

func (c *benchPipapoCmd) Run(a *app, parent *benchCmd) error {
	opt := parent.options()
	report := pipapoReport{Version: diag.JSONVersion}
	useKernel := !c.NoKernel
	why := ""
	if useKernel {
		if err := kernel.Available(); err != nil {
			useKernel, why = false, err.Error()
		}
	}
	w := bufio.NewWriter(a.stdout)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	if !a.global.JSON {
		machineLine(w)
		fmt.Fprintln(tw, "workload\tkeys\tdecode\thash\tintervals\t4-bit\t8/4-bit\tgain\twidths\toffline\tin batches\tback end\tkernel\t")
	}
	for _, set := range bench.RangeWorkloads() {
		for _, kind := range workload.KeyKinds() {
			if c.Keys != "all" && c.Keys != kind.String() {
				continue
			}
			row, err := bench.MeasureRange(set, kind, opt)
			if err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
			if !useKernel {
				row.KernelNote = why
			} else if row.Kernel, err = bench.KernelLookup(set, kind, opt); errors.Is(err, kernel.ErrUnavailable) {
				row.KernelNote = err.Error()
			} else if err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
			report.Rows = append(report.Rows, row)
			if a.global.JSON {
				continue
			}
			fmt.Fprintf(tw, "%s %d\t%s\t%s\t%s\t%s\t%s\t%s\t%+.0f%%\t%s\t%s\t%s\t%s\t%s\t\n",
				set.Name, set.Len(), row.Keys, statWord(row.Decode), statWord(row.Hash), statWord(row.Intervals),
				statWord(row.Narrow), statWord(row.Switch), 100*(row.Gain-1), bench.WidthWord(row.Widths),
				statWord(row.Offline), statWord(row.Batch), row.Backend, statWord(row.Kernel))
		}
	}
	if a.global.JSON {
		return a.writeJSON(report)
	}
	tw.Flush()
	notes := map[string]bool{}
	for _, r := range report.Rows {
		if r.KernelNote != "" && !notes[r.KernelNote] {
			notes[r.KernelNote] = true
			fmt.Fprintf(w, "\nno kernel figure for %s: %s\n", r.Name, r.KernelNote)
		}
	}
	fmt.Fprint(w, pipapoLegend)
	return w.Flush()
}

const pipapoLegend = `
decode     decoding a packet and loading its key: the baseline, not part of the others
hash       exact keys in place of ranges
intervals  the first field alone, sorted intervals
4-bit      pipapo with groups of 4 bits only; 8/4-bit with the switch, gain of the latter in lookups/s
offline    the back end that nftc evaluates with, key by key and 64 at a time
kernel     the running kernel, by amplification: 64 lookups a packet against none
`
