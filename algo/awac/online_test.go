package awac

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
)

// TestOnline: a policy that had little time with the data goes on in the environment, and ends
// above where it began and near the best there is.
func TestOnline(t *testing.T) {
	first := filepath.Join(t.TempDir(), "offline")
	j := app.Job{Algorithm: Algorithm, Env: debug.IdentityContinuous, Set: fast("continuous-mixed", "lambda=0.03"), Steps: 15, Out: first}
	began := algotest.Greedy(t, j)
	j.From, j.Out, j.Steps, j.Set = first, "", 3000, append(j.Set, "online=true", "envs=4")
	if ended := algotest.Greedy(t, j); began > 15 || ended < 15.7 {
		t.Errorf("greedy return %.2f after the data, %.2f after the environment", began, ended)
	}
}

// online returns a small run in an environment.
func online() app.Job {
	return app.Job{
		Algorithm: Algorithm, Env: debug.IdentityContinuous, Data: "debug:continuous-mixed", Steps: 66,
		Set: []string{"online=true", "envs=3", "batch=11", "hidden=16", "buffer=40", "data_fraction=0.3"},
	}
}

// TestOnlinePolicies: whoever steps the environments, and in one device program, the run ends in
// the bits of the plain loop.
func TestOnlinePolicies(t *testing.T) {
	algotest.Equal(t, online(), plan.Deployment{Policy: "single-learner-coarse", Workers: 2}, plan.Deployment{Policy: "single-learner-fine", Workers: 3},
		plan.Deployment{Policy: "gpu-only"}, plan.Deployment{Policy: "multi-learner", Workers: 1})
}

// TestOffline: without the environment the same loop learns from the data alone. Policies that
// split environments refuse it then.
func TestOffline(t *testing.T) {
	j := online()
	j.Set = append(j.Set[1:], "online=false")
	algotest.Equal(t, j, plan.Deployment{Policy: "gpu-only"}, plan.Deployment{Policy: "multi-learner", Workers: 1})
	for _, c := range []struct {
		d    plan.Deployment
		want string
	}{
		{plan.Deployment{Policy: "single-learner-coarse", Workers: 2}, "the loop steps no environment, so there is nothing to split"},
		{plan.Deployment{Policy: "central", Workers: 2, Async: true}, "replicas that do not wait for each other would all draw the same batches"},
	} {
		j.Deployment = c.d
		if _, err := app.Train(t.Context(), j); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.d.Policy, err, c.want)
		}
	}
}

// TestOnlineRefused: what a run online needs is asked for before it begins.
func TestOnlineRefused(t *testing.T) {
	j := online()
	j.Env = env.Entry{}
	if _, err := app.Train(t.Context(), j); err == nil || !strings.Contains(err.Error(), "awac: no environment is named to act in: Job.Env names one") {
		t.Errorf("no environment: %v", err)
	}
	j.Env = debug.Identity
	if _, err := app.Train(t.Context(), j); err == nil || !strings.Contains(err.Error(), "observations of the data set are Box(-1..1, [1])") {
		t.Errorf("another environment: %v", err)
	}
}

// TestOnlineResumes: a run that was loaded in its middle ends in the bits of one that went on.
func TestOnlineResumes(t *testing.T) {
	j := online()
	algotest.Resumes(t, Algorithm, debug.IdentityContinuous, 60, append(j.Set, "data="+j.Data)...)
}
