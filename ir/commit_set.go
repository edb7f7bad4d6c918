package ir

import (
	"bytes"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
	kset "github.com/nftc/nftc/compile/set"
)

// setOK is what nf_tables_newset and nft_select_set_ops refuse: no back end
// supports dynamic updates together with intervals.
func (k *kernel) setOK(set *Set, s *Step) bool {
	sp := s.NameSpan
	if !sp.Valid() {
		sp = s.Span
	}
	bad := ""
	switch {
	case set.GC != 0 && set.Flags&bytecode.SetTimeout == 0:
		bad = errInvalid
	case set.Flags&bytecode.SetEval != 0 && set.Flags&(bytecode.SetInterval|bytecode.SetObject) != 0:
		bad = errNotSupp
	case set.Flags&bytecode.SetConstant != 0 && set.Flags&bytecode.SetTimeout != 0:
		bad = errNotSupp
	case len(set.KeyFields) > maxConcatFields:
		bad = errTooBig
	}
	for _, st := range set.Stmts {
		x, ok := st.(*Stateful)
		if !ok {
			continue
		}
		// nft_set_elem_expr_alloc: expressions that collect garbage themselves
		// exclude timeouts.
		if _, ok := x.Instr.(*bytecode.Connlimit); ok && set.Flags&bytecode.SetTimeout != 0 {
			bad = errNotSupp
		}
	}
	if len(set.Stmts) > maxSetExprs {
		bad = errTooBig
	}
	if bad != "" {
		k.kernelError(sp, bad)
		return false
	}
	return true
}

const (
	// maxConcatFields is NFT_REG32_COUNT.
	maxConcatFields = 16
	// maxSetExprs is NFT_SET_EXPR_MAX.
	maxSetExprs = 2
)

func (k *kernel) newSet(kt *kernelTable, s *Step) {
	set := s.Set
	if set.Flags&bytecode.SetAnonymous != 0 {
		if !k.setOK(set, s) {
			return
		}
		set.Handle = kt.handle()
		kt.state[set] = newKernelSet(set)
		kt.t.Sets = append(kt.t.Sets, set)
		return
	}
	if old := kt.sets[set.Name]; old != nil {
		if s.Flags&bytecode.OpCreate != 0 || !sameDesc(old, set) {
			k.kernelError(s.NameSpan, errExists)
		}
		return
	}
	if !k.nameOK(set.Name, s.NameSpan) || !k.setOK(set, s) {
		kt.failed[set.Name] = true
		return
	}
	set.Handle = kt.handle()
	kt.sets[set.Name] = set
	kt.state[set] = newKernelSet(set)
	kt.t.Sets = append(kt.t.Sets, set)
}

// sameDesc is what a redefinition of a set may not change (nft_set_is_same).
func sameDesc(a, b *Set) bool {
	const mask = ^setExpr
	return a.Flags&mask == b.Flags&mask && a.Key.ID == b.Key.ID && fieldsLen(a.KeyFields) == fieldsLen(b.KeyFields) &&
		a.DataKind == b.DataKind && fieldsLen(a.DataFields) == fieldsLen(b.DataFields) && a.ObjType == b.ObjType &&
		a.Timeout == b.Timeout && a.GC == b.GC && a.Policy == b.Policy && len(a.Stmts) == len(b.Stmts) &&
		(b.Size == 0 || a.Size == b.Size)
}

func (k *kernel) delSet(kt *kernelTable, s *Step) {
	var set *Set
	if s.Handle != 0 {
		for _, x := range kt.t.Sets {
			if x.Handle == s.Handle {
				set = x
			}
		}
	} else {
		set = kt.sets[s.Name]
	}
	if set == nil {
		k.missing(s)
		return
	}
	if kt.setUsed(set) {
		k.kernelError(s.nameOrHandle(), errBusy)
		return
	}
	delete(kt.sets, set.Name)
	delete(kt.state, set)
	kt.t.Sets = slices.DeleteFunc(kt.t.Sets, func(x *Set) bool { return x == set })
}

