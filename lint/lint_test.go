package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/lint"
	"github.com/nftc/nftc/parser"
)

// findings lints a ruleset and returns LINE:CODE for each finding.
func findings(t *testing.T, src string) []string {
	t.Helper()
	files := new(diag.FileSet)
	tree, ds := parser.Parse(files, "r.nft", src, parser.Options{})
	rs, more := ir.Resolve(tree, ir.Options{AnyInterface: true})
	for _, d := range append(ds, more...) {
		if d.Severity == diag.Error {
			t.Fatalf("%s: %s\n%s", files.Position(d.Span.Start), d.Message, src)
		}
	}
	var out []string
	for _, d := range lint.Run(rs) {
		out = append(out, fmt.Sprintf("%d:%s", files.Position(d.Span.Start).Line, d.Code))
	}
	return out
}

// The example of each document provokes its diagnostic and nothing else; the
// fixed one provokes nothing.
func TestDocuments(t *testing.T) {
	docs := lint.Docs()
	for _, code := range docs.Codes() {
		d := docs[code]
		got := findings(t, d.Example)
		if len(got) != 1 || !strings.HasSuffix(got[0], ":"+code) {
			t.Errorf("%s: the example gives %v", code, got)
		}
		if got := findings(t, d.Fixed); len(got) != 0 {
			t.Errorf("%s: the fixed example gives %v", code, got)
		}
	}
}

// chain puts rules in an input chain of an inet table, from line 3 on.
func chain(rules string) string {
	return "table inet t {\nchain c { type filter hook input priority 0;\n" + rules + "\n}\n" +
		"chain other {\nudp dport 1 accept\n}\nchain every {\nudp dport 1 accept\ndrop\n}\n" +
		"chain marks {\nmeta mark set 7\n}\nchain callers {\njump other\njump marks\njump every\n}\n" +
		"chain b { type filter hook input priority 1;\njump callers\n}\n" +
		"set s {\ntype ipv4_addr\n}\nset d {\ntype ipv4_addr\nflags constant\nelements = { 10.0.0.1 }\n}\n" +
		"chain u { type filter hook output priority 1;\nip daddr @s accept\nip saddr @d accept\n}\n}\n"
}

