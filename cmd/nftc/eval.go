package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/ir"
)

type evalCmd struct {
	packetFlags `embed:""`
	hostFlags   `embed:""`
	Trace       bool     `help:"Print the path of each packet: every rule that matched, every policy."`
	Summary     bool     `help:"Print counts by verdict and by rule instead of a line for each packet."`
	Counters    bool     `help:"Print the ruleset with its counters filled in, after the packets."`
	Explain     []string `placeholder:"N" help:"Print why packet N (number or name) got its verdict, and no other packet; may be repeated."`
	Backend     string   `name:"set-backend" default:"auto" placeholder:"NAME" help:"Back end of sets: auto, hash, intervals, bitmap, pipapo, masks, segments or linear; a set that it cannot hold keeps its own. Answers do not depend on it."`
	Quiet       bool     `short:"q" help:"Print differences from expected verdicts only."`
	All         bool     `help:"With --explain: list every rule that did not match, also in long chains."`
	File        string   `arg:"" help:"Ruleset; - is standard input."`
}

// evaluation is one run over all packets.
type evaluation struct {
	app   *app
	cmd   *evalCmd
	rules *ruleNames
	out   *bufio.Writer
	sum   *summary
	why   *explainer // nil when no packet is to be explained

	// reasons say why the rules in Result.Explain did not match, matched what
	// the rules in Result.Trace found in sets, by index.
	reasons []reason
	matched map[int]string

	explained map[string]bool // what --explain asks for and was found

	number   int64 // of the packet at hand, over all sources
	expected int64 // packets that state what they expect
	differ   int64
}

func (c *evalCmd) Run(a *app) error {
	if len(c.Pcap)+len(c.Tuples) == 0 {
		return usageError{"eval needs packets: --pcap FILE or --tuples FILE"}
	}
	env, err := c.hostFlags.env(a)
	if err != nil {
		return err
	}
	if env.SetBackend, err = set.ParseBackend(c.Backend); err != nil {
		return usageError{err.Error()}
	}
	defaults, err := c.packetFlags.defaults(env.Host)
	if err != nil {
		return err
	}
	s, program, err := a.program(c.File)
	if err != nil {
		return err
	}
	addInterfaces(env, s.ruleset)
	engine, err := eval.New(program, *env)
	if err != nil {
		return err
	}
	e := &evaluation{
		app: a, cmd: c, out: bufio.NewWriterSize(a.stdout, 64<<10),
		rules: newRuleNames(program.Files), sum: newSummary(),
		explained: make(map[string]bool),
	}
	if len(c.Explain) > 0 {
		e.matched = make(map[int]string)
		e.why = newExplainer(program, s.ruleset, a.machineOf(s.ruleset))
	}
	failed := c.each(a, defaults, func(p *packet.Packet, res *eval.Result) error {
		return e.packet(engine, p, res)
	})
	if c.Summary {
		e.printSummary()
	}
	if c.Counters {
		if err := e.printCounters(engine, s.ruleset); err != nil {
			return err
		}
	}
	if err := e.out.Flush(); err != nil {
		return err
	}
	if !a.global.JSON {
		if len(c.Explain) == 0 || c.Summary {
			// An explanation has its packet's own.
			e.sum.report(a.stderr, e.rules)
		}
		if e.expected > 0 {
			fmt.Fprintf(a.stderr, "nftc: %d of %d expected verdicts differ\n", e.differ, e.expected)
		}
	}
	switch {
	case failed != nil:
		return failed
	case e.differ > 0:
		return errFinding
	}
	for _, name := range c.Explain {
		if !e.explained[name] {
			return usageError{fmt.Sprintf("--explain %s: no packet has this number or name; there are %d packets", name, e.number)}
		}
	}
	return nil
}

