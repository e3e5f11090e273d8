// Package mappo is PPO for several agents with centralised critics (Yu et al.,
// "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games", 2022).
// Each kind of agents has a role: a policy that acts on what an agent sees, and a
// critic that sees the state of the whole environment, both shared by the agents
// of the kind. With separate policies every agent is a kind of its own.
//
// Tensors of a kind with several agents are [env, agent, ...]: its networks fold
// these axes, and every agent of every environment is a row of the loss.
package mappo

import (
	"cmp"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer has a role for each kind of agents. Roles share the environments and
// nothing else.
type Trainer struct {
	Config
	Env   env.Groups
	Roles []*Role
}

// Role is the components that the agents of one kind share.
type Role struct {
	Rollout *replay.Rollout[Step]
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Collect(run)
		for j, r := range t.Roles {
			batch := Batch{r.Rollout.Drain(), r.Actor.Last(obs[j])}
			r.Learner.Learn(run.At("role", j), batch)
		}
	}
	return run.Err()
}

// Collect steps every environment Horizon times under fixed weights, and gives
// what the agents see then.
func (t *Trainer) Collect(run *rl.Run) []rl.Obs {
	obs := t.Env.Obs()
	for i := range t.Horizon {
		acts := make([]ActOut, len(t.Roles))
		moves := make([]rl.Tree, len(t.Roles))
		for j, r := range t.Roles {
			acts[j] = r.Actor.Act(run.Key("act", i, j), obs[j])
			moves[j] = acts[j].Action
		}
		out := t.Env.Step(moves)
		for j, r := range t.Roles {
			cut := r.Actor.Value(out[j].Truncated, out[j].Final)
			r.Rollout.Insert(Step{obs[j], acts[j], out[j].Reward, out[j].Terminated, out[j].Truncated, cut})
		}
		obs = seen(out)
	}
	return obs
}

// seen returns what the agents act on next.
func seen(out []rl.Step) []rl.Obs {
	obs := make([]rl.Obs, len(out))
	for j, x := range out {
		obs[j] = x.Obs
	}
	return obs
}

// Learn makes Epochs passes over the batch in minibatches.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	s := b.Steps
	next := rl.Select(s.Truncated, s.Cut, rl.Shift(s.Act.Value, b.Last))
	v := l.worth.Call(rl.Key{}, Values{s.Act.Value, next})
	over := rl.Or(s.Terminated, s.Truncated) // by agent: one may be out of play before the others
	adv, ret := rl.GAE(l.Gamma, l.Lambda, s.Reward, v.State, v.Next, s.Terminated, over)
	if l.NormalizeValue {
		l.net.returns.Update(ret)
	}
	if l.NormalizeAdvantage {
		adv = rl.Standardise(adv, s.Act.Weight) // crosses rows, so it is no part of the loss
	}
	sample := Sample{s.Obs, s.Act.Raw, s.Act.LogProb, s.Act.Value, s.Act.Weight, adv, ret}
	lr := l.Rate.At(run.Progress())
	for e := range l.Epochs {
		for i := range l.Minibatches {
			mini := replay.Take(sample, run.Key("shuffle", e), replay.ByStep, i, l.Minibatches)
			g, m := l.loss.Grad(run.Key("loss", e, i), mini)
			l.opt.Apply(g, lr)
			m.log(run)
		}
	}
	run.Log("learning_rate", rl.Scalar(lr))
	run.Log("explained_variance", l.explained.Call(rl.Key{}, Explained{v.State, ret}))
}

type (
	// ActOut holds an actor's decisions. Raw is the policy's sample, Action that
	// sample clipped to the bounds of the action space. Value is the critic's output: where values
	// are normalised it is not in the unit of rewards. Weight is 0 for agents out
	// of play and 1 for others; it is absent where all stay in play.
	ActOut struct {
		Action, Raw            rl.Tree
		LogProb, Value, Weight rl.Tensor
	}
	// Step is one step of every environment. Cut is the value of the state that a
	// truncation cut off.
	Step struct {
		Obs                                rl.Obs
		Act                                ActOut
		Reward, Terminated, Truncated, Cut rl.Tensor
	}
	// Batch holds the steps of one iteration, and the value of the states after them.
	Batch struct {
		Steps Step // [env, time, ...] or [env, time, agent, ...]
		Last  rl.Tensor
	}
	// Values are of the states acted in and of those reached.
	Values struct{ State, Next rl.Tensor }
	// Sample holds the inputs of the loss, by step.
	Sample struct {
		Obs                              rl.Obs
		Action                           rl.Tree
		LogProb, Value, Weight, Adv, Ret rl.Tensor
	}
	// Metrics are reported of every minibatch, by row.
	Metrics nn.ProximalMetrics
	// Explained compares values with the returns that they predicted.
	Explained struct{ Value, Return rl.Tensor }
)

