//go:build linux

package kernel

import (
	"fmt"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// encoder makes the messages of one transaction.
type encoder struct {
	family bytecode.Family // of the table at hand
	conn   *nftables.Conn  // captures what the library would send
	caught []netlink.Message
}

// More attribute numbers of nf_tables.h.
const (
	nftaTableUserdata    = 6
	nftaChainFlags       = 10
	nftaChainID          = 11
	nftaChainUserdata    = 12
	nftaRuleChainID      = 11
	nftaHookDevs         = 4
	nftaDeviceName       = 1
	nftaDevicePrefix     = 2
	nftaObjUserdata      = 8
	nftaFlowtableTable   = 1
	nftaFlowtableName    = 2
	nftaFlowtableHook    = 3
	nftaFlowtableFlags   = 7
	nftaFlowHookNum      = 1
	nftaFlowHookPriority = 2
	nftaFlowHookDevs     = 3
)

func newEncoder() (*encoder, error) {
	e := &encoder{}
	c, err := nftables.New(nftables.WithTestDial(func(req []netlink.Message) ([]netlink.Message, error) {
		e.caught = append(e.caught, req...)
		return req, nil
	}))
	if err != nil {
		return nil, err
	}
	e.conn = c
	return e, nil
}

// capture returns the messages that the library makes in f, without the ones
// that begin and end a batch.
func (e *encoder) capture(f func(c *nftables.Conn)) ([]netlink.Message, error) {
	e.caught = nil
	f(e.conn)
	if err := e.conn.Flush(); err != nil {
		return nil, err
	}
	var out []netlink.Message
	for _, m := range e.caught {
		if uint16(m.Header.Type)>>8 == unix.NFNL_SUBSYS_NFTABLES {
			m.Header.PID, m.Header.Sequence, m.Header.Length = 0, 0, 0
			out = append(out, m)
		}
	}
	return out, nil
}

// Batch is one transaction: messages and what each of them is about.
type Batch struct {
	Messages []netlink.Message
	parts    []part
}

// part names what a message adds.
type part struct {
	kind  string
	table *bytecode.Table
	name  string
	rule  int // from 1
	span  diag.Span
}

// describe words what message i adds, with its place in the source.
func (b *Batch) describe(i int, files *diag.FileSet) string {
	if i < 0 || i >= len(b.parts) {
		return ""
	}
	p := &b.parts[i]
	var s string
	switch {
	case p.rule > 0:
		s = fmt.Sprintf("rule %d of chain %v %s %s", p.rule, p.table.Family, p.table.Name, p.name)
	case p.name != "":
		s = fmt.Sprintf("%s %v %s %s", p.kind, p.table.Family, p.table.Name, p.name)
	default:
		s = fmt.Sprintf("%s %v %s", p.kind, p.table.Family, p.table.Name)
	}
	if files != nil && p.span.Valid() {
		s += fmt.Sprintf(" (%v)", files.Position(p.span.Start))
	}
	return s
}

// Encode makes the messages that bring a ruleset's final state into an empty
// kernel, in an order that resolves all references: per table chains, objects,
// flowtables, sets, elements, rules.
func Encode(rs *bytecode.Ruleset) (*Batch, error) {
	e, err := newEncoder()
	if err != nil {
		return nil, err
	}
	b := &Batch{}
	for _, t := range rs.Tables {
		if err := e.table(b, t); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// add appends messages that are about one thing, or wraps the error of making
// them.
func (b *Batch) add(p part, err error, ms ...netlink.Message) error {
	b.parts = append(b.parts, p)
	if err != nil {
		return fmt.Errorf("kernel: %s: %w", b.describe(len(b.parts)-1, nil), err)
	}
	b.Messages = append(b.Messages, ms...)
	for len(b.parts) < len(b.Messages) {
		b.parts = append(b.parts, p)
	}
	b.parts = b.parts[:len(b.Messages)]
	return nil
}

func (e *encoder) table(b *Batch, t *bytecode.Table) error {
	e.family = t.Family
	var ms []netlink.Message
	var err error
	if t.Flags == 0 && len(t.Userdata) == 0 {
		ms, err = e.capture(func(c *nftables.Conn) {
			c.AddTable(&nftables.Table{Family: nftables.TableFamily(t.Family), Name: t.Name})
		})
	} else { // the library always sends flags 0 and no user data
		var a attrs
		a.str(unix.NFTA_TABLE_NAME, t.Name)
		a.u32(unix.NFTA_TABLE_FLAGS, t.Flags)
		if len(t.Userdata) > 0 {
			a.bytes(nftaTableUserdata, t.Userdata)
		}
		ms = append(ms, message(unix.NFT_MSG_NEWTABLE, uint8(t.Family), netlink.Create, a))
	}
	if err := b.add(part{kind: "table", table: t, span: t.Span}, err, ms...); err != nil {
		return err
	}
	for _, ch := range t.Chains {
		ms, err := e.chain(t, ch)
		if err := b.add(part{kind: "chain", table: t, name: ch.Name, span: ch.Span}, err, ms...); err != nil {
			return err
		}
	}
	for _, o := range t.Objects {
		m, err := e.object(t, o)
		if err := b.add(part{kind: o.Type.String(), table: t, name: o.Name, span: o.Span}, err, m); err != nil {
			return err
		}
	}
	for _, f := range t.Flowtables {
		if err := b.add(part{kind: "flowtable", table: t, name: f.Name, span: f.Span}, nil, e.flowtable(t, f)); err != nil {
			return err
		}
	}
	for _, s := range t.Sets {
		m, err := e.set(t, s)
		if err := b.add(part{kind: "set", table: t, name: s.Name, span: s.Span}, err, m); err != nil {
			return err
		}
	}
	for _, s := range t.Sets {
		ms, err := e.elements(t, s, s.Elements)
		if err := b.add(part{kind: "elements of set", table: t, name: s.Name, span: s.Span}, err, ms...); err != nil {
			return err
		}
	}
	// An anonymous chain takes rules until one binds it (nft_chain_is_bound):
	// its rules go before the rule that jumps to it.
	anonymous := make(map[uint32]*bytecode.Chain)
	for _, ch := range t.Chains {
		if ch.ID != 0 {
			anonymous[ch.ID] = ch
		}
	}
	for _, ch := range t.Chains {
		if ch.ID == 0 {
			if err := e.rules(b, t, ch, anonymous); err != nil {
				return err
			}
		}
	}
	return nil
}

// rules makes the messages of a chain's rules, and before each those of the
// anonymous chains that it binds.
func (e *encoder) rules(b *Batch, t *bytecode.Table, ch *bytecode.Chain, anonymous map[uint32]*bytecode.Chain) error {
	for i, r := range ch.Rules {
		for _, in := range r.Instrs {
			if im, ok := in.(*bytecode.Immediate); ok && im.Dst == bytecode.RegVerdict && im.Verdict.ChainID != 0 {
				if to := anonymous[im.Verdict.ChainID]; to != nil {
					delete(anonymous, im.Verdict.ChainID)
					if err := e.rules(b, t, to, anonymous); err != nil {
						return err
					}
				}
			}
		}
		m, err := e.rule(t, ch, r)
		if err := b.add(part{kind: "rule", table: t, name: ch.Name, rule: i + 1, span: r.Span}, err, m); err != nil {
			return err
		}
	}
	return nil
}

// chain makes the message of a chain: by the library when it is an ordinary
// one, by hand when it has several devices, an id, flags or a comment.
func (e *encoder) chain(t *bytecode.Table, ch *bytecode.Chain) ([]netlink.Message, error) {
	plain := ch.ID == 0 && ch.Flags == 0 && len(ch.Userdata) == 0 && (ch.Base == nil || len(ch.Base.Devices) == 0)
	if plain {
		return e.capture(func(c *nftables.Conn) {
			lc := &nftables.Chain{Name: ch.Name, Table: &nftables.Table{Family: nftables.TableFamily(t.Family), Name: t.Name}}
			if b := ch.Base; b != nil {
				num, _ := b.Hook.Num(t.Family)
				hook, prio := nftables.ChainHook(num), nftables.ChainPriority(b.Priority)
				lc.Type, lc.Hooknum, lc.Priority = nftables.ChainType(b.Type), &hook, &prio
				if b.PolicySet {
					policy := nftables.ChainPolicy(b.Policy)
					lc.Policy = &policy
				}
			}
			c.AddChain(lc)
		})
	}
	var a attrs
	a.str(unix.NFTA_CHAIN_TABLE, t.Name)
	if ch.Name != "" {
		a.str(unix.NFTA_CHAIN_NAME, ch.Name)
	}
	if ch.ID != 0 {
		a.u32(nftaChainID, ch.ID)
	}
	if b := ch.Base; b != nil {
		num, _ := b.Hook.Num(t.Family)
		var h attrs
		h.u32(unix.NFTA_HOOK_HOOKNUM, num)
		h.u32(unix.NFTA_HOOK_PRIORITY, uint32(b.Priority))
		addDevices(&h, b.Devices)
		a.nest(unix.NFTA_CHAIN_HOOK, h)
		if b.PolicySet {
			a.u32(unix.NFTA_CHAIN_POLICY, uint32(b.Policy))
		}
		a.str(unix.NFTA_CHAIN_TYPE, b.Type)
	}
	if ch.Flags != 0 {
		a.u32(nftaChainFlags, ch.Flags)
	}
	if len(ch.Userdata) > 0 {
		a.bytes(nftaChainUserdata, ch.Userdata)
	}
	return []netlink.Message{message(unix.NFT_MSG_NEWCHAIN, uint8(t.Family), netlink.Create, a)}, nil
}

// addDevices names devices in a hook: one by NFTA_HOOK_DEV, several or
// wildcards in a list (nf_tables_parse_netdev_hooks).
func addDevices(h *attrs, devices []string) {
	wild := func(d string) bool { return d != "" && d[len(d)-1] == '*' }
	if len(devices) == 1 && !wild(devices[0]) {
		h.str(unix.NFTA_HOOK_DEV, devices[0])
		return
	}
	if len(devices) == 0 {
		return
	}
	var list attrs
	for _, d := range devices {
		if wild(d) {
			list.str(nftaDevicePrefix, d[:len(d)-1])
		} else {
			list.str(nftaDeviceName, d)
		}
	}
	h.nest(nftaHookDevs, list)
}

func (e *encoder) rule(t *bytecode.Table, ch *bytecode.Chain, r *bytecode.Rule) (netlink.Message, error) {
	var a attrs
	a.str(unix.NFTA_RULE_TABLE, t.Name)
	if ch.ID != 0 {
		a.u32(nftaRuleChainID, ch.ID)
	} else {
		a.str(unix.NFTA_RULE_CHAIN, ch.Name)
	}
	list, err := e.exprs(r.Instrs)
	if err != nil {
		return netlink.Message{}, err
	}
	a.nest(unix.NFTA_RULE_EXPRESSIONS, list)
	if len(r.Userdata) > 0 {
		a.bytes(unix.NFTA_RULE_USERDATA, r.Userdata)
	}
	return message(unix.NFT_MSG_NEWRULE, uint8(t.Family), netlink.Create|netlink.Append, a), nil
}

// object makes the message of a named object.
func (e *encoder) object(t *bytecode.Table, o *bytecode.Object) (netlink.Message, error) {
	// The data of an object is the data of the expression of its kind.
	var data attrs
	if lib, ok := e.library(o.Instr); ok {
		d, err := libraryData(uint8(t.Family), lib)
		if err != nil {
			return netlink.Message{}, err
		}
		data = d
	} else {
		d, err := e.own(o.Instr)
		if err != nil {
			return netlink.Message{}, err
		}
		data = d
	}
	var a attrs
	a.str(unix.NFTA_OBJ_TABLE, t.Name)
	a.str(unix.NFTA_OBJ_NAME, o.Name)
	a.u32(unix.NFTA_OBJ_TYPE, uint32(o.Type))
	a.nest(unix.NFTA_OBJ_DATA, data)
	if len(o.Userdata) > 0 {
		a.bytes(nftaObjUserdata, o.Userdata)
	}
	return message(unix.NFT_MSG_NEWOBJ, uint8(t.Family), netlink.Create, a), nil
}

func (e *encoder) flowtable(t *bytecode.Table, f *bytecode.Flowtable) netlink.Message {
	var a, h attrs
	a.str(nftaFlowtableTable, t.Name)
	a.str(nftaFlowtableName, f.Name)
	h.u32(nftaFlowHookNum, 0) // NF_NETDEV_INGRESS
	h.u32(nftaFlowHookPriority, uint32(f.Priority))
	var list attrs
	for _, d := range f.Devices {
		list.str(nftaDeviceName, d)
	}
	if len(list) > 0 {
		h.nest(nftaFlowHookDevs, list)
	}
	a.nest(nftaFlowtableHook, h)
	if f.Flags != 0 {
		a.u32(nftaFlowtableFlags, f.Flags)
	}
	return message(unix.NFT_MSG_NEWFLOWTABLE, uint8(t.Family), netlink.Create, a)
}
