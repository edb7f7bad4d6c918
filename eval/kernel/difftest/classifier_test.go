package difftest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
)

// sameWay runs packets through a ruleset with and without classifiers and
// compares all that comes out. Packets that cannot be parsed are left out.
func sameWay(t *testing.T, name string, rs *bytecode.Ruleset, env eval.Env, packets []string) {
	t.Helper()
	var engines [3]*eval.Engine
	for i, use := range []eval.ClassifierUse{eval.ClassifierOff, eval.ClassifierAuto, eval.ClassifierAlways} {
		env.Classifier = use
		e, err := eval.New(rs, env)
		if err != nil {
			t.Skipf("%s: %v", name, err)
		}
		engines[i] = e
	}
	for n, line := range packets {
		var results [3]eval.Result
		for i, e := range engines {
			var p packet.Packet
			if err := packet.ParseTuple(line, &p); err != nil {
				continue
			}
			// Conntrack simulates time by the packets' own, which all have alike.
			e.RunOptions(&p, &results[i], eval.Options{Trace: n%4 != 0})
		}
		for i := 1; i < len(results); i++ {
			if !reflect.DeepEqual(results[0], results[i]) {
				t.Fatalf("%s: packet %d, %s: classifier %d gives\n%+v\nwithout\n%+v", name, n, line, i, results[i], results[0])
			}
		}
	}
	for _, tab := range rs.Tables {
		for _, c := range tab.Chains {
			for _, r := range c.Rules {
				for _, in := range r.Instrs {
					want, _ := engines[0].State(in)
					for i, e := range engines[1:] {
						if got, _ := e.State(in); !reflect.DeepEqual(got, want) {
							t.Fatalf("%s: chain %s: classifier %d: %v, without %v", name, c.Name, i+1, got, want)
						}
					}
				}
			}
		}
		for _, s := range tab.Sets {
			want := engines[0].Elements(s)
			for i, e := range engines[1:] {
				if got := e.Elements(s); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: set %s: classifier %d: %v, without %v", name, s.Name, i+1, got, want)
				}
			}
		}
	}
}

// TestClassifierOnGeneratedRules makes the chains of generated cases long by
// repeating and shuffling their rules.
func TestClassifierOnGeneratedRules(t *testing.T) {
	cases := 40
	if testing.Short() {
		cases = 20
	}
	ran := 0
	for seed := uint64(1); seed <= uint64(cases); seed++ {
		c := Generate(seed, 60)
		r := rand.New(rand.NewPCG(seed, 5))
		for _, tab := range c.Tables {
			for _, ch := range tab.Chains {
				rules := ch.Rules
				for range seed % 8 {
					ch.Rules = append(ch.Rules, rules...)
				}
				r.Shuffle(len(ch.Rules), func(i, j int) { ch.Rules[i], ch.Rules[j] = ch.Rules[j], ch.Rules[i] })
			}
		}
		rs, err := Compile(c.Text())
		if err != nil {
			continue
		}
		ran++
		sameWay(t, fmt.Sprintf("seed %d", seed), rs, eval.Env{}, c.Packets)
	}
	if ran < cases/2 {
		t.Errorf("only %d of %d rulesets compiled", ran, cases)
	}
}

// conditions are what the rules of longChain ask for; %a, %p and so on stand
// for values.
var conditions = []string{
	"ip saddr %a", "ip saddr %a/%l", "ip daddr %a-%b", "ip saddr { %a, %b/30 }", "ip saddr != %a", "ip6 saddr fd00::%n",
	"ip6 daddr fd00::%n/%L", "tcp dport %p", "tcp dport %p-%q", "tcp dport >= %p", "tcp dport < %p", "udp dport { %p, %q }", "th dport %p",
	"tcp sport != %p", "meta mark %n", "meta mark > %n", "meta mark & 0xf0 == 0x%n0", "iifname \"lan%i\"", "iifname \"lan*\"", "oifname \"wan0\"",
	"iif lo", "ct state new", "ct state established,related", "ct mark %n", "meta l4proto { tcp, udp }", "ip protocol tcp", "meta nfproto ipv4",
	"tcp flags syn", "ip ttl %n", "ip dscp %n", "ip length > %p", "@nh,96,16 0x0a0%n", "counter", "limit rate 3/second", "ip saddr @named", "ip daddr @ranges",
	"ip saddr @counted", "ip saddr . tcp dport @pairs", "ip saddr . tcp dport { %a . %p }", "meta pkttype host", "icmp type echo-request", "ip frag-off & 0x1fff != 0",
}

var endings = []string{
	"accept", "drop", "counter", "counter accept", "jump side", "goto side", "return", "meta mark set %n", "ct mark set %n", "ip ttl set 9",
	"tcp dport set %p", "ip saddr set %a", "add @dyn { ip saddr }", "update @dyn { ip daddr }", "reject", "continue", "notrack", "log",
	"meta mark set %n counter", "tcp dport vmap { %p : drop, %q : accept }", "",
}

