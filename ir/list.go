package ir

import (
	"fmt"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
)

// ListOptions say how List prints.
type ListOptions struct {
	// Numeric prints numbers in place of names, as `nft -nn` does.
	Numeric bool
	// State prints counters, used quotas and so on, which `nft -s` leaves out.
	State bool
	// Machine names interfaces and gives the local time.
	Machine Options
}

// List prints a ruleset as `nft -s list ruleset` prints it after it was
// loaded: members by kind, elements sorted, matches that later ones imply left
// out, numbers by their names.
func List(rs *Ruleset, opt ListOptions) string {
	l := &lister{opt: opt, updated: make(map[*Set]bool)}
	for _, t := range rs.Tables {
		for _, ch := range t.Chains {
			l.noteUpdates(ch)
		}
	}
	for _, t := range rs.Tables {
		// A table that has an owner is gone when nft has ended.
		if t.Flags&tableOwner == 0 || t.Flags&tablePersist != 0 {
			l.table(t)
		}
	}
	return l.b.String()
}

// lister writes a listing.
type lister struct {
	opt ListOptions
	b   strings.Builder
	// updated are the sets that rules add to.
	updated map[*Set]bool
}

// dynsetSize is the size that a set gets when a rule adds to it and none was
// stated (nft_dynset_init).
const dynsetSize = 0xffff

// noteUpdates finds the sets that the rules of a chain add to.
func (l *lister) noteUpdates(ch *Chain) {
	for _, r := range ch.Rules {
		for _, s := range r.Stmts {
			switch s := s.(type) {
			case *SetUpdate:
				l.updated[s.Set] = true
			case *VerdictStmt:
				if v, ok := s.X.(*Verdict); ok && v.Anon != nil {
					l.noteUpdates(v.Anon)
				}
			}
		}
	}
}

func (l *lister) printf(format string, args ...any) { fmt.Fprintf(&l.b, format, args...) }

// NFT_TABLE_F_OWNER and NFT_TABLE_F_PERSIST.
const (
	tableOwner   = 2
	tablePersist = 4
)

// tableFlagNames are in the order of listings.
var tableFlagNames = []struct {
	flag uint32
	name string
}{{1, "dormant"}, {tableOwner, "owner"}, {tablePersist, "persist"}}

func (l *lister) table(t *Table) {
	l.printf("table %s %s {\n", t.Family, t.Name)
	delim := ""
	var flags []string
	for _, f := range tableFlagNames {
		if t.Flags&f.flag != 0 {
			flags = append(flags, f.name)
		}
	}
	if len(flags) > 0 {
		l.printf("\tflags %s\n", strings.Join(flags, ","))
		delim = "\n"
	}
	if t.CommentSet {
		l.printf("\tcomment \"%s\"\n", t.Comment)
	}
	separate := func() {
		l.b.WriteString(delim)
		delim = "\n"
	}
	for _, o := range t.Objects {
		separate()
		l.object(o)
	}
	for _, s := range t.Sets {
		if s.Flags&bytecode.SetAnonymous != 0 {
			continue
		}
		separate()
		l.set(s)
	}
	for _, ft := range t.Flowtables {
		separate()
		l.flowtable(ft)
	}
	for _, ch := range t.Chains {
		if ch.ID != 0 {
			continue
		}
		separate()
		l.chain(ch)
	}
	l.printf("}\n")
}

// chainOffload is NFT_CHAIN_HW_OFFLOAD.
const chainOffload = 2

func (l *lister) chain(ch *Chain) {
	l.printf("\tchain %s {", ch.Name)
	if ch.CommentSet {
		l.printf("\n\t\tcomment \"%s\"", ch.Comment)
	}
	l.printf("\n")
	if b := ch.Base; b != nil {
		l.printf("\t\ttype %s hook %s", b.Type, b.Hook)
		switch len(b.Devices) {
		case 0:
		case 1:
			l.printf(" device \"%s\"", b.Devices[0])
		default:
			l.printf(" devices = { %s }", quotedList(b.Devices))
		}
		l.printf(" priority %s;", l.priority(ch.Table.Family, b.Hook, b.Priority))
		policy := b.Policy
		l.printf(" policy %s;", policy)
		if ch.Flags&chainOffload != 0 {
			l.printf(" flags offload;")
		}
		l.printf("\n")
	}
	l.rules(ch, "\t\t")
	l.printf("\t}\n")
}

// quotedList joins device names for `devices = { … }`.
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = `"` + n + `"`
	}
	return strings.Join(quoted, ", ")
}

func (l *lister) rules(ch *Chain, indent string) {
	for _, r := range ch.Rules {
		l.printf("%s%s\n", indent, l.rule(ch.Table.Family, r))
	}
}

func (l *lister) priority(f bytecode.Family, h bytecode.Hook, prio int32) string {
	if l.opt.Numeric {
		return fmt.Sprint(prio)
	}
	return PriorityName(prio, f, h)
}

func (l *lister) flowtable(ft *Flowtable) {
	l.printf("\tflowtable %s {\n", ft.Name)
	l.printf("\t\thook %s priority %s\n", ft.Hook, l.priority(bytecode.FamilyNetdev, ft.Hook, ft.Priority))
	if len(ft.Devices) > 0 {
		l.printf("\t\tdevices = { %s }\n", quotedList(ft.Devices))
	}
	if ft.Flags&flowtableOffload != 0 {
		l.printf("\t\tflags offload\n")
	}
	if ft.Flags&flowtableCounter != 0 {
		l.printf("\t\tcounter\n")
	}
	l.printf("\t}\n")
}
