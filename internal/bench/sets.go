package bench

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/compile/set"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
)

// SetBackend is a set in one back end.
type SetBackend struct {
	Backend string `json:"backend"`
	Chosen  bool   `json:"chosen"` // by the offline plan
	Bytes   uint64 `json:"bytes"`
	Match   Stat   `json:"match"`   // keys that elements hold
	NoMatch Stat   `json:"nomatch"` // random keys
	Batch   Stat   `json:"batch"`   // matching keys, 64 at a time
}

// linearLimit is the number of elements beyond which the linear scan is left out.
const linearLimit = 20000

// MeasureSet measures a set in every back end that can hold it.
func MeasureSet(s *bytecode.Set, opt Options) ([]SetBackend, error) {
	chosen, err := set.Build(s, set.Options{})
	if err != nil {
		return nil, err
	}
	match, miss := SetKeys(s)
	var rows []SetBackend
	var cases []Case
	for _, b := range set.Backends() {
		if ok, _ := b.Suits(s); !ok || b == set.Linear && len(s.Elements) > linearLimit {
			continue
		}
		t := chosen
		if b != chosen.Backend() {
			if t, err = set.Build(s, set.Options{Backend: b}); err != nil {
				continue
			}
		}
		rows = append(rows, SetBackend{Backend: b.String(), Chosen: b == chosen.Backend(), Bytes: t.Bytes()})
		cases = append(cases, Case{Run: tableCase(t, match)}, Case{Run: tableCase(t, miss)}, Case{Run: batchCase(t, match)})
	}
	for i, st := range Measure(cases, opt) {
		r := &rows[i/3]
		*[]*Stat{&r.Match, &r.NoMatch, &r.Batch}[i%3] = st
	}
	return rows, nil
}

// SetKeys makes keys for a set: random values within random elements, and random
// ones.
func SetKeys(s *bytecode.Set) (match, miss []byte) {
	r := rand.New(rand.NewPCG(7, 7))
	klen := s.KeyLen()
	type interval struct{ lo, hi []byte }
	var list []interval
	for i := range s.Elements {
		e := &s.Elements[i]
		if len(e.Key) != klen || e.Flags&bytecode.ElemIntervalEnd != 0 {
			continue
		}
		v := interval{e.Key, e.Key}
		if len(e.KeyEnd) == klen {
			v.hi = e.KeyEnd
		} else if len(s.Key) == 1 && i+1 < len(s.Elements) {
			// An interval's end point follows it and does not belong to it; where it does
			// not, the start alone is looked up.
			if n := &s.Elements[i+1]; n.Flags&bytecode.ElemIntervalEnd != 0 && bytes.Compare(n.Key, e.Key) > 0 {
				v.hi = before(n.Key)
			}
		}
		list = append(list, v)
	}
	for range keyCount {
		key := make([]byte, klen)
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		at := 0
		for _, f := range s.Key {
			for i := at + int(f.Len); i < min(klen, at+f.Padded()); i++ {
				key[i] = 0
			}
			at += f.Padded()
		}
		miss = append(miss, key...)
		if len(list) > 0 {
			v := list[r.IntN(len(list))]
			key = append([]byte(nil), v.lo...)
			at = 0
			for _, f := range s.Key {
				end := min(klen, at+int(f.Len))
				within(key[at:end], v.lo[at:end], v.hi[at:end], r)
				at += f.Padded()
			}
		}
		match = append(match, key...)
	}
	return match, miss
}

// before is the value below a key.
func before(key []byte) []byte {
	out := append([]byte(nil), key...)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i]--; out[i] != 0xff {
			break
		}
	}
	return out
}

// within writes a random value from lo to hi: of the lowest 8 bytes where these are
// all that differs, else lo.
func within(dst, lo, hi []byte, r *rand.Rand) {
	copy(dst, lo)
	cut := max(0, len(lo)-8)
	if !bytes.Equal(lo[:cut], hi[:cut]) {
		return
	}
	word := func(b []byte) uint64 {
		v := uint64(0)
		for _, x := range b[cut:] {
			v = v<<8 | uint64(x)
		}
		return v
	}
	a, b := word(lo), word(hi)
	if b < a {
		return
	}
	if b-a+1 != 0 {
		a += r.Uint64N(b - a + 1)
	} else {
		a = r.Uint64()
	}
	for i := len(dst) - 1; i >= cut; i-- {
		dst[i] = byte(a)
		a >>= 8
	}
}

// Path is what the whole path of packets takes.
type Path struct {
	Packets  int64 `json:"packets"`
	Bytes    int64 `json:"bytes"`
	Read     Stat  `json:"read"`     // reading and decoding, per packet
	Evaluate Stat  `json:"evaluate"` // the whole path, per packet
}

// PathRun opens the packets anew and runs them all; with an engine it evaluates
// them, without it only reads and decodes. apply, if not nil, completes each
// packet.
func PathRun(open func() (packet.Source, error), engine *eval.Engine, apply func(*packet.Packet)) (n, bytes int64, err error) {
	src, err := open()
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	var p packet.Packet
	var res eval.Result
	for {
		switch err := src.Next(&p); {
		case errors.Is(err, io.EOF):
			read, _ := src.Progress()
			return n, read, nil
		case err != nil:
			return n, 0, err
		}
		if engine != nil {
			if apply != nil {
				apply(&p)
			}
			engine.Run(&p, &res)
		}
		n++
	}
}

// MeasurePath runs a capture several times, reading only and evaluating in turns.
// Every run has an engine of its own.
func MeasurePath(open func() (packet.Source, error), engine func() (*eval.Engine, error), apply func(*packet.Packet), rounds int) (Path, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out Path
	var read, whole []float64
	for range rounds {
		start := threadTime()
		n, size, err := PathRun(open, nil, nil)
		if err != nil {
			return out, err
		}
		took := threadTime() - start
		e, err := engine()
		if err != nil {
			return out, err
		}
		start = threadTime()
		if _, _, err = PathRun(open, e, apply); err != nil {
			return out, err
		}
		ran := threadTime() - start
		out.Packets, out.Bytes = n, size
		if n == 0 {
			return out, nil
		}
		read = append(read, float64(took)/float64(n))
		whole = append(whole, float64(ran)/float64(n))
	}
	out.Read, out.Evaluate = statOf(read), statOf(whole)
	return out, nil
}
