package compile

// steps compiles the steps in order and builds the final state of the tables.
func (c *compiler) steps() {}
