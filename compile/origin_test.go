package compile

import (
	"testing"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// TestOrigins: every expression has its statement, and statements keep their
// order.
func TestOrigins(t *testing.T) {
	const text = `table inet t {
	set s { type ipv4_addr; flags dynamic; }
	chain known { }
	chain c {
		type filter hook prerouting priority mangle
		tcp dport { 22, 80-90 } ip saddr . tcp sport { 10.0.0.1 . 5 } counter accept
		ip saddr 10.0.0.1 ip daddr 10.0.0.2 tcp sport 1 tcp dport 2 log prefix "x" drop
		ct state vmap { new : jump known, established : accept }
		tcp flags & (syn | ack) == syn tcp option maxseg size set 1360
		update @s { ip saddr limit rate 3/second } meta mark set ct mark & 0xff
		ip dscp set cs1 jump { udp dport 53 drop; }
	}
}
`
	files := new(diag.FileSet)
	tree, ds := parser.Parse(files, "t.nft", text, parser.Options{})
	rs, more := ir.Resolve(tree, ir.Options{AnyInterface: true})
	for _, d := range append(ds, more...) {
		t.Errorf("%s", d.Message)
	}
	if t.Failed() {
		return
	}
	program := Compile(rs)
	for i, table := range rs.Tables {
		for j, c := range table.Chains {
			for k, r := range c.Rules {
				compiled := program.Tables[i].Chains[j].Rules[k]
				from := Origins(r)
				if len(from) != len(compiled.Instrs) {
					t.Fatalf("%s: %d statements for %d expressions", files.Text(r.Span), len(from), len(compiled.Instrs))
				}
				at := 0
				stmts := r.Reduced(table.Family)
				for n, s := range from {
					if compiled.Spans[n] != s.Pos() {
						t.Errorf("%s: expression %d is of %q, not %q", files.Text(r.Span), n, files.Text(compiled.Spans[n]), files.Text(s.Pos()))
					}
					// A merged match is made anew each time: places tell.
					for at < len(stmts) && stmts[at].Pos() != s.Pos() {
						at++
					}
				}
				if at == len(stmts) && len(from) > 0 {
					t.Errorf("%s: statements out of order", files.Text(r.Span))
				}
			}
		}
	}
}
