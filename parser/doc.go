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
//
// # How it works
//
// The scanner (lexer.go) cuts one token at a time from the text, so that a list
// of a million elements costs its nodes and nothing else. Its tokens are broad:
// which words are keywords depends on the place. Those that nft's scanner knows
// in every state are in the table keywords, those that it knows only behind
// some words in stateWords.
//
// What has a fixed shape (the places that commands name, limit, log, quota,
// the definitions of objects, …) is a participle grammar: a struct with tags,
// built when it is first needed and run over a window of the tokens that lie
// ahead (micro.go). What is recursive, long or chosen by its first word has
// productions by hand: expressions (expr.go, selector.go), lists of elements
// (elements.go, from slabs), statements (stmt.go), blocks (block.go) and the
// way on behind an error (recover.go).
//
// # Out of range
//
// An error is reported once; reading goes on behind the next separator at the
// depth of the item in which it happened, or in front of the brace that closes
// its block. Ten errors end the parse, as they end nft's. The tree holds every
// item without an error. Braces and parentheses nest 1000 deep, scopes four
// (file, table, chain, anonymous chain), includes 16 (all reported in nft's
// words). A panic of the parser itself becomes a diagnostic of the code
// internal-error.
//
// Codes: syntax-error, unknown-field (of a header), unknown-identifier and
// redefinition (of definitions), unknown-hook, unknown-flag, duplicate,
// bad-time, value-too-large, zero-length, zero-burst, comment-too-long,
// bad-interface, bad-helper, bad-context, bad-define, fib, no-typeof,
// unknown-base, unsupported-xt, too-deep, file-not-found, file-unreadable,
// file-too-large, include-refused, include-pattern, include-too-deep,
// internal-error. Where nft has a wording, the message contains it.
//
// # Differences from nft 1.1.7
//
// nft's scanner forgets to leave the state of `limit rate` when another
// statement with two keywords of its own follows (`limit rate 1/second log
// flags tcp options flags ip options`) and then takes the next `$` for junk;
// here it does not. A block may not begin in one file and end in another.
package parser
