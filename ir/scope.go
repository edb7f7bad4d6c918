package ir

import "github.com/nftc/nftc/parser"

// scope holds the definitions of one block; lookups go outwards.
type scope struct {
	outer *scope
	vars  map[string]*parser.Define
}

func (s *scope) lookup(name string) *parser.Define {
	for ; s != nil; s = s.outer {
		if d, ok := s.vars[name]; ok {
			return d
		}
	}
	return nil
}
