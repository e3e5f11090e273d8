package rl

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Ctx is a graph function under construction: the graph, the parameters it may
// read and the random draws it may make.
//
//weft:context
type Ctx struct {
	dev   *Device
	scope *Scope // nil in the vocabulary's own small operations
	graph *graph.Graph
	draws []draw
	part  string                // prefix of the names of draws
	cells map[*cell]*graph.Node // statistics read by the graph

	parts *parting  // among several devices; nil on one
	lower *Lowering // where the graph is a whole loop; nil elsewhere
	key   Key       // there, of the call that is being built
	lead  int       // and the rows of its batch
	used  []string  // and what it has drawn
}

type ctxLink struct{}

// newGraph starts c's graph.
func (c *Ctx) newGraph(name string) {
	c.graph = graph.NewGraph(c.dev.backend, name)
	if c.parts != nil {
		check(c.graph.SetAutoSharding(c.parts.mesh))
	}
	c.graph.AttachState(ctxLink{}, c)
	if c.scope != nil {
		model.SetStore(c.graph, c.scope.store)
	}
}

// ctxOf returns the construction that the first node among tensors belongs to, or
// nil if all are values.
func ctxOf(in []Tensor) *Ctx {
	for _, t := range in {
		if t.node != nil {
			return t.node.Graph().State(ctxLink{}).(*Ctx)
		}
	}
	return nil
}

// Graph returns the GoMLX graph under construction.
func (c *Ctx) Graph() *graph.Graph { return c.graph }

// Scope returns the GoMLX scope that holds p's parameters: any GoMLX layer builds on
// it. Asking twice gives the same parameters, so a network may be applied to
// several inputs of one graph.
//
//weft:traces component=0
func (c *Ctx) Scope(p *Params) *model.Scope {
	if c.scope == nil {
		failf("parameters %q belong to another scope", p.name)
	}
	c.scope.own([]*Params{p})
	return c.scope.store.RootScope().At("%s", p.name)
}

// read returns the graph value of a cell that is no GoMLX variable.
func (c *Ctx) read(x *cell) *graph.Node {
	if x.value.node != nil {
		return x.value.node // inside a device program
	}
	if n, ok := c.cells[x]; ok {
		return n
	}
	if c.cells == nil {
		c.cells = map[*cell]*graph.Node{}
	}
	n := graph.Parameter(c.graph, "read:"+x.path, x.value.Shape())
	c.cells[x] = n
	return n
}

// InitKey returns the key of the initial value of what lies at path, so that
// parameters do not depend on the order in which they were made.
func (c *Ctx) InitKey(path string) Key { return c.scope.Key("init").Use(path) }

// Const returns a float32 scalar in the graph.
func (c *Ctx) Const(x float64) *graph.Node { return graph.Scalar(c.graph, dtypes.Float32, x) }

// lift turns values among in into constants of the graph.
func (c *Ctx) lift(in []Tensor) []Tensor {
	out := make([]Tensor, len(in))
	for i, t := range in {
		if t.val != nil {
			t = Wrap(c.constant(t))
		}
		out[i] = t
	}
	return out
}

func (c *Ctx) constant(t Tensor) *graph.Node {
	x := tensors.FromShape(*t.val.shape)
	check(x.MutableFlatData(func(flat any) { dtypes.CopyAnySlice(flat, t.host()) }))
	return graph.ConstTensor(c.graph, x)
}

// draw is a block of random numbers that a graph function asked for. Outside a
// lowered loop they are an input, filled in Go by the definition in key.go: at
// the batch sizes of a rollout that is much cheaper than the same integer
// arithmetic as graph operations, and the bits are the same.
type draw struct {
	use    string
	n      int // numbers in a row
	shared bool
	handle graph.ParameterHandle
}

