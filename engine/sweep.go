package engine

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// sweep is a group of clusters that treat the rows of one batch separately, or sum over them. They
// become one step that takes a tile of rows through all of them before the next: what one cluster
// writes, the next finds in the cache of the core that wrote it, and the goroutines meet once for
// the whole group.
//
// Rows are the first axis of every value that a member computes for another: so row i of one is
// made of rows i.
type sweep struct {
	rows, tile int
	members    []*cluster
	late       int // how many members, the last, wait for all rows
}

// sweepTile is how many rows of a large batch are taken through a sweep at a time: the block in
// which products are summed over rows, so that a tile makes a whole partial sum.
const sweepTile = kernel.ProductBlock

// newSweep decides how a batch of rows is cut. Few rows are shared out evenly, in blocks that no
// reduction over the rows cuts; sums over them wait until all are there.
func newSweep(rows, threads int) *sweep {
	if rows >= sweepTile*max(2, threads) {
		return &sweep{rows: rows, tile: sweepTile}
	}
	each := (rows + threads - 1) / threads
	return &sweep{rows: rows, tile: (each + kernel.ColumnBlock - 1) / kernel.ColumnBlock * kernel.ColumnBlock}
}

// minSweepRows is from how many rows on a batch can be cut at all.
const minSweepRows = 2 * kernel.ColumnBlock

// sweeper finds the sweeps of a function.
type sweeper struct {
	*fuser
	threads int
	cur     *sweep
	after   map[*cluster]bool // depend on a member of the current sweep
	cost    int               // cost of the current sweep
}

// sweeps finds sweeps among clusters, and returns the clusters in an order in which those of a
// sweep are next to each other.
func (fu *fuser) sweeps(order []*cluster, s settings) []*cluster {
	rows := commonRows(order)
	if rows < minSweepRows {
		return order
	}
	sw := &sweeper{fuser: fu, threads: s.threads}
	sw.begin(rows)
	for _, c := range order {
		switch {
		case sw.joins(c):
			sw.cur.members = append(sw.cur.members, c)
			sw.cost += clusterCost(c)
		case sw.rowwise(c):
			order = append(order, sw.end()...)
			sw.begin(rows)
			if sw.joins(c) {
				sw.cur.members, sw.cost = []*cluster{c}, clusterCost(c)
			}
		default:
			sw.after[c] = sw.dependent(c)
		}
	}
	return fu.reorder(append(order, sw.end()...))
}

// commonRows returns the length of first axes that most of the work has.
func commonRows(order []*cluster) int {
	cost := map[int]int{}
	best := 0
	for _, c := range order {
		if rows := rowsOf(c); rows > 0 {
			cost[rows] += clusterCost(c)
			if best == 0 || cost[rows] > cost[best] {
				best = rows
			}
		}
	}
	return best
}

// rowsOf returns the first axis of what a cluster computes.
func rowsOf(c *cluster) int {
	if d := c.elementwise().Outputs[0].Shape.Dimensions; len(d) > 0 {
		return d[0]
	}
	return 0
}

// clusterCost returns roughly how many nanoseconds a cluster takes.
func clusterCost(c *cluster) (cost int) {
	for _, n := range c.nodes {
		size := n.Outputs[0].Size()
		switch {
		case n.Op == compute.OpTypeDotGeneral:
			cost += 2 * gemmOf(n).k * size / flopsPerNano
		case ir.Elementwise(n.Op):
			cost += loopCost(n.Op) * size / 1000
		}
	}
	return cost
}

func (sw *sweeper) begin(rows int) {
	sw.cur, sw.after, sw.cost = newSweep(rows, sw.threads), map[*cluster]bool{}, 0
}

// end keeps the current sweep if it is worth it. Reductions that need other blocks of rows than its
// tiles become clusters of their own, which are returned.
func (sw *sweeper) end() (loose []*cluster) {
	s := sw.cur
	if len(s.members) < 2 || s.tile >= s.rows || sw.cost < 2*parallelCost {
		return nil
	}
	if s.tile%sweepTile != 0 {
		sums := func(c *cluster) bool { return !sw.sums(c) }
		early := slices.DeleteFunc(slices.Clone(s.members), sw.sums)
		s.late = len(s.members) - len(early)
		s.members = append(early, slices.DeleteFunc(s.members, sums)...)
	}
	for _, c := range s.members {
		c.sweep = s
		for _, n := range slices.Clone(c.tails) {
			if sumUnit(n) == 0 || s.tile%sumUnit(n) == 0 {
				continue
			}
			same := func(m *ir.Node) bool { return m == n }
			c.tails, c.nodes = slices.DeleteFunc(c.tails, same), slices.DeleteFunc(c.nodes, same)
			sw.of[n] = &cluster{nodes: []*ir.Node{n}}
			loose = append(loose, sw.of[n])
		}
	}
	return loose
}

// sumUnit returns how many rows the blocks of a reduction have that goes over the rows, 0 for one
// within them.
func sumUnit(n *ir.Node) int {
	r := reductionOf(n)
	switch {
	case r.outer > 1:
		return 0
	case r.inner > 1:
		return kernel.ColumnBlock
	}
	width := n.Inputs[0].Size() / firstAxis(n.Inputs[0])
	return lcm(kernel.ReduceBlock, width) / width
}

