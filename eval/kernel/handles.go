//go:build linux

package kernel

import (
	"fmt"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/nftc/nftc/compile/bytecode"
)

// tableKey names a table.
type tableKey struct {
	family bytecode.Family
	name   string
}

// loaded finds what trace messages name: chains by their name in the kernel,
// rules by handle.
type loaded struct {
	tables map[tableKey]*loadedTable
}

type loadedTable struct {
	table  *bytecode.Table
	chains map[string]*bytecode.Chain
	rules  map[uint64]*bytecode.Rule
}

// readHandles reads the chains and rules back and pairs them with what was
// loaded: the kernel lists chains and rules in the order in which they were
// added. Anonymous chains have names of the kernel's making (__chain%llu).
func readHandles(rs *bytecode.Ruleset) (*loaded, error) {
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: netlink: %w", ErrUnavailable, err)
	}
	defer c.Close()
	out := &loaded{tables: make(map[tableKey]*loadedTable)}
	anon := make(map[tableKey][]*bytecode.Chain)
	for _, t := range rs.Tables {
		k := tableKey{t.Family, t.Name}
		lt := &loadedTable{table: t, chains: make(map[string]*bytecode.Chain), rules: make(map[uint64]*bytecode.Rule)}
		for _, ch := range t.Chains {
			if ch.ID != 0 {
				anon[k] = append(anon[k], ch)
				continue
			}
			lt.chains[ch.Name] = ch
		}
		out.tables[k] = lt
	}
	err = dump(c, unix.NFT_MSG_GETCHAIN, func(family bytecode.Family, a map[uint16][]byte) error {
		k := tableKey{family, string(cstring(a[unix.NFTA_CHAIN_TABLE]))}
		name := string(cstring(a[unix.NFTA_CHAIN_NAME]))
		if lt := out.tables[k]; lt != nil && strings.HasPrefix(name, "__chain") && lt.chains[name] == nil && len(anon[k]) > 0 {
			lt.chains[name], anon[k] = anon[k][0], anon[k][1:]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	next := make(map[*bytecode.Chain]int)
	err = dump(c, unix.NFT_MSG_GETRULE, func(family bytecode.Family, a map[uint16][]byte) error {
		lt := out.tables[tableKey{family, string(cstring(a[unix.NFTA_RULE_TABLE]))}]
		if lt == nil {
			return nil
		}
		ch := lt.chains[string(cstring(a[unix.NFTA_RULE_CHAIN]))]
		if ch == nil || next[ch] >= len(ch.Rules) {
			return fmt.Errorf("kernel: the ruleset read back has a rule that was not loaded (chain %s)", cstring(a[unix.NFTA_RULE_CHAIN]))
		}
		lt.rules[be64(a[unix.NFTA_RULE_HANDLE])] = ch.Rules[next[ch]]
		next[ch]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range rs.Tables {
		for _, ch := range t.Chains {
			if next[ch] != len(ch.Rules) {
				return nil, fmt.Errorf("kernel: chain %s: %d of %d rules read back", ch.Name, next[ch], len(ch.Rules))
			}
		}
	}
	return out, nil
}

// dump asks for all objects of a kind and calls f with the attributes of each.
func dump(c *netlink.Conn, msg uint16, f func(family bytecode.Family, a map[uint16][]byte) error) error {
	got, err := c.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | msg), Flags: netlink.Request | netlink.Dump},
		Data:   []byte{unix.AF_UNSPEC, 0, 0, 0},
	})
	if err != nil {
		return fmt.Errorf("kernel: reading the ruleset back: %w", err)
	}
	for _, m := range got {
		if len(m.Data) < 4 || uint16(m.Header.Type)>>8 != unix.NFNL_SUBSYS_NFTABLES {
			continue
		}
		a := make(map[uint16][]byte, 8)
		walk(m.Data[4:], func(t uint16, d []byte) { a[t] = d })
		if err := f(bytecode.Family(m.Data[0]), a); err != nil {
			return err
		}
	}
	return nil
}
