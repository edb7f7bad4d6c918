package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"sort"
	"strconv"
)

// RouteType is RTN_*, what `fib ... type` yields.
type RouteType uint8

const (
	RouteUnspec      RouteType = 0
	RouteUnicast     RouteType = 1
	RouteLocal       RouteType = 2
	RouteBroadcast   RouteType = 3
	RouteAnycast     RouteType = 4
	RouteMulticast   RouteType = 5
	RouteBlackhole   RouteType = 6
	RouteUnreachable RouteType = 7
	RouteProhibit    RouteType = 8
	RouteThrow       RouteType = 9
)

var routeTypeNames = [...]string{"unspec", "unicast", "local", "broadcast", "anycast", "multicast",
	"blackhole", "unreachable", "prohibit", "throw"}

func (t RouteType) String() string {
	if int(t) < len(routeTypeNames) {
		return routeTypeNames[t]
	}
	return "invalid"
}

// Route is one entry of the local or main routing table.
type Route struct {
	Dst     netip.Prefix
	Type    RouteType
	Gateway netip.Addr // invalid: directly connected
	Dev     string
	Metric  uint32
	MTU     int
	Realm   uint32
	// Policy marks a route that a routing rule for received packets finds in a
	// table of its own: packets follow it, fib does not see it.
	Policy bool
	order  int
}

// Host is what routing decides with: addresses, interfaces and routes of the
// host whose ruleset it is. Policy routing and tables other than local and
// main are not modelled.
type Host struct {
	Interfaces []Interface
	Addresses  []HostAddr
	// Forwarding4 and Forwarding6 tell whether the host forwards packets.
	Forwarding4, Forwarding6 bool

	// Groups are multicast groups that the host has joined beside those that
	// every host is in.
	Groups []netip.Addr

	routes [2][]Route // IPv4, IPv6: by prefix length descending, then metric
}

// HostAddr is an address of an interface.
type HostAddr struct {
	Dev    string
	Prefix netip.Prefix // address with its network's length
	Brd    netip.Addr   // broadcast address; invalid when there is none
	Scope  string       // global, link, host, site
}

type jsonLink struct {
	Index    uint32          `json:"ifindex"`
	Name     string          `json:"ifname"`
	MTU      int             `json:"mtu"`
	Group    json.RawMessage `json:"group"`
	LinkType string          `json:"link_type"`
	Address  string          `json:"address"`
	Master   string          `json:"master"`
	Link     string          `json:"link"`
	LinkInfo *struct {
		Kind string `json:"info_kind"`
		Data struct {
			ID uint16 `json:"id"`
		} `json:"info_data"`
	} `json:"linkinfo"`
	AddrInfo []struct {
		Family    string `json:"family"`
		Local     string `json:"local"`
		Address   string `json:"address"`
		PrefixLen int    `json:"prefixlen"`
		Broadcast string `json:"broadcast"`
		Scope     string `json:"scope"`
	} `json:"addr_info"`
}

type jsonRoute struct {
	Type    string          `json:"type"`
	Dst     string          `json:"dst"`
	Gateway string          `json:"gateway"`
	Via     *jsonVia        `json:"via"`
	Dev     string          `json:"dev"`
	Table   json.RawMessage `json:"table"`
	Metric  uint32          `json:"metric"`
	Metrics []struct {
		MTU int `json:"mtu"`
	} `json:"metrics"`
	Nexthops []struct {
		Gateway string   `json:"gateway"`
		Via     *jsonVia `json:"via"`
		Dev     string   `json:"dev"`
	} `json:"nexthops"`
}

type jsonVia struct {
	Host string `json:"host"`
}

// arphrd maps iproute2's link types to ARPHRD_*.
var arphrd = map[string]uint16{
	"ether": 1, "loopback": 772, "none": 65534, "ppp": 512, "tunnel": 768, "tunnel6": 769,
	"sit": 776, "gre": 778, "gre6": 823, "ieee802.11": 801, "infiniband": 32, "can": 280, "slip": 256,
	"ieee802.11/radiotap": 803, "ieee802.15.4": 804, "netlink": 824, "vsockmon": 826, "rawip": 519,
}

