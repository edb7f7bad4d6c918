package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/kernel"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
)

type verifyCmd struct {
	packetFlags `embed:""`
	Max         int    `default:"20" placeholder:"N" help:"Print at most N differences; 0: all."`
	File        string `arg:"" help:"Ruleset; - is standard input."`
}

// Help is the long description of `nftc verify --help`.
func (verifyCmd) Help() string {
	return `Loads the ruleset into the kernel, in a network namespace that only this process sees, sends every packet
through it and compares the kernel's trace with nftc's own: the rules that matched, verdicts and policies, and the
headers and mark at the end of the trip. Needs root on Linux. The host's own ruleset and interfaces are not touched.

The trip follows from the hooks that a packet states: received for this host (also when none is stated), forwarded
(path=prerouting,forward), sent (hook=output), or bridged (ibrname=). All hooks of the trip run.`
}

// verification is one run over all packets.
type verification struct {
	app    *app
	cmd    *verifyCmd
	rules  *ruleNames
	out    *bufio.Writer
	sess   *kernel.Sessions
	number int64
	counts [kernel.NotVerifiable + 1]int64
	why    map[string]int64 // reasons of NotKnown and NotVerifiable
}

func (c *verifyCmd) Run(a *app) error {
	if len(c.Pcap)+len(c.Tuples) == 0 {
		return usageError{"verify needs packets: --pcap FILE or --tuples FILE"}
	}
	defaults, err := c.packetFlags.defaults(nil)
	if err != nil {
		return err
	}
	s, program, err := a.program(c.File)
	if err != nil {
		return err
	}
	if err := kernel.Available(); err != nil {
		return err
	}
	v := &verification{
		app: a, cmd: c, rules: newRuleNames(program.Files), out: bufio.NewWriterSize(a.stdout, 64<<10),
		sess: kernel.NewSessions(program, s.ruleset.Interfaces), why: make(map[string]int64),
	}
	defer v.sess.Close()
	var cmp kernel.Comparison
	failed := c.each(a, defaults, func(p *packet.Packet, _ *eval.Result) error { return v.packet(p, &cmp) })
	if err := v.summary(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if v.counts[kernel.Differ] > 0 {
		return errFinding
	}
	return nil
}

func (v *verification) packet(p *packet.Packet, c *kernel.Comparison) error {
	v.number++
	line := p.Tuple()
	if err := v.sess.Verify(p, c); err != nil {
		var refused *kernel.LoadError
		if errors.As(err, &refused) {
			return fmt.Errorf("%w (this kernel may lack a feature that the ruleset uses)", err)
		}
		return err
	}
	v.counts[c.Status]++
	switch c.Status {
	case kernel.NotKnown, kernel.NotVerifiable:
		for _, r := range c.Reason {
			v.why[c.Status.String()+": "+r]++
		}
	case kernel.Differ:
		if v.cmd.Max == 0 || v.counts[kernel.Differ] <= int64(v.cmd.Max) {
			return v.difference(line, c)
		}
	}
	return nil
}

// differenceJSON is one difference of `verify --json`.
type differenceJSON struct {
	Version int      `json:"version"`
	Packet  int64    `json:"packet"`
	Tuple   string   `json:"tuple"`
	Differs []string `json:"differs"`
	Nftc    []string `json:"nftc"`
	Kernel  []string `json:"kernel"`
}

func (v *verification) difference(line string, c *kernel.Comparison) error {
	d := differenceJSON{Version: diag.JSONVersion, Packet: v.number, Tuple: line, Differs: c.Reason}
	source := func(r *bytecode.Rule) string {
		at := v.rules.of(r)
		return fmt.Sprintf("%s:%d %s", at.file, at.line, at.text)
	}
	for i := range c.Ours.Trace {
		if ev := &c.Ours.Trace[i]; ev.Kind != eval.EventPacket {
			d.Nftc = append(d.Nftc, ev.Format("-", source))
		}
	}
	for i := range c.Theirs.Events {
		d.Kernel = append(d.Kernel, kernel.FormatEvent(&c.Theirs.Events[i], source))
	}
	d.Nftc = append(d.Nftc, "end: "+c.Ours.Verdict.String())
	d.Kernel = append(d.Kernel, "end: "+c.Theirs.End())
	if v.app.global.JSON {
		b, err := json.Marshal(d)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(v.out, "%s\n", b)
		return err
	}
	fmt.Fprintf(v.out, "packet %d differs: %s\n  %s\n", d.Packet, strings.Join(d.Differs, "; "), d.Tuple)
	for _, l := range d.Nftc {
		fmt.Fprintf(v.out, "    nftc    %s\n", strings.TrimPrefix(l, "trace id - "))
	}
	for _, l := range d.Kernel {
		fmt.Fprintf(v.out, "    kernel  %s\n", l)
	}
	return nil
}

// verifyJSON is the last object of `verify --json`.
type verifyJSON struct {
	Version       int              `json:"version"`
	Packets       int64            `json:"packets"`
	Agree         int64            `json:"agree"`
	AgreeStack    int64            `json:"agree_stack"`
	Differ        int64            `json:"differ"`
	Unknown       int64            `json:"unknown"`
	NotVerifiable int64            `json:"not_verifiable"`
	Reasons       map[string]int64 `json:"reasons"`
}

// summary prints the counts.
func (v *verification) summary() error {
	if v.app.global.JSON {
		b, err := json.Marshal(verifyJSON{diag.JSONVersion, v.number, v.counts[kernel.Agree], v.counts[kernel.AgreeStack],
			v.counts[kernel.Differ], v.counts[kernel.NotKnown], v.counts[kernel.NotVerifiable], v.why})
		if err != nil {
			return err
		}
		fmt.Fprintf(v.out, "%s\n", b)
		return v.out.Flush()
	}
	fmt.Fprintf(v.out, "%d packets: %d agree, %d agree that the network stack drops them, %d differ, %d unknown, %d not verifiable\n",
		v.number, v.counts[kernel.Agree], v.counts[kernel.AgreeStack], v.counts[kernel.Differ], v.counts[kernel.NotKnown], v.counts[kernel.NotVerifiable])
	if err := v.out.Flush(); err != nil {
		return err
	}
	var reasons []string
	for r := range v.why {
		reasons = append(reasons, r)
	}
	sort.Strings(reasons)
	for _, r := range reasons {
		fmt.Fprintf(v.app.stderr, "nftc: %s (%s)\n", r, packets(v.why[r]))
	}
	return nil
}
