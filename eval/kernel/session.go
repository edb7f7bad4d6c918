//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// Session is a loaded ruleset in a namespace of its own. It lives on one
// thread: use it only inside the function given to Do.
type Session struct {
	cfg    Config
	devs   map[string]*device
	in     *device
	out    *device
	raw    *rawSockets
	trace  *traceSocket
	loaded *loaded
	mac    [6]byte
}

// Available reports whether this process can use the kernel: nil, or an error
// that wraps ErrUnavailable.
func Available() error {
	return Do(Config{}, &bytecode.Ruleset{}, func(*Session) error { return nil })
}

// Do makes a fresh network namespace, loads rs into it and calls f; the
// namespace ends with the call. The host's own namespace is never touched.
func Do(cfg Config, rs *bytecode.Ruleset, f func(*Session) error) error {
	done := make(chan error, 1)
	go func() {
		// Goexit while locked to the thread ends the thread.
		defer runtime.Goexit()
		done <- do(cfg, rs, f)
	}()
	return <-done
}

func do(cfg Config, rs *bytecode.Ruleset, f func(*Session) error) error {
	cfg = cfg.withDefaults()
	if err := enterNamespace(); err != nil {
		return err
	}
	s := &Session{cfg: cfg, devs: make(map[string]*device), mac: [6]byte{2, 0, 0, 0, 0, 1}}
	if cfg.Trip == TripBridge {
		s.mac = bridgePortMAC
	}
	defer s.close()
	if err := s.setup(rs); err != nil {
		return err
	}
	return f(s)
}

func (s *Session) close() {
	for _, d := range s.devs {
		unix.Close(d.fd)
	}
	if s.raw != nil {
		s.raw.close()
	}
	if s.trace != nil {
		s.trace.close()
	}
}

// setup makes devices, routes and guard, and loads the ruleset.
func (s *Session) setup(rs *bytecode.Ruleset) error {
	names := []string{s.cfg.In, s.cfg.Out}
	for _, t := range rs.Tables {
		for _, ch := range t.Chains {
			if ch.Base != nil {
				names = append(names, ch.Base.Devices...)
			}
		}
		for _, ft := range t.Flowtables {
			names = append(names, ft.Devices...)
		}
	}
	var indexed []string
	for n := range s.cfg.Indexes {
		indexed = append(indexed, n)
	}
	sort.Strings(indexed)
	names = append(indexed, names...)
	for _, n := range names {
		if n == "lo" || s.devs[n] != nil || strings.HasSuffix(n, "*") {
			continue
		}
		d, err := newDevice(n, s.cfg.TUN, s.mac, s.cfg.Indexes[n])
		if err != nil {
			return err
		}
		s.devs[n] = d
	}
	s.in, s.out = s.devs[s.cfg.In], s.devs[s.cfg.Out]
	if s.in == nil || s.out == nil {
		return fmt.Errorf("kernel: packets cannot come in by %q and leave by %q", s.cfg.In, s.cfg.Out)
	}
	if !s.out.tun && s.out != s.in {
		if err := s.out.arpOff(); err != nil {
			return err
		}
	}
	if s.cfg.Trip != TripBridge && !s.cfg.TUN {
		for i, d := range []*device{s.in, s.out} {
			for _, a := range deviceAddrs[i] {
				if err := d.addAddress(a); err != nil {
					return err
				}
			}
		}
	}
	if s.cfg.Trip == TripBridge {
		if err := bridge(s.in, s.out); err != nil {
			return err
		}
	} else if err := routes(s.cfg.Trip, []*device{s.in}, s.out); err != nil {
		return err
	}
	g, err := Encode(guard([]string{s.cfg.In}, []string{s.cfg.Out}))
	if err != nil {
		return err
	}
	if err := load(g, nil); err != nil {
		return fmt.Errorf("%w: guard: %w", ErrUnavailable, err)
	}
	if s.trace, err = openTrace(); err != nil {
		return err
	}
	if s.cfg.Trip == TripBridge {
		if err := s.awaitForwarding(); err != nil {
			return err
		}
	}
	ms, err := Encode(rs)
	if err != nil {
		return err
	}
	if err := load(ms, rs.Files); err != nil {
		return err
	}
	if !s.cfg.ConntrackChecksum {
		// The file is there once connection tracking is.
		if err := sysctl("netfilter/nf_conntrack_checksum", "0"); err != nil {
			return err
		}
	}
	if s.loaded, err = readHandles(rs); err != nil {
		return err
	}
	if s.cfg.Trip == TripOutput {
		if s.raw, err = openRaw(); err != nil {
			return err
		}
	}
	return nil
}

// Interfaces are the devices of the namespace, for the evaluator to know.
func (s *Session) Interfaces() []Interface {
	out := []Interface{{Name: "lo", Index: 1, Loopback: true, MTU: 65536}}
	for _, d := range s.devs {
		out = append(out, Interface{Name: d.name, Index: uint32(d.index), TUN: d.tun, MTU: mtu, MAC: d.mac})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Index < out[j].Index })
	return out
}

// awaitForwarding sends frames through the bridge until one passes: the ports
// start to forward when their carrier has been noticed, which happens on a work
// queue (linkwatch).
func (s *Session) awaitForwarding() error {
	probe := make([]byte, 60)
	copy(probe, []byte{2, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 9, 0x88, 0xb5}) // a local experimental ethertype
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if err := s.in.write(probe); err != nil {
			return err
		}
		passed := false
		if err := s.trace.drain(func(ev *traceEvent) { passed = passed || string(ev.chain) == "post" }); err != nil {
			return err
		}
		if passed {
			return nil
		}
	}
	return fmt.Errorf("%w: the bridge does not forward", ErrUnavailable)
}

