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
	flagWorkers = flag.Int("workers", 6, "namespaces at a time")
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
	differ, err := Search(*flagStart, *flagCases, *flagPackets, *flagWorkers, *flagShow, &st, func(f *Finding) { t.Errorf("%v", f) })
	t.Log(&st)
	if err != nil {
		t.Fatal(err)
	}
	if differ > 0 {
		t.Errorf("%d of %d rulesets differ: seeds %v", differ, *flagCases, st.Differing)
	}
}
