package lint

import (
	"fmt"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
)

// neverMatches reports rules whose conditions exclude each other, and matches
// of an interface that packets do not have at the hook.
func neverMatches(p *pass) {
	p.chains(func(ch *ir.Chain) {
		for _, r := range ch.Rules {
			c := p.rule(r).contradiction
			switch {
			case c == nil:
			case c.earlier.Valid() && c.earlier != c.span:
				p.report(c.span, "this rule never matches: no packet meets both this condition and an earlier one",
					diag.Note{Span: c.earlier, Message: "this is the earlier condition"})
			default:
				p.report(c.span, "this rule never matches: no packet meets this condition")
			}
		}
	})
	for _, t := range p.rs.Tables {
		for ch, hooks := range p.hooksOf(t) {
			p.missingInterface(ch, hooks)
		}
	}
}

// Hooks at which the kernel has no outgoing, and no incoming, interface: the
// callers of NF_HOOK give NULL (ip_rcv, ip_local_deliver, br_handle_frame and
// nft's ingress; __ip_local_out, xfrm's output and nft's egress).
const (
	hooksWithoutOut = hookSet(1<<bytecode.HookPrerouting | 1<<bytecode.HookInput | 1<<bytecode.HookIngress)
	hooksWithoutIn  = hookSet(1 << bytecode.HookOutput)
)

// missingInterface reports positive matches of an interface that is absent at
// all hooks at which the chain runs. An absent name is empty, an absent index 0
// (nft_meta_store_ifname, nft_meta_store_ifindex).
func (p *pass) missingInterface(ch *ir.Chain, hooks hookSet) {
	for _, r := range ch.Rules {
		for _, s := range r.Stmts {
			m, ok := s.(*ir.Match)
			if !ok {
				continue
			}
			meta, ok := unwrap(m.X).(*ir.Meta)
			if !ok || meta.Inner != nil {
				continue
			}
			var word string
			switch meta.Key {
			case bytecode.MetaOIF, bytecode.MetaOIFName:
				if hooks&^hooksWithoutOut == 0 {
					word = "outgoing"
				}
			case bytecode.MetaIIF, bytecode.MetaIIFName:
				if hooks&^hooksWithoutIn == 0 {
					word = "incoming"
				}
			}
			if word == "" {
				continue
			}
			_, bits, vs, ok := condition(m)
			if ok && len(vs) > 0 && !vs.contains(single(bottom(bits))) {
				p.report(m.Span, fmt.Sprintf("this rule never matches: packets have no %s interface at %s", word, hooks))
			}
		}
	}
}

func (h hookSet) String() string {
	s := ""
	for k := bytecode.HookPrerouting; k <= bytecode.HookEgress; k++ {
		if h&(1<<k) == 0 {
			continue
		}
		if s != "" {
			s += " and "
		}
		s += "the " + k.String() + " hook"
	}
	return s
}
