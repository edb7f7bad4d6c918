package set

import (
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
)

// ranges holds concatenated ranges in the kernel's own tables.
type ranges struct {
	table *pipapo.Table
	refs  []Ref // by pipapo.ID
}

func fieldLens(s *bytecode.Set) []int {
	out := make([]int, len(s.Key))
	for i, f := range s.Key {
		out[i] = int(f.Len)
	}
	return out
}

func newRanges(t *Table) (*ranges, error) {
	table, err := pipapo.New(fieldLens(t.set))
	if err != nil {
		return nil, err
	}
	r := &ranges{table: table}
	keys := make([]byte, 0, 2*t.klen*t.count)
	for i := range t.static {
		e := &t.static[i]
		if e.Flags&bytecode.ElemCatchall != 0 {
			continue
		}
		end := e.KeyEnd
		if end == nil {
			end = e.Key
		}
		keys = append(append(keys, e.Key...), end...)
		r.refs = append(r.refs, Ref(i))
	}
	ids, err := table.InsertAll(keys, 0)
	if err != nil {
		at := err.(*pipapo.InsertError).Index
		return nil, fmt.Errorf("element %d: %w", r.refs[at], err)
	}
	if t.expires != nil {
		for at, id := range ids {
			table.SetExpires(id, t.expires[r.refs[at]])
		}
	}
	return r, nil
}

func (r *ranges) lookup(reader *pipapo.Reader, key []byte, t *Table) Ref {
	now := int64(0)
	if t.expires != nil {
		now = t.now()
	}
	if id, ok := reader.Lookup(key, now); ok {
		return r.refs[id]
	}
	return None
}
