package parser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

// concatElements is a set of n concatenated ranges on one line.
func concatElements(n int) string {
	var b strings.Builder
	b.WriteString("table inet t {\n\tset s {\n\t\ttype ipv4_addr . inet_service . ipv4_addr\n\t\tflags interval\n\t\telements = { ")
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "10.%d.%d.%d-10.%d.%d.255 . %d-%d . 192.0.2.0/24", i>>16&255, i>>8&255, i&255, i>>16&255, i>>8&255, i%65000, i%65000+5)
	}
	b.WriteString(" }\n\t}\n}\n")
	return b.String()
}

// manyRules is a chain of n rules.
func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("table inet t {\n\tchain c {\n\t\ttype filter hook input priority filter; policy drop;\n")
	for i := range n {
		fmt.Fprintf(&b, "\t\tiifname \"eth%d\" ip saddr 10.0.%d.0/24 tcp dport { 22, 80, %d } ct state new,established counter log prefix \"r%d \" limit rate 10/second accept comment \"rule %d\"\n", i%10, i%250, i%65000+1, i, i)
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

func benchmarkParse(b *testing.B, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := Parse(&diag.FileSet{}, "x", text, Options{}); len(ds) > 0 {
			b.Fatal(ds[0])
		}
	}
}

func BenchmarkParseElements(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkParse(b, concatElements(n)) })
	}
}

func BenchmarkParseRules(b *testing.B) {
	for _, n := range []int{10, 1_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkParse(b, manyRules(n)) })
	}
}

func BenchmarkFormatRules(b *testing.B) {
	text := manyRules(1000)
	f, _ := Parse(&diag.FileSet{}, "x", text, Options{})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Format(f)
	}
}

func BenchmarkFormatElements(b *testing.B) {
	text := concatElements(100_000)
	f, _ := Parse(&diag.FileSet{}, "x", text, Options{})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Format(f)
	}
}

// BenchmarkBuildGrammars is what the participle grammars cost a program that
// needs all of them, once.
func BenchmarkBuildGrammars(b *testing.B) {
	for b.Loop() {
		for _, g := range allGrammars() {
			g.build()
		}
	}
}
