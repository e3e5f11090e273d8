// Package psro learns a game of two sides by policy-space response oracles (Lanctot et al., "A
// Unified Game-Theoretic Approach to Multiagent Reinforcement Learning", 2017). A league holds
// policies of both sides. Each side learns a response to the other's by PPO, the responses are
// frozen and join the league, and games between all of its policies say what each earns against
// each other. What a side plays in the end is a mixture of its policies: an equilibrium among them,
// or by another rule of matchmaking, with which the loop is fictitious play, iterated best response
// or prioritised self-play.
//
// Sides are the two kinds of agents of an environment, or the two agents of one kind, such as the
// seats of a board game.
package psro

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/league"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Trainer has a side for each kind of agents, and the league of both.
type Trainer struct {
	Config
	Env    env.Groups
	Cast   *rl.Slots[rl.Tensor] // numbers that play the games under way, [env, side]
	Score  *rl.Slots[rl.Tensor] // what the first side has earned in them, [env]
	Games  *replay.Rollout[Game]
	Table  *Table
	Sides  []*Side
	League *league.League
}

// Side is the components of one side's learner.
type Side struct {
	Rollout *replay.Rollout[Step]
	Actor   *Actor
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Play(run)
		g := t.Games.Drain()
		t.League.Record(g.Cast, g.Result, g.Over)
		for j, side := range t.Sides {
			batch := Batch{side.Rollout.Drain(), side.Actor.Last(obs[j])}
			if t.phase(run) < t.Response {
				side.Learner.Learn(run.At("side", j), batch)
			}
		}
		if t.phase(run) == t.Response-1 {
			for j, side := range t.Sides {
				t.League.Freeze(j, side.Learner.net.params)
			}
			t.League.Compare()
		}
		if t.phase(run) == t.Response+t.Arena-1 {
			t.League.Respond(t.Matchmaking)
			for _, side := range t.Sides {
				side.Learner.Restart()
			}
		}
	}
	return run.Err()
}

// phase returns which iteration of an expansion this is. The first Response of them learn, the
// others compare the frozen policies.
func (t *Trainer) phase(run *rl.Run) int { return int(run.Iter()) % (t.Response + t.Arena) }

