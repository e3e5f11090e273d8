// Package maddpg is the multi-agent deep deterministic policy gradient (Lowe et al., 2017), and
// with twin critics, delayed policies and noisy targets MATD3 (Ackermann et al., 2019). Each kind
// of agents has a role: a policy that acts on what an agent sees, and critics that see what all
// agents see and do. Discrete actions are drawn by Gumbel-softmax, through which critics teach
// policies.
//
// Tensors of a kind with several agents are [env, agent, ...].
package maddpg

import (
	"cmp"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer has a role for each kind of agents. What they do together is one table.
type Trainer struct {
	Config
	Env    env.Groups
	Replay *replay.Table[Joint]
	Roles  []*Role
}

// Role is the components that the agents of one kind share.
type Role struct {
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Collect(run)
		if run.Steps() >= t.LearningStarts {
			t.Learn(run)
		}
	}
	return run.Err()
}

// Collect steps every environment TrainEvery times, at random before anything was learnt.
func (t *Trainer) Collect(run *rl.Run) {
	obs := t.Env.Obs()
	random := rl.Scalar(t.Random(run.Steps()))
	for i := range t.TrainEvery {
		moves := make([]rl.Tree, len(t.Roles))
		for j, r := range t.Roles {
			moves[j] = r.Actor.Act(run.Key("act", i, j), ActIn{obs[j], random})
		}
		out := t.Env.Step(moves)
		t.Replay.Insert(joint(obs, moves, out), over(out))
		obs = seen(out)
	}
}

// Learn makes Updates updates of all critics, and after every Delay of them one of all policies and
// targets. All roles learn from the same sample, and what the target policies do in it.
func (t *Trainer) Learn(run *rl.Run) {
	for u := range t.Updates {
		s := t.Replay.Sample(run.Key("sample", u), t.Batch)
		next := make([]rl.Tensor, len(t.Roles))
		for j, r := range t.Roles {
			next[j] = r.Learner.Next(run.Key("next", u, j), s.Data.Next[j])
		}
		for j, r := range t.Roles {
			r.Learner.Judge(run.At("role", j), u, Judging{s, next})
		}
		if (int(run.Iter())*t.Updates+u+1)%t.Delay == 0 {
			for j, r := range t.Roles {
				r.Learner.Improve(run.At("role", j), u, s.Data)
				r.Learner.Follow()
			}
		}
	}
}

// joint returns a step of all kinds of agents, in slices of its own: the table keeps them.
func joint(obs []rl.Obs, moves []rl.Tree, out []rl.Step) Joint {
	now := make([]rl.Obs, len(out))
	next := make([]rl.Obs, len(out))
	reward := make([]rl.Tensor, len(out))
	terminated := make([]rl.Tensor, len(out))
	for j, x := range out {
		now[j], next[j], reward[j], terminated[j] = obs[j], x.Final, x.Reward, x.Terminated
	}
	return Joint{now, moves, reward, next, terminated}
}

// over returns where episodes ended.
func over(out []rl.Step) rl.Tensor { return out[0].Over }

// seen returns what the agents act on next.
func seen(out []rl.Step) []rl.Obs {
	obs := make([]rl.Obs, len(out))
	for j, x := range out {
		obs[j] = x.Obs
	}
	return obs
}

type (
	// ActIn is an observation, and 1 if any action is to be taken, 0 if the policy's.
	ActIn struct {
		Obs    rl.Obs
		Random rl.Tensor
	}
	// Joint is one step of every environment, by kind of agents. Next is where it led, before any
	// reset.
	Joint struct {
		Obs        []rl.Obs
		Action     []rl.Tree
		Reward     []rl.Tensor `replay:"sum"`
		Next       []rl.Obs    `replay:"last"`
		Terminated []rl.Tensor `replay:"last"`
	}
	// Judging is a sample, and the target policies' outputs where its steps led.
	Judging struct {
		Sample replay.Sample[Joint]
		Next   []rl.Tensor
	}
	// Judged reports an update of the critics, by row.
	Judged struct{ Loss, Q rl.Tensor }
)

// Actor chooses actions for the agents of a kind.
type Actor struct{ act, greedy *rl.Func[ActIn, rl.Tree] }

// Act draws the policy's action for every agent of every environment, or any action.
func (a *Actor) Act(k rl.Key, in ActIn) rl.Tree { return a.act.Call(k, in) }

// Learner improves the weights of a role.
type Learner struct {
	Config
	net             *net
	next            *rl.Func[rl.Obs, rl.Tensor]
	judge           *rl.Loss[Judging, Judged]
	improve         *rl.Loss[Joint, rl.Tensor]
	critics, policy *rl.Opt
}

// Next returns the target policy's outputs.
func (l *Learner) Next(k rl.Key, obs rl.Obs) rl.Tensor { return l.next.Call(k, obs) }

