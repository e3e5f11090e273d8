// Package dqn is off-policy: a table, a warm-up, exploration by a schedule, a
// target network that follows now and then.
package dqn

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Config
	Env       env.Batch
	Replay    *kit.Table[kit.Step]
	Q, Target *kit.Net
	opt       *rl.Opt
	act       *rl.Func[ActIn, kit.Act]
	next      *rl.Func[Next, rl.Tensor]
	loss      *rl.Loss[kit.Sample, rl.Tensor]
}

type Config struct {
	Warmup, TargetEvery        int64
	TrainEvery, Updates, Batch int
	Rate                       float64
	Epsilon                    nn.Schedule
}

// ActIn is an observation with the rate of exploration.
type ActIn struct {
	Obs     rl.Obs
	Epsilon rl.Tensor
}

// Next is where a step led, with what it brought.
type Next struct {
	Obs    rl.Obs
	Reward rl.Tensor
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{
		Config: Config{Warmup: 16, TargetEvery: 32, TrainEvery: 4, Updates: 2, Batch: 4, Rate: 1e-3, Epsilon: nn.Linear(1, .05)},
		Env:    e, Replay: kit.NewTable[kit.Step](s, "replay", 100), Q: kit.New(s, "q", e.Spec()), Target: kit.New(s, "target", e.Spec()),
	}
	t.Target.Params.Blend(t.Q.Params, 1)
	t.act, t.next = rl.NewFunc(s, "act", t.actGraph), rl.NewFunc(s, "next", t.nextGraph)
	t.loss, t.opt = rl.NewLoss(s, "td", t.Q.ValueLoss, t.Q.Params), rl.NewOpt(s, "adam", nn.Adam{}, t.Q.Params)
	return t, nil
}

func (t *Trainer) actGraph(c *rl.Ctx, in ActIn) kit.Act { return t.Q.Policy(c, in.Obs) }

func (t *Trainer) nextGraph(c *rl.Ctx, n Next) rl.Tensor {
	return kit.Plus(n.Reward, t.Target.Value(c, n.Obs))
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.TrainEvery {
			act := t.act.Call(run.Key("act", i), ActIn{obs, rl.Scalar(t.Epsilon(run.Progress()))})
			out := t.Env.Step(act.Action)
			t.Replay.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
			obs = out.Obs
		}
		if run.Steps() >= t.Warmup {
			t.learn(run)
		}
		if run.Every(t.TargetEvery) {
			t.Target.Params.Blend(t.Q.Params, 1)
		}
	}
	return run.Err()
}

func (t *Trainer) learn(run *rl.Run) {
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		g, td := t.loss.Grad(run.Key("loss", u), kit.Sample{Obs: s.Obs, Action: s.Act.Action, Adv: s.Reward, Ret: t.next.Call(rl.Key{}, Next{s.Obs, s.Reward})})
		t.opt.Apply(g, t.Rate)
		t.Replay.Prioritise(td)
		run.Log("td", td)
	}
}
