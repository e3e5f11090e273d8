package mpe

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// TagOptions are the settings of SimpleTag, by mpe2's names.
type TagOptions struct {
	NumGood            int  `default:"1" unit:"agents" range:"[1,)" doc:"good agents, which flee"`
	NumAdversaries     int  `default:"3" unit:"agents" range:"[1,)" doc:"adversaries, which chase and are slower"`
	NumObstacles       int  `default:"2" unit:"obstacles" range:"[0,)" doc:"obstacles in the way of all"`
	MaxCycles          int  `default:"25" unit:"steps" range:"[1,)" doc:"steps of an episode"`
	ContinuousActions  bool `default:"false" doc:"actions are strengths of five pushes instead of one of them"`
	TerminateOnSuccess bool `default:"false" doc:"end an episode when every good agent is caught"`
	// Prey is not one of mpe2's settings.
	Prey string `default:"agent" oneof:"agent random" doc:"who moves the good agents: an agent, or the environment at random, so that adversaries are the only kind"`
}

// Check finds options that make no environment.
func (o TagOptions) Check() error {
	var prey error
	if !slices.Contains([]string{"", "agent", "random"}, o.Prey) { // no word is an agent too
		prey = fmt.Errorf("option prey is %q, want agent or random", o.Prey)
	}
	return errors.Join(prey, atLeast("num_good", o.NumGood, 1), atLeast("num_adversaries", o.NumAdversaries, 1),
		atLeast("num_obstacles", o.NumObstacles, 0), atLeast("max_cycles", o.MaxCycles, 1))
}

// SimpleTag is mpe/simple_tag-v3: agents of kind "adversary" chase those of kind
// "agent".
var SimpleTag = env.Entry{
	ID: tagID, Doc: "adversaries chase good agents around obstacles; two kinds of agents", Kind: env.Teams,
	Options: func() any {
		return &TagOptions{NumGood: 1, NumAdversaries: 3, NumObstacles: 2, MaxCycles: 25, Prey: "agent"}
	},
	NewGroups: func(s *rl.Scope, n int, options any) (env.Groups, error) {
		o, err := settings[TagOptions](options)
		if err != nil {
			return nil, err
		}
		return env.GraphGroups(s, n, newTag(o))
	},
}

const (
	tagID = "mpe/simple_tag-v3"
	catch = 10 // reward of a catch
)

type tag struct {
	TagOptions
	world
}

func newTag(o TagOptions) tag {
	adversary := body{size: .075, collides: true, accel: 3, speed: 1}
	good := body{size: .05, collides: true, accel: 4, speed: 1.3}
	agents := append(slices.Repeat([]body{adversary}, o.NumAdversaries), slices.Repeat([]body{good}, o.NumGood)...)
	return tag{o, newWorld(agents, slices.Repeat([]body{{size: .2, collides: true}}, o.NumObstacles))}
}

// widths of adversaries' and of good agents' observations: a good agent does not
// see its own velocity among the good ones'.
func (d tag) widths() (adversary, good int) {
	w := 4 + 2*(len(d.bodies)-1) + 2*d.NumGood
	return w, w - 2
}

func (d tag) Spec() []env.Spec {
	a, g := d.widths()
	spec := env.Spec{
		ID: tagID, Limit: d.MaxCycles, State: d.NumAdversaries*a + d.NumGood*g, Action: actionSpace(d.ContinuousActions),
	}
	adversary, good := spec, spec
	adversary.Kind, adversary.Agents, adversary.Obs = "adversary", d.NumAdversaries, rl.Box{Dims: []int{a}}
	good.Kind, good.Agents, good.Obs = "agent", d.NumGood, rl.Box{Dims: []int{g}}
	return []env.Spec{adversary, good}[:d.kinds()]
}

// kinds returns how many kinds of agents there are.
func (d tag) kinds() int {
	if d.Prey == "random" {
		return 1
	}
	return 2
}

// flight returns what the good agents do, [env, good] or with strengths [env, good, move].
func (d tag) flight(c *rl.Ctx, n int, action []rl.Tree) *Node {
	switch {
	case d.kinds() == 2:
		return action[1].At(0).Node()
	case d.ContinuousActions:
		return c.Uniform("flight", n, d.NumGood, moves)
	}
	return ConvertDType(Floor(MulScalar(c.Uniform("flight", n, d.NumGood), moves)), dtypes.Int32)
}

func (d tag) Reset(c *rl.Ctx, n int) rl.Tree { return d.reset(c, n, .9) }

func (d tag) Step(c *rl.Ctx, state rl.Tree, action []rl.Tree) env.Moves {
	pos, _ := placed(state)
	flight := d.flight(c, pos.Shape().Dimensions[0], action)
	next := d.step(state, Concatenate([]*Node{
		d.push(action[0].At(0).Node(), 0, d.NumAdversaries), d.push(flight, d.NumAdversaries, d.NumGood),
	}, 1))
	pos, _ = placed(next)
	caught := part(SliceAxis(d.touches(pos), 2, AxisRange(d.NumAdversaries, d.agents)), 0, d.NumAdversaries)
	times := ReduceSum(caught, 1) // each good agent is, [env, good]
	all := MulScalar(ReduceAndKeep(times, ReduceSum, 1), catch)
	adversary := BroadcastToDims(all, all.Shape().Dimensions[0], d.NumAdversaries)
	good := Neg(Add(MulScalar(times, catch), d.outside(pos)))
	over := never(pos)
	if d.TerminateOnSuccess {
		over = ReduceLogicalAnd(GreaterThan(times, ZerosLike(times)), 1)
	}
	return env.Moves{
		State:      next,
		Reward:     []rl.Tensor{agentAxis(adversary), agentAxis(good)}[:d.kinds()],
		Terminated: []rl.Tensor{forAll(over, d.NumAdversaries), forAll(over, d.NumGood)}[:d.kinds()],
	}
}

// outside returns what good agents lose for being near or beyond the edge, [env, good]:
// for each coordinate nothing up to 0.9, then 10 for each unit, and from 1 on
// exp(2x-2), at most 10.
func (d tag) outside(pos *Node) *Node {
	x := Abs(part(pos, d.NumAdversaries, d.agents))
	near := MulScalar(AddScalar(x, -.9), 10)
	far := MinScalar(Exp(AddScalar(MulScalar(x, 2), -2)), 10)
	return ReduceSum(Where(LessThan(x, OnesLike(x)), MaxScalar(near, 0), far), -1)
}

func (d tag) Observe(_ *rl.Ctx, state rl.Tree) []rl.Obs {
	_, vel := placed(state)
	n := vel.Shape().Dimensions[0]
	fast := part(vel, d.NumAdversaries, d.agents) // velocities of the good
	seen := func(watchers int) *Node {
		return BroadcastToDims(ExpandAxes(fast, 1), n, watchers, d.NumGood, 2)
	}
	adversary := Concatenate(append(d.sight(state, 0, d.NumAdversaries), Reshape(seen(d.NumAdversaries), n, d.NumAdversaries, -1)), 2)
	parts := d.sight(state, d.NumAdversaries, d.agents)
	if d.NumGood > 1 {
		parts = append(parts, but(seen(d.NumGood), 0, d.NumGood, d.NumGood))
	}
	good := Concatenate(parts, 2)
	all := rl.Wrap(Concatenate([]*Node{flat(adversary), flat(good)}, 1))
	return []rl.Obs{{X: rl.One(agentAxis(adversary)), State: all}, {X: rl.One(agentAxis(good)), State: all}}[:d.kinds()]
}
