package ir

import (
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

// TestStatementErrors: messages and places as nft 1.1.7 has them, columns in
// the rule's own line.
func TestStatementErrors(t *testing.T) {
	long := strings.Repeat("a", 128)
	for _, tc := range []struct{ family, rule, message, at string }{
		{"ip", `log prefix "` + long[:127] + `"`, "", ""},
		{"ip", `log prefix "` + long + `"`, "log prefix is too long", "log"},
		{"ip", `log level debug group 5`, "level and group are mutually exclusive", "log"},
		{"ip", `dnat to 1.2.3.4:5`, "transport protocol mapping is only valid after transport protocol match", "5"},
		{"ip", `udp dport 5 reject with tcp reset`, "you cannot use tcp reset with this protocol", "reject"},
		{"ip", `reject with icmpx no-route`, "abstracted ICMP unreachable not supported", "no-route"},
		{"inet", `dnat to 1.2.3.4`, "specify `dnat ip' or 'dnat ip6' in inet table to disambiguate", "dnat"},
		{"inet", `ip saddr 1.2.3.4 dnat ip6 to ::1`, "conflicting protocols specified: ip vs. ip6", "dnat"},
		{"bridge", `dnat to 1.2.3.4`, "NAT is only supported for IPv4/IPv6", "dnat"},
		{"ip", `tproxy to :5`, "Transparent proxy support requires transport protocol match", "tproxy to :5"},
		{"ip", `queue to numgen inc mod 70000`, "queue expression max value exceeds 65535", "numgen inc mod 70000"},
		{"ip", `limit rate 0/second`, "Could not process rule: Invalid argument", "limit rate"},
		{"arp", `reject`, "cannot use reject with arp", "reject"},
		{"ip", `fwd to lo`, "unsupported family", "fwd to lo"},
		{"ip", `accept counter`, "Statement after terminal statement has no effect", "counter"},
	} {
		text := "table " + tc.family + " t {\n chain c {\n" + tc.rule + "\n }\n}\n"
		files := &diag.FileSet{}
		f, ds := parseText(files, "x.nft", text)
		if len(ds) == 0 {
			_, ds = Resolve(f, Options{Interfaces: map[string]uint32{"lo": 1}})
		}
		switch {
		case tc.message == "" && len(ds) > 0:
			t.Errorf("%s: %s", tc.rule, ds[0].Message)
		case tc.message == "":
		case len(ds) == 0:
			t.Errorf("%s: accepted, want %q", tc.rule, tc.message)
		case !strings.Contains(ds[0].Message, tc.message) || files.Text(ds[0].Span) != tc.at:
			t.Errorf("%s: %q at %q, want %q at %q", tc.rule, ds[0].Message, files.Text(ds[0].Span), tc.message, tc.at)
		}
	}
}
