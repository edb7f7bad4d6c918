// Package kernel runs compiled rulesets and packets through the nf_tables of
// the running Linux kernel, in a network namespace that only the calling
// thread sees and that ends with it.
//
// A bytecode.Ruleset is encoded to netlink messages (through google/nftables
// where that library encodes what is meant, by hand where it cannot), loaded,
// and read back. Packets enter by TAP and TUN devices or raw sockets; what
// happened to each is read from the kernel's own trace messages
// (NFT_MSG_TRACE) and given as the same trace that package eval gives.
//
// Packets that the network stack drops between two hooks have no verdict:
// their outcome is "stack". Nothing here works without root; Available tells.
package kernel
