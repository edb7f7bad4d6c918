package bytecode

import (
	"fmt"
	"sort"
	"strings"
)

// object writes the line of a named object. Table and name are not yet set
// when nft prints it (nftnl_obj_snprintf_dflt).
func (d *dumper) object(o *Object) {
	d.str("table (null) name (null) use 0 [ " + objectText(o) + "]\n")
}

// ctTimeoutStates are the states of ct timeout policies by protocol
// (nftnl's timeout_attr tables), in the kernel's numbering.
var ctTimeoutStates = map[uint8][]string{
	6: {"SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK",
		"TIME_WAIT", "CLOSE", "SYN_SENT2", "RETRANS", "UNACKNOWLEDGED"},
	17: {"UNREPLIED", "REPLIED"},
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
		return fmt.Sprintf("ct_expect family %d protocol %d dport %d timeout %d size %d ",
			in.Family, in.L4Proto, in.Port, in.Timeout, in.Size)
	case *ObjCTTimeoutSpec:
		names := ctTimeoutStates[in.L4Proto]
		states := make([]int, 0, len(in.Policy))
		for s := range in.Policy {
			states = append(states, s)
		}
		sort.Ints(states)
		var b strings.Builder
		fmt.Fprintf(&b, "ct_timeout family %d protocol %d policy = {", in.Family, in.L4Proto)
		for _, s := range states {
			if s >= 0 && s < len(names) {
				fmt.Fprintf(&b, "%s = %d,", names[s], in.Policy[s])
			}
		}
		b.WriteString("}")
		return b.String()
	case *ObjSecmarkSpec:
		return fmt.Sprintf("secmark context %s ", in.Context)
	case *ObjTunnelSpec:
		return fmt.Sprintf("tunnel id %d ", in.ID)
	}
	return o.Type.String() + " "
}
