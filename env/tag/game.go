package tag

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// game is the dynamics. Agents are taggers and then runners. Its state is bodies,
// "time" [env] int32, and, where tagged runners leave, "playing" [env, runner] bool.
type game struct{ Options }

func (d game) agents() int { return d.Taggers + d.Runners }

// learners returns the numbers of agents of the kinds that learn.
func (d game) learners() []int {
	if d.RunnerPolicy == learned {
		return []int{d.Taggers, d.Runners}
	}
	return []int{d.Taggers}
}

// Apart says that games do not look at each other: who is seen is gathered by numbers
// that are counted from the first body of the same game.
func (d game) Apart() {}

func (d game) Spec() []env.Spec {
	out := make([]env.Spec, len(d.learners()))
	for i, agents := range d.learners() {
		out[i] = env.Spec{
			ID: id, Kind: []string{"tagger", "runner"}[i], Agents: agents, Mortal: i == 1 && d.Leave,
			Obs:    rl.Box{Dims: []int{d.width(i)}},
			Action: rl.MultiDiscrete{N: []int{d.AccelerationLevels + 1, d.TurnLevels + 1}},
		}
	}
	return out
}

func (d game) Reset(c *rl.Ctx, n int) rl.Tree {
	u := c.Uniform("start", n, 3, d.agents())
	at := func(i int) *Node { return Squeeze(SliceAxis(u, 1, AxisRange(i, i+1)), 1) }
	rest := ZerosLike(at(0))
	b := bodies{
		x: MulScalar(at(0), d.Size), y: MulScalar(at(1), d.Size),
		heading: MulScalar(Floor(MulScalar(at(2), 4)), quarter), speed: rest, push: rest,
	}
	s := state{bodies: b, time: Zeros(c.Graph(), shapes.Make(dtypes.Int32, n))}
	if d.Leave {
		s.playing = BroadcastToDims(Const(c.Graph(), true), n, d.Runners)
	}
	return s.tree()
}

func (d game) Step(c *rl.Ctx, tree rl.Tree, action []rl.Tree) env.Moves {
	s := stateOf(tree)
	was := d.playing(s)
	next, met := d.move(s.bodies, d.choices(c, s, action), was)
	tags := d.tag(next, s.playing)

	time := AddScalar(s.time, 1)
	late := GreaterOrEqual(time, ConstAs(time, d.Length))
	over, playing := late, s.playing
	if d.Leave {
		playing = LogicalAnd(playing, LogicalNot(tags.tagged))
		over = LogicalOr(over, LogicalNot(LogicalAny(playing, 1)))
	}
	edge := MulScalar(float(met), -d.EdgePenalty)
	tagger := Add(AddScalar(MulScalar(tags.made, d.TagReward), -d.StepPenalty), first(edge, d.Taggers))
	out := env.Moves{
		State:      state{bodies: next, time: time, playing: playing}.tree(),
		Reward:     []rl.Tensor{agentAxis(tagger)},
		Terminated: []rl.Tensor{agentAxis(each(over, d.Taggers))},
		Over:       rl.Wrap(over),
	}
	if d.RunnerPolicy == learned {
		runner := Add(d.fate(tags.tagged, playing, late), last(edge, d.Taggers))
		out.Reward = append(out.Reward, agentAxis(Mul(runner, last(was, d.Taggers))))
		ended := each(over, d.Runners)
		if d.Leave {
			ended = LogicalOr(ended, LogicalNot(playing))
		}
		out.Terminated = append(out.Terminated, agentAxis(ended))
	}
	return out
}

// fate returns what runners in play get, walls aside.
func (d game) fate(tagged, playing, late *Node) *Node {
	safe := each(late, d.Runners)
	if d.Leave {
		safe = LogicalAnd(safe, playing)
	}
	got := Sub(MulScalar(float(safe), d.EndReward), MulScalar(float(tagged), d.TagPenalty))
	return AddScalar(got, d.StepReward)
}

// tags are which runners are tagged, [env, runner], and how many each tagger tagged,
// [env, tagger]: a runner is the nearest tagger's.
type tags struct{ tagged, made *Node }

func (d game) tag(b bodies, playing *Node) tags {
	p := pairs{from: b.part(d.Taggers, d.agents()), to: b.part(0, d.Taggers)}
	reach := d.Reach * d.Size
	far := p.distance()
	tagged := LogicalAny(LessThan(far, ConstAs(far, reach*reach)), 2)
	if playing != nil {
		tagged = LogicalAnd(tagged, playing)
	}
	by, _ := p.nearest(1)
	whose := Equal(across(Squeeze(by, 2), 1, d.Taggers), Iota(by.Graph(), shapes.Make(dtypes.Int32, b.rows(), d.Taggers, d.Runners), 1))
	made := ReduceSum(float(LogicalAnd(whose, across(tagged, 1, d.Taggers))), 2)
	return tags{tagged, made}
}

// playing returns 1 for agents that are in play and 0 for others, [env, agent].
func (d game) playing(s state) *Node {
	if s.playing == nil {
		return OnesLike(s.x)
	}
	return Concatenate([]*Node{OnesLike(first(s.x, d.Taggers)), float(s.playing)}, 1)
}

// choices are all agents' moves, [env, agent] each.
type choices struct{ push, turn *Node }

func (d game) choices(c *rl.Ctx, s state, action []rl.Tree) choices {
	n := s.rows()
	chosen := make([]*Node, 0, 2)
	for i, a := range action {
		chosen = append(chosen, Reshape(a.At(0).Node(), n, d.learners()[i], 2))
	}
	switch d.RunnerPolicy {
	case random:
		u := c.Uniform("runners", n, d.Runners, 2)
		levels := ConstAs(u, [][][]float32{{{float32(d.AccelerationLevels + 1), float32(d.TurnLevels + 1)}}})
		chosen = append(chosen, ConvertDType(Floor(Mul(u, levels)), dtypes.Int32))
	case still:
		chosen = append(chosen, Zeros(s.x.Graph(), shapes.Make(dtypes.Int32, n, d.Runners, 2)))
	}
	all := Concatenate(chosen, 1)
	at := func(i int) *Node { return Squeeze(SliceAxis(all, 2, AxisRange(i, i+1)), 2) }
	return choices{level(at(0), d.AccelerationLevels, d.Acceleration), level(at(1), d.TurnLevels, d.Turn*circle/360)}
}

// level returns what choices mean: the first nothing, the others evenly from -most to
// most.
func level(choice *Node, levels int, most float64) *Node {
	x := AddScalar(MulScalar(float(AddScalar(choice, -1)), 2*most/float64(levels-1)), -most)
	return Where(Equal(choice, ZerosLike(choice)), ZerosLike(x), x)
}
