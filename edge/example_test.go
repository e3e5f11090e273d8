package edge_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Two replicas own three rows between them; a third one gathers them.
func Example() {
	dev, _ := device.Open(device.Default)
	root := rl.NewScope(dev, 1)
	top := &edge.Topology{
		Edges: []plan.Edge{{Name: "rows", Operator: fdg.Gather, From: "collector", To: "learner"}},
		Groups: []edge.Members{
			{Name: "collector", Own: []rl.Span{{Lo: 0, Hi: 1, Of: 3}, {Lo: 1, Hi: 3, Of: 3}}},
			{Name: "learner", Own: make([]rl.Span, 1)},
		},
	}
	links := edge.NewLocal(top.Replicas(), []int{1, 1, 1, 1}) // a queue of one for each edge, the runner's included
	var all sync.WaitGroup
	for r := range 2 {
		all.Go(func() {
			x, _ := edge.New(context.Background(), top, 0, r, root.Shard(r, 2), links.Link(r))
			rows := []float32{10, 20, 30}[x.Lo:x.Hi]
			edge.Gather(x, 0, rl.FromFlat(root, rows, len(rows)))
		})
	}
	x, _ := edge.New(context.Background(), top, 1, 0, root, links.Link(2))
	fmt.Println(rl.Floats(edge.Gathered[rl.Tensor](x, 0)))
	all.Wait()
	// Output: [10 20 30]
}

// Statements in a row that are graph work alone are done by one graph where they can
// be; generated programs ask for it like this.
func ExampleFused() {
	dev, _ := device.Open(device.Default)
	s := rl.NewScope(dev, 1)
	double := rl.NewFunc(s, "double", func(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(graph.MulScalar(x.Node(), 2)) })
	memory := rl.NewSlots(s, "memory", rl.FromFlat(s, []float32{1}, 1))
	statements := func() { memory.Set(double.Call(rl.Key{}, double.Call(rl.Key{}, memory.Get()))) }

	run := rl.NewRun(s, 3, nil)
	rl.System.Fuse(run)
	for run.Next() {
		if !edge.Fused(run, "quadruple", nil, statements) { // the first time always
			statements()
		}
		s.AddSteps(1)
	}
	calls, _ := rl.System.Fusing(run)
	fmt.Println(rl.Floats(memory.Get()), "with", calls, "calls of a graph")
	// Output: [64] with 2 calls of a graph
}
