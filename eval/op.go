package eval

// opcode selects the case of the machine's switch. Frequent forms of an
// expression have opcodes of their own, as in the kernel (nft_cmp_fast_ops).
type opcode uint8

const (
	opCmpEq4        opcode = iota // up to 4 bytes, by mask
	opCmpNe4                      // up to 4 bytes, by mask
	opCmpEq                       // more than 4 bytes
	opCmpNe                       //
	opCmpOrder                    // lt, lte, gt, gte: flag is the bytecode.CmpOp
	opRange                       //
	opImmediate                   //
	opVerdict                     // immediate to the verdict register
	opPayload                     // load
	opPayloadSet                  //
	opInnerPayload                //
	opInnerMeta                   //
	opMask4                       // bitwise mask and xor of one slot
	opMask                        // bitwise mask and xor
	opShift                       // flag: right
	opBitwise2                    // and, or, xor of two registers
	opByteorder                   //
	opMeta                        //
	opMetaSet                     //
	opCT                          //
	opCTSet                       //
	opNotrack                     //
	opRT                          //
	opFib                         //
	opSocket                      //
	opOsf                         //
	opXfrm                        //
	opTunnel                      //
	opExthdr                      //
	opExthdrSet                   //
	opExthdrReset                 //
	opLookup                      //
	opLookupMap                   //
	opLookupVerdict               //
	opDynset                      //
	opObjref                      //
	opObjrefMap                   //
	opCounter                     //
	opStateful                    // quota, limit, connlimit, last
	opNumgen                      //
	opJhash                       //
	opSymhash                     //
	opLog                         //
	opReject                      //
	opNAT                         // also masquerade and redirect
	opTProxy                      //
	opSynproxy                    //
	opDup                         //
	opFwd                         //
	opQueue                       //
	opFlowOffload                 //
	opCompat                      //
)

// op is one flattened expression. Register operands are byte offsets into the
// register file; what the other fields mean stands with each opcode's case.
type op struct {
	code     opcode
	src, dst uint8
	flag     uint8
	src2     uint8
	base     uint8
	n        uint16 // bytes
	a, b     uint32
	ref      int32 // index into a table of the engine
	data     []byte
	data2    []byte
	instr    any // the bytecode expression, for rare opcodes
}

// noReg stands for an absent register operand in op.src, src2 and dst.
const noReg = 0xff

// Verdict codes of the machine, as the kernel's but small and without flags.
const (
	codeContinue int32 = -1
	codeBreak    int32 = -2
	codeJump     int32 = -3
	codeGoto     int32 = -4
	codeReturn   int32 = -5
	codeDrop     int32 = 0
	codeAccept   int32 = 1
	codeStolen   int32 = 2
	codeQueue    int32 = 3
	// codeFork: the op cannot tell whether it matches, see walk.fork.
	codeFork int32 = -100
)

// verdict is a resolved bytecode.Verdict.
type verdict struct {
	code  int32
	chain *chain // jump and goto
}
