package pipapo

import "fmt"

// Errno is a Linux error number as the kernel's set code returns it, positive.
type Errno int

// Error numbers that insertion and removal answer with.
const (
	ENOENT    Errno = 2  // no such element
	ENOMEM    Errno = 12 // a table would exceed INT_MAX bytes
	EEXIST    Errno = 17 // the very same element is there already
	EINVAL    Errno = 22 // wrong key length, or a field's start is above its end
	ENOSPC    Errno = 28 // a field holds the highest number of rules
	ENOTEMPTY Errno = 39 // partial overlap with an element

	// Those that only other parts of the kernel's set code give.
	ENFILE     Errno = 23 // more elements than the set's size
	EOPNOTSUPP Errno = 95 // no back end fits the set
)

// String gives the symbolic name.
func (e Errno) String() string {
	switch e {
	case ENOENT:
		return "ENOENT"
	case ENOMEM:
		return "ENOMEM"
	case EEXIST:
		return "EEXIST"
	case EINVAL:
		return "EINVAL"
	case ENOSPC:
		return "ENOSPC"
	case ENOTEMPTY:
		return "ENOTEMPTY"
	case ENFILE:
		return "ENFILE"
	case EOPNOTSUPP:
		return "EOPNOTSUPP"
	default:
		return fmt.Sprintf("errno %d", int(e))
	}
}

// InsertError is the refusal of an element.
type InsertError struct {
	Errno Errno
	// With is the element it clashes with; meaningful for EEXIST and ENOTEMPTY.
	With ID
	// Index is the position in the list given to InsertAll, 0 for Insert.
	Index int
}

// Error describes the refusal.
func (e *InsertError) Error() string {
	switch e.Errno {
	case EEXIST:
		return fmt.Sprintf("pipapo: element exists already, as element %d (EEXIST)", e.With)
	case ENOTEMPTY:
		return fmt.Sprintf("pipapo: element overlaps with element %d (ENOTEMPTY)", e.With)
	case EINVAL:
		return "pipapo: key of the wrong length or start above end (EINVAL)"
	case ENOSPC:
		return "pipapo: too many rules in a field (ENOSPC)"
	case ENOMEM:
		return "pipapo: lookup or mapping table too large (ENOMEM)"
	default:
		return "pipapo: " + e.Errno.String()
	}
}
