package engine

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// cluster groups the nodes that become one step: a single one, or a region of elementwise nodes of
// the same dimensions that run block by block, perhaps on the rows of a product or convolution as
// they come, and perhaps handing them to reductions.
type cluster struct {
	nodes []*ir.Node
	head  *ir.Node   // the product or convolution whose rows the region finishes, if any; it is among the nodes too
	tails []*ir.Node // the reductions of what the region computes; they are among the nodes too
	sweep *sweep     // the group that the cluster is a member of, if any
}

// region reports whether the cluster is run by the block interpreter.
func (c *cluster) region() bool { return len(c.nodes) > 1 || regional(c.nodes[0]) }

// elementwise returns a node whose output has the dimensions of the region.
func (c *cluster) elementwise() *ir.Node {
	for _, n := range c.nodes {
		if n != c.head && !slices.Contains(c.tails, n) {
			return n
		}
	}
	return c.nodes[0]
}

// regional reports whether a node can be part of a region. Broadcasts, and transpositions that keep
// their rows, count as copies with strides, though only a region of their own.
func regional(n *ir.Node) bool {
	return ir.Elementwise(n.Op) || n.Op == compute.OpTypeBroadcastInDim ||
		n.Op == compute.OpTypeTranspose && transpositionOf(n) == nil
}

// The limits of a region: with more nodes or temporaries than this, blocks would no longer stay in
// the first-level cache, and a fused region would not gain anything.
const maxRegionNodes = 32

// fuser groups the nodes of a function into clusters.
type fuser struct {
	f       *ir.Func
	users   map[*ir.Value][]*ir.Node
	results map[*ir.Value]bool
	folded  map[*ir.Node]bool // broadcasts read through by the regions that use them
	of      map[*ir.Node]*cluster
	visit   map[*cluster]int
	stamp   int
}

// fuse returns the clusters of f in an order in which each comes after what it reads, and the
// broadcasts that have none because regions read through them.
func fuse(f *ir.Func, s settings) ([]*cluster, map[*ir.Node]bool) {
	f.Renumber()
	fu := &fuser{f: f, users: map[*ir.Value][]*ir.Node{}, results: map[*ir.Value]bool{}, folded: map[*ir.Node]bool{},
		of: map[*ir.Node]*cluster{}, visit: map[*cluster]int{}}
	for _, n := range f.Nodes {
		for _, v := range n.Inputs {
			fu.users[v] = append(fu.users[v], n)
		}
	}
	for _, r := range f.Results {
		fu.results[r] = true
	}
	for _, n := range f.Nodes {
		if s.on("fuse") && fu.foldable(n) {
			fu.folded[n] = true
		} else if stepped(n) {
			fu.of[n] = &cluster{nodes: []*ir.Node{n}}
		}
	}
	if s.on("fuse") {
		fu.merge(s)
	}
	order := fu.order()
	if s.on("sweep") {
		order = fu.sweeps(order, s)
	}
	return order, fu.folded
}

// stepped reports whether a node does something at run time.
func stepped(n *ir.Node) bool {
	if n.Op == compute.OpTypeSlice {
		_, ok := contiguous(n)
		return !ok
	}
	row := op.Of(n.Op)
	return row.Class != op.Source && !row.View()
}

// foldable reports whether n is a broadcast that only elementwise nodes use.
func (fu *fuser) foldable(n *ir.Node) bool {
	if n.Op != compute.OpTypeBroadcastInDim || fu.results[n.Outputs[0]] {
		return false
	}
	return !slices.ContainsFunc(fu.users[n.Outputs[0]], func(u *ir.Node) bool { return !ir.Elementwise(u.Op) })
}

// merge joins every elementwise node with the regions that use it, last first: what is cheap to
// compute is computed where it is needed rather than stored. A product or convolution becomes the
// head of the region that uses it.
func (fu *fuser) merge(s settings) {
	for _, n := range slices.Backward(fu.f.Nodes) {
		if !ir.Elementwise(n.Op) && !(s.on("epilogue") && epilogued(n)) {
			continue
		}
		for _, u := range slices.Backward(fu.users[n.Outputs[0]]) {
			if ir.Elementwise(u.Op) && fu.of[u] != fu.of[n] && sameDims(u.Outputs[0], n.Outputs[0]) {
				fu.join(fu.of[n], fu.of[u])
			}
		}
	}
	if s.on("tail") {
		for _, n := range fu.f.Nodes {
			fu.append(n)
		}
	}
}

// append makes a reduction the tail of the region that computes its operand.
func (fu *fuser) append(n *ir.Node) {
	if tailUnit(n) == 0 || !ir.Elementwise(n.Inputs[0].Node.Op) {
		return
	}
	c, own := fu.of[n.Inputs[0].Node], fu.of[n]
	with := &cluster{head: c.head, tails: append(slices.Clone(c.tails), n)}
	if len(c.nodes) >= maxRegionNodes || tileOf(with) == 0 || fu.depends(c, own) || fu.around(own, c) {
		return
	}
	if n := c.head; n != nil && headCost(n) > 4*parallelCost && n.Outputs[0].Size() < 4*tileOf(with) {
		return // the tail's tiles would leave the head's work to one goroutine
	}
	c.nodes, c.tails = append(c.nodes, n), with.tails
	fu.of[n] = c
}

