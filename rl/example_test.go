package rl_test

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// exampleScope returns where the components of an example are made.
func exampleScope() *rl.Scope {
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	return rl.NewScope(rl.NewDevice(backend), 1)
}

// A graph function takes and gives structs of tensors. The numbers that it draws
// depend on the key of the call and on the row alone.
func ExampleFunc() {
	type in struct{ Mean, Deviation rl.Tensor }
	s := exampleScope()
	sample := rl.NewFunc(s, "sample", func(c *rl.Ctx, in in) rl.Tensor {
		noise := c.Normal("noise", in.Mean.Rows())
		return rl.Wrap(graph.Add(in.Mean.Node(), graph.Mul(in.Deviation.Node(), noise)))
	})
	x := in{rl.FromFlat(s, []float32{1, 2, 3}, 3), rl.FromFlat(s, []float32{0, 0, 1}, 3)}
	k := s.Key("example")
	a, b := sample.Call(k, x), sample.Call(k, x)
	fmt.Println(rl.Read[float32](a)[:2], rl.Read[float32](a)[2] == rl.Read[float32](b)[2])
	// Output: [1 2] true
}

// plain subtracts the gradient: package nn has rules that do better.
type plain struct{}

func (plain) Slots() []string { return nil }

func (plain) Update(params, grads *graph.Node, slots []*graph.Node, lr, _ *graph.Node) (*graph.Node, []*graph.Node) {
	return graph.Sub(params, graph.Mul(lr, grads)), slots
}

// A loss gives a number for every row; its gradient and the step that follows
// are two calls.
func ExampleLoss() {
	type batch struct{ X, Y rl.Tensor }
	s := exampleScope()
	slope := func(c *rl.Ctx, sc *model.Scope) *graph.Node {
		return sc.VariableWithShape("slope", shapes.Make(dtypes.Float32)).NodeValue(c.Graph())
	}
	net := rl.NewParams(s, "line", func(c *rl.Ctx, sc *model.Scope) { slope(c, sc) })
	loss := rl.NewLoss(s, "square", func(c *rl.Ctx, in batch) (loss, weight rl.Tensor, aux struct{}) {
		y := graph.Mul(in.X.Node(), slope(c, c.Scope(net)))
		return rl.Wrap(graph.Square(graph.Sub(y, in.Y.Node()))), rl.Tensor{}, aux
	}, net)
	opt := rl.NewOpt(s, "opt", plain{}, net)

	in := batch{rl.FromFlat(s, []float32{1, 2, 3}, 3), rl.FromFlat(s, []float32{2, 4, 6}, 3)}
	for range 50 {
		g, _ := loss.Grad(rl.Key{}, in)
		opt.Apply(g, .1)
	}
	fmt.Printf("slope %.3f after %d updates\n", rl.Floats(net.Tensors()[0])[0], opt.Count())
	// Output: slope 2.000 after 50 updates
}

// counting is a trainer whose environments do nothing.
type counting struct{ scope *rl.Scope }

func (c counting) Agent() rl.Agent { return nil }

func (c counting) Train(run *rl.Run) error {
	for run.Next() {
		c.scope.AddSteps(400)
		run.Log("progress", rl.Scalar(run.Progress()))
	}
	return run.Err()
}

// A run counts steps in whole iterations, and tells of each at its end.
func ExampleRun() {
	s := exampleScope()
	run := rl.NewRun(s, 1000, func(c rl.Cut) error {
		fmt.Println(c.Iter, c.Steps, c.Logs, c.Last)
		return nil
	})
	if err := rl.Train(counting{s}, run); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0 0 [] false
	// 1 400 [{progress 0}] false
	// 2 800 [{progress 0.4000000059604645}] false
	// 3 1200 [{progress 0.800000011920929}] true
}

// A permutation needs no table: each position is computed from the key alone.
func ExamplePermutation() {
	order := rl.NewPermutation(rl.NewKey(1).Use("shuffle"), 5)
	seen := make([]bool, 5)
	for j := range seen {
		seen[order.At(j)] = true
	}
	fmt.Println(seen)
	// Output: [true true true true true]
}
