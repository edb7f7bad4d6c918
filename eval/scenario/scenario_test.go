// Package scenario runs whole rulesets over packets: text in, verdicts and
// traces out. It is the only test of evaluation that needs the compiler.
package scenario

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the out/ files of scenarios")

// interfaces exist in every scenario.
var interfaces = map[string]uint32{"lo": 1, "lan0": 2, "wan0": 3, "dmz0": 4, "eth0": 5, "eth1": 6}

// build compiles a ruleset; errors are joined diagnostics.
func build(name, text string) (*bytecode.Ruleset, error) {
	files := &diag.FileSet{}
	f, ds := parser.Parse(files, name, text, parser.Options{})
	if err := diagErr(files, ds); err != nil {
		return nil, err
	}
	rs, ds := ir.Resolve(f, ir.Options{Interfaces: interfaces, AnyInterface: true})
	if err := diagErr(files, ds); err != nil {
		return nil, err
	}
	return compile.Compile(rs), nil
}

func diagErr(files *diag.FileSet, ds []diag.Diagnostic) error {
	var errs []error
	for _, d := range ds {
		if d.Severity == diag.Error {
			errs = append(errs, fmt.Errorf("%v: %s", files.Position(d.Span.Start), d.Message))
		}
	}
	return errors.Join(errs...)
}

func env(host []byte) (eval.Env, error) {
	var e eval.Env
	for n, i := range interfaces {
		e.Interfaces = append(e.Interfaces, eval.Interface{Name: n, Index: i})
	}
	if host == nil {
		return e, nil
	}
	var docs [][]byte
	for _, d := range strings.Split(string(host), "\n\n") {
		if strings.TrimSpace(d) != "" {
			docs = append(docs, []byte(d))
		}
	}
	h, err := eval.ParseHost(docs...)
	e.Host = h
	return e, err
}

// verdictMatches compares with the word after =>.
func verdictMatches(want string, res *eval.Result) bool {
	if want == "reject" {
		return res.Verdict == eval.Drop && res.Reject != nil
	}
	return want == res.Verdict.String()
}

// run evaluates packets and returns the trace; differences go to t.
func run(t *testing.T, e *eval.Engine, rs *bytecode.Ruleset, packets string, explain bool) string {
	t.Helper()
	src, err := packet.NewSource("packets", strings.NewReader(packets), packet.KindTuples)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var p packet.Packet
	var res eval.Result
	for {
		if err := src.Next(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		want, line := p.Stated.Expect, p.Line
		name := p.Name
		if name == "" {
			name = fmt.Sprint(p.Index)
		}
		e.RunOptions(&p, &res, eval.Options{Trace: true, Explain: explain})
		fmt.Fprintf(&out, "%s: %v", name, res.Verdict)
		if res.Verdict == eval.Unknown {
			fmt.Fprintf(&out, " likely %v", res.Likely)
		}
		if res.Stack != eval.StackNone {
			fmt.Fprintf(&out, " (%v)", res.Stack)
		}
		if res.CT.State != 0 {
			fmt.Fprintf(&out, " ct %s", eval.StateText(res.CT.State))
		}
		if res.NAT.Changed {
			fmt.Fprintf(&out, " nat %v > %v", res.NAT.NewSrc, res.NAT.NewDst)
		}
		out.WriteByte('\n')
		for i := range res.Trace {
			ev := &res.Trace[i]
			if ev.Kind == eval.EventPacket {
				continue
			}
			fmt.Fprintf(&out, "\t%v %v\n", ev.Step.Hook, strings.TrimPrefix(ev.Format("", func(r *bytecode.Rule) string {
				return strings.Join(strings.Fields(rs.Files.Text(r.Span)), " ")
			}), "trace id  "))
		}
		for i := range res.Explain {
			f := &res.Explain[i]
			fmt.Fprintf(&out, "\t%v %v %s %s: %q %s\n", f.Step.Hook, f.Table.Family, f.Table.Name, eval.ChainName(f.Chain), rs.Files.Text(f.Span), f.String())
		}
		for _, u := range res.Unknown {
			text := ""
			if u.Rule != nil {
				text = ": " + rs.Files.Text(u.Span)
			}
			fmt.Fprintf(&out, "\tunknown %v%s\n", u.Cause, text)
		}
		if want != "" && !verdictMatches(want, &res) {
			t.Errorf("line %d: %s: %v, want %s", line, name, res.Verdict, want)
		}
	}
	return out.String()
}

func TestScenarios(t *testing.T) {
	root := filepath.Join("..", "..", "testdata", "eval")
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txtar" {
			return err
		}
		n++
		name, _ := filepath.Rel(root, path)
		t.Run(strings.TrimSuffix(name, ".txtar"), func(t *testing.T) { scenario(t, path) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatal("no scenarios")
	}
}

func scenario(t *testing.T, path string) {
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) []byte {
		for _, f := range ar.Files {
			if f.Name == name {
				return f.Data
			}
		}
		return nil
	}
	rs, err := build("in.nft", string(file("in.nft")))
	if err != nil {
		t.Fatal(err)
	}
	ev, err := env(file("host.json"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(rs, ev)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name    string
		explain bool
	}{{"out/trace", false}, {"out/explain", true}} {
		want := file(part.name)
		if part.explain && want == nil {
			continue
		}
		if part.explain {
			if e, err = eval.New(rs, ev); err != nil {
				t.Fatal(err)
			}
		}
		got := run(t, e, rs, string(file("packets")), part.explain)
		if *update {
			set(ar, part.name, got)
			continue
		}
		if got != string(want) {
			t.Errorf("%s differs; got:\n%s", part.name, got)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func set(ar *txtar.Archive, name, text string) {
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			ar.Files[i].Data = []byte(text)
			return
		}
	}
	ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)})
}
