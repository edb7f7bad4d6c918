package eval

import (
	"math"
	"math/bits"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
)

// A long chain mostly asks the same few fields for other values in each rule.
// Its classifier tells, for a packet, which rules can match: rules that ask for
// the same fields are a group; each field of a group divides its values into
// classes, and each class knows the rules of the group that take its values.
// The rules common to the packet's classes, lowest first, are those to run, by
// the interpreter as ever: the classifier only passes over rules that are
// certain not to match and that change nothing before they fail. So counters,
// traces and unknown values are those of the walk rule by rule.
//
// A rule that reads a field which is not known for the packet is always run. So
// is a rule that asks for nothing the classifier understands.

// ClassifierUse tells which chains are run with a classifier, and which rule by
// rule.
type ClassifierUse uint8

const (
	// ClassifierAuto: those that are long enough to gain.
	ClassifierAuto ClassifierUse = iota
	// ClassifierOff: none.
	ClassifierOff
	// ClassifierAlways: all in which it can pass over a rule.
	ClassifierAlways
)

func (u ClassifierUse) String() string {
	switch u {
	case ClassifierAuto:
		return "auto"
	case ClassifierOff:
		return "off"
	case ClassifierAlways:
		return "always"
	}
	return "invalid"
}

// classifyLimits are from what size on classifiers are made.
type classifyLimits struct {
	rules int // in groups, of a chain: less are run faster one by one
	group int // rules of a group
	first int // rules that are run before the classifier is asked: most packets end there
}

func (u ClassifierUse) limits() classifyLimits {
	if u == ClassifierAlways {
		return classifyLimits{rules: 1, group: 1}
	}
	return classifyLimits{rules: 16, group: 8, first: 4}
}

const (
	maxGroupsOf = 32 // of a chain; rules of further groups are always run
	maxFields   = 16 // of a chain
	maxColumns  = 8  // of a group
)

const noRule = math.MaxUint32

// classifier is what a chain's classifier knows of the rules.
type classifier struct {
	fields []classField
	groups []ruleGroup
	always []uint32 // rules of no group
	// changes has the rules that may change what a field holds.
	changes []bool
}

// classField is how a field gets its value: a load, and for values that are
// compared in network order a conversion. Both work on the first register.
type classField struct {
	load  op
	order op
	swap  bool // order is used
	width int  // bytes
	// narrower tells that some rules load less bytes: they may have them where
	// the whole field is absent.
	narrower bool
}

// ruleGroup are rules with conditions on the same fields.
type ruleGroup struct {
	rules   []uint32 // ascending
	touched uint32   // fields that the rules load
	columns []column
}

// members are the rules of a group, by their index in it, that take the values
// of a class: a list when they are few, else a bitmap with a bit in sum for
// each of its words that is not zero.
type members struct {
	n         int
	list      []uint32
	bits, sum []uint64
}

func (m *members) has(i uint32) bool {
	if m.bits != nil {
		return m.bits[i/64]>>(i%64)&1 != 0
	}
	_, ok := slices.BinarySearch(m.list, i)
	return ok
}

// classValue are the bytes of a field, most significant first, from the top.
type classValue [2]uint64

func (v classValue) less(o classValue) bool {
	return v[0] < o[0] || v[0] == o[0] && v[1] < o[1]
}

// classState is what is known for the packet and chain at hand.
type classState struct {
	valid  bool
	status [maxFields]fieldStatus
	values [maxFields]classValue
	groups [maxGroupsOf]groupState
	live   int // of groups
	always int // index of the next one
}

type fieldStatus uint8

const (
	fieldUnread fieldStatus = iota
	fieldKnown
	fieldAbsent
	fieldUnknown
)

// groupState is a search through the rules of a group that may match.
type groupState struct {
	rules []uint32
	next  uint32 // the rule found last, noRule at the end
	at    int    // where the search goes on: in list, or an index of the group
	list  []uint32
	sets  [maxColumns]*members // what a rule must be in, but for list
	n     int
}

// nextRule is the first rule from w.ri on that may match, or the number of rules.
func (e *Engine) nextRule(w *walk, c *classifier) int {
	s := &e.class
	from := uint32(w.ri)
	if !s.valid {
		e.classify(w, c, from)
	}
	for s.always < len(c.always) && c.always[s.always] < from {
		s.always++
	}
	next := uint32(noRule)
	if s.always < len(c.always) {
		next = c.always[s.always]
	}
	for k := 0; k < s.live; {
		g := &s.groups[k]
		for g.next < from {
			g.advance()
		}
		if g.next == noRule {
			s.live--
			*g = s.groups[s.live]
			continue
		}
		next = min(next, g.next)
		k++
	}
	return int(min(next, uint32(len(c.changes))))
}

