// Package td3 is the deep deterministic policy gradient (DDPG, Lillicrap et al., 2015) and its twin
// delayed form (TD3, Fujimoto et al., 2018): a policy without chance, improved along the slope of a
// critic. The critic is learnt from a table of what the policy did, with noise. TD3 takes the lower
// value of two critics, adds noise to the actions that targets are computed from, and updates the
// policy more rarely. Both are one loop, with defaults of their own.
package td3

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer fills a table with what its Actor does, and its Learner learns from samples of it.
type Trainer struct {
	Config
	Env     env.Batch
	Replay  *replay.Table[Transition]
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Collect(run)
		if run.Steps() >= t.LearningStarts {
			t.Learn(run)
		}
		t.Learner.Observe(obs)
	}
	return run.Err()
}

// Collect steps every environment TrainEvery times, at random before anything was learnt, and
// returns what was observed last.
func (t *Trainer) Collect(run *rl.Run) rl.Obs {
	obs := t.Env.Obs()
	random := rl.Scalar(t.Random(run.Steps()))
	for i := range t.TrainEvery {
		action := t.Actor.Act(run.Key("act", i), ActIn{obs, random})
		out := t.Env.Step(action)
		t.Replay.Insert(Transition{obs, action, out.Reward, out.Final, out.Terminated}, out.Over)
		obs = out.Obs
	}
	return obs
}

// Learn makes Updates updates of the critics. After every Delay of them it updates the policy, and
// the targets follow.
func (t *Trainer) Learn(run *rl.Run) {
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		t.Learner.Judge(run, u, s)
		if (int(run.Iter())*t.Updates+u+1)%t.Delay == 0 {
			t.Learner.Improve(run, s.Data.Obs)
			t.Learner.Follow()
		}
	}
}

type (
	// ActIn is an observation, and 1 if any action is to be taken, 0 if the policy's.
	ActIn struct {
		Obs    rl.Obs
		Random rl.Tensor
	}
	// Transition is one step of every environment.
	Transition replay.Transition
	// Judged reports an update of the critics, by row.
	Judged struct{ Loss, Q rl.Tensor }
)

// Actor chooses actions.
type Actor struct{ act, greedy *rl.Func[ActIn, rl.Tree] }

// Act returns the policy's action for every environment, with noise, or any action.
func (a *Actor) Act(k rl.Key, in ActIn) rl.Tree { return a.act.Call(k, in) }

// Learner improves the weights.
type Learner struct {
	Config
	weights, targets networks
	judge            *rl.Loss[replay.Sample[Transition], Judged]
	improve          *rl.Loss[rl.Obs, rl.Tensor]
	critics, policy  *rl.Opt
	norm             *rl.Stats // statistics of observations; nil without normalisation
	features         *rl.Func[rl.Obs, rl.Tensor]
}

// networks are the weights of a policy and of its critics.
type networks struct{ policy, critics *rl.Params }

// Judge makes update u of the critics.
func (l *Learner) Judge(run *rl.Run, u int, s replay.Sample[Transition]) {
	g, m := l.judge.Grad(run.Key("judge", u), s)
	l.critics.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/critics", m.Loss)
	run.Log("q", m.Q)
}

// Improve makes an update of the policy.
func (l *Learner) Improve(run *rl.Run, obs rl.Obs) {
	g, loss := l.improve.Grad(rl.Key{}, obs)
	l.policy.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/policy", loss)
}

// Follow moves the targets towards the weights.
func (l *Learner) Follow() {
	l.targets.policy.Blend(l.weights.policy, l.Tau)
	l.targets.critics.Blend(l.weights.critics, l.Tau)
}

// Observe updates the statistics of observations, once an iteration and after learning, so that
// acting and learning normalise alike.
func (l *Learner) Observe(obs rl.Obs) {
	if l.NormalizeObs {
		l.norm.Update(l.features.Call(rl.Key{}, obs))
	}
}

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.Acting[ActIn, rl.Tree]{
		Sample: t.Actor.act, Greedy: t.Actor.greedy,
		In:  func(obs rl.Obs, _ rl.Tree) ActIn { return ActIn{obs, rl.Scalar(0)} },
		Out: func(a rl.Tree) (action, next rl.Tree) { return a, rl.Tree{} },
	}
}

