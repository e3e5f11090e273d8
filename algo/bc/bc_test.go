package bc

import (
	"fmt"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// TestSolves: an expert's actions are imitated, one of several or numbers; and the mode of a policy
// is right where most actions of the data are not, but none of the wrong ones is as frequent.
func TestSolves(t *testing.T) {
	small := []string{"batch=64", "hidden=32", "learning_rate=3e-3"}
	algotest.Solve(t, Algorithm, []algotest.Task{
		{Name: "choices", Env: debug.Identity, Set: append(small, "data=debug:identity"), Steps: 400, Want: 15.9},
		{Name: "choices, most at random", Env: debug.Identity, Set: append(small, "data=debug:identity-mixed"), Steps: 400, Want: 15.9},
		{Name: "numbers", Env: debug.IdentityContinuous, Set: append(small, "data=debug:continuous"), Steps: 600, Want: 15.9},
	})
}

// small returns a run of a second, with batches that learners cannot share out evenly.
func small(d plan.Deployment) app.Job {
	return app.Job{
		Algorithm: Algorithm, Data: "debug:continuous", Steps: 40, Seed: 1, Deployment: d,
		Set: []string{"batch=11", "hidden=16", "learning_rate=1e-2", "anneal=linear"},
	}
}

func train(t *testing.T, j app.Job) app.Result {
	t.Helper()
	r, err := app.Train(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// byParts is the plain loop but for one thing: a gradient is the sum of k learners', each of its
// share of a sample, in their order. It is what k learners must compute, written without programs.
type byParts struct {
	*Trainer
	scope *rl.Scope
	k     int
}

func (t *byParts) Train(run *rl.Run) error {
	for run.Next() {
		s := t.Data.Sample(run.Key("sample"), t.Batch)
		var of []string
		var weights, losses, entropies []rl.Tensor
		var sums [][]rl.Tensor
		for r := range t.k {
			part := rl.Map(s.Data, func(x rl.Tensor) rl.Tensor { return rl.System.Part(x, r*x.Rows()/t.k, (r+1)*x.Rows()/t.k) })
			g, m := t.Loss.Grad(run.Key("loss"), part)
			weight, sum := rl.System.GradParts(g)
			kept := make([]rl.Tensor, len(sum))
			for i, x := range sum {
				kept[i] = rl.System.Clone(x) // its memory is used again by the next part
			}
			of, weights, sums = rl.System.GradsOf(g), append(weights, weight), append(sums, kept)
			losses, entropies = append(losses, m.Loss), append(entropies, m.Entropy)
		}
		t.Opt.Apply(rl.System.AddGrads(t.scope, of, weights, sums), t.Rate.At(run.Progress()))
		run.Log("loss", rl.System.Concat(losses))
		run.Log("entropy", rl.System.Concat(entropies))
	}
	return run.Err()
}

// TestLearners: replicated learners, with and without a server, end in the bits of the loop that
// sums by parts. So they drew the same batches, and shared them out without a gap.
func TestLearners(t *testing.T) {
	plain := train(t, small(plan.Deployment{}))
	for _, k := range []int{2, 3, 5, 8} {
		parts := algo.DefineOffline("bc", "", Algorithm.Presets, func(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
			x, err := build(s, make, c)
			if err != nil {
				return nil, err
			}
			return &byParts{x.(*Trainer), s, k}, nil
		})
		j := small(plan.Deployment{})
		j.Algorithm = parts
		want := train(t, j)
		if want.WeightsSHA256 == plain.WeightsSHA256 {
			t.Errorf("%d parts round as one does, so that this tests nothing", k)
		}
		for _, p := range []string{"multi-learner", "central"} {
			t.Run(fmt.Sprintf("%s/%d", p, k), func(t *testing.T) {
				got := train(t, small(plan.Deployment{Policy: p, Workers: k}))
				if got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 {
					t.Errorf("weights %.8s state %.8s, want %.8s %.8s", got.WeightsSHA256, got.StateSHA256, want.WeightsSHA256, want.StateSHA256)
				}
			})
		}
	}
}

// TestDeviceProgram: the loop as one device program draws the same batches and ends in the same
// bits.
func TestDeviceProgram(t *testing.T) {
	want, got := train(t, small(plan.Deployment{})), train(t, small(plan.Deployment{Policy: "gpu-only"}))
	if got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 {
		t.Errorf("weights %.8s state %.8s, want %.8s %.8s", got.WeightsSHA256, got.StateSHA256, want.WeightsSHA256, want.StateSHA256)
	}
	if got.Steps != 40 || want.Steps != 40 {
		t.Errorf("%d and %d steps, want 40 updates", got.Steps, want.Steps)
	}
}

// TestRefused: what has nothing to split, or no data, is refused in a sentence before anything
// starts.
func TestRefused(t *testing.T) {
	split := "the loop steps no environment, so there is nothing to split: a loop that learns from data is shared out by its batches, " +
		"with multi-learner, or is one device program, with gpu-only"
	for _, c := range []struct {
		name, want string
		change     func(*app.Job)
	}{
		{"fine", "policy single-learner-fine: " + split, func(j *app.Job) { j.Deployment = plan.Deployment{Policy: "single-learner-fine", Workers: 2} }},
		{"coarse", "policy single-learner-coarse: " + split, func(j *app.Job) { j.Deployment = plan.Deployment{Policy: "single-learner-coarse", Workers: 2} }},
		{"asynchronous", "Job.Deployment.Async: the loop steps no environment, and replicas that do not wait for each other would all draw the same batches: leave Job.Deployment.Async out",
			func(j *app.Job) { j.Deployment = plan.Deployment{Policy: "central", Workers: 2, Async: true} }},
		{"no data", "bc: no data set is named: Job.Data names one", func(j *app.Job) { j.Data = "" }},
		{"no file", "bc: data set /nowhere: no such file or directory", func(j *app.Job) { j.Data = "/nowhere" }},
		{"other observations", "bc cannot be evaluated in Identity-v0: observations of the data set are Box(-1..1, [1]), those of the environment are Box(0..1, [4])",
			func(j *app.Job) { j.Env = debug.Identity }},
		{"nowhere to evaluate", "Job.EvalEpisodes: there is no environment to evaluate in: name one with Job.Env", func(j *app.Job) { j.EvalEpisodes = 3 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := small(plan.Deployment{})
			c.change(&j)
			if _, err := app.Train(t.Context(), j); err == nil || err.Error() != c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestResumes: a run that was loaded in its middle ends in the bits of one that went on.
func TestResumes(t *testing.T) {
	algotest.Resumes(t, Algorithm, env.Entry{}, 20, "data=debug:identity", "batch=8", "hidden=8")
}
