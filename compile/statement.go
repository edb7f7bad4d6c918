package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// wholeRegister is how many slots nft takes for an operand that is no
// concatenation: a 16-byte register.
const wholeRegister = 4

// operandSlots is the room that nft reserves for an operand (get_register).
func operandSlots(e ir.Expr) int {
	if c, ok := e.(*ir.Concat); ok {
		n := 0
		for _, it := range c.Items {
			n += (it.Common().Bits + 31) / 32
		}
		return n
	}
	return wholeRegister
}

// otherStmt compiles statements that are neither matches nor assignments.
func (g *gen) otherStmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Stateful:
		g.emit(s, s.Instr)
	case *ir.Simple:
		g.emit(s, s.Instr)
	case *ir.ObjRef:
		g.objRef(s)
	case *ir.NAT:
		g.nat(s)
	case *ir.TProxy:
		g.tproxy(s)
	case *ir.Dup:
		g.dup(s)
	case *ir.Fwd:
		g.fwd(s)
	case *ir.Queue:
		g.queue(s)
	case *ir.SetUpdate:
		g.setUpdate(s)
	case *ir.Reset:
		if x, ok := s.Target.(*ir.Exthdr); ok {
			g.emit(s, &bytecode.ExthdrReset{Op: x.Op, Type: x.Number})
		}
	}
}

func (g *gen) objRef(s *ir.ObjRef) {
	switch x := s.X.(type) {
	case *ir.ObjectName:
		g.emit(s, &bytecode.Objref{Type: s.Type, Object: x.Name})
	case *ir.Map:
		g.expr(s, x.Key, 0)
		g.emit(s, &bytecode.ObjrefMap{Src: bytecode.SlotRegister(0), Set: x.Set.Name, SetID: x.Set.ID})
	}
}

// operands hands out registers from the first slot on, one operand after the
// other, as nft does within a statement.
type operands struct {
	g    *gen
	stmt ir.Stmt
	next int
}

// load compiles an operand into the next register.
func (o *operands) load(e ir.Expr) (reg bytecode.Register, slot int) {
	slot = o.next
	o.next += operandSlots(e)
	o.g.expr(o.stmt, e, slot)
	return bytecode.SlotRegister(slot), slot
}

// loadRange compiles an operand that may be a range: max is 0 when it is not.
// Both registers are taken before either is loaded.
func (o *operands) loadRange(e ir.Expr) (lo, hi bytecode.Register, slot int) {
	r, ok := e.(*ir.RangeValue)
	if !ok {
		lo, slot = o.load(e)
		return lo, 0, slot
	}
	slot = o.next
	o.next += 2 * wholeRegister
	o.g.expr(o.stmt, r.From, slot)
	o.g.expr(o.stmt, r.To, slot+wholeRegister)
	return bytecode.SlotRegister(slot), bytecode.SlotRegister(slot + wholeRegister), slot
}

// addressSlots is the room of an address of a family.
func addressSlots(f bytecode.Family) int {
	if f == bytecode.FamilyIP6 {
		return 4
	}
	return 1
}

// nat compiles snat, dnat, masquerade and redirect (netlink_gen_nat_stmt). What
// a map gives lies in consecutive slots: address, port, and for intervals the
// last address and port.
func (g *gen) nat(s *ir.NAT) {
	o := &operands{g: g, stmt: s}
	n := &bytecode.NAT{Family: s.Family, Flags: s.Flags}
	if s.Kind == "dnat" {
		n.Type = bytecode.NATDest
	}
	if s.Addr != nil {
		var slot int
		n.AddrMin, n.AddrMax, slot = o.loadRange(s.Addr)
		width := addressSlots(s.Family)
		if s.ConcatAddrPort {
			n.ProtoMin = bytecode.SlotRegister(slot + width)
			if s.Interval {
				// address, port, last address, last port
				n.AddrMax = bytecode.SlotRegister(slot + width + 1)
				n.ProtoMax = bytecode.SlotRegister(slot + 2*width + 1)
			}
		} else if s.Interval {
			n.AddrMax = bytecode.SlotRegister(slot + width)
		}
	}
	if s.Port != nil {
		n.ProtoMin, n.ProtoMax, _ = o.loadRange(s.Port)
	}
	switch s.Kind {
	case "masquerade":
		g.emit(s, &bytecode.Masq{Flags: n.Flags, ProtoMin: n.ProtoMin, ProtoMax: n.ProtoMax})
	case "redirect":
		g.emit(s, &bytecode.Redir{Flags: n.Flags, ProtoMin: n.ProtoMin, ProtoMax: n.ProtoMax})
	default:
		g.emit(s, n)
	}
}

func (g *gen) tproxy(s *ir.TProxy) {
	o := &operands{g: g, stmt: s}
	t := &bytecode.TProxy{Family: s.Family}
	if s.Addr != nil {
		t.Addr, _ = o.load(s.Addr)
	}
	if s.Port != nil {
		t.Port, _ = o.load(s.Port)
	}
	g.emit(s, t)
}

func (g *gen) dup(s *ir.Dup) {
	o := &operands{g: g, stmt: s}
	d := &bytecode.Dup{}
	if s.Addr != nil {
		d.Addr, _ = o.load(s.Addr)
	}
	if s.Dev != nil {
		d.Dev, _ = o.load(s.Dev)
	}
	g.emit(s, d)
}

func (g *gen) fwd(s *ir.Fwd) {
	o := &operands{g: g, stmt: s}
	f := &bytecode.Fwd{Family: s.Family}
	f.Dev, _ = o.load(s.Dev)
	if s.Addr != nil {
		f.Addr, _ = o.load(s.Addr)
	}
	g.emit(s, f)
}

func (g *gen) queue(s *ir.Queue) {
	q := &bytecode.QueueTo{Flags: s.Flags, Total: 1}
	switch x := s.Num.(type) {
	case nil:
	case *ir.Value:
		q.Num = uint16(valueUint(x))
	case *ir.RangeValue:
		q.Num = uint16(valueUint(x.From))
		q.Total = uint16(valueUint(x.To)) - q.Num + 1
	default:
		g.expr(s, x, 0)
		q.Total = 0
		q.HasSreg, q.Src = true, bytecode.SlotRegister(0)
	}
	g.emit(s, q)
}

// valueUint is the number that a constant of up to 8 bytes holds.
func valueUint(v *ir.Value) uint64 {
	var n uint64
	for _, b := range v.Bytes {
		n = n<<8 | uint64(b)
	}
	return n
}

func (g *gen) setUpdate(s *ir.SetUpdate) {
	o := &operands{g: g, stmt: s}
	d := &bytecode.Dynset{Op: s.Op, Set: s.Set.Name, SetID: s.Set.ID}
	d.Key, _ = o.load(s.Key)
	if s.Data != nil {
		d.HasData = true
		d.Data, _ = o.load(s.Data)
	}
	if s.Opts != nil {
		d.Timeout = uint64(s.Opts.Timeout.Milliseconds())
		d.Exprs = statefulInstrs(s.Opts.Stmts)
	}
	g.emit(s, d)
}

// statefulInstrs are the expressions that an element or a set carries.
func statefulInstrs(stmts []ir.Stmt) []bytecode.Instr {
	var out []bytecode.Instr
	for _, st := range stmts {
		if s, ok := st.(*ir.Stateful); ok {
			out = append(out, s.Instr)
		}
	}
	return out
}
