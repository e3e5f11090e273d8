// Package elite imitates its own best episodes, as the cross-entropy method does
// (Rubinstein, 1999): it acts, keeps the best episodes of all, and makes their actions
// more likely. It shows a replay of an author's own, Buffer in buffer.go.
//
//	weft train ./examples/elite
//	weft train ./examples/elite --policy single-learner-coarse --workers 2
package elite

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Config is its settings.
type Config struct {
	Envs         int     `default:"8" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon      int     `default:"32" unit:"steps" range:"[1,)" doc:"steps of an iteration"`
	Keep         int     `default:"16" unit:"episodes" range:"[1,)" doc:"number of best episodes to imitate; learning begins when this many are finished"`
	Limit        int     `default:"500" unit:"steps" range:"[1,)" doc:"steps of an episode that are kept"`
	Updates      int     `default:"4" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch        int     `default:"128" unit:"steps" range:"[1,)" doc:"steps that an update imitates"`
	LearningRate float64 `default:"1e-3" range:"(0,)" doc:"Adam's step size"`
	Entropy      float64 `default:"0.01" range:"[0,)" doc:"weight of the policy's entropy, which keeps it trying"`
	Hidden       []int   `default:"64" unit:"units" range:"[1,)" doc:"hidden layers of the policy's network"`
}

// Algorithm describes the algorithm: its settings, presets and constructor.
var Algorithm = algo.Define("elite", "imitation of one's own best episodes", []algo.Preset{
	{Name: "default", Env: "CartPole-v1", Doc: "a minute of balancing", Steps: 200_000},
}, build)

// Trainer steps environments and imitates the best of what they did.
type Trainer struct {
	Config
	Env    env.Batch
	Best   *Buffer[Step]
	Actor  *rl.Func[rl.Obs, rl.Tree]
	Loss   *rl.Loss[Step, Metrics]
	Opt    *rl.Opt
	greedy *rl.Func[rl.Obs, rl.Tree]
}

// Train returns the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Horizon {
			action := t.Actor.Call(run.Key("act", i), obs)
			out := t.Env.Step(action)
			t.Best.Insert(Step{obs, action}, out.Reward, out.Over)
			obs = out.Obs
		}
		if t.Best.Ready(t.Keep) {
			for u := range t.Updates {
				best := t.Best.Sample(run.Key("sample", u), t.Batch)
				g, m := t.Loss.Grad(run.Key("loss", u), best)
				t.Opt.Apply(g, t.LearningRate)
				run.Log("loss/imitation", m.Imitation)
				run.Log("entropy", m.Entropy)
			}
		}
	}
	return run.Err()
}

type (
	// Step holds the observation of every environment and the action taken there.
	Step struct {
		Obs    rl.Obs
		Action rl.Tree
	}
	// Metrics are reported of every update, by row.
	Metrics struct{ Imitation, Entropy rl.Tensor }
)

// net is the policy.
type net struct {
	torso   nn.Torso
	head    nn.Head
	entropy float64
	params  *rl.Params
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	tanh, err := nn.ActivationNamed("tanh")
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	n := &net{torso: nn.Torso{Space: spec.Obs, Hidden: c.Hidden, Act: tanh}, head: nn.NewHead(spec.Action), entropy: c.Entropy}
	n.params = rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		n.policy(c, sc, rl.Obs{X: nn.Blank(c, spec.Obs)}).Mode()
	})
	return &Trainer{
		Config: *c, Env: e, Best: NewBuffer[Step](s, "best", c.Keep, c.Limit),
		Actor:  rl.NewFunc(s, "act", n.act),
		Loss:   rl.NewLoss(s, "loss", n.loss, n.params),
		Opt:    rl.NewOpt(s, "adam", nn.ClipNorm{Max: 0.5, Rule: nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}}, n.params),
		greedy: rl.NewFunc(s, "greedy", n.greedy),
	}, nil
}

func (n *net) policy(c *rl.Ctx, sc *model.Scope, obs rl.Obs) nn.Dist {
	x := n.torso.Apply(c, sc.At("torso"), obs.X)
	return n.head.Dist(c, sc, nn.Dense(c, sc.At("out"), x, n.head.Units(), 0.01), obs.Legal)
}

func (n *net) act(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.policy(c, c.Scope(n.params), obs).Sample(c, "action")
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.policy(c, c.Scope(n.params), obs).Mode()
}

func (n *net) loss(c *rl.Ctx, s Step) (loss, weight rl.Tensor, m Metrics) {
	pi := n.policy(c, c.Scope(n.params), s.Obs)
	imitation, entropy := Neg(pi.LogProb(s.Action)), pi.Entropy()
	return rl.Wrap(Sub(imitation, MulScalar(entropy, n.entropy))), rl.Tensor{}, Metrics{rl.Wrap(imitation), rl.Wrap(entropy)}
}

// Agent returns the trained policy.
func (t *Trainer) Agent() rl.Agent { return agent{t} }

type agent struct{ t *Trainer }

func (a agent) Memory(int) rl.Tree { return rl.Tree{} }

func (a agent) Act(k rl.Key, obs rl.Obs, _ rl.Tree, greedy bool) (action, next rl.Tree) {
	f := a.t.Actor
	if greedy {
		f = a.t.greedy
	}
	return f.Call(k, obs), rl.Tree{}
}