// setUsed tells whether a rule refers to a set.
func (kt *kernelTable) setUsed(set *Set) bool {
	for _, ch := range kt.t.Chains {
		for _, r := range ch.Rules {
			for _, st := range r.Stmts {
				used := false
				walkStmt(st, func(s *Set) { used = used || s == set || s.Name == set.Name && s.Flags&bytecode.SetAnonymous == 0 })
				if used {
					return true
				}
			}
		}
	}
	return false
}

// kernelSet is what the kernel has of a set's elements. Sets of closed ranges
// keep them sorted, the others as they came.
type kernelSet struct {
	set     *Set
	elems   []Element
	index   map[string]int // by key and upper end; built when it is needed
	removed int
	// sortedLen is how many elements of closed ranges are sorted, from the start.
	sortedLen int
	// loader is what backEnd made.
	loader     *kset.Loader
	loaderMade bool
	// clash is the element that takeAll found to be refused.
	clash *Element
}

// modelLimit is up to how many elements the model of the kernel's back end
// decides about clashes; beyond, collision does, which is faster.
const modelLimit = 4096

func newKernelSet(s *Set) *kernelSet { return &kernelSet{set: s} }

func (ks *kernelSet) list() []Element {
	if ks.removed == 0 {
		return ks.elems
	}
	out := make([]Element, 0, len(ks.elems)-ks.removed)
	for i := range ks.elems {
		if !ks.elems[i].remove {
			out = append(out, ks.elems[i])
		}
	}
	return out
}

func elemKey(e *Element) string {
	if e.Catchall {
		return "*"
	}
	b := make([]byte, 0, 2*len(e.From)+1)
	b = append(b, e.From...)
	b = append(b, '-')
	b = append(b, e.high()...)
	return string(b)
}

func (k *kernel) newElements(kt *kernelTable, s *Step) {
	set := s.Set
	if set.Flags&bytecode.SetAnonymous == 0 {
		if set = kt.sets[s.Set.Name]; set == nil {
			if !kt.failed[s.Set.Name] {
				k.kernelError(s.NameSpan, errNoEntry)
			}
			return
		}
	}
	ks := kt.state[set]
	if ks == nil {
		return
	}
	if set.Flags&(bytecode.SetConstant|bytecode.SetAnonymous) == bytecode.SetConstant && kt.setUsed(set) {
		// nf_tables_newsetelem: a constant set is closed once a rule uses it.
		k.kernelError(s.NameSpan, errBusy)
		return
	}
	before := k.diags.Errors()
	for i := range s.Elements {
		if !k.elementOK(kt, set, &s.Elements[i]) {
			if k.diags.Errors() >= before+maxElementErrors {
				return
			}
		}
	}
	if k.diags.Errors() != before {
		return
	}
	k.insert(ks, s)
}

// elementOK checks an element by itself (nft_add_set_elem).
func (k *kernel) elementOK(kt *kernelTable, set *Set, e *Element) bool {
	if set.isMap() && e.Data == nil {
		k.kernelError(e.Span, errInvalid)
		return false
	}
	if set.Flags&bytecode.SetConcat != 0 && !e.Catchall && bytes.Compare(e.From, e.high()) > 0 {
		// nft_pipapo_insert: a range from high to low
		k.kernelError(e.Span, errInvalid)
		return false
	}
	if e.Opts != nil {
		if (e.Opts.TimeoutSet || e.Opts.ExpiresSet) && set.Flags&bytecode.SetTimeout == 0 {
			k.kernelError(e.Span, errInvalid)
			return false
		}
	}
	if e.Data == nil {
		return true
	}
	switch d := e.Data.Expr.(type) {
	case *Verdict:
		if errno := kt.jumpTarget(d); errno != "" {
			k.kernelError(e.Span, errno)
			return false
		}
	case *ObjectName:
		if kt.objects[objectKey{set.ObjType, d.Name}] == nil {
			k.kernelError(e.Span, errNoEntry)
			return false
		}
	}
	return true
}

