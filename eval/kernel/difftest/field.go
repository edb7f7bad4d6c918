package difftest

import (
	"fmt"
	"math/rand/v2"
)

// field is something that a rule can compare: its name in the language, where
// it may stand, and how its values look.
type field struct {
	expr     string
	families string // families in which it may stand: letters i(net) 4 6 n(etdev) b(ridge) a(rp); "" all but arp
	hooks    string // hooks in which it may stand, "" all
	val      func(r *rand.Rand) string
	// num is the largest value of an integer field, in which ranges and < >
	// make sense; 0: none.
	num uint64
	// set tells that the field is a set's key too (a fixed size).
	typ string // its type name in `type …` of a set; "" when typeof is needed
	// store tells that `expr set value` is a statement.
	store bool
	flags []string // bit names
}

// Pools of values that packets and rules share.
var (
	pool4     = []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.7", "10.0.0.8", "10.0.0.255", "10.0.1.0", "192.0.2.1", "192.0.2.128", "198.51.100.9", "203.0.113.77", "172.16.0.1"}
	pool6     = []string{"2001:db8::1", "2001:db8::2", "2001:db8::ff", "2001:db8::100", "2001:db8:0:1::1", "2001:db8:1::1", "fd00::1", "2001:db8:ffff::"}
	poolPort  = []uint64{1, 2, 7, 8, 21, 22, 23, 53, 79, 80, 81, 255, 256, 443, 1023, 1024, 8080, 32768, 65534, 65535}
	poolMAC   = []string{"02:00:00:00:00:01", "02:00:00:00:00:99", "02:00:00:00:01:00", "00:11:22:33:44:55"}
	poolSmall = []uint64{0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 127, 128, 254, 255}
	poolMark  = []uint64{0, 1, 2, 3, 15, 16, 255, 256, 0x10000, 0xffffffff}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// near returns a value of the pool or one beside it, at most max.
func near(r *rand.Rand, pool []uint64, max uint64) uint64 {
	v := pick(r, pool)
	switch r.IntN(6) {
	case 0:
		v++
	case 1:
		v--
	}
	if v > max {
		if r.IntN(2) == 0 {
			return max
		}
		v = r.Uint64N(max + 1)
	}
	return v
}

func addr4(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return fmt.Sprintf("10.0.%d.%d", r.IntN(3), pick(r, poolSmall))
	}
	return pick(r, pool4)
}

func addr6(r *rand.Rand) string { return pick(r, pool6) }

func number(pool []uint64, max uint64) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(near(r, pool, max)) }
}

func words(list ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return pick(r, list) }
}

func num(expr, families string, max uint64, pool []uint64) field {
	return field{expr: expr, families: families, num: max, val: number(pool, max)}
}

var (
	port  = func(expr, fam string) field { f := num(expr, fam, 65535, poolPort); f.typ = "inet_service"; return f }
	small = func(expr, fam string, bits int) field { return num(expr, fam, 1<<bits-1, poolSmall) }
	wide  = func(expr, fam string, bits int) field { return num(expr, fam, 1<<bits-1, poolMark) }
)

func (f field) storable() field { f.store = true; return f }

