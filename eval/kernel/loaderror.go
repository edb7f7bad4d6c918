package kernel

import "fmt"

// LoadError is the kernel's refusal of a transaction: the first message that it
// refused, by its place in what Encode returned (-1: at commit), and the errno.
type LoadError struct {
	Index int
	Err   error
}

func (e *LoadError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("the kernel refused the ruleset: %v", e.Err)
	}
	return fmt.Sprintf("the kernel refused message %d of the ruleset: %v", e.Index, e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }
