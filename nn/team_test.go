package nn_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestTeamCell: agents of a team do what a cell does for each of them alone, from memory of its
// own.
func TestTeamCell(t *testing.T) {
	const rows, time, agents, in, units = 2, 3, 3, 2, 3
	s := scope(t)
	team := nn.TeamCell{Cell: nn.GRU{Units: units}, Agents: agents}
	p := rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		nn.Unroll(c, sc, team, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, agents*in)), nil, nil)
	})
	x, memory := wave(rows*time*agents*in, 0), wave(rows*agents*units, 1)
	y, last := unroll(s, p, team, rl.FromFlat(s, x, rows, time, agents*in), rl.FromFlat(s, memory, rows, agents*units), rl.Tensor{})
	for a := range agents {
		pick := func(x []float32, width int) (out []float32) {
			for at := a * width; at < len(x); at += agents * width {
				out = append(out, x[at:at+width]...)
			}
			return out
		}
		own, end := unroll(s, p, nn.GRU{Units: units}, rl.FromFlat(s, pick(x, in), rows, time, in),
			rl.FromFlat(s, pick(memory, units), rows, units), rl.Tensor{})
		near(t, "outputs", rl.Floats(rl.FromFlat(s, pick(rl.Read[float32](y), units), rows, time, units)), rl.Floats(own), 1e-6)
		near(t, "memory", rl.Floats(rl.FromFlat(s, pick(rl.Read[float32](last), units), rows, units)), rl.Floats(end), 1e-6)
	}
}

// TestTeamValues: with numbers agents that see the same value it differently, without they do not,
// and a step at a time gives what a sequence gives.
func TestTeamValues(t *testing.T) {
	const agents, time = 2, 3
	space := rl.Box{Dims: []int{2}}
	for _, x := range []struct {
		number bool
		units  int
	}{{true, 4}, {false, 4}, {true, 0}} {
		s := scope(t)
		v, err := nn.NewValues(nn.Layers{Hidden: []int{8}, Activation: "relu"}, nn.Distributional{Distribution: "none"}, space, rl.Discrete{N: 3})
		if err != nil {
			t.Fatal(err)
		}
		team := nn.TeamValues{Values: v, Agents: agents, Number: x.number, Units: x.units}
		p := rl.NewParams(s, "net", team.Init)
		f := rl.NewFunc(s, "recall", func(c *rl.Ctx, in []rl.Tensor) []rl.Tensor {
			q, next := team.Recall(c, c.Scope(p), rl.One(in[0]), in[1])
			return []rl.Tensor{rl.Wrap(q), next}
		})
		see := []float32{.5, -.2, .1, .9, -.7, .3} // by time
		var whole []float32
		var memory rl.Tensor
		var steps []float64
		for i := range time {
			both := append(append([]float32(nil), see[2*i:2*i+2]...), see[2*i:2*i+2]...)
			whole = append(whole, both...)
			out := f.Call(rl.Key{}, []rl.Tensor{rl.FromFlat(s, both, 1, agents, 2), memory})
			q := rl.Floats(out[0])
			steps, memory = append(steps, q...), out[1]
			if same := q[0] == q[3] && q[1] == q[4] && q[2] == q[5]; same == x.number {
				t.Errorf("number %v: values %v", x.number, q)
			}
		}
		all := f.Call(rl.Key{}, []rl.Tensor{rl.FromFlat(s, whole, 1, time, agents, 2), {}})
		near(t, "values", rl.Floats(all[0]), steps, 1e-6)
		if memory.Ok() != (x.units > 0) {
			t.Errorf("units %d: memory %v", x.units, memory)
		}
	}
}
