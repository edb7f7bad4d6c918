// Package parser turns nft source text into a syntax tree and back.
//
// The tree says what was written, not what it means: names are not looked up,
// `tcp dport 22` has a left side and a right side but no types. Every node has
// the span of its text; comments are kept beside the tree (File.Comments) so
// that Format can put them back. *Expression* here means a value in a rule,
// element or definition.
//
// Includes are parsed where they stand: the items of an included file belong
// to the Include node that brought them.
package parser
