package compile

import (
	"bytes"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// Types of set user data (enum nftnl_udata_set_types).
const (
	udataSetKeyOrder     = 0
	udataSetDataOrder    = 1
	udataSetMergeElems   = 2
	udataSetDataInterval = 6
	udataSetComment      = 7
)

// Types of element user data (enum nftnl_udata_set_elem_types).
const (
	udataElemComment = 0
	udataElemFlags   = 1
)

// elemIntervalOpen marks the last start point of a set when its interval
// reaches the highest value (NFTNL_SET_ELEM_F_INTERVAL_OPEN).
const elemIntervalOpen = 1

func (c *compiler) set(s *ir.Set) *bytecode.Set {
	bs := c.sets[s]
	if bs != nil {
		return bs
	}
	bs = &bytecode.Set{
		Name: s.Name, ID: s.ID, Flags: s.Flags,
		KeyType: typeNumber(s.Key), Key: fields(s.KeyFields),
		DataKind: s.DataKind, DataType: typeNumber(s.Data), Data: fields(s.DataFields),
		ObjType: s.ObjType, Timeout: s.Timeout, GC: s.GC, Size: s.Size, DescSize: s.DescSize,
		Policy: s.Policy, PolicySet: s.PolicySet,
		AutoMerge: s.AutoMerge, Comment: s.Comment, Span: s.Span,
	}
	if s.Flags&(bytecode.SetConstant|bytecode.SetAnonymous) == bytecode.SetConstant {
		// nft sends neither for constant sets (mnl_nft_set_add).
		bs.Policy, bs.PolicySet, bs.Size = bytecode.PolicyPerformance, false, 0
	}
	if s.DataInterval {
		// Data of intervals holds the lower ends, then the upper ends.
		bs.Data = append(bs.Data, bs.Data...)
		bs.DataInterval = true
	}
	if s.DataKind == bytecode.DataVerdict {
		bs.DataType = verdictType
	}
	for _, st := range s.Stmts {
		if x, ok := st.(*ir.Stateful); ok {
			bs.Exprs = append(bs.Exprs, x.Instr)
		}
	}
	bs.Userdata = setUserdata(s)
	c.sets[s] = bs
	return bs
}

// verdictType is NFT_DATA_VERDICT, what the kernel is told of verdict maps.
const verdictType = 0xffffff00

func typeNumber(t *ir.Datatype) uint32 {
	if t == nil {
		return 0
	}
	return uint32(t.ID)
}

func fields(fs []ir.SetField) []bytecode.Field {
	if fs == nil {
		return nil
	}
	out := make([]bytecode.Field, len(fs))
	for i, f := range fs {
		out[i] = bytecode.Field{Len: uint16(f.Len()), Host: f.Order == ir.OrderHost}
	}
	return out
}

// setUserdata is what nft keeps for itself with a set (mnl_nft_set_add).
func setUserdata(s *ir.Set) []byte {
	var b []byte
	if s.Key != nil && len(s.KeyFields) > 0 {
		order := orderNumber(s.KeyFields[0].Order)
		if len(s.KeyFields) == 1 && (s.Key.ID == ir.IDIfName || s.Key.Base == ir.TypeString || s.Key == ir.TypeString) {
			order = orderNumber(ir.OrderHost) // its bytes are a string, which is loaded as it is
		}
		b = appendUserdata(b, udataSetKeyOrder, u32(order))
	}
	if s.Flags&bytecode.SetMap != 0 && len(s.DataFields) > 0 {
		b = appendUserdata(b, udataSetDataOrder, u32(orderNumber(s.DataFields[0].Order)))
	}
	if s.AutoMerge {
		b = appendUserdata(b, udataSetMergeElems, u32(1))
	}
	if s.DataInterval {
		b = appendUserdata(b, udataSetDataInterval, u32(1))
	}
	if s.CommentSet {
		b = appendUserdata(b, udataSetComment, append([]byte(s.Comment), 0))
	}
	return b
}

func orderNumber(o ir.ByteOrder) uint32 {
	switch o {
	case ir.OrderHost:
		return 1
	case ir.OrderBig:
		return 2
	}
	return 0
}

func u32(v uint32) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)} }

