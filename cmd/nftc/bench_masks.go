package main

import (
	"bufio"
	"fmt"
	"text/tabwriter"

	"github.com/nftc/nftc/internal/bench"
	"github.com/nftc/nftc/internal/diag"
)

type benchMasksCmd struct{}

// masksReport is what bench masks writes as JSON.
type masksReport struct {
	Version int           `json:"version"`
	Rows    []bench.Masks `json:"rows"`
}

func (c *benchMasksCmd) Run(a *app, parent *benchCmd) error {
	report := masksReport{Version: diag.JSONVersion}
	w := bufio.NewWriter(a.stdout)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	if !a.global.JSON {
		machineLine(w)
		fmt.Fprintln(w, "161 masks, the first 100 deleted")
		fmt.Fprintln(tw, "traffic\tarray\tcache\tns\tgain\tmasks tried\tplaces\tcache hits\tmatches\t")
	}
	for _, tr := range bench.MaskTraffics() {
		rows, err := bench.MeasureMasks(tr, parent.options())
		if err != nil {
			return err
		}
		report.Rows = append(report.Rows, rows...)
		for _, r := range rows {
			cache, hits := "off", "-"
			if r.Cache {
				cache, hits = "on", fmt.Sprintf("%.1f%%", 100*r.CacheHits)
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%+.0f%%\t%.1f\t%d\t%s\t%.0f%%\t\n",
				r.Traffic, r.Array, cache, statWord(r.Time), 100*(r.Gain-1), r.Tries, r.Places, hits, 100*r.Matches)
		}
	}
	if a.global.JSON {
		return a.writeJSON(report)
	}
	tw.Flush()
	fmt.Fprint(w, masksLegend)
	return w.Flush()
}

const masksLegend = `
array   holes: a deleted mask leaves a hole that lookups step over; dense: the last mask
        moves there; sorted: dense, and sorted by use
gain    in lookups/s, against holes with the same cache
`

type benchPrefetchCmd struct {
	Largest int `default:"4194304" placeholder:"ENTRIES" help:"Largest table; tables grow by 4 from 1M entries on."`
}

// prefetchReport is what bench prefetch writes as JSON.
type prefetchReport struct {
	Version   int              `json:"version"`
	Distances []int            `json:"distances"`
	Rows      []bench.Prefetch `json:"rows"`
}

func (c *benchPrefetchCmd) Run(a *app, parent *benchCmd) error {
	report := prefetchReport{Version: diag.JSONVersion, Distances: bench.Distances()}
	w := bufio.NewWriter(a.stdout)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	if !a.global.JSON {
		machineLine(w)
		fmt.Fprint(tw, "back end\ttable\tMiB\tby\t")
		for _, n := range report.Distances {
			fmt.Fprintf(tw, "n=%d\t", n)
		}
		fmt.Fprintln(tw, "best\tgain\tused\t")
	}
	for _, backend := range bench.PrefetchBackends() {
		for _, d := range bench.Densities(c.Largest) {
			row, err := bench.MeasurePrefetch(backend, d, parent.options())
			if err != nil {
				return err
			}
			report.Rows = append(report.Rows, row)
			for _, line := range []struct {
				by    string
				stats []bench.Stat
			}{{"hint", row.Hint}, {"touch", row.Touch}} {
				if len(line.stats) == 0 {
					continue
				}
				fmt.Fprintf(tw, "%s\t%s\t%.1f\t%s\t", row.Backend, row.Table, float64(row.Bytes)/(1<<20), line.by)
				for _, s := range line.stats {
					fmt.Fprintf(tw, "%.1f\t", s.Median)
				}
				if line.by == "hint" {
					fmt.Fprintf(tw, "%d\t%+.0f%%\t%d\t\n", row.Best, 100*(row.Gain-1), row.Default)
				} else {
					fmt.Fprintln(tw, "\t\t\t")
				}
			}
		}
	}
	if a.global.JSON {
		return a.writeJSON(report)
	}
	tw.Flush()
	fmt.Fprint(w, prefetchLegend)
	return w.Flush()
}

const prefetchLegend = `
by     hint: the processor's prefetch instruction, n keys ahead; touch: a plain read
best   the fastest distance and its gain in lookups/s against n=0; 0: fetching ahead loses
used   the distance that batches use for a table of this size
`
