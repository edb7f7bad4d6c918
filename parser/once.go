package parser

import "github.com/nftc/nftc/internal/diag"

// once reports the properties that a block has twice and nft allows once.
func (p *parser) once(b *blockKind, list []Item) {
	seen := onceSeen{isMap: b == &mapBlock}
	p.onceIn(list, &seen)
}

// onceSeen are the first of each property of one block.
type onceSeen struct {
	comment, elements, key, policy, helper, source, dest Item
	// isMap: the last elements of a map count.
	isMap bool
}

func (p *parser) onceIn(list []Item, seen *onceSeen) {
	duplicate := func(first *Item, it Item, sp diag.Span, message string) {
		if *first == nil {
			*first = it
			return
		}
		p.report(diag.Diagnostic{
			Code: "duplicate", Severity: diag.Error, Span: sp, Message: message,
			Notes: []diag.Note{{Span: (*first).Pos(), Message: "it is given here first"}},
		})
	}
	const twice = "You can only specify this once. This statement is duplicated."
	for _, it := range list {
		switch it := it.(type) {
		case *Include:
			p.onceIn(it.Items, seen)
		case *CommentStmt:
			duplicate(&seen.comment, it, it.Span, twice)
		case *SetType:
			duplicate(&seen.key, it, it.Span, twice)
		case *Elements:
			sp := it.Span
			sp.End = min(sp.End, sp.Start+diag.Pos(len("elements")))
			if !seen.isMap {
				duplicate(&seen.elements, it, sp, twice)
			}
		case *PolicySpec:
			if it.Policy.Text != "memory" && it.Policy.Text != "performance" {
				duplicate(&seen.policy, it, it.Span, "you cannot set chain policy twice")
			}
		case *Property:
			switch it.Keyword.Text {
			case "type":
				name := it.Args[0].(*Symbol)
				message := "You can only specify this once."
				if first, ok := seen.helper.(*Property); ok {
					message += " This statement is already set for " + first.Args[0].(*Symbol).Text + "."
				}
				duplicate(&seen.helper, it, name.Span, message)
			case "ip", "ip6":
				first := &seen.source
				if it.Args[0].(*Symbol).Text == "daddr" {
					first = &seen.dest
				}
				duplicate(first, it, it.Args[1].Pos(), twice)
			}
		}
	}
}
