package runner

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// quitter is a small algorithm that may leave its loop, as a plain loop and as the
// programs of a collector and a learner.
type quitter struct {
	way  string
	env  env.Batch
	also env.Batch // nil but for second
	net  *rl.Params
	act  *rl.Func[rl.Obs, rl.Tree]
	loss *rl.Loss[rl.Obs, rl.Tensor]
	opt  *rl.Opt
}

// The ways to leave it.
const (
	never  = "never"
	top    = "top"    // return before the iteration has done anything
	bottom = "bottom" // break at its end
	value  = "value"  // return under a condition on a computed number
	inner  = "phase"  // break out of a phase before the loop
	early  = "early"  // return from the phase
	behind = "behind" // never; but the weights change behind the loop
	second = "second" // never; but there are second environments, of another number
	hangs  = "hangs"  // never; but in the third iteration collectors wait for what nobody sends
)

var ways = []string{never, top, bottom, value, inner, early, behind, second}

func newQuitter(s *rl.Scope, make algo.MakeEnv, way *string) (rl.Trainer, error) {
	e, err := make.Batch(4)
	if err != nil {
		return nil, err
	}
	p := rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		sc.VariableWithValue("w", []float32{1, 2, 3, 4}).NodeValue(c.Graph())
	})
	weights := func(c *rl.Ctx) *graph.Node {
		return graph.ExpandAxes(c.Scope(p).VariableWithValue("w", []float32{1, 2, 3, 4}).NodeValue(c.Graph()), 0)
	}
	q := &quitter{way: *way, env: e, net: p, opt: rl.NewOpt(s, "opt", descent{}, p)}
	if *way == second {
		if q.also, err = make.As("also").Batch(5); err != nil {
			return nil, err
		}
	}
	q.act = rl.NewFunc(s, "act", func(c *rl.Ctx, o rl.Obs) rl.Tree {
		x := o.X.Leaf("")
		x = rl.Wrap(graph.Add(graph.Mul(x.Node(), weights(c)), c.Gumbel("a", x.Shape().Dimensions...)))
		return rl.One(rl.Wrap(graph.ArgMax(x.Node(), -1)))
	})
	q.loss = rl.NewLoss(s, "loss", func(c *rl.Ctx, o rl.Obs) (loss, weight, m rl.Tensor) {
		x := graph.Square(graph.ReduceSum(graph.Mul(o.X.Leaf("").Node(), weights(c)), -1))
		return rl.Wrap(x), rl.Tensor{}, rl.Wrap(x)
	}, p)
	return q, nil
}

type descent struct{}

func (descent) Slots() []string { return nil }

func (descent) Update(params, grads *graph.Node, _ []*graph.Node, lr, _ *graph.Node) (*graph.Node, []*graph.Node) {
	return graph.Sub(params, graph.Mul(grads, lr)), nil
}

func (q *quitter) Agent() rl.Agent { return nil }

func (q *quitter) collect(run *rl.Run) rl.Obs {
	obs := q.env.Obs()
	for i := range 8 {
		out := q.env.Step(q.act.Call(run.Key("act", i), obs))
		run.Log("reward", out.Reward)
		obs = out.Obs
		if q.also != nil {
			run.Log("also", q.also.Step(q.act.Call(run.Key("also", i), q.also.Obs())).Reward)
		}
	}
	return obs
}

func (q *quitter) learn(run *rl.Run, obs rl.Obs) rl.Tensor {
	g, m := q.loss.Grad(run.Key("loss"), obs)
	q.opt.Apply(g, .01)
	run.Log("loss", m)
	return m
}

// stops reports whether the phase, which has 4 iterations, is left in the second.
func (q *quitter) stops(p *rl.Run) bool { return (q.way == inner || q.way == early) && p.Iter() == 1 }

func (q *quitter) Train(run *rl.Run) error {
	for p := run.Phase("first", 4); p.Next(); {
		q.learn(p, q.env.Obs())
		if q.stops(p) {
			break
		}
	}
	if q.way == early {
		return nil
	}
	for run.Next() {
		if q.way == top && run.Iter() == 3 {
			return nil
		}
		m := q.learn(run, q.collect(run))
		if q.way == bottom && run.Iter() == 2 {
			break
		}
		if q.way == value && run.Value(rl.System.Part(m, 0, 1)) < 4 {
			return nil
		}
	}
	if q.way == behind {
		q.learn(run, q.env.Obs())
	}
	return run.Err()
}

