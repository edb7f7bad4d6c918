// Package difftest makes rulesets and packets at random, runs them through the
// evaluator and the live kernel, and cuts differences down to small cases.
//
// A Case is a ruleset in pieces (so that pieces can be left out) and a list of
// packets; both follow from a seed alone. Values come from small pools that
// rules and packets share, with the values beside them, so that packets fall
// at, just inside and just outside of what rules ask for.
package difftest