// classify reads the packet's fields and starts the search in each group at a
// rule.
func (e *Engine) classify(w *walk, c *classifier, from uint32) {
	s := &e.class
	s.valid = true
	s.always, _ = slices.BinarySearch(c.always, from)
	clear(s.status[:len(c.fields)])
	s.live = 0
	for k := range c.groups {
		g := &c.groups[k]
		if g.rules[len(g.rules)-1] < from {
			continue
		}
		all, none := false, false
		for m := g.touched; m != 0; m &= m - 1 {
			switch e.classField(w, c, bits.TrailingZeros32(m)) {
			case fieldUnknown:
				all = true
			case fieldAbsent:
				none = true
			}
		}
		if none && !all {
			continue
		}
		st := &s.groups[s.live]
		if st.start(g, &s.values, all, from) {
			s.live++
		}
	}
}

// classField is the status of a field; its value is then in the state.
func (e *Engine) classField(w *walk, c *classifier, i int) fieldStatus {
	s := &e.class
	if s.status[i] != fieldUnread {
		return s.status[i]
	}
	f := &c.fields[i]
	code := codeContinue
	assumed := Assumptions(0)
	if w.res != nil {
		assumed = w.res.Assumed
	}
	switch f.load.code {
	case opPayload:
		code = e.payload(w, &f.load, -1)
	case opMeta:
		code = e.meta(w, &f.load)
	case opCT:
		code = e.ctGet(w, &f.load)
	}
	if code == codeContinue && f.swap {
		w.byteorder(&f.order)
	}
	st := fieldKnown
	switch {
	case w.res != nil && w.res.Assumed != assumed:
		// Only a rule that is reached may say so.
		w.res.Assumed = assumed
		st = fieldUnknown
	case code == codeBreak && !f.narrower:
		st = fieldAbsent
	case code != codeContinue, w.cause(0, uint16(f.width)) != CauseNone:
		st = fieldUnknown
	default:
		s.values[i] = valueOf(w.regs[:f.width])
	}
	w.known(0, uint16(f.width))
	s.status[i] = st
	return st
}

// valueOf reads up to 16 bytes.
func valueOf(b []byte) (v classValue) {
	if len(b) > 8 {
		return classValue{bigEndian(b[:8]), bigEndian(b[8:])}
	}
	return classValue{bigEndian(b), 0}
}

// bigEndian reads up to eight bytes, the first as the most significant.
func bigEndian(b []byte) uint64 {
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (56 - 8*i)
	}
	return v
}

// start looks the values up. It is false when no rule can match.
func (st *groupState) start(g *ruleGroup, values *[maxFields]classValue, all bool, from uint32) bool {
	st.rules, st.n, st.list = g.rules, 0, nil
	if !all {
		least := -1
		for k := range g.columns {
			c := &g.columns[k]
			m := c.find(values[c.field])
			if m.n == 0 {
				return false
			}
			if m.n == len(g.rules) {
				continue
			}
			st.sets[st.n] = m
			if least < 0 || m.n < st.sets[least].n {
				least = st.n
			}
			st.n++
		}
		if least >= 0 && st.sets[least].bits == nil {
			// The shortest list is gone through, the others are asked.
			st.list = st.sets[least].list
			st.n--
			st.sets[least] = st.sets[st.n]
		}
	}
	st.at = 0
	if from > 0 {
		st.at, _ = slices.BinarySearch(g.rules, from)
		if st.list != nil {
			st.at, _ = slices.BinarySearch(st.list, uint32(st.at))
		}
	}
	st.advance()
	return st.next != noRule
}

// advance finds the next rule.
func (st *groupState) advance() {
	if st.list != nil {
	next:
		for st.at < len(st.list) {
			i := st.list[st.at]
			st.at++
			for _, m := range st.sets[:st.n] {
				if !m.has(i) {
					continue next
				}
			}
			st.next = st.rules[i]
			return
		}
		st.next = noRule
		return
	}
	if st.at < len(st.rules) && st.n > 0 {
		st.at = commonBit(st.sets[:st.n], st.at)
	}
	if st.at >= len(st.rules) {
		st.next = noRule
		return
	}
	st.next = st.rules[st.at]
	st.at++
}