// Config is TD3's settings. The defaults are its authors'. Noise is in units of half the distance
// between the bounds of an action.
type Config struct {
	replay.Experience `defaults:"learning_starts=25000"`
	nn.Rate

	Tau         float64 `default:"0.005" range:"(0,1]" doc:"how far the targets move after an update of the policy"`
	Delay       int     `default:"2" unit:"updates" range:"[1,)" doc:"updates of the critics for one of the policy and the targets"`
	Critics     int     `default:"2" unit:"critics" range:"[1,)" doc:"critics, of which the lowest value counts; the policy follows the first"`
	Noise       float64 `default:"0.1" range:"[0,)" doc:"deviation of the noise that is added to actions for exploration; 1 is half of an action's range"`
	TargetNoise float64 `default:"0.2" range:"[0,)" doc:"deviation of the noise that is added to the target policy's actions; 1 is half of an action's range"`
	TargetClip  float64 `default:"0.5" range:"[0,)" doc:"bound of that noise, in the same unit; 0 is no bound"`

	nn.Standard
	nn.Layers `defaults:"hidden=256,256 activation=relu"`
}

// DDPGConfig is DDPG's settings: TD3's with one critic, no delay and no noise in the targets. The
// defaults are Tianshou's.
type DDPGConfig struct {
	Config `defaults:"critics=1 delay=1 target_noise=0 learning_rate=1e-3"`
}

// Algorithm is TD3 for whoever runs it.
var Algorithm = algo.Define("td3", "twin delayed deep deterministic policy gradient", []algo.Preset{
	algo.For("Pendulum-v1", 20_000, "RL Zoo's recipe", pendulum),
	algo.ForKind(env.Continuous, 1_000_000, "its authors' recipe for MuJoCo, with a step size of 1e-3", func(c *Config) {
		c.LearningRate = 1e-3
	}),
	algo.For("IdentityContinuous-v0", 10_000, "solved in seconds", identity),
}, build)

// DDPG is DDPG for whoever runs it.
var DDPG = algo.Define("ddpg", "deep deterministic policy gradient", []algo.Preset{
	algo.For("Pendulum-v1", 20_000, "RL Zoo's recipe", func(c *DDPGConfig) { pendulum(&c.Config) }),
	algo.ForKind(env.Continuous, 1_000_000, "Tianshou's recipe for MuJoCo", func(*DDPGConfig) {}),
	algo.For("IdentityContinuous-v0", 10_000, "solved in seconds", func(c *DDPGConfig) { identity(&c.Config) }),
}, buildDDPG)

func pendulum(c *Config) {
	c.Gamma, c.Buffer, c.LearningStarts, c.LearningRate, c.Hidden = .98, 200_000, 10_000, 1e-3, []int{400, 300}
}

func identity(c *Config) {
	c.Envs, c.TrainEvery, c.Updates, c.Batch, c.LearningStarts, c.Buffer = 8, 2, 2, 64, 512, 10_000
	c.LearningRate, c.Gamma, c.Hidden = 3e-3, .5, []int{32, 32}
}

func buildDDPG(s *rl.Scope, make algo.MakeEnv, c *DDPGConfig) (rl.Trainer, error) {
	return build(s, make, &c.Config)
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	n, err := newNet(s, c, e.Spec())
	if err != nil {
		return nil, err
	}
	return &Trainer{
		Config: *c,
		Env:    e,
		Replay: replay.NewTable[Transition](s, "replay", c.Buffer, c.Options()),
		Actor:  &Actor{rl.NewFunc(s, "act", n.act), rl.NewFunc(s, "greedy", n.greedy)},
		Learner: &Learner{
			Config: *c, weights: n.weights, targets: n.targets,
			judge:   rl.NewLoss(s, "judge", n.judge, n.weights.critics),
			improve: rl.NewLoss(s, "improve", n.improve, n.weights.policy),
			critics: rl.NewOpt(s, "critics' adam", nn.Adam{}, n.weights.critics),
			policy:  rl.NewOpt(s, "policy's adam", nn.Adam{}, n.weights.policy),
			norm:    n.norm, features: rl.NewFunc(s, "features", n.features),
		},
	}, nil
}

// net is the policy and the critics, and the targets of both.
type net struct {
	Config
	torso            nn.Torso
	head             nn.Head
	critics          nn.Critics
	weights, targets networks
	space            rl.Space  // space of observations
	norm             *rl.Stats // statistics of observations; nil without normalisation
}

