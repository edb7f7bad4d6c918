package set

import (
	"bytes"
	"sort"

	"github.com/nftc/nftc/compile/pipapo"
)

// ecanceled is the answer to a second end point at key 0, which nft_add_set_elem
// takes for success.
const ecanceled Errno = 125

// rbtree models what nft_set_rbtree.c decides on insertion and removal of points
// within a transaction. Points lie in ascending order, an end before a start of the
// same key; deactivated ones stay, as in the kernel until commit.
type rbtree struct {
	anonymous bool
	// cookie is the start point that the last message named as existing
	// (start_rbe_cookie), -1 for none.
	cookie int32
	// blocks are runs of the ascending list, so that inserting moves little.
	blocks [][]rbnode
	count  int
}

const rbblock = 256

type rbnode struct {
	key    []byte
	end    bool
	active bool
	ref    int32
}

// place is a position in the list.
type place struct{ block, at int }

func (t *rbtree) node(p place) *rbnode {
	if p.block < 0 || p.block >= len(t.blocks) {
		return nil
	}
	return &t.blocks[p.block][p.at]
}

// below and above are the neighbours; their node is nil past the ends.
func (t *rbtree) below(p place) place {
	if p.at > 0 {
		return place{p.block, p.at - 1}
	}
	if p.block == 0 {
		return place{-1, 0}
	}
	return place{p.block - 1, len(t.blocks[p.block-1]) - 1}
}

func (t *rbtree) above(p place) place {
	if p.at+1 < len(t.blocks[p.block]) {
		return place{p.block, p.at + 1}
	}
	return place{p.block + 1, 0}
}

func (t *rbtree) lowest() *rbnode {
	if len(t.blocks) == 0 {
		return nil
	}
	return &t.blocks[0][0]
}

// search finds the first point for which after is true; past the end if none is.
func (t *rbtree) search(after func(n *rbnode) bool) place {
	b := sort.Search(len(t.blocks), func(b int) bool {
		block := t.blocks[b]
		return after(&block[len(block)-1])
	})
	if b == len(t.blocks) {
		return place{b, 0}
	}
	block := t.blocks[b]
	return place{b, sort.Search(len(block), func(i int) bool { return after(&block[i]) })}
}

func (t *rbtree) put(p place, n rbnode) {
	t.count++
	if p.block == len(t.blocks) {
		if p.block == 0 {
			t.blocks = append(t.blocks, append(make([]rbnode, 0, rbblock), n))
			return
		}
		p = place{p.block - 1, len(t.blocks[p.block-1])}
	}
	block := t.blocks[p.block]
	if len(block) == rbblock {
		// A run that grows at its end stays full; others are halved.
		cut := rbblock / 2
		if p.at == rbblock {
			cut = rbblock
		}
		rest := append(make([]rbnode, 0, rbblock), block[cut:]...)
		if p.at >= cut && cut == rbblock {
			rest = append(rest, n)
			p.at = -1
		}
		t.blocks[p.block] = block[:cut]
		t.blocks = append(t.blocks, nil)
		copy(t.blocks[p.block+2:], t.blocks[p.block+1:])
		t.blocks[p.block+1] = rest
		if p.at < 0 {
			return
		}
		if p.at > cut {
			p = place{p.block + 1, p.at - cut}
		}
		block = t.blocks[p.block]
	}
	block = append(block, rbnode{})
	copy(block[p.at+1:], block[p.at:])
	block[p.at] = n
	t.blocks[p.block] = block
}

func isZero(key []byte) bool {
	for _, b := range key {
		if b != 0 {
			return false
		}
	}
	return true
}

