// Package compile turns a resolved ruleset into nf_tables expressions and sets.
//
// It corresponds to nft's linearisation: registers are allocated, payload loads
// of neighbouring fields are merged, interval elements become start and end
// points. Input that Resolve accepted always compiles.
package compile
