package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/conntrack"
	"github.com/nftc/nftc/eval/packet"
)

// Status says what a comparison came to.
type Status uint8

const (
	// Agree: both engines took the packet the same way to the same end.
	Agree Status = iota
	// AgreeStack: the network stack ended the trip, and the evaluator said so.
	AgreeStack
	// Differ: the paths or the ends differ.
	Differ
	// NotKnown: the evaluator's verdict depends on something it does not know.
	NotKnown
	// NotVerifiable: the packet cannot be made to enter as it is stated.
	NotVerifiable
)

func (s Status) String() string {
	switch s {
	case Agree:
		return "agree"
	case AgreeStack:
		return "agree (stack)"
	case Differ:
		return "differ"
	case NotKnown:
		return "unknown"
	case NotVerifiable:
		return "not verifiable"
	}
	return "invalid"
}

// Comparison is the outcome of one packet in both engines. It is reused.
type Comparison struct {
	Status Status
	// Reason: why NotVerifiable or NotKnown; for Differ what differs, one
	// sentence each.
	Reason []string
	Ours   eval.Result
	Theirs Outcome

	buf []byte
}

// Verifier runs packets through a session and an engine that knows what stands
// around the session.
type Verifier struct {
	s      *Session
	engine *eval.Engine
	cfg    Config
}

// NewVerifier makes the engine that goes with a session.
func NewVerifier(s *Session, cfg Config, rs *bytecode.Ruleset) (*Verifier, error) {
	return newVerifier(s, s.Interfaces(), cfg, rs)
}

// NewPredictor makes a verifier without a kernel: Predict gives what the
// evaluator says of a packet on a session's trip.
func NewPredictor(cfg Config, rs *bytecode.Ruleset) (*Verifier, error) {
	cfg = cfg.withDefaults()
	mac := [6]byte{2, 0, 0, 0, 0, 1}
	if cfg.Trip == TripBridge {
		mac = bridgePortMAC
	}
	return newVerifier(nil, []Interface{
		{Name: "lo", Index: 1, Loopback: true, MTU: 65536},
		{Name: cfg.In, Index: 2, TUN: cfg.TUN, MTU: mtu, MAC: mac},
		{Name: cfg.Out, Index: 3, TUN: cfg.TUN, MTU: mtu, MAC: mac},
	}, cfg, rs)
}

func newVerifier(s *Session, devices []Interface, cfg Config, rs *bytecode.Ruleset) (*Verifier, error) {
	cfg = cfg.withDefaults()
	h := &eval.Host{Forwarding4: true, Forwarding6: true}
	for _, i := range devices {
		x := eval.Interface{Name: i.Name, Index: i.Index, Type: packet.DevEther, HasType: true, HasGroup: true, MTU: i.MTU, MAC: i.MAC,
			// Elsewhere a device takes the address that a frame is sent to.
			HasMAC: cfg.Trip == TripBridge}
		switch {
		case i.Loopback:
			x.Type = 772 // ARPHRD_LOOPBACK
		case i.TUN:
			x.Type, x.HasMAC = 65534, false // ARPHRD_NONE
		}
		if !i.Loopback {
			x.Kind, x.HasKind = "tun", true
		}
		h.Interfaces = append(h.Interfaces, x)
	}
	if cfg.Trip != TripBridge && !cfg.TUN {
		for i, dev := range []string{cfg.In, cfg.Out} {
			for _, a := range deviceAddrs[i] {
				own := netip.MustParsePrefix(a)
				h.Addresses = append(h.Addresses, eval.HostAddr{Dev: dev, Prefix: own, Scope: "global"})
				h.AddRoute(eval.Route{Dst: own, Type: eval.RouteLocal, Dev: dev})
			}
		}
	}
	for _, dst := range []string{"127.0.0.0/8", "::1/128"} {
		h.AddRoute(eval.Route{Dst: netip.MustParsePrefix(dst), Type: eval.RouteLocal, Dev: "lo"})
	}
	for _, dst := range []string{"0.0.0.0/0", "::/0"} {
		r := eval.Route{Dst: netip.MustParsePrefix(dst), Type: eval.RouteUnicast, Dev: cfg.Out}
		if cfg.Trip == TripInput {
			// Before what a lookup without the device finds.
			h.AddRoute(eval.Route{Dst: r.Dst, Type: eval.RouteLocal, Dev: "lo", Policy: true})
		}
		h.AddRoute(r)
	}
	e, err := eval.New(rs, eval.Env{Host: h, Conntrack: conntrack.Config{NoChecksum: !cfg.ConntrackChecksum, NoAcct: true}, Start: time.Now().UnixNano()})
	if err != nil {
		return nil, err
	}
	return &Verifier{s: s, engine: e, cfg: cfg}, nil
}