// Judge makes update u of the critics.
func (l *Learner) Judge(run *rl.Run, u int, in Judging) {
	g, m := l.judge.Grad(run.Key("judge", u), in)
	l.critics.Apply(g, l.CriticRate*l.Rate.At(run.Progress()))
	run.Log("loss/critics", m.Loss)
	run.Log("q", m.Q)
}

// Improve makes an update of the policy.
func (l *Learner) Improve(run *rl.Run, u int, d Joint) {
	g, loss := l.improve.Grad(run.Key("improve", u), d)
	l.policy.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/policy", loss)
}

// Follow moves the targets towards the weights.
func (l *Learner) Follow() {
	l.net.slowPolicy.Blend(l.net.policy, l.Tau)
	l.net.slowCritics.Blend(l.net.critics, l.Tau)
}

// Agent returns the trained policies as a team, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	team := make(rl.Team, len(t.Roles))
	for j, r := range t.Roles {
		team[j] = rl.Acting[ActIn, rl.Tree]{
			Sample: r.Actor.act, Greedy: r.Actor.greedy,
			In:  func(obs rl.Obs, _ rl.Tree) ActIn { return ActIn{obs, rl.Scalar(0)} },
			Out: func(a rl.Tree) (action, next rl.Tree) { return a, rl.Tree{} },
		}
	}
	return team
}

// Config is MADDPG's settings. Noise is in units of half the distance between the bounds of an
// action.
type Config struct {
	replay.Experience `defaults:"envs=20 train_every=5 batch=1024 learning_starts=5000 gamma=0.95"`

	Separate bool `default:"true" doc:"train a policy and critics for every agent, instead of one for all agents of a kind"`
	AgentID  bool `default:"true" doc:"tell shared networks which of the kind's agents they act for"`

	nn.Rate     `defaults:"learning_rate=1e-3"`
	CriticRate  float64 `default:"1" range:"(0,)" doc:"step size of the critics, in units of the policies'"`
	MaxGradNorm float64 `default:"0.5" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`

	Tau         float64 `default:"0.01" range:"(0,1]" doc:"how far the targets move after an update of the policies"`
	Delay       int     `default:"1" unit:"updates" range:"[1,)" doc:"updates of the critics for one of the policies and the targets"`
	Critics     int     `default:"1" unit:"critics" range:"[1,)" doc:"critics of a role, of which the lowest value counts; the policy follows the first"`
	Temperature float64 `default:"1" range:"(0,)" doc:"temperature of Gumbel-softmax, for discrete actions"`
	Logits      float64 `default:"1e-3" range:"[0,)" doc:"weight of the squares of a policy's outputs in its loss, which keep it from being sure too soon"`
	Noise       float64 `default:"0.1" range:"[0,)" doc:"deviation of the noise that is added to actions in boxes for exploration; 1 is half of an action's range"`
	TargetNoise float64 `default:"0" range:"[0,)" doc:"deviation of the noise that is added to the target policies' actions in boxes; 1 is half of an action's range"`
	TargetClip  float64 `default:"0.5" range:"[0,)" doc:"bound of that noise, in the same unit; 0 is no bound"`

	nn.Layers `defaults:"hidden=64,64 activation=relu"`
}

// Algorithm is MADDPG for whoever runs it.
var Algorithm = algo.Define("maddpg", "DDPG for several agents, with critics of what all of them see and do", []algo.Preset{
	algo.For("mpe/simple_spread-v3", 2_000_000, "one policy for all agents, a shorter view, a step size that ends at 0", func(c *Config) { spread(c) }),
	algo.ForKind(env.Teams, 2_000_000, "a policy for each agent", func(*Config) {}),
	algo.For("Agents-v0", 20_000, "solved in seconds", func(c *Config) { small(c) }),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Groups(c.Envs)
	if err != nil {
		return nil, err
	}
	if c.Separate {
		e = env.Each(e)
	}
	t := &Trainer{Config: *c, Env: e, Replay: replay.NewTable[Joint](s, "replay", c.Buffer, c.Options())}
	for j, spec := range e.Spec() {
		r, err := newRole(s, cmp.Or(spec.Kind, "agent"), *c, e.Spec(), j)
		if err != nil {
			return nil, err
		}
		t.Roles = append(t.Roles, r)
	}
	return t, nil
}

func newRole(s *rl.Scope, name string, c Config, all []env.Spec, j int) (*Role, error) {
	n, err := newNet(s, name, c, all, j)
	if err != nil {
		return nil, err
	}
	rule := nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{}}
	return &Role{
		Actor: &Actor{rl.NewFunc(s, name+" act", n.act), rl.NewFunc(s, name+" greedy", n.greedy)},
		Learner: &Learner{
			Config: c, net: n,
			next:    rl.NewFunc(s, name+" next", n.next),
			judge:   rl.NewLoss(s, name+" judge", n.judge, n.critics),
			improve: rl.NewLoss(s, name+" improve", n.improve, n.policy),
			critics: rl.NewOpt(s, name+" critics' adam", rule, n.critics),
			policy:  rl.NewOpt(s, name+" policy's adam", rule, n.policy),
		},
	}, nil
}

