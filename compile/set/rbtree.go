package set

import (
	"bytes"

	"github.com/nftc/nftc/compile/pipapo"
)

// ecanceled is the answer to a second end point at key 0, which nft_add_set_elem
// takes for success.
const ecanceled Errno = 125

// rbtree models what nft_set_rbtree.c decides on insertion and removal of points
// within a transaction. The order is the kernel's, from high keys to low ones, a
// start before an end of the same key. Deactivated points stay in the tree, as in
// the kernel until commit; where they share a key with active ones the answers
// depend on the tree's shape, so it is balanced the same way.
type rbtree struct {
	anonymous bool
	// cookie is the start point that the last message named as existing, by its place
	// in nodes (start_rbe_cookie); 0 is none.
	cookie int32
	root   int32
	nodes  []rbnode // 0 is no node
}

type rbnode struct {
	key                 []byte
	left, right, parent int32 // left is higher
	red, end, active    bool
	ref                 int32
}

func newRBTree(anonymous bool) *rbtree {
	return &rbtree{anonymous: anonymous, nodes: make([]rbnode, 1)}
}

// lowest is the last point, nil in an empty tree (rb_last).
func (t *rbtree) lowest() *rbnode {
	n := t.root
	if n == 0 {
		return nil
	}
	for t.nodes[n].right != 0 {
		n = t.nodes[n].right
	}
	return &t.nodes[n]
}

// next is the point below n in the order, 0 if none (rb_next).
func (t *rbtree) next(n int32) int32 {
	if r := t.nodes[n].right; r != 0 {
		for t.nodes[r].left != 0 {
			r = t.nodes[r].left
		}
		return r
	}
	for p := t.nodes[n].parent; ; n, p = p, t.nodes[p].parent {
		if p == 0 || t.nodes[p].left == n {
			return p
		}
	}
}

