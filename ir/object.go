package ir

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// addObject evaluates a named object (obj_evaluate).
func (r *resolver) addObject(w where, c *parser.Command, typ bytecode.ObjectType) {
	tc := r.cache[w.key()]
	if tc == nil {
		r.tableNotFound(w)
		return
	}
	o := &Object{Table: tc.table, Name: c.Object.Text, Type: typ, Span: c.Object.Span}
	cx := r.newRuleCtx(tc.table, nil)
	var items []parser.Item
	if b, ok := c.Body.(*parser.ObjectBlock); ok {
		items = b.Items
	}
	before := r.diags.Errors()
	cx.objectSpec(o, c, items)
	k := objectKey{typ, o.Name}
	if tc.objects[k] == nil {
		tc.objects[k] = o
	}
	if r.diags.Errors() != before {
		return
	}
	r.step(w, Step{Kind: bytecode.OpNewObject, Flags: verbFlags(c.Verb) & bytecode.OpCreate, Object: o, ObjType: typ, Span: c.Span, NameSpan: c.Object.Span})
}

// objectSpec evaluates the definition of a named object.
func (c *ruleCtx) objectSpec(o *Object, cmd *parser.Command, items []parser.Item) {
	var props []*parser.Property
	each(items, func(it parser.Item) {
		switch it := it.(type) {
		case *parser.CommentStmt:
			o.Comment, o.CommentSet = it.Text.Text, true
			c.checkComment(it)
		case *parser.SetStmt:
			if s, ok := it.Stmt.(*parser.Synproxy); ok {
				o.Spec = synproxySpec(s)
				return
			}
			if in := c.stateful(it.Stmt); in != nil {
				o.Spec = in
			}
		case *parser.Property:
			props = append(props, it)
		}
	})
	switch o.Type {
	case bytecode.ObjCTHelper:
		o.Spec = c.ctHelper(props)
	case bytecode.ObjCTTimeout:
		o.Spec = c.ctTimeout(props)
	case bytecode.ObjCTExpect:
		o.Spec = c.ctExpect(cmd, props)
	case bytecode.ObjSecmark:
		s := &bytecode.ObjSecmarkSpec{}
		for _, p := range props {
			s.Context = arg(p, 0)
		}
		o.Spec = s
	case bytecode.ObjTunnel:
		o.Spec = c.tunnel(props)
	case bytecode.ObjCounter:
		if o.Spec == nil {
			o.Spec = &bytecode.Counter{}
		}
	case bytecode.ObjQuota:
		if o.Spec == nil {
			o.Spec = &bytecode.Quota{}
		}
	case bytecode.ObjLimit:
		if o.Spec == nil {
			o.Spec = &bytecode.Limit{}
		}
	case bytecode.ObjSynproxy:
		if o.Spec == nil {
			o.Spec = &bytecode.Synproxy{}
		}
	}
}

func synproxySpec(s *parser.Synproxy) *bytecode.Synproxy {
	out := &bytecode.Synproxy{}
	if s.MSS != nil {
		out.MSS = uint16(s.MSS.Value)
		out.Flags |= bytecode.SynproxyMSS
	}
	if s.Wscale != nil {
		out.Wscale = uint8(s.Wscale.Value)
		out.Flags |= bytecode.SynproxyWscale
	}
	if s.Timestamp {
		out.Flags |= bytecode.SynproxyTimestamp
	}
	if s.SackPerm {
		out.Flags |= bytecode.SynproxySackPerm
	}
	return out
}

// arg returns the text of a property's value, empty when there is none.
func arg(p *parser.Property, i int) string {
	if i >= len(p.Args) {
		return ""
	}
	if s, ok := p.Args[i].(*parser.Symbol); ok {
		return s.Text
	}
	return ""
}

// propNumber reads a property's value of at most bits bits.
func (c *ruleCtx) propNumber(p *parser.Property, i, bits int) uint64 {
	n, err := strconv.ParseUint(arg(p, i), 0, 64)
	if err != nil || bits < 64 && n>>bits != 0 {
		c.diags.Errorf("invalid-number", p.Span, "number %s out of range", arg(p, i))
		return 0
	}
	return n
}

// Protocols of objects that belong to connection tracking.
var objectProtocols = map[string]uint8{"tcp": 6, "udp": 17}

func (c *ruleCtx) ctHelper(props []*parser.Property) bytecode.Instr {
	s := &bytecode.ObjCTHelperSpec{}
	for _, p := range props {
		switch p.Keyword.Text {
		case "type":
			s.Helper = arg(p, 0)
			s.L4Proto = objectProtocols[arg(p, 2)]
		case "l3proto":
			s.Family = families[arg(p, 0)]
		}
	}
	return s
}

// ctPolicyStates are the words for the states of a timeout policy and their
// defaults in seconds (timeout_protocol in nftables), in the kernel's order.
var ctPolicyStates = map[uint8][]struct {
	Name    string
	Default uint32
}{
	6: {{"syn_sent", 120}, {"syn_recv", 60}, {"established", 432000}, {"fin_wait", 120}, {"close_wait", 60},
		{"last_ack", 30}, {"time_wait", 120}, {"close", 10}, {"syn_sent2", 120}, {"retrans", 300}, {"unack", 300}},
	17: {{"unreplied", 30}, {"replied", 120}},
}

