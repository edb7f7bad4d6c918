package bytecode

import (
	"fmt"
	"strings"
)

// DumpInstr returns the text of one expression without the brackets' indent,
// e.g. `[ cmp eq reg 1 0x06 ]`.
func DumpInstr(in Instr) string {
	if text, ok := dumpStmt(in); ok {
		return text
	}
	return dumpExpr(in)
}

// String returns the constant as the debug text has it: the number it stands
// for, most significant byte first, in words of four bytes.
func (d Data) String() string {
	var b strings.Builder
	fs := d.Fields
	if fs == nil {
		fs = []Field{{Len: uint16(len(d.Bytes))}}
	}
	off := 0
	for _, f := range fs {
		end := min(off+int(f.Len), len(d.Bytes))
		v := d.Bytes[min(off, end):end]
		off += f.Padded()
		if f.Host {
			v = reversed(v)
		}
		for i := 0; i < len(v); i += 4 {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "0x%x", v[i:min(i+4, len(v))])
		}
	}
	return b.String()
}

func reversed(v []byte) []byte {
	r := make([]byte, len(v))
	for i := range v {
		r[len(v)-1-i] = v[i]
	}
	return r
}

func (v Verdict) String() string {
	if v.Chain == "" {
		return v.Code.String()
	}
	return v.Code.String() + " -> " + v.Chain
}

func (o ExthdrOp) String() string {
	switch o {
	case ExthdrIPv6:
		return "ipv6"
	case ExthdrTCPOpt:
		return "tcpopt"
	case ExthdrIPv4:
		return "ipv4"
	case ExthdrSCTP:
		return "sctp chunk"
	case ExthdrDCCP:
		return "dccp"
	}
	return "unknown"
}

func (o BitwiseOp) String() string {
	switch o {
	case BitwiseMaskXor:
		return "mask-xor"
	case BitwiseLshift:
		return "<<"
	case BitwiseRshift:
		return ">>"
	case BitwiseAnd:
		return "&"
	case BitwiseOr:
		return "|"
	case BitwiseXor:
		return "^"
	}
	return "unknown"
}

// fibResults and fibFlags are the words for NFT_FIB_RESULT_* and NFTA_FIB_F_*.
var (
	fibResults = [...]string{1: "oif", 2: "oifname", 3: "type"}
	fibFlags   = [...]struct {
		bit  uint32
		name string
	}{{1, "saddr"}, {2, "daddr"}, {4, "mark"}, {8, "iif"}, {16, "oif"}}
)

const fibPresent = 32

func dumpFib(in *Fib) string {
	var words []string
	for _, f := range fibFlags {
		if in.Flags&f.bit != 0 {
			words = append(words, f.name)
		}
	}
	result := "unknown"
	if in.Result > 0 && int(in.Result) < len(fibResults) {
		result = fibResults[in.Result]
	}
	if in.Flags&fibPresent != 0 {
		result += " present"
	}
	return fmt.Sprintf("[ fib %s %s => %s ]", strings.Join(words, " . "), result, in.Dst)
}

func dumpDir(dir int8) string {
	switch dir {
	case 0:
		return " , dir original"
	case 1:
		return " , dir reply"
	}
	return ""
}

func dumpOffset(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" offset %d", n)
}