// fields is the table of everything that generated rules compare.
var fields = []field{
	{expr: "ip saddr", families: "i4nb", val: addr4, typ: "ipv4_addr", store: true},
	{expr: "ip daddr", families: "i4nb", val: addr4, typ: "ipv4_addr"},
	{expr: "ip6 saddr", families: "i6nb", val: addr6, typ: "ipv6_addr", store: true},
	{expr: "ip6 daddr", families: "i6nb", val: addr6, typ: "ipv6_addr"},
	{expr: "ip protocol", families: "i4nb", val: words("tcp", "udp", "icmp", "sctp", "esp", "gre", "dccp", "udplite", "ah", "comp", "89"), typ: "inet_proto"},
	{expr: "ip6 nexthdr", families: "i6nb", val: words("tcp", "udp", "ipv6-icmp", "sctp", "0", "43", "44", "60", "59"), typ: "inet_proto"},
	small("ip ttl", "i4nb", 8).storable(), small("ip6 hoplimit", "i6nb", 8).storable(),
	num("ip length", "i4nb", 65535, []uint64{20, 28, 40, 41, 60, 100, 1500}),
	num("ip6 length", "i6nb", 65535, []uint64{0, 8, 20, 21, 40, 100}),
	num("ip id", "i4nb", 65535, []uint64{0, 1, 2, 255, 65535}).storable(),
	{expr: "ip dscp", families: "i4nb", val: words("cs0", "cs1", "af11", "af21", "ef", "0x3f", "1", "cs7"), store: true, typ: "dscp"},
	{expr: "ip6 dscp", families: "i6nb", val: words("cs0", "cs1", "af11", "af21", "ef", "0x3f", "1", "cs7"), store: true, typ: "dscp"},
	{expr: "ip ecn", families: "i4nb", val: words("not-ect", "ect0", "ect1", "ce")},
	{expr: "ip6 ecn", families: "i6nb", val: words("not-ect", "ect0", "ect1", "ce")},
	num("ip version", "i4nb", 15, []uint64{4, 5, 6}), num("ip hdrlength", "i4nb", 15, []uint64{5, 6, 15}),
	num("ip6 flowlabel", "i6nb", 1<<20-1, []uint64{0, 1, 255, 0xfffff}),
	num("ip frag-off", "i4nb", 65535, []uint64{0, 1, 0x1fff, 0x2000, 0x4000, 185}),
	port("tcp sport", "").storable(), port("tcp dport", "").storable(), port("udp sport", "").storable(), port("udp dport", "").storable(),
	port("udplite sport", ""), port("udplite dport", ""), port("sctp sport", ""), port("sctp dport", ""), port("dccp sport", ""), port("dccp dport", ""),
	port("th sport", ""), port("th dport", ""),
	{expr: "tcp flags", flags: []string{"fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"}, typ: "tcp_flag"},
	num("tcp sequence", "", 1<<32-1, poolMark), num("tcp ackseq", "", 1<<32-1, poolMark), num("tcp window", "", 65535, poolPort).storable(),
	num("tcp doff", "", 15, []uint64{5, 6, 8, 15}), num("tcp urgptr", "", 65535, poolPort), num("tcp checksum", "", 65535, poolPort),
	num("udp length", "", 65535, []uint64{8, 9, 12, 20, 100}), num("udp checksum", "", 65535, poolPort),
	num("sctp vtag", "", 1<<32-1, poolMark),
	{expr: "icmp type", families: "i4nb", val: words("echo-reply", "echo-request", "destination-unreachable", "redirect", "time-exceeded", "timestamp-request", "42"), typ: "icmp_type"},
	{expr: "icmpv6 type", families: "i6nb", val: words("echo-reply", "echo-request", "destination-unreachable", "packet-too-big", "time-exceeded", "parameter-problem", "nd-neighbor-solicit", "nd-router-advert", "mld-listener-query", "200"), typ: "icmpv6_type"},
	small("icmp code", "i4nb", 8), small("icmpv6 code", "i6nb", 8), small("icmp id", "i4nb", 16), small("icmpv6 id", "i6nb", 16),
	small("icmp sequence", "i4nb", 16), small("icmpv6 sequence", "i6nb", 16), wide("icmp gateway", "4", 32), small("icmp mtu", "i4nb", 16), wide("icmpv6 mtu", "i6nb", 32),
	wide("esp spi", "", 32), wide("esp sequence", "", 32), wide("ah spi", "", 32), small("ah hdrlength", "", 8), small("comp cpi", "", 16), small("comp flags", "", 8),
	small("gre version", "", 3), {expr: "gre protocol", val: words("ip", "ip6", "0x6558")},
	small("igmp mrt", "i4nb", 8), {expr: "igmp group", families: "4", val: addr4}, {expr: "dccp type", val: words("request", "response", "data", "ack", "reset")},
	{expr: "ether saddr", val: words(poolMAC...), typ: "ether_addr", hooks: "prerouting input forward ingress"}, {expr: "ether daddr", val: words(poolMAC...), typ: "ether_addr", hooks: "prerouting input forward ingress"},
	{expr: "ether type", val: words("ip", "ip6", "arp", "0x88b5"), hooks: "prerouting input forward ingress", typ: "ether_type"},
	{expr: "meta l4proto", val: words("tcp", "udp", "icmp", "ipv6-icmp", "sctp", "esp", "gre", "dccp", "89"), typ: "inet_proto"},
	{expr: "meta nfproto", families: "in", val: words("ipv4", "ipv6"), typ: "nf_proto"},
	{expr: "meta protocol", val: words("ip", "ip6", "arp"), typ: "ether_type"},
	num("meta length", "", 1<<32-1, []uint64{20, 28, 40, 41, 48, 60, 100, 1500}),
	func() field { f := num("meta mark", "", 1<<32-1, poolMark); f.store, f.typ = true, "mark"; return f }(),
	{expr: "meta iifname", val: words(`"eth0"`, `"eth*"`, `"lo"`, `"e*"`), hooks: "prerouting input forward ingress"},
	{expr: "meta oifname", val: words(`"eth1"`, `"eth*"`, `"eth0"`), hooks: "forward postrouting output egress"},
	{expr: "meta pkttype", val: words("host", "broadcast", "multicast", "other"), hooks: "prerouting input forward ingress", typ: "pkt_type"},
	{expr: "meta iiftype", val: words("ether", "loopback"), hooks: "prerouting input forward ingress"},
	{expr: "frag more-fragments", families: "i6nb", val: words("0", "1")}, num("frag frag-off", "i6nb", 1<<13-1, []uint64{0, 1, 8, 185}), wide("frag id", "i6nb", 32), small("frag nexthdr", "i6nb", 8),
	small("hbh nexthdr", "i6nb", 8), small("hbh hdrlength", "i6nb", 8), small("dst nexthdr", "i6nb", 8), small("rt type", "i6nb", 8), small("rt seg-left", "i6nb", 8), small("mh nexthdr", "i6nb", 8),
	{expr: "exthdr hbh", families: "i6nb", val: words("exists", "missing")}, {expr: "exthdr frag", families: "i6nb", val: words("exists", "missing")}, {expr: "exthdr dst", families: "i6nb", val: words("exists", "missing")}, {expr: "exthdr rt", families: "i6nb", val: words("exists", "missing")},
	num("tcp option maxseg size", "", 65535, []uint64{0, 536, 1400, 1460, 65535}), small("tcp option window count", "", 8), wide("tcp option timestamp tsval", "", 32), small("tcp option maxseg length", "", 8),
	{expr: "tcp option sack-perm", val: words("exists", "missing")}, {expr: "tcp option maxseg", val: words("exists", "missing")}, {expr: "tcp option timestamp", val: words("exists", "missing")}, {expr: "tcp option window", val: words("exists", "missing")}, {expr: "tcp option 253", val: words("exists", "missing")},
	{expr: "ip option rr", families: "i4nb", val: words("exists", "missing")}, {expr: "ip option ra", families: "i4nb", val: words("exists", "missing")}, {expr: "ip option lsrr", families: "i4nb", val: words("exists", "missing")},
	{expr: "sctp chunk init", val: words("exists", "missing")}, {expr: "sctp chunk data", val: words("exists", "missing")}, wide("sctp chunk init init-tag", "", 32),
	{expr: "vlan id", families: "ib", val: number([]uint64{1, 2, 5, 4095}, 4095), num: 4095, hooks: "prerouting ingress"}, {expr: "vlan pcp", families: "b", val: number([]uint64{0, 1, 7}, 7), num: 7, hooks: "prerouting"},
	{expr: "fib daddr type", families: "i46", val: words("local", "unicast", "broadcast", "multicast"), hooks: "prerouting input"},
	{expr: "fib saddr type", families: "i46", val: words("local", "unicast"), hooks: "prerouting input"},
	{expr: "fib saddr . iif oif", families: "i46", val: words("0", "\"eth0\""), hooks: "prerouting input"},
	{expr: "fib daddr . iif oifname", families: "i46", val: words("\"eth1\"", "\"lo\""), hooks: "prerouting input"},
	{expr: "fib daddr oif", families: "i46", val: words("exists", "missing"), hooks: "prerouting input"},
	{expr: "meta ipsec", families: "i46", val: words("exists", "missing"), hooks: "prerouting input"},
	{expr: "meta iifkind", val: words(`"tun"`, `"dummy"`), hooks: "prerouting input forward ingress"},
	{expr: "meta iifgroup", val: words("default", "1"), hooks: "prerouting input forward ingress"},
	{expr: "meta day", val: words("\"Monday\"", "\"Sunday\"")}, {expr: "meta hour", val: words("\"00:00\"-\"23:59\"")},
	{expr: "meta time", val: words("\"2020-01-01 00:00:00\"-\"2060-01-01 00:00:00\"")},
	num("vxlan vni", "", 1<<24-1, poolMark), {expr: "vxlan ip saddr", families: "i4", val: addr4}, port("vxlan udp dport", ""), port("vxlan tcp dport", ""), {expr: "gre ip saddr", families: "i4", val: addr4}, {expr: "gre ip protocol", families: "i4", val: words("tcp", "udp", "icmp")}, {expr: "geneve ip daddr", families: "i4", val: addr4}, {expr: "gretap ip saddr", families: "i4", val: addr4},
	{expr: "arp operation", families: "a", val: words("request", "reply", "rrequest")}, {expr: "arp saddr ip", families: "a", val: addr4, store: true}, {expr: "arp daddr ip", families: "a", val: addr4}, {expr: "arp htype", families: "a", val: words("1", "6")}, {expr: "arp plen", families: "a", val: words("4", "6")}, {expr: "arp saddr ether", families: "a", val: words(poolMAC...)},
	small("@nh,0,8", "", 8), small("@nh,8,16", "", 16), wide("@nh,96,32", "", 32), small("@nh,3,5", "", 5), small("@nh,150,9", "", 9), small("@th,0,16", "", 16), wide("@th,32,32", "", 32), small("@th,100,4", "", 4), small("@th,160,8", "", 8), small("@ih,0,8", "", 8), small("@ih,8,16", "", 16),
}

