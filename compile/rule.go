package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

// gen generates the expressions of one rule.
type gen struct {
	*compiler
	rule *bytecode.Rule
	// low is the first slot that is free for operands.
	low int
}

// compileRule compiles one rule.
func (c *compiler) compileRule(r *ir.Rule) *bytecode.Rule {
	g := &gen{compiler: c, rule: &bytecode.Rule{Span: r.Span, Comment: r.Comment, Handle: r.Handle}}
	stmts := r.Stmts
	if r.Chain != nil && r.Chain.Table != nil {
		stmts = r.Reduced(r.Chain.Table.Family)
	}
	for _, s := range stmts {
		g.stmt(s)
	}
	return g.rule
}

// emit appends an expression that comes from a statement.
func (g *gen) emit(s ir.Stmt, in bytecode.Instr) {
	g.rule.Instrs = append(g.rule.Instrs, in)
	g.rule.Spans = append(g.rule.Spans, s.Pos())
	if g.origins != nil {
		*g.origins = append(*g.origins, s)
	}
}

// stmt compiles matches, verdicts, verdict maps and assignments; other
// statements are in otherStmt.
func (g *gen) stmt(s ir.Stmt) {
	g.low = 0
	switch s := s.(type) {
	case *ir.Match:
		g.match(s)
	case *ir.VerdictStmt:
		g.verdictStmt(s)
	case *ir.Assign:
		g.assign(s)
	default:
		g.otherStmt(s)
	}
}

func (g *gen) verdictStmt(s *ir.VerdictStmt) {
	switch x := s.X.(type) {
	case *ir.Verdict:
		v := bytecode.Verdict{Code: x.Code, Chain: x.ChainName}
		if x.Anon != nil {
			v.ChainID = x.Anon.ID
		}
		g.emit(s, &bytecode.Immediate{Dst: bytecode.RegVerdict, Verdict: v})
	case *ir.Map:
		// Operands of a concatenated key lie a second time its length behind it.
		g.low = 2 * operandSlots(x.Key)
		if _, concat := x.Key.(*ir.Concat); !concat {
			g.low = operandSlots(x.Key)
		}
		g.load(s, x.Key, 0)
		g.emit(s, &bytecode.Lookup{
			Src: bytecode.SlotRegister(0), Set: x.Set.Name, SetID: x.Set.ID, HasDst: true, Dst: bytecode.RegVerdict,
		})
	}
}

func (g *gen) assign(s *ir.Assign) {
	g.expr(s, s.Value, 0)
	src := bytecode.SlotRegister(0)
	switch t := s.Target.(type) {
	case *ir.Meta:
		g.emit(s, &bytecode.MetaSet{Key: t.Key, Src: src})
	case *ir.CT:
		g.emit(s, &bytecode.CTSet{Key: t.Key, Dir: t.Dir, Src: src})
	case *ir.Exthdr:
		g.emit(s, &bytecode.ExthdrSet{Op: t.Op, Type: t.Number, Offset: uint32(t.Offset / 8), Len: uint32(t.Bits+7) / 8, Src: src})
	case *ir.Payload:
		in := &bytecode.PayloadSet{Src: src, Base: t.Base, Offset: uint32(t.Offset / 8), Len: uint32(t.Bits / 8)}
		if t.Proto != nil && t.Proto.Checksum != nil {
			in.CsumType = t.Proto.ChecksumType
			in.CsumOff = uint32(t.Proto.Checksum.Offset / 8)
		}
		if t.Base == bytecode.BaseInner || t.Proto != nil && t.Base == bytecode.BaseTransport && t.Proto.Name == "udp" ||
			t.Base == bytecode.BaseNetwork && t.Field != nil && t.Field.Pseudo {
			in.CsumFlags = payloadPseudoHeader
		}
		g.emit(s, in)
	}
}

// payloadPseudoHeader is NFT_PAYLOAD_L4CSUM_PSEUDOHDR.
const payloadPseudoHeader = 1