// net is the policy of a kind of agents and its critics, and the targets of both.
type net struct {
	Config
	nn.JointActorCritic
	policy, critics         *rl.Params
	slowPolicy, slowCritics *rl.Params // the targets
}

func newNet(s *rl.Scope, name string, c Config, all []env.Spec, j int) (*net, error) {
	act, err := nn.ActivationNamed(c.Activation)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, JointActorCritic: nn.JointActorCritic{
		Kind: j, Critics: c.Critics, MLP: nn.MLP{Hidden: c.Hidden, Act: act}, Number: c.AgentID, Temperature: c.Temperature,
	}}
	for _, spec := range all {
		n.Kinds = append(n.Kinds, nn.KindView{Obs: spec.Obs, Action: spec.Action, Agents: spec.Agents})
	}
	if err := n.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w: take mappo", all[j].ID, err)
	}
	n.policy, n.critics = rl.NewParams(s, name+" policy", n.InitPolicy), rl.NewParams(s, name+" critics", n.InitCritics)
	n.slowPolicy, n.slowCritics = rl.NewParams(s, name+" target policy", n.InitPolicy), rl.NewParams(s, name+" target critics", n.InitCritics)
	n.slowPolicy.Blend(n.policy, 1)
	n.slowCritics.Blend(n.critics, 1)
	return n, nil
}

// act draws choices, or adds noise to numbers. Where Random says so all actions are equally likely.
func (n *net) act(c *rl.Ctx, in ActIn) rl.Tree {
	x := n.Policy(c, c.Scope(n.policy), in.Obs)
	random := GreaterThan(BroadcastToDims(in.Random.Node(), x.Shape().Dimensions...), ZerosLike(x))
	if pi := n.Chosen(n.Kind, Where(random, ZerosLike(x), x), in.Obs); pi != nil {
		return pi.Sample(c, "action")
	}
	any := AddScalar(MulScalar(c.Uniform("any", x.Shape().Dimensions...), 2), -1)
	return nn.Unscaled(n.Own().Action, Where(random, any, nn.Perturb(c, "noise", x, n.Noise, 0)))
}

func (n *net) greedy(c *rl.Ctx, in ActIn) rl.Tree {
	x := n.Policy(c, c.Scope(n.policy), in.Obs)
	if pi := n.Chosen(n.Kind, x, in.Obs); pi != nil {
		return pi.Mode()
	}
	return nn.Unscaled(n.Own().Action, x)
}

func (n *net) next(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Policy(c, c.Scope(n.slowPolicy), obs))
}

// judge returns the squared errors of all critics against the reward and the lowest value, by the
// targets, of what all target policies do in the next state.
func (n *net) judge(c *rl.Ctx, in Judging) (loss, weight rl.Tensor, m Judged) {
	d := in.Sample.Data
	next := make([]*Node, len(in.Next))
	for i, x := range in.Next {
		next[i] = nn.Perturb(c, fmt.Sprint("noise ", i), n.Drawn(c, i, x.Node(), d.Next[i]), n.noise(i), n.TargetClip)
	}
	later := nn.Least(n.Values(c, c.Scope(n.slowCritics), n.Join(d.Next, next, nil)))
	discount := rl.Wrap(nn.ForAgents(in.Sample.Discount.Node(), 1, n.Own().Agents))
	goal := nn.Goal(d.Reward[n.Kind], discount, d.Terminated[n.Kind], later)
	q := n.Values(c, c.Scope(n.critics), n.Join(d.Obs, n.Actions(d.Action), nil))
	loss = rl.Wrap(nn.SquaredErrors(q, goal))
	return loss, alive(d.Obs[n.Kind]), Judged{loss, rl.Wrap(q[0])}
}

// noise returns the deviation of the noise in a kind's target actions: none in choices, which are
// drawn.
func (n *net) noise(kind int) float64 {
	if _, drawn := n.Kinds[kind].Action.(rl.Discrete); drawn {
		return 0
	}
	return n.TargetNoise
}

// improve returns the policy's loss: the first critic's value, negated, of its action beside what
// all other agents did.
func (n *net) improve(c *rl.Ctx, d Joint) (loss, weight, report rl.Tensor) {
	obs := d.Obs[n.Kind]
	x := n.Policy(c, c.Scope(n.policy), obs)
	joint := n.Join(d.Obs, n.Actions(d.Action), n.Drawn(c, n.Kind, x, obs))
	q := n.JointActorCritic.First().Values(c, c.Scope(n.critics), joint)[0]
	loss = rl.Wrap(Sub(MulScalar(ReduceMean(Square(x), -1), n.Logits), q))
	return loss, alive(obs), loss
}

// alive returns the weight of agents in a loss: nothing where they are out of play.
func alive(obs rl.Obs) rl.Tensor {
	if !obs.Alive.Ok() {
		return rl.Tensor{}
	}
	return rl.Wrap(ConvertDType(obs.Alive.Node(), dtypes.Float32))
}
