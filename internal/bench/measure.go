package bench

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// Case is one thing to measure.
type Case struct {
	Name string
	// Run does the operation n times.
	Run func(n int)
	// Max bounds n of one call; 0 is no bound.
	Max int
}

// Options say how long to measure.
type Options struct {
	// Slices is the number of samples of each case, 0 is DefaultSlices.
	Slices int
	// Slice is the time that one sample takes about, 0 is DefaultSlice.
	Slice time.Duration
}

// A comparison takes DefaultSlices × DefaultSlice for each of its cases.
const (
	DefaultSlices = 15
	DefaultSlice  = 4 * time.Millisecond
)

// Stat is what one operation takes, in nanoseconds.
type Stat struct {
	Median float64 `json:"median_ns"`
	Best   float64 `json:"best_ns"`
}

// Measured tells whether there is a figure at all.
func (s Stat) Measured() bool { return s.Median > 0 }

// Measure runs the cases in turns and returns a figure for each.
func Measure(cases []Case, opt Options) []Stat {
	if opt.Slices <= 0 {
		opt.Slices = DefaultSlices
	}
	if opt.Slice <= 0 {
		opt.Slice = DefaultSlice
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	counts := make([]int, len(cases))
	for i := range cases {
		counts[i] = calibrate(&cases[i], opt.Slice)
	}
	samples := make([][]float64, len(cases))
	for range opt.Slices {
		for i := range cases {
			samples[i] = append(samples[i], float64(timed(&cases[i], counts[i]))/float64(counts[i]))
		}
	}
	out := make([]Stat, len(cases))
	for i, s := range samples {
		out[i] = statOf(s)
	}
	return out
}

func statOf(samples []float64) Stat {
	if len(samples) == 0 {
		return Stat{}
	}
	s := slices.Clone(samples)
	slices.Sort(s)
	return Stat{Median: s[len(s)/2], Best: s[0]}
}

// timed is what n operations take.
func timed(c *Case, n int) time.Duration {
	start := threadTime()
	c.Run(n)
	return threadTime() - start
}

// calibrate finds the number of operations that fill a slice. It warms caches up
// on the way.
func calibrate(c *Case, slice time.Duration) int {
	limit := c.Max
	if limit <= 0 {
		limit = math.MaxInt32
	}
	for n := 1; ; n *= 2 {
		n = min(n, limit)
		took := timed(c, n)
		if took >= slice/4 || n == limit {
			want := float64(n) * float64(slice) / float64(max(took, 1))
			return max(1, min(int(want), limit))
		}
	}
}

// Sink keeps results alive.
var Sink uint64