func (m Metrics) log(run *rl.Run) {
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("approx_kl", m.KL)
	run.Log("clip_fraction", m.Clipped)
}

// Actor chooses actions for the agents of a kind, and values states with the
// critic.
type Actor struct {
	act    *rl.Func[rl.Obs, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
	sample *rl.Func[rl.Obs, rl.Tree] // the policy alone
	greedy *rl.Func[rl.Obs, rl.Tree]
}

// Act samples an action for every agent of every environment.
func (a *Actor) Act(k rl.Key, obs rl.Obs) ActOut { return a.act.Call(k, obs) }

// Value returns the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Last returns the value of every state.
func (a *Actor) Last(obs rl.Obs) rl.Tensor { return a.value.Call(rl.Key{}, obs) }

// Learner improves the weights of a role.
type Learner struct {
	Config
	net       *net
	opt       *rl.Opt
	loss      *rl.Loss[Sample, Metrics]
	worth     *rl.Func[Values, Values] // the critic's outputs in the unit of rewards
	explained *rl.Func[Explained, rl.Tensor]
}

// Agent returns the trained policies as a team, for evaluation, export and serving.
// Its members act on what they see themselves: the critics stay behind.
func (t *Trainer) Agent() rl.Agent {
	team := make(rl.Team, len(t.Roles))
	for j, r := range t.Roles {
		team[j] = rl.NewAgent(r.Actor.sample, r.Actor.greedy, func(a rl.Tree) rl.Tree { return a })
	}
	return team
}

// Config is MAPPO's settings. The defaults are the paper's for particle
// environments, but for fewer of these.
type Config struct {
	Envs    int `default:"32" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	Horizon int `default:"25" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration"`

	Separate bool `default:"false" doc:"train a policy and a critic for every agent, instead of one for all agents of a kind"`
	Central  bool `default:"true" doc:"give critics the state of the whole environment, if it has one, instead of the agent's observation"`
	AgentID  bool `default:"true" doc:"tell shared networks which of the kind's agents they act for"`

	nn.Proximal `defaults:"epochs=10 minibatches=1 learning_rate=7e-4 anneal=constant max_grad_norm=10 value_coef=1"`
	Huber       float64 `default:"10" range:"[0,)" doc:"error above which the value loss is linear; 0 keeps it squared"`

	NormalizeAdvantage bool `default:"true" doc:"standardise the advantages of an iteration"`
	NormalizeValue     bool `default:"true" doc:"train critics on returns that running statistics standardise"`

	nn.Layers
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error {
	return c.Fits(c.Envs * c.Horizon)
}

// Algorithm is MAPPO for whoever runs it.
var Algorithm = algo.Define("mappo", "PPO for several agents, with centralised critics", []algo.Preset{
	algo.For("mpe/simple_spread-v3", 2_000_000, "a shorter view, eight minibatches a pass, a step size that ends at 0", func(c *Config) {
		c.Minibatches, c.Gamma, c.Lambda, c.Anneal = 8, .9, .8, "linear"
	}),
	algo.For("mpe/simple_spread-v3", 2_000_000, "the paper's recipe, with fewer environments", func(*Config) {}).Named("paper"),
	algo.For("mpe/simple_tag-v3", 500_000, "two kinds of agents against each other", func(*Config) {}),
	algo.For("Tag-v0", 500_000, "taggers and runners, a policy for each kind; critics see what their agent sees", func(c *Config) {
		c.Horizon, c.Epochs, c.Minibatches, c.AgentID, c.LearningRate, c.Gamma = 50, 4, 4, false, 1e-3, .98
	}),
	algo.ForKind(env.Teams, 2_000_000, "the paper's recipe, with fewer environments", func(*Config) {}),
	algo.For("Agents-v0", 20_000, "solved in a second", func(c *Config) {
		c.Envs, c.Horizon, c.LearningRate = 16, 32, 3e-3
	}),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Groups(c.Envs)
	if err != nil {
		return nil, err
	}
	if c.Separate {
		e = env.Each(e)
	}
	t := &Trainer{Config: *c, Env: e}
	for _, spec := range e.Spec() {
		r, err := newRole(s, cmp.Or(spec.Kind, "agent"), *c, spec)
		if err != nil {
			return nil, err
		}
		t.Roles = append(t.Roles, r)
	}
	return t, nil
}

func newRole(s *rl.Scope, name string, c Config, spec env.Spec) (*Role, error) {
	n, err := newNet(s, name, c, spec)
	if err != nil {
		return nil, err
	}
	return &Role{
		Rollout: replay.NewRollout[Step](s, name+" rollout"),
		Actor: &Actor{
			act:    rl.NewFunc(s, name+" act", n.actGraph),
			value:  rl.NewFunc(s, name+" value", n.valueGraph),
			sample: rl.NewFunc(s, name+" sample", n.sampleGraph),
			greedy: rl.NewFunc(s, name+" greedy", n.greedyGraph),
		},
		Learner: &Learner{
			Config:    c,
			net:       n,
			opt:       rl.NewOpt(s, name+" adam", c.Rule(), n.params),
			loss:      rl.NewLoss(s, name+" loss", n.lossGraph, n.params),
			worth:     rl.NewFunc(s, name+" worth", n.worthGraph),
			explained: rl.NewFunc(s, name+" explained variance", explained),
		},
	}, nil
}

func explained(_ *rl.Ctx, in Explained) rl.Tensor {
	return rl.Wrap(nn.ExplainedVariance(in.Value.Node(), in.Return.Node()))
}

// net is the policy of a kind of agents and its critic.
type net struct {
	Config
	nn.KindActorCritic
	mortal  bool // agents may be out of play
	params  *rl.Params
	returns *rl.Stats // nil without normalisation
}

func newNet(s *rl.Scope, name string, c Config, spec env.Spec) (*net, error) {
	act, err := nn.ActivationNamed(c.Activation)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, mortal: spec.Mortal, KindActorCritic: nn.KindActorCritic{
		Obs: spec.Obs, Agents: spec.Agents, Head: nn.NewHead(spec.Action), MLP: nn.MLP{Hidden: c.Hidden, Act: act}, Number: c.AgentID,
	}}
	if c.Central {
		n.State = spec.State
	}
	if c.NormalizeValue {
		n.returns = rl.NewStats(s, name+" returns", 0)
	}
	n.params = rl.NewParams(s, name+" net", n.Init)
	return n, nil
}

func (n *net) actGraph(c *rl.Ctx, obs rl.Obs) ActOut {
	sc := c.Scope(n.params)
	pi := n.Policy(c, sc, obs)
	raw := pi.Sample(c, "action")
	out := ActOut{Action: n.Head.Clip(raw), Raw: raw, LogProb: rl.Wrap(pi.LogProb(raw)), Value: rl.Wrap(n.Value(c, sc, obs))}
	if n.mortal {
		out.Weight = rl.Wrap(ConvertDType(obs.Alive.Node(), dtypes.Float32))
	}
	return out
}

func (n *net) sampleGraph(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.Head.Clip(n.Policy(c, c.Scope(n.params), obs).Sample(c, "action"))
}

func (n *net) greedyGraph(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.Head.Clip(n.Policy(c, c.Scope(n.params), obs).Mode())
}

func (n *net) valueGraph(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

func (n *net) worthGraph(c *rl.Ctx, v Values) Values {
	if n.returns == nil {
		return v
	}
	return Values{rl.Wrap(n.returns.Restore(c, v.State.Node())), rl.Wrap(n.returns.Restore(c, v.Next.Node()))}
}

// lossGraph returns the clipped surrogate, the clipped value loss and the entropy
// bonus, by row and agent. Agents out of play weigh nothing.
func (n *net) lossGraph(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	sc := c.Scope(n.params)
	pi := n.Policy(c, sc, s.Obs)
	p := nn.Surrogate(pi.LogProb(s.Action), s.LogProb.Node(), s.Adv.Node(), n.Clip)
	value := n.valueLoss(c, n.Value(c, sc, s.Obs), s)
	total, metrics := n.Total(p, value, pi.Entropy())
	return total, s.Weight, Metrics(metrics)
}

// valueLoss returns the error of values against returns, in the critic's unit.
func (n *net) valueLoss(c *rl.Ctx, v *Node, s Sample) *Node {
	ret := s.Ret.Node()
	if n.returns != nil {
		ret = n.returns.Norm(c, ret)
	}
	return n.ValueLoss(v, s.Value.Node(), ret, n.Huber)
}
