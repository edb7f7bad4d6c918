package ir

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// Names that nft takes from the machine's databases. nftc has them built in,
// as Debian ships them, so that a file means the same everywhere.

//go:embed services.txt
var servicesText string

//go:embed protocols.txt
var protocolsText string

// nameTable is a two-way table of names and numbers.
type nameTable struct {
	numbers map[string]uint32
	names   map[uint32]string
}

func (t *nameTable) add(name string, n uint32) {
	if _, dup := t.numbers[name]; !dup {
		t.numbers[name] = n
	}
	if _, dup := t.names[n]; !dup {
		t.names[n] = name
	}
}

func (t *nameTable) alias(name string, n uint32) {
	if _, dup := t.numbers[name]; !dup {
		t.numbers[name] = n
	}
}

// parseNameTable reads lines of `name number[/proto] aliases…`.
func parseNameTable(text string) *nameTable {
	t := &nameTable{numbers: make(map[string]uint32), names: make(map[uint32]string)}
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 2 || f[0][0] == '#' {
			continue
		}
		num, _, _ := strings.Cut(f[1], "/")
		n, err := strconv.ParseUint(num, 10, 32)
		if err != nil {
			continue
		}
		t.add(f[0], uint32(n))
		for _, a := range f[2:] {
			t.alias(a, uint32(n))
		}
	}
	return t
}

var (
	services  = sync.OnceValue(func() *nameTable { return parseNameTable(servicesText) })
	protocols = sync.OnceValue(func() *nameTable { return parseNameTable(protocolsText) })
)

// ServiceName returns the first name of a port; "" when it has none.
func ServiceName(port uint16) string { return services().names[uint32(port)] }

// ServiceByName returns the port of a service name or alias.
func ServiceByName(name string) (uint16, bool) {
	n, ok := services().numbers[name]
	return uint16(n), ok
}

// ProtocolName returns the first name of an IP protocol number; "" when it has
// none.
func ProtocolName(proto uint8) string { return protocols().names[uint32(proto)] }

// ProtocolByName returns the number of an IP protocol's name or alias.
func ProtocolByName(name string) (uint8, bool) {
	n, ok := protocols().numbers[name]
	return uint8(n), ok
}

// Users and groups that every Debian system has (base-passwd).
var userNames = []SymbolValue{
	{"root", 0}, {"daemon", 1}, {"bin", 2}, {"sys", 3}, {"sync", 4}, {"games", 5},
	{"man", 6}, {"lp", 7}, {"mail", 8}, {"news", 9}, {"uucp", 10}, {"proxy", 13},
	{"www-data", 33}, {"backup", 34}, {"list", 38}, {"irc", 39}, {"_apt", 42}, {"nobody", 65534},
}

var groupNames = []SymbolValue{
	{"root", 0}, {"daemon", 1}, {"bin", 2}, {"sys", 3}, {"adm", 4}, {"tty", 5}, {"disk", 6},
	{"lp", 7}, {"mail", 8}, {"news", 9}, {"uucp", 10}, {"man", 12}, {"proxy", 13}, {"kmem", 15},
	{"dialout", 20}, {"fax", 21}, {"voice", 22}, {"cdrom", 24}, {"floppy", 25}, {"tape", 26},
	{"sudo", 27}, {"audio", 29}, {"dip", 30}, {"www-data", 33}, {"backup", 34}, {"operator", 37},
	{"list", 38}, {"irc", 39}, {"src", 40}, {"shadow", 42}, {"utmp", 43}, {"video", 44},
	{"sasl", 45}, {"plugdev", 46}, {"staff", 50}, {"games", 60}, {"users", 100}, {"nogroup", 65534},
}

func lookupName(list []SymbolValue, name string) (uint64, bool) {
	for i := range list {
		if list[i].Name == name {
			return list[i].Value, true
		}
	}
	return 0, false
}