// depends reports whether c reads p directly.
func (fu *fuser) depends(c, p *cluster) bool {
	found := false
	fu.producers(c, func(q *cluster) { found = found || q == p })
	return found
}

func sameDims(a, b *ir.Value) bool { return a.Shape.EqualDimensions(b.Shape) }

// epilogued reports whether a node can be the head of a region: it is made row by row.
func epilogued(n *ir.Node) bool {
	return (n.Op == compute.OpTypeDotGeneral || n.Op == compute.OpTypeConvGeneral) &&
		n.Outputs[0].DType() == dtypes.Float32 && n.Outputs[0].Size() > 0
}

func (fu *fuser) join(p, n *cluster) {
	if len(p.nodes)+len(n.nodes) > maxRegionNodes {
		return
	}
	head := p.head
	for _, c := range []*cluster{p, n} {
		if d := c.nodes[0]; len(c.nodes) == 1 && epilogued(d) {
			head = d
		} else if c.head != nil {
			head = c.head
		}
	}
	if countHeads(p)+countHeads(n) > 1 || head != nil && fu.feeds(p, n, head) || fu.viewed(p, n) || fu.around(p, n) || fu.around(n, p) {
		return
	}
	p.nodes = append(p.nodes, n.nodes...)
	slices.SortFunc(p.nodes, func(a, b *ir.Node) int { return a.ID - b.ID })
	p.head = head
	for _, m := range n.nodes {
		fu.of[m] = p
	}
}

func countHeads(c *cluster) int {
	if c.head != nil || epilogued(c.nodes[0]) {
		return 1
	}
	return 0
}

// feeds reports whether an operand of the head would come from the region it is to be the head of.
func (fu *fuser) feeds(p, n *cluster, head *ir.Node) bool {
	for _, v := range head.Inputs {
		if q := fu.of[fu.producer(v)]; q != nil && (q == p || q == n) {
			return true
		}
	}
	return false
}

// viewed reports whether a node of one cluster reads a node of the other through a view or a
// broadcast: its elements would not be there in the order in which the region makes them.
func (fu *fuser) viewed(p, n *cluster) bool {
	for _, c := range []*cluster{p, n} {
		for _, m := range c.nodes {
			for _, v := range m.Inputs {
				if q := fu.of[fu.producer(v)]; fu.of[v.Node] == nil && (q == p || q == n) && q != nil {
					return true
				}
			}
		}
	}
	return false
}

// producer returns the node behind a value, views read through.
func (fu *fuser) producer(v *ir.Value) *ir.Node {
	n := v.Node
	for fu.of[n] == nil && len(n.Inputs) > 0 {
		n = n.Inputs[0].Node
	}
	return n
}

// around reports whether n depends on p by way of some other cluster; joining them would then make
// a cycle.
func (fu *fuser) around(p, n *cluster) bool {
	fu.stamp++
	first := p.nodes[0].ID
	found := false
	fu.producers(n, func(q *cluster) {
		if q != p && q != n && fu.reaches(q, p, n, first) {
			found = true
		}
	})
	return found
}

// reaches reports whether q depends on p; nothing that ends before first does.
func (fu *fuser) reaches(q, p, n *cluster, first int) bool {
	if q == p {
		return true
	}
	if fu.visit[q] == fu.stamp || q.nodes[len(q.nodes)-1].ID < first {
		return false
	}
	fu.visit[q] = fu.stamp
	found := false
	fu.producers(q, func(r *cluster) { found = found || fu.reaches(r, p, n, first) })
	return found
}

// producers calls fn with the cluster behind every operand of c.
func (fu *fuser) producers(c *cluster, fn func(*cluster)) {
	for _, n := range c.nodes {
		for _, v := range n.Inputs {
			if q := fu.of[fu.producer(v)]; q != nil && q != c {
				fn(q)
			}
		}
	}
}

// order puts every cluster after what it reads.
func (fu *fuser) order() []*cluster {
	var all []*cluster
	for _, n := range fu.f.Nodes {
		if c := fu.of[n]; c != nil && c.nodes[len(c.nodes)-1] == n {
			all = append(all, c)
		}
	}
	return fu.reorder(all)
}

// contiguous returns the byte offset of a slice that lies in one piece in its operand.
func contiguous(n *ir.Node) (int, bool) {
	a := n.Attr.(ir.Slice)
	in, out := n.Inputs[0].Shape.Dimensions, n.Outputs[0].Shape.Dimensions
	offset, stride, whole := 0, 1, true
	for i := len(in) - 1; i >= 0; i-- {
		if a.Strides[i] != 1 && out[i] > 1 || !whole && out[i] != 1 {
			return 0, false
		}
		whole = whole && out[i] == in[i]
		offset += a.Starts[i] * stride
		stride *= in[i]
	}
	return offset * n.Inputs[0].DType().Size(), true
}
