package difftest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nftc/nftc/eval/kernel"
)

// generator makes the ruleset of one case.
type generator struct {
	r      *rand.Rand
	trip   kernel.Trip
	ct     bool // uses connection tracking
	nat    bool // and translates
	fields []field

	table *Table
	fam   byte // letter of the table's family, as in field.families
	names int
	sets  []namedSet
}

// namedSet is a set or map of the table that rules can use.
type namedSet struct {
	name string
	key  []field
	kind string // set, mark (map to marks), verdict, counter, dynamic
}

// Generate makes the case of a seed, with n packets.
func Generate(seed uint64, n int) *Case {
	r := rand.New(rand.NewPCG(seed, 0x6e667463))
	trips := []kernel.Trip{kernel.TripInput, kernel.TripInput, kernel.TripForward, kernel.TripForward, kernel.TripOutput, kernel.TripBridge}
	g := &generator{r: r, trip: pick(r, trips), ct: r.IntN(4) == 0}
	if g.trip == kernel.TripBridge {
		g.ct = false
	}
	g.nat = g.ct && r.IntN(2) == 0
	g.fields = fields
	if g.ct {
		g.fields = append(append([]field(nil), fields...), ctFields...)
		g.fields = append(g.fields, ctFields...) // more often
	}
	c := &Case{Seed: seed, Trip: g.trip}
	for i := range 1 + r.IntN(3) {
		c.Tables = append(c.Tables, g.makeTable(i))
	}
	prune(c)
	for len(c.Packets) < n {
		if r.IntN(8) == 0 {
			c.Packets = append(c.Packets, genFlow(r)...)
			continue
		}
		c.Packets = append(c.Packets, genPacket(r, g.trip))
	}
	return c
}

// hooksOf lists the hooks that a trip visits in a family.
func hooksOf(trip kernel.Trip, family string) []string {
	if family == "netdev" {
		switch trip {
		case kernel.TripOutput:
			return []string{"egress"}
		case kernel.TripForward:
			return []string{"ingress", "egress"}
		}
		return []string{"ingress"}
	}
	if family == "arp" {
		return []string{"input"}
	}
	switch trip {
	case kernel.TripInput:
		return []string{"prerouting", "input"}
	case kernel.TripForward:
		return []string{"prerouting", "forward", "postrouting"}
	case kernel.TripOutput:
		return []string{"output", "postrouting"}
	}
	return []string{"prerouting", "forward", "postrouting"}
}

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *generator) makeTable(i int) *Table {
	r := g.r
	family := pick(r, []string{"inet", "inet", "inet", "ip", "ip6", "netdev", "inet", "ip", "arp"})
	if family == "arp" && g.trip != kernel.TripInput {
		family = "inet"
	}
	if g.trip == kernel.TripBridge {
		family = pick(r, []string{"bridge", "bridge", "netdev"})
	}
	t := &Table{Family: family, Name: fmt.Sprintf("t%d", i)}
	g.table, g.sets = t, nil
	g.fam = map[string]byte{"inet": 'i', "ip": '4', "ip6": '6', "netdev": 'n', "bridge": 'b', "arp": 'a'}[family]
	hooks := hooksOf(g.trip, family)
	for range r.IntN(4) {
		g.makeSet(hooks)
	}
	// Regular chains call only those that come after them: no loops.
	var regular []*Chain
	for range r.IntN(4) {
		regular = append(regular, &Chain{Name: g.name("c")})
	}
	for i := len(regular) - 1; i >= 0; i-- {
		g.makeRules(regular[i], hooks, regular[i+1:], false)
	}
	var base []*Chain
	for range 1 + r.IntN(3) {
		h := pick(r, hooks)
		if family == "inet" && g.trip != kernel.TripOutput && r.IntN(8) == 0 {
			h = "ingress"
		}
		if g.nat && family != "netdev" && family != "arp" && r.IntN(3) == 0 {
			base = append(base, g.natChain(h))
			continue
		}
		prio := pick(r, []int{-350, -310, -150, -10, 0, 0, 0, 10, 50, 120})
		dev := ""
		if family == "netdev" || h == "ingress" {
			d := "eth0"
			if h == "egress" {
				d = "eth1"
			}
			dev = fmt.Sprintf(" device %q", d)
		}
		if g.ct && family != "netdev" && family != "arp" && h != "ingress" && r.IntN(6) == 0 {
			prio = -301
		}
		ch := &Chain{Name: g.name("b"), Hook: fmt.Sprintf("type filter hook %s%s priority %d; policy %s;", h, dev, prio, pick(r, []string{"accept", "accept", "drop"}))}
		g.makeRules(ch, []string{h}, regular, true)
		base = append(base, ch)
	}
	t.Chains = append(regular, base...)
	return t
}

