package bench

import (
	"os"
	"runtime"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

func program(tb testing.TB, text string) *bytecode.Ruleset {
	tb.Helper()
	files := new(diag.FileSet)
	tree, ds := parser.Parse(files, "bench.nft", text, parser.Options{})
	for _, d := range ds {
		if d.Severity == diag.Error {
			tb.Fatalf("%s", d.Message)
		}
	}
	rs, ds := ir.Resolve(tree, ir.Options{AnyInterface: true})
	for _, d := range ds {
		if d.Severity == diag.Error {
			tb.Fatalf("%s", d.Message)
		}
	}
	return compile.Compile(rs)
}

// benchPath runs a capture in memory through a ruleset; an operation is one packet.
func benchPath(b *testing.B, data []byte, text string) {
	open := Memory("capture", data)
	var engine *eval.Engine
	if text != "" {
		var err error
		if engine, err = eval.New(program(b, text), eval.Env{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	b.ResetTimer()
	for n := 0; n < b.N; {
		src, err := open()
		if err != nil {
			b.Fatal(err)
		}
		var p packet.Packet
		var res eval.Result
		for ; n < b.N; n++ {
			if src.Next(&p) != nil {
				break
			}
			if engine != nil {
				engine.Run(&p, &res)
			}
		}
	}
	b.ReportMetric(float64(threadTime()-start)/float64(b.N), "cpu-ns/op")
}

func BenchmarkPath(b *testing.B) {
	stateless, flows := Capture(200000, 0, 1), Capture(200000, 5000, 1)
	b.Run("read", func(b *testing.B) { benchPath(b, stateless, "") })
	b.Run("stateless", func(b *testing.B) { benchPath(b, stateless, PathRuleset(100, 1000, false)) })
	b.Run("state", func(b *testing.B) { benchPath(b, flows, PathRuleset(100, 1000, true)) })
}

func BenchmarkChain(b *testing.B) {
	data := Capture(20000, 0, 1)
	for _, n := range []int{10, 100, 1000, 10000, 100000} {
		text := ChainRuleset(n)
		b.Run(ruleCount(n), func(b *testing.B) { benchPath(b, data, text) })
	}
}

func ruleCount(n int) string { return short(n) + "-rules" }

func TestWriteCaptureForOtherTools(t *testing.T) {
	name := os.Getenv("NFTC_BENCH_CAPTURE")
	if name == "" {
		t.Skip("NFTC_BENCH_CAPTURE names no file to write")
	}
	if err := os.WriteFile(name, Capture(2000000, 0, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	for f, text := range map[string]string{".100.nft": PathRuleset(100, 1000, false), ".ct.nft": PathRuleset(100, 1000, true), ".chain10.nft": ChainRuleset(10), ".chain10k.nft": ChainRuleset(10000)} {
		if err := os.WriteFile(name+f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name+".flows", Capture(2000000, 100000, 1), 0o644); err != nil {
		t.Fatal(err)
	}
}