// Uniform draws numbers in (0,1), one block of dims[1:] for each of dims[0]
// rows, as the row's global index and the key of the call determine. A use may
// be drawn once in a graph function.
//
//weft:draws
func (c *Ctx) Uniform(use string, dims ...int) *graph.Node {
	if len(dims) == 0 {
		failf("draw %q needs a row axis", use)
	}
	return c.uniform(use, false, dims)
}

// uniform draws dims[1:] numbers for each of dims[0] rows, or for the one row that stands for all.
func (c *Ctx) uniform(use string, shared bool, dims []int) *graph.Node {
	use = c.part + use
	n := 1
	for _, d := range dims[1:] {
		n *= d
	}
	if c.lower != nil {
		return c.drawn(use, n, shared, dims)
	}
	for _, d := range c.draws {
		if d.use == use {
			failf("random use %q is drawn twice in one graph function: give each draw its own name", use)
		}
	}
	p := graph.Parameter(c.graph, "draw:"+use, shapes.Make(dtypes.Float32, dims...))
	c.draws = append(c.draws, draw{use, n, shared, p.GetParameterHandle()})
	return p
}

// Draws returns how many draws the graph function has made so far.
func (c *Ctx) Draws() int { return len(c.draws) + len(c.used) }

// drawn does what uniform does inside a device program: the same integer arithmetic as graph
// code.
func (c *Ctx) drawn(use string, n int, shared bool, dims []int) *graph.Node {
	if slices.Contains(c.used, use) {
		failf("random use %q is drawn twice in one graph function: give each draw its own name", use)
	}
	c.used = append(c.used, use)
	k := draw{shared: shared}.key(c.key, c.lead, dims[0]).graph(c.graph).use(use)
	return graph.Reshape(c.lower.uniform(k, dims[0], max(n, 1)), dims...)
}

// calling builds a graph function that the loop of a device program calls: its
// draws are keyed by the call.
func (c *Ctx) calling(k Key, lead int, build func()) {
	key, used, part, rows := c.key, c.used, c.part, c.lead
	c.key, c.used, c.part, c.lead = k, nil, "", lead
	build()
	c.key, c.used, c.part, c.lead = key, used, part, rows
}

// Normal draws standard normal numbers by the Box-Muller transform.
//
//weft:draws
func (c *Ctx) Normal(use string, dims ...int) *graph.Node {
	return normal(c.Uniform(use, append(append([]int(nil), dims...), 2)...))
}

// normal returns standard normal numbers of uniform ones, [..., 2], by the Box-Muller transform.
func normal(pair *graph.Node) *graph.Node {
	last := pair.Rank() - 1
	u := graph.Split(pair, last, 2)
	r := graph.Sqrt(graph.MulScalar(graph.Log(graph.Squeeze(u[0], last)), -2.0))
	return graph.Mul(r, graph.Cos(graph.MulScalar(graph.Squeeze(u[1], last), 2*math.Pi)))
}

// Gumbel draws standard Gumbel numbers: the largest of logits plus these is a
// sample of the categorical distribution.
//
//weft:draws
func (c *Ctx) Gumbel(use string, dims ...int) *graph.Node {
	return graph.Neg(graph.Log(graph.Neg(graph.Log(c.Uniform(use, dims...)))))
}

// Within names the draws that f makes under a part of their own, so that two
// pieces of one graph function need not know each other's names.
func (c *Ctx) Within(part string, f func()) {
	outer := c.part
	c.part = outer + part + "/"
	f()
	c.part = outer
}

// key returns the key of the draw's numbers in a call by k on a batch of lead rows, where it has
// rows rows: by their places among the rows of all replicas, or by row 0, which stands for all.
func (d draw) key(k Key, lead, rows int) Key {
	if d.shared {
		return k.At(0)
	}
	return k.forBatch(lead, rows)
}

func (d draw) write(k Key, out []float32) { k.Use(d.use).fillUniform(out, d.n) }

func makeFlat(s shapes.Shape) any { return dtypes.MakeAnySlice(s.DType, s.Size()) }