// prev is the point above n in the order, 0 if none (rb_prev).
func (t *rbtree) prev(n int32) int32 {
	if l := t.nodes[n].left; l != 0 {
		for t.nodes[l].right != 0 {
			l = t.nodes[l].right
		}
		return l
	}
	for p := t.nodes[n].parent; ; n, p = p, t.nodes[p].parent {
		if p == 0 || t.nodes[p].right == n {
			return p
		}
	}
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
// the way, else -1.
//
// __nft_rbtree_insert: from the closest point above the new one it walks down the
// order and notes the closest active point at or above (ge) and at or below (le)
// it.
func (t *rbtree) insert(key []byte, end bool, ref int32) (Errno, int32) {
	parent, first, higher := int32(0), int32(0), false
	for n := t.root; n != 0; {
		parent = n
		node := &t.nodes[n]
		switch d := bytes.Compare(node.key, key); {
		case d < 0 || d == 0 && node.end:
			n, higher = node.left, true
		default:
			if d > 0 && (first == 0 || bytes.Compare(node.key, t.nodes[first].key) < 0) {
				first = n
			}
			n, higher = node.right, false
		}
	}
	from := first
	if from == 0 {
		for from = t.root; from != 0 && t.nodes[from].left != 0; from = t.nodes[from].left {
		}
	}

	var ge, le int32
	for n := from; n != 0; n = t.next(n) {
		node := &t.nodes[n]
		if !node.active {
			continue
		}
		d := bytes.Compare(node.key, key)
		if d > 0 {
			ge = n
			continue
		}
		if d == 0 && !node.end {
			if ge == 0 || !bytes.Equal(t.nodes[ge].key, key) || end == t.nodes[ge].end {
				ge = n
			}
			continue
		}
		le = n
		break
	}

	null := end && isZero(key)
	if null || !end {
		t.cookie = 0
	}
	above, below := &t.nodes[ge], &t.nodes[le]
	switch {
	case ge != 0 && above.end == end && bytes.Equal(above.key, key):
		t.cookie = ge
		return pipapo.EEXIST, above.ref
	case le != 0 && below.end == end && bytes.Equal(below.key, key):
		if null {
			return ecanceled, below.ref
		}
		if !t.sameInterval(le) {
			return pipapo.ENOTEMPTY, below.ref
		}
		return pipapo.EEXIST, below.ref
	case le != 0 && !below.end && !end:
		// Anonymous sets leave the end out between adjacent intervals; but a start
		// must not lie between a start and its end.
		if !t.anonymous {
			return pipapo.ENOTEMPTY, below.ref
		}
		if p := t.prev(le); p != 0 && t.nodes[p].end {
			return pipapo.ENOTEMPTY, below.ref
		}
	case le != 0 && below.end && end:
		return pipapo.ENOTEMPTY, below.ref
	}
	if ge != 0 && above.end && end {
		return pipapo.ENOTEMPTY, above.ref
	}

	n := int32(len(t.nodes))
	t.nodes = append(t.nodes, rbnode{key: key, end: end, active: true, ref: ref, parent: parent, red: true})
	switch {
	case parent == 0:
		t.root = n
	case higher:
		t.nodes[parent].left = n
	default:
		t.nodes[parent].right = n
	}
	t.balance(n)
	return 0, -1
}

// sameInterval tells whether the existing end n belongs to the start that the
// message named before it (nft_rbtree_insert_same_interval).
func (t *rbtree) sameInterval(n int32) bool {
	if t.cookie == 0 {
		return true
	}
	cookie := t.cookie
	t.cookie = 0
	for n = t.next(n); n != 0 && !t.nodes[n].active; n = t.next(n) {
	}
	return n == cookie && !t.nodes[n].end
}

// deactivate removes a point; false if there is none such, or if an end does not
// belong to the start removed before it (nft_rbtree_deactivate,
// nft_rbtree_deactivate_same_interval).
func (t *rbtree) deactivate(key []byte, end bool) bool {
	if !end || isZero(key) {
		t.cookie = 0
	}
	n := t.find(key, end)
	if n == 0 {
		return false
	}
	if !end {
		t.cookie = n
	} else if t.cookie != 0 {
		cookie := t.cookie
		t.cookie = 0
		next := t.next(n)
		if next != cookie || t.nodes[next].end || t.nodes[next].active {
			return false
		}
	}
	t.nodes[n].active = false
	return true
}

// find gives the active point that nft_rbtree_deactivate comes to, 0 if none.
func (t *rbtree) find(key []byte, end bool) int32 {
	n := t.root
	for n != 0 {
		node := &t.nodes[n]
		d := bytes.Compare(node.key, key)
		if d == 0 && node.end == end && node.active {
			break
		}
		switch {
		case d < 0, d == 0 && node.end && !end, d == 0 && node.end == end:
			n = node.left
		default:
			n = node.right
		}
	}
	return n
}

func (t *rbtree) flush() {
	for i := range t.nodes {
		t.nodes[i].active = false
	}
}

// balance restores the red-black rules after the new red node n was linked
// (rb_insert_color).
func (t *rbtree) balance(n int32) {
	for {
		p := t.nodes[n].parent
		if p == 0 {
			t.nodes[n].red = false
			return
		}
		if !t.nodes[p].red {
			return
		}
		g := t.nodes[p].parent
		left := t.nodes[g].left == p
		uncle := t.nodes[g].left
		if left {
			uncle = t.nodes[g].right
		}
		if uncle != 0 && t.nodes[uncle].red {
			t.nodes[p].red, t.nodes[uncle].red, t.nodes[g].red = false, false, true
			n = g
			continue
		}
		if inner := t.nodes[p].left == n; inner != left {
			t.rotate(p, left)
			p = n
		}
		t.nodes[p].red, t.nodes[g].red = false, true
		t.rotate(g, !left)
		return
	}
}

// rotate moves n down to the left or right; its other child takes its place.
func (t *rbtree) rotate(n int32, left bool) {
	node := &t.nodes[n]
	var up, across int32
	if left {
		up = node.right
		across = t.nodes[up].left
		node.right, t.nodes[up].left = across, n
	} else {
		up = node.left
		across = t.nodes[up].right
		node.left, t.nodes[up].right = across, n
	}
	if across != 0 {
		t.nodes[across].parent = n
	}
	p := node.parent
	t.nodes[up].parent, node.parent = p, up
	switch {
	case p == 0:
		t.root = up
	case t.nodes[p].left == n:
		t.nodes[p].left = up
	default:
		t.nodes[p].right = up
	}
}