// packet evaluates one packet and prints what was asked for.
func (e *evaluation) packet(engine *eval.Engine, p *packet.Packet, res *eval.Result) error {
	e.number++
	asked := len(e.cmd.Explain) > 0 && e.explains(p)
	// What a rule changes in the packet does not belong in its description.
	var line string
	show := !e.cmd.Summary && !e.cmd.Quiet && (len(e.cmd.Explain) == 0 || asked)
	if show || p.Stated.Expect != "" {
		line = describe(p, e.number)
	}
	opts := eval.Options{Trace: e.cmd.Trace && show || asked, Explain: asked}
	e.reasons = e.reasons[:0]
	clear(e.matched)
	if asked {
		opts.ProbeMatch = func(ev *eval.Event, p *eval.Probe) {
			if s := e.why.matched(ev.Rule, p); s != "" {
				e.matched[len(res.Trace)-1] = s
			}
		}
		opts.Probe = func(f *eval.Failure, p *eval.Probe) { e.reasons = append(e.reasons, e.why.reason(f, p)) }
	}
	engine.RunOptions(p, res, opts)
	e.sum.add(res)
	differs := false
	if want := p.Stated.Expect; want != "" {
		e.expected++
		if differs = !expected(want, res); differs {
			e.differ++
		}
	}
	switch {
	case e.app.global.JSON:
		if show || differs {
			return e.json(p, res, line, asked)
		}
	case differs:
		fmt.Fprintf(e.out, "%s\n  differs: expected %s, got %s\n", e.line(line, res), p.Stated.Expect, outcomeWord(res))
		e.details(res, asked)
	case show:
		fmt.Fprintln(e.out, e.line(line, res))
		e.details(res, asked)
	}
	return nil
}

// explains tells whether --explain names this packet.
func (e *evaluation) explains(p *packet.Packet) bool {
	asked := false
	for _, name := range [...]string{strconv.FormatInt(e.number, 10), p.Name} {
		if name != "" && slices.Contains(e.cmd.Explain, name) {
			e.explained[name], asked = true, true
		}
	}
	return asked
}

// expected tells whether a verdict is the one that a packet states. A reject
// is a drop too; "none" says that no chain sees the packet.
func expected(want string, res *eval.Result) bool {
	switch want {
	case "reject":
		return res.Verdict == eval.Drop && res.Reject != nil
	case "none":
		return res.Verdict == eval.Accept && res.Base == nil
	}
	return want == res.Verdict.String()
}

// each runs f on every packet of the sources in the order of the command line.
// What stops a source is reported, the next one follows; the status of the worst
// comes back.
func (f *packetFlags) each(a *app, defaults *defaults, run func(*packet.Packet, *eval.Result) error) error {
	var worst error
	var p packet.Packet
	var res eval.Result
	for _, in := range f.inputs() {
		src, err := packet.Open(in.name, in.kind, a.stdinOnce(in.name))
		if err == nil {
			err = f.drain(a, src, defaults, &p, &res, run)
			err = errors.Join(err, src.Close())
		}
		var stop stopError
		switch {
		case err == nil:
		case errors.As(err, &stop):
			return stop.error
		default:
			fmt.Fprintf(a.stderr, "nftc: %v\n", err)
			var lines *packet.LineErrors
			if errors.As(err, &lines) {
				if worst == nil {
					worst = errFinding
				}
			} else {
				worst = shownError{err}
			}
		}
	}
	return worst
}

// stopError ends all sources: the fault is not the source's.
type stopError struct{ error }

func (f *packetFlags) drain(a *app, src packet.Source, defaults *defaults, p *packet.Packet, res *eval.Result, run func(*packet.Packet, *eval.Result) error) error {
	bar := a.progress(src)
	defer bar.done()
	for n := 0; ; n++ {
		err := src.Next(p)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n%1024 == 0 {
			bar.step()
		}
		defaults.apply(p)
		if err := run(p, res); err != nil {
			return stopError{err}
		}
		if a.stdout.err != nil {
			return stopError{a.stdout.err}
		}
	}
	for _, w := range src.Warnings() {
		fmt.Fprintf(a.stderr, "nftc: %s: warning: %s\n", src.Format(), w)
	}
	return nil
}

// addInterfaces tells the evaluator of the interface indexes that the ruleset
// was compiled with.
func addInterfaces(env *eval.Env, rs *ir.Ruleset) {
	known := func(name string) bool {
		for _, i := range env.Interfaces {
			if i.Name == name {
				return true
			}
		}
		return env.Host != nil && slices.ContainsFunc(env.Host.Interfaces, func(i eval.Interface) bool { return i.Name == name })
	}
	for name, index := range rs.Interfaces {
		if !known(name) {
			env.Interfaces = append(env.Interfaces, eval.Interface{Name: name, Index: index})
		}
	}
}
