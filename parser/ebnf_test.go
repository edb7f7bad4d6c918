package parser

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/participle/v2"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// namedGrammar is one of the package's participle grammars.
type namedGrammar struct {
	name  string
	ebnf  func() string
	build func()
}

func named[G any](name string, g *grammar[G]) namedGrammar {
	return namedGrammar{name,
		func() string { return g.parser().String() },
		func() { participle.MustBuild[G](grammarOptions...) },
	}
}

func allGrammars() []namedGrammar {
	return []namedGrammar{
		named("table", &tableSpecParser), named("object", &objectSpecParser),
		named("rule", &ruleSpecParser), named("list", &listSpecParser),
		named("counter", &counterParser), named("last", &lastParser), named("limit", &limitParser),
		named("rate", &rateParser), named("quota", &quotaParser), named("amount", &amountParser),
		named("ct count", &ctCountParser), named("log", &logParser), named("synproxy", &synproxyParser),
		named("reject", &rejectParser), named("counter object", &counterConfigParser),
		named("ct helper", &ctHelperConfigParser), named("ct timeout", &ctTimeoutConfigParser),
		named("ct expectation", &ctExpectConfigParser), named("tunnel", &tunnelConfigParser),
		named("geneve", &geneveConfigParser), named("erspan", &erspanConfigParser),
	}
}

// TestGrammar keeps the text of the grammars, so that a change shows.
func TestGrammar(t *testing.T) {
	var b strings.Builder
	for _, g := range allGrammars() {
		b.WriteString("# " + g.name + "\n" + g.ebnf() + "\n\n")
	}
	name := filepath.Join("testdata", "grammar.ebnf")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the grammar is not that of %s; run with -update and review:\n%s", name, b.String())
	}
}
