package ir

import (
	"errors"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
	"github.com/nftc/nftc/compile/set"
)

// backEnd gives the model of the kernel's back end for sets whose clashes only it
// can tell: concatenations with intervals (pipapo looks at the corners of a new
// element, no more), and exact keys that policy memory sends to rbtree, which takes
// each key for the start of an interval. It is nil for all others.
func (ks *kernelSet) backEnd() *set.Loader {
	if ks.loaderMade {
		return ks.loader
	}
	ks.loaderMade = true
	s := ks.set
	if s.Flags&bytecode.SetConcat == 0 && s.Policy != bytecode.PolicyMemory {
		return nil
	}
	b := &bytecode.Set{Flags: s.Flags &^ (bytecode.SetMap | setExpr), Size: s.Size, Policy: s.Policy}
	for _, f := range s.KeyFields {
		b.Key = append(b.Key, bytecode.Field{Len: uint16(f.Len())})
	}
	l, err := set.NewLoader(b)
	if err != nil {
		return nil
	}
	switch l.Backend() {
	case set.KernelPipapo, set.KernelPipapoAVX2:
		// The size is checked for all sets alike.
		b.Size = 0
		if l, err = set.NewLoader(b); err != nil {
			return nil
		}
		ks.loader = l
	case set.KernelRBTree:
		if !s.pointSet() {
			ks.loader = l
		}
	}
	return ks.loader
}

// insertInto adds a message's elements to a set with a modelled back end. It reports
// the first refusal.
func (k *kernel) insertInto(ks *kernelSet, s *Step, l *set.Loader) bool {
	batch := make([]bytecode.Element, 0, len(s.Elements))
	at := make([]int, 0, len(s.Elements))
	flush := func() bool {
		var refused *set.LoadError
		if err := l.Add(batch, false); errors.As(err, &refused) {
			k.kernelError(s.Elements[at[refused.Index]].Span, loadErrno(refused.Errno))
			return false
		}
		return true
	}
	for i := range s.Elements {
		e := &s.Elements[i]
		key := elemKey(e)
		if old, dup := ks.index[key]; dup {
			if s.Flags&bytecode.OpCreate != 0 || !sameData(ks.elems[old].Data, e.Data) {
				if flush() {
					k.kernelError(e.Span, errExists)
				}
				return false
			}
			continue
		}
		ks.index[key] = len(ks.elems)
		ks.elems = append(ks.elems, *e)
		if !e.Catchall {
			batch, at = append(batch, kernelElement(ks.set, e)), append(at, i)
		}
	}
	return flush()
}

// kernelElement is an element as the kernel gets it, without its data.
func kernelElement(s *Set, e *Element) bytecode.Element {
	b := bytecode.Element{Key: e.From}
	if s.Flags&bytecode.SetInterval != 0 {
		b.KeyEnd = e.high()
	}
	return b
}

// deleteFrom removes the element that a delete message names from a set with a
// modelled back end; pipapo takes any key inside an element. It returns the key of
// what is gone.
func (ks *kernelSet) deleteFrom(l *set.Loader, e *Element) (string, bool) {
	if e.Catchall {
		return elemKey(e), true
	}
	b := kernelElement(ks.set, e)
	gone := l.Matching(&b)
	if gone == nil || l.Delete([]bytecode.Element{b}, false) != nil {
		return "", false
	}
	return elemKey(&Element{From: gone.Key, To: gone.KeyEnd}), true
}

// loadErrno is a refusal's error by strerror.
func loadErrno(e set.Errno) string {
	switch e {
	case pipapo.EEXIST:
		return errExists
	case pipapo.ENOENT:
		return errNoEntry
	case pipapo.ENFILE:
		return errTooMany
	case pipapo.ENOMEM:
		return errNoMem
	case pipapo.EOPNOTSUPP:
		return errNotSupp
	default:
		return errInvalid
	}
}