// joins reports whether c can be a member of the current sweep.
func (sw *sweeper) joins(c *cluster) bool {
	ok := sw.rowwise(c) || sw.sums(c)
	sw.producers(c, func(q *cluster) { ok = ok && !sw.after[q] })
	for _, n := range c.nodes {
		for i, v := range n.Inputs {
			ok = ok && (!sw.inside(v) || sw.byRow(n, i))
		}
	}
	return ok
}

// dependent reports whether c depends on the current sweep.
func (sw *sweeper) dependent(c *cluster) bool {
	found := false
	sw.producers(c, func(q *cluster) { found = found || sw.after[q] || slices.Contains(sw.cur.members, q) })
	return found
}

// inside reports whether a member of the current sweep computes v.
func (sw *sweeper) inside(v *ir.Value) bool {
	q := sw.of[sw.producer(v)]
	return q != nil && slices.Contains(sw.cur.members, q)
}

// byRow reports whether node n reads operand i, which a member computes, row by row.
func (sw *sweeper) byRow(n *ir.Node, i int) bool {
	v := n.Inputs[i]
	weights := n.Op == compute.OpTypeDotGeneral && i > 0 && !overRows(n)
	if weights || overRows(sw.producer(v)) {
		return false
	}
	b := n
	if b.Op != compute.OpTypeBroadcastInDim {
		b = v.Node
	}
	if b.Op == compute.OpTypeBroadcastInDim && (b == n || sw.folded[b]) {
		return firstAxis(b.Inputs[0]) == sw.cur.rows && b.Attr.(ir.Axes).Axes[0] == 0
	}
	return firstAxis(v) == sw.cur.rows
}

func firstAxis(v *ir.Value) int {
	if d := v.Shape.Dimensions; len(d) > 0 {
		return d[0]
	}
	return 0
}

// overRows reports whether a node sums over the rows.
func overRows(n *ir.Node) bool {
	if op.Of(n.Op).Class == op.Reduce {
		return slices.Contains(n.Attr.(ir.Axes).Axes, 0)
	}
	return n.Op == compute.OpTypeDotGeneral && slices.Contains(n.Attr.(ir.Dot).LhsContract, 0)
}

// rowwise reports whether c computes rows of the sweep's batch, each by itself: a region, perhaps
// with a product by weights as its head, such a product alone, or a reduction or a maximum within
// rows.
func (sw *sweeper) rowwise(c *cluster) bool {
	n, rows := c.nodes[0], sw.cur.rows
	switch {
	case rowsOf(c) != rows || c.elementwise().Outputs[0].Size() == 0:
		return false
	case c.region():
		return n.Op != compute.OpTypeTranspose && (c.head == nil || layer(c.head, rows))
	case n.Op == compute.OpTypeDotGeneral:
		return layer(n, rows)
	case n.Op == compute.OpTypeArgMinMax:
		return firstAxis(n.Inputs[0]) == rows && fastArg(n)
	}
	if !fastReduce(n) || firstAxis(n.Inputs[0]) != rows || overRows(n) {
		return false
	}
	r := reductionOf(n)
	return r.walk == nil && r.inner == 1
}

// layer reports whether a product is one of rows by weights.
func layer(n *ir.Node, rows int) bool {
	if n.Op != compute.OpTypeDotGeneral || n.Outputs[0].DType() != dtypes.Float32 || firstAxis(n.Inputs[0]) != rows {
		return false
	}
	g := gemmOf(n)
	return g.batch == 1 && g.m == rows && g.a.copy == nil && g.a.cs == 1 && !slices.Contains(n.Attr.(ir.Dot).LhsContract, 0)
}

// sums reports whether c is the gradient of a weight, a product of two batches summed over their
// rows, or such a column sum.
func (sw *sweeper) sums(c *cluster) bool {
	n, rows := c.nodes[0], sw.cur.rows
	if len(c.nodes) > 1 || n.Outputs[0].DType() != dtypes.Float32 || n.Outputs[0].Size() == 0 || firstAxis(n.Inputs[0]) != rows || !overRows(n) {
		return false
	}
	if n.Op == compute.OpTypeDotGeneral {
		g := gemmOf(n)
		return g.batch == 1 && g.k == rows && firstAxis(n.Inputs[1]) == rows && g.a.copy == nil && g.b.copy == nil && g.b.cs == 1
	}
	if !fastReduce(n) {
		return false
	}
	r := reductionOf(n)
	return r.walk == nil && r.outer == 1 && r.inner > 1 && r.length == rows
}

// reorder emits clusters after what they read, and sweeps in one piece.
func (fu *fuser) reorder(all []*cluster) (out []*cluster) {
	done := map[*cluster]bool{}
	var emit func(c *cluster)
	emit = func(c *cluster) {
		if done[c] {
			return
		}
		unit := []*cluster{c}
		if c.sweep != nil {
			unit = c.sweep.members
		}
		for _, m := range unit {
			done[m] = true
		}
		for _, m := range unit {
			fu.producers(m, emit)
		}
		out = append(out, unit...)
	}
	for _, c := range all {
		emit(c)
	}
	return out
}
