package env_test

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// walk is a graph environment: a random walk that the agent pushes left or
// right. It ends at either side, and pays at the right one.
type walk struct{}

func (walk) Spec() env.Spec {
	return env.Spec{
		ID: "Walk-v0", Limit: 100,
		Obs:    rl.Box{Low: []float64{-2}, High: []float64{2}, Dims: []int{1}},
		Action: rl.Discrete{N: 2},
	}
}

func (walk) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(graph.SubScalar(c.Uniform("start", n, 1), 0.5)))
}

func (walk) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	x, a := state.Leaf("").Node(), action.Leaf("").Node()
	n := x.Shape().Dimensions[0]
	push := graph.MulScalar(graph.SubScalar(graph.ConvertDType(a, x.DType()), 0.5), 0.2)
	noise := graph.MulScalar(graph.SubScalar(c.Uniform("noise", n, 1), 0.5), 0.4)
	x = graph.Add(x, graph.Add(graph.Reshape(push, n, 1), noise))
	at := graph.Reshape(x, n)
	one := graph.OnesLike(at)
	return env.Move{
		State:      rl.One(rl.Wrap(x)),
		Reward:     rl.Wrap(graph.ConvertDType(graph.GreaterThan(at, one), x.DType())),
		Terminated: rl.Wrap(graph.GreaterThan(graph.Abs(at), one)),
	}
}

func (walk) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs { return rl.Obs{X: state} }

func ExampleGraph() {
	backend, _ := gobackend.New("ops_sequential")
	scope := rl.NewScope(rl.NewDevice(backend), 1)
	entry := env.Entry{ID: "Walk-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, walk{}) }}
	batch, err := env.Open(scope, entry, 8, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	right := rl.One(rl.FromFlat(scope, []int32{1, 1, 1, 1, 1, 1, 1, 1}, 8))
	for range 100 {
		batch.Step(right)
	}
	ret, _, _ := scope.Episodes().Mean()
	fmt.Printf("always pushed right, %.0f%% of walks end there\n", 100*ret)
	// Output: always pushed right, 100% of walks end there
}

// guess is a host environment: find a number from 0 to 9, being told how far off
// one was. It is plain Go, one environment, with no thought of batches.
type guess struct{ number int }

func (g *guess) Reset(k rl.Key, obs env.Row) { g.number = k.IntN(0, 0, 10) }

func (g *guess) Step(_ rl.Key, action, obs env.Row) (reward float64, terminated, truncated bool) {
	miss := g.number - int(action.Int32("")[0])
	if miss == 0 {
		return 1, true, false
	}
	obs.Float32("")[0] = float32(miss) / 9
	return 0, false, false
}

// MarshalBinary and UnmarshalBinary let a run be resumed exactly.
func (g *guess) MarshalBinary() ([]byte, error) { return []byte{byte(g.number)}, nil }

func (g *guess) UnmarshalBinary(data []byte) error {
	g.number = int(data[0])
	return nil
}

func ExampleHosts() {
	backend, _ := gobackend.New("ops_sequential")
	scope := rl.NewScope(rl.NewDevice(backend), 1)
	spec := env.Spec{
		ID: "Guess-v0", Limit: 10,
		Obs:    rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}},
		Action: rl.Discrete{N: 10},
	}
	entry := env.Entry{ID: spec.ID, New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		return env.Hosts(s, n, spec, func(int) (env.Host, error) { return &guess{}, nil })
	}}
	batch, err := env.Open(scope, entry, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := batch.Step(rl.One(rl.FromFlat(scope, []int32{5}, 1)))
	told := rl.Read[float32](out.Obs.X.Leaf(""))[0]
	out = batch.Step(rl.One(rl.FromFlat(scope, []int32{5 + int32(math.Round(9*float64(told)))}, 1)))
	fmt.Println("reward", rl.Read[float32](out.Reward)[0], "over", rl.Read[bool](out.Over)[0])
	// Output: reward 1 over true
}