func TestRules(t *testing.T) {
	for _, c := range []struct{ name, rules, want string }{
		{"nothing", "tcp dport 22 accept\nudp dport 22 accept", ""},
		{"element twice", "tcp dport { 22, 80, 22 } accept", "3:covered-element"},
		{"element in a range", "ip saddr { 10.0.0.1, 10.0.0.0/8, 192.0.2.1 } accept", "3:covered-element"},
		{"elements that overlap", "udp dport { 1-100, 50-120, 121 } accept", ""},

		{"behind drop", "drop\naccept", "4:unreachable-rule"},
		{"behind counted drop", "counter log drop\naccept", "4:unreachable-rule"},
		{"behind reject", "reject\naccept\ndrop", "4:unreachable-rule"},
		{"behind a limit", "limit rate 1/second accept\naccept", ""},
		{"behind jump to chain that returns", "jump other\naccept", ""},
		{"behind jump to chain that ends", "jump every\naccept", "4:unreachable-rule"},
		{"behind goto", "goto other\naccept", "4:unreachable-rule"},
		{"behind return", "return\naccept", "4:unreachable-rule"},
		{"behind mark", "meta mark set 1\naccept", ""},

		{"two ports", "tcp dport 22 tcp dport 23 accept", "3:never-matches"},
		{"port outside set", "tcp dport { 22, 80 } tcp dport 443 accept", "3:never-matches"},
		{"port inside set", "tcp dport { 22, 80 } tcp dport 80 accept", ""},
		{"port outside range", "tcp dport 1-100 tcp dport 101-200 accept", "3:never-matches"},
		{"port not", "tcp dport 22 tcp dport != 22 accept", "3:never-matches"},
		{"port not set", "tcp dport 22 tcp dport != { 22, 23 } accept", "3:never-matches"},
		{"port not other", "tcp dport 22 tcp dport != 23 accept", ""},
		{"disjoint networks", "ip saddr 10.0.0.0/8 ip saddr 192.0.2.0/24 accept", "3:never-matches"},
		{"nested networks", "ip saddr 10.0.0.0/8 ip saddr 10.1.0.0/16 accept", ""},
		{"two states", "ct state new ct state established accept", "3:never-matches"},
		{"states overlap", "ct state new,related ct state established,related accept", ""},
		{"flags exclude", "tcp flags & syn == 0 tcp flags syn accept", "3:never-matches"},
		{"flags and", "tcp flags syn tcp flags ack accept", ""},
		{"names", `iifname "a" iifname "b" accept`, "3:never-matches"},
		{"name and pattern", `iifname "ab*" iifname "abc" accept`, ""},
		{"name and other pattern", `iifname "ab*" iifname "b*" accept`, "3:never-matches"},
		{"marks", "meta mark 1 meta mark 2 accept", "3:never-matches"},
		{"mark set between", "meta mark 1 meta mark set 2 meta mark 2 accept", ""},
		{"port set between", "tcp dport 1 tcp dport set 2 tcp dport 2 accept", ""},
		{"concatenation", "tcp dport 5 ip saddr . tcp dport { 10.0.0.1 . 22, 10.0.0.2 . 23 } accept", "3:never-matches"},
		{"concatenation hit", "tcp dport 22 ip saddr . tcp dport { 10.0.0.1 . 22, 10.0.0.2 . 23 } accept", ""},
		{"named set unknown", "ip saddr 10.9.9.9 ip saddr @s accept", ""},
		{"constant set", "ip saddr 10.9.9.9 ip saddr @d accept", "3:never-matches"},
		{"part of a byte", "ip dscp cs1 ip dscp cs2 accept", "3:never-matches"},
		{"part of a byte in set", "ip dscp { cs1, cs2 } ip dscp cs3 accept", "3:never-matches"},
		{"part of a byte agrees", "ip dscp { cs1, cs2 } ip dscp > cs1 ip version 4 vlan pcp 3 accept", ""},
		{"less than zero", "ip ttl < 0 accept", "3:never-matches"},
		{"hour", `meta hour "10:00" meta hour "11:00" accept`, ""},
		{"out at input", `oifname "eth0" accept`, "3:never-matches"},
		{"not out at input", `oifname != "eth0" accept`, ""},
		{"oif at input", "oif eth0 accept", "3:never-matches"},

		{"same port", "tcp dport 22 accept\ntcp dport 22 drop", "4:shadowed-rule"},
		{"wider set", "tcp dport { 22, 80 } accept\ntcp dport 22 drop", "4:shadowed-rule"},
		{"narrower set", "tcp dport 22 accept\ntcp dport { 22, 80 } drop", ""},
		{"more conditions", "tcp dport 22 accept\nip saddr 10.0.0.1 tcp dport 22 drop", "4:shadowed-rule"},
		{"fewer conditions", "ip saddr 10.0.0.1 tcp dport 22 accept\ntcp dport 22 drop", ""},
		{"limit first", "tcp dport 22 limit rate 1/second accept\ntcp dport 22 drop", ""},
		{"limit second", "tcp dport 22 drop\ntcp dport 22 limit rate 1/second accept", "4:shadowed-rule"},
		{"counter first", "tcp dport 22 counter\ntcp dport 22 drop", ""},
		{"jump first", "tcp dport 22 jump other\ntcp dport 22 drop", ""},
		{"mark between", "meta mark 1 accept\nmeta mark set 1\nmeta mark 1 drop", ""},
		{"other mark between", "ip saddr 10.0.0.1 accept\nmeta mark set 1\nip saddr 10.0.0.1 drop", "5:shadowed-rule"},
		{"mark in called chain", "meta mark 7 accept\njump marks\nmeta mark 7 drop", ""},
		{"same named set", "ip saddr @s accept\nip saddr @s drop", "4:shadowed-rule"},
		{"named set filled between", "ip saddr @s accept\nadd @s { ip daddr }\nip saddr @s drop", ""},
		{"verdict map", "ct state vmap { established : accept, related : accept, invalid : drop }\nct state established drop", "4:shadowed-rule"},
		{"verdict map other", "ct state vmap { established : accept, invalid : drop }\nct state new drop", ""},
		{"verdict map continues", "tcp dport vmap { 22 : accept, 23 : continue }\ntcp dport 23 drop", ""},
		{"states", "ct state established,related accept\nct state related drop", "4:shadowed-rule"},
		{"protocol", "meta l4proto tcp accept\nip protocol tcp drop", "4:shadowed-rule"},
		{"protocol by field", "meta l4proto tcp accept\ntcp dport 22 drop", "4:shadowed-rule"},
		{"one protocol", "ip protocol tcp accept\nmeta l4proto tcp drop", ""},
		{"random", "numgen random mod 2 0 accept\nnumgen random mod 2 0 drop", ""},

		{"twice", "tcp dport 22 accept\ntcp dport 80 accept\ntcp dport 22 accept", "5:duplicate-rule"},
		{"twice in other words", "tcp dport { 22 } accept\ntcp dport 22 accept", "4:duplicate-rule"},
		{"counter twice", "tcp dport 22 counter\ntcp dport 22 counter", "4:duplicate-rule"},
		{"counter apart", "tcp dport 22 counter\ntcp dport 22 limit rate 1/second drop\ntcp dport 22 counter", ""},
		{"log twice", "tcp dport 22 log\ntcp dport 22 log", ""},

		{"ignored", "drop\naccept # nftc:ignore unreachable-rule", ""},
		{"ignored above", "drop\n# nftc:ignore never-matches, unreachable-rule\naccept", ""},
		{"ignored other", "drop\n# nftc:ignore never-matches\naccept", "5:unreachable-rule"},
	} {
		if got := strings.Join(findings(t, chain(c.rules)), " "); got != c.want {
			t.Errorf("%s: got %q, want %q\n%s", c.name, got, c.want, c.rules)
		}
	}
}

