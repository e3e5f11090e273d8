// Package scratchpad computes on the side: slices that share memory, are copied,
// sorted and filled by helpers, slices of slices, accumulators with pointer
// methods, strings that are built.
package scratchpad

import (
	"slices"
	"sort"
	"strings"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon int
	Rates   []float64
	Env     env.Batch
	Rollout *replay.Rollout[kit.Step]
	act     *rl.Func[rl.Obs, kit.Act]
	sum     *rl.Func[many, rl.Tensor]
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

type many struct{ All []rl.Tensor }

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	return &Trainer{
		Horizon: 4, Rates: []float64{3e-3, 1e-3, 2e-3}, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout"),
		act: rl.NewFunc(s, "act", net.Policy), sum: rl.NewFunc(s, "sum", sumGraph),
		loss: rl.NewLoss(s, "loss", net.PolicyLoss, net.Params), opt: rl.NewOpt(s, "adam", nn.Adam{}, net.Params),
	}, nil
}

func sumGraph(_ *rl.Ctx, m many) rl.Tensor { return kit.Plus(m.All...) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		rewards := make([][]rl.Tensor, 2)
		means := make([]float64, t.Horizon)
		same := means
		var seen average
		for i := range t.Horizon {
			act := t.act.Call(run.Key("act", i), obs)
			out := t.Env.Step(act.Action)
			t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
			rewards[i%2] = append(rewards[i%2], out.Reward)
			same[i] = run.Value(rl.Mean(out.Reward))
			seen.add(means[i])
			obs = out.Obs
		}
		even, odd := t.sum.Call(rl.Key{}, many{rewards[0]}), t.sum.Call(rl.Key{}, many{rewards[1]})
		b := t.Rollout.Drain()
		rates := slices.Clone(t.Rates)
		sort.Float64s(rates)
		slices.Reverse(means)
		weights := make([]float64, len(rates))
		copy(weights, rates)
		scale(weights, .5)
		for j := len(weights) - 1; j >= 0; j-- {
			if seen.mean() < same[0] {
				weights[j] = rates[0]
			}
			g, loss := t.loss.Grad(run.Key("loss", j), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
			t.opt.Apply(g, weights[j])
			run.Log(name("loss", j), loss)
		}
		run.Log("even", even)
		run.Log("odd", odd)
	}
	return run.Err()
}

// scale fills what it is given.
func scale(xs []float64, by float64) {
	for i := range xs {
		xs[i] *= by
	}
}

// average is a number that grows.
type average struct {
	sum float64
	n   int
}

func (a *average) add(x float64) {
	a.sum += x
	a.n++
}

func (a average) mean() float64 { return a.sum / float64(max(a.n, 1)) }

func name(use string, i int) string {
	var s strings.Builder
	s.WriteString(use)
	if i > 0 {
		s.WriteString("/later")
	}
	return s.String()
}
