package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/nftc/nftc/"

// What each package may import of ours, as ARCHITECTURE.md draws it.
var allowed = map[string][]string{
	"internal/diag":           {},
	"internal/diag/sarif":     {"internal/diag"},
	"internal/prefetch":       {},
	"internal/bench":          {"compile/bytecode", "compile/masks", "compile/pipapo", "compile/pipapo/workload", "compile/set", "eval", "eval/kernel", "eval/packet", "internal/prefetch"},
	"parser":                  {"internal/diag"},
	"compile/pipapo/workload": {},
	"eval/scenario":           {}, // tests only
	"eval/kernel/difftest":    {"internal/diag", "parser", "ir", "compile", "compile/bytecode", "eval", "eval/kernel", "eval/packet"},
	"compile/pipapo":          {},
	"compile/masks":           {"internal/prefetch"},
	"compile/bytecode":        {"internal/diag"},
	"compile/set":             {"compile/bytecode", "compile/pipapo", "compile/masks", "internal/prefetch"},
	"ir":                      {"internal/diag", "parser", "compile/bytecode", "compile/set", "compile/pipapo"},
	"compile":                 {"internal/diag", "ir", "compile/bytecode", "compile/set"},
	"lint":                    {"internal/diag", "ir", "compile/bytecode", "compile/set"},
	"eval/packet":             {},
	"eval/conntrack":          {"eval/packet"},
	"eval":                    {"internal/diag", "compile/bytecode", "compile/set", "eval/packet", "eval/conntrack"},
	"eval/kernel":             {"internal/diag", "compile/bytecode", "compile/set", "eval/packet", "eval/conntrack", "eval"},
}

// Modules that only one package may import.
var only = map[string]string{
	"github.com/alecthomas/participle/v2": "parser",
	"github.com/google/nftables":          "eval/kernel",
}

func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-buildvcs=false", "-f", `{{.ImportPath}}:{{join .Imports " "}}`, "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		pkg = strings.TrimPrefix(pkg, module)
		may, listed := allowed[pkg]
		for _, imp := range strings.Fields(imports) {
			for mod, owner := range only {
				if (imp == mod || strings.HasPrefix(imp, mod+"/")) && pkg != owner {
					t.Errorf("%s imports %s, which only %s may", pkg, imp, owner)
				}
			}
			ours, is := strings.CutPrefix(imp, module)
			if !is {
				continue
			}
			if strings.HasPrefix(pkg, "cmd/") {
				continue
			}
			if listed && !slices.Contains(may, ours) {
				t.Errorf("%s imports %s: not in ARCHITECTURE.md", pkg, ours)
			}
		}
		if !listed && !strings.HasPrefix(pkg, "cmd/") {
			t.Errorf("%s is not in ARCHITECTURE.md", pkg)
		}
	}
}
