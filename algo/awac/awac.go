// Package awac is the advantage-weighted actor-critic (Nair et al., 2020): critics of the policy's
// own actions, and a policy that imitates the data, an action the more the better it is than what
// the policy would do. The policy never follows the slope of a critic, so that it stays where the
// data are. It learns from a data set; a run that begins where such a run ended goes on in an
// environment.
package awac

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer learns from a data set, and from what it does in an environment.
type Trainer struct {
	Config
	Data           *data.Set[Transition]
	Env            env.Batch                 // nil unless the run goes on online
	Replay         *replay.Table[Transition] // steps of the policy
	Learner        *Learner
	sample, greedy *rl.Func[rl.Obs, rl.Tree]
}

// Train runs the algorithm. An iteration is an update of the critics and one of the policy; online,
// a step in every environment goes before it.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		var s replay.Sample[Transition]
		if t.Online {
			t.Collect(run)
			own := t.Replay.Sample(run.Key("own"), t.Batch)
			s = t.Data.Among(run.Key("sample"), t.dataRows(), own)
		} else {
			s = t.Data.Sample(run.Key("sample"), t.Batch)
		}
		t.Learner.Judge(run, s)
		t.Learner.Improve(run, s.Data)
		t.Learner.slow.Blend(t.Learner.fast, t.Tau)
	}
	return run.Err()
}

// Collect takes a step in every environment.
func (t *Trainer) Collect(run *rl.Run) {
	obs := t.Env.Obs()
	action := t.sample.Call(run.Key("act"), obs)
	out := t.Env.Step(action)
	t.Replay.Insert(Transition{obs, action, out.Reward, out.Final, out.Terminated}, out.Over)
}

// dataRows returns how many rows of an update online are the data set's.
func (t *Trainer) dataRows() int { return int(t.DataFraction*float64(t.Batch) + .5) }

type (
	// Transition is one step of the data, or of every environment.
	Transition replay.Transition
	// Judged reports an update of the critics, by row.
	Judged struct{ Loss, Q rl.Tensor }
	// Improved reports an update of the policy, by row.
	Improved struct{ Loss, Advantage, Weight rl.Tensor }
)

// Learner improves the weights.
type Learner struct {
	Config
	fast, slow      *rl.Params // of critics
	judge           *rl.Loss[replay.Sample[Transition], Judged]
	improve         *rl.Loss[Transition, Improved]
	critics, policy *rl.Opt
}

// Judge makes an update of the critics.
func (l *Learner) Judge(run *rl.Run, s replay.Sample[Transition]) {
	g, m := l.judge.Grad(run.Key("judge"), s)
	l.critics.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/critics", m.Loss)
	run.Log("q", m.Q)
}

// Improve makes an update of the policy.
func (l *Learner) Improve(run *rl.Run, s Transition) {
	g, m := l.improve.Grad(run.Key("improve"), s)
	l.policy.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/policy", m.Loss)
	run.Log("advantage", m.Advantage)
	run.Log("weight", m.Weight)
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.sample, t.greedy, func(a rl.Tree) rl.Tree { return a })
}

