package dqn

import (
	"fmt"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// byParts is the plain loop but for one thing: a gradient is the sum of k learners',
// each of its share of a sample, in their order. It is what k learners must compute
// that keep one memory, written without programs.
type byParts struct {
	*Trainer
	scope *rl.Scope
	k     int
}

func (t *byParts) Train(run *rl.Run) error {
	for run.Next() {
		t.Collect(run)
		if run.Steps() < t.LearningStarts {
			continue
		}
		for u := range t.Updates {
			s := t.Replay.Sample(run.Key("sample", u), t.Batch)
			priority := t.update(run, u, Batch{s, rl.Scalar(t.BetaAt(run.Progress()))})
			if t.Prioritised {
				t.Replay.Prioritise(s.Index, priority)
			}
		}
		if run.Every(t.TargetEvery) {
			t.Learner.target.params.Blend(t.Learner.net.params, t.Tau)
		}
	}
	return run.Err()
}

func (t *byParts) update(run *rl.Run, u int, b Batch) rl.Tensor {
	l := t.Learner
	var of []string
	var weights, priorities []rl.Tensor
	var sums [][]rl.Tensor
	for r := range t.k {
		part := rl.Map(b, func(x rl.Tensor) rl.Tensor {
			if x.Shape().Rank() == 0 {
				return x
			}
			return rl.System.Part(x, r*x.Rows()/t.k, (r+1)*x.Rows()/t.k)
		})
		g, m := l.loss.Grad(run.Key("loss", u), part)
		weight, sum := rl.System.GradParts(g)
		kept := make([]rl.Tensor, len(sum))
		for i, x := range sum {
			kept[i] = rl.System.Clone(x) // its memory is used again by the next part
		}
		of, weights, sums = rl.System.GradsOf(g), append(weights, weight), append(sums, kept)
		priorities = append(priorities, m.Priority)
	}
	l.opt.Apply(rl.System.AddGrads(t.scope, of, weights, sums), l.Rate.At(run.Progress()))
	return rl.System.Concat(priorities)
}

// TestLearners: replicated learners, with and without a server, end in the bits of
// the loop that sums by parts; also where layers are noisy, whose noise is one for all of them.
func TestLearners(t *testing.T) {
	t.Run("means", func(t *testing.T) { testLearners(t, []int{2, 3, 5, 8}) })
	t.Run("noisy distributions", func(t *testing.T) {
		testLearners(t, []int{2, 5}, "distribution=categorical", "atoms=11", "dueling=true", "noisy=true", "epsilon_start=0", "epsilon_end=0")
	})
}

func testLearners(t *testing.T, learners []int, more ...string) {
	train := func(t *testing.T, a algo.Algorithm, d plan.Deployment) app.Result {
		t.Helper()
		r, err := app.Train(t.Context(), app.Job{
			Algorithm: a, Env: classic.CartPole, Steps: 20 * 22, Seed: 1, Deployment: d,
			Set: append(more,
				"envs=11", "train_every=2", "updates=2", "batch=32", "learning_starts=110", "buffer=500", "n_step=2", "prioritised=true",
				"double=true", "target_every=88", "hidden=16", "learning_rate=1e-3",
			),
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain := train(t, Algorithm, plan.Deployment{})
	for _, k := range learners {
		parts := algo.Define("dqn", "", Algorithm.Presets, func(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
			x, err := build(s, make, c)
			if err != nil {
				return nil, err
			}
			return &byParts{x.(*Trainer), s, k}, nil
		})
		want := train(t, parts, plan.Deployment{})
		if want.WeightsSHA256 == plain.WeightsSHA256 {
			t.Errorf("%d parts round as one does, so that this tests nothing", k)
		}
		for _, p := range []string{"multi-learner", "central"} {
			t.Run(fmt.Sprintf("%s/%d", p, k), func(t *testing.T) {
				got := train(t, Algorithm, plan.Deployment{Policy: p, Workers: k})
				if got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 {
					t.Errorf("weights %.8s state %.8s, want %.8s %.8s", got.WeightsSHA256, got.StateSHA256, want.WeightsSHA256, want.StateSHA256)
				}
			})
		}
	}
}