// Play makes Horizon moves in every game, and returns what the agents see then.
func (t *Trainer) Play(run *rl.Run) []rl.Obs {
	obs, cast, score := t.Env.Obs(), t.Cast.Get(), t.Score.Get()
	for i := range t.Horizon {
		acts := make([]ActOut, len(t.Sides))
		moves := make([]rl.Tree, len(t.Sides))
		for j, side := range t.Sides {
			acts[j] = side.Actor.Act(run.Key("act", i, j), ActIn{obs[j], cast})
			moves[j] = acts[j].Action
		}
		out := t.Env.Step(moves)
		for j, side := range t.Sides {
			cut := side.Actor.Value(out[j].Truncated, out[j].Final)
			side.Rollout.Insert(Step{obs[j], acts[j], out[j].Reward, out[j].Terminated, out[j].Truncated, cut})
		}
		score = t.Table.Score(score, out[0].Reward)
		t.Games.Insert(Game{cast, score, out[0].Over})
		cast = t.Table.Cast(run.Key("cast", i), cast, out[0].Over)
		score = rl.Keep(score, out[0].Over)
		obs = seen(out)
	}
	t.Cast.Set(cast)
	t.Score.Set(score)
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

// Learn makes Epochs passes over the steps of the games that the learner played, in minibatches.
func (l *Learner) Learn(run *rl.Run, b Batch) {
	s := b.Steps
	next := rl.Select(s.Truncated, s.Cut, rl.Shift(s.Act.Value, b.Last))
	over := rl.Or(s.Terminated, s.Truncated) // by agent: one may be out of play before the others
	adv, ret := rl.GAE(l.Gamma, l.Lambda, s.Reward, s.Act.Value, next, s.Terminated, over)
	adv = rl.Standardise(adv, s.Act.Weight) // crosses rows, so it is no part of the loss
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
}

// Restart begins another response: where the last one ended, or from the first weights.
func (l *Learner) Restart() {
	if l.Config.Restart {
		l.net.params.Blend(l.first, 1)
	}
}

type (
	// ActIn holds what agents see, and the numbers that play.
	ActIn struct {
		Obs  rl.Obs
		Cast rl.Tensor
	}
	// ActOut holds the decisions of the policies that play. Raw is their sample, Action the same
	// within the bounds of the action space. LogProb and Value are the learner's, and Weight is 1
	// where it played itself and its agent was in play, else 0.
	ActOut struct {
		Action, Raw            rl.Tree
		LogProb, Value, Weight rl.Tensor
	}
	// Step is one step of every environment, as a side has it. Cut is the value of the state that
	// a truncation cut off.
	Step struct {
		Obs                                rl.Obs
		Act                                ActOut
		Reward, Terminated, Truncated, Cut rl.Tensor
	}
	// Game is one step of every game: who plays, what the first side has earned by now, and
	// whether the game is over.
	Game struct{ Cast, Result, Over rl.Tensor }
	// Batch holds what one iteration collected, and the value of where it ended.
	Batch struct {
		Steps Step // [env, time, ...] or [env, time, agent, ...]
		Last  rl.Tensor
	}
	// Sample holds the inputs of the loss, by step.
	Sample struct {
		Obs                              rl.Obs
		Action                           rl.Tree
		LogProb, Value, Weight, Adv, Ret rl.Tensor
	}
	// Metrics are reported of every minibatch, by row.
	Metrics nn.ProximalMetrics
	// Turn says who plays, and where games are over.
	Turn struct{ Cast, Over rl.Tensor }
	// Gain holds what the first side had earned before a step, and the step's reward.
	Gain struct{ Score, Reward rl.Tensor }
	// Mixed holds what agents see, and the number of the policy that acts, from 1; 0 asks for one.
	Mixed struct {
		Obs    rl.Obs
		Number rl.Tensor
	}
	// Chosen is an action, and the number of the policy that took it.
	Chosen struct {
		Action rl.Tree
		Number rl.Tensor
	}
)

func (m Metrics) log(run *rl.Run) {
	run.Log("loss/policy", m.Policy)
	run.Log("loss/value", m.Value)
	run.Log("loss/entropy", m.Entropy)
	run.Log("approx_kl", m.KL)
	run.Log("clip_fraction", m.Clipped)
}

// Table keeps the scores of games and casts new ones.
type Table struct {
	league *league.League
	cast   *rl.Func[Turn, rl.Tensor]
	score  *rl.Func[Gain, rl.Tensor]
}

// Cast returns who plays next: another cast where a game is over.
func (t *Table) Cast(k rl.Key, cast, over rl.Tensor) rl.Tensor {
	return t.cast.Call(k, Turn{cast, over})
}

// Score returns what the first side has earned after a step.
func (t *Table) Score(score, reward rl.Tensor) rl.Tensor {
	return t.score.Call(rl.Key{}, Gain{score, reward})
}

// Actor acts for one side, with the learner's weights or those of frozen policies.
type Actor struct {
	act    *rl.Func[ActIn, ActOut]
	value  *rl.Func[rl.Obs, rl.Tensor]
	sample *rl.Func[Mixed, Chosen] // the mixture of frozen policies
	greedy *rl.Func[Mixed, Chosen]
	scope  *rl.Scope
}

// Act samples an action for every agent of every environment.
func (a *Actor) Act(k rl.Key, in ActIn) ActOut { return a.act.Call(k, in) }

// Value returns the value of the states where mask is true, and 0 elsewhere.
func (a *Actor) Value(mask rl.Tensor, obs rl.Obs) rl.Tensor { return a.value.Rows(mask, rl.Key{}, obs) }

// Last returns the value of every state.
func (a *Actor) Last(obs rl.Obs) rl.Tensor { return a.value.Call(rl.Key{}, obs) }

// Learner improves the weights of a side.
type Learner struct {
	Config
	net   *net
	first *rl.Params // weights that responses begin with
	opt   *rl.Opt
	loss  *rl.Loss[Sample, Metrics]
}

// Agent returns the mixture of each side's frozen policies, for evaluation, export and serving. A
// policy is drawn for each episode.
func (t *Trainer) Agent() rl.Agent {
	team := make(rl.Team, len(t.Sides))
	for j, side := range t.Sides {
		a := side.Actor
		team[j] = rl.Acting[Mixed, Chosen]{
			Sample: a.sample, Greedy: a.greedy,
			In:    func(obs rl.Obs, memory rl.Tree) Mixed { return Mixed{obs, memory.At(0)} },
			Out:   func(c Chosen) (action, next rl.Tree) { return c.Action, rl.One(c.Number) },
			Fresh: func(n int) rl.Tree { return rl.One(rl.FromFlat(a.scope, make([]int32, n), n)) },
		}
	}
	return team
}

// Config is the settings of PSRO.
type Config struct {
	Envs     int `default:"256" unit:"environments" range:"[1,)" doc:"games played together"`
	Horizon  int `default:"8" unit:"steps" range:"[1,)" doc:"steps that every environment takes in an iteration"`
	Response int `default:"30" unit:"iterations" range:"[1,)" doc:"iterations in which a response is learnt"`
	Arena    int `default:"20" unit:"iterations" range:"[1,)" doc:"iterations after it in which frozen policies play each other, for the payoff matrix"`
	Policies int `default:"12" unit:"policies" range:"[1,)" doc:"frozen policies of each side; of more, those that play least make room"`

	league.Matchmaking
	Restart bool `default:"true" doc:"learn every response from the first weights; a policy that is sure of itself explores too little to find another"`

	nn.Proximal `defaults:"epochs=4 minibatches=4 learning_rate=1e-3 anneal=constant gamma=1 clip_value=false"`
	AgentID     bool `default:"true" doc:"tell shared networks which of the kind's agents they act for"`
	Central     bool `default:"true" doc:"give critics the state of the whole environment, if it has one, instead of the agent's observation"`

	nn.Layers
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error { return c.Fits(c.Envs * c.Horizon) }

// Algorithm is PSRO for whoever runs it.
var Algorithm = algo.Define("psro", "a league of frozen policies: responses by PPO to a mixture of them", []algo.Preset{
	algo.For("mpe/simple_tag-v3", 2_000_000, "adversaries and good agents against each other's past", func(c *Config) {
		c.Envs, c.Horizon, c.Response, c.Arena, c.Opponents, c.Gamma = 64, 25, 60, 5, "prioritised", .95
	}),
	algo.For("board/KuhnPoker-v0", 1_200_000, "twelve responses to equilibria (with the option opponent=none)", func(*Config) {}),
	algo.ForKind(env.Teams, 4_000_000, "two kinds of agents against each other's past", func(c *Config) { c.Horizon, c.Gamma = 25, .99 }),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Groups(c.Envs)
	if err != nil {
		return nil, err
	}
	if spec := e.Spec(); len(spec) == 1 {
		e = env.Each(e)
	}
	specs := e.Spec()
	if len(specs) != 2 {
		return nil, fmt.Errorf("%s has %d sides, and a league is of two that play against each other: use an environment with two kinds of agents, "+
			"or a game with two agents (of board/, with the option opponent=none)", specs[0].ID, len(specs))
	}
	var sides []*net
	for j, spec := range specs {
		n, err := newNet(s, j, *c, spec)
		if err != nil {
			return nil, err
		}
		sides = append(sides, n)
	}
	l := league.New(s, "league", c.Policies, c.Matchmaking, sides[0].params, sides[1].params)
	t := &Trainer{
		Config: *c,
		Env:    e,
		Cast:   rl.NewSlots(s, "cast", casts(s, specs[0].Rows)),
		Score:  rl.NewSlots(s, "score", scores(s, specs[0].Rows)),
		Games:  replay.NewRollout[Game](s, "games"),
		Table:  newTable(s, l),
		League: l,
	}
	for _, n := range sides {
		n.league = l
		t.Sides = append(t.Sides, newSide(s, *c, n))
	}
	return t, nil
}

// casts returns casts of both learners for rows games.
func casts(s *rl.Scope, rows int) rl.Tensor { return rl.FromFlat(s, make([]int32, 2*rows), rows, 2) }

// scores returns scores of 0 for rows games.
func scores(s *rl.Scope, rows int) rl.Tensor { return rl.FromFlat(s, make([]float32, rows), rows) }

func newTable(s *rl.Scope, l *league.League) *Table {
	t := &Table{league: l}
	t.cast = rl.NewFunc(s, "cast", t.castGraph)
	t.score = rl.NewFunc(s, "score", scoreGraph)
	return t
}

// castGraph draws casts for new games.
func (t *Table) castGraph(c *rl.Ctx, in Turn) rl.Tensor {
	now := in.Cast.Node()
	n := now.Shape().Dimensions[0]
	pair := league.Pick(t.league.Games(c), c.Uniform("cast", n))
	numbers := ConstAs(pair, t.league.Capacity()+1)
	next := Stack([]*Node{Div(pair, numbers), Mod(pair, numbers)}, 1)
	return rl.Select(in.Over, rl.Wrap(next), rl.Wrap(now))
}

// scoreGraph adds a reward, the mean over agents where there are several.
func scoreGraph(_ *rl.Ctx, in Gain) rl.Tensor {
	reward := in.Reward.Node()
	if reward.Rank() > 1 {
		reward = ReduceMean(reward, 1)
	}
	return rl.Wrap(Add(in.Score.Node(), reward))
}

func newSide(s *rl.Scope, c Config, n *net) *Side {
	name := sideName(n.side)
	return &Side{
		Rollout: replay.NewRollout[Step](s, name+" rollout"),
		Actor: &Actor{
			act:    rl.NewFunc(s, name+" act", n.actGraph),
			value:  rl.NewFunc(s, name+" value", n.valueGraph),
			sample: rl.NewFunc(s, name+" sample", n.sampleGraph),
			greedy: rl.NewFunc(s, name+" greedy", n.greedyGraph),
			scope:  s,
		},
		Learner: &Learner{
			Config: c,
			net:    n,
			first:  n.first,
			opt:    rl.NewOpt(s, name+" adam", c.Rule(), n.params),
			loss:   rl.NewLoss(s, name+" loss", n.lossGraph, n.params),
		},
	}
}

func sideName(side int) string { return fmt.Sprintf("side%d", side) }

// net is the policy of a side's agents and its critic.
type net struct {
	Config
	nn.KindActorCritic
	side          int
	mortal        bool // agents may be out of play
	params, first *rl.Params
	league        *league.League
}

func newNet(s *rl.Scope, side int, c Config, spec env.Spec) (*net, error) {
	act, err := nn.ActivationNamed(c.Activation)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, side: side, mortal: spec.Mortal, KindActorCritic: nn.KindActorCritic{
		Obs: spec.Obs, Agents: spec.Agents, Head: nn.NewHead(spec.Action), MLP: nn.MLP{Hidden: c.Hidden, Act: act}, Number: c.AgentID,
	}}
	if c.Central {
		n.State = spec.State
	}
	n.params = rl.NewParams(s, sideName(side)+" net", n.Init)
	n.first = rl.NewParams(s, sideName(side)+" first", n.Init)
	n.first.Blend(n.params, 1)
	return n, nil
}

// actGraph lets the number that plays act in each environment.
func (n *net) actGraph(c *rl.Ctx, in ActIn) ActOut {
	who := Squeeze(SliceAxis(in.Cast.Node(), 1, AxisElem(n.side)), 1)
	sc := c.Scope(n.params)
	pi := n.Policy(c, sc, in.Obs)
	raw := n.chosen(c, who, in.Obs, pi.Sample(c, "action 0"), false)
	learns := Equal(who, ZerosLike(who))
	weight := nn.ForAgents(ConvertDType(learns, dtypes.Float32), 1, n.Agents)
	if n.mortal {
		weight = Mul(weight, ConvertDType(in.Obs.Alive.Node(), dtypes.Float32))
	}
	return ActOut{
		Action: n.Head.Clip(raw), Raw: raw, LogProb: rl.Wrap(pi.LogProb(raw)),
		Value: rl.Wrap(n.Value(c, sc, in.Obs)), Weight: rl.Wrap(weight),
	}
}

// chosen returns the actions of the frozen policies where their number plays, and the others given.
func (n *net) chosen(c *rl.Ctx, who *Node, obs rl.Obs, others rl.Tree, greedy bool) rl.Tree {
	for number := 1; number <= n.league.Capacity(); number++ {
		pi := n.Policy(c, n.league.Weights(c, n.side, number), obs)
		theirs := pi.Mode()
		if !greedy {
			theirs = pi.Sample(c, fmt.Sprintf("action %d", number))
		}
		plays := rl.Wrap(Equal(who, ConstAs(who, number)))
		leaves := make([]rl.Tensor, others.Len())
		for i := range leaves {
			leaves[i] = rl.Select(plays, theirs.At(i), others.At(i))
		}
		others = rl.NewTree(others.Names(), leaves)
	}
	return others
}

// sampleGraph acts by frozen policies. Where none was drawn for the episode, one is.
func (n *net) sampleGraph(c *rl.Ctx, in Mixed) Chosen {
	rows := in.Number.Node().Shape().Dimensions[0]
	return n.mixed(c, in, league.Pick(n.league.Mixture(c, n.side), c.Uniform("policy", rows)), false)
}

// greedyGraph acts by the frozen policy that is most likely to be drawn.
func (n *net) greedyGraph(c *rl.Ctx, in Mixed) Chosen {
	likely := league.Likeliest(n.league.Mixture(c, n.side))
	return n.mixed(c, in, BroadcastToShape(likely, in.Number.Node().Shape()), true)
}

// mixed acts by the frozen policies that were chosen before, or by those of others where none was.
func (n *net) mixed(c *rl.Ctx, in Mixed, others *Node, greedy bool) Chosen {
	number := in.Number.Node()
	number = Where(Equal(number, ZerosLike(number)), others, number)
	first := n.Policy(c, n.league.Weights(c, n.side, 1), in.Obs).Mode() // replaced, as every number is from 1
	return Chosen{n.Head.Clip(n.chosen(c, number, in.Obs, first, greedy)), rl.Wrap(number)}
}

func (n *net) valueGraph(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	return rl.Wrap(n.Value(c, c.Scope(n.params), obs))
}

// lossGraph returns the clipped surrogate, the value loss and the entropy bonus, by row and agent.
func (n *net) lossGraph(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	sc := c.Scope(n.params)
	pi := n.Policy(c, sc, s.Obs)
	p := nn.Surrogate(pi.LogProb(s.Action), s.LogProb.Node(), s.Adv.Node(), n.Clip)
	value := n.ValueLoss(n.Value(c, sc, s.Obs), s.Value.Node(), s.Ret.Node(), 0)
	total, metrics := n.Total(p, value, pi.Entropy())
	return total, s.Weight, Metrics(metrics)
}
