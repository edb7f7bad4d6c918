package eval

import (
	"fmt"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// New validates a ruleset and readies it for packets. The error names the
// table, chain and rule that is at fault; spans are in the ruleset.
func New(rs *bytecode.Ruleset, env Env) (*Engine, error) {
	e := &Engine{rs: rs, env: env, ifByName: map[string]*Interface{}, ifByIndex: map[uint32]*Interface{}}
	e.interfaces()
	if env.Start != 0 {
		e.now, e.startAt, e.started, e.nowKnown = env.Start, env.Start, true, true
	}
	for _, t := range rs.Tables {
		if t == nil {
			return nil, fmt.Errorf("ruleset: missing table")
		}
		if err := e.declare(t); err != nil {
			return nil, fmt.Errorf("table %v %s: %w", t.Family, t.Name, err)
		}
	}
	for _, t := range e.tables {
		if err := e.define(t); err != nil {
			return nil, fmt.Errorf("table %v %s: %w", t.src.Family, t.src.Name, err)
		}
	}
	if err := e.checkDepth(); err != nil {
		return nil, err
	}
	e.classifyAll()
	e.registerAll()
	if e.tracks != [layers]bool{} {
		if e.counts {
			env.Conntrack.NoAcct = false // nf_ct_set_acct
		}
		e.ct = conntrack.NewTracker(env.Conntrack)
		e.defrag = e.ct.NewDefrag()
	} else if e.defrags != [layers]bool{} {
		e.defrag = conntrack.NewTracker(env.Conntrack).NewDefrag()
	}
	return e, nil
}

func (e *Engine) interfaces() {
	add := func(list []Interface) {
		for i := range list {
			d := &list[i]
			if e.ifByName[d.Name] == nil {
				e.ifByName[d.Name] = d
				if d.Index != 0 && e.ifByIndex[d.Index] == nil {
					e.ifByIndex[d.Index] = d
				}
			}
		}
	}
	if e.env.Host != nil {
		add(e.env.Host.Interfaces)
	}
	add(e.env.Interfaces)
	// Every host has lo, and it is the first device of its namespace.
	add([]Interface{{Name: "lo", Index: 1, Type: packet.DevLoopback, HasType: true, HasGroup: true, HasKind: true}})
}

// declare notes the names of a table, so that rules may refer to what follows
// them.
func (e *Engine) declare(src *bytecode.Table) error {
	t := &table{src: src, sets: map[string]*set{}, setIDs: map[uint32]*set{}, names: map[string]*chain{},
		ids: map[uint32]*chain{}, objects: map[objectKey]*object{}}
	for _, c := range src.Chains {
		if c == nil {
			return fmt.Errorf("missing chain")
		}
		ch := &chain{src: c, table: t}
		t.chains = append(t.chains, ch)
		e.chains = append(e.chains, ch)
		if c.ID != 0 {
			t.ids[c.ID] = ch
		}
		if c.Name != "" {
			t.names[c.Name] = ch
		}
		if c.Base == nil {
			continue
		}
		if err := ch.setBase(c.Base, src.Family); err != nil {
			return fmt.Errorf("chain %s: %w", c.Name, err)
		}
		switch src.Family {
		case bytecode.FamilyBridge:
			e.hasBridge = true
		case bytecode.FamilyNetdev:
		default:
			e.hasOther = true
		}
	}
	for _, s := range src.Sets {
		if s == nil {
			return fmt.Errorf("missing set")
		}
		st := &set{src: s, table: t, index: int32(len(e.sets)), keyLen: s.KeyLen(), dataLen: s.DataLen()}
		if st.keyLen <= 0 || st.keyLen > bytecode.RegisterBytes || st.dataLen < 0 || st.dataLen > bytecode.RegisterBytes {
			return fmt.Errorf("set %s: key of %d and data of %d bytes", s.Name, st.keyLen, st.dataLen)
		}
		e.sets = append(e.sets, st)
		t.sets[s.Name] = st
		if s.ID != 0 {
			t.setIDs[s.ID] = st
		}
	}
	for _, o := range src.Objects {
		if o == nil {
			return fmt.Errorf("missing object")
		}
		ob := &object{src: o, index: int32(len(e.objects))}
		switch o.Type {
		case bytecode.ObjCounter, bytecode.ObjQuota, bytecode.ObjLimit, bytecode.ObjConnlimit:
			st, err := e.newStateful(o.Instr, src.Family)
			if err != nil {
				return fmt.Errorf("%v %s: %w", o.Type, o.Name, err)
			}
			ob.state = st
		case bytecode.ObjCTHelper, bytecode.ObjCTTimeout, bytecode.ObjCTExpect, bytecode.ObjSynproxy:
			e.needCT(src.Family)
		}
		e.objects = append(e.objects, ob)
		t.objects[objectKey{o.Type, o.Name}] = ob
	}
	e.tables = append(e.tables, t)
	return nil
}

func (c *chain) setBase(b *bytecode.Base, f bytecode.Family) error {
	if _, ok := b.Hook.Num(f); !ok {
		return fmt.Errorf("family %v has no hook %v", f, b.Hook)
	}
	switch b.Type {
	case "filter", "":
	case "nat":
		c.nat = f == bytecode.FamilyIP || f == bytecode.FamilyIP6 || f == bytecode.FamilyInet
	case "route":
		c.route = true
	default:
		return fmt.Errorf("chain type %q", b.Type)
	}
	c.hook, c.priority, c.devices = b.Hook, b.Priority, b.Devices
	c.view = viewOf(f, b.Hook)
	c.policy = codeAccept
	if b.Policy == bytecode.Drop && b.PolicySet {
		c.policy = codeDrop
	} else if b.Policy != bytecode.Accept && b.Policy != bytecode.Drop {
		return fmt.Errorf("policy %v", b.Policy)
	}
	return nil
}

// define builds sets and flattens rules.
func (e *Engine) define(t *table) error {
	f := &flattener{e: e, table: t}
	for _, s := range e.sets {
		if s.table != t {
			continue
		}
		if err := e.buildSet(f, s); err != nil {
			return fmt.Errorf("set %s: %w", s.src.Name, err)
		}
	}
	for _, c := range t.chains {
		f.chain = c
		c.rules = make([]rule, 0, len(c.src.Rules))
		n := 0
		for _, r := range c.src.Rules {
			if r != nil {
				n += len(r.Instrs)
			}
		}
		if free := cap(e.ops) - len(e.ops); free < n {
			e.ops = slices.Grow(e.ops, max(n, len(e.ops)))
			e.opInstr = slices.Grow(e.opInstr, max(n, len(e.opInstr)))
		}
		for i, r := range c.src.Rules {
			if r == nil {
				return fmt.Errorf("chain %s: rule %d: missing", c.src.Name, i+1)
			}
			fr, err := f.rule(r)
			if err != nil {
				return fmt.Errorf("chain %s: rule %d: %w", c.src.Name, i+1, err)
			}
			c.rules = append(c.rules, fr)
		}
	}
	return nil
}

func (e *Engine) addVerdict(v verdict) int32 {
	for i, o := range e.verdicts {
		if o == v {
			return int32(i)
		}
	}
	e.verdicts = append(e.verdicts, v)
	return int32(len(e.verdicts) - 1)
}

// targets lists the chains that a chain jumps or goes to.
func (e *Engine) targets(c *chain) []*chain {
	var out []*chain
	for _, r := range c.rules {
		for i := r.first; i < r.end; i++ {
			switch o := &e.ops[i]; o.code {
			case opVerdict:
				if t := e.verdicts[o.ref].chain; t != nil {
					out = append(out, t)
				}
			case opLookupVerdict:
				for k := range e.sets[o.ref].extra {
					if t := e.sets[o.ref].extra[k].vd.chain; t != nil {
						out = append(out, t)
					}
				}
			}
		}
	}
	return out
}

// checkDepth refuses loops: the kernel does when it commits (nft_chain_validate
// ends with ELOOP or EMLINK).
func (e *Engine) checkDepth() error {
	const onPath = -1
	depth := make(map[*chain]int, len(e.chains))
	var visit func(c *chain, level int) (int, error)
	visit = func(c *chain, level int) (int, error) {
		switch d := depth[c]; {
		case d == onPath:
			return 0, fmt.Errorf("table %s: chain %s: jumps form a loop", c.table.src.Name, c.src.Name)
		case d > 0:
			return d, nil
		}
		if level > len(e.chains) {
			return 0, fmt.Errorf("table %s: chain %s: jumps form a loop", c.table.src.Name, c.src.Name)
		}
		depth[c] = onPath
		deepest := 1
		for _, t := range e.targets(c) {
			d, err := visit(t, level+1)
			if err != nil {
				return 0, err
			}
			deepest = max(deepest, d+1)
		}
		depth[c] = deepest
		return deepest, nil
	}
	for _, c := range e.chains {
		if _, err := visit(c, 0); err != nil {
			return err
		}
	}
	return nil
}

// registerAll registers base chains in the order of the transaction's
// messages, and connection tracking where the first rule needs it.
func (e *Engine) registerAll() {
	byChain := make(map[*bytecode.Chain]*chain, len(e.chains))
	for _, c := range e.chains {
		byChain[c.src] = c
	}
	done := make(map[*chain]bool)
	reg := func(c *chain) {
		if c == nil || c.src.Base == nil || done[c] || c.table.src.Flags&1 != 0 {
			return // a dormant table registers nothing
		}
		done[c] = true
		e.register(c)
	}
	wanted := make(map[*bytecode.Rule][]trackWish)
	for _, x := range e.wantTrack {
		wanted[x.rule] = append(wanted[x.rule], x)
	}
	e.wantTrack = nil
	turnOn := func(r *bytecode.Rule) {
		for _, x := range wanted[r] {
			if x.defragOnly {
				e.defragFor(x.family)
			} else {
				e.turnOn(x.family)
			}
		}
		delete(wanted, r)
	}
	for i := range e.rs.Ops {
		switch o := &e.rs.Ops[i]; o.Kind {
		case bytecode.OpNewChain:
			reg(byChain[o.Chain])
		case bytecode.OpNewRule:
			if o.Rule != nil {
				turnOn(o.Rule)
			}
		}
	}
	for _, t := range e.tables {
		for _, c := range t.chains {
			reg(c)
		}
		for _, c := range t.chains {
			for _, r := range c.rules {
				turnOn(r.src)
			}
		}
	}
	turnOn(nil)
	e.bridgeOnly = e.hasBridge && !e.hasOther
}

// Run evaluates one packet. Packets must come in the order of their time; the
// result is overwritten. The packet's bytes change where rules change them.
func (e *Engine) Run(p *packet.Packet, res *Result) { e.RunOptions(p, res, Options{}) }

// RunOptions is Run with a trace or explanations recorded.
func (e *Engine) RunOptions(p *packet.Packet, res *Result, opts Options) {
	res.reset()
	e.clock(p)
	e.out = outcomes{}
	w := &e.w
	e.begin(w, p, res, opts)
	e.plan(w)
	e.travel(w)
	e.finish(w, res)
}

// clock moves time to the packet's; it never goes back.
func (e *Engine) clock(p *packet.Packet) {
	e.nowKnown = p.Stated.Has&packet.HasTime != 0
	if e.nowKnown && (p.Stated.TimeNs > e.now || !e.started) {
		e.now = p.Stated.TimeNs
		if !e.started {
			e.started, e.startAt = true, e.now
		}
	}
}

// begin readies the walk for a packet.
func (e *Engine) begin(w *walk, p *packet.Packet, res *Result, opts Options) {
	regs := w.forkAlts
	*w = walk{p: p, res: res, opts: opts, resume: -1, forkAlts: regs[:0]}
	s := &p.Stated
	w.pktType = p.PktType
	if s.Has&packet.HasPktType != 0 {
		w.pktType = s.PktType
	}
	if s.Has&packet.HasMark != 0 {
		w.mark = s.Mark
	}
	if s.Has&packet.HasPriority != 0 {
		w.priority, w.prioSet = s.Priority, true
	}
	if s.Has&packet.HasSecMark != 0 {
		w.secmark = s.SecMark
	}
	w.ctZone.Dir = conntrack.ZoneDirBoth
	p.Info = packet.Info{}
	if e.ct != nil || e.natOn != [layers]bool{} {
		p.Enter(packet.ViewInet)
		res.NAT.Src, res.NAT.Dst = endpoints(p)
	}
}

// finish turns the walk's ending into the result.
func (e *Engine) finish(w *walk, res *Result) {
	end := &w.end
	res.Likely = end.verdict
	res.Verdict = end.verdict
	e.out.add(end.verdict)
	if e.out.split() {
		res.Verdict = Unknown
	}
	res.Hook, res.Family = end.step.Hook, end.step.Family
	if end.base != nil {
		if end.accepted.Hook != bytecode.HookNone {
			res.Hook = end.accepted.Hook
		}
		res.Base, res.Table, res.Family = end.base.src, end.base.table.src, end.base.table.src.Family
		if end.chain != nil {
			res.Chain = end.chain.src
		}
		res.Rule, res.Policy = end.rule, end.policy
	}
	if end.verdict == Drop {
		res.Reject = end.reject
	}
	if end.verdict == Queue {
		res.QueueNum = end.queue
	}
	if end.verdict != Accept {
		res.By = end.by
	}
	res.Stack = end.stack
	res.Mark, res.Priority, res.Mutated = w.mark, w.priority, w.mutated
	res.MarkUnknown = w.markWhy != CauseNone
	if e.ct != nil && w.trip.tracked {
		res.CT = CTInfo{State: w.ctState(), Reply: w.ct != nil && w.ctInfo.Reply()}
		if w.ct != nil {
			res.CT.Stated, res.CT.Confirmed, res.CT.Mark = w.ct.Stated, w.ct.IsConfirmed(), w.ct.Mark
		}
	}
	if res.NAT.Changed {
		w.entered = false
		e.enter(w, packet.ViewInet)
		res.NAT.NewSrc, res.NAT.NewDst = endpoints(w.p)
	}
	if w.trip.hidden.hidden {
		w.trip.hook = bytecode.HookNone
		w.showLink()
	}
	if w.ct != nil && e.ct != nil && !w.ct.Stated && !w.ct.IsConfirmed() {
		e.ct.Release(w.ct)
		w.ct = nil
	}
}

// Ruleset returns what the engine was made from.
func (e *Engine) Ruleset() *bytecode.Ruleset { return e.rs }

// Conntrack returns what the bounds of connection tracking did; the zero Stats
// when the ruleset does not track.
func (e *Engine) Conntrack() conntrack.Stats {
	if e.ct == nil {
		return conntrack.Stats{}
	}
	return e.ct.Stats()
}
