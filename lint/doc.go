// Package lint finds mistakes in resolved rulesets: rules that no packet can
// reach or match, names that nothing uses, elements without effect.
//
// Each mistake has a file of its own, named after its code, and beside it the
// document that `nftc explain CODE` prints, with an example that provokes the
// diagnostic and a fixed one that does not.
//
// A lint reports only what is wrong for every packet and every state. The
// contents of named sets count as unknown, since programs change them while
// the ruleset is loaded; so do counters, limits, times and random numbers. What
// the analysis does not understand it passes over. A comment silences a
// diagnostic on its line or the line below:
//
//	# nftc:ignore unused-chain
//	chain services { }
//
// Terms: the bounds of a rule are, for each field, the values that a packet
// which matches can have there; a condition is opaque when only its text can be
// compared with another's.
package lint
