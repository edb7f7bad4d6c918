package bytecode

import (
	"bufio"
	"io"
	"strconv"
)

// Dump writes what `nft --debug=netlink -c -f FILE` of nft 1.1.7 prints for the
// transaction.
func Dump(w io.Writer, rs *Ruleset) error {
	d := &dumper{w: bufio.NewWriterSize(w, 1<<16)}
	for i := range rs.Ops {
		d.op(&rs.Ops[i])
	}
	return d.w.Flush()
}

// dumper writes the text of messages; errors surface in Flush.
type dumper struct {
	w   *bufio.Writer
	buf []byte
}

func (d *dumper) str(s string) { d.w.WriteString(s) }

func (d *dumper) num(v uint64) {
	d.buf = strconv.AppendUint(d.buf[:0], v, 10)
	d.w.Write(d.buf)
}

func (d *dumper) op(op *Op) {
	switch op.Kind {
	case OpNewChain:
		d.chain(op)
	case OpNewRule, OpReplaceRule:
		d.rule(op)
	case OpNewSet:
		d.setHeader(op)
	case OpFlushSet:
		d.str("family ")
		d.num(uint64(op.Family))
		d.str(" " + op.Name + " " + op.TableName + " 0\n")
	case OpNewElements, OpDelElements:
		if op.Set == nil {
			return
		}
		d.str("family ")
		d.num(uint64(op.Family))
		d.str(" " + op.Set.Name + " " + op.TableName + " 0\n")
		d.elements(op.Set, op.Elements)
	case OpNewObject:
		if op.Object != nil {
			d.object(op.Object)
		}
	case OpNewFlowtable:
		if op.Flowtable != nil {
			d.str("flow table (null) (null) use 0 size 0 flags ")
			d.num(uint64(op.Flowtable.Flags))
			d.str("\n")
		}
	}
}

func (d *dumper) chain(op *Op) {
	name := "(null)"
	if op.Chain != nil && op.Chain.ID == 0 {
		name = op.Chain.Name
	}
	if op.Rename {
		name = op.Name
	}
	d.str(op.Family.String() + " " + op.TableName + " " + name + " use 0\n")
}

func (d *dumper) rule(op *Op) {
	d.str(op.Family.String() + " " + op.TableName)
	if op.Chain != nil && op.Chain.ID == 0 {
		d.str(" " + op.Chain.Name)
	}
	if op.Handle != 0 {
		d.str(" ")
		d.num(op.Handle)
	}
	if op.Rule.ID != 0 {
		d.str(" ")
		d.num(uint64(op.Rule.ID))
	}
	if op.Position != nil {
		d.str(" ")
		d.num(uint64(op.Position.ID))
	}
	d.str("\n")
	for _, in := range op.Rule.Instrs {
		d.str("  " + DumpInstr(in) + "\n")
	}
	if u := op.Rule.Userdata; u != nil {
		d.userdata(u)
		d.str("\n")
	}
}

// userdata writes length and sum of the bytes, which is all that is printed.
func (d *dumper) userdata(u []byte) {
	sum := uint64(0)
	for _, b := range u {
		sum += uint64(b)
	}
	d.str("  userdata len ")
	d.num(uint64(len(u)))
	d.str(" sum 0x")
	d.buf = strconv.AppendUint(d.buf[:0], sum, 16)
	d.w.Write(d.buf)
}