// Inject sends one packet on the session's trip and reads what became of it.
// The packet itself is not changed.
func (s *Session) Inject(p *packet.Packet, out *Outcome) error {
	*out = Outcome{Events: out.Events[:0], Network: out.Network[:0], Transport: out.Transport[:0]}
	if err := s.trace.drain(func(*traceEvent) {}); err != nil {
		return err
	}
	if err := s.send(p); err != nil {
		return err
	}
	var bad error
	err := s.trace.drain(func(ev *traceEvent) {
		if e := s.record(ev, out); e != nil && bad == nil {
			bad = e
		}
	})
	return errors.Join(err, bad)
}

// send brings the packet in by the way of the trip.
func (s *Session) send(p *packet.Packet) error {
	if err := s.Injectable(p); err != nil {
		return err
	}
	if s.cfg.Trip == TripOutput {
		return s.raw.send(p.Data[p.NH:])
	}
	if s.in.tun {
		return s.in.write(p.Data[p.NH:])
	}
	frame := p.Data
	if p.LinkType != packet.LinkEthernet {
		frame = make([]byte, 0, 14+len(p.Data)-p.NH)
		frame = append(frame, s.in.mac[:]...)
		frame = append(frame, 2, 0, 0, 0, 0, 9)
		frame = binary.BigEndian.AppendUint16(frame, p.EtherType)
		frame = append(frame, p.Data[p.NH:]...)
	}
	// A unicast frame for another host goes no further than ingress.
	if to := [6]byte(frame[:6]); to[0]&1 == 0 && to != s.in.mac && s.cfg.Trip != TripBridge {
		if err := s.in.setMAC(to); err != nil {
			return err
		}
	}
	return s.in.write(frame)
}

var (
	errNotIP    = errors.New("kernel: this packet has no network header to inject")
	errOwn      = errors.New("kernel: packets between loopback addresses are taken from this host's own output only")
	errTooShort = errors.New("kernel: this packet is shorter than an Ethernet header")
)

// Injectable tells whether Inject can bring a packet in; if not, why.
func (s *Session) Injectable(p *packet.Packet) error {
	switch {
	case s.cfg.Trip != TripOutput && p.Stated.Has&packet.HasIifName != 0 && p.Stated.IifName == "lo" && hasLoopback(p):
		return errOwn
	case (s.cfg.Trip == TripOutput || s.in.tun) && !p.HasIP():
		return errNotIP
	case p.LinkType == packet.LinkEthernet && len(p.Data) < 14:
		return errTooShort
	case p.LinkType != packet.LinkEthernet && p.NH < 0:
		return errNotIP
	}
	return nil
}

// hasLoopback tells whether the source or the destination is a loopback
// address, which the kernel takes from its own output only
// (ip_route_input_slow, ip6_rcv_core).
func hasLoopback(p *packet.Packet) bool {
	off, n := 12, 4
	if p.NFProto == packet.NFProtoIPv6 {
		off, n = 8, 16
	}
	h, a := p.Slice(packet.BaseNetwork, off, 2*n)
	if a != packet.None {
		return false
	}
	src, _ := netip.AddrFromSlice(h[:n])
	dst, _ := netip.AddrFromSlice(h[n:])
	return src.IsLoopback() || dst.IsLoopback()
}

// isFragment tells whether an IP header is that of a fragment.
func isFragment(h []byte) bool {
	if len(h) < 20 {
		return false
	}
	return h[0]>>4 == 4 && binary.BigEndian.Uint16(h[6:])&0x3fff != 0 || h[0]>>4 == 6 && h[6] == packet.ProtoFragment
}

// record files one trace message.
func (s *Session) record(ev *traceEvent, out *Outcome) error {
	if ev.hasCT {
		out.HasCT, out.CTState = true, ev.ctState
	}
	if string(ev.table) == guardTable {
		switch name := string(ev.chain); {
		case name == "sink" || name == "post" || strings.HasPrefix(name, "out") && ev.family == bytecode.FamilyNetdev:
			if ev.typ == traceRule && strings.HasPrefix(name, "out") {
				if isFragment(ev.network) && len(out.Network) >= 20 && !isFragment(out.Network) {
					return nil // the stack may have made it
				}
			}
			if ev.typ == traceRule {
				out.Arrived = true
				out.Network = append(out.Network[:0], ev.network...)
				out.Transport = append(out.Transport[:0], ev.trans...)
				out.Mark = ev.mark
			}
		default:
			out.Entered = true
		}
		return nil
	}
	lt := s.loaded.tables[tableKey{ev.family, string(ev.table)}]
	if lt == nil {
		return fmt.Errorf("kernel: trace message for unknown table %s", ev.table)
	}
	e := Event{Family: ev.family, Table: lt.table, Chain: lt.chains[string(ev.chain)]}
	if e.Chain == nil {
		return fmt.Errorf("kernel: trace message for unknown chain %s", ev.chain)
	}
	switch ev.typ {
	case tracePolicy:
		e.Policy, e.Verdict = true, ev.policy
	case traceRule, traceReturn:
		e.Verdict, e.Jump = ev.verdict, string(ev.jump)
		if ev.handle != 0 {
			if e.Rule = lt.rules[ev.handle]; e.Rule == nil {
				return fmt.Errorf("kernel: trace message for unknown rule handle %d in chain %s", ev.handle, ev.chain)
			}
		}
	}
	if (e.Policy || e.Rule != nil) && e.Verdict == bytecode.Drop {
		out.Dropped = true
	}
	out.Events = append(out.Events, e)
	return nil
}
