// Package yard holds what generated loops use beside the fixtures' kit: components
// of an author's own and helpers from another package.
package yard

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Tally adds up numbers: a component with state of its own.
//
//weft:fragment learner
type Tally struct{ sum, count float64 }

// NewTally registers an empty tally.
func NewTally(s *rl.Scope, name string) *Tally {
	t := &Tally{}
	s.Register(name, t)
	return t
}

// Axis of a tally: it is whole wherever it is.
func (t *Tally) Axis() rl.Axis { return rl.None }

// Save puts both numbers.
func (t *Tally) Save(s *rl.State) { rl.PutSlice(s, "numbers", []float64{t.sum, t.count}) }

// Load takes them back.
func (t *Tally) Load(s *rl.State) error {
	x := rl.GetSliceN[float64](s, "numbers", 2)
	if err := s.Err(); err != nil {
		return err
	}
	t.sum, t.count = x[0], x[1]
	return nil
}

// Add counts x. Earlier numbers weigh less, so that their order shows.
//
//weft:op writes
func (t *Tally) Add(x float64) { t.sum, t.count = .75*t.sum+x, t.count+1 }

// AddAll counts every number of a slice.
//
//weft:op writes
func (t *Tally) AddAll(list []float64) {
	for _, x := range list {
		t.sum, t.count = .75*t.sum+x, t.count+1
	}
}

// Level returns the weighted sum.
//
//weft:op reads
func (t *Tally) Level() float64 { return t.sum }

// Counts has a number for every environment.
type Counts struct {
	scope *rl.Scope
	n     []float32
}

// NewCounts registers zeros for the environments of a replica.
func NewCounts(s *rl.Scope, name string, rows int) *Counts {
	c := &Counts{s, make([]float32, rows)}
	s.Register(name, c)
	return c
}

// Axis of the numbers: each is an environment's.
func (c *Counts) Axis() rl.Axis { return rl.Envs }

// Save puts the numbers.
func (c *Counts) Save(s *rl.State) { s.PutRows("n", c.Rows()) }

// Load takes them back.
func (c *Counts) Load(s *rl.State) error {
	if x := s.GetRows("n", c.Rows()); s.Err() == nil {
		c.n = slices.Clone(rl.Read[float32](x))
	}
	return s.Err()
}

// Add counts a row of x for each environment.
//
//weft:op writes
func (c *Counts) Add(x rl.Tensor) {
	for i, y := range rl.Read[float32](x) {
		c.n[i] = .5*c.n[i] + y
	}
}

// Drawn gives every environment a number by its place in this replica.
//
//weft:op writes
func (c *Counts) Drawn(k rl.Key) {
	for i := range c.n {
		c.n[i] = float32(k.Uniform(i, 0))
	}
}

// Placed gives every environment a number by its place in the run.
//
//weft:op writes
func (c *Counts) Placed(k rl.Key) {
	if own, ok := k.OwnOf(len(c.n)); ok {
		k = k.At(own.Lo)
	}
	for i := range c.n {
		c.n[i] = float32(k.Uniform(i, 0))
	}
}

// Rows returns the numbers.
//
//weft:op reads
func (c *Counts) Rows() rl.Tensor { return rl.FromFlat(c.scope, c.n, len(c.n)) }

// Total returns the sum of the numbers that this replica has.
//
//weft:op reads
func (c *Counts) Total() (sum float64) {
	for _, x := range c.n {
		sum += float64(x) * .1
	}
	return sum
}

// Mean is an accumulator for a loop's local variables.
type Mean struct {
	sum float64
	n   int
}

// Add counts x.
func (m *Mean) Add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

// Value returns the mean so far, 0 before the first number.
func (m *Mean) Value() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / float64(m.n)
}

// Many is tensors of one shape.
type Many struct{ All []rl.Tensor }

// Sum is a graph function: the weighted sum of its tensors.
func Sum(_ *rl.Ctx, m Many) rl.Tensor {
	sum := kit.Float(m.All[0])
	for i, t := range m.All[1:] {
		sum = graph.Add(sum, graph.MulScalar(kit.Float(t), float64(i+2)))
	}
	return rl.Wrap(sum)
}

// NewScale makes parameters of one linear unit.
func NewScale(s *rl.Scope, name string) *rl.Params {
	return rl.NewParams(s, name, func(c *rl.Ctx, sc *model.Scope) {
		scale(c, sc, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 1)))
	})
}

// Scale applies the unit to every number of x.
func Scale(c *rl.Ctx, p *rl.Params, x rl.Tensor) rl.Tensor {
	dims := x.Node().Shape().Dimensions
	return rl.Wrap(graph.Reshape(scale(c, c.Scope(p), graph.Reshape(x.Node(), -1, 1)), dims...))
}

func scale(c *rl.Ctx, sc *model.Scope, x *graph.Node) *graph.Node {
	return nn.Dense(c, sc.At("unit"), x, 1, 1)
}

// Centred subtracts the mean of all rows: its rows depend on each other.
func Centred(x rl.Tensor) rl.Tensor {
	return rl.Wrap(graph.Sub(x.Node(), graph.ReduceAllMean(x.Node())))
}

// Noisy adds a random number to every row.
func Noisy(c *rl.Ctx, x rl.Tensor) rl.Tensor {
	return rl.Wrap(graph.Add(x.Node(), c.Uniform("noise", x.Node().Shape().Dimensions...)))
}

// Times multiplies by a constant of the graph.
func Times(x rl.Tensor, by int) rl.Tensor { return rl.Wrap(graph.MulScalar(x.Node(), by)) }

// Row is a step as a table keeps it whose rows are of several steps.
type Row struct {
	Obs        rl.Obs
	Act        kit.Act
	Reward     rl.Tensor `replay:"sum"`
	Terminated rl.Tensor `replay:"last"`
	Over       rl.Tensor `replay:"last"`
}