// ParseHost reads what `ip -j addr`, `ip -j link` and `ip -j route` (also `ip
// -j -6 route`, `... show table all`) print: each argument is the JSON of one
// of them, in any order. Forwarding is taken as on.
func ParseHost(docs ...[]byte) (*Host, error) {
	h := &Host{Forwarding4: true, Forwarding6: true}
	for n, doc := range docs {
		var probe []map[string]json.RawMessage
		if err := json.Unmarshal(doc, &probe); err != nil {
			return nil, fmt.Errorf("host model: document %d: %w", n+1, err)
		}
		if len(probe) == 0 {
			continue
		}
		var err error
		if _, link := probe[0]["ifname"]; link {
			err = h.addLinks(doc)
		} else if _, route := probe[0]["dst"]; route {
			err = h.addRoutes(doc)
		} else {
			err = fmt.Errorf("neither interfaces (ifname) nor routes (dst)")
		}
		if err != nil {
			return nil, fmt.Errorf("host model: document %d: %w", n+1, err)
		}
	}
	h.finish()
	return h, nil
}

func (h *Host) addLinks(doc []byte) error {
	var links []jsonLink
	if err := json.Unmarshal(doc, &links); err != nil {
		return err
	}
	for _, l := range links {
		if l.Name == "" {
			continue
		}
		i := h.iface(l.Name)
		if i == nil {
			h.Interfaces = append(h.Interfaces, Interface{Name: l.Name})
			i = &h.Interfaces[len(h.Interfaces)-1]
		}
		i.Index, i.MTU = l.Index, l.MTU
		if l.Master != "" {
			i.Master = l.Master
		}
		if t, ok := arphrd[l.LinkType]; ok {
			i.Type, i.HasType = t, true
		}
		if len(l.Group) > 0 {
			s := string(l.Group)
			if u, err := strconv.Unquote(s); err == nil {
				s = u
			}
			if s == "default" {
				i.HasGroup = true
			} else if g, err := strconv.ParseUint(s, 0, 32); err == nil {
				i.Group, i.HasGroup = uint32(g), true
			}
		}
		if l.LinkInfo != nil {
			i.Kind, i.HasKind = l.LinkInfo.Kind, true
			if i.Kind == "vlan" {
				i.Link, i.VLANID = l.Link, l.LinkInfo.Data.ID
			}
		}
		if m, ok := parseMAC(l.Address); ok {
			i.MAC, i.HasMAC = m, true
		}
		for _, a := range l.AddrInfo {
			addr, err := netip.ParseAddr(a.Local)
			if err != nil {
				return fmt.Errorf("address %q of %s: %w", a.Local, l.Name, err)
			}
			p := netip.PrefixFrom(addr, a.PrefixLen)
			if !p.IsValid() {
				return fmt.Errorf("address %s/%d of %s: bad prefix length", a.Local, a.PrefixLen, l.Name)
			}
			ha := HostAddr{Dev: l.Name, Prefix: p, Scope: a.Scope}
			if b, err := netip.ParseAddr(a.Broadcast); err == nil {
				ha.Brd = b
			}
			if !h.hasAddr(ha) {
				h.Addresses = append(h.Addresses, ha)
			}
		}
	}
	return nil
}

func (h *Host) hasAddr(a HostAddr) bool {
	for _, o := range h.Addresses {
		if o == a {
			return true
		}
	}
	return false
}

func (h *Host) iface(name string) *Interface {
	for i := range h.Interfaces {
		if h.Interfaces[i].Name == name {
			return &h.Interfaces[i]
		}
	}
	return nil
}

func parseMAC(s string) (m [6]byte, ok bool) {
	if len(s) != 17 {
		return m, false
	}
	for i := range m {
		v, err := strconv.ParseUint(s[i*3:i*3+2], 16, 8)
		if err != nil || i < 5 && s[i*3+2] != ':' {
			return m, false
		}
		m[i] = byte(v)
	}
	return m, true
}

