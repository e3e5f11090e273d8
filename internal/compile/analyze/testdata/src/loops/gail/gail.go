// Package gail puts a discriminator around another package's algorithm, whose
// loop is read through, and changes the rewards of what that one collected.
package gail

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Updates, Batch int
	Base           *base.Trainer
	Expert         *kit.Table[kit.Sample]
	D              *kit.Net
	reward         *rl.Func[rl.Obs, rl.Tensor]
	loss           *rl.Loss[kit.Sample, rl.Tensor]
	opt            *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	b, err := base.New(s, make, n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Updates: 2, Batch: 8, Base: b, Expert: kit.NewTable[kit.Sample](s, "expert", 10), D: kit.New(s, "discriminator", b.Env.Spec())}
	t.Expert.Insert(kit.Demo(s, b.Env, t.D))
	t.reward, t.loss = rl.NewFunc(s, "reward", t.D.Value), rl.NewLoss(s, "d loss", t.D.ValueLoss, t.D.Params)
	t.opt = rl.NewOpt(s, "d opt", nn.Adam{}, t.D.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		roll := t.Base.Collect(run)
		for u := range t.Updates {
			mine := replay.Take(roll, run.Key("mine", u), replay.ByStep, u, t.Updates)
			expert := t.Expert.Sample(run.Key("expert", u), t.Batch)
			expert.Ret = mine.Reward
			g, acc := t.loss.Grad(run.Key("d", u), expert)
			t.opt.Apply(g, 1e-3)
			run.Log("accuracy", acc)
		}
		roll.Reward = t.reward.Call(rl.Key{}, roll.Obs) // the loop changes a drained value
		t.Base.Learn(run, roll)
	}
	return run.Err()
}