// Config is its settings. The defaults are those of CORL for MuJoCo's tasks.
type Config struct {
	data.From
	Batch     int     `default:"256" unit:"steps" range:"[1,)" doc:"steps of the data set in an update"`
	Gamma     float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	Lambda    float64 `default:"0.3333333333" range:"(0,)" doc:"temperature of the weights: that of an action is exp(advantage/lambda)"`
	MaxWeight float64 `default:"100" range:"(0,)" doc:"bound of the weight of an action"`
	nn.Rate
	Tau     float64 `default:"0.005" range:"(0,1]" doc:"how far the target critics move after every update"`
	Critics int     `default:"2" unit:"critics" range:"[1,)" doc:"critics, of which the lowest value counts"`

	Online       bool    `default:"false" doc:"act in the environment, a step before every update, and learn from these steps as well"`
	Envs         int     `default:"1" unit:"environments" range:"[1,)" doc:"environments stepped together online"`
	Buffer       int     `default:"1000000" unit:"rows" range:"[1,)" doc:"steps of the policy that are kept"`
	DataFraction float64 `default:"0.5" range:"[0,1]" doc:"part of the rows of an update online that are the data set's"`

	nn.Standard `defaults:"normalize_obs=true"`
	nn.Layers   `defaults:"hidden=256,256,256 activation=relu"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	if c.Online && c.Buffer < c.Envs {
		return fmt.Errorf("buffer: %d rows do not hold a step of each of %d environments (envs)", c.Buffer, c.Envs)
	}
	return nil
}

// Algorithm is AWAC for whoever runs it.
var Algorithm = algo.DefineOffline("awac", "advantage-weighted actor-critic: imitates what is better than the policy", []algo.Preset{
	{Name: "default", Doc: "CORL's recipe for MuJoCo", Steps: 1_000_000},
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	set, err := data.NewFrom[Transition](s, "data", c.From, data.Options{Discount: c.Gamma})
	if err != nil {
		return nil, err
	}
	n, err := newNet(s, *c, set)
	if err != nil {
		return nil, err
	}
	t := &Trainer{
		Config: *c, Data: set,
		sample: rl.NewFunc(s, "sample", n.sample),
		greedy: rl.NewFunc(s, "greedy", n.greedy),
		Learner: &Learner{
			Config: *c, fast: n.fast, slow: n.slow,
			judge:   rl.NewLoss(s, "judge", n.judge, n.fast),
			improve: rl.NewLoss(s, "improve", n.improve, n.pi),
			critics: rl.NewOpt(s, "critics' adam", nn.Adam{}, n.fast),
			policy:  rl.NewOpt(s, "policy's adam", nn.Adam{}, n.pi),
		},
	}
	if c.Online {
		if t.Env, err = make.Batch(c.Envs); err != nil {
			return nil, err
		}
		t.Replay = replay.NewTable[Transition](s, "replay", c.Buffer, replay.Options{Discount: c.Gamma})
		err = set.Fits(t.Env.Spec().Obs, t.Env.Spec().Action)
	}
	return t, err
}

// net is the policy, and the critics with their targets.
type net struct {
	Config
	view           nn.View
	torso          nn.Torso
	head           nn.Head
	critics        nn.Critics
	pi, fast, slow *rl.Params
}

func newNet(s *rl.Scope, c Config, set *data.Set[Transition]) (*net, error) {
	obs, action := set.Spaces()
	c.NormalizeObs = c.NormalizeObs && set.Meta().Norm != nil // pictures and choices stay as they are
	view := c.View(s, "observations", obs)
	torso, err := c.Torso(view.Sees)
	if err != nil {
		return nil, err
	}
	critics, err := nn.NewCritics(c.Layers, view.Sees, action, c.Critics)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, view: view, torso: torso, head: nn.NewBoundedHead(action), critics: critics}
	n.pi = rl.NewParams(s, "policy", func(c *rl.Ctx, sc *model.Scope) { n.policy(c, sc, rl.Obs{X: nn.Blank(c, view.Sees)}).Mode() })
	n.fast = rl.NewParams(s, "critics", critics.Init)
	n.slow = rl.NewParams(s, "target critics", critics.Init)
	n.slow.Blend(n.fast, 1)
	return n, view.Know(set.Normalise)
}

// policy returns the distributions of actions: of boxes, a Gaussian whose deviations do not depend
// on the state.
func (n *net) policy(c *rl.Ctx, sc *model.Scope, seen rl.Obs) nn.Dist {
	x := nn.Dense(c, sc.At("out"), n.torso.Apply(c, sc, seen.X), n.head.Units(), .01)
	return n.head.Dist(c, sc, x, seen.Legal)
}

func (n *net) sample(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.head.Clip(n.policy(c, c.Scope(n.pi), n.view.Of(c, obs)).Sample(c, "action"))
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.head.Clip(n.policy(c, c.Scope(n.pi), n.view.Of(c, obs)).Mode())
}

// value returns the lowest value, by critics, of actions that the policy samples in states. They
// are clipped to their bounds as they would be for an environment.
func (n *net) value(c *rl.Ctx, critics *rl.Params, pi nn.Dist, seen rl.Obs, use string) *Node {
	return nn.Least(n.critics.Apply(c, c.Scope(critics), seen, n.head.Clip(pi.Sample(c, use))))
}

// judge returns the squared errors of all critics against the reward and the lowest value, by the
// targets, of an action of the policy in the next state.
func (n *net) judge(c *rl.Ctx, s replay.Sample[Transition]) (loss, weight rl.Tensor, m Judged) {
	after := n.view.Of(c, s.Data.Next)
	next := n.value(c, n.slow, n.policy(c, c.Scope(n.pi), after), after, "next")
	q := n.critics.Apply(c, c.Scope(n.fast), n.view.Of(c, s.Data.Obs), s.Data.Action)
	loss = rl.Wrap(nn.SquaredErrors(q, nn.Goal(s.Data.Reward, s.Discount, s.Data.Terminated, next)))
	return loss, rl.Tensor{}, Judged{loss, rl.Wrap(q[0])}
}

// improve returns the policy's loss: the negative logarithm of the probability of the data's
// action, by a weight that grows with its advantage over an action of the policy.
func (n *net) improve(c *rl.Ctx, s Transition) (loss, weight rl.Tensor, m Improved) {
	obs := n.view.Of(c, s.Obs)
	pi := n.policy(c, c.Scope(n.pi), obs)
	q := nn.Least(n.critics.Apply(c, c.Scope(n.fast), obs, s.Action))
	adv := StopGradient(Sub(q, n.value(c, n.fast, pi, obs, "action")))
	w := nn.AdvantageWeights(adv, 1/n.Lambda, n.MaxWeight)
	loss = rl.Wrap(Neg(Mul(w, pi.LogProb(s.Action))))
	return loss, rl.Tensor{}, Improved{loss, rl.Wrap(adv), rl.Wrap(w)}
}