// Engine is the evaluator's side.
func (v *Verifier) Engine() *eval.Engine { return v.engine }

// TripOf tells which trip brings a packet to the hooks that it states.
func TripOf(p *packet.Packet) Trip {
	if p.Stated.Has&(packet.HasIbrName|packet.HasObrName) != 0 {
		return TripBridge
	}
	trip := TripInput
	for _, h := range p.Stated.Hooks() {
		switch h {
		case packet.HookForward:
			return TripForward
		case packet.HookOutput, packet.HookPostrouting, packet.HookEgress:
			trip = TripOutput
		case packet.HookIngress, packet.HookPrerouting, packet.HookInput:
			if trip == TripOutput {
				return TripForward
			}
		}
	}
	return trip
}

// unverifiable are the facts that a packet may state but that cannot be given
// to an injected packet.
var unverifiable = []struct {
	has  packet.Has
	name string
}{
	{packet.HasMark, "mark"}, {packet.HasPriority, "priority"}, {packet.HasSkuid | packet.HasSkgid, "socket owner"},
	{packet.HasCgroup, "cgroup"}, {packet.HasRtClassID, "rtclassid"}, {packet.HasSecMark, "secmark"}, {packet.HasCPU, "cpu"},
	{packet.HasCTState | packet.HasCTStatus | packet.HasCTDirection | packet.HasCTMark | packet.HasCTZone | packet.HasCTHelper |
		packet.HasCTLabel | packet.HasCTExpiration | packet.HasCTPackets | packet.HasCTBytes | packet.HasCTID, "connection"},
	{packet.HasIifType | packet.HasOifType, "interface type"}, {packet.HasIifGroup | packet.HasOifGroup, "interface group"},
	{packet.HasPktType, "packet type"}, {packet.HasNFTrace, "nftrace"},
}

// prepare makes p a packet that the session can inject just as it is: an
// Ethernet frame (or for TripOutput an IP packet as a raw socket takes it),
// with the devices of the session and the time of now. It says why not, if it
// cannot be done.
func (v *Verifier) prepare(p *packet.Packet, c *Comparison) string {
	st := &p.Stated
	for _, u := range unverifiable {
		if st.Has&u.has != 0 {
			return "the packet states its " + u.name
		}
	}
	if p.WireLen > len(p.Data) {
		return "the capture does not have all of the packet"
	}
	if v.cfg.Trip == TripOutput {
		if why := v.prepareOutput(p); why != "" {
			return why
		}
	} else if p.LinkType != packet.LinkEthernet || p.LLGap != 0 {
		if p.NH < 0 {
			return "the packet has no network header to inject"
		}
		c.buf = append(c.buf[:0], 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9)
		c.buf = binary.BigEndian.AppendUint16(c.buf, p.EtherType)
		c.buf = append(c.buf, p.Data[p.NH:]...)
		reframe(p, packet.LinkEthernet, c.buf)
	}
	if v.cfg.Trip != TripOutput && len(p.Data) >= 6 && [6]byte(p.Data[:6]) == [6]byte{} {
		return "no device can have the address 00:00:00:00:00:00"
	}
	if v.s != nil {
		if err := v.s.Injectable(p); err != nil {
			return strings.TrimPrefix(err.Error(), "kernel: ")
		}
	}
	for _, view := range [...]packet.View{packet.ViewIngress, packet.ViewInet} {
		if p.NFProto != packet.NFProtoIPv6 {
			break
		}
		if p.Enter(view); p.Info.L4Set && p.Info.TH > p.Info.End {
			// nf_trace_fill_pkt_info fails to copy a header from there.
			return "the kernel cannot trace a packet whose headers reach past its end"
		}
	}
	if v.cfg.Trip != TripBridge && p.HasIPv4Timestamp() {
		return "the kernel writes its time into the packet"
	}
	st = &p.Stated
	st.PathLen, st.Direction = 0, packet.DirUnknown
	st.Has &= packet.HasIifName | packet.HasOifName | packet.HasIbrName | packet.HasObrName
	switch v.cfg.Trip {
	case TripOutput:
		st.Has = packet.HasOifName
		st.OifName = v.cfg.Out
	case TripBridge:
		st.Has = packet.HasIifName | packet.HasOifName | packet.HasIbrName | packet.HasObrName
		st.IifName, st.OifName, st.IbrName, st.ObrName = v.cfg.In, v.cfg.Out, bridgeName, bridgeName
	default:
		st.Has = packet.HasIifName
		st.IifName = v.cfg.In
	}
	return ""
}

