package ir

// commit applies the steps as the kernel would, in order, and leaves the
// resulting tables in r.out.
func (r *resolver) commit() {}
