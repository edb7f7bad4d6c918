package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

func (c *compiler) flowtable(f *ir.Flowtable) *bytecode.Flowtable {
	if bf := c.flowtables[f]; bf != nil {
		return bf
	}
	bf := &bytecode.Flowtable{Name: f.Name, Hook: f.Hook, Priority: f.Priority, Devices: f.Devices, Flags: f.Flags, Span: f.Span}
	c.flowtables[f] = bf
	return bf
}
