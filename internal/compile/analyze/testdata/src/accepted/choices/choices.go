// Package choices has components that may be one of several: chosen by a setting
// in the constructor and in a graph function, kept in lists and arrays, swapped in
// the loop.
package choices

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Config
	Env       env.Batch
	Rollout   *replay.Rollout[kit.Step]
	Net, Slow *kit.Net
	List      []*kit.Net
	Pair      [2]*rl.Params
	Kept      *rl.Params
	Player    Player
	judge     *rl.Func[rl.Obs, rl.Tensor]
	learner   learner
}

// learner is kept by value, and set up through a pointer.
type learner struct {
	loss *rl.Loss[kit.Sample, rl.Tensor]
	opt  *rl.Opt
}

func (l *learner) init(s *rl.Scope, n *kit.Net) {
	l.loss, l.opt = rl.NewLoss(s, "loss", n.PolicyLoss, n.Params), rl.NewOpt(s, "adam", nn.Adam{}, n.Params)
}

func (l *learner) learn(run *rl.Run, b kit.Sample) {
	g, loss := l.loss.Grad(run.Key("loss"), b)
	l.opt.Apply(g, 1e-3)
	run.Log("loss", loss)
}

// Config chooses.
type Config struct {
	Slow, Wide bool
	Mode       string
}

// Player is behind an interface.
type Player interface {
	Play(k rl.Key, obs rl.Obs) kit.Act
}

type player struct{ act *rl.Func[rl.Obs, kit.Act] }

func (p *player) Play(k rl.Key, obs rl.Obs) kit.Act { return p.act.Call(k, obs) }

func New(s *rl.Scope, c Config, makeEnv algo.MakeEnv) (*Trainer, error) {
	e, err := makeEnv.Batch(4)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Config: c, Env: e, Rollout: replay.NewRollout[kit.Step](s, "rollout")}
	t.Net, t.Slow = kit.New(s, "net", e.Spec()), kit.New(s, "slow", e.Spec())
	behave := t.Net
	if c.Slow {
		behave = t.Slow
	}
	policy := behave.Policy
	switch c.Mode {
	case "net":
		policy = t.Net.Policy
	case "other":
		other := kit.New
		policy = other(s, "other", e.Spec()).Policy
	}
	t.Player = &player{rl.NewFunc(s, "act", policy)}
	if c.Wide {
		t.Kept = rl.NewParams(s, "kept", nil)
	} else {
		t.Kept = rl.NewParams(s, "kept", nil)
	}
	t.List = []*kit.Net{t.Net, t.Slow}
	t.Pair[0], t.Pair[1] = t.Net.Params, t.Slow.Params
	t.judge = rl.NewFunc(s, "judge", t.judgeGraph)
	var l learner
	l.init(s, t.Net)
	t.learner = l
	return t, nil
}

// judgeGraph picks its network.
func (t *Trainer) judgeGraph(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	n := t.Net
	if t.Config.Slow {
		n = t.Slow
	}
	return n.Value(c, obs)
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Player.Play(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
		b := t.Rollout.Drain()
		t.learner.learn(run, kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: t.judge.Call(rl.Key{}, b.Obs)})
		from, to := t.Net.Params, t.Slow.Params
		if run.Iter()%2 == 0 {
			from, to = to, from
		}
		to.Blend(from, .1)
		for _, n := range t.List {
			t.Kept.Blend(n.Params, .5)
		}
		t.Pair[1].Blend(t.pick(0), .01)
	}
	return run.Err()
}

func (t *Trainer) pick(i int) *rl.Params {
	if i > 0 && t.Wide {
		return t.Kept
	}
	return t.Pair[i]
}
