package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rulesets of a size that nftc check must take in a few seconds.

func address(a uint32) string {
	return fmt.Sprintf("%d.%d.%d.%d", a>>24, a>>16&255, a>>8&255, a&255)
}

// largeSet is a ruleset with one set of n elements, in no order; element
// writes the i-th.
func largeSet(typ string, n int, element func(i uint32, r *rand.Rand) string) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	fmt.Fprintf(&b, "table inet t {\n  set s {\n    type %s\n    flags interval\n    elements = {\n", typ)
	for _, i := range r.Perm(n) {
		fmt.Fprintf(&b, "      %s,\n", element(uint32(i), r))
	}
	b.WriteString("    }\n  }\n")
	key := "ip saddr"
	if strings.Contains(typ, " . ") {
		key += " . tcp dport"
	}
	fmt.Fprintf(&b, "  chain c {\n    type filter hook input priority 0\n    %s @s accept\n  }\n}\n", key)
	return b.String()
}

func concatRanges(n int) string {
	return largeSet("ipv4_addr . inet_service", n, func(i uint32, r *rand.Rand) string {
		a, p := 10<<24+i*8, 1+r.IntN(60000)
		return fmt.Sprintf("%s-%s . %d-%d", address(a), address(a+1+r.Uint32N(6)), p, p+1+r.IntN(500))
	})
}

func intervals(n int) string {
	return largeSet("ipv4_addr", n, func(i uint32, r *rand.Rand) string {
		a := 10<<24 + i*8
		return address(a) + "-" + address(a+1+r.Uint32N(6))
	})
}

// manyRules is a chain of n rules, each with an address and a port.
func manyRules(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("table inet t {\n  chain c {\n    type filter hook input priority 0; policy drop\n")
	for i := range n {
		fmt.Fprintf(&b, "    ip saddr %s tcp dport %d accept\n", address(10<<24+uint32(i)*7), 1+r.IntN(65535))
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

func BenchmarkCheck(b *testing.B) {
	for _, in := range []struct {
		name string
		make func(int) string
		n    []int
	}{
		{"concatenated-ranges", concatRanges, []int{10_000, 100_000, 1_000_000}},
		{"intervals", intervals, []int{10_000, 100_000, 1_000_000}},
		{"rules", manyRules, []int{1_000, 10_000, 100_000}},
	} {
		for _, n := range in.n {
			b.Run(fmt.Sprintf("%s/%d", in.name, n), func(b *testing.B) {
				file := filepath.Join(b.TempDir(), "large.nft")
				if err := os.WriteFile(file, []byte(in.make(n)), 0o600); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					var stdout, stderr bytes.Buffer
					if code := run([]string{"check", file}, strings.NewReader(""), &stdout, &stderr); code != exitOK {
						b.Fatalf("exit %d: %.300s", code, stderr.String())
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/line")
			})
		}
	}
}
