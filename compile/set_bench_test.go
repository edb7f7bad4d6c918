package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// BenchmarkConcatRanges resolves and compiles 100,000 concatenated ranges;
// parsing is outside of the clock.
func BenchmarkConcatRanges(b *testing.B) {
	const n = 100_000
	var src strings.Builder
	src.WriteString("table ip t {\n set s {\n type ipv4_addr . inet_service\n flags interval\n elements = {\n")
	for i := 0; i < n; i++ {
		a := 10<<24 + i*16
		fmt.Fprintf(&src, "%d.%d.%d.%d-%d.%d.%d.%d . %d-%d,\n", a>>24, a>>16&255, a>>8&255, a&255,
			a>>24, a>>16&255, a>>8&255, a&255+9, i%60000+1, i%60000+100)
	}
	src.WriteString(" }\n }\n}\n")
	files := &diag.FileSet{}
	tree, diags := parser.Parse(files, "b", src.String(), parser.Options{})
	if e := firstError(files, diags); e != "" {
		b.Fatal(e)
	}
	b.ReportAllocs()
	for b.Loop() {
		in, ds := ir.Resolve(tree, ir.Options{})
		if e := firstError(files, ds); e != "" {
			b.Fatal(e)
		}
		if got := len(compile.Compile(in).Tables[0].Sets[0].Elements); got != n {
			b.Fatalf("%d elements", got)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
}
