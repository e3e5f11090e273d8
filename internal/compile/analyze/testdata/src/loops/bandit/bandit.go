// Package bandit scores what was generated and moves on: no rollout, a reference
// network that is only read, passes over minibatches.
package bandit

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Epochs, Minibatches int
	Env                 env.Batch
	generate, ref       *rl.Func[rl.Obs, kit.Act]
	advantage           *rl.Func[Scored, rl.Tensor]
	loss                *rl.Loss[kit.Sample, rl.Tensor]
	opt                 *rl.Opt
}

// Scored is a reward beside what the reference expects.
type Scored struct{ Reward, Expected rl.Tensor }

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	lm, ref := kit.New(s, "lm", e.Spec()), kit.New(s, "ref", e.Spec())
	return &Trainer{
		Epochs: 2, Minibatches: 2, Env: e,
		generate: rl.NewFunc(s, "generate", lm.Policy), ref: rl.NewFunc(s, "ref", ref.Policy),
		advantage: rl.NewFunc(s, "advantage", advantageGraph),
		loss:      rl.NewLoss(s, "loss", lm.PolicyLoss, lm.Params), opt: rl.NewOpt(s, "adam", nn.Adam{}, lm.Params),
	}, nil
}

func advantageGraph(_ *rl.Ctx, s Scored) rl.Tensor { return kit.Plus(s.Reward, s.Expected) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		text := t.generate.Call(run.Key("tokens"), obs)
		out := t.Env.Step(text.Action)
		adv := t.advantage.Call(rl.Key{}, Scored{out.Reward, t.ref.Call(run.Key("ref"), obs).Value})
		b := kit.Sample{Obs: obs, Action: text.Action, Adv: adv, Ret: out.Reward}
		for e := range t.Epochs {
			for i := range t.Minibatches {
				g, kl := t.loss.Grad(run.Key("loss", e, i), replay.Take(b, run.Key("shuffle", e), replay.ByEnv, i, t.Minibatches))
				t.opt.Apply(g, 1e-6)
				run.Log("kl", kl)
			}
		}
	}
	return run.Err()
}
