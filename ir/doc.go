// Package ir turns a syntax tree into a resolved, typed ruleset: Resolve takes
// a parser.File and gives a Ruleset and diagnostics.
//
// Names are looked up, values have datatypes and byte orders, protocol
// dependencies are made explicit, elements of interval sets are normalised,
// merged or refused, and the commands of the file are applied in order to an
// empty ruleset, as the kernel would at commit. What is here corresponds to
// nft's evaluation phase and the kernel's validation; package compile turns it
// into nf_tables expressions without further checks.
//
// *Expression* here means a typed value in a rule or element.
package ir
