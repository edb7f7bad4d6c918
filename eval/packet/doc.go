// Package packet turns frames, captures and lines of packet notation into
// packets that the evaluator can run.
//
// A [Packet] is its bytes plus offsets, with the kernel's notion of each:
//
//	link layer   skb_mac_header    [Packet.LL], [Packet.LLLen]
//	network      skb_network_header [Packet.NH]
//	transport    nft_pktinfo.thoff [Info.TH], set by [Packet.Enter]
//	inner        nft_payload_inner_offset, [Packet.InnerOffset]
//
// [Packet.Decode] finds the link layer and network headers once. At each hook
// the kernel fills struct nft_pktinfo anew, by family; [Packet.Enter] does the
// same for a [View] and leaves the result in [Packet.Info]. [Packet.Load]
// reads bytes relative to one of the four headers, as nft_payload_eval does.
//
// All offsets are indexes into Packet.Data, in bytes; -1 stands for "no such
// header". Data holds the captured bytes, WireLen says how many there were on
// the wire. A load beyond the wire end fails in the kernel and breaks the rule
// ([PastEnd]); a load beyond the captured bytes, but before the wire end, has
// an answer that this capture does not hold ([Truncated]): the evaluator must
// report it, not guess. [Absent] names these and the other reasons.
//
// Nothing here panics on bad input: short frames, lying length fields and
// unknown link types give a packet with fewer headers and a reason. Decode,
// Enter and all loads allocate nothing.
//
// Captures (pcap, pcapng, gzip), tuple files, CSV and JSON Lines are read by
// the [Source] that [Open] returns; the packet notation is described at
// [ParseTuple].
package packet