// prepareOutput cuts the packet to its IP length and sees that the kernel will
// not rewrite its header (raw(7): an IPv4 header's id is filled in when zero,
// its checksum always).
func (v *Verifier) prepareOutput(p *packet.Packet) string {
	if !p.HasIP() {
		return "only IP packets can be sent"
	}
	ip := p.Data[p.NH:]
	switch {
	case p.NFProto == packet.NFProtoIPv4 && len(ip) >= 20:
		n, ihl := int(binary.BigEndian.Uint16(ip[2:])), int(ip[0]&15)*4
		if n > len(ip) || n < ihl || ihl < 20 || ip[0]>>4 != 4 {
			return "the IPv4 header cannot be sent as it is"
		}
		if ip[4] == 0 && ip[5] == 0 {
			ip[5] = 1
		}
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], packet.Checksum(ip[:ihl], 0))
		ip = ip[:n]
	case p.NFProto == packet.NFProtoIPv6 && len(ip) >= 40:
		n := 40 + int(binary.BigEndian.Uint16(ip[4:]))
		if n > len(ip) || ip[0]>>4 != 6 {
			return "the IPv6 header cannot be sent as it is"
		}
		ip = ip[:n]
	default:
		return "the IP header cannot be sent as it is"
	}
	var dst netip.Addr
	if p.NFProto == packet.NFProtoIPv4 {
		dst = netip.AddrFrom4([4]byte(ip[16:20]))
	} else {
		dst = netip.AddrFrom16([16]byte(ip[24:40]))
	}
	if dst.IsLoopback() || dst.IsMulticast() {
		return "a packet to this host or to a group comes in again"
	}
	reframe(p, packet.LinkRaw, ip)
	return ""
}

// reframe gives p other bytes and keeps what was stated about it.
func reframe(p *packet.Packet, lt packet.LinkType, data []byte) {
	stated, index, line, name := p.Stated, p.Index, p.Line, p.Name
	p.SetFrame(lt, data, len(data))
	p.Stated, p.Index, p.Line, p.Name = stated, index, line, name
}

// Verify runs one packet through both engines. p is changed: what it states is
// replaced by what the session gives it, and its bytes are mangled by the
// rules. An error means that the session is of no further use.
func (v *Verifier) Verify(p *packet.Packet, c *Comparison) error {
	c.Reason = c.Reason[:0]
	if why := v.prepare(p, c); why != "" {
		c.Status, c.Reason = NotVerifiable, append(c.Reason, why)
		return nil
	}
	p.Stated.Has |= packet.HasTime
	p.Stated.TimeNs = time.Now().UnixNano()
	if err := v.s.Inject(p, &c.Theirs); err != nil {
		if errors.Is(err, errRefused) {
			c.Status, c.Reason = NotVerifiable, append(c.Reason, err.Error())
			return nil
		}
		return err
	}
	v.engine.RunOptions(p, &c.Ours, eval.Options{Trace: true})
	v.compare(p, c)
	return nil
}

// Predict runs one packet through the evaluator alone, as Verify would; c.Theirs
// is not set. p is changed.
func (v *Verifier) Predict(p *packet.Packet, c *Comparison) {
	c.Reason = c.Reason[:0]
	if why := v.prepare(p, c); why != "" {
		c.Status, c.Reason = NotVerifiable, append(c.Reason, why)
		return
	}
	p.Stated.Has |= packet.HasTime
	p.Stated.TimeNs = time.Now().UnixNano()
	v.engine.RunOptions(p, &c.Ours, eval.Options{Trace: true})
	c.Status = Agree
	if c.Ours.Verdict == eval.Unknown {
		c.Status = NotKnown
	}
}

