package parser

// slabs hand out nodes from larger pieces, so that a list of 100,000 elements
// costs some hundred allocations instead of half a million.
type slabs struct {
	symbols  []Symbol
	elems    []Elem
	ranges   []Range
	prefixes []Prefix
	concats  []Concat
	exprs    []Expr
}

const (
	slabFirst = 16
	slabMost  = 1024
)

func slabNew[T any](s *[]T) *T {
	if len(*s) == cap(*s) {
		*s = make([]T, 0, min(max(2*cap(*s), slabFirst), slabMost))
	}
	*s = (*s)[:len(*s)+1]
	return &(*s)[len(*s)-1]
}

// keepExprs copies a short list out of scratch space.
func (s *slabs) keepExprs(list []Expr) []Expr {
	if cap(s.exprs)-len(s.exprs) < len(list) {
		s.exprs = make([]Expr, 0, max(min(max(2*cap(s.exprs), slabFirst), slabMost), len(list)))
	}
	n := len(s.exprs)
	s.exprs = append(s.exprs, list...)
	return s.exprs[n:len(s.exprs):len(s.exprs)]
}
