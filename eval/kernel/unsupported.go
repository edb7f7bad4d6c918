//go:build !linux

package kernel

import (
	"fmt"
	"runtime"
	"time"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/eval/packet"
)

// Session is a loaded ruleset; there are none on this system.
type Session struct{}

// Available reports that this system has no nf_tables.
func Available() error { return fmt.Errorf("%w on %s", ErrUnavailable, runtime.GOOS) }

// Do fails: only Linux has nf_tables.
func Do(Config, *bytecode.Ruleset, func(*Session) error) error { return Available() }

// Inject fails.
func (*Session) Inject(*packet.Packet, *Outcome) error { return Available() }

// Injectable fails.
func (*Session) Injectable(*packet.Packet) error { return Available() }

// Interfaces is empty.
func (*Session) Interfaces() []Interface { return nil }

// Burst fails.
func (*Session) Burst(string, [][]byte, int) (time.Duration, error) { return 0, Available() }
