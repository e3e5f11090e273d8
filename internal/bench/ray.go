package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Ray compares ways to train on one Ray cluster, the one that RAY_ADDRESS names.
var Ray = Benchmark{
	Name:       "ray",
	Doc:        "PPO on the Ray cluster that RAY_ADDRESS names, as workers and environments grow: weft train --on ray, RLlib beside it",
	names:      []string{"weft", "rllib"},
	cases:      rayCases,
	contenders: rayContenders,
	turn:       turn{20 * time.Second, 5 * time.Second},
}

// RaySpec is a loop on so many workers of a cluster.
type RaySpec struct {
	Recipe
	Workers int       `json:"workers"`
	Env     string    `json:"env"`
	Whole   WholeSpec `json:"-"`
}

// slowEnv is an environment of which a step takes a millisecond, by the clock.
const slowEnv = "slow_env:Slow"

// onRay is Weft's contender.
var onRay = Whole{Name: "weft", Path: "--on ray", apart: true}

func rayCases(quick bool) []Case {
	out := []Case{
		rayCase("cartpole", "32 environments of CartPole", "CartPole-v1", Recipe{32, 128, 4, 4}, 2),
		rayCase("step=1ms", "32 environments of 1 ms a step", slowEnv, Recipe{32, 32, 4, 4}, 2),
	}
	envs := 320
	if quick {
		envs = 32
	}
	for workers := 1; workers <= 4; workers++ {
		title := fmt.Sprintf("%d environments of 1 ms a step, %d workers", envs, workers)
		out = append(out, rayCase(fmt.Sprint("workers=", workers), title, slowEnv, Recipe{envs, 16, 4, 4}, workers))
	}
	return out
}

func rayCase(id, title, env string, r Recipe, workers int) Case {
	ours := env
	if env == slowEnv {
		ours = "gym:" + slowEnv
	}
	args := fmt.Sprintf("ppo --env %s --policy single-learner-coarse --on ray --workers %d --eval-episodes 0 --set envs=%d --set horizon=%d --set epochs=%d --set minibatches=%d --set hidden=64,64",
		ours, workers, r.Envs, r.Horizon, r.Epochs, r.Minibatches)
	return Case{
		ID: id, Title: title, Work: float64(r.Envs * r.Horizon), Unit: "steps/s",
		Spec: RaySpec{r, workers, env, WholeSpec{args, []Whole{onRay}}},
	}
}

// rayContenders has Weft's workers find the environment in Python, as RLlib's do.
func rayContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, rayPeers)
	if err != nil {
		return f, err
	}
	dir, err := unpack()
	if err != nil {
		return f, errors.Join(err, f.close())
	}
	end, before := f.close, os.Getenv("PYTHONPATH")
	f.close = func() error { return errors.Join(end(), os.RemoveAll(dir), os.Setenv("PYTHONPATH", before)) }
	path := dir
	if before != "" {
		path += string(filepath.ListSeparator) + before
	}
	err = os.Setenv("PYTHONPATH", path)
	f.present = append(wholes(o, onRay), f.present...)
	return f, err
}
