package eval

import (
	"fmt"
	"math/bits"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
)

// statefulKind tells the expressions with state apart.
type statefulKind uint8

const (
	statefulCounter statefulKind = iota
	statefulQuota
	statefulLimit
	statefulConnlimit
	statefulLast
)

// stateful is one counter, quota, limit, connlimit or last: of a rule, a named
// object or a set element.
type stateful struct {
	kind statefulKind
	over bool // quota over, limit over, ct count over
	src  bytecode.Instr

	packets, bytes uint64 // counter; quota: bytes consumed
	limit          uint64 // quota: bytes; connlimit: connections

	// limit, in nanoseconds as nft_limit_priv
	perByte           bool
	rate, period      uint64
	tokens, tokensMax uint64
	cost              uint64 // of a packet
	last              int64  // time of the last draw; last: of the last run
	everSet           bool   // last

	conns conncount
}

// defaultBurst is NFT_LIMIT_PKT_BURST_DEFAULT.
const defaultBurst = 5

// newStateful makes the state that in starts with.
func (e *Engine) newStateful(in bytecode.Instr, fam bytecode.Family) (*stateful, error) {
	switch in := in.(type) {
	case *bytecode.Counter:
		return &stateful{kind: statefulCounter, src: in, packets: in.Packets, bytes: in.Bytes}, nil
	case *bytecode.Quota:
		return &stateful{kind: statefulQuota, src: in, bytes: in.Consumed, limit: in.Bytes, over: in.Over}, nil
	case *bytecode.Limit:
		return newLimit(in)
	case *bytecode.Connlimit:
		e.needCT(fam)
		return &stateful{kind: statefulConnlimit, src: in, limit: uint64(in.Count), over: in.Over}, nil
	case *bytecode.Last:
		return &stateful{kind: statefulLast, src: in, everSet: in.Set, last: -int64(in.Msecs) * 1e6}, nil
	case nil:
		return nil, fmt.Errorf("missing stateful expression")
	}
	return nil, fmt.Errorf("%s has no state", in.Name())
}

// newLimit is nft_limit_init and nft_limit_pkts_init: buckets hold time. A
// packet costs the time it takes to earn it.
func newLimit(in *bytecode.Limit) (*stateful, error) {
	if in.Rate == 0 {
		return nil, fmt.Errorf("rate 0")
	}
	hi, period := bits.Mul64(in.Unit, 1e9)
	if hi != 0 {
		return nil, fmt.Errorf("unit of %d s overflows", in.Unit)
	}
	s := &stateful{kind: statefulLimit, src: in, over: in.Over, perByte: in.Bytes, rate: in.Rate, period: period}
	burst := uint64(in.Burst)
	if !in.Bytes {
		if burst == 0 {
			burst = defaultBurst
		}
		s.cost = period / in.Rate
		if hi, s.tokensMax = bits.Mul64(s.cost, burst); hi != 0 {
			return nil, fmt.Errorf("burst of %d overflows", burst)
		}
	} else {
		sum, carry := bits.Add64(in.Rate, burst, 0)
		hi, lo := bits.Mul64(period, sum)
		if hi != 0 || carry != 0 {
			return nil, fmt.Errorf("burst of %d overflows", burst)
		}
		s.tokensMax = lo / in.Rate
	}
	s.tokens = s.tokensMax
	return s, nil
}

func (e *Engine) addStateful(s *stateful) int32 {
	e.states = append(e.states, s)
	return int32(len(e.states) - 1)
}

func (s *stateful) count(n int) {
	s.packets++
	s.bytes += uint64(n)
}

// stateful runs a stateful expression for the packet: codeContinue, codeBreak
// or codeDrop. In a dry run it decides without changing anything.
func (e *Engine) stateful(w *walk, s *stateful, i int32) int32 {
	switch s.kind {
	case statefulCounter:
		if !w.dry {
			s.count(w.p.Info.Len())
		}
	case statefulQuota:
		// nft_overquota
		n := s.bytes + uint64(w.p.Info.Len())
		if !w.dry {
			s.bytes = n
		}
		if (n > s.limit) != s.over {
			return codeBreak
		}
	case statefulLimit:
		if !e.drawLimit(w, s) {
			return codeBreak
		}
	case statefulConnlimit:
		return e.connlimit(w, s, i)
	case statefulLast:
		if !w.dry {
			s.last, s.everSet = e.now, true
		}
	}
	return codeContinue
}

