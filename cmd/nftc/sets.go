package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/internal/diag"
)

type setsCmd struct {
	NoAVX2  bool   `name:"no-avx2" help:"Plan for a CPU without AVX2."`
	CPUs    int    `name:"cpus" default:"1" help:"Possible CPUs, for the kernel's per-CPU memory."`
	Backend string `name:"set-backend" default:"auto" placeholder:"NAME" help:"Back end of the offline plan: auto, hash, intervals, bitmap, pipapo, masks, segments or linear."`
	File    string `arg:"" help:"Ruleset; - is standard input."`
}

// placedSet is a set with the table that it belongs to.
type placedSet struct {
	table *bytecode.Table
	set   *bytecode.Set
}

// setsOf lists the sets that exist after loading: the named ones of each table
// and those of rules, in the order of creation.
func setsOf(p *bytecode.Ruleset) []placedSet {
	var out []placedSet
	seen := make(map[*bytecode.Set]bool)
	alive := make(map[*bytecode.Table]bool)
	add := func(t *bytecode.Table, s *bytecode.Set) {
		if t != nil && s != nil && !seen[s] {
			seen[s] = true
			out = append(out, placedSet{t, s})
		}
	}
	for _, t := range p.Tables {
		alive[t] = true
		for _, s := range t.Sets {
			add(t, s)
		}
	}
	for _, op := range p.Ops {
		if op.Kind == bytecode.OpNewSet && alive[op.Table] && op.Set != nil && op.Set.Flags&bytecode.SetAnonymous != 0 {
			add(op.Table, op.Set)
		}
	}
	return out
}

func (c *setsCmd) Run(a *app) error {
	force, err := set.ParseBackend(c.Backend)
	if err != nil {
		return usageError{err.Error()}
	}
	_, p, err := a.program(c.File)
	if err != nil {
		return err
	}
	machine := set.Machine{NoAVX2: c.NoAVX2, CPUs: c.CPUs}
	report := setsReport{Version: diag.JSONVersion, Sets: []setReport{}}
	w := bufio.NewWriter(a.stdout)
	for i, s := range setsOf(p) {
		plan := set.Plan(s.set, machine, force)
		at := p.Files.Position(s.set.Span.Start)
		if a.global.JSON {
			report.Sets = append(report.Sets, jsonSet(s.table, plan, at))
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		printSet(w, s.table, plan, at)
	}
	if a.global.JSON {
		return a.writeJSON(report)
	}
	return w.Flush()
}

// describeSet says what kind of set it is.
func describeSet(s *bytecode.Set) string {
	var words []string
	if s.Flags&bytecode.SetAnonymous != 0 {
		words = append(words, "anonymous")
	}
	switch s.DataKind {
	case bytecode.DataNone:
		words = append(words, "set")
	case bytecode.DataVerdict:
		words = append(words, "verdict map")
	case bytecode.DataObject:
		words = append(words, s.ObjType.String(), "map")
	default:
		words = append(words, "map")
	}
	return strings.Join(words, " ")
}

// shape describes the key and the flags that decide about back ends.
func shapeOf(s *bytecode.Set) string {
	var fields []string
	for _, f := range s.Key {
		fields = append(fields, fmt.Sprint(f.Len))
	}
	words := []string{"key of " + strings.Join(fields, "+") + " bytes"}
	for _, f := range []struct {
		flag bytecode.SetFlags
		name string
	}{
		{bytecode.SetConstant, "constant"}, {bytecode.SetInterval, "interval"},
		{bytecode.SetTimeout, "timeout"}, {bytecode.SetEval, "dynamic"},
	} {
		if s.Flags&f.flag != 0 {
			words = append(words, f.name)
		}
	}
	if s.Size != 0 {
		words = append(words, fmt.Sprintf("size %d", s.Size))
	}
	if s.Policy == bytecode.PolicyMemory {
		words = append(words, "policy memory")
	}
	return strings.Join(words, ", ")
}

func printSet(w io.Writer, t *bytecode.Table, r set.Report, at diag.Position) {
	fmt.Fprintf(w, "%s %s %s %s", describeSet(r.Set), t.Family, t.Name, r.Set.Name)
	if at.Line != 0 {
		fmt.Fprintf(w, " (%s)", at)
	}
	fmt.Fprintf(w, "\n  elements: %d; %s\n", r.Elements, shapeOf(r.Set))
	k := &r.Kernel
	fmt.Fprintf(w, "  kernel:   %s: %s\n", k.Backend, k.Why)
	if k.Backend != set.KernelNone {
		fmt.Fprintf(w, "            estimate %s, lookup %s, space %s; for the elements at hand %s\n",
			byteCount(k.Estimate.Size), k.Estimate.Lookup, k.Estimate.Space, byteCount(k.SizeForElements))
		fmt.Fprintf(w, "            memory %s: tables %s, elements %s\n",
			byteCount(k.Bytes()), byteCount(k.TableBytes), byteCount(k.ElementBytes))
	}
	if k.Err != nil {
		fmt.Fprintf(w, "            the kernel refuses the elements: %v\n", k.Err)
	}
	for _, c := range k.Candidates {
		if c.Why != "" && c.Backend != k.Backend {
			fmt.Fprintf(w, "            not %s: %s\n", c.Backend, c.Why)
		}
	}
	if len(k.Fields) > 0 {
		tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "            field\tbytes\trules\tgroups\twidth\tbuckets\tlookup\tmapping\t")
		for i, f := range k.Fields {
			fmt.Fprintf(tw, "            %d\t%d\t%d\t%d\t%d bits\t%d\t%d\t%d\t\n",
				i+1, f.Length, f.Rules, f.Groups, f.GroupBits, 1<<f.GroupBits, f.LookupBytes, f.MappingBytes)
		}
		tw.Flush()
	}
	fmt.Fprintf(w, "  offline:  %s: %s; %s\n", r.Offline.Backend, r.Offline.Why, byteCount(r.Offline.Bytes))
}