// commonBit is the lowest bit from i on that all bitmaps have, or an index
// behind their end.
func commonBit(sets []*members, i int) int {
	word := i / 64
	v := ^uint64(0) << (i % 64)
	for _, m := range sets {
		v &= m.bits[word]
	}
	if v != 0 {
		return word*64 + bits.TrailingZeros64(v)
	}
	word++
	for s := word / 64; s < len(sets[0].sum); s++ {
		sum := ^uint64(0)
		if s == word/64 {
			sum <<= word % 64
		}
		for _, m := range sets {
			sum &= m.sum[s]
		}
		for ; sum != 0; sum &= sum - 1 {
			k := s*64 + bits.TrailingZeros64(sum)
			v := ^uint64(0)
			for _, m := range sets {
				v &= m.bits[k]
			}
			if v != 0 {
				return k*64 + bits.TrailingZeros64(v)
			}
		}
	}
	return math.MaxInt
}

// classifyAll makes the classifiers of all chains that are long enough.
func (e *Engine) classifyAll() {
	if e.env.Classifier == ClassifierOff {
		return
	}
	limits := e.env.Classifier.limits()
	e.classifyFirst = limits.first
	for _, c := range e.chains {
		for i := range c.rules {
			if !e.readsOwn(&c.rules[i]) {
				return // loads would show in the registers of such a rule
			}
		}
	}
	updated := make(map[int32]bool)
	for i := range e.ops {
		if o := &e.ops[i]; o.code == opDynset {
			updated[o.ref] = true
		}
	}
	for _, c := range e.chains {
		if len(c.rules) >= limits.rules+limits.first {
			c.classifier = e.newClassifier(c, limits, updated)
		}
	}
}

// readsOwn tells whether a rule reads only registers that it wrote before.
func (e *Engine) readsOwn(r *rule) bool {
	var written uint16
	for i := r.first; i < r.end; i++ {
		o := &e.ops[i]
		need := uint16(0)
		switch o.code {
		case opCmpEq4, opCmpNe4, opCmpEq, opCmpNe, opCmpOrder, opRange, opPayloadSet, opMetaSet, opCTSet,
			opExthdrSet, opLookup, opLookupMap, opLookupVerdict, opDynset, opObjrefMap, opJhash,
			opMask4, opMask, opShift, opByteorder:
			need = slots(o.src, o.n)
		case opBitwise2:
			need = slots(o.src, o.n) | slots(o.src2, o.n)
		}
		if need&^written != 0 {
			return false
		}
		switch o.code {
		case opPayload, opMeta, opCT, opRT, opFib, opSocket, opOsf, opXfrm, opTunnel, opExthdr, opInnerPayload,
			opInnerMeta, opImmediate, opNumgen, opJhash, opSymhash, opMask4, opMask, opShift, opBitwise2, opByteorder:
			written |= slots(o.dst, max(o.n, 1))
		case opLookupMap:
			written |= slots(o.dst, uint16(e.sets[o.ref].dataLen))
		}
	}
	return true
}

// changesFields tells whether an expression may change what fields hold.
func changesFields(code opcode) bool {
	switch code {
	case opPayloadSet, opMetaSet, opCTSet, opNotrack, opExthdrSet, opExthdrReset, opObjref, opObjrefMap, opNAT,
		opTProxy, opSynproxy, opDup, opFwd, opQueue, opFlowOffload, opCompat:
		return true
	}
	return false
}

// fieldOp tells whether an expression loads a field that a classifier may read
// in advance: the load has no effect but on its register.
func fieldOp(o *op) bool {
	if o.n == 0 || o.n > 16 {
		return false
	}
	switch o.code {
	case opPayload:
		return bytecode.PayloadBase(o.base) <= bytecode.BaseTransport
	case opMeta:
		switch bytecode.MetaKey(o.a) {
		case bytecode.MetaL4Proto, bytecode.MetaProtocol, bytecode.MetaNFProto, bytecode.MetaIIFName,
			bytecode.MetaOIFName, bytecode.MetaMark, bytecode.MetaLen, bytecode.MetaPriority, bytecode.MetaPktType,
			bytecode.MetaIIF, bytecode.MetaOIF, bytecode.MetaIIFType, bytecode.MetaOIFType, bytecode.MetaIIFGroup,
			bytecode.MetaOIFGroup, bytecode.MetaIIFKind, bytecode.MetaOIFKind:
			return true
		}
	case opCT:
		switch bytecode.CTKey(o.a) {
		case bytecode.CTState, bytecode.CTDirection, bytecode.CTStatus, bytecode.CTMark, bytecode.CTL3Protocol,
			bytecode.CTProtocol, bytecode.CTZone, bytecode.CTSrc, bytecode.CTDst, bytecode.CTProtoSrc,
			bytecode.CTProtoDst, bytecode.CTSrcIP, bytecode.CTDstIP, bytecode.CTSrcIP6, bytecode.CTDstIP6:
			return true
		}
	}
	return false
}