// drawLimit is nft_limit_eval: whether the rule goes on.
func (e *Engine) drawLimit(w *walk, s *stateful) bool {
	e.needTime(w)
	cost := s.cost
	if s.perByte {
		// nft_limit_bytes_eval
		hi, lo := bits.Mul64(s.period, uint64(w.p.Info.Len()))
		if hi == 0 {
			cost = lo / s.rate
		} else {
			cost = ^uint64(0)
		}
	}
	last := s.last
	if last == 0 {
		last = e.startAt
	}
	tokens := s.tokens
	if e.now > last {
		tokens += uint64(e.now - last)
	}
	if tokens > s.tokensMax || tokens < s.tokens {
		tokens = s.tokensMax
	}
	ok := tokens >= cost
	if ok {
		tokens -= cost
	}
	if !w.dry {
		s.tokens, s.last = tokens, e.now
	}
	return ok != s.over
}

// needTime notes that the answer depends on a clock that packets do not state.
func (e *Engine) needTime(w *walk) {
	if !e.nowKnown && w.res != nil {
		w.res.Assumed |= AssumedNoTime
	}
}

// conncount is the list of connections that one connlimit counts
// (nf_conncount_list).
type conncount struct {
	tuples []countedConn
}

type countedConn struct {
	tuple conntrack.Tuple
	zone  uint16
}

// connlimit is nft_connlimit_do_eval.
func (e *Engine) connlimit(w *walk, s *stateful, i int32) int32 {
	if e.ct == nil || (w.ct != nil && w.ct.Stated) {
		return w.fork(i, CauseConnection)
	}
	t, ok := conntrack.TupleOf(w.p)
	if !ok {
		// nf_conncount_add_skb: no tuple, -ENOENT: the packet is dropped.
		return codeDrop
	}
	if w.ct != nil {
		t = w.ct.Orig
	}
	zone := w.ctZone.ID
	// gc: entries whose connection is gone or over are not counted.
	n, found := 0, false
	for k := range s.conns.tuples {
		c := &s.conns.tuples[k]
		// find_or_evict: on one CPU an entry that was never confirmed goes.
		conn := e.ct.Find(c.tuple, c.zone, e.now)
		if conn == nil {
			continue
		}
		if c.tuple == t && c.zone == zone {
			found = true
		} else if conn.Closed() {
			continue
		}
		if !w.dry {
			s.conns.tuples[n] = *c
		}
		n++
	}
	if !w.dry {
		s.conns.tuples = s.conns.tuples[:n]
	}
	// __nf_conncount_add: what is assured was counted when it was new.
	if !found && !(w.ct != nil && w.ct.IsConfirmed() && w.ct.Status&conntrack.Assured != 0) {
		n++
		if !w.dry {
			s.conns.tuples = append(s.conns.tuples, countedConn{t, zone})
		}
	}
	if (uint64(n) > s.limit) != s.over {
		return codeBreak
	}
	return codeContinue
}

// object is a named stateful object or the definition of a helper and such.
type object struct {
	src   *bytecode.Object
	index int32
	state *stateful // counter, quota, limit, connlimit
}

// objref is nft_objref_eval.
func (e *Engine) objref(w *walk, ob *object, i int32) int32 {
	if ob.state != nil {
		return e.stateful(w, ob.state, i)
	}
	switch ob.src.Type {
	case bytecode.ObjSynproxy:
		return e.synproxy(w, &op{instr: ob.src.Instr}, i)
	case bytecode.ObjCTHelper:
		if h, ok := ob.src.Instr.(*bytecode.ObjCTHelperSpec); ok && w.ct != nil && !w.dry {
			w.ct.SetHelper(h.Helper)
		}
	case bytecode.ObjSecmark:
		// nft_secmark_obj_eval: the number behind the context is the kernel's.
		w.secmarkWhy = CauseSecmark
	case bytecode.ObjCTExpect:
		e.expect(w, ob)
	}
	return codeContinue
}

// numgen is nft_ng_inc_eval and nft_ng_random_eval.
func (e *Engine) numgen(w *walk, o *op) {
	if o.flag == 1 {
		if o.a == 1 {
			w.put32(o.dst, o.b)
			return
		}
		w.unknown(o.dst, 4, CauseRandom)
		return
	}
	n := e.numgens[o.ref] + 1
	if n >= o.a {
		n = 0
	}
	if !w.dry {
		e.numgens[o.ref] = n
	}
	w.put32(o.dst, n+o.b)
}
