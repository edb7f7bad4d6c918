// Package conntrack follows connections over a trace of packets as the
// kernel's nf_conntrack does, with the packets' own time as clock: it turns a
// packet into a [Conn] and an [Info] (new, established, related, reply or
// not), or into none, which rules see as invalid or untracked.
//
// [Tracker.In] is nf_conntrack_in, at prerouting and output; [Tracker.Confirm]
// is nf_conntrack_confirm, at the end of input and postrouting: a connection
// whose first packet is dropped before that is never known. [Defrag] is
// nf_defrag_ipv4 and nf_defrag_ipv6: it holds fragments back and returns the
// datagram with the last one. [NAT] and what belongs to it are nf_nat_core.
//
// Tracked are TCP (states, window checks, reopened and picked up connections),
// UDP and UDP-Lite, ICMP and ICMPv6 with the errors that belong to other
// connections, SCTP, GRE, and any other protocol by its addresses. Timeouts
// are the kernel's defaults. ICMPv6 neighbour and multicast listener
// discovery is untracked.
//
// A packet whose headers are cut off by the capture is judged by what is
// there: lengths are those on the wire, a checksum that cannot be computed
// counts as good.
//
// # Bounds
//
// At most [Config.Max] connections are held. A new one beyond that takes the
// place of an expired one, else of one that is not assured (early_drop), else
// the packet is dropped as the kernel does; [Stats] counts each. Reassembly
// holds at most [Config.FragMemory] bytes; beyond that the oldest datagram is
// given up. Nothing here panics on any packet.
package conntrack