// insert adds elements to the kernel's set. Equal elements with equal data are
// fine unless the command was create; with other data they are not; partly
// overlapping intervals never are.
func (k *kernel) insert(ks *kernelSet, s *Step) {
	set := ks.set
	max := uint64(set.Size)
	if set.pointSet() {
		max = 2*uint64(set.Size) + 1
	}
	fresh := len(ks.elems) == 0 && ks.index == nil
	switch {
	case fresh && set.pointSet():
		// The common case: sorted and free of overlaps already.
		ks.elems = s.Elements[:len(s.Elements):len(s.Elements)]
		if !ks.ascending() {
			ks.elems = slices.Clone(ks.elems)
			sortElements(ks.elems)
			ks.elems = k.dropEqual(ks, s)
		}
		ks.sortedLen = len(ks.elems)
	case fresh && len(s.Elements) > modelLimit && ks.takeAll(s.Elements):
		if e := ks.clash; e != nil {
			k.kernelError(e.Span, errExists)
			return
		}
	default:
		if ks.index == nil {
			ks.index = make(map[string]int, len(ks.elems)+len(s.Elements))
			for i := range ks.elems {
				ks.index[elemKey(&ks.elems[i])] = i
			}
		}
		if len(ks.elems)+len(s.Elements) > modelLimit {
			// Too much to build the kernel's tables for.
			ks.loader, ks.loaderMade = nil, true
		}
		if l := ks.backEnd(); l != nil {
			if !k.insertInto(ks, s, l) {
				return
			}
		} else {
			before := len(ks.elems)
			for i := range s.Elements {
				if !k.insertOne(ks, &s.Elements[i], s) {
					return
				}
			}
			if set.Flags&bytecode.SetConcat != 0 {
				if e := ks.collision(before); e != nil {
					k.kernelError(e.Span, errExists)
					return
				}
			}
		}
		if set.pointSet() {
			sortElements(ks.elems)
			ks.sortedLen = len(ks.elems)
			ks.index = nil
		}
	}
	if set.Size != 0 && set.Flags&bytecode.SetAnonymous == 0 {
		n := uint64(len(ks.elems) - ks.removed)
		for i := range ks.elems {
			if ks.elems[i].Catchall {
				n-- // not counted
			}
		}
		if set.pointSet() {
			n = 2*n + 1
		}
		if n > max {
			at := len(s.Elements) - 1 - int(n-max-1)
			if set.pointSet() {
				at = len(s.Elements) - 1
			}
			if at < 0 || at >= len(s.Elements) {
				at = len(s.Elements) - 1
			}
			k.kernelError(s.Elements[at].Span, errTooMany)
		}
	}
}

// takeAll makes a long list the elements of an empty set, unless some are
// repeated. It is too much to build the kernel's tables for.
func (ks *kernelSet) takeAll(es []Element) bool {
	ks.elems = es[:len(es):len(es)]
	if ks.set.Flags&bytecode.SetConcat != 0 {
		// A repeated element clashes with the first.
		ks.clash = ks.collision(0)
	}
	if (ks.set.Flags&bytecode.SetConcat == 0 || ks.clash != nil || stars(es) > 1) && repeated(es) {
		ks.elems, ks.clash = nil, nil
		return false
	}
	ks.loader, ks.loaderMade = nil, true
	return true
}

// stars counts catch-all elements.
func stars(es []Element) int {
	n := 0
	for i := range es {
		if es[i].Catchall {
			n++
		}
	}
	return n
}

// ascending tells whether closed ranges follow each other without touching.
func (ks *kernelSet) ascending() bool {
	for i := 1; i < len(ks.elems); i++ {
		p, e := &ks.elems[i-1], &ks.elems[i]
		if p.Catchall || !e.Catchall && bytes.Compare(p.high(), e.From) >= 0 {
			return false
		}
	}
	return true
}