// compare judges the outcome of both.
func (v *Verifier) compare(p *packet.Packet, c *Comparison) {
	ours, theirs := &c.Ours, &c.Theirs
	if ours.Verdict == eval.Unknown || len(ours.Unknown) > 0 {
		c.Status = NotKnown
		for _, r := range ours.Unknown {
			c.Reason = append(c.Reason, r.Cause.String())
		}
		return
	}
	if v.cfg.Trip == TripOutput && ours.NAT.Changed && ours.NAT.NewDst.Addr().IsLoopback() {
		c.Status = NotKnown
		c.Reason = append(c.Reason, "a packet to this host or to a group comes in again")
		return
	}
	if ours.NAT.Random {
		c.Status = NotKnown
		c.Reason = append(c.Reason, "the kernel takes a port at random")
		return
	}
	c.Status = Agree
	differ := func(format string, args ...any) {
		c.Status = Differ
		c.Reason = append(c.Reason, fmt.Sprintf(format, args...))
	}
	if !samePath(ours.Trace, theirs.Events) {
		differ("paths differ")
	}
	switch byRules := ours.Verdict == eval.Drop && ours.By == eval.ByRule; {
	case byRules && !theirs.Dropped:
		differ("nftc says drop, the kernel %s", theirs.End())
	case ours.Verdict == eval.Accept && (theirs.Dropped || !theirs.Arrived):
		differ("nftc says accept, the kernel %s", theirs.End())
	case !byRules && ours.Verdict != eval.Accept && (theirs.Dropped || theirs.Arrived):
		differ("nftc says %v (%v), the kernel %s", ours.Verdict, endReason(ours), theirs.End())
	}
	if c.Status == Agree && !byRulesOrAccept(ours) {
		c.Status = AgreeStack
	}
	if c.Status != Agree || !theirs.Arrived || theirs.Dropped || p.NH < 0 {
		return
	}
	if theirs.Mark != ours.Mark && !ours.MarkUnknown {
		differ("mark is 0x%08x, in the kernel 0x%08x", ours.Mark, theirs.Mark)
	}
	if n := min(len(theirs.Network), len(p.Data)-p.NH); !bytes.Equal(p.Data[p.NH:p.NH+n], theirs.Network[:n]) {
		differ("network header is %x, in the kernel %x", p.Data[p.NH:p.NH+n], theirs.Network[:n])
	}
	if th := p.Info.TH; p.Info.L4Set && p.Info.FragOff == 0 && th >= 0 && th <= len(p.Data) {
		if n := min(len(theirs.Transport), len(p.Data)-th); !bytes.Equal(p.Data[th:th+n], theirs.Transport[:n]) {
			differ("transport header is %x, in the kernel %x", p.Data[th:th+n], theirs.Transport[:n])
		}
	}
}

func byRulesOrAccept(r *eval.Result) bool {
	return r.Verdict == eval.Accept || r.Verdict == eval.Drop && r.By == eval.ByRule
}

func endReason(r *eval.Result) string {
	if r.Verdict == eval.Stack {
		return r.Stack.String()
	}
	return r.By.String()
}

// End says how the trip ended in the kernel.
func (o *Outcome) End() string {
	switch {
	case o.Dropped:
		return "drops it"
	case o.Arrived:
		return "accepts it"
	case o.Entered:
		return "loses it in the network stack"
	}
	return "never shows it"
}

// samePath compares rules and policies in order. The ends of chains, for which
// the two have different words, follow from them.
func samePath(ours []eval.Event, theirs []Event) bool {
	i, j := 0, 0
	for {
		for i < len(ours) && ours[i].Kind != eval.EventRule && ours[i].Kind != eval.EventPolicy {
			i++
		}
		for j < len(theirs) && theirs[j].Rule == nil && !theirs[j].Policy {
			j++
		}
		if i == len(ours) || j == len(theirs) {
			return i == len(ours) && j == len(theirs)
		}
		a, b := &ours[i], &theirs[j]
		if a.Rule != b.Rule || a.Chain != b.Chain || (a.Kind == eval.EventPolicy) != b.Policy || a.Verdict != b.Verdict && !a.Stolen {
			return false
		}
		i, j = i+1, j+1
	}
}

// FormatEvent words an event as eval's trace does. source gives a rule's text.
func FormatEvent(ev *Event, source func(*bytecode.Rule) string) string {
	where := fmt.Sprintf("%v %s %s", ev.Table.Family, ev.Table.Name, eval.ChainName(ev.Chain))
	verdict := ev.Verdict.String()
	if ev.Jump != "" {
		verdict += " " + ev.Jump
	}
	switch {
	case ev.Policy:
		return fmt.Sprintf("%s policy %s", where, verdict)
	case ev.Rule == nil:
		return fmt.Sprintf("%s end of chain", where)
	}
	return fmt.Sprintf("%s rule %s (verdict %s)", where, source(ev.Rule), verdict)
}
