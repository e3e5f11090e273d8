package rows

import (
	"maps"
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// Region is a part of a function in which rows do not look at each other until, at its end,
// something is added up over all of them: a loss and its gradients, from the samples of a
// minibatch. What lies between is computed row by row and never needs memory of its own.
type Region struct {
	Rows   int
	Inputs []*ir.Value // values of the function that are read; nil for one that only other regions read
	Sums   []Total
}

// Total is a sum over rows: of X, element by element, or of the products of every element of X with
// every one of Y.
type Total struct {
	Value *ir.Value // value of the function that the sum computes
	X, Y  *Node
}

// Regions finds the regions of a function, whose nodes it may rearrange. Sums that depend on
// equally many others before them are one region, so that every region needs only what earlier ones
// and the rest of the function give. What is no product goes with the products with which it has
// most in common.
func Regions(f *ir.Func) []*Region {
	rows := commonRows(f)
	if rows < 2 {
		return nil
	}
	distribute(f, rows)
	s := survey(f, rows)
	t := &finder{rows: rows, out: &Loop{}, region: true, inputs: map[*ir.Value]int{}, done: map[asked]*Node{}}
	t.nodes = map[string]*Node{}
	regions := map[int]*Region{}
	var rest []Total
	var out []*Region
	for _, n := range s.sums {
		total, ok := t.total(n)
		switch l := s.level[n]; {
		case !ok:
		case total.Y == nil:
			rest = append(rest, total)
		default:
			if regions[l] == nil {
				regions[l] = &Region{Rows: rows}
				out = append(out, regions[l])
			}
			regions[l].Sums = append(regions[l].Sums, total)
		}
	}
	for _, total := range rest {
		if r := s.home(total, regions); r != nil {
			r.Sums = append(r.Sums, total)
		}
	}
	for _, r := range out {
		r.Inputs = make([]*ir.Value, len(t.out.Inputs))
		for n := range r.nodes() {
			if n.Op == Load || n.Op == Dot {
				r.Inputs[n.Input] = t.out.Inputs[n.Input]
			}
		}
	}
	return out
}

// nodes returns all that a region computes.
func (r *Region) nodes() map[*Node]bool {
	seen := map[*Node]bool{}
	for _, t := range r.Sums {
		t.visit(seen)
	}
	return seen
}

// visit marks what a sum needs.
func (t Total) visit(seen map[*Node]bool) {
	var down func(n *Node)
	down = func(n *Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, a := range n.Args {
			down(a)
		}
	}
	down(t.X)
	down(t.Y)
}

// order is which sums over rows a function has, and which are before which.
type order struct {
	sums   []*ir.Node
	level  map[*ir.Node]int // how many sums lie before a node, itself included, in the longest row of them
	latest map[*ir.Node]int // the level that a sum may wait for
}

func survey(f *ir.Func, rows int) order {
	o := order{level: map[*ir.Node]int{}, latest: map[*ir.Node]int{}}
	live := f.Live()
	for _, n := range f.Nodes {
		if !live[n] {
			continue
		}
		for _, v := range n.Inputs {
			o.level[n] = max(o.level[n], o.level[v.Node])
		}
		if _, ok := overRows(n, rows); ok {
			o.level[n]++
			o.sums = append(o.sums, n)
		}
	}
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		n := f.Nodes[i]
		if !live[n] {
			continue
		}
		if _, ok := o.latest[n]; !ok {
			o.latest[n] = math.MaxInt
		}
		bound := o.latest[n]
		if _, ok := overRows(n, rows); ok {
			bound = o.level[n] - 1
		}
		for _, v := range n.Inputs {
			if old, ok := o.latest[v.Node]; !ok || bound < old {
				o.latest[v.Node] = bound
			}
		}
	}
	return o
}

// home returns the region in which a sum needs the fewest products that are not computed there
// anyway.
func (o order) home(t Total, regions map[int]*Region) *Region {
	mine := map[*Node]bool{}
	t.visit(mine)
	var best *Region
	least := math.MaxInt
	first, last := o.level[t.Value.Node], o.latest[t.Value.Node]
	for _, l := range slices.Sorted(maps.Keys(regions)) {
		if l < first || l > last {
			continue
		}
		theirs, more := regions[l].nodes(), 0
		for n := range mine {
			if n.Op == Dot && !theirs[n] {
				more++
			}
		}
		if more < least {
			best, least = regions[l], more
		}
	}
	return best
}

// commonRows returns over how many rows most products of a function are summed, as the gradient of
// a matrix is.
func commonRows(f *ir.Func) int {
	count, best := map[int]int{}, 0
	for _, n := range f.Nodes {
		a, ok := n.Attr.(ir.Dot)
		if !ok || n.Op != compute.OpTypeDotGeneral || len(a.LhsBatch) > 0 || len(a.LhsContract) != 1 || a.LhsContract[0] != 0 || a.RhsContract[0] != 0 ||
			n.Inputs[0].Shape.Rank() != 2 || n.Inputs[1].Shape.Rank() != 2 || n.Outputs[0].DType() != dtypes.Float32 {
			continue
		}
		rows := n.Inputs[0].Shape.Dimensions[0]
		if count[rows]++; count[rows] > count[best] || count[rows] == count[best] && rows > best {
			best = rows
		}
	}
	return best
}

// overRows reports whether a node adds up rows, and along which axis of its first operand they are.
func overRows(n *ir.Node, rows int) (axis int, ok bool) {
	switch a := n.Attr.(type) {
	case ir.Dot:
		x, y := n.Inputs[0].Shape, n.Inputs[1].Shape
		ok = n.Op == compute.OpTypeDotGeneral && len(a.LhsBatch) == 0 && len(a.LhsContract) == 1 && x.Rank() == 2 && y.Rank() == 2 &&
			x.Dimensions[a.LhsContract[0]] == rows && x.DType == dtypes.Float32
		if ok {
			axis = a.LhsContract[0]
		}
	case ir.Axes:
		dims := n.Inputs[0].Shape.Dimensions
		axis = slices.Index(dims, rows)
		ok = n.Op == compute.OpTypeReduceSum && axis >= 0 && (len(a.Axes) == 0 || slices.Contains(a.Axes, axis)) &&
			(n.Outputs[0].DType() == dtypes.Float32 || n.Outputs[0].DType() == dtypes.Float64)
	}
	return axis, ok
}

// total writes one sum.
func (f *finder) total(n *ir.Node) (t Total, ok bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			ok = false
		default:
			panic(r)
		}
	}()
	axis, _ := overRows(n, f.rows)
	t.Value = n.Outputs[0]
	if a, isDot := n.Attr.(ir.Dot); isDot {
		t.X, t.Y = f.row(n.Inputs[0], axis), f.row(n.Inputs[1], a.RhsContract[0])
		return t, t.computed()
	}
	axes := slices.Clone(n.Attr.(ir.Axes).Axes)
	if len(axes) == 0 {
		axes = count(n.Inputs[0].Shape.Rank())
	}
	axes = slices.DeleteFunc(axes, func(a int) bool { return a == axis })
	x, groups := f.groupedFrom(n.Inputs[0], axes, axis)
	t.X = f.reduce(compute.OpTypeReduceSum, x, groups)
	return t, t.computed()
}

// computed reports whether rows compute something for a sum: what is only read, or the same for
// all, is better summed elsewhere.
func (t Total) computed() bool {
	seen := map[*Node]bool{}
	t.visit(seen)
	for n := range seen {
		if n.Op == Dot {
			return true
		}
	}
	return false
}
