package bytecode

import (
	"fmt"
	"strings"
)

// object writes the line of a named object. Table and name are not yet set
// when nft prints it (nftnl_obj_snprintf_dflt).
func (d *dumper) object(o *Object) {
	d.str("table (null) name (null) use 0 [ " + objectText(o) + "]\n")
}

// ctTimeoutState is a state of a ct timeout policy. The text leaves out what
// equals the library's default in seconds, which is not always nft's.
type ctTimeoutState struct {
	name  string
	quiet uint32
}

// ctTimeoutStates by protocol, in the kernel's numbering (timeout_protocol in
// libnftnl).
var ctTimeoutStates = map[uint8][]ctTimeoutState{
	6: {{"SYN_SENT", 120}, {"SYN_RECV", 60}, {"ESTABLISHED", 432000}, {"FIN_WAIT", 120}, {"CLOSE_WAIT", 60},
		{"LAST_ACK", 30}, {"TIME_WAIT", 120}, {"CLOSE", 10}, {"SYN_SENT2", 120}, {"RETRANS", 300}, {"UNACKNOWLEDGED", 300}},
	17: {{"UNREPLIED", 30}, {"REPLIED", 180}},
}

func objectText(o *Object) string {
	switch in := o.Instr.(type) {
	case *Counter:
		return fmt.Sprintf("counter pkts %d bytes %d ", in.Packets, in.Bytes)
	case *Quota:
		return fmt.Sprintf("quota bytes %d flags %d ", in.Bytes, bit(in.Over))
	case *Limit:
		return fmt.Sprintf("limit rate %d unit %d burst %d type %d flags %d ",
			in.Rate, in.Unit, in.Burst, bit(in.Bytes), bit(in.Over))
	case *Connlimit:
		return fmt.Sprintf("connlimit count %d flags %d ", in.Count, bit(in.Over))
	case *Synproxy:
		return fmt.Sprintf("synproxy mss %d wscale %d ", in.MSS, in.Wscale)
	case *ObjCTHelperSpec:
		return fmt.Sprintf("ct_helper name %s family %d protocol %d ", in.Helper, in.Family, in.L4Proto)
	case *ObjCTExpectSpec:
		family := ""
		if in.Family != 0 {
			family = fmt.Sprintf("family %d ", in.Family)
		}
		return fmt.Sprintf("ct_expect %sprotocol %d dport %d timeout %d size %d ",
			family, in.L4Proto, in.Port, in.Timeout, in.Size)
	case *ObjCTTimeoutSpec:
		var b strings.Builder
		b.WriteString("ct_timeout ")
		if in.Family != 0 {
			fmt.Fprintf(&b, "family %d ", in.Family)
		}
		fmt.Fprintf(&b, "protocol %d ", in.L4Proto)
		text := ""
		for i, st := range ctTimeoutStates[in.L4Proto] {
			if v, ok := in.Policy[i]; ok && v != st.quiet {
				text += fmt.Sprintf("%s = %d,", st.name, v)
			}
		}
		fmt.Fprintf(&b, "policy = {%s}", text)
		return b.String()
	case *ObjSecmarkSpec:
		return fmt.Sprintf("secmark context %s ", in.Context)
	case *ObjTunnelSpec:
		return fmt.Sprintf("tunnel id %d ", in.ID)
	}
	return o.Type.String() + " "
}
