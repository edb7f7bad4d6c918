package eval

import (
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// branch is a walk with the memory that its copy of the packet lies in.
type branch struct {
	walk
	p    packet.Packet
	data []byte
	conn conntrack.Conn
}

// outcomes collects how the branches of one packet ended, as bits by Verdict.
type outcomes struct {
	seen     uint8
	branches int
	overflow bool
}

func (o *outcomes) add(v Verdict) { o.seen |= 1 << v }

// split tells whether the ways seen so far differ already.
func (o *outcomes) split() bool { return o.overflow || o.seen&(o.seen-1) != 0 }

// copyWalk makes a dry copy of a walk.
func (e *Engine) copyWalk(w *walk) *branch {
	var b *branch
	if n := len(e.free); n > 0 {
		b, e.free = e.free[n-1], e.free[:n-1]
	} else {
		b = new(branch)
	}
	b.walk = *w
	b.p = *w.p
	b.data = append(b.data[:0], w.p.Data...)
	b.p.Data = b.data
	b.walk.p = &b.p
	if w.ct != nil {
		b.conn = *w.ct
		b.walk.ct = &b.conn
	}
	b.dry, b.res = true, nil
	b.opts = Options{}
	b.forkAlts, b.forkNames = nil, nil
	return b
}

// explore runs the ways that an undecided op opens, but for the one on which
// it does not match: that one is left to w, which goes on with the next rule.
// Where the op matches for certain w takes the first of its verdicts.
func (e *Engine) explore(w *walk) {
	cause, i := w.forkCause, w.forkOp
	e.noteUnknown(w, cause, int(i))
	alts, names, not, all := w.forkAlts, w.forkNames, w.forkNot, w.forkAll && len(w.forkAlts) > 0
	n := max(1, len(alts))
	if len(names) > 0 && !not {
		n = len(names)
	}
	first := 0
	if all {
		first = 1 // the first is left to w
	}
	for k := first; k < n && !e.out.split(); k++ {
		if e.out.branches >= maxBranches {
			e.out.overflow = true
			e.noteUnknown(w, CauseTooMany, -1)
			break
		}
		e.out.branches++
		b := e.copyWalk(w)
		switch {
		case not:
			b.trip.exclude(e, cause, names)
			b.resume = i + 1
		case len(names) > 0:
			b.bindDevice(e, i, cause, names[k])
		case len(alts) > 0:
			b.inject, b.injected = alts[k], true
			b.resume = i
		default:
			if o := &e.ops[i]; w.forkData {
				b.unknown(o.dst, uint16(e.sets[o.ref].dataLen), cause)
			}
			b.resume = i + 1
		}
		e.travel(&b.walk)
		e.out.add(b.end.verdict)
		e.free = append(e.free, b)
	}
	switch {
	case not && len(names) == 1:
		w.trip.bind(cause, names[0])
		e.setDevices(w)
	case !not:
		w.trip.exclude(e, cause, names)
	}
	w.forkAlts, w.forkNames, w.forkAll = nil, nil, false
	if all {
		w.inject, w.injected, w.resume = alts[0], true, i
		return
	}
	w.ri++
	w.resume = -1
}

// exploreChain runs the way on which a chain is run that may or may not be
// bound to the packet's device; w passes over it.
func (e *Engine) exploreChain(w *walk, c *chain) {
	dev := CauseInterface
	if w.trip.hook == bytecode.HookEgress {
		dev = CauseOutInterface
	}
	var names []string
	for _, n := range c.devices {
		if !strings.HasSuffix(n, "*") && !e.cannotBe(w, dev, n) {
			names = append(names, n)
		}
	}
	single := len(c.devices) == 1 && len(names) == 1
	if len(names) == 0 && !c.wildcard() {
		return
	}
	defer func() {
		if single {
			w.trip.exclude(e, dev, names)
		}
	}()
	e.noteChain(w, c, dev)
	if e.out.split() {
		return
	}
	if e.out.branches >= maxBranches {
		e.out.overflow = true
		return
	}
	e.out.branches++
	b := e.copyWalk(w)
	if single {
		b.trip.bind(dev, names[0])
		e.setDevices(&b.walk)
	}
	if e.enter(&b.walk, c.view) {
		b.startChain(c)
		e.travel(&b.walk)
	} else {
		b.end.verdict = Drop
	}
	e.out.add(b.end.verdict)
	e.free = append(e.free, b)
}

// noteChain records that it is not known whether a chain runs.
func (e *Engine) noteChain(w *walk, c *chain, cause Cause) {
	if w.res == nil {
		return
	}
	r := Reason{Cause: cause, Table: c.table.src, Chain: c.src, Instr: -1, Span: c.src.Span}
	for _, o := range w.res.Unknown {
		o.Before, o.Missed = 0, 0
		if o == r {
			return
		}
	}
	r.Before, r.Missed = len(w.res.Trace), len(w.res.Explain)
	w.res.Unknown = append(w.res.Unknown, r)
}
