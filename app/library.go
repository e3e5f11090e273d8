// Package app is the library: it trains, resumes, evaluates and loads agents from a Go program, in
// this process. Package cli has the command line.
package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
	"github.com/weft-rl/weft/rl"
)

// Set lists all that a program knows: Algorithms, Environments, Schemes (environments by prefix, as
// in gym:CartPole-v1) and Policies beside the built-in ones. weft.Builtin() has all that come with
// Weft.
type Set = request.Set

// Job is a training run asked for by a Go program. What is left out is as the
// command line has it.
type Job struct {
	Algorithm algo.Algorithm
	Env       env.Entry // environment; of an algorithm that learns from data, the one to evaluate in, which may be left out
	Data      string    // data set that the algorithm learns from, if it learns from one
	Preset    string
	Set       []string // settings of the algorithm, key=value
	Options   []string // settings of the environment, key=value
	Wrap      string   // wrappers around it, as in time-limit=200,frame-stack=4
	Steps     int64    // 0: as many as the preset says
	Seed      uint64   // 0 is a seed like any other
	Device    string   // device that computes; empty is the CPU
	Out       string   // run folder; empty: nothing is kept on disk
	From      string   // run folder whose weights to start from: the best, or the newest if none was evaluated

	// Deployment says how the loop is distributed. Zero fields have the defaults of the command
	// line. It may name policies beside the built-in ones.
	Deployment plan.Deployment
	Policies   []policy.Policy
	// Storage is where replays live: memory, or disk or disk:DIR; empty is memory.
	Storage      string
	StorageLimit string // bytes that they may take on disk, as in 8GB; empty: what the disk has

	EvalEpisodes int   // episodes of the greedy evaluation at the end; 0: none
	EvalEvery    int64 // steps between evaluations before the end; 0: none
	// Watch is told after every iteration; it may be nil.
	Watch func(Progress)
	// Note is told in a sentence what a user should know; it may be nil.
	Note func(text string)
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
	ReturnMean                 float64 // mean of the last 100 episodes; NaN without any
	EvalReturn                 float64 // mean of the greedy evaluation; NaN without one
	WeightsSHA256, StateSHA256 string  // WeightsSHA256 is empty if the algorithm has no parameters
	Interrupted                bool    // ctx ended the run; a run with a folder can be resumed
	// Agent acts with the weights that the run ended with. It is nil if the algorithm offers no
	// agent.
	Agent *Agent
}

// Train trains an agent in this process. Wrong settings are all reported at once, before anything
// starts. When ctx is done the run ends at its next consistent point, and, with a folder, is saved
// there.
func Train(ctx context.Context, j Job) (Result, error) {
	r, err := j.request()
	if err != nil {
		return Result{}, forGo(err, jobFields)
	}
	s, release, err := request.Prepare(ctx, r, j.Out, observer{watch: j.Watch, note: j.Note})
	if err != nil {
		return Result{}, forGo(err, jobFields)
	}
	defer release()
	x, err := s.Train(ctx)
	return resultOf(x), forGo(err, jobFields)
}

// resultOf returns a result of the runtime as one of the library.
func resultOf(x runner.Result) Result {
	out := Result{
		Steps: x.Steps, Episodes: x.Episodes, Seconds: x.Seconds, ReturnMean: x.ReturnMean, EvalReturn: math.NaN(),
		WeightsSHA256: x.WeightsSHA256, StateSHA256: x.StateSHA256, Interrupted: x.Interrupted,
	}
	if x.Player != nil {
		out.Agent = &Agent{Step: x.Steps, player: x.Player}
	}
	if x.Evaluation != nil {
		out.EvalReturn = x.Evaluation.Mean
	}
	return out
}

// request resolves the job as the command line would.
func (j Job) request() (*request.Request, error) {
	var unset []error
	if j.Algorithm.Name == "" || j.Algorithm.New == nil || j.Algorithm.Config == nil {
		unset = append(unset, errors.New("Job.Algorithm is not set: name one, as in ppo.Algorithm"))
	}
	if j.Env.ID == "" && !j.Algorithm.Offline {
		unset = append(unset, errors.New("Job.Env is not set: name one, as in classic.CartPole"))
	}
	if err := errors.Join(unset...); err != nil {
		return nil, err
	}
	set := Set{Algorithms: []algo.Algorithm{j.Algorithm}, Environments: []env.Entry{j.Env}, Policies: j.Policies}
	if j.Data != "" {
		j.Set = append(slices.Clone(j.Set), "data="+j.Data)
	}
	flag := func(key string, value any) config.Assignment {
		return config.Assignment{Key: key, Value: fmt.Sprint(value), Source: request.JobSource}
	}
	id := j.Env.ID
	if len(j.Options) > 0 {
		id += "?" + strings.Join(j.Options, "&")
	}
	l := request.Layers{Flags: []config.Assignment{
		flag("algorithm", j.Algorithm.Name), flag("env", id), flag("wrap", j.Wrap), flag("preset", j.Preset),
		flag("seed", j.Seed), flag("steps", j.Steps), flag("eval_episodes", j.EvalEpisodes), flag("eval_every", j.EvalEvery),
		flag("from", j.From),
	}}
	if j.Device != "" {
		l.Flags = append(l.Flags, flag("device", j.Device))
	}
	if j.Storage != "" {
		l.Flags = append(l.Flags, flag("storage", j.Storage))
	}
	if j.StorageLimit != "" {
		l.Flags = append(l.Flags, flag("storage_limit", j.StorageLimit))
	}
	deploy, err := deployed(j.Deployment)
	l.Deploy = deploy
	errs := []error{request.CheckOut(j.Out), err}
	for _, text := range j.Set {
		a, err := config.ParseSet(text, request.JobSource)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.Set = append(l.Set, a)
	}
	r, err := set.Resolve(l)
	return r, errors.Join(append(errs, err, request.CheckFrom(r))...)
}

// deployed returns the settings of a deployment that are not zero.
func deployed(d plan.Deployment) (out []config.Assignment, err error) {
	fields, err := config.Fields(&d)
	for _, f := range fields {
		if f.Value != "" && f.Value != "0" && f.Value != "false" {
			out = append(out, config.Assignment{Key: f.Key, Value: f.Value, Source: request.JobSource})
		}
	}
	return out, err
}

// observer passes on what a Go program wants to know of a run. Either function may be nil.
type observer struct {
	runner.Silent
	watch func(Progress)
	note  func(string)
}

func (o observer) Note(text string) {
	if o.note != nil {
		o.note(inGo(text, jobFields))
	}
}

func (o observer) Iteration(r runner.Report) {
	if o.watch != nil {
		o.watch(Progress{Steps: r.Steps, Episodes: r.Episodes, Return: r.Return, Metrics: r.Logs})
	}
}