// usable tells whether a field may stand in a chain that is reached from hooks.
func (g *generator) usable(f field, hooks []string) bool {
	if f.families == "" && g.fam == 'a' && !strings.HasPrefix(f.expr, "meta") {
		return false
	}
	if f.families != "" && strings.IndexByte(f.families, g.fam) < 0 {
		return false
	}
	if strings.HasPrefix(f.expr, "ct ") && (g.fam == 'n' || g.fam == 'b') {
		return false
	}
	for _, h := range hooks {
		if f.hooks != "" && !strings.Contains(" "+f.hooks+" ", " "+h+" ") {
			return false
		}
	}
	return true
}

func (g *generator) field(hooks []string, ok func(field) bool) (field, bool) {
	for range 200 {
		f := pick(g.r, g.fields)
		if g.usable(f, hooks) && (ok == nil || ok(f)) {
			return f, true
		}
	}
	return field{}, false
}

// value writes one value of a field: constants, or with ranges also ranges and
// prefixes.
func (g *generator) value(f field, ranges bool) string {
	r := g.r
	if f.flags != nil {
		return pick(r, f.flags)
	}
	if !ranges {
		for {
			if v := f.val(r); !strings.Contains(v, "*") {
				return v
			}
		}
	}
	switch {
	case f.num > 0 && r.IntN(2) == 0:
		a, b := near(r, poolPort, f.num), near(r, poolSmall, f.num)
		if a > b {
			a, b = b, a
		}
		if a == b {
			return fmt.Sprint(a)
		}
		return fmt.Sprintf("%d-%d", a, b)
	case f.typ == "ipv4_addr" && r.IntN(2) == 0:
		if r.IntN(2) == 0 {
			return fmt.Sprintf("10.0.%d.%d-10.0.2.%d", r.IntN(2), pick(r, poolSmall), pick(r, poolSmall))
		}
		return pick(r, []string{"10.0.0.0/8", "10.0.0.0/29", "10.0.0.8/30", "192.0.2.128/25", "10.0.0.0/23", "203.0.113.64/26"})
	case f.typ == "ipv6_addr" && r.IntN(2) == 0:
		return pick(r, []string{"2001:db8::/64", "2001:db8::/121", "2001:db8::1-2001:db8::ff", "fd00::/7", "2001:db8:1::/48"})
	}
	return g.value(f, false)
}

