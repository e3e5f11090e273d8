// Package alphazero learns games of two players by self-play (Silver et al., 2018): a tree search
// that follows a network plays both seats, and the network learns what the search found and how
// games ended. Gumbel search (Danihelka et al., 2022) is a setting.
package alphazero

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
	"github.com/weft-rl/weft/search"
)

// Trainer plays games against itself, and its Learner learns from their positions.
type Trainer struct {
	Config
	Env     env.Batch
	Ply     *rl.Slots[rl.Tensor] // moves of the games under way, by environment
	Games   *replay.Table[Move]
	Player  *Player
	Learner *Learner
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Play(run)
		if run.Steps() >= t.LearningStarts && t.Games.Ready(1) {
			t.Learn(run)
		}
	}
	return run.Err()
}

// Play makes Moves moves in every game.
func (t *Trainer) Play(run *rl.Run) {
	obs, ply := t.Env.Obs(), t.Ply.Get()
	for m := range t.Moves {
		p := t.Player.Play(run.Key("play", m), In{obs, ply})
		out := t.Env.Step(p.Action)
		t.Games.Insert(Move{obs.State, p.Policy, out.Reward}, out.Over)
		obs, ply = out.Obs, rl.Keep(p.Ply, out.Over)
		run.Log("search/value", p.Value)
	}
	t.Ply.Set(ply)
	run.Log("per_step/simulations", rl.Scalar(float64(t.Simulations)))
}

// Learn makes Updates updates, each of a sample of positions.
func (t *Trainer) Learn(run *rl.Run) {
	for u := range t.Updates {
		s := t.Games.Sample(run.Key("sample", u), t.Batch)
		t.Learner.Update(run, u, s.Data)
	}
}

type (
	// In holds observations of games, and how many moves were made in them.
	In struct {
		Obs rl.Obs
		Ply rl.Tensor
	}
	// Played holds moves, the improved policies and values of the searches that chose them, and
	// how many moves were made with them.
	Played struct {
		Action             rl.Tree
		Policy, Value, Ply rl.Tensor
	}
	// Move is one move of every game: the position, the search's policy there, and how the game
	// ended for the player who moved. Players take turns, so a reward of the next move counts
	// with the opposite sign.
	Move struct {
		Position, Policy rl.Tensor
		Result           rl.Tensor `replay:"sum"`
	}
	// Metrics report an update, by position.
	Metrics struct{ Policy, Value, Entropy rl.Tensor }
)

// Player chooses moves by search, or by the network alone.
type Player struct {
	play, search, look *rl.Func[In, Played]
}

// Play chooses the moves of self-play.
func (p *Player) Play(k rl.Key, in In) Played { return p.play.Call(k, in) }

// Learner improves the network.
type Learner struct {
	Config
	net  *net
	opt  *rl.Opt
	loss *rl.Loss[Move, Metrics]
}

// Update makes update u of an iteration.
func (l *Learner) Update(run *rl.Run, u int, m Move) {
	g, a := l.loss.Grad(run.Key("loss", u), m)
	l.opt.Apply(g, l.Rate.At(run.Progress()))
	run.Log("loss/policy", a.Policy)
	run.Log("loss/value", a.Value)
	run.Log("policy/entropy", a.Entropy)
}

// Agent returns the trained player, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	greedy := t.Player.search
	if t.ActBy == "network" {
		greedy = t.Player.look
	}
	return rl.Acting[In, Played]{
		Sample: t.Player.play, Greedy: greedy,
		In:    func(obs rl.Obs, memory rl.Tree) In { return In{obs, memory.At(0)} },
		Out:   func(p Played) (action, next rl.Tree) { return p.Action, rl.One(p.Ply) },
		Fresh: func(n int) rl.Tree { return rl.One(t.Learner.net.fresh(n)) },
		Why:   func(p Played) rl.Thoughts { return rl.Thoughts{Policy: p.Policy, Value: p.Value} },
	}
}

// Config is AlphaZero's settings.
type Config struct {
	Envs           int   `default:"64" unit:"games" range:"[1,)" doc:"games played together, each with a tree of its own"`
	Moves          int   `default:"8" unit:"moves" range:"[1,)" doc:"moves that are made in every game between updates"`
	Updates        int   `default:"8" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch          int   `default:"256" unit:"positions" range:"[1,)" doc:"positions of an update"`
	Buffer         int   `default:"20000" unit:"positions" range:"[1,)" doc:"positions that are kept"`
	LearningStarts int64 `default:"2048" unit:"moves" range:"[1,)" doc:"moves made before the first update; more than those of the longest game in every environment"`

	search.Settings
	Temperature float64 `default:"1" range:"[0,)" doc:"puct: moves are drawn in proportion to visits to the power of 1/temperature; 0 takes the most visited"`
	Explored    int     `default:"4" unit:"moves" range:"[0,)" doc:"moves of a game that are drawn so; from then on the most visited is taken"`
	ActBy       string  `default:"search" oneof:"search network" doc:"how the trained agent acts greedily: by a search without noise, or by the network alone"`

	nn.Rate     `defaults:"learning_rate=2e-3 anneal=linear"`
	AdamEps     float64 `default:"1e-8" range:"(0,)" doc:"Adam's term for numerical stability"`
	MaxGradNorm float64 `default:"1" range:"[0,)" doc:"norm over all parameters to which gradients are clipped; 0 is no bound"`
	ValueCoef   float64 `default:"1" range:"[0,)" doc:"weight of the value loss"`
	Symmetries  bool    `default:"true" doc:"turn and mirror positions at random in updates, as the rules allow"`

	nn.Layers `defaults:"hidden=128,128 activation=relu"`
}

// Validate finds settings that do not go together.
func (c *Config) Validate() error { return c.Settings.Validate() }

// Algorithm is AlphaZero for whoever runs it.
var Algorithm = algo.Define("alphazero", "self-play with tree search in games of two players: PUCT or Gumbel", []algo.Preset{
	algo.For("board/TicTacToe-v0", 100_000, "loses no game, after half a minute on two cores", func(c *Config) {
		c.NoiseAlpha = 1
	}),
	algo.For("board/ConnectFour-v0", 2_000_000, "wider layers, longer memory", func(c *Config) {
		c.Simulations, c.NoiseAlpha, c.Explored, c.Buffer, c.LearningStarts = 64, 1, 12, 100_000, 8192
		c.Hidden, c.LearningRate = []int{256, 256}, 1e-3
	}),
}, build)

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.SelfPlay(c.Envs)
	if err != nil {
		return nil, err
	}
	n, err := newNet(s, *c, e)
	if err != nil {
		return nil, err
	}
	how := replay.Options{
		NStep: n.rules.Rules().Length, Discount: -1,
		Ratio: float64(c.Updates*c.Batch) / float64(c.Moves*c.Envs),
	}
	p := &Player{play: rl.NewFunc(s, "play", n.play), search: rl.NewFunc(s, "search", n.search), look: rl.NewFunc(s, "look", n.look)}
	p.play.Apart()
	p.search.Apart()
	return &Trainer{
		Config:  *c,
		Env:     e,
		Ply:     rl.NewSlots(s, "ply", n.fresh(e.Spec().Rows)),
		Games:   replay.NewTable[Move](s, "games", c.Buffer, how),
		Player:  p,
		Learner: newLearner(s, *c, n),
	}, nil
}

func newLearner(s *rl.Scope, c Config, n *net) *Learner {
	l := &Learner{Config: c, net: n}
	l.opt = rl.NewOpt(s, "adam", nn.ClipNorm{Max: c.MaxGradNorm, Rule: nn.Adam{Eps: c.AdamEps}}, n.params)
	l.loss = rl.NewLoss(s, "loss", l.lossGraph, n.params)
	return l
}

// net is the network and the rules of the game, with which it looks ahead.
type net struct {
	Config
	nn.Torso
	scope  *rl.Scope
	rules  game.Game
	params *rl.Params
}

func newNet(s *rl.Scope, c Config, e env.Batch) (*net, error) {
	spec := e.Spec()
	g, ok := game.Of(e)
	if !ok {
		return nil, fmt.Errorf("%s: a search needs the rules of the game, which the environment does not show: use an environment of board/", spec.ID)
	}
	r := g.Rules()
	if r.Hidden || r.InRow > 1 {
		return nil, fmt.Errorf("%s: a search looks ahead in games whose players take turns and see everything: use ppo", spec.ID)
	}
	if least := int64(r.Length * c.Envs); c.LearningStarts < least || c.Buffer < int(least) {
		return nil, fmt.Errorf("learning_starts=%d, buffer=%d: games of up to %d moves in %d environments (envs) need at least %d of both", c.LearningStarts, c.Buffer, r.Length, c.Envs, least)
	}
	torso, err := c.Torso(spec.Obs)
	if err != nil {
		return nil, err
	}
	n := &net{Config: c, Torso: torso, scope: s, rules: g}
	n.params = rl.NewParams(s, "net", n.init)
	return n, nil
}

// fresh returns counts of no moves for rows games.
func (n *net) fresh(rows int) rl.Tensor { return rl.FromFlat(n.scope, make([]float32, rows), rows) }

func (n *net) init(c *rl.Ctx, sc *model.Scope) { n.evaluate(c, sc, nn.Blank(c, n.Space)) }

// evaluate returns the logits of all moves, and the value for the player who moves, by what that
// player sees.
func (n *net) evaluate(c *rl.Ctx, sc *model.Scope, seen rl.Tree) (logits, value *Node) {
	x := n.Torso.Apply(c, sc.At("torso"), seen)
	logits = nn.Dense(c, sc.At("policy"), x, n.rules.Rules().Actions, .01)
	return logits, Tanh(Squeeze(nn.Dense(c, sc.At("value"), x, 1, 1), -1))
}

// leaf returns what the network says of positions.
func (n *net) leaf(c *rl.Ctx, position *Node) search.Leaf {
	seen := rl.One(rl.Wrap(n.rules.Observe(position, game.Seat(position))))
	logits, value := n.evaluate(c, c.Scope(n.params), seen)
	return search.Leaf{State: rl.One(rl.Wrap(position)), Logits: logits, Legal: n.rules.Legal(position), Value: value}
}

// step plays moves. What is good for the next player is bad for this one.
func (n *net) step(c *rl.Ctx, state rl.Tree, action *Node) search.Next {
	position := state.Leaf("").Node()
	next := n.rules.Play(position, action)
	over := game.Number(game.Over(next))
	return search.Next{Leaf: n.leaf(c, next), Reward: game.Return(next, game.Seat(position)), Discount: SubScalar(over, 1)}
}

// play chooses the moves of self-play.
func (n *net) play(c *rl.Ctx, in In) Played {
	found := n.Run(c, n.leaf(c, in.Obs.State.Node()), n.step)
	move := found.Best
	if n.Search == "puct" {
		early := LessThan(in.Ply.Node(), ConstAs(in.Ply.Node(), n.Explored))
		move = found.Draw(c, "move", MulScalar(game.Number(early), n.Temperature))
	}
	return played(in, move, found)
}

// search chooses the moves that the search takes for the best.
func (n *net) search(c *rl.Ctx, in In) Played {
	found := n.Quiet().Run(c, n.leaf(c, in.Obs.State.Node()), n.step)
	return played(in, found.Best, found)
}

// played returns moves with what led to them. Where both players are agents, the one that does not
// move takes the first action.
func played(in In, move *Node, f search.Found) Played {
	if turn := in.Obs.Turn; turn.Ok() {
		both := BroadcastToShape(ExpandAxes(move, 1), turn.Shape())
		move = Where(turn.Node(), both, ZerosLike(both))
	}
	return Played{rl.One(rl.Wrap(move)), rl.Wrap(f.Policy), rl.Wrap(f.Value), rl.Wrap(AddScalar(in.Ply.Node(), 1))}
}

// look chooses the moves that the network takes for the best, by what players see alone.
func (n *net) look(c *rl.Ctx, in In) Played {
	logits, value := n.evaluate(c, c.Scope(n.params), in.Obs.X)
	policy := Exp(legal(logits, in.Obs.Legal.At(0).Node()))
	move := ArgMax(policy, -1, dtypes.Int32)
	return Played{rl.One(rl.Wrap(move)), rl.Wrap(policy), rl.Wrap(value), rl.Wrap(AddScalar(in.Ply.Node(), 1))}
}

// legal returns the logarithms of a policy over the legal moves.
func legal(logits, mask *Node) *Node {
	return LogSoftmax(Where(mask, logits, BroadcastToShape(ConstAs(logits, -1e9), logits.Shape())), -1)
}

// lossGraph returns the cross-entropy of the search's policy, and the squared error of how games
// ended.
func (l *Learner) lossGraph(c *rl.Ctx, m Move) (loss, weight rl.Tensor, a Metrics) {
	position, policy := l.turned(c, m.Position.Node(), m.Policy.Node())
	leaf := l.net.leaf(c, position)
	log := legal(leaf.Logits, leaf.Legal)
	cross := Neg(ReduceSum(Mul(policy, log), 1))
	miss := Square(Sub(m.Result.Node(), leaf.Value))
	entropy := Neg(ReduceSum(Mul(Exp(log), log), 1))
	a = Metrics{Policy: rl.Wrap(cross), Value: rl.Wrap(miss), Entropy: rl.Wrap(entropy)}
	return rl.Wrap(Add(cross, MulScalar(miss, l.ValueCoef))), rl.Tensor{}, a
}

// turned returns positions and policies under symmetries of the game, one drawn for each row.
func (l *Learner) turned(c *rl.Ctx, position, policy *Node) (turnedPosition, turnedPolicy *Node) {
	all := l.net.rules.Rules().Symmetries
	if !l.Symmetries || len(all) < 2 {
		return position, policy
	}
	u := c.Uniform("symmetry", position.Shape().Dimensions[0])
	hot := OneHot(ConvertDType(Floor(MulScalar(u, len(all))), dtypes.Int32), len(all), dtypes.Float32)
	permuted := func(x *Node, of func(game.Symmetry) []int) *Node {
		width := x.Shape().Dimensions[1]
		by := make([][]float32, width)
		for i := range by {
			by[i] = make([]float32, len(all)*width)
		}
		for s, symmetry := range all {
			for to, from := range of(symmetry) {
				by[from][s*width+to] = 1
			}
		}
		each := Reshape(MatMul(x, Const(c.Graph(), by)), -1, len(all), width)
		return ReduceSum(Mul(each, ExpandAxes(hot, 2)), 1)
	}
	return permuted(position, func(s game.Symmetry) []int { return s.Position }), permuted(policy, func(s game.Symmetry) []int { return s.Action })
}
