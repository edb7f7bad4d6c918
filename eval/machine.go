package eval

import (
	"bytes"
	"encoding/binary"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// maxJumps is NFT_JUMP_STACK_SIZE.
const maxJumps = 16

// table, chain and rule are the flattened forms.
type table struct {
	src     *bytecode.Table
	chains  []*chain
	sets    map[string]*set
	setIDs  map[uint32]*set
	names   map[string]*chain
	ids     map[uint32]*chain
	objects map[objectKey]*object
}

type objectKey struct {
	typ  bytecode.ObjectType
	name string
}

func (t *table) set(name string, id uint32) *set {
	// Anonymous sets share a name pattern until they are loaded: the id tells.
	if s := t.setIDs[id]; s != nil && id != 0 && s.src.Name == name {
		return s
	}
	return t.sets[name]
}

func (t *table) chain(name string, id uint32) *chain {
	if id != 0 {
		if c := t.ids[id]; c != nil {
			return c
		}
	}
	return t.names[name]
}

func (t *table) object(typ bytecode.ObjectType, name string) *object {
	return t.objects[objectKey{typ, name}]
}

type chain struct {
	src   *bytecode.Chain
	table *table
	rules []rule
	// For base chains:
	hook     bytecode.Hook
	priority int32
	policy   int32
	view     packet.View
	nat      bool
	route    bool
	devices  []string

	classifier *classifier // nil for short chains
}

type rule struct {
	src        *bytecode.Rule
	first, end int32 // ops
}

type frame struct {
	chain *chain
	rule  int32
}

// walk is the state of one packet's trip, whole: a copy of it goes on from the
// same place.
type walk struct {
	regs [bytecode.RegisterBytes]byte
	// unk has a bit for each 4-byte slot whose value is not known, why says
	// for what cause.
	unk uint16
	why [16]Cause

	// Place in the program. resume is the op to go on with, or -1 for the
	// first of rule ri.
	running bool
	base    *chain
	chain   *chain
	ri      int
	resume  int32
	sp      int
	stack   [maxJumps]frame
	vd      verdict // of the last op that gave one
	// What a fork decides: see codeFork.
	forkOp    int32
	forkCause Cause
	forkAlts  []verdict // nil: go on with the next op
	forkData  bool      // the alternatives' data is unknown: dst of forkOp
	forkNames []string  // devices that forkOp's register may name, see device.go
	forkNot   bool      // the op matches if it is none of them
	forkAll   bool      // the op matches for certain: forkAlts are all there is

	p       *packet.Packet
	view    packet.View
	entered bool // p.Info is valid for view
	trip    trip

	// inject is a verdict that a branch takes for the op at resume.
	inject   verdict
	injected bool

	mark, priority     uint32
	markWhy, prioWhy   Cause
	prioSet            bool
	secmark            uint32
	secmarkWhy         Cause
	pktType            packet.PktType
	mutated            bool
	bytesWhy           Cause // some bytes of the packet are unknown since a rule wrote them
	in, out            iface
	ct                 *conntrack.Conn
	ctInfo             conntrack.Info
	ctNone, ctTemplate bool // no entry: invalid or untracked; zone template
	ctZone             conntrack.Zone
	ctMarkWhy          Cause
	natIndex           int // nat chain at hand inside a NAT function
	reassembled        bool

	dry  bool    // run for its verdict only: no side effects
	res  *Result // nil when dry
	opts Options

	end ending
}

// ending is how a trip ended.
type ending struct {
	verdict  Verdict
	step     Step // the hook at hand
	accepted Step // the hook of the last chain that gave a verdict
	base     *chain
	chain    *chain
	rule     *bytecode.Rule
	policy   bool
	reject   *bytecode.Reject
	queue    uint16
	by       Internal
	stack    StackReason
}

// runChain runs from the walk's place to the end of its base chain: the
// kernel's nft_do_chain. It returns accept, drop, queue or stolen, or codeFork
// when an unknown value decides.
func (e *Engine) runChain(w *walk) int32 {
	for {
		rules := w.chain.rules
		code := codeContinue
		cls, first := w.chain.classifier, w.ri+e.classifyFirst
		if cls != nil {
			e.class.valid = false
			if w.opts.Explain {
				cls = nil // tells of each rule why it fails
			}
		}
		for w.ri < len(rules) {
			if cls != nil && w.ri >= first && w.resume < 0 && !w.injected {
				if w.ri = e.nextRule(w, cls); w.ri >= len(rules) {
					break
				}
			}
			r := &rules[w.ri]
			i := r.first
			if w.resume >= 0 {
				i, w.resume = w.resume, -1
			}
			if w.injected {
				w.injected, w.vd, code = false, w.inject, w.inject.code
				i++
			} else {
				code = codeContinue
			}
			if code == codeContinue {
				code = e.eval(w, i, r.end)
			}
			if cls != nil && cls.changes[w.ri] {
				e.class.valid = false
			}
			if code == codeBreak {
				code = codeContinue
				w.ri++
				continue
			}
			if code == codeFork {
				return codeFork
			}
			if w.opts.Trace && w.res != nil {
				e.traceRule(w, r, code)
			}
			if code != codeContinue {
				break
			}
			w.ri++
		}
		switch code {
		case codeAccept, codeDrop, codeQueue, codeStolen:
			w.end.chain, w.end.rule, w.end.policy = w.chain, rules[w.ri].src, false
			return code
		case codeJump:
			if w.sp >= maxJumps {
				w.end.chain, w.end.rule, w.end.policy = w.chain, rules[w.ri].src, false
				return codeDrop
			}
			w.stack[w.sp] = frame{w.chain, int32(w.ri + 1)}
			w.sp++
			fallthrough
		case codeGoto:
			w.chain, w.ri = w.vd.chain, 0
			continue
		case codeContinue:
			if w.opts.Trace && w.res != nil {
				e.traceReturn(w)
			}
		}
		// codeReturn, or the end of the chain.
		if w.sp > 0 {
			w.sp--
			w.chain, w.ri = w.stack[w.sp].chain, int(w.stack[w.sp].rule)
			continue
		}
		w.end.chain, w.end.rule, w.end.policy = w.base, nil, true
		if w.opts.Trace && w.res != nil {
			e.tracePolicy(w)
		}
		return w.base.policy
	}
}

// slots is the bit mask of the 4-byte slots under n bytes at offset off.
func slots(off uint8, n uint16) uint16 {
	first := off / 4
	last := (uint16(off) + n + 3) / 4
	return uint16(1<<last-1) &^ (1<<first - 1)
}

// known marks n bytes at off as known, unknown as not, for a cause.
func (w *walk) known(off uint8, n uint16) {
	if w.unk != 0 {
		w.unk &^= slots(off, n)
	}
}

func (w *walk) unknown(off uint8, n uint16, c Cause) {
	m := slots(off, n)
	w.unk |= m
	for s := 0; s < 16; s++ {
		if m&(1<<s) != 0 {
			w.why[s] = c
		}
	}
	clear(w.regs[off : uint16(off)+n])
}

// cause is why some of n bytes at off are unknown; CauseNone if they are not.
func (w *walk) cause(off uint8, n uint16) Cause {
	m := w.unk & slots(off, n)
	if m == 0 {
		return CauseNone
	}
	for s := 0; s < 16; s++ {
		if m&(1<<s) != 0 {
			return w.why[s]
		}
	}
	return CauseNone
}

// fork stops the machine at op i, which matches or not for a cause unknown.
func (w *walk) fork(i int32, c Cause) int32 {
	w.forkOp, w.forkCause, w.forkAlts, w.forkData, w.forkNames, w.forkNot, w.forkAll = i, c, nil, false, nil, false, false
	return codeFork
}

func (w *walk) u32(off uint8) uint32 { return binary.LittleEndian.Uint32(w.regs[off:]) }

// put32, put16 and put8 store a value in host order, as nft_reg_store*: the
// rest of the slot becomes zero.
func (w *walk) put32(off uint8, v uint32) {
	w.known(off, 4)
	binary.LittleEndian.PutUint32(w.regs[off:], v)
}

func (w *walk) put16(off uint8, v uint16) { w.put32(off, uint32(v)) }
func (w *walk) put8(off uint8, v uint8)   { w.put32(off, uint32(v)) }

func (w *walk) put64(off uint8, v uint64) {
	w.known(off, 8)
	binary.LittleEndian.PutUint64(w.regs[off:], v)
}

// putBytes stores bytes and clears the rest of the last slot.
func (w *walk) putBytes(off uint8, b []byte) {
	w.known(off, uint16(len(b)))
	end := copy(w.regs[off:], b) + int(off)
	for ; end&3 != 0; end++ {
		w.regs[end] = 0
	}
}

// putName stores an interface's or other name in 16 bytes (strscpy_pad).
func (w *walk) putName(off uint8, s string) {
	w.known(off, 16)
	n := copy(w.regs[off:off+15], s)
	clear(w.regs[int(off)+n : off+16])
}

// eval runs the ops [i, end) of one rule. It returns codeContinue when all
// ran, or what stopped it.
func (e *Engine) eval(w *walk, i, end int32) int32 {
	for ; i < end; i++ {
		o := &e.ops[i]
		code := codeContinue
		switch o.code {
		case opCmpEq4, opCmpNe4:
			// nft_cmp_fast_eval
			if w.unk != 0 {
				if c := w.cause(o.src, o.n); c != CauseNone {
					if code = e.cmpUnknown(w, o, i, c); code == codeFork {
						return code
					}
					break
				}
			}
			if (w.u32(o.src)&o.b == o.a) != (o.code == opCmpEq4) {
				code = codeBreak
			}
		case opPayload:
			code = e.payload(w, o, i)
		case opVerdict:
			w.vd = e.verdicts[o.ref]
			code = w.vd.code
		case opMeta:
			code = e.meta(w, o)
		case opMask4:
			// nft_bitwise_fast_eval
			w.bitwiseTaint(o.src, o.dst, 4)
			binary.LittleEndian.PutUint32(w.regs[o.dst:], w.u32(o.src)&o.a^o.b)
		case opCmpEq, opCmpNe:
			// nft_cmp_eval
			if c := w.cause(o.src, o.n); c != CauseNone {
				if code = e.cmpUnknown(w, o, i, c); code == codeFork {
					return code
				}
				break
			}
			if bytes.Equal(w.regs[o.src:uint16(o.src)+o.n], o.data) != (o.code == opCmpEq) {
				code = codeBreak
			}
		case opLookup, opLookupMap, opLookupVerdict:
			code = e.lookup(w, o, i)
		case opCT:
			code = e.ctGet(w, o)
		case opCounter:
			if !w.dry {
				e.states[o.ref].count(w.p.Info.Len())
			}
		case opCmpOrder:
			if c := w.cause(o.src, o.n); c != CauseNone {
				return w.fork(i, c)
			}
			if !ordered(bytecode.CmpOp(o.flag), bytes.Compare(w.regs[o.src:uint16(o.src)+o.n], o.data)) {
				code = codeBreak
			}
		case opRange:
			// nft_range_eval
			if c := w.cause(o.src, o.n); c != CauseNone {
				return w.fork(i, c)
			}
			k := w.regs[o.src : uint16(o.src)+o.n]
			in := bytes.Compare(k, o.data) >= 0 && bytes.Compare(k, o.data2) <= 0
			if in == (o.flag == 1) {
				code = codeBreak
			}
		case opImmediate:
			w.known(o.dst, o.n)
			copy(w.regs[o.dst:], o.data)
		case opMask, opShift, opBitwise2:
			w.bitwise(o)
		case opByteorder:
			w.byteorder(o)
		default:
			code = e.evalRare(w, o, i)
		}
		if code == codeContinue {
			continue
		}
		if code == codeBreak && w.opts.Explain && w.res != nil {
			e.explain(w, o, i)
		}
		return code
	}
	return codeContinue
}

// evalRare is the rest of eval's switch.
func (e *Engine) evalRare(w *walk, o *op, i int32) int32 {
	switch o.code {
	case opPayloadSet:
		return e.payloadSet(w, o, i)
	case opInnerPayload, opInnerMeta:
		return e.inner(w, o)
	case opMetaSet:
		return e.metaSet(w, o, i)
	case opCTSet:
		return e.ctSet(w, o, i)
	case opNotrack:
		// nft_notrack_eval: only what has no entry yet.
		if w.ct == nil && !w.ctTemplate {
			w.ctInfo, w.ctNone = conntrack.Untracked, true
		}
		return codeContinue
	case opRT:
		return e.rt(w, o)
	case opFib:
		return e.fib(w, o)
	case opSocket:
		return e.socket(w, o)
	case opOsf:
		return e.osf(w, o)
	case opXfrm:
		return e.xfrm(w, o)
	case opTunnel:
		// nft_tunnel_get_eval: metadata of tunnel devices is never in a capture.
		w.unknown(o.dst, o.n, CauseTunnel)
		return codeContinue
	case opExthdr:
		return e.exthdr(w, o, i)
	case opExthdrSet:
		return e.exthdrSet(w, o, i)
	case opExthdrReset:
		return e.exthdrReset(w, o, i)
	case opDynset:
		return e.dynset(w, o, i)
	case opObjref:
		return e.objref(w, e.objects[o.ref], i)
	case opObjrefMap:
		return e.objrefMap(w, o, i)
	case opStateful:
		return e.stateful(w, e.states[o.ref], i)
	case opNumgen:
		e.numgen(w, o)
		return codeContinue
	case opJhash:
		e.jhash(w, o)
		return codeContinue
	case opSymhash:
		w.unknown(o.dst, o.n, CauseFlowHash)
		return codeContinue
	case opLog:
		return codeContinue
	case opReject:
		w.end.reject = o.instr.(*bytecode.Reject)
		return codeDrop
	case opNAT:
		return e.natSetup(w, o, i)
	case opTProxy:
		return e.tproxy(w, o, i)
	case opSynproxy:
		return e.synproxy(w, o, i)
	case opDup:
		return codeContinue
	case opFwd:
		return e.fwd(w, o, i)
	case opQueue:
		return e.queue(w, o)
	case opFlowOffload:
		return e.flowOffload(w)
	case opCompat:
		return w.fork(i, CauseXtables)
	}
	return codeBreak
}

// ordered is the switch of nft_cmp_eval on memcmp's result d.
func ordered(op bytecode.CmpOp, d int) bool {
	switch op {
	case bytecode.CmpLt:
		return d < 0
	case bytecode.CmpLte:
		return d <= 0
	case bytecode.CmpGt:
		return d > 0
	case bytecode.CmpGte:
		return d >= 0
	case bytecode.CmpNeq:
		return d != 0
	}
	return d == 0
}
