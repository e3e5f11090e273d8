package nn_test

import (
	"fmt"
	"log"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// exampleScope returns where an example's components live.
func exampleScope() *rl.Scope {
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		log.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(backend), 1)
}

// A policy is a network and a head. Forbidden actions are never taken.
func ExampleNewHead() {
	s := exampleScope()
	head := nn.NewHead(rl.Discrete{N: 3, Start: 1})
	net := nn.MLP{Hidden: []int{16}, Out: head.Units(), OutGain: .01}
	policy := func(c *rl.Ctx, sc *model.Scope, x *graph.Node, legal rl.Tree) nn.Dist {
		return head.Dist(c, sc.At("head"), net.Apply(c, sc.At("pi"), x), legal)
	}
	params := rl.NewParams(s, "policy", func(c *rl.Ctx, sc *model.Scope) {
		policy(c, sc, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 2)), rl.Tree{})
	})

	type in struct{ X, Legal rl.Tensor }
	type out struct {
		Action  rl.Tree
		LogProb rl.Tensor
	}
	act := rl.NewFunc(s, "act", func(c *rl.Ctx, in in) out {
		d := policy(c, c.Scope(params), in.X.Node(), rl.One(in.Legal))
		a := d.Sample(c, "action")
		return out{a, rl.Wrap(d.LogProb(a))}
	})
	got := act.Call(s.Key("act"), in{
		X:     rl.FromFlat(s, []float32{1, 0, 0, 1}, 2, 2),
		Legal: rl.FromFlat(s, []bool{false, false, true, true, false, false}, 2, 3),
	})
	fmt.Println(rl.Read[int32](got.Action.Leaf("")), rl.Read[float32](got.LogProb))
	// Output: [3 1] [0 0]
}

// A loss, an optimiser and a schedule fit a network to a line.
func ExampleAdam() {
	s := exampleScope()
	net := nn.MLP{Hidden: []int{16}, Out: 1}
	params := rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		net.Apply(c, sc, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 1)))
	})
	type batch struct{ X, Y rl.Tensor }
	loss := rl.NewLoss(s, "fit", func(c *rl.Ctx, b batch) (loss, weight, aux rl.Tensor) {
		d := graph.Sub(net.Apply(c, c.Scope(params), b.X.Node()), b.Y.Node())
		return rl.Wrap(nn.Huber(d, 1)), rl.Tensor{}, rl.Wrap(d)
	}, params)
	opt := rl.NewOpt(s, "adam", nn.ClipNorm{Max: .5, Rule: nn.Adam{Eps: 1e-5}}, params)
	rate := nn.Warmup(.1, .1, nn.Cosine(.02, 0))

	data := batch{rl.FromFlat(s, []float32{-1, 0, 1}, 3, 1), rl.FromFlat(s, []float32{-2, 0, 2}, 3, 1)}
	const steps = 200
	for i := range steps {
		g, _ := loss.Grad(rl.Key{}, data)
		opt.Apply(g, rate(float64(i)/steps))
	}
	_, errors := loss.Grad(rl.Key{}, data)
	worst := 0.0
	for _, e := range rl.Floats(errors) {
		worst = max(worst, e, -e)
	}
	fmt.Println(worst < .05)
	// Output: true
}

// Memory is cleared where an episode begins.
func ExampleUnroll() {
	s := exampleScope()
	cell := nn.GRU{Units: 4}
	params := rl.NewParams(s, "memory", func(c *rl.Ctx, sc *model.Scope) {
		nn.Unroll(c, sc, cell, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 2)), nil, nil)
	})
	type in struct{ X, H, First rl.Tensor }
	run := rl.NewFunc(s, "run", func(c *rl.Ctx, in in) rl.Tensor {
		y, _ := nn.Unroll(c, c.Scope(params), cell, in.X.Node(), in.H.Node(), in.First.Node())
		return rl.Wrap(y)
	})
	y := run.Call(rl.Key{}, in{
		X:     rl.FromFlat(s, []float32{1, 2, 1, 2, 1, 2}, 1, 3, 2), // one environment, the same input thrice
		H:     nn.NewMemory(s, cell, 1),
		First: rl.FromFlat(s, []bool{true, false, true}, 1, 3),
	})
	h := rl.Read[float32](y)
	fmt.Println(y.Shape(), h[0] == h[4], h[0] == h[8])
	// Output: (Float32)[1, 3, 4] false true
}

// Rewards are scaled by how much returns vary.
func ExampleReturns() {
	s := exampleScope()
	norm := nn.NewReturns(s, "returns", 1, .99, 10)
	scale := rl.NewFunc(s, "scale", func(c *rl.Ctx, r rl.Tensor) rl.Tensor { return rl.Wrap(norm.Scale(c, r.Node())) })
	reward := rl.FromFlat(s, []float32{100, -100, 100, -100}, 1, 4)
	done := rl.FromFlat(s, []bool{true, true, true, true}, 1, 4)
	norm.Update(reward, done)
	fmt.Printf("%.2f\n", rl.Read[float32](scale.Call(rl.Key{}, reward)))
	// Output: [1.00 -1.00 1.00 -1.00]
}

func ExampleSchedule() {
	lr := nn.Linear(3e-4, 0)
	fmt.Printf("%.1e %.1e\n", lr(0), lr(.5))
	// Output: 3.0e-04 1.5e-04
}
