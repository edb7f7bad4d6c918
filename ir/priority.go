package ir

import (
	"strconv"
	"strings"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

// namedPriority is a standard priority: the name counts in the families and
// hooks given (std_prio_lookup, std_prio_family_hook_compat in nftables).
type namedPriority struct {
	Name     string
	Value    int32
	Families []bytecode.Family
	Hooks    []bytecode.Hook // nil: every hook
}

var (
	inetFamilies = []bytecode.Family{bytecode.FamilyIP, bytecode.FamilyIP6, bytecode.FamilyInet}
	filterFamily = []bytecode.Family{bytecode.FamilyIP, bytecode.FamilyIP6, bytecode.FamilyInet,
		bytecode.FamilyARP, bytecode.FamilyNetdev}
	bridgeFamily = []bytecode.Family{bytecode.FamilyBridge}
)

var namedPriorities = []namedPriority{
	{"raw", -300, inetFamilies, nil},
	{"mangle", -150, inetFamilies, nil},
	{"dstnat", -100, inetFamilies, []bytecode.Hook{bytecode.HookPrerouting, bytecode.HookOutput}},
	{"filter", 0, filterFamily, nil},
	{"security", 50, inetFamilies, nil},
	{"srcnat", 100, inetFamilies, []bytecode.Hook{bytecode.HookPostrouting, bytecode.HookInput}},
	{"dstnat", -300, bridgeFamily, []bytecode.Hook{bytecode.HookPrerouting}},
	{"filter", -200, bridgeFamily, nil},
	{"out", 100, bridgeFamily, []bytecode.Hook{bytecode.HookOutput}},
	{"srcnat", 300, bridgeFamily, []bytecode.Hook{bytecode.HookPostrouting}},
}

func has[T comparable](list []T, x T) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

func lookupPriority(name string, f bytecode.Family, h bytecode.Hook) (int32, bool) {
	for _, p := range namedPriorities {
		if p.Name == name && has(p.Families, f) && (p.Hooks == nil || has(p.Hooks, h)) {
			return p.Value, true
		}
	}
	return 0, false
}

// PriorityName returns how a listing shows a priority: a name, a name with an
// offset up to 10, or the number (prio2str in nftables).
func PriorityName(v int32, f bytecode.Family, h bytecode.Hook) string {
	const reach = 10
	best, dist := "", int32(reach+1)
	for _, p := range namedPriorities {
		if !has(p.Families, f) || (p.Hooks != nil && !has(p.Hooks, h)) {
			continue
		}
		d := v - p.Value
		a := max(d, -d)
		if a >= dist {
			continue
		}
		dist = a
		switch {
		case d == 0:
			best = p.Name
		case d > 0:
			best = p.Name + " + " + strconv.Itoa(int(d))
		default:
			best = p.Name + " - " + strconv.Itoa(int(-d))
		}
	}
	if best == "" {
		return strconv.Itoa(int(v))
	}
	return best
}

// priority evaluates a priority expression: a number, a name, either plus or
// minus a number, or a variable that holds one of these (evaluate_priority).
func (r *resolver) priority(e parser.Expr, f bytecode.Family, h bytecode.Hook) (int32, bool) {
	switch e := r.follow(e).(type) {
	case *parser.Symbol:
		return priorityText(e.Text, f, h)
	case *parser.Binary:
		x, ok := r.priority(e.X, f, h)
		if !ok {
			return 0, false
		}
		y, ok := r.follow(e.Y).(*parser.Symbol)
		if !ok {
			return 0, false
		}
		n, err := strconv.ParseInt(y.Text, 0, 32)
		if err != nil {
			return 0, false
		}
		switch e.Op {
		case "+":
			return x + int32(n), true
		case "-":
			return x - int32(n), true
		}
	}
	return 0, false
}

func priorityText(s string, f bytecode.Family, h bytecode.Hook) (int32, bool) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return int32(n), true
	}
	fields := strings.Fields(s)
	if len(fields) == 3 && (fields[1] == "+" || fields[1] == "-") {
		v, ok := lookupPriority(fields[0], f, h)
		n, err := strconv.ParseInt(fields[2], 10, 32)
		if !ok || err != nil {
			return 0, false
		}
		if fields[1] == "-" {
			n = -n
		}
		return v + int32(n), true
	}
	return lookupPriority(s, f, h)
}

// priorityWords are the names valid in a place, for suggestions.
func priorityWords(f bytecode.Family, h bytecode.Hook) []string {
	var out []string
	for _, p := range namedPriorities {
		if has(p.Families, f) && (p.Hooks == nil || has(p.Hooks, h)) {
			out = append(out, p.Name)
		}
	}
	return out
}

func (r *resolver) badPriority(e parser.Expr, sp diag.Span, f bytecode.Family, h bytecode.Hook, suffix string) {
	d := diag.Diagnostic{Code: "invalid-priority", Span: sp,
		Message: "invalid priority expression value" + suffix}
	if s, ok := r.follow(e).(*parser.Symbol); ok {
		d.Suggest = diag.Nearest(s.Text, priorityWords(f, h))
		d.Notes = append(d.Notes, diag.Note{Message: "priorities here are a number or " + strings.Join(priorityWords(f, h), ", ")})
	}
	r.diags.Add(d)
}
