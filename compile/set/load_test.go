package set

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/pipapo"
	"github.com/nftc/nftc/compile/pipapo/workload"
)

func start(k ...byte) bytecode.Element { return bytecode.Element{Key: k} }
func end(k ...byte) bytecode.Element {
	return bytecode.Element{Key: k, Flags: bytecode.ElemIntervalEnd}
}

func box(a, b, c, d byte) bytecode.Element {
	return bytecode.Element{Key: []byte{a, 0, 0, 0, c, 0, 0, 0}, KeyEnd: []byte{b, 0, 0, 0, d, 0, 0, 0}}
}

func errnos(err error) (errno, cause Errno, index int) {
	var e *LoadError
	if errors.As(err, &e) {
		return e.Errno, e.Cause, e.Index
	}
	return 0, 0, 0
}

func TestLoaderAnswers(t *testing.T) {
	const interval = bytecode.SetInterval
	type step struct {
		op    string // add, create, delete, destroy, flush
		elems []bytecode.Element
		want  Errno
		index int
	}
	value := func(e bytecode.Element, v byte) bytecode.Element {
		e.Data = &bytecode.ElementData{Value: []byte{v}}
		return e
	}
	tests := []struct {
		name  string
		set   bytecode.Set
		steps []step
	}{
		{"hash", bytecode.Set{Key: fields(4)}, []step{
			{"add", []bytecode.Element{start(1, 1, 1, 1), start(2, 2, 2, 2)}, 0, 0},
			{"add", []bytecode.Element{start(1, 1, 1, 1)}, 0, 0},
			{"create", []bytecode.Element{start(3, 3, 3, 3), start(1, 1, 1, 1)}, pipapo.EEXIST, 1},
			{"delete", []bytecode.Element{start(1, 1, 1, 1)}, 0, 0},
			{"delete", []bytecode.Element{start(1, 1, 1, 1)}, pipapo.ENOENT, 0},
			{"destroy", []bytecode.Element{start(1, 1, 1, 1)}, 0, 0},
			{"create", []bytecode.Element{start(1, 1, 1, 1)}, 0, 0},
			{"flush", nil, 0, 0},
			{"create", []bytecode.Element{start(2, 2, 2, 2)}, 0, 0},
			{"add", []bytecode.Element{start(1)}, pipapo.EINVAL, 0},
			{"add", []bytecode.Element{end(1, 1, 1, 1)}, pipapo.EINVAL, 0},
		}},
		{"size", bytecode.Set{Key: fields(4), Size: 2}, []step{
			{"add", []bytecode.Element{start(1, 1, 1, 1), start(2, 2, 2, 2), start(1, 1, 1, 1)}, 0, 0},
			{"add", []bytecode.Element{start(3, 3, 3, 3)}, pipapo.ENFILE, 0},
		}},
		{"map data", bytecode.Set{Key: fields(2), Flags: bytecode.SetMap, DataKind: bytecode.DataValue, Data: fields(1)}, []step{
			{"add", []bytecode.Element{value(start(0, 1), 7)}, 0, 0},
			{"add", []bytecode.Element{value(start(0, 1), 7)}, 0, 0},
			{"add", []bytecode.Element{value(start(0, 1), 8)}, pipapo.EEXIST, 0},
		}},
		{"catch-all", bytecode.Set{Key: fields(2)}, []step{
			{"add", []bytecode.Element{{Flags: bytecode.ElemCatchall}}, 0, 0},
			{"add", []bytecode.Element{{Flags: bytecode.ElemCatchall}}, 0, 0},
			{"create", []bytecode.Element{{Flags: bytecode.ElemCatchall}}, pipapo.EEXIST, 0},
			{"delete", []bytecode.Element{{Flags: bytecode.ElemCatchall}}, 0, 0},
			{"delete", []bytecode.Element{{Flags: bytecode.ElemCatchall}}, pipapo.ENOENT, 0},
		}},
		{"intervals", bytecode.Set{Key: fields(1), Flags: interval}, []step{
			{"add", []bytecode.Element{end(0), start(10), end(20), start(30), end(40)}, 0, 0},
			{"add", []bytecode.Element{end(0), start(10), end(20)}, 0, 0},
			{"create", []bytecode.Element{start(10), end(20)}, pipapo.EEXIST, 0},
			{"add", []bytecode.Element{start(15), end(18)}, pipapo.ENOTEMPTY, 0},
			{"add", []bytecode.Element{start(10), end(15)}, pipapo.ENOTEMPTY, 1},
			{"add", []bytecode.Element{start(5), end(15)}, pipapo.ENOTEMPTY, 1},
			{"add", []bytecode.Element{start(10), end(40)}, pipapo.ENOTEMPTY, 1},
			{"add", []bytecode.Element{start(20), end(30)}, 0, 0},
			{"delete", []bytecode.Element{start(10), end(30)}, pipapo.ENOENT, 1},
		}},
		{"delete and add again", bytecode.Set{Key: fields(1), Flags: interval}, []step{
			{"add", []bytecode.Element{start(10), end(20)}, 0, 0},
			{"delete", []bytecode.Element{start(10), end(20)}, 0, 0},
			{"add", []bytecode.Element{start(10), end(15)}, 0, 0},
			{"add", []bytecode.Element{start(15), end(17)}, 0, 0},
		}},
		{"interval set of size 1", bytecode.Set{Key: fields(1), Flags: interval, Size: 1}, []step{
			{"add", []bytecode.Element{end(0), start(10), end(20)}, 0, 0},
			{"add", []bytecode.Element{start(30)}, pipapo.ENFILE, 0},
		}},
		{"anonymous set with adjacent intervals", bytecode.Set{Key: fields(1), Flags: interval | bytecode.SetAnonymous}, []step{
			{"add", []bytecode.Element{end(0), start(10), start(20), end(30)}, 0, 0},
			{"add", []bytecode.Element{start(25)}, pipapo.ENOTEMPTY, 0},
		}},
		{"exact keys in rbtree by policy memory", bytecode.Set{Key: fields(4), Size: 100, Policy: bytecode.PolicyMemory}, []step{
			{"add", []bytecode.Element{start(10, 0, 0, 1)}, 0, 0},
			{"add", []bytecode.Element{start(10, 0, 0, 5)}, pipapo.ENOTEMPTY, 0},
		}},
		{"concatenated ranges", bytecode.Set{Key: fields(1, 1), Flags: interval | bytecode.SetConcat}, []step{
			{"add", []bytecode.Element{box(1, 9, 1, 9), box(20, 29, 1, 9), box(1, 9, 1, 9)}, 0, 0},
			{"create", []bytecode.Element{box(40, 41, 1, 1), box(1, 9, 1, 9)}, pipapo.EEXIST, 1},
			{"add", []bytecode.Element{box(40, 41, 2, 2), box(5, 12, 1, 9)}, pipapo.ENOTEMPTY, 1},
			{"delete", []bytecode.Element{box(3, 3, 4, 4)}, 0, 0},
			{"delete", []bytecode.Element{box(3, 3, 4, 4)}, pipapo.ENOENT, 0},
			{"add", []bytecode.Element{box(1, 9, 1, 9)}, 0, 0},
			{"add", []bytecode.Element{end(0, 0, 0, 0, 0, 0, 0, 0)}, pipapo.EINVAL, 0},
		}},
		{"dynamic intervals", bytecode.Set{Key: fields(4), Flags: interval | bytecode.SetEval}, nil},
	}
	for _, tt := range tests {
		l, err := NewLoader(&tt.set)
		if tt.steps == nil {
			if errno, _, _ := errnos(err); errno != pipapo.EOPNOTSUPP {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range tt.steps {
			switch s.op {
			case "add", "create":
				err = l.Add(s.elems, s.op == "create")
			case "delete", "destroy":
				err = l.Delete(s.elems, s.op == "destroy")
			default:
				l.Flush()
				err = nil
			}
			_, cause, index := errnos(err)
			if cause != s.want || index != s.index {
				t.Errorf("%s: step %d (%s): %v at %d, want %v at %d", tt.name, i, s.op, cause, index, s.want, s.index)
			}
			if err != nil && err.Error() == "" {
				t.Errorf("%s: step %d: no message", tt.name, i)
			}
		}
	}
}

// A message of many elements is answered as its elements one by one.
func TestLoaderTakesElementsTogether(t *testing.T) {
	for seed := range uint64(2000) {
		s := randomScenario(seed)
		one, err := NewLoader(&s.set)
		if err != nil {
			continue
		}
		together, err := NewLoader(&s.set)
		if err != nil {
			t.Fatal(err)
		}
		for from := 0; from < len(s.messages); {
			m := s.messages[from]
			to := from
			var elems []bytecode.Element
			for ; to < len(s.messages) && s.messages[to].del == m.del && s.messages[to].create == m.create; to++ {
				elems = append(elems, s.messages[to].elem)
			}
			var want error
			at := 0
			for ; at < len(elems) && want == nil; at++ {
				if m.del {
					want = one.Delete(elems[at:at+1], false)
				} else {
					want = one.Add(elems[at:at+1], m.create)
				}
			}
			var got error
			if m.del {
				got = together.Delete(elems, false)
			} else {
				got = together.Add(elems, m.create)
			}
			e1, c1, _ := errnos(want)
			e2, c2, index := errnos(got)
			if e1 != e2 || c1 != c2 || got != nil && index != at-1 {
				t.Fatalf("seed %d: messages %d to %d together: %v at %d, one by one %v at %d\n%v", seed, from, to, got, index, want, at-1, &s)
			}
			if got != nil {
				break
			}
			if one.Len() != together.Len() {
				t.Fatalf("seed %d: %d elements together, %d one by one", seed, together.Len(), one.Len())
			}
			from = to
		}
	}
}

func BenchmarkLoader(b *testing.B) {
	for _, n := range []int{1000, 100000, 1000000} {
		s := setOf(workload.Random(n, 1))
		b.Run(fmt.Sprintf("ranges/%d", n), func(b *testing.B) {
			for b.Loop() {
				l, err := NewLoader(s)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Add(s.Elements, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, n := range []int{1000, 100000} {
		s := &bytecode.Set{Key: fields(4), Flags: bytecode.SetInterval}
		for i := range n {
			k, e := make([]byte, 4), make([]byte, 4)
			k[0], k[1], k[2] = byte(i>>16), byte(i>>8), byte(i)
			copy(e, k)
			e[3] = 5
			s.Elements = append(s.Elements, start(k...), end(e...))
		}
		b.Run(fmt.Sprintf("intervals/%d", n), func(b *testing.B) {
			for b.Loop() {
				l, err := NewLoader(s)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Add(s.Elements, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
