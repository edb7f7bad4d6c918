package difftest

import (
	"fmt"
	"strings"

	"github.com/nftc/nftc/eval/kernel"
)

// Case is a ruleset and packets to compare both engines with.
type Case struct {
	Seed    uint64
	Trip    kernel.Trip
	Tables  []*Table
	Packets []string // in packet notation
}

// Table is a table of a generated ruleset. Decls are its sets, maps and
// objects, one text each.
type Table struct {
	Family string
	Name   string
	Decls  []string
	Chains []*Chain
}

// Chain is a chain; Hook is empty for a regular one.
type Chain struct {
	Name  string
	Hook  string // the whole `type … policy …;` line
	Rules []string
}

// Text is the ruleset as nft reads it.
func (c *Case) Text() string {
	var b strings.Builder
	for _, t := range c.Tables {
		fmt.Fprintf(&b, "table %s %s {\n", t.Family, t.Name)
		for _, d := range t.Decls {
			b.WriteString(d)
		}
		for _, ch := range t.Chains {
			fmt.Fprintf(&b, "\tchain %s {\n", ch.Name)
			if ch.Hook != "" {
				fmt.Fprintf(&b, "\t\t%s\n", ch.Hook)
			}
			for _, r := range ch.Rules {
				fmt.Fprintf(&b, "\t\t%s\n", r)
			}
			b.WriteString("\t}\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// clone copies the case so that pieces can be taken out of the copy.
func (c *Case) clone() *Case {
	n := &Case{Seed: c.Seed, Trip: c.Trip, Packets: append([]string(nil), c.Packets...)}
	for _, t := range c.Tables {
		nt := &Table{Family: t.Family, Name: t.Name, Decls: append([]string(nil), t.Decls...)}
		for _, ch := range t.Chains {
			nt.Chains = append(nt.Chains, &Chain{ch.Name, ch.Hook, append([]string(nil), ch.Rules...)})
		}
		n.Tables = append(n.Tables, nt)
	}
	return n
}