// ctFields need connection tracking, which changes the trip: they are used in
// some rulesets only.
var ctFields = []field{
	{expr: "ct state", flags: []string{"new", "established", "related", "invalid", "untracked"}, typ: "ct_state"},
	{expr: "ct direction", val: words("original", "reply"), typ: "ct_dir"},
	func() field { f := num("ct mark", "", 1<<32-1, poolMark); f.store, f.typ = true, "mark"; return f }(),
	{expr: "ct status", flags: []string{"seen-reply", "assured", "confirmed", "snat", "dnat"}},
	{expr: "ct protocol", val: words("tcp", "udp", "icmp"), typ: "inet_proto"},
	port("ct original proto-dst", ""), port("ct reply proto-src", ""), port("ct original proto-src", ""),
	{expr: "ct original ip saddr", families: "i4", val: addr4, typ: "ipv4_addr"}, {expr: "ct reply ip daddr", families: "i4", val: addr4, typ: "ipv4_addr"}, {expr: "ct original ip6 daddr", families: "i6", val: addr6},
	{expr: "ct label", val: words("1", "2", "127")}, num("ct packets", "", 1<<20, []uint64{0, 1, 2, 3}), num("ct original bytes", "", 1<<20, []uint64{0, 28, 40, 100}),
	{expr: "ct helper", val: words(`"ftp"`)}, {expr: "ct l3proto", families: "i46", val: words("ipv4", "ipv6")},
	num("ct zone", "", 65535, []uint64{0, 1, 2}),
}
