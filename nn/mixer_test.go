package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

const mixed, features = 3, 2 // agents, and numbers of a state

// mixer returns a mixer's weights, and the mixer as a function of values [rows, mixed] and states.
func mixer(t *testing.T, m nn.Mixer) (w map[string][]float64, joint func(values, state []float32) []float64) {
	s := scope(t)
	p := rl.NewParams(s, "mixer", func(c *rl.Ctx, sc *model.Scope) {
		zeros := func(n int) *node { return graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, n)) }
		m.Apply(c, sc, zeros(mixed), zeros(features))
	})
	f := rl.NewFunc(s, "joint", func(c *rl.Ctx, in []rl.Tensor) rl.Tensor {
		return rl.Wrap(m.Apply(c, c.Scope(p), in[0].Node(), in[1].Node()))
	})
	return weights(p), func(values, state []float32) []float64 {
		n := len(values) / mixed
		return rl.Floats(f.Call(rl.Key{}, []rl.Tensor{rl.FromFlat(s, values, n, mixed), rl.FromFlat(s, state, n, features)}))
	}
}

// joined returns the joint value of one row, worked out in plain Go.
func joined(w map[string][]float64, m nn.Mixer, values, state []float32) float64 {
	relu := func(x float64) float64 { return max(x, 0) }
	elu := func(x float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) }
	x := []float64{float64(state[0]), float64(state[1])}
	net := func(name string, hidden bool) []float64 {
		x := x
		if hidden {
			x = each(affine(x, w[name+"/hidden_0/weights"], w[name+"/hidden_0/biases"]), relu)
		}
		return affine(x, w[name+"/out/weights"], w[name+"/out/biases"])
	}
	inner, outer := each(net("hidden", m.Hyper > 0), math.Abs), each(net("out", m.Hyper > 0), math.Abs)
	hidden := affine(x, w["hidden_bias/weights"], w["hidden_bias/biases"])
	total := net("out_bias", true)[0]
	for i := range hidden {
		for a, v := range values {
			hidden[i] += float64(v) * inner[a*m.Units+i]
		}
		total += elu(hidden[i]) * outer[i]
	}
	return total
}

func TestMixer(t *testing.T) {
	for _, m := range []nn.Mixer{{Units: 4, Hyper: 5}, {Units: 4}} {
		w, joint := mixer(t, m)
		const rows = 5
		values, state := wave(rows*mixed, 1), wave(rows*features, 2)
		var want []float64
		for i := range rows {
			want = append(want, joined(w, m, values[i*mixed:(i+1)*mixed], state[i*features:(i+1)*features]))
		}
		near(t, "joint values", joint(values, state), want, 1e-5)
	}
}

// TestMonotonic: where an agent's value rises the joint one never falls, in any state, and what an
// agent adds depends on the others.
func TestMonotonic(t *testing.T) {
	_, joint := mixer(t, nn.Mixer{Units: 8, Hyper: 8})
	const rows, step = 200, 1e-2
	k := rl.NewKey(7)
	draw := func(use string, n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(6*k.Use(use).Uniform(i, 0) - 3)
		}
		return out
	}
	values, state := draw("values", rows*mixed), draw("state", rows*features)
	before := joint(values, state)
	for a := range mixed {
		more := append([]float32(nil), values...)
		for i := range rows {
			more[i*mixed+a] += step
		}
		least, most := math.Inf(1), 0.
		for i, after := range joint(more, state) {
			slope := (after - before[i]) / step
			least, most = min(least, slope), max(most, slope)
		}
		if least < -1e-4 || most < .1 || most < 1.5*max(least, 0) {
			t.Errorf("agent %d: the joint value rises by %v to %v of its own", a, least, most)
		}
	}
}

// TestMixing: the sum, the agents' own values, and a network.
func TestMixing(t *testing.T) {
	s := scope(t)
	for _, x := range []struct {
		mixer   string
		want    []float64
		weights bool
	}{{"vdn", []float64{6, 15}, false}, {"none", []float64{1, 2, 3, 4, 5, 6}, false}, {"qmix", nil, true}} {
		m := nn.Mixing{Mixer: x.mixer, Embed: 4, Hyper: 4}
		p := rl.NewParams(s, x.mixer, func(c *rl.Ctx, sc *model.Scope) { m.InitMixer(c, sc, mixed, features) })
		f := rl.NewFunc(s, x.mixer, func(c *rl.Ctx, in []rl.Tensor) rl.Tensor {
			return rl.Wrap(m.Joint(c, c.Scope(p), in[0].Node(), in[1].Node()))
		})
		got := f.Call(rl.Key{}, []rl.Tensor{rl.FromFlat(s, []float32{1, 2, 3, 4, 5, 6}, 2, mixed), rl.FromFlat(s, wave(4, 0), 2, features)})
		if x.want != nil {
			near(t, x.mixer, rl.Floats(got), x.want, 0)
		}
		if (p.Size() > 0) != x.weights || m.Mixes() != (x.mixer != "none") || x.weights && got.Shape().Dimensions[1] != 1 {
			t.Errorf("%s: %d weights, mixes %v, joint values of shape %s", x.mixer, p.Size(), m.Mixes(), got.Shape())
		}
	}
}