// distinct writes a list of values that do not clash in an interval set.
func (g *generator) list(f field, ranges bool) string {
	n := 1 + g.r.IntN(4)
	if ranges && (f.num > 0 || f.typ == "ipv4_addr" || f.typ == "ipv6_addr") {
		return g.value(f, true) // a list could overlap, which nft refuses
	}
	seen := map[string]bool{}
	var out []string
	for range n {
		if v := g.value(f, false); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return strings.Join(out, ", ")
}

// match writes one comparison.
func (g *generator) match(hooks []string) string {
	r := g.r
	if len(g.sets) > 0 && r.IntN(4) == 0 {
		if s, ok := g.pickSet(hooks, "set", "dynamic"); ok {
			return keyExpr(s.key) + pick(r, []string{" ", " ", " != "}) + "@" + s.name
		}
	}
	if r.IntN(6) == 0 {
		if m, ok := g.concatMatch(hooks); ok {
			return m
		}
	}
	f, ok := g.field(hooks, nil)
	if !ok {
		return "meta length > 0"
	}
	if f.flags != nil {
		a, b := pick(r, f.flags), pick(r, f.flags)
		switch r.IntN(7) {
		case 0:
			return fmt.Sprintf("%s %s,%s", f.expr, a, b)
		case 1:
			return fmt.Sprintf("%s & (%s | %s) == %s", f.expr, a, b, a)
		case 2:
			return fmt.Sprintf("%s == %s", f.expr, a)
		case 3:
			return fmt.Sprintf("%s != %s", f.expr, a)
		case 4:
			return fmt.Sprintf("%s { %s }", f.expr, g.list(f, false))
		case 5:
			return fmt.Sprintf("%s & %s != 0", f.expr, a)
		}
		return fmt.Sprintf("%s %s", f.expr, a)
	}
	op := pick(r, []string{"", "", "", "!= "})
	switch r.IntN(5) {
	case 0:
		return fmt.Sprintf("%s %s{ %s }", f.expr, op, g.list(f, false))
	case 1:
		return fmt.Sprintf("%s %s{ %s }", f.expr, op, g.list(f, true))
	case 2:
		if f.num > 0 {
			return fmt.Sprintf("%s %s %s", f.expr, pick(r, []string{"<", ">", "<=", ">="}), f.val(r))
		}
	case 3:
		if f.num > 0 {
			mask := near(r, []uint64{1, 2, 3, 7, 15, 0xf0, 0xff, 0xff00}, f.num)
			return fmt.Sprintf("%s %s 0x%x %s %d", f.expr, pick(r, []string{"&", "&", "|", "^"}), mask, pick(r, []string{"==", "!=", "==", ">"}), r.Uint64N(mask+1)&mask)
		}
		if f.typ == "ipv4_addr" {
			return fmt.Sprintf("%s & 255.255.255.%d %s 10.0.0.%d", f.expr, pick(r, []int{0, 128, 248, 7}), pick(r, []string{"==", "!="}), pick(r, []int{0, 0, 8}))
		}
	}
	return fmt.Sprintf("%s %s%s", f.expr, op, g.value(f, true))
}

func keyExpr(key []field) string {
	var parts []string
	for _, f := range key {
		parts = append(parts, f.expr)
	}
	return strings.Join(parts, " . ")
}

// pickSet finds a set of one of the kinds whose key may stand in hooks.
func (g *generator) pickSet(hooks []string, kinds ...string) (namedSet, bool) {
	for range 20 {
		s := pick(g.r, g.sets)
		for _, k := range kinds {
			ok := s.kind == k
			for _, f := range s.key {
				ok = ok && g.usable(f, hooks)
			}
			if ok {
				return s, true
			}
		}
	}
	return namedSet{}, false
}

// key chooses the fields of a concatenation: of different headers that can be
// in one packet.
func (g *generator) key(hooks []string, n int) ([]field, bool) {
	var out []field
	l3, l4 := "", ""
	for range 300 {
		if len(out) == n {
			return out, true
		}
		f, ok := g.field(hooks, func(f field) bool { return f.typ != "" && f.flags == nil })
		if !ok {
			return nil, false
		}
		head, _, _ := strings.Cut(f.expr, " ")
		dup := false
		for _, o := range out {
			dup = dup || o.expr == f.expr
		}
		switch head {
		case "ip", "ip6":
			if dup = dup || l3 != "" && l3 != head; !dup {
				l3 = head
			}
		case "icmp", "icmpv6", "tcp", "udp", "th", "sctp", "udplite", "dccp":
			if dup = dup || l4 != "" && l4 != head || head == "icmp" && l3 == "ip6" || head == "icmpv6" && l3 == "ip"; !dup {
				l4 = head
				if head == "icmp" {
					l3 = "ip"
				} else if head == "icmpv6" {
					l3 = "ip6"
				}
			}
		}
		if !dup {
			out = append(out, f)
		}
	}
	return nil, false
}

// element writes one concatenated element.
func (g *generator) element(key []field, ranges bool) string {
	var parts []string
	for _, f := range key {
		parts = append(parts, g.value(f, ranges))
	}
	return strings.Join(parts, " . ")
}

func (g *generator) concatMatch(hooks []string) (string, bool) {
	key, ok := g.key(hooks, 2+g.r.IntN(3))
	if !ok {
		return "", false
	}
	ranges := g.r.IntN(2) == 0
	n := 1 + g.r.IntN(3)
	if ranges {
		n = 1
	}
	seen := map[string]bool{}
	var els []string
	for range n {
		if e := g.element(key, ranges); !seen[e] {
			seen[e] = true
			els = append(els, e)
		}
	}
	return fmt.Sprintf("%s %s{ %s }", keyExpr(key), pick(g.r, []string{"", "", "!= "}), strings.Join(els, ", ")), true
}

var verdicts = []string{"accept", "drop", "continue", "return", "accept", "drop"}

// makeSet declares a set or map.
func (g *generator) makeSet(hooks []string) {
	r := g.r
	n := pick(r, []int{1, 1, 2, 2, 3, 4})
	key, ok := g.key(hooks, n)
	if !ok {
		return
	}
	s := namedSet{name: g.name("s"), key: key, kind: pick(r, []string{"set", "set", "set", "mark", "verdict", "dynamic", "counter"})}
	ranges := r.IntN(2) == 0 && s.kind != "dynamic"
	var types []string
	for _, f := range key {
		types = append(types, f.typ)
	}
	typ := strings.Join(types, " . ")
	var flags []string
	if ranges {
		flags = append(flags, "interval")
	}
	var b strings.Builder
	kind := "set"
	switch s.kind {
	case "mark":
		kind, typ = "map", typ+" : mark"
	case "verdict":
		kind, typ = "map", typ+" : verdict"
	case "counter":
		kind, typ = "map", typ+" : counter"
		for i := range 2 {
			g.table.Decls = append(g.table.Decls, fmt.Sprintf("\tcounter %s_%d {\n\t}\n", s.name, i))
		}
	case "dynamic":
		flags = append(flags, "dynamic")
	}
	fmt.Fprintf(&b, "\t%s %s {\n\t\ttype %s\n", kind, s.name, typ)
	if len(flags) > 0 {
		fmt.Fprintf(&b, "\t\tflags %s\n", strings.Join(flags, ", "))
	}
	if s.kind == "dynamic" {
		fmt.Fprintf(&b, "\t\tsize %d\n", pick(r, []int{4, 64, 65535}))
	} else {
		seen := map[string]bool{}
		var els []string
		count := 1 + r.IntN(8)
		if ranges {
			count = 1 + r.IntN(3)
		}
		for range count {
			e := g.element(key, ranges)
			if seen[e] {
				continue
			}
			seen[e] = true
			switch s.kind {
			case "mark":
				e += fmt.Sprintf(" : %d", pick(r, poolMark))
			case "verdict":
				e += " : " + pick(r, verdicts)
			case "counter":
				e += fmt.Sprintf(" : \"%s_%d\"", s.name, r.IntN(2))
			}
			els = append(els, e)
		}
		if r.IntN(8) == 0 && s.kind != "set" {
			switch s.kind {
			case "mark":
				els = append(els, "* : 99")
			case "verdict":
				els = append(els, "* : "+pick(r, verdicts))
			}
		}
		fmt.Fprintf(&b, "\t\telements = { %s }\n", strings.Join(els, ", "))
	}
	b.WriteString("\t}\n")
	g.table.Decls = append(g.table.Decls, b.String())
	g.sets = append(g.sets, s)
}

// makeRules fills a chain.
func (g *generator) makeRules(ch *Chain, hooks []string, callable []*Chain, base bool) {
	for range 1 + g.r.IntN(6) {
		var parts []string
		for range 1 + g.r.IntN(2) + g.r.IntN(2) {
			parts = append(parts, g.match(hooks))
		}
		for range g.r.IntN(2) + g.r.IntN(2)*g.r.IntN(2) {
			if s := g.statement(hooks); s != "" {
				parts = append(parts, s)
			}
		}
		if v := g.verdict(hooks, callable); v != "" {
			parts = append(parts, v)
		}
		ch.Rules = append(ch.Rules, strings.Join(parts, " "))
	}
}

func (g *generator) verdict(hooks []string, callable []*Chain) string {
	r := g.r
	if len(g.sets) > 0 && r.IntN(6) == 0 {
		if s, ok := g.pickSet(hooks, "verdict"); ok {
			return fmt.Sprintf("%s vmap @%s", keyExpr(s.key), s.name)
		}
	}
	switch r.IntN(8) {
	case 0:
		if len(callable) > 0 {
			return pick(r, []string{"jump ", "goto "}) + pick(r, callable).Name
		}
	case 1:
		if f, ok := g.field(hooks, func(f field) bool { return f.typ != "" && f.flags == nil }); ok {
			return fmt.Sprintf("%s vmap { %s : %s }", f.expr, g.value(f, true), pick(r, verdicts))
		}
	case 2:
		return ""
	case 3:
		if h := strings.Join(hooks, " "); (g.fam == 'i' || g.fam == '4' || g.fam == '6') && !strings.Contains(h, "gress") && !strings.Contains(h, "prerouting") && !strings.Contains(h, "postrouting") && r.IntN(3) == 0 {
			return "reject"
		}
	}
	return pick(r, verdicts)
}

// statement writes one statement that is no verdict.
func (g *generator) statement(hooks []string) string {
	r := g.r
	switch r.IntN(18) {
	case 14:
		return pick(r, []string{"log prefix \"x \"", "log level debug flags all"})
	case 15:
		if g.ct && (g.fam == 'i' || g.fam == '4' || g.fam == '6') {
			if !g.nat && r.IntN(4) == 0 {
				return "ct zone set 1"
			}
			return pick(r, []string{"notrack", "ct label set 1", "ct mark set 0x10", "ct event set new"})
		}
	case 16:
		if len(g.sets) > 0 {
			if s, ok := g.pickSet(hooks, "dynamic"); ok {
				extra := pick(r, []string{"", " counter", " limit rate over 1/day burst 2 packets", " quota over 200 bytes", " timeout 1h", " counter quota 500 bytes"})
				return fmt.Sprintf("%s @%s { %s%s }", pick(r, []string{"add", "update"}), s.name, keyExpr(s.key), extra)
			}
		}
	case 17:
		if f, ok := g.field(hooks, func(f field) bool { return f.num > 0 && f.num < 1<<16 && !strings.HasPrefix(f.expr, "@") }); ok {
			return pick(r, []string{
				fmt.Sprintf("meta mark set %s", f.expr), fmt.Sprintf("meta mark set %s & 0xf", f.expr),
				fmt.Sprintf("meta mark set %s map { 0-10 : 1, 11-255 : 2, 256-%d : 3 }", f.expr, max(f.num, 257)),
				fmt.Sprintf("meta mark set symhash mod %d", 2+r.IntN(8)), fmt.Sprintf("meta mark set meta mark | %s", f.expr),
				"meta mark set numgen inc mod 3 map { 0 : 7, 1 : 8, 2 : 9 }",
				fmt.Sprintf("meta priority set 1:%d", r.IntN(16)), "meta nftrace set 1", "meta pkttype set host",
				fmt.Sprintf("meta mark set jhash %s mod 16 seed 0x%x offset 3", f.expr, r.Uint32()),
			})
		}
	case 0, 1:
		return "counter"
	case 2:
		return fmt.Sprintf("meta mark set %d", pick(r, poolMark))
	case 3:
		return pick(r, []string{"meta mark set meta mark and 0xff", "meta mark set meta mark or 0x10", "meta mark set meta mark xor 0x3",
			"meta mark set meta mark << 4", "meta mark set meta mark >> 1", "meta mark set meta mark and 0xf or 0x30", "meta mark set meta length"})
	case 4:
		if f, ok := g.field(hooks, func(f field) bool { return f.store && !strings.HasPrefix(f.expr, "meta") }); ok {
			return fmt.Sprintf("%s set %s", f.expr, g.value(f, false))
		}
	case 5:
		if len(g.sets) > 0 {
			if s, ok := g.pickSet(hooks, "mark"); ok {
				return fmt.Sprintf("meta mark set %s map @%s", keyExpr(s.key), s.name)
			}
		}
	case 6:
		if len(g.sets) > 0 {
			if s, ok := g.pickSet(hooks, "dynamic"); ok {
				return fmt.Sprintf("%s @%s { %s }", pick(r, []string{"add", "update", "add", g.deletes()}), s.name, keyExpr(s.key))
			}
		}
	case 7:
		if len(g.sets) > 0 {
			if s, ok := g.pickSet(hooks, "counter"); ok {
				return fmt.Sprintf("counter name %s map @%s", keyExpr(s.key), s.name)
			}
		}
	case 8: // only the burst passes while the test runs
		return fmt.Sprintf("limit rate %s1/day burst %d packets", pick(r, []string{"", "over "}), pick(r, []int{1, 3, 10}))
	case 9:
		return fmt.Sprintf("quota %s%d bytes", pick(r, []string{"", "over "}), pick(r, []int{100, 500, 5000}))
	case 10:
		return fmt.Sprintf("meta mark set numgen inc mod %d offset %d", 1+r.IntN(5), r.IntN(3))
	case 11:
		if f, ok := g.field(hooks, func(f field) bool { return f.typ == "ipv4_addr" || f.typ == "inet_service" }); ok {
			return fmt.Sprintf("meta mark set jhash %s mod %d seed 0x%x", f.expr, 2+r.IntN(100), r.Uint32())
		}
	case 12:
		return pick(r, []string{"tcp option maxseg size set 1200", "reset tcp option sack-perm", "reset tcp option timestamp", "tcp option maxseg size set 65535", "reset tcp option maxseg"})
	case 13:
		if g.ct && g.fam != 'n' {
			return pick(r, []string{"ct mark set meta mark", "meta mark set ct mark", "ct mark set 7", "ct mark set ct mark or 0x100"})
		}
		return "last"
	}
	return ""
}

// natChain makes a nat chain at a hook, for a table that may have one.
func (g *generator) natChain(hook string) *Chain {
	r := g.r
	if hook == "forward" || hook == "ingress" {
		hook = pick(r, []string{"prerouting", "postrouting"})
	}
	prio := pick(r, []int{-100, -90, 0, 100})
	ch := &Chain{Name: g.name("n"), Hook: fmt.Sprintf("type nat hook %s priority %d; policy accept;", hook, prio)}
	family := ""
	if g.fam == 'i' {
		family = pick(r, []string{" ip", " ip6"})
	}
	six := g.fam == '6' || family == " ip6"
	to := addr4(r)
	more := fmt.Sprintf("10.0.0.%d-10.0.0.%d", 1+r.IntN(3), 4+r.IntN(8))
	if six {
		to, more = addr6(r), "2001:db8::5-2001:db8::9"
	}
	for range 1 + r.IntN(3) {
		var s string
		src := hook == "postrouting" || hook == "input"
		kind := "dnat"
		if src {
			kind = "snat"
		}
		switch r.IntN(6) {
		case 0, 1:
			s = fmt.Sprintf("%s%s to %s", kind, family, to)
		case 2:
			port := fmt.Sprintf("%d", 1000+r.IntN(5))
			addr := to
			if six {
				addr = "[" + to + "]"
			}
			s = fmt.Sprintf("%s %s%s to %s:%s", pick(r, []string{"tcp dport 1-1024", "udp dport != 53", "meta l4proto { tcp, udp }"}), kind, family, addr, port)
		case 3:
			s = fmt.Sprintf("%s%s to %s%s", kind, family, more, pick(r, []string{"", " persistent"}))
		case 4:
			if hook == "postrouting" {
				s = "masquerade"
			} else if hook == "prerouting" || hook == "output" {
				s = "meta l4proto { tcp, udp } redirect to :8080"
			} else {
				s = "counter"
			}
		case 5:
			s = pick(r, []string{"accept", "return", "counter"})
		}
		m := ""
		if r.IntN(3) != 0 {
			m = g.match([]string{hook}) + " "
		}
		ch.Rules = append(ch.Rules, m+s)
	}
	return ch
}

// deletes is the operation that takes elements out of a dynamic set, where no
// set of the table is small: the kernel gives the place back some time later
// (nft_rhash_gc).
func (g *generator) deletes() string {
	for _, d := range g.table.Decls {
		if strings.Contains(d, "size 4\n") || strings.Contains(d, "size 64\n") {
			return "add"
		}
	}
	return "delete"
}
