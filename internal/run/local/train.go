package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/rl"
)

func checkpoints(dir string) string { return filepath.Join(dir, "checkpoints") }

// Train runs a job to its end, to an interruption through ctx, or to a failure.
// Whatever ends it, the last good checkpoint stays.
func Train(ctx context.Context, j Job) (Result, error) {
	j = j.withDefaults()
	a, err := assemble(j)
	if err != nil {
		return Result{}, err
	}
	s := &session{Job: j, assembly: a, ctx: ctx}
	s.run = rl.NewRun(a.scope, j.Steps, s.cut)
	if j.From != nil {
		if err := a.loadWeights(*j.From); err != nil {
			return Result{}, err
		}
	}
	if err := s.open(); err != nil {
		return Result{}, err
	}
	err = s.train()
	return s.result, errors.Join(err, s.close())
}

// session is a job under way.
type session struct {
	Job
	*assembly
	ctx  context.Context
	run  *rl.Run
	dir  *checkpoint.Dir
	sink metrics.Sink

	begun     time.Time
	before    float64 // seconds that earlier processes worked
	beganAt   int64   // steps that they did
	evaluated int64   // steps at the last evaluation's cut
	saved     int64   // steps of the newest checkpoint; -1 without one
	savedAt   time.Time
	stopped   bool // by ctx

	result Result
}

// open prepares the run's folder, and loads its state where it is to go on.
func (s *session) open() error {
	s.saved = -1
	if s.Dir == "" {
		return nil
	}
	var err error
	if s.dir, err = checkpoint.Open(checkpoints(s.Dir), s.Keep); err != nil {
		return err
	}
	resume := int64(-1)
	if s.Resume {
		if err := s.load(); err != nil {
			return err
		}
		resume = s.run.Steps()
	}
	jsonl, err := metrics.OpenJSONL(filepath.Join(s.Dir, "metrics.jsonl"), resume)
	if err != nil {
		return err
	}
	board, err := metrics.OpenTensorBoard(s.Dir, resume)
	if err != nil {
		return errors.Join(err, jsonl.Close())
	}
	s.sink = metrics.Multi(jsonl, board)
	return nil
}

func (s *session) load() error {
	if !s.exact {
		return errNotExact
	}
	f, step, skipped, err := s.dir.Latest()
	for _, x := range skipped {
		s.Watch.Note(fmt.Sprintf("skipped: %v", x))
	}
	if errors.Is(err, checkpoint.ErrNone) {
		s.Watch.Note("the run had not written a checkpoint yet: it starts again from the beginning")
		return nil
	}
	if err != nil {
		return err
	}
	st, err := state(s.scope, f)
	if err != nil {
		return err
	}
	if err := s.run.Load(st); err != nil {
		return fmt.Errorf("checkpoint of step %d: %w", step, err)
	}
	s.saved, s.beganAt, s.evaluated = step, s.run.Steps(), s.run.Steps()
	s.before, _ = strconv.ParseFloat(f.Meta["seconds"], 64)
	return nil
}

// train enters the loop, and ends with the last checkpoint and evaluation.
func (s *session) train() error {
	s.begun = s.Now()
	s.savedAt = s.begun
	s.Watch.Begin(s.run.Steps(), s.Steps)
	err := rl.Train(s.trainer, s.run)
	if err != nil {
		return s.explain(err)
	}
	s.finish()
	s.Watch.End()
	if s.stopped || s.EvalEpisodes == 0 {
		return nil
	}
	return s.evaluate()
}

// explain adds to a failure what is left of the run.
func (s *session) explain(err error) error {
	if s.dir == nil {
		return err
	}
	if s.saved < 0 {
		return fmt.Errorf("%w (before the first checkpoint)", err)
	}
	return fmt.Errorf("%w (the checkpoint of step %d is good)", err, s.saved)
}

// cut is every consistent point of the run.
func (s *session) cut(c rl.Cut) error {
	if c.Iter > 0 && len(c.Logs)+len(c.Episodes) > 0 {
		if err := s.report(c); err != nil {
			return err
		}
	}
	if s.EvalEvery > 0 && !c.Last && c.Steps/s.EvalEvery != s.evaluated/s.EvalEvery {
		s.evaluated = c.Steps
		if err := s.evaluate(); err != nil {
			return err
		}
	}
	s.stopped = s.ctx.Err() != nil
	if s.due(c) {
		if err := s.save(); err != nil {
			return err
		}
	}
	if s.stopped {
		return rl.ErrStop
	}
	return nil
}

// due says whether the run is to be saved at a cut.
func (s *session) due(c rl.Cut) bool {
	if s.dir == nil || c.Steps == s.saved || c.Steps == 0 && !s.stopped {
		return false
	}
	return c.Last || s.stopped ||
		s.CheckpointSteps > 0 && c.Steps/s.CheckpointSteps != max(0, s.saved)/s.CheckpointSteps ||
		s.Now().Sub(s.savedAt) >= s.CheckpointEvery
}

