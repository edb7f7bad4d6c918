package compile_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nftc/nftc/parser"
)

// record names an nft of version 1.1.7 that writes the expected debug text,
// together with a command that runs it in a network namespace of its own:
// -record="unshare -n /usr/sbin/nft".
var record = flag.String("record", "", "command that runs nft 1.1.7; its debug text is recorded")

// TestRulesetGolden compares whole rulesets with what nft 1.1.7 printed for
// them.
func TestRulesetGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/rulesets/*.nft")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rulesets: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".nft"), func(t *testing.T) {
			golden := strings.TrimSuffix(name, ".nft") + ".debug"
			if *record != "" {
				args := append(strings.Fields(*record), "--debug=netlink", "-f", name)
				out, err := exec.Command(args[0], args[1:]...).Output()
				if err != nil {
					t.Fatalf("nft: %v", err)
				}
				if err := os.WriteFile(golden, out, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			o := run(name, string(text), map[string]uint32{"lo": 1}, parser.Options{})
			if o.err != "" {
				t.Fatalf("refused: %s", o.err)
			}
			if o.debug != string(want) {
				a, b := firstDifference(string(want), o.debug)
				t.Errorf("first difference:\n nft  %s\n nftc %s", a, b)
			}
		})
	}
}
