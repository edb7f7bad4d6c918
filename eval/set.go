package eval

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	tables "github.com/nftc/nftc/compile/set"
)

// set is a set or map of the ruleset with what evaluation keeps of its
// elements beside the table.
type set struct {
	src     *bytecode.Set
	table   *table
	index   int32
	keyLen  int
	dataLen int
	tab     *tables.Table
	// extra holds verdicts, objects and state by element; nil for plain sets.
	extra []extra
	// exprs are the stateful expressions of new elements.
	exprs []bytecode.Instr
}

// extra is what an element has beside its key and data.
type extra struct {
	vd     verdict
	obj    *object
	states []*stateful
}

// buildSet makes the table and resolves what elements refer to.
func (e *Engine) buildSet(f *flattener, s *set) error {
	var err error
	backend := e.env.SetBackend
	if ok, _ := backend.Suits(s.src); !ok {
		backend = tables.Auto
	}
	s.tab, err = tables.Build(s.src, tables.Options{Now: e.setClock, Backend: backend})
	if err != nil {
		return err
	}
	s.exprs = s.src.Exprs
	need := s.src.DataKind == bytecode.DataVerdict || s.src.DataKind == bytecode.DataObject || len(s.exprs) > 0
	for i := range s.src.Elements {
		if a := s.src.Elements[i].Attrs; a != nil && len(a.Exprs) > 0 {
			need = true
		}
	}
	if !need {
		for i := range s.src.Elements {
			if err := s.checkData(&s.src.Elements[i]); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	}
	s.extra = make([]extra, len(s.src.Elements))
	for i := range s.src.Elements {
		el := &s.src.Elements[i]
		if el.Flags&bytecode.ElemIntervalEnd != 0 {
			continue
		}
		if err := s.checkData(el); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		x := &s.extra[i]
		switch s.src.DataKind {
		case bytecode.DataVerdict:
			if x.vd, err = f.verdict(el.Data.Verdict); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		case bytecode.DataObject:
			if x.obj = s.table.object(s.src.ObjType, el.Data.Object); x.obj == nil {
				return fmt.Errorf("element %d: no %v %q", i, s.src.ObjType, el.Data.Object)
			}
		}
		exprs := s.exprs
		if el.Attrs != nil && len(el.Attrs.Exprs) > 0 {
			exprs = el.Attrs.Exprs
		}
		if x.states, err = e.elementStates(exprs, s.table.src.Family); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func (s *set) checkData(el *bytecode.Element) error {
	if s.src.DataKind == bytecode.DataNone || el.Flags&bytecode.ElemIntervalEnd != 0 {
		return nil
	}
	if el.Data == nil {
		return fmt.Errorf("no data")
	}
	if s.src.DataKind == bytecode.DataValue && len(el.Data.Value) != s.dataLen {
		return fmt.Errorf("data of %d bytes, want %d", len(el.Data.Value), s.dataLen)
	}
	return nil
}

func (e *Engine) elementStates(exprs []bytecode.Instr, fam bytecode.Family) ([]*stateful, error) {
	var out []*stateful
	for _, in := range exprs {
		st, err := e.newStateful(in, fam)
		if err != nil {
			return nil, err
		}
		st.last = max(st.last, e.now)
		out = append(out, st)
	}
	return out, nil
}

// setClock is the clock of set timeouts: nanoseconds since the ruleset was
// loaded.
func (e *Engine) setClock() int64 { return e.now - e.startAt }

func (s *set) extraOf(r tables.Ref) *extra {
	if r < 0 || int(r) >= len(s.extra) {
		return nil
	}
	return &s.extra[r]
}

// find looks a key up in a set that may hold expired elements.
func (e *Engine) find(w *walk, s *set, key []byte) (tables.Ref, bool) {
	if s.src.Flags&bytecode.SetTimeout != 0 {
		e.needTime(w)
	}
	return s.tab.Lookup(key)
}

// lookup is nft_lookup_eval.
func (e *Engine) lookup(w *walk, o *op, i int32) int32 {
	s := e.sets[o.ref]
	if w.unk != 0 {
		if c := w.cause(o.src, o.n); c != CauseNone {
			return e.lookupUnknown(w, o, i, s, c)
		}
	}
	r, found := e.find(w, s, w.regs[o.src:uint16(o.src)+o.n])
	if found == (o.flag == 1) {
		return codeBreak
	}
	if !found {
		return codeContinue
	}
	code := codeContinue
	switch o.code {
	case opLookupMap:
		w.putBytes(o.dst, s.tab.Element(r).Data.Value)
	case opLookupVerdict:
		w.vd = s.extra[r].vd
		code = w.vd.code
	}
	if x := s.extraOf(r); x != nil {
		for _, st := range x.states {
			if c := e.stateful(w, st, i); c != codeContinue {
				return c
			}
		}
	}
	return code
}

// lookupUnknown decides a lookup with an unknown key: with no element nothing
// can match; else each verdict of a verdict map is an alternative.
func (e *Engine) lookupUnknown(w *walk, o *op, i int32, s *set, c Cause) int32 {
	if s.tab.Len() == 0 && len(s.src.Elements) == 0 {
		if o.flag == 1 {
			return codeContinue
		}
		return codeBreak
	}
	w.fork(i, c)
	if names, ok := e.deviceNames(w, s, c); ok && o.n == 16 {
		if len(names) == 0 {
			if o.flag == 1 {
				return codeContinue
			}
			return codeBreak
		}
		w.forkNames, w.forkNot = names, o.flag == 1
		return codeFork
	}
	if keys, ok := e.drawn(o, i); ok && c == CauseRandom {
		return e.lookupDrawn(w, o, s, c, keys)
	}
	switch o.code {
	case opLookupMap:
		w.forkData = true
	case opLookupVerdict:
		for k := range s.extra {
			if s.src.Elements[k].Flags&bytecode.ElemIntervalEnd != 0 {
				continue
			}
			w.addAlternative(s.extra[k].vd)
		}
	}
	return codeFork
}

// addAlternative notes a verdict that a fork may give, each once.
func (w *walk) addAlternative(v verdict) {
	for _, o := range w.forkAlts {
		if o == v {
			return
		}
	}
	if len(w.forkAlts) < maxBranches {
		w.forkAlts = append(w.forkAlts, v)
	}
}

// objrefMap is nft_objref_map_eval.
func (e *Engine) objrefMap(w *walk, o *op, i int32) int32 {
	s := e.sets[o.ref]
	if c := w.cause(o.src, o.n); c != CauseNone {
		// Which object counts is not known: none does.
		e.noteUnknown(w, c, int(i))
		return w.fork(i, c)
	}
	r, found := e.find(w, s, w.regs[o.src:uint16(o.src)+o.n])
	x := s.extraOf(r)
	if !found || x == nil || x.obj == nil {
		return codeBreak
	}
	return e.objref(w, x.obj, i)
}

// dynset is nft_dynset_eval.
func (e *Engine) dynset(w *walk, o *op, i int32) int32 {
	s := e.sets[o.ref]
	in := o.instr.(*bytecode.Dynset)
	if c := w.cause(o.src, o.n); c != CauseNone {
		return w.fork(i, c)
	}
	key := w.regs[o.src : uint16(o.src)+o.n]
	if s.src.Flags&bytecode.SetTimeout != 0 {
		e.needTime(w)
	}
	if in.Op == bytecode.DynsetDelete {
		if !w.dry {
			s.tab.Delete(key)
		}
		return codeContinue
	}
	r, ok := e.updateSet(w, s, o, in, key)
	if !ok {
		if in.Invert {
			return codeContinue
		}
		return codeBreak
	}
	if x := s.extraOf(r); x != nil {
		for _, st := range x.states {
			if c := e.stateful(w, st, i); c != codeContinue {
				return c
			}
		}
	}
	if in.Invert {
		return codeBreak
	}
	return codeContinue
}

// updateSet finds or makes the element of a key. In a dry run nothing is made;
// r is then tables.None for what would be new.
func (e *Engine) updateSet(w *walk, s *set, o *op, in *bytecode.Dynset, key []byte) (r tables.Ref, ok bool) {
	if w.dry {
		if r, found := s.tab.Find(key); found {
			return r, true
		}
		return tables.None, s.src.Size == 0 || s.tab.Len() < int(s.src.Size)
	}
	var data *bytecode.ElementData
	if o.src2 != noReg {
		if _, found := s.tab.Find(key); !found {
			data = &bytecode.ElementData{Value: append([]byte(nil), w.regs[o.src2:int(o.src2)+s.dataLen]...)}
			if c := w.cause(o.src2, uint16(s.dataLen)); c != CauseNone {
				e.noteUnknown(w, c, -1)
			}
		}
	}
	r, added, ok := s.tab.Update(key, time.Duration(in.Timeout)*time.Millisecond, in.Op == bytecode.DynsetUpdate, data)
	if !ok || !added {
		return r, ok
	}
	exprs := in.Exprs
	if len(exprs) == 0 {
		exprs = s.exprs
	}
	if len(exprs) > 0 || s.extra != nil {
		for len(s.extra) <= int(r) {
			s.extra = append(s.extra, extra{})
		}
		// The expressions were checked by New: they cannot fail.
		states, _ := e.elementStates(exprs, s.table.src.Family)
		s.extra[r] = extra{states: states}
	}
	return r, true
}

// draw is what numgen random may have put into a key.
type draw struct {
	offset, modulus uint32
	swapped         bool // to network order, for ranges
}

// maxDraw is up to how many values of a random number are tried one by one.
const maxDraw = 1024

// drawn tells whether the key of lookup i comes straight from numgen random.
func (e *Engine) drawn(o *op, i int32) (d draw, ok bool) {
	k := i - 1
	if k >= 0 && e.ops[k].code == opByteorder && e.ops[k].dst == o.src && e.ops[k].src == o.src && e.ops[k].n == 4 && e.ops[k].a == 4 {
		d.swapped = true
		k--
	}
	if k < 0 || o.n != 4 || e.ops[k].code != opNumgen || e.ops[k].dst != o.src || e.ops[k].a > maxDraw {
		return d, false
	}
	d.offset, d.modulus = e.ops[k].b, e.ops[k].a
	return d, true
}

// lookupDrawn looks every value up that may have been drawn: where all are in
// the set, the lookup matches, and where none is, it does not.
func (e *Engine) lookupDrawn(w *walk, o *op, s *set, c Cause, d draw) int32 {
	found := uint32(0)
	for k := uint32(0); k < d.modulus; k++ {
		var key [4]byte
		if d.swapped {
			binary.BigEndian.PutUint32(key[:], d.offset+k)
		} else {
			binary.LittleEndian.PutUint32(key[:], d.offset+k)
		}
		r, ok := s.tab.Lookup(key[:])
		if !ok {
			continue
		}
		found++
		if o.code == opLookupVerdict {
			w.addAlternative(s.extra[r].vd)
		}
	}
	all := found == d.modulus
	switch {
	case found == 0 && o.flag == 0, all && o.flag == 1:
		return codeBreak
	case found == 0:
		return codeContinue
	case !all && o.code == opLookupMap:
		w.forkData = true
		return codeFork
	case all && o.code == opLookupMap:
		w.unknown(o.dst, uint16(s.dataLen), c)
		return codeContinue
	case all && o.code == opLookup:
		return codeContinue
	case all:
		w.forkAll = true
	}
	return codeFork
}
