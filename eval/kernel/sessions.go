package kernel

import (
	"errors"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// Sessions verifies packets of all kinds against one ruleset: for each trip and
// pair of devices that packets ask for it keeps a session, made on first use.
// Packets are taken one at a time.
type Sessions struct {
	rs      *bytecode.Ruleset
	indexes map[string]uint32
	workers map[sessionKey]*worker
}

type sessionKey struct {
	trip    Trip
	in, out string
}

// worker is the goroutine that a session lives on.
type worker struct {
	jobs chan job
	done chan error // the session's end
}

type job struct {
	p      *packet.Packet
	c      *Comparison
	result chan error
}

// NewSessions prepares for a ruleset. indexes are the interface numbers that it
// was compiled with.
func NewSessions(rs *bytecode.Ruleset, indexes map[string]uint32) *Sessions {
	own := make(map[string]uint32, len(indexes))
	for name, i := range indexes {
		if name != "lo" {
			own[name] = i
		}
	}
	return &Sessions{rs: rs, indexes: own, workers: make(map[sessionKey]*worker)}
}

// Verify runs one packet through both engines, on the trip and devices that it
// states. An error that is a *LoadError means that this kernel does not take
// the ruleset.
func (s *Sessions) Verify(p *packet.Packet, c *Comparison) error {
	k := sessionKey{trip: TripOf(p)}
	if p.Stated.Has&packet.HasIifName != 0 && p.Stated.IifName != "lo" {
		k.in = p.Stated.IifName
	}
	if p.Stated.Has&packet.HasOifName != 0 && k.trip != TripInput && p.Stated.OifName != "lo" {
		k.out = p.Stated.OifName
	}
	w := s.workers[k]
	if w == nil {
		w = s.start(Config{Trip: k.trip, In: k.in, Out: k.out, Indexes: s.indexes})
		s.workers[k] = w
	}
	j := job{p, c, make(chan error, 1)}
	select {
	case w.jobs <- j:
	case err := <-w.done:
		w.done <- err
		if err == nil {
			err = errors.New("kernel: the session has ended")
		}
		return err
	}
	return <-j.result
}

func (s *Sessions) start(cfg Config) *worker {
	w := &worker{jobs: make(chan job), done: make(chan error, 1)}
	go func() {
		w.done <- Do(cfg, s.rs, func(sess *Session) error {
			v, err := NewVerifier(sess, cfg, s.rs)
			if err != nil {
				return err
			}
			for j := range w.jobs {
				j.result <- v.Verify(j.p, j.c)
			}
			return nil
		})
	}()
	return w
}

// Close ends all sessions.
func (s *Sessions) Close() {
	for _, w := range s.workers {
		close(w.jobs)
		<-w.done
	}
	s.workers = nil
}