// dropEqual removes equal neighbours of a sorted list and reports conflicts.
func (k *kernel) dropEqual(ks *kernelSet, s *Step) []Element {
	out := ks.elems[:0]
	for i := range ks.elems {
		e := ks.elems[i]
		if n := len(out); n > 0 && !e.Catchall && !out[n-1].Catchall && bytes.Compare(e.From, out[n-1].high()) <= 0 {
			p := &out[n-1]
			same := bytes.Equal(e.From, p.From) && bytes.Equal(e.high(), p.high())
			if !same || !sameData(e.Data, p.Data) || s.Flags&bytecode.OpCreate != 0 {
				k.kernelError(e.Span, errExists)
				return out
			}
			if e.Span.Start < p.Span.Start {
				e.Span, p.Span = p.Span, e.Span
			}
			ks.set.Covered = append(ks.set.Covered, Covered{Span: e.Span, By: p.Span})
			continue
		}
		out = append(out, e)
	}
	return out
}

func (k *kernel) insertOne(ks *kernelSet, e *Element, s *Step) bool {
	key := elemKey(e)
	if i, dup := ks.index[key]; dup {
		if s.Flags&bytecode.OpCreate != 0 || !sameData(ks.elems[i].Data, e.Data) {
			k.kernelError(e.Span, errExists)
			return false
		}
		ks.set.Covered = append(ks.set.Covered, Covered{Span: e.Span, By: ks.elems[i].Span})
		return true
	}
	if !e.Catchall && ks.set.pointSet() && ks.overlapping(e) {
		k.kernelError(e.Span, errExists)
		return false
	}
	ks.index[key] = len(ks.elems)
	ks.elems = append(ks.elems, *e)
	return true
}

// overlapping tells whether an element of closed ranges overlaps one that is
// there: they are sorted and disjoint up to those just added.
func (ks *kernelSet) overlapping(e *Element) bool {
	n := ks.sortedLen
	i, _ := slices.BinarySearchFunc(ks.elems[:n], e, func(a Element, b *Element) int {
		return bytes.Compare(a.From, b.From)
	})
	for j := max(0, i-1); j < min(n, i+2); j++ {
		if ks.elems[j].overlaps(e) {
			return true
		}
	}
	for j := n; j < len(ks.elems); j++ {
		if ks.elems[j].overlaps(e) {
			return true
		}
	}
	return false
}

func (e *Element) overlaps(o *Element) bool {
	return !e.remove && !e.Catchall && bytes.Compare(e.From, o.high()) <= 0 && bytes.Compare(o.From, e.high()) <= 0
}

func (k *kernel) delElements(kt *kernelTable, s *Step) {
	set := kt.sets[s.Set.Name]
	if set == nil {
		k.kernelError(s.NameSpan, errNoEntry)
		return
	}
	ks := kt.state[set]
	if ks.index == nil {
		ks.index = make(map[string]int, len(ks.elems))
		for i := range ks.elems {
			if !ks.elems[i].remove {
				ks.index[elemKey(&ks.elems[i])] = i
			}
		}
	}
	for i := range s.Elements {
		key := elemKey(&s.Elements[i])
		if l := ks.backEnd(); l != nil {
			if gone, ok := ks.deleteFrom(l, &s.Elements[i]); ok {
				key = gone
			}
		}
		at, ok := ks.index[key]
		if !ok {
			if s.Flags&bytecode.OpDestroy == 0 {
				k.kernelError(s.Elements[i].Span, errNoEntry)
				return
			}
			continue
		}
		ks.elems[at].remove = true
		ks.removed++
		delete(ks.index, key)
	}
	ks.elems, ks.removed = ks.list(), 0
	ks.sortedLen = 0
	if set.pointSet() {
		ks.sortedLen = len(ks.elems)
	}
	ks.index = nil
}