// elements compiles elements as they are sent: first tells whether an interval
// set may begin with the end point at zero (segtree_needs_first_segment).
func (c *compiler) elements(s *ir.Set, es []ir.Element, first bool) []bytecode.Element {
	if s.Flags&bytecode.SetInterval != 0 && len(s.KeyFields) == 1 {
		return c.points(s, es, first)
	}
	out := make([]bytecode.Element, len(es))
	pairs := s.Flags&bytecode.SetInterval != 0
	for i := range es {
		e := &es[i]
		o := &out[i]
		c.element(o, s, e)
		if e.Catchall {
			o.Flags = bytecode.ElemCatchall
			continue
		}
		o.Key = e.From
		if pairs {
			if o.KeyEnd = e.To; o.KeyEnd == nil {
				o.KeyEnd = e.From
			}
		}
	}
	return out
}

// element fills in data and attributes.
func (c *compiler) element(o *bytecode.Element, s *ir.Set, e *ir.Element) {
	o.Span = e.Span
	if e.Data != nil {
		o.Data = elementData(e.Data)
	}
	if e.Opts == nil {
		return
	}
	a := &bytecode.ElementAttrs{
		Timeout: e.Opts.Timeout, TimeoutSet: e.Opts.TimeoutSet, Expires: e.Opts.Expires, Comment: e.Opts.Comment,
		Userdata: commentData(e.Opts.Comment, e.Opts.CommentSet),
	}
	for _, st := range e.Opts.Stmts {
		if x, ok := st.(*ir.Stateful); ok {
			a.Exprs = append(a.Exprs, x.Instr)
		}
	}
	o.Attrs = a
}

func elementData(d *ir.ElementData) *bytecode.ElementData {
	switch x := d.Expr.(type) {
	case *ir.Verdict:
		v := bytecode.Verdict{Code: x.Code, Chain: x.ChainName}
		if x.Anon != nil {
			v.ChainID = x.Anon.ID
		}
		return &bytecode.ElementData{Verdict: v}
	case *ir.ObjectName:
		return &bytecode.ElementData{Object: x.Name}
	}
	return &bytecode.ElementData{Value: d.Value}
}

// points makes start and end points of closed intervals (set_to_intervals,
// setelem_to_interval). The element after a point at its end needs no end
// point of its own in anonymous sets.
func (c *compiler) points(s *ir.Set, es []ir.Element, first bool) []bytecode.Element {
	out := make([]bytecode.Element, 0, 2*len(es)+1)
	n := s.KeyFields[0].Len()
	anon := s.Flags&bytecode.SetAnonymous != 0
	ends := make([]byte, 0, n*(len(es)+1))
	for i := range es {
		e := &es[i]
		if e.Catchall {
			continue
		}
		if first && !zero(e.From) {
			out = append(out, bytecode.Element{Key: make([]byte, n), Flags: bytecode.ElemIntervalEnd})
		}
		break
	}
	for i := range es {
		e := &es[i]
		var o bytecode.Element
		c.element(&o, s, e)
		if e.Catchall {
			o.Flags = bytecode.ElemCatchall
			out = append(out, o)
			continue
		}
		high := e.To
		if high == nil {
			high = e.From
		}
		o.Key = e.From
		open := top(high, s.KeyFields[0].Bits)
		if open {
			a := bytecode.ElementAttrs{}
			if o.Attrs != nil {
				a = *o.Attrs
			}
			a.Userdata = appendUserdata(append([]byte(nil), a.Userdata...), udataElemFlags, u32(elemIntervalOpen))
			o.Attrs = &a
		}
		out = append(out, o)
		if open {
			continue
		}
		start := len(ends)
		ends = append(ends, high...)
		end := ends[start : start+n : start+n]
		increment(end)
		if anon && i+1 < len(es) && !es[i+1].Catchall && bytes.Equal(end, es[i+1].From) {
			continue
		}
		out = append(out, bytecode.Element{Key: end, Flags: bytecode.ElemIntervalEnd, Span: e.Span})
	}
	return out
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// top tells whether a value of bits bits is the highest.
func top(b []byte, bits int) bool {
	if extra := len(b)*8 - bits; extra > 0 {
		if b[0] != 0xff>>extra {
			return false
		}
		b = b[1:]
	}
	for _, x := range b {
		if x != 0xff {
			return false
		}
	}
	return true
}

func increment(b []byte) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i]++
		if b[i] != 0 {
			return
		}
	}
}