// byteCount prints a number of bytes, exact and for reading.
func byteCount(n uint64) string {
	switch {
	case n == set.Unknown:
		return "unknown"
	case n >= 10<<20:
		return fmt.Sprintf("%d bytes (%d MiB)", n, n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d bytes (%d KiB)", n, n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// setsReport is what sets writes as JSON.
type setsReport struct {
	Version int         `json:"version"`
	Sets    []setReport `json:"sets"`
}

type setReport struct {
	Family   string       `json:"family"`
	Table    string       `json:"table"`
	Name     string       `json:"name"`
	Kind     string       `json:"kind"`
	Place    *jsonAt      `json:"place"`
	Flags    uint32       `json:"flags"`
	Elements int          `json:"elements"`
	Catchall bool         `json:"catchall"`
	Kernel   kernelReport `json:"kernel"`
	Offline  struct {
		Backend string `json:"backend"`
		Why     string `json:"why"`
		Bytes   uint64 `json:"bytes"`
	} `json:"offline"`
}

// jsonAt is the place of a rule or set.
type jsonAt struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

type kernelReport struct {
	Backend        string        `json:"backend"`
	Why            string        `json:"why"`
	EstimatedBytes *uint64       `json:"estimated_bytes"`
	ForElements    *uint64       `json:"estimated_bytes_for_elements"`
	Lookup         string        `json:"lookup_class,omitempty"`
	Space          string        `json:"space_class,omitempty"`
	Bytes          uint64        `json:"bytes"`
	TableBytes     uint64        `json:"table_bytes"`
	ElementBytes   uint64        `json:"element_bytes"`
	Error          string        `json:"error,omitempty"`
	Fields         []fieldReport `json:"fields,omitempty"`
}

type fieldReport struct {
	Bytes        int    `json:"bytes"`
	Rules        int    `json:"rules"`
	Groups       int    `json:"groups"`
	GroupBits    int    `json:"group_bits"`
	LookupBytes  uint64 `json:"lookup_bytes"`
	MappingBytes uint64 `json:"mapping_bytes"`
	AllocBytes   uint64 `json:"alloc_bytes"`
}

func jsonSet(t *bytecode.Table, r set.Report, at diag.Position) setReport {
	s := setReport{
		Family: t.Family.String(), Table: t.Name, Name: r.Set.Name, Kind: describeSet(r.Set),
		Flags: uint32(r.Set.Flags), Elements: r.Elements, Catchall: r.Catchall,
		Kernel: kernelReport{
			Backend: r.Kernel.Backend.String(), Why: r.Kernel.Why,
			Bytes: r.Kernel.Bytes(), TableBytes: r.Kernel.TableBytes, ElementBytes: r.Kernel.ElementBytes,
		},
	}
	if at.Line != 0 {
		s.Place = &jsonAt{at.File, at.Line}
	}
	if r.Kernel.Backend != set.KernelNone {
		s.Kernel.Lookup, s.Kernel.Space = r.Kernel.Estimate.Lookup.String(), r.Kernel.Estimate.Space.String()
		s.Kernel.EstimatedBytes = known(r.Kernel.Estimate.Size)
		s.Kernel.ForElements = known(r.Kernel.SizeForElements)
	}
	if r.Kernel.Err != nil {
		s.Kernel.Error = r.Kernel.Err.Error()
	}
	for _, f := range r.Kernel.Fields {
		s.Kernel.Fields = append(s.Kernel.Fields, fieldReport{f.Length, f.Rules, f.Groups, f.GroupBits, f.LookupBytes, f.MappingBytes, f.LookupAlloc + f.MappingAlloc})
	}
	s.Offline.Backend, s.Offline.Why, s.Offline.Bytes = r.Offline.Backend.String(), r.Offline.Why, r.Offline.Bytes
	return s
}

// known is nil for an estimate that the kernel does not make.
func known(n uint64) *uint64 {
	if n == set.Unknown {
		return nil
	}
	return &n
}
