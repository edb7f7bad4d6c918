package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// steps compiles the steps in order and builds the final state of the tables.
func (c *compiler) steps() {
	c.out.Ops = make([]bytecode.Op, 0, len(c.in.Steps))
	for i := range c.in.Steps {
		c.step(&c.in.Steps[i])
	}
	for _, t := range c.in.Tables {
		c.out.Tables = append(c.out.Tables, c.finishTable(t))
	}
}

func (c *compiler) step(s *ir.Step) {
	op := bytecode.Op{Kind: s.Kind, Flags: s.Flags, Family: s.Family, TableName: s.TableName, Span: s.Span,
		Name: s.Name, ObjType: s.ObjType, Rename: s.Rename, Handle: s.Handle, OnlyFamily: s.OnlyFamily}
	if s.Table != nil {
		op.Table = c.table(s.Table)
	}
	if s.Chain != nil {
		op.Chain = c.chain(s.Chain)
	}
	if s.Set != nil {
		op.Set = c.set(s.Set)
	}
	if s.Rule != nil {
		op.Rule = c.rule(s.Rule)
	}
	if s.Position != nil {
		op.Position = c.rule(s.Position)
	}
	if s.Object != nil {
		op.Object = c.object(s.Object)
	}
	if s.Flowtable != nil {
		op.Flowtable = c.flowtable(s.Flowtable)
	}
	if s.Elements != nil {
		op.Elements = c.elements(s.Set, s.Elements, s.First && s.Kind == bytecode.OpNewElements)
		if s.Kind == bytecode.OpDelElements {
			// A delete names keys only.
			for i := range op.Elements {
				op.Elements[i].Data = nil
			}
		}
	}
	c.out.Ops = append(c.out.Ops, op)
}

func (c *compiler) table(t *ir.Table) *bytecode.Table {
	bt := c.tables[t]
	if bt == nil {
		bt = &bytecode.Table{Family: t.Family, Name: t.Name, Flags: t.Flags, Span: t.Span, Userdata: commentData(t.Comment, t.CommentSet)}
		c.tables[t] = bt
	}
	return bt
}

func (c *compiler) chain(ch *ir.Chain) *bytecode.Chain {
	bc := c.chains[ch]
	if bc == nil {
		bc = &bytecode.Chain{Name: ch.Name, ID: ch.ID, Base: ch.Base, Flags: ch.Flags, Span: ch.Span, Userdata: commentData(ch.Comment, ch.CommentSet)}
		c.chains[ch] = bc
	}
	return bc
}

func (c *compiler) rule(r *ir.Rule) *bytecode.Rule {
	br := c.rules[r]
	if br == nil {
		br = c.compileRule(r)
		br.Userdata = commentData(r.Comment, r.CommentSet)
		br.ID = r.ID
		c.rules[r] = br
	}
	return br
}

// commentData is the user data that holds a comment: type 0 for tables,
// chains, rules, elements and objects alike; set tells an empty one from none.
func commentData(comment string, set bool) []byte {
	if !set {
		return nil
	}
	return appendUserdata(nil, 0, append([]byte(comment), 0))
}

// appendUserdata appends an attribute of user data (nftnl_udata_put).
func appendUserdata(b []byte, typ byte, value []byte) []byte {
	b = append(b, typ, byte(len(value)))
	return append(b, value...)
}

// finishTable fills a table with what is in it in the end, handles included.
func (c *compiler) finishTable(t *ir.Table) *bytecode.Table {
	bt := c.table(t)
	bt.Handle, bt.Flags = t.Handle, t.Flags
	for _, ch := range t.Chains {
		bc := c.chain(ch)
		bc.Handle, bc.Base, bc.Flags, bc.Name = ch.Handle, ch.Base, ch.Flags, ch.Name
		for _, r := range ch.Rules {
			br := c.rule(r)
			br.Handle = r.Handle
			bc.Rules = append(bc.Rules, br)
		}
		bt.Chains = append(bt.Chains, bc)
	}
	for _, s := range t.Sets {
		bs := c.set(s)
		bs.Handle, bs.Flags = s.Handle, s.Flags
		if s.Elements != nil && bs.Elements == nil {
			bs.Elements = c.elements(s, s.Elements, true)
		}
		bt.Sets = append(bt.Sets, bs)
	}
	for _, o := range t.Objects {
		bo := c.object(o)
		bo.Handle = o.Handle
		bt.Objects = append(bt.Objects, bo)
	}
	for _, f := range t.Flowtables {
		bf := c.flowtable(f)
		bf.Handle, bf.Devices = f.Handle, f.Devices
		bt.Flowtables = append(bt.Flowtables, bf)
	}
	return bt
}
