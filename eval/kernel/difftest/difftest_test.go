package difftest

import (
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/nftc/nftc/eval/kernel"
)

var (
	flagStart   = flag.Uint64("start", 1, "first seed")
	flagCases   = flag.Int("cases", 300, "number of rulesets")
	flagPackets = flag.Int("packets", 60, "packets for each ruleset")
	flagShow    = flag.Int("show", 10, "differences to shrink and print")
)

func TestSeeds(t *testing.T) {
	if err := kernel.Available(); err != nil {
		if errors.Is(err, kernel.ErrUnavailable) && os.Getenv("NFTC_KERNEL") != "require" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	var st Stats
	found := 0
	for i := range *flagCases {
		f, err := Run(Generate(*flagStart+uint64(i), *flagPackets), &st)
		if err != nil {
			t.Fatalf("seed %d: %v", *flagStart+uint64(i), err)
		}
		if f != nil {
			if found++; found <= *flagShow {
				t.Errorf("%v", Shrink(f))
			}
		}
	}
	t.Log(&st)
	if found > 0 {
		t.Errorf("%d of %d rulesets differ", found, *flagCases)
	}
}