func (s *session) save() error {
	all, err := s.content()
	if err != nil {
		return err
	}
	f := checkpoint.File{Meta: s.meta(), Arrays: all}
	if err := s.dir.Save(s.run.Steps(), f); err != nil {
		return err
	}
	s.saved, s.savedAt = s.run.Steps(), s.Now()
	return nil
}

// content is what a checkpoint holds: everything, or, of an environment that
// cannot be saved, the weights.
func (s *session) content() ([]checkpoint.Array, error) {
	if s.exact {
		return capture(s.run)
	}
	return weights(s.scope)
}

func (s *session) meta() map[string]string {
	return map[string]string{
		"algorithm": s.Algorithm.Name, "env": s.Env.ID, "seed": fmt.Sprint(s.Seed),
		"steps": fmt.Sprint(s.run.Steps()), "iterations": fmt.Sprint(s.run.Iter()),
		"seconds": strconv.FormatFloat(s.seconds(), 'g', -1, 64), "exact": fmt.Sprint(s.exact),
	}
}

// seconds of work on the run, earlier processes' included.
func (s *session) seconds() float64 { return s.before + s.Now().Sub(s.begun).Seconds() }

func (s *session) speed() float64 {
	return float64(s.run.Steps()-s.beganAt) / max(1e-9, s.Now().Sub(s.begun).Seconds())
}

// report tells the watcher and the files about an iteration.
func (s *session) report(c rl.Cut) error {
	ret, length, n := s.scope.Episodes().Mean()
	if n == 0 {
		ret, length = math.NaN(), math.NaN()
	}
	s.Watch.Iteration(Report{
		Steps: c.Steps, Iter: c.Iter, Episodes: s.scope.Episodes().Count(), Seconds: s.seconds(),
		Return: ret, Length: length, Logs: c.Logs,
	})
	if s.sink == nil {
		return nil
	}
	row := metrics.Row{Step: c.Steps, Iter: c.Iter, Seconds: s.seconds()}
	add := func(name string, x float64) { row.Values = append(row.Values, metrics.Value{Name: name, X: x}) }
	for _, l := range c.Logs {
		add(l.Name, l.X)
	}
	if len(c.Episodes) > 0 {
		sum, steps := 0.0, 0.0
		for _, e := range c.Episodes {
			sum, steps = sum+e.Return, steps+float64(e.Length)
		}
		add("episode/return", sum/float64(len(c.Episodes)))
		add("episode/length", steps/float64(len(c.Episodes)))
	}
	if n > 0 {
		add("episode/return_mean", ret)
	}
	add("episode/count", float64(s.scope.Episodes().Count()))
	add("run/steps_per_second", s.speed())
	return s.sink.Write(row)
}

// evaluate plays greedily, keeps the policy if it is the best so far, and tells.
func (s *session) evaluate() error {
	e, err := Evaluate(s.ctx, s.scope, s.Job, s.trainer.Agent(), s.EvalEpisodes, true)
	if errors.Is(err, context.Canceled) {
		return nil // the next cut, or the end, says so
	}
	if err != nil {
		return err
	}
	e.Steps = s.run.Steps()
	s.result.Evaluation = &e
	s.Watch.Evaluated(e)
	if s.dir == nil {
		return nil
	}
	all, err := s.content()
	if err != nil {
		return err
	}
	if err := s.dir.SaveBest(e.Mean, e.Steps, checkpoint.File{Meta: s.meta(), Arrays: all}); err != nil {
		return err
	}
	return s.sink.Write(metrics.Row{Step: e.Steps, Iter: s.run.Iter(), Seconds: s.seconds(), Values: []metrics.Value{
		{Name: "eval/return", X: e.Mean}, {Name: "eval/length", X: e.Length},
	}})
}

// finish fills in the result.
func (s *session) finish() {
	ret, _, n := s.scope.Episodes().Mean()
	if n == 0 {
		ret = math.NaN()
	}
	s.result = Result{
		Steps: s.run.Steps(), Iter: s.run.Iter(), Episodes: s.scope.Episodes().Count(),
		Seconds: s.seconds(), StepsPerSecond: s.speed(), ReturnMean: ret,
		Interrupted: s.stopped, Evaluation: s.result.Evaluation, Agent: s.trainer.Agent(),
	}
	if w, err := weights(s.scope); err == nil {
		s.result.WeightsSHA256 = checkpoint.WeightsSHA256(w)
	}
	if all, err := s.content(); err == nil {
		s.result.StateSHA256 = checkpoint.StateSHA256(all)
	}
}

func (s *session) close() error {
	if s.sink == nil {
		return nil
	}
	return s.sink.Close()
}
