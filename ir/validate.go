package ir

// validate checks the tables as they are after the last message
// (nf_tables_validate).
func (k *kernel) validate() {}
