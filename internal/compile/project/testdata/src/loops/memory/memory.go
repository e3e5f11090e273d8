// Package memory has slices, arrays and structs that share memory with each other:
// copies of a slice, functions that fill what they are given, rows of a matrix, a
// slice that grows into another's memory, an accumulator with pointer methods, two
// buffers that take turns.
package memory

import (
	"slices"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon int
	Env     env.Batch
	Rollout *replay.Rollout[kit.Step]
	Net     *kit.Net
	act     *rl.Func[rl.Obs, kit.Act]
	value   *rl.Func[rl.Obs, rl.Tensor]
	sum     *rl.Func[many, rl.Tensor]
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

type (
	many struct{ All []rl.Tensor }
	held struct {
		xs []float64
		n  int
	}
)

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 4, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"), Net: kit.New(s, "net", e.Spec())}
	t.act, t.value, t.sum = rl.NewFunc(s, "act", t.Net.Policy), rl.NewFunc(s, "value", t.Net.Value), rl.NewFunc(s, "sum", sumGraph)
	t.loss, t.opt = rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

func sumGraph(_ *rl.Ctx, m many) rl.Tensor { return kit.Plus(m.All...) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		means := make([]float64, t.Horizon)
		same := means
		grid := [][]float64{make([]float64, 2), make([]float64, 2)}
		seen, before := make([]rl.Tensor, t.Horizon), make([]rl.Tensor, t.Horizon)
		for i := range t.Horizon {
			act := t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			same[i] = run.Value(rl.Mean(out.Reward))
			grid[i%2][1] = means[i] * .5
			now := make([]rl.Tensor, t.Horizon)
			for j := range i {
				now[j] = seen[j]
			}
			now[i] = t.value.Call(rl.Key{}, obs)
			seen, before = now, seen
			t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
			obs = out.Obs
		}
		before[t.Horizon-1] = seen[0]
		h := held{xs: means, n: 2}
		k := h
		k.xs[0] += .25
		k.n++
		fill(means[2:], grid[1][1])
		raise(means, .5)
		behind(means)[1] *= means[1]
		short := append(same[:1], .75)
		order := slices.Clone(means)
		slices.Sort(order)
		copy(grid[0], order[1:])
		at, last := 0, len(order)-1
		at, order[at] = last, order[last]+h.xs[1]
		a, b := swap(means[0], means[3])
		a, b = swap(a, b)
		batch := t.Rollout.Drain()
		total := t.sum.Call(rl.Key{}, many{before})
		g, loss := t.loss.Grad(run.Key("loss"), kit.Sample{Obs: batch.Obs, Action: batch.Act.Action, Adv: batch.Reward, Ret: batch.Reward})
		t.opt.Apply(g, 1e-3*(1+means[1]+order[at]+float64(h.n)))
		run.Log("loss", loss)
		run.Log("total", total)
		run.Log("a", rl.Scalar(a+2*b))
		run.Log("short", rl.Scalar(short[1]+grid[0][0]+grid[1][1]+float64(k.n)))
	}
	return run.Err()
}

// fill writes what it is given.
func fill(xs []float64, x float64) {
	for i := range xs {
		xs[i] = x + float64(i)
	}
}

// raise writes what is behind an interface.
func raise(xs any, by float64) { xs.([]float64)[0] += by }

func behind(xs []float64) []float64 { return xs[1:] }

func swap(a, b float64) (float64, float64) { return b, a }