func (q *quitter) collector(run *rl.Run, x *edge.X) error {
	for p := run.Phase("first", 4); p.Next(); {
		edge.Gather(x, 1, q.env.Obs())
		if q.stops(p) {
			break
		}
	}
	if q.way == early {
		return nil
	}
	for run.Next() {
		if q.way == top && run.Iter() == 3 {
			return nil
		}
		edge.Fetch(x, 0, q.net)
		edge.Gather(x, 1, q.collect(run))
		if q.way == bottom && run.Iter() == 2 {
			break
		}
		if q.way == hangs && run.Iter() == 2 {
			edge.Sent[float64](x, 2)
		}
		if q.way == value && edge.Sent[float64](x, 2) < 4 {
			return nil
		}
	}
	return run.Err()
}

func (q *quitter) learner(run *rl.Run, x *edge.X) error {
	for p := run.Phase("first", 4); p.Next(); {
		q.learn(p, edge.Gathered[rl.Obs](x, 1))
		if q.stops(p) {
			break
		}
	}
	if q.way == early {
		return nil
	}
	for run.Next() {
		if q.way == top && run.Iter() == 3 {
			return nil
		}
		edge.Publish(x, 0, q.net)
		m := q.learn(run, edge.Gathered[rl.Obs](x, 1))
		if q.way == bottom && run.Iter() == 2 {
			break
		}
		if q.way == value {
			v := run.Value(rl.System.Part(m, 0, 1))
			edge.Send(x, 2, v)
			if v < 4 {
				return nil
			}
		}
	}
	if q.way == behind {
		q.learn(run, q.env.Obs())
	}
	return run.Err()
}

var two = plan.Grouping{Name: "two", Groups: []plan.Group{
	{Name: "collector", Fragments: []string{"env"}, Over: fdg.Environments}, {Name: "learner", Fragments: []string{"learn"}},
}}

func init() {
	g := fdg.Graph{
		Version: fdg.Version, Name: "quitter", Train: "Train", Regions: []fdg.Region{{Node: -1}},
		Resources: []fdg.Resource{{Name: "env", Kind: "environments", Sharing: fdg.Pinned, Home: "env"}},
		Fragments: []fdg.Fragment{{Name: "env", Group: "environment", Resources: []int{0}}, {Name: "learn", Group: "learner"}},
	}
	var text bytes.Buffer
	if err := g.WriteJSON(&text); err != nil {
		panic(err)
	}
	edge.Register[*quitter](edge.Set{Graph: text.String(), Groupings: []edge.Grouping{{
		Grouping: two,
		Programs: []edge.Main{edge.Of((*quitter).collector), edge.Of((*quitter).learner)},
		Edges: []plan.Edge{ // of one name: their metrics are told apart all the same
			{Name: "x", Operator: fdg.Broadcast, From: "learner", To: "collector"},
			{Name: "x", Operator: fdg.Gather, From: "collector", To: "learner", Axis: "environments"},
			{Name: "x", Operator: fdg.Send, From: "learner", To: "collector"},
		},
	}}})
}

// quits returns a run of a quitter with k collectors; 0 is the plain loop.
func quits(t *testing.T, way string, k int) Job {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	j := Job{
		Algorithm: algo.Define("quitter", "", nil, newQuitter), Config: &way, Env: debug.Identity, Device: d, Seed: 3,
		Steps: 256, Dir: filepath.Join(t.TempDir(), "run"), CheckpointEvery: time.Hour,
	}
	if k > 0 {
		j.Plan = func(plan.Problem) (plan.Plan, error) {
			p := plan.Plan{Version: plan.Version, Grouping: two, Shards: k, Owner: "learner"}
			for r := range k {
				p.Replicas = append(p.Replicas, plan.Replica{Group: "collector", Rank: r, First: r, Last: r + 1})
			}
			p.Replicas = append(p.Replicas, plan.Replica{Group: "learner", Last: k})
			return p, nil
		}
	}
	return j
}
