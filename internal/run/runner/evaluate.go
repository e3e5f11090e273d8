package runner

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

// Evaluation is the returns of a policy over complete episodes, in environments
// of their own.
type Evaluation struct {
	Steps      int64 // steps of the training run at the evaluation
	Episodes   int
	Unfinished int // episodes that did not end within maxEpisode steps, not counted
	Mean, Std  float64
	Min, Max   float64
	Length     float64 // mean
}

const (
	evalRows   = 128     // episodes played at once
	maxEpisode = 100_000 // steps after which an episode without a limit counts as unfinished
)

// Evaluate plays complete episodes with an agent, every one in an environment of
// its own, so that short episodes are not favoured. The episodes are the same at
// every evaluation of a seed, which makes two of them comparable.
func Evaluate(ctx context.Context, s *rl.Scope, j Job, agent rl.Agent, episodes int, greedy bool) (Evaluation, error) {
	if err := checkAgent(agent); err != nil {
		return Evaluation{}, fmt.Errorf("algorithm %s cannot be evaluated: %w", j.Algorithm.Name, err)
	}
	var returns, lengths []float64
	unfinished := 0
	for at := 0; at < episodes; at += evalRows {
		n := min(evalRows, episodes-at)
		child := s.Child(fmt.Sprintf("eval %d", at))
		left, err := playAll(ctx, child, j, n, rl.TeamOf(agent), greedy)
		unfinished += left
		for _, text := range rl.System.TakeNotes(child) {
			j.Watch.Note("evaluation: " + text)
		}
		if err != nil {
			return Evaluation{}, fmt.Errorf("evaluation: %w", err)
		}
		seen := map[int]bool{}
		for _, e := range rl.System.TakeEpisodes(child.Episodes()) {
			if !seen[e.Env] { // the first episode of each environment
				seen[e.Env] = true
				returns, lengths = append(returns, e.Return), append(lengths, float64(e.Length))
			}
		}
	}
	return summarise(returns, lengths, unfinished), nil
}

// playAll plays the first episodes of n environments in a scope of their own.
func playAll(ctx context.Context, s *rl.Scope, j Job, n int, team rl.Team, greedy bool) (left int, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	// What only records is for those who asked: the evaluation's own recorders.
	entry := wrap.Entry(j.Env, append(j.Wrap.Silent(), j.EvalWrap...), j.Dir)
	err = rl.Catch(func() error {
		g, err := env.OpenGroups(s, entry, n, j.EnvOptions)
		if err != nil {
			return err
		}
		p, err := newPlayers(s, g, team, greedy)
		if err != nil {
			return err
		}
		left, err = p.play(ctx)
		return err
	})
	return left, err
}

func summarise(returns, lengths []float64, unfinished int) Evaluation {
	e := Evaluation{
		Episodes: len(returns), Unfinished: unfinished,
		Min: math.Inf(1), Max: math.Inf(-1), Mean: mean(returns), Length: mean(lengths),
	}
	for _, r := range returns {
		e.Min, e.Max = min(e.Min, r), max(e.Max, r)
		e.Std += (r - e.Mean) * (r - e.Mean)
	}
	e.Std = math.Sqrt(e.Std / float64(max(1, len(returns))))
	return e
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// SayEvaluating returns the note that announces the last evaluation.
func SayEvaluating(episodes int) string {
	return fmt.Sprintf("evaluating the final policy greedily over %d episodes (--eval-episodes)", episodes)
}

// EvaluateRun evaluates the policy of some of a run's weights.
func EvaluateRun(ctx context.Context, j Job, which Weights, greedy bool, episodes int) (e Evaluation, err error) {
	if j = j.withDefaults(); j.Env.ID == "" {
		return Evaluation{}, errors.New("the run names no environment to be evaluated in: --env names one")
	}
	a, t, err := withAgent(ctx, j, which)
	if err != nil {
		return Evaluation{}, err
	}
	defer func() { err = errors.Join(err, a.world.Close()) }()
	j.Watch.Note(fmt.Sprintf("evaluating the %s, over %d episodes", t, episodes))
	e, err = Evaluate(ctx, a.world.Scope(), j, a.world.Trainer().Agent(), episodes, greedy)
	e.Steps = t.step
	return e, err
}
