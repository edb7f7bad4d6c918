package difftest

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Search runs the cases of n seeds from start on, in several namespaces at a
// time: most of a case's time is the kernel's waiting. found is called with
// each finding of a kind that was not seen before, shrunk, until limit kinds
// are known; the rest is counted. It returns how many rulesets differ.
func Search(start uint64, n, packets, workers, limit int, st *Stats, found func(*Finding)) (differ int, err error) {
	var (
		mu    sync.Mutex
		next  = start
		kinds = make(map[string]bool)
		wg    sync.WaitGroup
	)
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var own Stats
			defer func() {
				mu.Lock()
				st.add(&own)
				mu.Unlock()
			}()
			for {
				mu.Lock()
				seed := next
				next++
				stop := err != nil || seed-start >= uint64(n)
				mu.Unlock()
				if stop {
					return
				}
				f, e := Run(Generate(seed, packets), &own)
				if e != nil {
					mu.Lock()
					if err == nil {
						err = fmt.Errorf("seed %d: %w", seed, e)
					}
					mu.Unlock()
					return
				}
				if f == nil {
					continue
				}
				own.Differing = append(own.Differing, seed)
				mu.Lock()
				differ++
				fresh := !kinds[f.Kind()] && len(kinds) < limit
				kinds[f.Kind()] = true
				mu.Unlock()
				if fresh {
					f = Shrink(f)
					mu.Lock()
					found(f)
					mu.Unlock()
				}
			}
		}()
	}
	wg.Wait()
	return differ, err
}

var numbers = regexp.MustCompile(`[0-9a-fx]*[0-9][0-9a-fx]*`)

// Kind names what differs, without the values at hand: the same fault found
// twice mostly has the same kind.
func (f *Finding) Kind() string {
	where := ""
	for i := range f.Ours {
		if i >= len(f.Theirs) || f.Ours[i] != f.Theirs[i] {
			if _, rule, ok := strings.Cut(f.Ours[i], "rule "); ok {
				w := strings.Fields(rule)
				where = strings.Join(w[:min(2, len(w))], " ")
			}
			break
		}
	}
	return fmt.Sprintf("%v %s %s", f.Case.Trip, numbers.ReplaceAllString(f.What, "N"), where)
}
