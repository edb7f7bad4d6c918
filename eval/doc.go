// Package eval runs packets through nf_tables bytecode and says what the
// kernel would do with each: the verdict, the hook, table, chain and rule that
// made it, and on demand the whole path.
//
// [New] validates a [bytecode.Ruleset] once and flattens its rules into small
// structs ([op]); [Engine.Run] then takes packets one by one, in order of
// time, and fills a [Result]. The loop is the kernel's nft_do_chain: registers
// are 64 bytes in 4-byte slots, an expression that breaks ends its rule, a
// verdict other than continue ends the chain.
//
// # What a packet meets
//
// A packet makes a trip through hooks ([Path]). At each hook stand the base
// chains of every table that sees packets of its protocol (IPv4: ip and inet,
// IPv6: ip6 and inet, ARP: arp; any packet: netdev, and inet ingress for IP),
// by priority; of two with equal priority the one that was registered later
// runs first (nf_hook_entries_grow). Drop is final, accept goes on to the next
// chain. If the ruleset uses connection tracking, its functions stand between
// the chains where the kernel has them: defragmentation at -400, tracking at
// -200, NAT at -100 and 100, confirmation at the end. Chains of type nat run
// inside the NAT function, for the first packet of a connection only; their
// priorities order them among each other (nf_nat_inet_fn).
//
// # Which hooks
//
// Hooks that the packet states (hook=, path=) are run as stated. Otherwise the
// host model ([Host]) routes the packet. Without one, a packet is taken as
// received and addressed to this host: ingress, prerouting, input; that
// assumption is in [Result.Assumed].
//
// Bridge chains see a packet only if it states a bridge port (ibrname,
// obrname), or if the ruleset has chains of the bridge family only.
//
// # What is not known
//
// A value that neither the packet nor [Env] gives (a random number, a socket,
// bytes that the capture cut off) is unknown, never guessed. When an unknown
// value decides whether an expression matches, the rest of the trip is run
// both ways, without side effects; if all ways end in the same verdict it is
// definite, else the verdict is [Unknown]. The reasons are in
// [Result.Unknown] either way. State (counters, limits, sets, connections,
// the packet's own bytes) follows the way on which the expression did not
// match.
//
// # Out of range
//
// A load past the end of the packet breaks the rule, as in the kernel. A
// seventeenth nested jump drops the packet. Jumps to missing chains, registers
// that do not exist, sets with keys of another length and the like are refused
// by [New]; nothing in a packet makes Run panic.
//
// An Engine is not safe for concurrent use: packets change its state.
package eval
