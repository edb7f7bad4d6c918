//go:build linux

package kernel

import (
	"os"
	"runtime"
	"testing"
)

// inNamespace runs f in a fresh network namespace on a thread of its own, or
// skips the test where that cannot be done; NFTC_KERNEL=require makes that a
// failure.
func inNamespace(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		defer runtime.Goexit() // ends the locked thread
		err := enterNamespace()
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		if os.Getenv("NFTC_KERNEL") != "require" && isUnavailable(err) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
}

func TestGuardLoads(t *testing.T) {
	inNamespace(t, func() error {
		d, err := newDevice("eth0", false, [6]byte{2, 0, 0, 0, 0, 1}, 0)
		if err != nil {
			return err
		}
		out, err := newDevice("eth1", false, [6]byte{2, 0, 0, 0, 0, 2}, 0)
		if err != nil {
			return err
		}
		if err := routes(TripInput, []*device{d}, out); err != nil {
			return err
		}
		ms, err := Encode(guard([]string{"eth0"}, nil))
		if err != nil {
			return err
		}
		return load(ms, nil)
	})
}
