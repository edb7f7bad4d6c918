package compile

import (
	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/ir"
)

func (c *compiler) object(o *ir.Object) *bytecode.Object {
	if bo := c.objects[o]; bo != nil {
		return bo
	}
	bo := &bytecode.Object{Name: o.Name, Type: o.Type, Instr: o.Spec, Span: o.Span, Userdata: commentData(o.Comment, o.CommentSet)}
	c.objects[o] = bo
	return bo
}
