package difftest

import (
	"flag"
	"testing"
	"time"
)

var (
	flagStart   = flag.Uint64("start", 1, "first seed")
	flagCases   = flag.Int("cases", 0, "number of rulesets; 0: what an ordinary run does")
	flagPackets = flag.Int("packets", 60, "packets for each ruleset")
	flagWorkers = flag.Int("workers", 6, "namespaces at a time")
	flagShow    = flag.Int("show", 10, "differences to shrink and print")
)

// fixedCases is how many rulesets an ordinary run tries.
const fixedCases = 250

// TestSeeds runs fixed seeds: a difference fails the build.
func TestSeeds(t *testing.T) {
	if !available(t) {
		t.Skip("the kernel cannot be used")
	}
	n := *flagCases
	if n == 0 {
		if n = fixedCases; testing.Short() {
			n /= 5
		}
	}
	var st Stats
	differ, err := Search(*flagStart, n, *flagPackets, *flagWorkers, *flagShow, &st, func(f *Finding) { t.Errorf("%v", f) })
	t.Log(&st)
	if err != nil {
		t.Fatal(err)
	}
	if differ > 0 {
		t.Errorf("%d of %d rulesets differ: seeds %v", differ, n, st.Differing)
	}
	if st.Compared() < n*20 {
		t.Errorf("only %d packets compared", st.Compared())
	}
}

// TestFreshSeeds tries seeds that no run has tried, and only reports: what it
// finds becomes a case and a fix.
func TestFreshSeeds(t *testing.T) {
	if testing.Short() || *flagCases != 0 || !available(t) {
		t.Skip("for ordinary runs with the kernel")
	}
	var st Stats
	start := uint64(time.Now().UnixNano())
	_, err := Search(start, fixedCases/2, *flagPackets, *flagWorkers, 3, &st, func(f *Finding) { t.Logf("found:\n%v", f) })
	t.Logf("from seed %d: %v", start, &st)
	if err != nil {
		t.Fatal(err)
	}
}
