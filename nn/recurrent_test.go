package nn_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// gruStep returns one step of one row.
func gruStep(w map[string][]float64, x, h []float64) []float64 {
	n := len(h)
	in := affine(x, w["input_weights"], w["biases"])
	rec := affine(h, w["recurrent_weights"], make([]float64, 3*n))
	out := make([]float64, n)
	for i := range out {
		r, z := sigmoid(in[i]+rec[i]), sigmoid(in[n+i]+rec[n+i])
		c := math.Tanh(in[2*n+i] + r*(rec[2*n+i]+w["candidate_biases"][i]))
		out[i] = (1-z)*c + z*h[i]
	}
	return out
}

// lstmStep returns one step of one row; s is the output, then the cell.
func lstmStep(w map[string][]float64, x, s []float64) []float64 {
	n := len(s) / 2
	in := affine(x, w["input_weights"], w["biases"])
	rec := affine(s[:n], w["recurrent_weights"], make([]float64, 4*n))
	out := make([]float64, 2*n)
	for i := range n {
		gate := func(k int) float64 { return in[k*n+i] + rec[k*n+i] }
		c := sigmoid(gate(1))*s[n+i] + sigmoid(gate(0))*math.Tanh(gate(2))
		out[i], out[n+i] = sigmoid(gate(3))*math.Tanh(c), c
	}
	return out
}

var cells = []struct {
	name string
	cell nn.Cell
	step func(w map[string][]float64, x, s []float64) []float64
}{
	{"gru", nn.GRU{Units: 3}, gruStep},
	{"lstm", nn.LSTM{Units: 3}, lstmStep},
}

func buildCell(s *rl.Scope, cell nn.Cell) *rl.Params {
	return rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		nn.Unroll(c, sc, cell, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 2)), nil, nil)
	})
}

// unroll returns the outputs and the last memory; first may be absent.
func unroll(s *rl.Scope, p *rl.Params, cell nn.Cell, x, state, first rl.Tensor) (y, last rl.Tensor) {
	f := rl.NewFunc(s, "unroll", func(c *rl.Ctx, in []rl.Tensor) []rl.Tensor {
		var first *node
		if in[2].Ok() {
			first = in[2].Node()
		}
		y, last := nn.Unroll(c, c.Scope(p), cell, in[0].Node(), in[1].Node(), first)
		return []rl.Tensor{rl.Wrap(y), rl.Wrap(last)}
	})
	out := f.Call(rl.Key{}, []rl.Tensor{x, state, first})
	return out[0], out[1]
}

func TestUnroll(t *testing.T) {
	const envs, time, features = 2, 4, 2
	for _, c := range cells {
		s := scope(t)
		p := buildCell(s, c.cell)
		w := weights(p)
		in, mem := wave(envs*time*features, 0), wave(envs*c.cell.StateSize(), 2)
		first := []bool{false, false, true, false, true, false, false, true}
		var ys, lasts []float64
		for e := range envs {
			state := make([]float64, c.cell.StateSize())
			for i := range state {
				state[i] = float64(mem[e*len(state)+i])
			}
			for i := range time {
				if first[e*time+i] {
					clear(state)
				}
				at := (e*time + i) * features
				state = c.step(w, []float64{float64(in[at]), float64(in[at+1])}, state)
				ys = append(ys, state[:3]...)
			}
			lasts = append(lasts, state...)
		}
		y, last := unroll(s, p, c.cell, rl.FromFlat(s, in, envs, time, features),
			rl.FromFlat(s, mem, envs, c.cell.StateSize()), rl.FromFlat(s, first, envs, time))
		near(t, c.name+" outputs", rl.Floats(y), ys, 1e-5)
		near(t, c.name+" memory", rl.Floats(last), lasts, 1e-5)
	}
}

// Step by step is the same as all at once, and nothing passes a reset.
func TestUnrollSteps(t *testing.T) {
	const envs, time, features = 2, 3, 2
	for _, c := range cells {
		s := scope(t)
		p := buildCell(s, c.cell)
		x := wave(envs*time*features, 0)
		empty := nn.NewMemory(s, c.cell, envs)
		_, whole := unroll(s, p, c.cell, rl.FromFlat(s, x, envs, time, features), empty, rl.Tensor{})
		state := empty
		for i := range time {
			var now []float32
			for e := range envs {
				at := (e*time + i) * features
				now = append(now, x[at:at+features]...)
			}
			_, state = unroll(s, p, c.cell, rl.FromFlat(s, now, envs, features), state, rl.Tensor{})
		}
		near(t, c.name+" steps", rl.Floats(state), rl.Floats(whole), 1e-6)

		nan := make([]float32, envs*c.cell.StateSize())
		for i := range nan {
			nan[i] = float32(math.NaN())
		}
		first := rl.FromFlat(s, []bool{true, false, false, true, false, false}, envs, time)
		_, clean := unroll(s, p, c.cell, rl.FromFlat(s, x, envs, time, features), rl.FromFlat(s, nan, envs, c.cell.StateSize()), first)
		if !reflect.DeepEqual(rl.Floats(clean), rl.Floats(whole)) {
			t.Errorf("%s: memory passes a reset", c.name)
		}
	}
}

func TestRecurrentInit(t *testing.T) {
	s := scope(t)
	w := weights(buildCell(s, nn.LSTM{Units: 3}))
	near(t, "biases", w["biases"], []float64{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0}, 0)
	k := w["recurrent_weights"] // [3, 12]: four orthogonal blocks
	for gate := range 4 {
		for a := range 3 {
			for b := range 3 {
				dot, want := 0.0, 0.0
				for i := range 3 {
					dot += k[i*12+gate*3+a] * k[i*12+gate*3+b]
				}
				if a == b {
					want = 1
				}
				near(t, "product", []float64{dot}, []float64{want}, 1e-6)
			}
		}
	}
	if math.Abs(k[0]-k[3]) < 1e-9 {
		t.Error("two gates have the same kernel")
	}
}

func TestRecurrentGrad(t *testing.T) {
	for _, c := range cells {
		s := scope(t)
		p := buildCell(s, c.cell)
		loss := func(x []float32) (float64, rl.Grads) {
			l := rl.NewLoss(s, "l", func(ctx *rl.Ctx, in rl.Tensor) (rl.Tensor, rl.Tensor, rl.Tensor) {
				y, _ := nn.Unroll(ctx, ctx.Scope(p), c.cell, in.Node(), nil, nil)
				sum := graph.ReduceSum(graph.Square(y), -1, -2)
				return rl.Wrap(sum), rl.Tensor{}, rl.Wrap(sum)
			}, p)
			g, aux := l.Grad(rl.Key{}, rl.FromFlat(s, x, 1, 3, 2))
			return rl.Floats(aux)[0], g
		}
		// A step against the gradient lowers the loss as its squared norm says.
		before, g := loss(wave(6, 1))
		old := weights(p)
		rl.NewOpt(s, "o", nn.SGD{}, p).Apply(g, 1e-3)
		after, _ := loss(wave(6, 1))
		norm := 0.0
		for path, x := range weights(p) {
			for i := range x {
				d := (old[path][i] - x[i]) / 1e-3
				norm += d * d
			}
		}
		if drop := (before - after) / 1e-3; norm == 0 || math.Abs(drop-norm) > .05*norm {
			t.Errorf("%s: loss drops at rate %g, want %g", c.name, drop, norm)
		}
	}
}
