package compile_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/nftc/nftc/compile"
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// FuzzResolve takes any text through all stages: no panic, and what resolves
// compiles, dumps and lists.
func FuzzResolve(f *testing.F) {
	for _, pattern := range []string{"testdata/*.nft", "testdata/*/*.nft", "../testdata/*/*.nft"} {
		names, _ := filepath.Glob(pattern)
		for _, n := range names {
			if text, err := os.ReadFile(n); err == nil && len(text) < 8<<10 {
				f.Add(string(text))
			}
		}
	}
	for _, s := range []string{
		"table inet t { chain c { type filter hook input priority 0; tcp dport { 22, 80-90 } ip saddr . tcp dport { 1.2.3.4 . 5-6 } meta mark set ct mark and 0xf or 1 accept\n}\n}\n",
		"table ip t { map m { type ipv4_addr . mark : interval ipv4_addr . inet_service; flags interval; elements = { 1.1.1.0/24 . 1-5 : 2.2.2.2-2.2.2.9 . 5 }\n}\nchain c { type nat hook prerouting priority -100; dnat ip to ip saddr . meta mark map @m\n}\n}\n",
		"define a = { 1, 2 }\ntable netdev t { set s { typeof vlan id . ether saddr; size 5; flags dynamic; }\nchain c { type filter hook ingress device \"lo\" priority 5; update @s { vlan id . ether saddr timeout 5s limit rate 5/second } vlan id $a drop\n}\n}\n",
		"add table t\nadd chain t c\nadd set t s { type mark; flags interval; auto-merge; }\nadd element t s { 1-5, 7/31 }\ndelete element t s { 2 }\nadd rule t c meta mark @s jump { ip6 saddr ::1 accept; }\nreplace rule t c handle 3 counter\ndestroy table ip6 x\n",
		"table bridge b { chain c { vlan id 5 vxlan ip saddr 1.1.1.1 gre ip6 nexthdr 5 tcp option 5 exists @nh,3,17 & 0x55 == 5 jhash ip saddr . tcp dport mod 5 seed 1 vmap { 0-2 : accept, * : drop }\n}\n}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var files diag.FileSet
		tree, ds := parser.Parse(&files, "fuzz.nft", text, parser.Options{})
		opt := ir.Options{AnyInterface: true, Interfaces: map[string]uint32{"lo": 1}}
		rs, more := ir.Resolve(tree, opt)
		for _, d := range append(ds, more...) {
			if d.Severity == diag.Error {
				return
			}
		}
		program := compile.Compile(rs)
		if err := bytecode.Dump(io.Discard, program); err != nil {
			t.Fatal(err)
		}
		ir.List(rs, ir.ListOptions{Machine: opt})
	})
}
