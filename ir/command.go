package ir

import "github.com/nftc/nftc/parser"

// items applies the items of a file or included file in order.
func (r *resolver) items(items []parser.Item) {
	for _, it := range items {
		switch it := it.(type) {
		case *parser.Include:
			r.items(it.Items)
		case *parser.Define:
		case *parser.Command:
		}
	}
}
