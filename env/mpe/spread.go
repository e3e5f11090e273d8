package mpe

import (
	"errors"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// SpreadOptions are the settings of SimpleSpread, by mpe2's names.
type SpreadOptions struct {
	N                  int     `default:"3" unit:"agents" range:"[1,)" doc:"number of agents, and of landmarks"`
	LocalRatio         float64 `default:"0.5" range:"[0,1]" doc:"weight of the agent's own collisions in its reward; the rest is the weight of the shared distances"`
	MaxCycles          int     `default:"25" unit:"steps" range:"[1,)" doc:"steps of an episode"`
	ContinuousActions  bool    `default:"false" doc:"continuous actions: the strength of each of five pushes, instead of a choice among them"`
	TerminateOnSuccess bool    `default:"false" doc:"end an episode when every landmark is covered"`
}

// Check finds options that make no environment.
func (o SpreadOptions) Check() error {
	var ratio error
	if !(o.LocalRatio >= 0 && o.LocalRatio <= 1) {
		ratio = fmt.Errorf("option local_ratio is %v, want a part between 0 and 1", o.LocalRatio)
	}
	return errors.Join(atLeast("n", o.N, 1), atLeast("max_cycles", o.MaxCycles, 1), ratio)
}

// SimpleSpread is mpe/simple_spread-v3: N agents of one kind are to cover N
// landmarks without touching each other.
var SimpleSpread = env.Entry{
	ID: spreadID, Doc: "agents cover landmarks together and avoid each other", Kind: env.Teams,
	Options: func() any { return &SpreadOptions{N: 3, LocalRatio: .5, MaxCycles: 25} },
	New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
		o, err := settings[SpreadOptions](options)
		if err != nil {
			return nil, err
		}
		return env.Graph(s, n, newSpread(o))
	},
}

const (
	spreadID    = "mpe/simple_spread-v3"
	coverRadius = 0.1 // within which a landmark counts as covered
)

type spread struct {
	SpreadOptions
	world
}

func newSpread(o SpreadOptions) spread {
	agent, landmark := body{size: .15, collides: true, accel: 5}, body{size: .05}
	return spread{o, newWorld(slices.Repeat([]body{agent}, o.N), slices.Repeat([]body{landmark}, o.N))}
}

// width of an observation: the agent itself, the landmarks, the others, and what
// it hears of them.
func (d spread) width() int { return 4 + 2*d.N + 4*(d.N-1) }

func (d spread) Spec() env.Spec {
	return env.Spec{
		ID: spreadID, Limit: d.MaxCycles, Agents: d.N, State: d.N * d.width(),
		Obs: rl.Box{Dims: []int{d.width()}}, Action: actionSpace(d.ContinuousActions),
	}
}

func (d spread) Reset(c *rl.Ctx, n int) rl.Tree { return d.reset(c, n, 1) }

func (d spread) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	next := d.step(state, d.push(action.At(0).Node(), 0, d.N))
	pos, _ := placed(next)
	nearest := ReduceMin(length(SliceAxis(d.from(pos, 0, d.N), 2, AxisRange(d.N))), 1) // of each landmark
	share := MulScalar(ReduceAndKeep(nearest, ReduceSum, 1), d.LocalRatio-1)
	reward := Sub(share, MulScalar(ReduceSum(d.touches(pos), 2), d.LocalRatio))
	covered := never(pos)
	if d.TerminateOnSuccess {
		covered = ReduceLogicalAnd(LessThan(nearest, ConstAs(nearest, coverRadius)), 1)
	}
	return env.Move{State: next, Reward: agentAxis(reward), Terminated: forAll(covered, d.N)}
}

func (d spread) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	parts := d.sight(state, 0, d.N)
	if others := d.N - 1; others > 0 { // who say nothing
		parts = append(parts, Zeros(parts[0].Graph(), shape(parts[0].Shape().Dimensions[0], d.N, 2*others)))
	}
	x := Concatenate(parts, 2)
	return rl.Obs{X: rl.One(agentAxis(x)), State: rl.Wrap(flat(x))}
}