// dumpExpr writes the expressions that load, compute and compare.
func dumpExpr(in Instr) string {
	switch in := in.(type) {
	case *Cmp:
		return fmt.Sprintf("[ cmp %s %s %s ]", in.Op, in.Src, in.Data)
	case *Range:
		op := "eq"
		if in.Neg {
			op = "neq"
		}
		return fmt.Sprintf("[ range %s %s %s %s ]", op, in.Src, in.From, in.To)
	case *Immediate:
		if in.Dst == RegVerdict {
			return fmt.Sprintf("[ immediate %s %s ]", in.Dst, in.Verdict)
		}
		return fmt.Sprintf("[ immediate %s %s ]", in.Dst, in.Data)
	case *Lookup:
		s := fmt.Sprintf("[ lookup %s set %s", in.Src, in.Set)
		if in.HasDst {
			s += fmt.Sprintf(" dreg %d", in.Dst)
		}
		if in.Invert {
			s += " 0x1"
		}
		return s + " ]"
	case *Payload:
		return fmt.Sprintf("[ payload load %db @ %s + %d => %s ]", in.Len, in.Base, in.Offset, in.Dst)
	case *PayloadSet:
		return fmt.Sprintf("[ payload write %s => %db @ %s + %d csum_type %d csum_off %d csum_flags 0x%x ]",
			in.Src, in.Len, in.Base, in.Offset, in.CsumType, in.CsumOff, in.CsumFlags)
	case *Inner:
		return fmt.Sprintf("[ inner type %d hdrsize %d flags %x %s ]", in.Type, in.HdrSize, in.Flags, DumpInstr(in.Instr))
	case *Exthdr:
		present := ""
		if in.Present {
			present = " present"
		}
		return fmt.Sprintf("[ exthdr load %s%db @ %d + %d%s => %s ]", dumpExthdrOp(in.Op), in.Len, in.Type, in.Offset, present, in.Dst)
	case *ExthdrSet:
		return fmt.Sprintf("[ exthdr write %s%s => %db @ %d + %d ]", dumpExthdrOp(in.Op), in.Src, in.Len, in.Type, in.Offset)
	case *ExthdrReset:
		return fmt.Sprintf("[ exthdr reset %s %d ]", in.Op, in.Type)
	case *Bitwise:
		return dumpBitwise(in)
	case *Byteorder:
		op := "ntoh"
		if in.Hton {
			op = "hton"
		}
		return fmt.Sprintf("[ byteorder %s = %s(%s, %d, %d) ]", in.Dst, op, in.Src, in.Size, in.Len)
	case *Meta:
		return fmt.Sprintf("[ meta load %s => %s ]", in.Key, in.Dst)
	case *MetaSet:
		return fmt.Sprintf("[ meta set %s with %s ]", in.Key, in.Src)
	case *CT:
		return fmt.Sprintf("[ ct load %s => %s%s ]", in.Key, in.Dst, dumpDir(in.Dir))
	case *CTSet:
		return fmt.Sprintf("[ ct set %s with %s%s ]", in.Key, in.Src, dumpDir(in.Dir))
	case *RT:
		return fmt.Sprintf("[ rt load %s => %s ]", in.Key, in.Dst)
	case *Socket:
		return dumpSocket(in)
	case *Fib:
		return dumpFib(in)
	case *Osf:
		return fmt.Sprintf("[ osf dreg %d ]", in.Dst)
	case *Numgen:
		mode := "inc"
		if in.Random {
			mode = "random"
		}
		return fmt.Sprintf("[ numgen %s = %s mod %d%s ]", in.Dst, mode, in.Modulus, dumpOffset(in.Offset))
	case *Hash:
		if in.Sym {
			return fmt.Sprintf("[ hash %s = symhash() %% mod %d%s ]", in.Dst, in.Modulus, dumpOffset(in.Offset))
		}
		return fmt.Sprintf("[ hash %s = jhash(%s, %d, 0x%x) %% mod %d%s ]", in.Dst, in.Src, in.Len, in.Seed, in.Modulus, dumpOffset(in.Offset))
	case *Xfrm:
		dir := "in"
		if in.Dir == 1 {
			dir = "out"
		}
		return fmt.Sprintf("[ xfrm load %s %d %s => %s ]", dir, in.SP, in.Key, in.Dst)
	case *Tunnel:
		key := "path"
		if in.Key == 1 {
			key = "id"
		}
		return fmt.Sprintf("[ tunnel load %s => %s ]", key, in.Dst)
	}
	return fmt.Sprintf("[ %s ]", in.Name())
}

// dumpExthdrOp is the word for a kind of header; libnftnl knows three.
func dumpExthdrOp(o ExthdrOp) string {
	switch o {
	case ExthdrIPv6, ExthdrTCPOpt, ExthdrIPv4:
		return o.String() + " "
	}
	return ""
}

// dumpSocket leaves out the level of a cgroup, as libnftnl does.
func dumpSocket(in *Socket) string {
	return fmt.Sprintf("[ socket load %s => %s ]", in.Key, in.Dst)
}

func dumpBitwise(in *Bitwise) string {
	switch in.Op {
	case BitwiseMaskXor:
		return fmt.Sprintf("[ bitwise %s = ( %s & %s ) ^ %s ]", in.Dst, in.Src, in.Mask, in.Xor)
	case BitwiseLshift, BitwiseRshift:
		return fmt.Sprintf("[ bitwise %s = ( %s %s 0x%08x ) ]", in.Dst, in.Src, in.Op, in.Shift)
	}
	return fmt.Sprintf("[ bitwise %s = ( %s %s %s ) ]", in.Dst, in.Src, in.Op, in.Src2)
}
