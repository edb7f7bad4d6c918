package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/nftc/nftc/eval"
	"github.com/nftc/nftc/eval/packet"
)

// packetFlags name packets and say what the captures do not.
type packetFlags struct {
	Pcap   []string `sep:"none" placeholder:"FILE" help:"Capture: pcap or pcapng, also gzip; - is standard input; may be repeated."`
	Tuples []string `sep:"none" placeholder:"FILE" help:"Packets as text: notation, CSV or JSON Lines (docs/notation.md); may be repeated."`
	Iif    string   `placeholder:"NAME" help:"Incoming interface of packets that do not state one."`
	Oif    string   `placeholder:"NAME" help:"Outgoing interface of packets that do not state one."`
	Hook   string   `xor:"path" placeholder:"NAME" help:"Run this hook for packets that state none."`
	Path   string   `xor:"path" placeholder:"NAMES" help:"Run these hooks, separated by commas, for packets that state none."`
}

// input is one source of packets.
type input struct {
	name string
	kind packet.Kind
}

func (f *packetFlags) inputs() []input {
	var out []input
	for _, n := range f.Pcap {
		out = append(out, input{n, packet.KindCapture})
	}
	for _, n := range f.Tuples {
		out = append(out, input{n, packet.KindTuples})
	}
	return out
}

// defaults are what packets state when they do not say otherwise.
type defaults struct {
	packet.Stated
	// host, if any, tells packets that it sends: they have no incoming
	// interface.
	host *eval.Host
}

func (f *packetFlags) defaults(host *eval.Host) (*defaults, error) {
	st := &defaults{host: host}
	if f.Iif != "" {
		st.Has, st.IifName = st.Has|packet.HasIifName, f.Iif
	}
	if f.Oif != "" {
		st.Has, st.OifName = st.Has|packet.HasOifName, f.Oif
	}
	for _, name := range strings.FieldsFunc(f.Hook+","+f.Path, func(r rune) bool { return r == ',' }) {
		h, ok := packet.ParseHook(name)
		if !ok {
			return nil, usageError{fmt.Sprintf("unknown hook %q, expected prerouting, input, forward, output, postrouting, ingress or egress", name)}
		}
		if st.PathLen == packet.MaxPath {
			return nil, usageError{fmt.Sprintf("a path has at most %d hooks", packet.MaxPath)}
		}
		st.Path[st.PathLen] = h
		st.PathLen++
	}
	return st, nil
}

// apply states the defaults where a packet does not say otherwise.
func (d *defaults) apply(p *packet.Packet) {
	st := &p.Stated
	missing := d.Has &^ st.Has
	if missing&packet.HasIifName != 0 && st.Has&packet.HasIif == 0 && !d.sends(p) {
		st.Has, st.IifName = st.Has|packet.HasIifName, d.IifName
	}
	if missing&packet.HasOifName != 0 && st.Has&packet.HasOif == 0 {
		st.Has, st.OifName = st.Has|packet.HasOifName, d.OifName
	}
	if st.PathLen == 0 {
		st.Path, st.PathLen = d.Path, d.PathLen
	}
}

// sends tells whether the packet comes from an address of the host.
func (d *defaults) sends(p *packet.Packet) bool {
	if d.host == nil || !p.HasIP() {
		return false
	}
	src, _ := addresses(p)
	return src.IsValid() && d.host.AddrType(src, "") == eval.RouteLocal
}

// stdinOnce gives standard input to the source called "-", once.
func (a *app) stdinOnce(name string) io.Reader {
	if name != "-" || a.stdinUsed {
		return nil
	}
	a.stdinUsed = true
	return a.stdin
}

// hostFlags describe the host whose ruleset it is.
type hostFlags struct {
	Host     []string `name:"host" aliases:"addr,route,link" sep:"none" placeholder:"FILE" help:"Host model: the output of 'ip -j addr', 'ip -j route' or 'ip -j link'; may be repeated, also as --addr, --route and --link."`
	HostAddr []string `name:"host-addr" placeholder:"ADDR[/LEN][@DEV]" help:"Address of the host, in place of a host model: other addresses are then reached through DEV; may be repeated."`
	Forward  bool     `name:"forward" negatable:"" default:"true" help:"Whether the host forwards packets."`
}

// env is the environment that the flags describe.
func (f *hostFlags) env(a *app) (*eval.Env, error) {
	env := new(eval.Env)
	for name, index := range a.global.Iface {
		env.Interfaces = append(env.Interfaces, eval.Interface{Name: name, Index: index})
	}
	if len(f.Host)+len(f.HostAddr) == 0 {
		return env, nil // nothing is known of the host
	}
	var docs [][]byte
	for _, name := range f.Host {
		doc, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	for _, s := range f.HostAddr {
		doc, err := addressJSON(s)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	host, err := eval.ParseHost(docs...)
	if err != nil {
		return nil, usageError{err.Error()}
	}
	if len(f.Host) == 0 {
		// Addresses alone: everything else is reached through the first device.
		dev := host.Interfaces[0].Name
		host.AddRoute(eval.Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Type: eval.RouteUnicast, Dev: dev})
		host.AddRoute(eval.Route{Dst: netip.MustParsePrefix("::/0"), Type: eval.RouteUnicast, Dev: dev})
	}
	host.Forwarding4, host.Forwarding6 = f.Forward, f.Forward
	env.Host = host
	return env, nil
}

// addressJSON writes one address of --host-addr as `ip -j addr` would.
func addressJSON(s string) ([]byte, error) {
	addr, dev, ok := strings.Cut(s, "@")
	if !ok {
		dev = "eth0"
	}
	prefix, err := netip.ParsePrefix(addr)
	if err != nil {
		a, err := netip.ParseAddr(addr)
		if err != nil {
			return nil, usageError{fmt.Sprintf("--host-addr: %q is not an address", addr)}
		}
		prefix = netip.PrefixFrom(a, a.BitLen())
	}
	family := "inet"
	if prefix.Addr().Is6() {
		family = "inet6"
	}
	return fmt.Appendf(nil, `[{"ifname":%q,"addr_info":[{"family":%q,"local":%q,"prefixlen":%d,"scope":"global"}]}]`,
		dev, family, prefix.Addr(), prefix.Bits()), nil
}