func TestRulesets(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"sets only", "table ip t {\nset s {\ntype ipv4_addr\n}\n}", ""},
		{"map that calls a chain", "table ip t {\nchain a {\naccept\n}\nmap m {\ntype inet_service : verdict\nelements = { 22 : jump a }\n}\n" +
			"chain c { type filter hook input priority 0;\ntcp dport vmap @m\n}\n}", ""},
		{"map that can grow", "table ip t {\nchain a {\naccept\n}\nmap m {\ntype inet_service : verdict\n}\n" +
			"chain c { type filter hook input priority 0;\ntcp dport vmap @m\n}\n}", ""},
		{"set that rules fill", "table ip t {\nset s {\ntype ipv4_addr\nsize 9\nflags dynamic\n}\n" +
			"chain c { type filter hook input priority 0;\nadd @s { ip saddr }\n}\n}", ""},
		{"iif at output", "table ip t {\nchain c { type filter hook output priority 0;\niifname \"eth0\" drop\n}\n}", "3:never-matches"},
		{"iif at postrouting", "table ip t {\nchain c { type filter hook postrouting priority 0;\niifname \"eth0\" drop\n}\n}", ""},
		{"oif in chain of two hooks", "table ip t {\nchain a {\noifname \"eth0\" drop\n}\nchain c { type filter hook input priority 0;\njump a\n}\n" +
			"chain d { type filter hook output priority 0;\njump a\n}\n}", ""},
		{"anonymous chain", "table ip t {\nchain c { type filter hook input priority 0;\ntcp dport 22 jump {\ndrop\naccept\n}\n}\n}", "5:unreachable-rule"},
	} {
		if got := strings.Join(findings(t, c.src), " "); got != c.want {
			t.Errorf("%s: got %q, want %q\n%s", c.name, got, c.want, c.src)
		}
	}
}