func (c *ruleCtx) ctTimeout(props []*parser.Property) bytecode.Instr {
	s := &bytecode.ObjCTTimeoutSpec{Policy: make(map[int]uint32)}
	var policy *parser.SetLit
	for _, p := range props {
		switch p.Keyword.Text {
		case "protocol":
			s.L4Proto = objectProtocols[arg(p, 0)]
		case "l3proto":
			s.Family = families[arg(p, 0)]
		case "policy":
			if len(p.Args) > 0 {
				policy, _ = p.Args[0].(*parser.SetLit)
			}
		}
	}
	states := ctPolicyStates[s.L4Proto]
	for i, st := range states {
		s.Policy[i] = st.Default
	}
	if policy == nil {
		return s
	}
	for _, el := range policy.Elems {
		key, _ := el.Key.(*parser.Symbol)
		val, _ := el.Data.(*parser.Symbol)
		if key == nil || val == nil {
			continue
		}
		at := -1
		var words []string
		for i, st := range states {
			words = append(words, st.Name)
			if st.Name == key.Text {
				at = i
			}
		}
		if at < 0 {
			c.diags.Add(diag.Diagnostic{Code: "unknown-state", Span: key.Span, Message: "invalid state for this protocol",
				Suggest: diag.Nearest(key.Text, words)})
			continue
		}
		d, ok := c.duration(parser.Name{Span: val.Span, Text: val.Text})
		if !ok {
			continue
		}
		s.Policy[at] = uint32(d / time.Second)
	}
	return s
}

func (c *ruleCtx) ctExpect(cmd *parser.Command, props []*parser.Property) bytecode.Instr {
	s := &bytecode.ObjCTExpectSpec{}
	for _, p := range props {
		switch p.Keyword.Text {
		case "protocol":
			s.L4Proto = objectProtocols[arg(p, 0)]
		case "l3proto":
			s.Family = families[arg(p, 0)]
		case "dport":
			s.Port = uint16(c.propNumber(p, 0, 16))
		case "size":
			s.Size = uint8(c.propNumber(p, 0, 8))
		case "timeout":
			d, _ := c.duration(parser.Name{Span: p.Span, Text: arg(p, 0)})
			s.Timeout = uint32(d / time.Millisecond)
		}
	}
	if s.L4Proto == 0 || s.Port == 0 || s.Timeout == 0 || s.Size == 0 {
		c.diags.Errorf("missing-option", cmd.Span, "missing options")
	}
	return s
}

func (c *ruleCtx) tunnel(props []*parser.Property) bytecode.Instr {
	s := &bytecode.ObjTunnelSpec{}
	for _, p := range props {
		switch p.Keyword.Text {
		case "id":
			s.ID = uint32(c.propNumber(p, 0, 32))
		case "sport":
			s.Sport = uint16(c.propNumber(p, 0, 16))
		case "dport":
			s.Dport = uint16(c.propNumber(p, 0, 16))
		case "ttl":
			s.TTL = uint8(c.propNumber(p, 0, 8))
		case "tos":
			s.TOS = uint8(c.propNumber(p, 0, 8))
		case "ip", "ip6":
			typ := DatatypeByID(IDIPv4Addr)
			if p.Keyword.Text == "ip6" {
				typ = DatatypeByID(IDIPv6Addr)
			}
			if len(p.Args) < 2 {
				continue
			}
			v, ok := c.value(p.Args[1], want{Type: typ, Order: OrderBig, Bits: typ.Bits}).(*Value)
			if !ok {
				continue
			}
			if arg(p, 0) == "saddr" {
				s.Src = v.Bytes
			} else {
				s.Dst = v.Bytes
			}
		case "vxlan", "erspan", "geneve":
			s.Kind = p.Keyword.Text
			c.tunnelOptions(s, p.Items)
		}
	}
	return s
}

func (c *ruleCtx) tunnelOptions(s *bytecode.ObjTunnelSpec, items []parser.Item) {
	each(items, func(it parser.Item) {
		p, ok := it.(*parser.Property)
		if !ok {
			return
		}
		switch p.Keyword.Text {
		case "gbp":
			s.VxlanGBP = uint32(c.propNumber(p, 0, 32))
		case "version":
			s.Erspan.Version = uint8(c.propNumber(p, 0, 8))
		case "index":
			s.Erspan.Index = uint32(c.propNumber(p, 0, 32))
		case "id":
			s.Erspan.HWID = uint8(c.propNumber(p, 0, 8))
		case "direction":
			if arg(p, 0) == "egress" {
				s.Erspan.Dir = 1
			}
		case "class":
			v, _ := strconv.ParseUint(arg(p, 2), 0, 64)
			data := binary.BigEndian.AppendUint64(nil, v)
			if v>>32 == 0 {
				data = data[4:]
			}
			s.Geneve = append(s.Geneve, bytecode.TunnelGeneveOpt{
				Class: uint16(c.propNumber(p, 0, 16)), Type: uint8(c.propNumber(p, 1, 8)), Data: data})
		}
	})
}