func newNet(s *rl.Scope, c *Config, spec env.Spec) (*net, error) {
	if spec.Agents > 1 {
		return nil, fmt.Errorf("%s has %d agents, this algorithm trains one: use one for several", spec.ID, spec.Agents)
	}
	if !nn.Continuous(spec.Action) {
		return nil, fmt.Errorf("a deterministic policy acts in boxes, and actions of %s are %s: take sac or ppo", spec.ID, spec.Action)
	}
	sees := c.Sees(spec.Obs)
	torso, err := c.Torso(sees)
	if err != nil {
		return nil, err
	}
	critics, err := nn.NewCritics(c.Layers, sees, spec.Action, c.Critics)
	if err != nil {
		return nil, err
	}
	n := &net{Config: *c, torso: torso, head: nn.NewHead(spec.Action), critics: critics, space: spec.Obs}
	if c.NormalizeObs {
		n.norm = rl.NewStats(s, "observations", c.ClipObs, nn.Width(spec.Obs))
	}
	policy := func(c *rl.Ctx, sc *model.Scope) { n.action(n.policy(c, sc, rl.Obs{X: nn.Blank(c, sees)})) }
	n.weights = networks{rl.NewParams(s, "policy", policy), rl.NewParams(s, "critics", critics.Init)}
	n.targets = networks{rl.NewParams(s, "target policy", policy), rl.NewParams(s, "target critics", critics.Init)}
	n.targets.policy.Blend(n.weights.policy, 1)
	n.targets.critics.Blend(n.weights.critics, 1)
	return n, nil
}

func (n *net) features(_ *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(nn.Features(n.space, obs.X))
}

// seen returns observations as the networks see them.
func (n *net) seen(c *rl.Ctx, obs rl.Obs) rl.Obs {
	if n.norm != nil {
		obs.X = rl.One(rl.Wrap(n.norm.Norm(c, nn.Features(n.space, obs.X))))
	}
	return obs
}

// policy returns actions as numbers from -1 to 1, [rows..., numbers], for what is seen.
func (n *net) policy(c *rl.Ctx, sc *model.Scope, seen rl.Obs) *Node {
	return Tanh(nn.Dense(c, sc.At("out"), n.torso.Apply(c, sc, seen.X), n.head.Units(), .01))
}

// action returns the actions that numbers from -1 to 1 stand for, between their bounds.
func (n *net) action(x *Node) rl.Tree { return nn.Unscaled(n.critics.Action, x) }

// act returns the policy's actions with noise, or actions that are equally likely anywhere between
// their bounds.
func (n *net) act(c *rl.Ctx, in ActIn) rl.Tree {
	x := n.policy(c, c.Scope(n.weights.policy), n.seen(c, in.Obs))
	any := AddScalar(MulScalar(c.Uniform("any", x.Shape().Dimensions...), 2), -1)
	random := GreaterThan(BroadcastToDims(in.Random.Node(), x.Shape().Dimensions...), ZerosLike(x))
	return n.action(Where(random, any, nn.Perturb(c, "noise", x, n.Noise, 0)))
}

func (n *net) greedy(c *rl.Ctx, in ActIn) rl.Tree {
	return n.action(n.policy(c, c.Scope(n.weights.policy), n.seen(c, in.Obs)))
}

// judge returns the squared errors of all critics against the reward and the lowest value, by the
// targets, of a noisy action in the next state.
func (n *net) judge(c *rl.Ctx, s replay.Sample[Transition]) (loss, weight rl.Tensor, m Judged) {
	obs, after := n.seen(c, s.Data.Obs), n.seen(c, s.Data.Next)
	x := nn.Perturb(c, "noise", n.policy(c, c.Scope(n.targets.policy), after), n.TargetNoise, n.TargetClip)
	next := nn.Least(n.critics.Apply(c, c.Scope(n.targets.critics), after, n.action(x)))
	q := n.critics.Apply(c, c.Scope(n.weights.critics), obs, s.Data.Action)
	loss = rl.Wrap(nn.SquaredErrors(q, nn.Goal(s.Data.Reward, s.Discount, s.Data.Terminated, next)))
	return loss, rl.Tensor{}, Judged{loss, rl.Wrap(q[0])}
}

// improve returns the policy's loss: the first critic's value of its actions, negated.
func (n *net) improve(c *rl.Ctx, obs rl.Obs) (loss, weight, report rl.Tensor) {
	obs = n.seen(c, obs)
	a := n.action(n.policy(c, c.Scope(n.weights.policy), obs))
	q := n.critics.First().Apply(c, c.Scope(n.weights.critics), obs, a)
	loss = rl.Wrap(Neg(q[0]))
	return loss, rl.Tensor{}, loss
}
