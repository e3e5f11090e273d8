package ppo

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// decaying is a graph environment that earns 1, and something else from its 30th
// step on.
type decaying struct{ then float64 }

func (d decaying) Spec() env.Spec {
	return env.Spec{ID: "Decaying-v0", Action: rl.Discrete{N: 2}, Obs: rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{1}}}
}

func (d decaying) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, n, 1))))
}

func (d decaying) Step(c *rl.Ctx, state, _ rl.Tree) env.Move {
	age := graph.AddScalar(state.At(0).Node(), 1)
	flat := graph.Reshape(age, age.Shape().Dimensions[0])
	late := graph.GreaterOrEqual(flat, graph.ConstAs(flat, 30))
	return env.Move{
		State: rl.One(rl.Wrap(age)), Terminated: rl.Wrap(graph.LogicalAnd(late, graph.LogicalNot(late))),
		Reward: rl.Wrap(graph.Where(late, graph.MulScalar(graph.OnesLike(flat), d.then), graph.OnesLike(flat))),
	}
}

func (d decaying) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	x := state.At(0).Node()
	return rl.Obs{X: rl.One(rl.Wrap(graph.ZerosLike(x)))}
}

func (d decaying) entry() env.Entry {
	return env.Entry{ID: "Decaying-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, d) }}
}

// coarse returns a deployment of one collector and a learner apart from it, of two that
// fail at the same step either might be heard, and without some more fusions.
func coarse(without ...string) plan.Deployment {
	return plan.Deployment{Policy: "single-learner-coarse", Workers: 1, Queue: 2, NoFuse: append(without, plan.FuseGroups)}
}

// TestGraphsFail: what is not a number in a graph is found by the statements that it
// stands for, at the same step, in the author's line.
func TestGraphsFail(t *testing.T) {
	for name, c := range map[string]struct {
		then float64
		want []string
	}{
		"environment": {math.NaN(), []string{"step 330", "environment Decaying-v0", "NaN"}},
		"loss":        {1e30, []string{"step 264", lineOf(t, "l.loss.Grad(")}},
	} {
		t.Run(name, func(t *testing.T) {
			said := func(d plan.Deployment) string {
				j := job(t, decaying{c.then}.entry(), "normalize_advantage=false")
				j.Steps, j.EvalEvery, j.Plan = 20*88, 0, by(d)
				_, err := runner.Train(context.Background(), j)
				if err == nil {
					t.Fatal("nothing failed")
				}
				return err.Error()
			}
			want, got := said(coarse(plan.FuseGraphs)), said(coarse())
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
			for _, part := range c.want {
				if !strings.Contains(got, part) {
					t.Errorf("%q does not say %q", got, part)
				}
			}
		})
	}
}

// TestGraphsResume: a run that is interrupted goes on as graphs or statement by
// statement, whichever it was before.
func TestGraphsResume(t *testing.T) {
	j := job(t, classic.CartPole)
	j.EvalEpisodes = 0
	plain := trained(t, j)
	j.Dir = t.TempDir()
	for i, d := range []plan.Deployment{coarse(plan.FuseGraphs), coarse(), coarse(plan.FuseGraphs), coarse()} {
		j.Plan, j.Resume = by(d), i > 0
		if i < 3 {
			stopAt(t, j, int64(i+2))
			continue
		}
		got := trained(t, j)
		got.rows = append(plain.rows[:4:4], got.rows...) // those that others told
		equal(t, got, plain)
	}
}
