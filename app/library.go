package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/run/local"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
	"github.com/weft-rl/weft/rl"
)

// jobSource is where the settings of a Job come from.
const jobSource = "job"

// Job is a training run asked for by a Go program. What is left out is as the
// command line has it.
type Job struct {
	Algorithm algo.Algorithm
	Env       env.Entry
	Preset    string
	Set       []string // settings of the algorithm, key=value
	Options   []string // settings of the environment, key=value
	Wrap      string   // wrappers around it, as in time-limit=200,frame-stack=4
	Steps     int64    // 0: as many as the preset says
	Seed      uint64   // 0 is a seed like any other
	Device    string   // what computes; empty is the CPU
	Out       string   // run folder; empty: nothing is kept on disk

	// Deployment says how the loop is distributed; what is zero is as the command
	// line has it. Policies may be named in it beside the built-in ones.
	Deployment plan.Deployment
	Policies   []policy.Policy

	EvalEpisodes int // episodes of the greedy evaluation at the end; 0: none
	// Watch is told after every iteration; it may be nil.
	Watch func(Progress)
}

// Progress is where a run stands after an iteration.
type Progress struct {
	Steps, Episodes int64
	Return          float64 // mean of the last episodes; NaN before the first
	Metrics         []rl.Logged
}

// Result is how a run ended.
type Result struct {
	Steps, Episodes            int64
	Seconds                    float64
	ReturnMean                 float64 // of the last 100 episodes; NaN without any
	EvalReturn                 float64 // of the greedy evaluation; NaN without one
	WeightsSHA256, StateSHA256 string
	Interrupted                bool // by ctx; with Out set, the run can be resumed
	Agent                      rl.Agent
}

// Train trains an agent in this process. Wrong settings are all reported at
// once, before anything starts.
func Train(ctx context.Context, j Job) (Result, error) {
	r, err := j.request()
	if err != nil {
		return Result{}, err
	}
	var w local.Watcher
	if j.Watch != nil {
		w = observer{j.Watch}
	}
	s, release, err := prepare(r, j.Out, w)
	if err != nil {
		return Result{}, err
	}
	defer release()
	x, err := s.Train(ctx)
	if err != nil {
		return Result{}, err
	}
	out := Result{
		Steps: x.Steps, Episodes: x.Episodes, Seconds: x.Seconds, ReturnMean: x.ReturnMean, EvalReturn: math.NaN(),
		WeightsSHA256: x.WeightsSHA256, StateSHA256: x.StateSHA256, Interrupted: x.Interrupted, Agent: x.Agent,
	}
	if x.Evaluation != nil {
		out.EvalReturn = x.Evaluation.Mean
	}
	return out, nil
}

// request resolves the job as the command line would.
func (j Job) request() (*request, error) {
	set := Set{Algorithms: []algo.Algorithm{j.Algorithm}, Environments: []env.Entry{j.Env}, Policies: j.Policies}
	flag := func(key string, value any) config.Assignment {
		return config.Assignment{Key: key, Value: fmt.Sprint(value), Source: jobSource}
	}
	id := j.Env.ID
	if len(j.Options) > 0 {
		id += "?" + strings.Join(j.Options, "&")
	}
	l := layers{flags: []config.Assignment{
		flag("algorithm", j.Algorithm.Name), flag("env", id), flag("wrap", j.Wrap), flag("preset", j.Preset),
		flag("seed", j.Seed), flag("steps", j.Steps), flag("eval_episodes", j.EvalEpisodes),
	}}
	if j.Device != "" {
		l.flags = append(l.flags, flag("device", j.Device))
	}
	deploy, err := deployed(j.Deployment)
	l.deploy = deploy
	errs := []error{checkOut(j.Out), err}
	for _, text := range j.Set {
		a, err := config.ParseSet(text, jobSource)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.set = append(l.set, a)
	}
	r, err := set.resolve(l)
	return r, errors.Join(append(errs, err)...)
}

// deployed are the settings of a deployment that are not zero.
func deployed(d plan.Deployment) (out []config.Assignment, err error) {
	fields, err := config.Fields(&d)
	for _, f := range fields {
		if f.Value != "" && f.Value != "0" && f.Value != "false" {
			out = append(out, config.Assignment{Key: f.Key, Value: f.Value, Source: jobSource})
		}
	}
	return out, err
}

// observer passes on what a Go program wants to know of a run.
type observer struct{ f func(Progress) }

func (o observer) Begin(int64, int64)         {}
func (o observer) Evaluated(local.Evaluation) {}
func (o observer) Note(string)                {}
func (o observer) End()                       {}

func (o observer) Iteration(r local.Report) {
	o.f(Progress{Steps: r.Steps, Episodes: r.Episodes, Return: r.Return, Metrics: r.Logs})
}
