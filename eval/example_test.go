package eval_test

import (
	"fmt"
	"os"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/lint"
	"github.com/nftc/nftc/parser"
)

// From the text of a ruleset to the verdict of a packet.
func Example() {
	const text = `table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		tcp dport { 22, 80 } accept
		tcp dport 80 drop
	}
}
`
	files := new(parser.FileSet)
	tree, diags := parser.Parse(files, "rules.nft", text, parser.Options{})
	ruleset, more := ir.Resolve(tree, ir.Options{AnyInterface: true})
	diags = append(diags, more...)
	for _, d := range diags {
		if d.Severity == parser.Error {
			parser.WriteDiagnostics(os.Stdout, files, diags)
			return
		}
	}
	parser.WriteDiagnostics(os.Stdout, files, lint.Run(ruleset))

	engine, err := eval.New(compile.Compile(ruleset), eval.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var p packet.Packet
	var res eval.Result
	for _, line := range []string{
		"tcp 192.0.2.1:1000 > 192.0.2.2:22 in=eth0",
		"udp 192.0.2.1:1000 > 192.0.2.2:22 in=eth0",
	} {
		if err := packet.ParseTuple(line, &p); err != nil {
			fmt.Println(err)
			return
		}
		engine.Run(&p, &res)
		fmt.Println(res.Verdict, res.Hook)
	}
	// Output:
	// rules.nft:5:3: warning: this rule has no effect: an earlier rule decides about all its packets [shadowed-rule]
	//   |
	// 5 |         tcp dport 80 drop
	//   |         ^~~~~~~~~~~~~~~~~
	// rules.nft:4:3: note: this rule matches them first
	//   |
	// 4 |         tcp dport { 22, 80 } accept
	//   |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~
	// accept input
	// drop input
}