func (h *Host) addRoutes(doc []byte) error {
	var routes []jsonRoute
	if err := json.Unmarshal(doc, &routes); err != nil {
		return err
	}
	for _, r := range routes {
		if t := string(r.Table); t != "" && t != `"main"` && t != `"local"` && t != "254" && t != "255" {
			continue
		}
		out := Route{Dev: r.Dev, Metric: r.Metric, Type: RouteUnicast}
		gw, via := r.Gateway, r.Via
		if out.Dev == "" && len(r.Nexthops) > 0 {
			out.Dev, gw, via = r.Nexthops[0].Dev, r.Nexthops[0].Gateway, r.Nexthops[0].Via
		}
		if via != nil && gw == "" {
			gw = via.Host
		}
		if gw != "" {
			a, err := netip.ParseAddr(gw)
			if err != nil {
				return fmt.Errorf("gateway %q: %w", gw, err)
			}
			out.Gateway = a
		}
		for k, n := range routeTypeNames {
			if r.Type == n && k > 0 {
				out.Type = RouteType(k)
			}
		}
		for _, m := range r.Metrics {
			if m.MTU != 0 {
				out.MTU = m.MTU
			}
		}
		if r.Dst == "default" {
			// Which family is told by the gateway, or else by a metric, which
			// IPv6 routes always have.
			if out.Gateway.Is6() || !out.Gateway.IsValid() && r.Metric >= 256 && r.Metric%256 == 0 {
				out.Dst = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
			} else {
				out.Dst = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
			}
		} else if p, err := netip.ParsePrefix(r.Dst); err == nil {
			out.Dst = p.Masked()
		} else if a, err := netip.ParseAddr(r.Dst); err == nil {
			out.Dst = netip.PrefixFrom(a, a.BitLen())
		} else {
			return fmt.Errorf("destination %q: neither an address nor a prefix", r.Dst)
		}
		h.AddRoute(out)
	}
	return nil
}

// AddRoute adds a route; call Finish-like methods are not needed, lookups sort
// on first use.
func (h *Host) AddRoute(r Route) {
	f := 0
	if r.Dst.Addr().Is6() {
		f = 1
	}
	r.order = len(h.routes[f])
	h.routes[f] = append(h.routes[f], r)
}

// finish adds the local table's routes that follow from addresses, and sorts.
func (h *Host) finish() {
	loopback := h.iface("lo")
	for _, a := range h.Addresses {
		addr := a.Prefix.Addr()
		h.AddRoute(Route{Dst: netip.PrefixFrom(addr, addr.BitLen()), Type: RouteLocal, Dev: a.Dev})
		if a.Brd.IsValid() && a.Brd.Is4() {
			h.AddRoute(Route{Dst: netip.PrefixFrom(a.Brd, 32), Type: RouteBroadcast, Dev: a.Dev})
		}
		if addr.IsLoopback() && addr.Is4() {
			h.AddRoute(Route{Dst: a.Prefix.Masked(), Type: RouteLocal, Dev: a.Dev})
		}
	}
	if loopback == nil && len(h.Interfaces) > 0 {
		h.AddRoute(Route{Dst: netip.MustParsePrefix("127.0.0.0/8"), Type: RouteLocal, Dev: "lo"})
		h.AddRoute(Route{Dst: netip.MustParsePrefix("::1/128"), Type: RouteLocal, Dev: "lo"})
	}
	for f := range h.routes {
		rs := h.routes[f]
		sort.SliceStable(rs, func(i, j int) bool {
			a, b := &rs[i], &rs[j]
			if la, lb := localFirst(a), localFirst(b); la != lb {
				return la // the local table is asked first
			}
			if a.Dst.Bits() != b.Dst.Bits() {
				return a.Dst.Bits() > b.Dst.Bits()
			}
			return a.Metric < b.Metric
		})
	}
}

func localFirst(r *Route) bool {
	return r.Type == RouteLocal || r.Type == RouteBroadcast || r.Type == RouteAnycast
}

// Lookup finds the route to an address (fib_lookup with the rules local and
// main); ok is false when there is none.
func (h *Host) Lookup(a netip.Addr) (*Route, bool) {
	a = a.Unmap()
	f := 0
	if a.Is6() {
		f = 1
	}
	for i := range h.routes[f] {
		if r := &h.routes[f][i]; r.Dst.Contains(a) {
			return r, true
		}
	}
	return nil, false
}

