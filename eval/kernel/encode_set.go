//go:build linux

package kernel

import (
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/compile/bytecode"
)

// More attribute numbers of nf_tables.h.
const (
	nftaSetDescConcat = 2
	nftaSetFieldLen   = 1
	nftaSetExpr       = 17
	nftaSetExprs      = 18
	nftaElemKeyEnd    = 10
	nftaElemExprs     = 11
	nftaElemObjref    = 9
	dataTypeVerdict   = 0xffffff00 // NFT_DATA_VERDICT
)

// maxElementBytes is how much of elements goes in one message: the list is one
// attribute, whose length field has 16 bits.
const maxElementBytes = 48 << 10

// set makes the message that creates a set.
func (e *encoder) set(t *bytecode.Table, s *bytecode.Set) (netlink.Message, error) {
	var a attrs
	a.str(unix.NFTA_SET_TABLE, t.Name)
	a.str(unix.NFTA_SET_NAME, s.Name)
	a.u32(unix.NFTA_SET_FLAGS, uint32(s.Flags))
	a.u32(unix.NFTA_SET_KEY_TYPE, s.KeyType)
	a.u32(unix.NFTA_SET_KEY_LEN, uint32(s.KeyLen()))
	switch s.DataKind {
	case bytecode.DataVerdict:
		a.u32(unix.NFTA_SET_DATA_TYPE, dataTypeVerdict)
		a.u32(unix.NFTA_SET_DATA_LEN, 16) // sizeof(struct nft_verdict)
	case bytecode.DataValue:
		a.u32(unix.NFTA_SET_DATA_TYPE, s.DataType)
		a.u32(unix.NFTA_SET_DATA_LEN, uint32(s.DataLen()))
	case bytecode.DataObject:
		a.u32(unix.NFTA_SET_OBJ_TYPE, uint32(s.ObjType))
	}
	a.u32(unix.NFTA_SET_ID, s.ID)
	if s.Timeout != 0 {
		a.u64(unix.NFTA_SET_TIMEOUT, msec(s.Timeout))
	}
	if s.GC != 0 {
		a.u32(unix.NFTA_SET_GC_INTERVAL, uint32(msec(s.GC)))
	}
	if s.PolicySet {
		a.u32(unix.NFTA_SET_POLICY, uint32(s.Policy))
	}
	var desc attrs
	if s.Size != 0 {
		desc.u32(unix.NFTA_SET_DESC_SIZE, s.Size)
	}
	if s.Flags&bytecode.SetConcat != 0 {
		var fields attrs
		for _, f := range s.Key {
			var one attrs
			one.u32(nftaSetFieldLen, uint32(f.Len))
			fields.nest(unix.NFTA_LIST_ELEM, one)
		}
		desc.nest(nftaSetDescConcat, fields)
	}
	if len(desc) > 0 {
		a.nest(unix.NFTA_SET_DESC, desc)
	}
	if len(s.Userdata) > 0 {
		a.bytes(unix.NFTA_SET_USERDATA, s.Userdata)
	}
	if err := e.statefulExprs(&a, s.Exprs, nftaSetExpr, nftaSetExprs); err != nil {
		return netlink.Message{}, err
	}
	return message(unix.NFT_MSG_NEWSET, uint8(t.Family), netlink.Create, a), nil
}

// statefulExprs adds one expression by its own attribute, several as a list
// (nft_set_alloc: NFTA_SET_EXPR or NFTA_SET_EXPRESSIONS).
func (e *encoder) statefulExprs(a *attrs, list []bytecode.Instr, one, many uint16) error {
	switch len(list) {
	case 0:
	case 1:
		b, err := e.expr(list[0])
		if err != nil {
			return err
		}
		a.bytes(one|unix.NLA_F_NESTED, b)
	default:
		l, err := e.exprs(list)
		if err != nil {
			return err
		}
		a.nest(many, l)
	}
	return nil
}

// elements makes the messages that fill a set, split so that no attribute
// grows beyond what its length field holds.
func (e *encoder) elements(t *bytecode.Table, s *bytecode.Set, els []bytecode.Element) ([]netlink.Message, error) {
	var out []netlink.Message
	var list attrs
	size := 0
	flush := func() {
		if len(list) == 0 {
			return
		}
		var a attrs
		a.str(unix.NFTA_SET_ELEM_LIST_TABLE, t.Name)
		a.str(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
		a.u32(unix.NFTA_SET_ELEM_LIST_SET_ID, s.ID)
		a.nest(unix.NFTA_SET_ELEM_LIST_ELEMENTS, list)
		out = append(out, message(unix.NFT_MSG_NEWSETELEM, uint8(t.Family), netlink.Create, a))
		list, size = nil, 0
	}
	for i := range els {
		el, err := e.element(s, &els[i])
		if err != nil {
			return nil, err
		}
		b := el.marshal()
		if size += len(b) + 4; size > maxElementBytes {
			flush()
			size = len(b) + 4
		}
		list.bytes(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, b)
	}
	flush()
	return out, nil
}

// element makes the attributes of one element (nft_add_set_elem).
func (e *encoder) element(s *bytecode.Set, el *bytecode.Element) (attrs, error) {
	var a attrs
	if el.Key != nil {
		a.nest(unix.NFTA_SET_ELEM_KEY, dataValue(el.Key))
	}
	if el.KeyEnd != nil {
		a.nest(nftaElemKeyEnd, dataValue(el.KeyEnd))
	}
	if el.Flags != 0 {
		a.u32(unix.NFTA_SET_ELEM_FLAGS, uint32(el.Flags))
	}
	if el.Data != nil && el.Flags&bytecode.ElemIntervalEnd == 0 {
		switch s.DataKind {
		case bytecode.DataValue:
			a.nest(unix.NFTA_SET_ELEM_DATA, dataValue(el.Data.Value))
		case bytecode.DataVerdict:
			a.nest(unix.NFTA_SET_ELEM_DATA, e.verdict(el.Data.Verdict))
		case bytecode.DataObject:
			a.str(nftaElemObjref, el.Data.Object)
		}
	}
	if at := el.Attrs; at != nil {
		if at.Timeout != 0 || at.TimeoutSet {
			a.u64(unix.NFTA_SET_ELEM_TIMEOUT, msec(at.Timeout))
		}
		if at.Expires != 0 {
			a.u64(unix.NFTA_SET_ELEM_EXPIRATION, msec(at.Expires))
		}
		if len(at.Userdata) > 0 {
			a.bytes(unix.NFTA_SET_ELEM_USERDATA, at.Userdata)
		}
		if err := e.statefulExprs(&a, at.Exprs, unix.NFTA_SET_ELEM_EXPR, nftaElemExprs); err != nil {
			return nil, err
		}
	}
	return a, nil
}
