package pipapo

import (
	"cmp"
	"slices"
)

// overlaps finds, for a list of boxes in order of insertion, the first that the
// kernel would refuse for what came before it, without a lookup per box.
//
// A box is refused when its start point or its end point lies in an earlier box.
// All field ends are replaced by their ranks. A sweep over the field with the
// least overlap keeps the boxes open at the current rank in a segment tree over a
// second field; a point asks the tree for open boxes that hold it in both fields
// and compares the others one by one.
type overlaps struct {
	lo, hi [][]int32 // by field, then box
	ranks  []int     // number of ranks of each field
}

// ranked is one end of a box in one field, to be sorted.
type ranked struct {
	v  value
	at int32 // box*2, or box*2+1 for the end
}

// add ranks the next field, given the start and end value of box i.
func (o *overlaps) add(n int, ends func(i int) (lo, hi value), scratch []ranked) {
	s := scratch[:0]
	for i := range n {
		lo, hi := ends(i)
		s = append(s, ranked{lo, int32(2 * i)}, ranked{hi, int32(2*i + 1)})
	}
	sortRanked(s)
	lo, hi := make([]int32, n), make([]int32, n)
	r := int32(0)
	for k, e := range s {
		if k > 0 && e.v != s[k-1].v {
			r++
		}
		if e.at&1 == 0 {
			lo[e.at/2] = r
		} else {
			hi[e.at/2] = r
		}
	}
	o.lo, o.hi = append(o.lo, lo), append(o.hi, hi)
	o.ranks = append(o.ranks, int(r)+1)
}

// sortRanked sorts by value. Values of up to 64 bits go by radix: in passes of 11
// bits from the lowest on, leaving out those in which all agree.
func sortRanked(s []ranked) {
	any, all := value{}, value{^uint64(0), ^uint64(0)}
	for i := range s {
		any.hi, any.lo = any.hi|s[i].v.hi, any.lo|s[i].v.lo
		all.hi, all.lo = all.hi&s[i].v.hi, all.lo&s[i].v.lo
	}
	if len(s) < 256 || any.hi != all.hi {
		slices.SortFunc(s, func(a, b ranked) int {
			if a.v.hi != b.v.hi {
				return cmp.Compare(a.v.hi, b.v.hi)
			}
			return cmp.Compare(a.v.lo, b.v.lo)
		})
		return
	}
	const bits = 11
	from, to := s, make([]ranked, len(s))
	for shift := 0; shift < 64; shift += bits {
		if (any.lo^all.lo)>>shift&(1<<bits-1) == 0 {
			continue
		}
		var at [1 << bits]int
		for i := range from {
			at[from[i].v.lo>>shift&(1<<bits-1)]++
		}
		sum := 0
		for d, n := range at {
			at[d] = sum
			sum += n
		}
		for i := range from {
			d := from[i].v.lo >> shift & (1<<bits - 1)
			to[at[d]] = from[i]
			at[d]++
		}
		from, to = to, from
	}
	if len(s) > 0 && &from[0] != &s[0] {
		copy(s, from)
	}
}

// density is the sum over all boxes of the number of boxes that are open at their
// start in a field.
func (o *overlaps) density(field int) int {
	open := make([]int32, o.ranks[field]+1)
	for i, l := range o.lo[field] {
		open[l]++
		open[o.hi[field][i]+1]--
	}
	for r := 1; r < len(open); r++ {
		open[r] += open[r-1]
	}
	sum := 0
	for _, l := range o.lo[field] {
		sum += int(open[l])
	}
	return sum
}

// firstRefused returns the lowest box at or after from that an earlier box
// refuses, or the number of boxes.
func (o *overlaps) firstRefused(from int) int {
	n := len(o.lo[0])
	order := make([]int, len(o.lo))
	sums := make([]int, len(o.lo))
	for i := range order {
		order[i], sums[i] = i, o.density(i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
	a := order[0]
	var tree *boxTree
	if len(order) == 1 || sums[a] < 8*n {
		tree = newBoxTree(1, n)
	} else {
		tree = newBoxTree(o.ranks[order[1]], n)
	}
	b := order[min(1, len(order)-1)]

	starts, ends := bucketSort(o.lo[a], o.ranks[a]), bucketSort(o.hi[a], o.ranks[a])
	refused := n
	query := func(i int32, point [][]int32, now int32) {
		if int(i) < from || int(i) >= refused {
			return
		}
		for node := tree.leaf(point[b][i]); node > 0; node /= 2 {
			prev := &tree.head[node]
			for *prev >= 0 {
				entry := &tree.entries[*prev]
				j := entry.box
				if o.hi[a][j] < now {
					*prev = entry.next // closed: gone for good
					continue
				}
				if j < i && o.holds(j, i, point) {
					refused = int(i)
					return
				}
				prev = &entry.next
			}
		}
	}
	s, e := 0, 0
	for r := range int32(o.ranks[a]) {
		first := s
		for ; s < n && o.lo[a][starts[s]] == r; s++ {
			i := starts[s]
			tree.insert(o.lo[b][i], o.hi[b][i], i)
		}
		for ; first < s; first++ {
			query(starts[first], o.lo, r)
		}
		for ; e < n && o.hi[a][ends[e]] == r; e++ {
			query(ends[e], o.hi, r)
		}
	}
	return refused
}

// holds reports whether box j holds the point of box i in every field.
func (o *overlaps) holds(j, i int32, point [][]int32) bool {
	for f := range point {
		if p := point[f][i]; p < o.lo[f][j] || p > o.hi[f][j] {
			return false
		}
	}
	return true
}

// bucketSort lists the indices of ranks in ascending order of rank.
func bucketSort(ranks []int32, n int) []int32 {
	at := make([]int32, n+1)
	for _, r := range ranks {
		at[r+1]++
	}
	for r := 1; r <= n; r++ {
		at[r] += at[r-1]
	}
	out := make([]int32, len(ranks))
	for i, r := range ranks {
		out[at[r]] = int32(i)
		at[r]++
	}
	return out
}

// boxTree is a segment tree over ranks; every node lists the boxes whose interval
// has it as a canonical part. With one leaf it is a plain list.
type boxTree struct {
	leaves  int32
	head    []int32 // by node, 1 is the root; -1 ends a list
	entries []boxEntry
}

type boxEntry struct{ box, next int32 }

func newBoxTree(ranks, boxes int) *boxTree {
	leaves := 1
	for leaves < ranks {
		leaves *= 2
	}
	t := &boxTree{leaves: int32(leaves), head: make([]int32, 2*leaves)}
	t.entries = make([]boxEntry, 0, boxes)
	for i := range t.head {
		t.head[i] = -1
	}
	return t
}

func (t *boxTree) leaf(rank int32) int32 {
	if t.leaves == 1 {
		return 1
	}
	return t.leaves + rank
}

func (t *boxTree) insert(lo, hi, box int32) {
	l, r := t.leaf(lo), t.leaf(hi)+1
	for ; l < r; l, r = l/2, r/2 {
		if l&1 == 1 {
			t.push(l, box)
			l++
		}
		if r&1 == 1 {
			r--
			t.push(r, box)
		}
	}
}

func (t *boxTree) push(node, box int32) {
	t.entries = append(t.entries, boxEntry{box, t.head[node]})
	t.head[node] = int32(len(t.entries) - 1)
}