// lookupFib is Lookup without the routes of rules for received packets: fib
// asks as for a packet of the host's own (flowi4_iif is the loopback device).
func (h *Host) lookupFib(a netip.Addr) (*Route, bool) {
	f := 0
	if a.Is6() {
		f = 1
	}
	for i := range h.routes[f] {
		if r := &h.routes[f][i]; !r.Policy && r.Dst.Contains(a) {
			return r, true
		}
	}
	return nil, false
}

// lookupOn is Lookup among the routes by one device.
func (h *Host) lookupOn(a netip.Addr, dev string) (*Route, bool) {
	f := 0
	if a.Is6() {
		f = 1
	}
	for i := range h.routes[f] {
		if r := &h.routes[f][i]; r.Dev == dev && !r.Policy && r.Dst.Contains(a) {
			return r, true
		}
	}
	return nil, false
}

// AddrType is inet_addr_type for IPv4: what kind of destination an address is,
// on a device or, with dev empty, on any.
func (h *Host) AddrType(a netip.Addr, dev string) RouteType {
	if t, ok := specialAddr(a); ok {
		return t
	}
	for i := range h.routes[0] {
		r := &h.routes[0][i]
		if localFirst(r) && !r.Policy && r.Dst.Contains(a) {
			if dev == "" || r.Dev == dev {
				return r.Type
			}
			return RouteUnicast
		}
	}
	return RouteUnicast
}

// specialAddr gives the types that do not depend on the host.
func specialAddr(a netip.Addr) (RouteType, bool) {
	if a.Is4() {
		b := a.As4()
		switch {
		case b[0] == 0, b == [4]byte{255, 255, 255, 255}:
			return RouteBroadcast, true
		case b[0]>>4 == 0xe:
			return RouteMulticast, true
		}
		return 0, false
	}
	if a.IsMulticast() {
		return RouteMulticast, true
	}
	return 0, false
}

// PrimaryAddr is the address that masquerade and redirect take of a device
// (inet_select_addr): the first with global scope for IPv4, for IPv6 a global
// one.
func (h *Host) PrimaryAddr(dev string, v6 bool) (netip.Addr, bool) {
	for _, a := range h.Addresses {
		if a.Dev == dev && a.Prefix.Addr().Is6() == v6 && a.Scope != "link" && a.Scope != "host" {
			return a.Prefix.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// mtuOf is the route's or its device's MTU in bytes; MaxInt when not known.
func (h *Host) mtuOf(r *Route) int {
	if r.MTU != 0 {
		return r.MTU
	}
	if i := h.iface(r.Dev); i != nil && i.MTU != 0 {
		return i.MTU
	}
	return math.MaxInt
}

// hasVLANs tells whether the host has VLAN devices; without one, tagged packets
// go no further than ingress (vlan_do_receive).
func (h *Host) hasVLANs() bool {
	for i := range h.Interfaces {
		if h.Interfaces[i].Kind == "vlan" || !h.Interfaces[i].HasKind && h.Interfaces[i].Type != 772 {
			return true
		}
	}
	return false
}

// member tells whether the host is in a multicast group: all systems and, when
// it forwards, all routers (ip_mc_init_dev, ipv6_add_dev, dev_forward_change),
// the solicited-node groups of its addresses, and Groups.
func (h *Host) member(a netip.Addr) bool {
	for _, g := range h.Groups {
		if g == a {
			return true
		}
	}
	switch a {
	case netip.AddrFrom4([4]byte{224, 0, 0, 1}), netip.MustParseAddr("ff01::1"), netip.MustParseAddr("ff02::1"):
		return true
	case netip.MustParseAddr("ff01::2"), netip.MustParseAddr("ff02::2"), netip.MustParseAddr("ff05::2"):
		return h.Forwarding6
	}
	if !a.Is6() {
		return false
	}
	b := a.As16()
	for _, x := range h.Addresses {
		if own := x.Prefix.Addr(); own.Is6() {
			o := own.As16()
			if b == [16]byte{0xff, 2, 11: 1, 12: 0xff, 13: o[13], 14: o[14], 15: o[15]} {
				return true
			}
		}
	}
	return false
}
