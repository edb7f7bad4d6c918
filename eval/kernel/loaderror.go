package kernel

import "fmt"

// LoadError is the kernel's refusal of a transaction: the first message that it
// refused, by its place in what Encode returned (-1: at commit), and the errno.
type LoadError struct {
	Index int
	What  string // what the message adds, and where the source says so
	Err   error
}

func (e *LoadError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("the kernel refused the ruleset: %v", e.Err)
	}
	return fmt.Sprintf("the kernel refused %s: %v", e.What, e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }
