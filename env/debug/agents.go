package debug

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// AgentsOptions are the settings of Agents and Kinds.
type AgentsOptions struct {
	Agents  int `default:"3" unit:"agents" range:"[2,)" doc:"number of agents; each is shown a symbol"`
	Symbols int `default:"4" unit:"symbols" range:"[2,)" doc:"number of symbols"`
}

func (o AgentsOptions) check() error {
	if err := atLeast("agents", o.Agents, 2); err != nil {
		return err
	}
	return atLeast("symbols", o.Symbols, 2)
}

// Agents is Agents-v0: every agent repeats the symbol that it is shown, and earns
// 1 for it. The state for centralised critics is what all of them see.
var Agents = entry("Agents-v0", "several agents repeat the symbol that each is shown; 1 for each of them and of 16 steps",
	AgentsOptions{3, 4}, func(o AgentsOptions) (env.Dynamics, error) { return team{o}, o.check() })

// team's state is the symbols shown, [env, agent] int32.
type team struct{ AgentsOptions }

func (d team) Spec() env.Spec {
	return env.Spec{
		ID: "Agents-v0", Limit: Length, Agents: d.Agents, State: d.Agents * d.Symbols,
		Obs:    rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{d.Symbols}},
		Action: rl.Discrete{N: d.Symbols},
	}
}

func (d team) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(pick(c, "symbol", d.Symbols, n, d.Agents)))
}

func (d team) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	shown := state.Leaf("").Node()
	n := shown.Shape().Dimensions[0]
	return env.Move{
		State:      d.Reset(c, n),
		Reward:     float(graph.Equal(action.Leaf("").Node(), shown)),
		Terminated: never(c.Graph(), n, d.Agents),
	}
}

func (d team) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	x := graph.OneHot(state.Leaf("").Node(), d.Symbols, dtypes.Float32)
	return rl.Obs{X: rl.One(rl.Wrap(x)), State: rl.Wrap(graph.Reshape(x, -1, d.Agents*d.Symbols))}
}

// Kinds is Kinds-v0: Agents with a second kind of agent, that repeats a number,
// and with one more rule: who does not repeat its symbol is out of play for the
// rest of the episode.
var Kinds = env.Entry{
	ID: "Kinds-v0", Doc: "agents repeat a symbol, and are out of play after a wrong one; another kind repeats a number", Kind: env.Teams,
	Options: func() any { return &AgentsOptions{3, 4} },
	NewGroups: func(s *rl.Scope, n int, options any) (env.Groups, error) {
		o, err := settings[AgentsOptions](options)
		if err != nil {
			return nil, err
		}
		if err := o.check(); err != nil {
			return nil, err
		}
		return env.GraphGroups(s, n, kinds{team{o}, identityContinuous{}})
	},
}

// kinds' state is that of both kinds, and who is in play, [env, agent] bool.
type kinds struct {
	team
	point identityContinuous
}

func (d kinds) Spec() []env.Spec {
	symbol, number := d.team.Spec(), d.point.Spec()
	symbol.Kind, symbol.Mortal = "symbol", true
	number.Kind = "number"
	out := []env.Spec{symbol, number}
	for i := range out {
		out[i].ID, out[i].State = "Kinds-v0", d.Agents*(d.Symbols+1)+1
	}
	return out
}

func (d kinds) state(symbol, number rl.Tree, alive *graph.Node) rl.Tree {
	return rl.NewTree([]string{"symbol", "number", "alive"}, []rl.Tensor{symbol.At(0), number.At(0), rl.Wrap(alive)})
}

func (d kinds) Reset(c *rl.Ctx, n int) rl.Tree {
	all := graph.BroadcastToDims(graph.Const(c.Graph(), true), n, d.Agents)
	return d.state(d.team.Reset(c, n), d.point.Reset(c, n), all)
}

func (d kinds) Step(c *rl.Ctx, state rl.Tree, action []rl.Tree) env.Moves {
	symbol := d.team.Step(c, rl.One(state.Leaf("symbol")), action[0])
	number := d.point.Step(c, rl.One(state.Leaf("number")), action[1])
	reward := graph.Mul(symbol.Reward.Node(), float(state.Leaf("alive").Node()).Node())
	alive := graph.GreaterThan(reward, graph.ZerosLike(reward))
	return env.Moves{
		State:      d.state(symbol.State, number.State, alive),
		Reward:     []rl.Tensor{rl.Wrap(reward), number.Reward},
		Terminated: []rl.Tensor{rl.Wrap(graph.LogicalNot(alive)), number.Terminated},
	}
}

func (d kinds) Observe(c *rl.Ctx, state rl.Tree) []rl.Obs {
	symbol := d.team.Observe(c, rl.One(state.Leaf("symbol")))
	number := d.point.Observe(c, rl.One(state.Leaf("number")))
	symbol.Alive = state.Leaf("alive")
	all := graph.Concatenate([]*graph.Node{symbol.State.Node(), float(symbol.Alive.Node()).Node(), number.X.At(0).Node()}, 1)
	symbol.State, number.State = rl.Wrap(all), rl.Wrap(all)
	return []rl.Obs{symbol, number}
}