// insert adds a point; 0 is success. On a clash it names the element that is in
// the way, or -1.
//
// __nft_rbtree_insert: from the closest point above the new one it walks down and
// notes the closest active point at or above (ge) and at or below (le) it.
func (t *rbtree) insert(key []byte, end bool, ref int32) (Errno, int32) {
	var ge, le *rbnode
	var lePlace place
	over := t.search(func(n *rbnode) bool { return bytes.Compare(n.key, key) > 0 })
	p := over
	if n := t.node(p); n != nil {
		// All points of the closest key above are visited, the highest first.
		for q := t.above(p); t.node(q) != nil && bytes.Equal(t.node(q).key, n.key); q = t.above(p) {
			p = q
		}
	} else if len(t.blocks) > 0 {
		last := len(t.blocks) - 1
		p = place{last, len(t.blocks[last]) - 1}
	}
	for ; t.node(p) != nil; p = t.below(p) {
		n := t.node(p)
		if !n.active {
			continue
		}
		d := bytes.Compare(n.key, key)
		if d > 0 {
			ge = n
			continue
		}
		if d == 0 && !n.end {
			if ge == nil || !bytes.Equal(ge.key, key) || end == ge.end {
				ge = n
			}
			continue
		}
		le, lePlace = n, p
		break
	}

	null := end && isZero(key)
	if null || !end {
		t.cookie = -1
	}
	if ge != nil && bytes.Equal(ge.key, key) && ge.end == end {
		t.cookie = ge.ref
		return pipapo.EEXIST, ge.ref
	}
	if le != nil && bytes.Equal(le.key, key) && le.end == end {
		if null {
			return ecanceled, le.ref
		}
		if !t.sameInterval(lePlace) {
			return pipapo.ENOTEMPTY, le.ref
		}
		return pipapo.EEXIST, le.ref
	}
	if le != nil && !le.end && !end {
		if !t.anonymous {
			return pipapo.ENOTEMPTY, le.ref
		}
		// A start between a start and its end.
		if n := t.node(t.above(lePlace)); n != nil && n.end {
			return pipapo.ENOTEMPTY, le.ref
		}
	}
	if le != nil && le.end && end {
		return pipapo.ENOTEMPTY, le.ref
	}
	if ge != nil && ge.end && end {
		return pipapo.ENOTEMPTY, ge.ref
	}
	// Among points of one key: ends in order of insertion, then starts, the newest
	// first.
	at := over
	for q := t.before(at); t.node(q) != nil && bytes.Equal(t.node(q).key, key) && !t.node(q).end; q = t.before(at) {
		at = q
	}
	t.put(at, rbnode{key: key, end: end, active: true, ref: ref})
	return 0, -1
}

// before is below, also for the place past the end.
func (t *rbtree) before(p place) place {
	if p.block == len(t.blocks) && p.block > 0 {
		return place{p.block - 1, len(t.blocks[p.block-1]) - 1}
	}
	if p.block == len(t.blocks) {
		return place{-1, 0}
	}
	return t.below(p)
}

// sameInterval tells whether the existing end at p belongs to the start that the
// message named before it (nft_rbtree_insert_same_interval).
func (t *rbtree) sameInterval(p place) bool {
	if t.cookie < 0 {
		return true
	}
	cookie := t.cookie
	t.cookie = -1
	for p = t.below(p); t.node(p) != nil; p = t.below(p) {
		if n := t.node(p); n.active {
			return !n.end && n.ref == cookie
		}
	}
	return false
}

// deactivate removes a point; false if there is none such, or if an end does not
// belong to the start removed before it (nft_rbtree_deactivate,
// nft_rbtree_deactivate_same_interval).
func (t *rbtree) deactivate(key []byte, end bool) bool {
	if !end || isZero(key) {
		t.cookie = -1
	}
	p := t.search(func(n *rbnode) bool { return bytes.Compare(n.key, key) >= 0 })
	for ; ; p = t.above(p) {
		n := t.node(p)
		if n == nil || !bytes.Equal(n.key, key) {
			return false
		}
		if n.end == end && n.active {
			break
		}
	}
	n := t.node(p)
	if !end {
		t.cookie = n.ref
	} else if t.cookie >= 0 {
		cookie := t.cookie
		t.cookie = -1
		next := t.node(t.below(p))
		if next == nil || next.end || next.active || next.ref != cookie {
			return false
		}
	}
	n.active = false
	return true
}

func (t *rbtree) flush() {
	for _, b := range t.blocks {
		for i := range b {
			b[i].active = false
		}
	}
}