func values(r *rand.Rand, text string) string {
	a, p := r.IntN(30), 75+r.IntN(20)
	return strings.NewReplacer("%a", fmt.Sprintf("10.0.0.%d", a&^3), "%b", fmt.Sprintf("10.0.0.%d", 32+a&^3),
		"%l", fmt.Sprint([]int{8, 15, 16, 23, 24, 27, 30}[r.IntN(7)]), "%L", fmt.Sprint([]int{16, 60, 64, 120, 126}[r.IntN(5)]),
		"%p", fmt.Sprint(p), "%q", fmt.Sprint(p+r.IntN(9)+1), "%n", fmt.Sprint(1+r.IntN(9)), "%i", fmt.Sprint(r.IntN(3))).Replace(text)
}

// longChain is a chain of rules with the same few conditions and other values.
func longChain(r *rand.Rand) string {
	const before = `table inet t {
	set named { type ipv4_addr; elements = { 10.0.0.1, 10.0.0.4, 10.0.0.8 } }
	set ranges { type ipv4_addr; flags interval; elements = { 10.0.0.0-10.0.0.5, 10.0.0.16/28 } }
	set counted { type ipv4_addr; counter; elements = { 10.0.0.4, 10.0.0.12 } }
	set pairs { type ipv4_addr . inet_service; flags interval; elements = { 10.0.0.0/28 . 80-90 } }
	set dyn { type ipv4_addr; size 100; flags dynamic; elements = { 10.0.0.4 } }
	chain side { tcp dport 80 accept; ip saddr 10.0.0.8 drop; meta mark set 5; }
	chain c {
		type filter hook input priority 0; policy drop;
`
	const after = "\t}\n}\n"
	var b strings.Builder
	b.WriteString(before)
	var shapes []string
	for range 1 + r.IntN(5) {
		var s []string
		for range 1 + r.IntN(3) {
			s = append(s, conditions[r.IntN(len(conditions))])
		}
		shapes = append(shapes, strings.Join(s, " "))
	}
	common := endings[r.IntN(len(endings))]
	for range 20 + r.IntN(150) {
		shape, end := shapes[r.IntN(len(shapes))], common
		if r.IntN(4) == 0 {
			end = endings[r.IntN(len(endings))]
		}
		rule := values(r, shape+" "+end)
		if _, err := Compile(before + rule + "\n" + after); err == nil {
			b.WriteString("\t\t" + rule + "\n")
		}
	}
	b.WriteString(after)
	return b.String()
}

func longChainPacket(r *rand.Rand) string {
	proto := []string{"tcp", "udp", "tcp", "icmp"}[r.IntN(4)]
	src, dst := fmt.Sprintf("10.0.0.%d", r.IntN(48)), fmt.Sprintf("10.0.0.%d", r.IntN(48))
	if r.IntN(5) == 0 {
		src, dst = fmt.Sprintf("[fd00::%d]", r.IntN(10)), fmt.Sprintf("[fd00::%d]", r.IntN(10))
	}
	s := fmt.Sprintf("%s %s:%d > %s:%d", proto, src, 70+r.IntN(30), dst, 70+r.IntN(30))
	if proto == "icmp" {
		s = fmt.Sprintf("icmp 10.0.0.%d > 10.0.0.%d type=8", r.IntN(48), r.IntN(48))
	}
	for _, x := range []string{fmt.Sprintf("in=lan%d", r.IntN(3)), fmt.Sprintf("mark=%d", r.IntN(20)), "ct=established", "ttl=5", "frag=8"} {
		if r.IntN(3) == 0 {
			s += " " + x
		}
	}
	return s + " hook=input"
}

func TestClassifierOnLongChains(t *testing.T) {
	cases := 60
	if testing.Short() {
		cases = 30
	}
	ran, parsed := 0, 0
	for seed := uint64(1); seed <= uint64(cases); seed++ {
		r := rand.New(rand.NewPCG(seed, 9))
		rs, err := Compile(longChain(r))
		if err != nil {
			continue
		}
		ran++
		var packets []string
		for range 80 {
			line := longChainPacket(r)
			var p packet.Packet
			if packet.ParseTuple(line, &p) == nil {
				packets = append(packets, line)
			}
		}
		parsed += len(packets)
		sameWay(t, fmt.Sprintf("seed %d", seed), rs, eval.Env{Interfaces: []eval.Interface{{Name: "lan0", Index: 2}, {Name: "wan0", Index: 3}}}, packets)
	}
	if ran < cases/4 || parsed < 60*ran {
		t.Errorf("only %d of %d rulesets compiled, %d packets", ran, cases, parsed)
	}
	t.Logf("%d rulesets, %d packets", ran, parsed)
}
