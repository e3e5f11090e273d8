package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/rl"
)

// Train runs the job to its end, to an interruption through ctx, or to a
// failure. Whatever ends it, the last good checkpoint stays.
func (s *Session) Train(ctx context.Context) (Result, error) {
	s.ctx = ctx
	if s.Part != nil {
		s.ctx = s.Part.Stop
	}
	if err := s.open(); err != nil {
		return Result{}, errors.Join(err, s.Close())
	}
	s.Watch = &serial{to: s.Watch}
	err := s.patiently(s.train)
	return s.result, errors.Join(err, s.Close())
}

// train enters the loop, and ends with the last checkpoint and evaluation.
func (s *Session) train() error {
	if err := s.compile(); err != nil {
		return s.explain(err)
	}
	s.begun = s.Now()
	s.savedAt = s.begun
	s.Watch.Begin(s.run.Steps(), s.Job.Steps)
	for _, text := range s.world.Plan.Notes {
		s.Watch.Note(text)
	}
	if s.loaded && s.Ended() {
		s.Watch.Note(fmt.Sprintf("the run was ended by its algorithm at step %d: there is nothing to go on with", s.run.Steps()))
	}
	if !s.world.Exact() {
		s.Watch.Note("the run is asynchronous: what it computes depends on who is faster, and to resume it is not exact")
	}
	if !s.exact && s.vault != nil && !s.loaded {
		s.Watch.Note(s.inexact())
	}
	s.lapped()
	err := s.world.Train(s.ctx)
	if err = errors.Join(err, s.settle()); err != nil {
		return s.explain(err)
	}
	if err := s.conclude(); err != nil {
		return err
	}
	s.Watch.End()
	if s.stopped || !s.owesEvaluation() {
		return nil
	}
	return s.lastEvaluation()
}

// compile makes the device program, if there is to be one, before the clock starts.
func (s *Session) compile() error {
	begun := s.Now()
	end := phase.Begin(s.Trace, phaseCompile)
	err := s.world.Compile()
	end(err)
	if took := s.Now().Sub(begun); took > time.Second {
		s.Watch.Note(fmt.Sprintf("the loop was compiled in %.1f s", took.Seconds()))
	}
	return err
}

// inexact says what an environment that cannot be saved means for the run.
func (s *Session) inexact() string {
	text := s.Env.ID + " cannot save its state"
	if s.why != "" {
		text += " (" + s.why + ")"
	}
	if s.RestartEpisodes {
		return text + ": if the run is resumed, its environments begin new episodes"
	}
	return text + ": the run cannot be resumed exactly, only with --resume=restart-episodes"
}

// owesEvaluation reports whether the final policy is still to be evaluated.
func (s *Session) owesEvaluation() bool { return s.EvalEpisodes > 0 && s.evaluated != s.run.Steps() }

// lastEvaluation evaluates the final policy, and saves that it was done, so that
// to resume the run does not do it again.
func (s *Session) lastEvaluation() error {
	s.Watch.Evaluating(s.EvalEpisodes)
	if err := s.evaluate(); err != nil {
		return err
	}
	s.result.Interrupted = s.owesEvaluation()
	if s.vault == nil || s.result.Interrupted {
		return nil
	}
	if err := s.save(); err != nil {
		return err
	}
	return s.settle()
}

// explain adds to a failure what is left of the run.
func (s *Session) explain(err error) error {
	between := " "
	if strings.Contains(err.Error(), "\n") { // a traceback has its own lines
		between = "\n"
	}
	switch {
	case s.vault == nil:
		return err
	case s.saved < 0:
		return fmt.Errorf("%w%s(before the first checkpoint)", err, between)
	}
	return fmt.Errorf("%w%s(the checkpoint of step %d is good)", err, between, s.saved)
}

// cut returns every consistent point of the run.
func (s *Session) cut(c rl.Cut) error {
	s.lap(c)
	defer s.lapped()
	if err := s.aborted(); err != nil {
		return err
	}
	for _, text := range s.world.Notes() {
		s.Watch.Note(text)
	}
	if c.Iter > 0 && len(c.Logs)+len(c.Episodes) > 0 {
		if err := s.report(c); err != nil {
			return err
		}
	}
	if p := s.Probe; p != nil && p.Cut != nil {
		if err := p.Cut(c); err != nil {
			return err
		}
	}
	if c.Passed { // its state is not to be had any more
		return nil
	}
	if s.EvalEvery > 0 && s.EvalEpisodes > 0 && !c.Last && c.Steps/s.EvalEvery != max(0, s.evaluated)/s.EvalEvery {
		if err := s.evaluate(); err != nil {
			return err
		}
	}
	if err := s.aborted(); err != nil {
		return err
	}
	s.stopped = s.ctx.Err() != nil || s.Pause > 0 && c.Steps >= s.Pause && !c.Last
	if err := s.conclusion(c); err != nil {
		return err
	}
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

// conclusion keeps the state of the last cut. An asynchronous run has none: its
// replicas go on until they hear of the end.
func (s *Session) conclusion(c rl.Cut) (err error) {
	if s.Ended() {
		s.Watch.Note(fmt.Sprintf("the algorithm left its loop: the run ends at step %d of %d", c.Steps, s.Job.Steps))
	}
	if (c.Last || s.stopped) && s.world.Exact() {
		s.last, err = capture(s.scope, s.world.Save)
	}
	return err
}

// aborted returns why a part of a run was given up, nil if it was not.
func (s *Session) aborted() error {
	if s.Part == nil {
		return nil
	}
	return context.Cause(s.Part.Abort)
}

// until returns the next number of steps at which there is something to do with the
// state: a device program must not go past it.
func (s *Session) until(steps int64) int64 {
	next := int64(math.MaxInt64)
	for _, every := range []int64{s.EvalEvery, s.CheckpointSteps} {
		if every > 0 {
			next = min(next, (steps/every+1)*every)
		}
	}
	if p := s.Probe; p != nil && p.Until > steps {
		next = min(next, p.Until)
	}
	if s.Pause > steps {
		next = min(next, s.Pause)
	}
	return next
}

// due says whether the run is to be saved at a cut.
func (s *Session) due(c rl.Cut) bool {
	if s.vault == nil || (c.Steps == s.taken || c.Steps == 0 && !s.stopped) && !s.Ended() {
		return false
	}
	return c.Last || s.stopped ||
		s.CheckpointSteps > 0 && c.Steps/s.CheckpointSteps != max(0, s.taken)/s.CheckpointSteps ||
		s.Now().Sub(s.savedAt) >= s.CheckpointEvery
}

// seconds of work on the run, earlier processes' included.
func (s *Session) seconds() float64 { return s.before + s.Now().Sub(s.begun).Seconds() }

// speed returns the steps per second of this process's own work; for a run that was finished
// before, those of the whole run.
func (s *Session) speed() float64 {
	steps, seconds := s.run.Steps()-s.beganAt, s.Now().Sub(s.begun).Seconds()
	if steps == 0 {
		steps, seconds = s.run.Steps(), s.before
	}
	return float64(steps) / max(1e-9, seconds)
}

// returns returns the mean return of the last episodes, NaN without any.
func (s *Session) returns() float64 {
	if ret, _, n := s.scope.Episodes().Mean(); n > 0 {
		return ret
	}
	return math.NaN()
}

// report tells the watcher and the files about an iteration.
func (s *Session) report(c rl.Cut) error {
	s.Watch.Iteration(Report{
		Steps: c.Steps, Iter: c.Iter, Episodes: s.scope.Episodes().Count(), Seconds: s.seconds(),
		Return: s.returns(), Logs: c.Logs, Figures: s.world.Figures(),
	})
	if s.sink == nil {
		return nil
	}
	return s.sink.Write(s.row(c))
}

// row returns an iteration as the files hold it.
func (s *Session) row(c rl.Cut) metrics.Row {
	row := metrics.Row{Step: c.Steps, Iter: c.Iter, Seconds: s.seconds()}
	add := func(name string, x float64) { row.Values = append(row.Values, metrics.Value{Name: name, X: x}) }
	for _, l := range c.Logs {
		add(l.Name, l.X)
		if what, ok := strings.CutPrefix(l.Name, "per_step/"); ok { // what a step costs is also a rate
			add("run/"+what+"_per_second", l.X*s.speed())
		}
	}
	if n := float64(len(c.Episodes)); n > 0 {
		kinds := rl.System.KindNames(s.scope.Episodes())
		sum, steps, parts := 0.0, 0.0, make([]float64, len(kinds))
		for _, e := range c.Episodes {
			sum, steps = sum+e.Return, steps+float64(e.Length)
			for i, x := range e.Kinds {
				parts[i] += x
			}
		}
		add("episode/return", sum/n)
		add("episode/length", steps/n)
		for i, name := range kinds {
			add("episode/return/"+name, parts[i]/n)
		}
	}
	if x := s.returns(); !math.IsNaN(x) {
		add("episode/return_mean", x)
	}
	add("episode/count", float64(s.scope.Episodes().Count()))
	for _, x := range slices.Concat(s.world.Counts(), s.world.Iteration()) {
		add(x.Name, x.X)
	}
	add("run/steps_per_second", s.speed())
	return row
}

// evaluate plays greedily, keeps the policy if it is the best so far, and tells.
// One that ctx interrupts is left for the resumed run.
func (s *Session) evaluate() error {
	if err := s.world.Refresh(); err != nil {
		return err
	}
	end := phase.Begin(s.Trace, phaseEvaluation, phase.Int("step", s.run.Steps()), phase.Int("episodes", int64(s.EvalEpisodes)))
	e, err := Evaluate(s.ctx, s.scope, s.Job, s.world.Trainer().Agent(), s.EvalEpisodes, true)
	end(err)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return s.explain(err)
	}
	e.Steps = s.run.Steps()
	s.evaluated, s.result.Evaluation = e.Steps, &e
	s.Watch.Evaluated(e)
	if s.vault == nil {
		return nil
	}
	f, state, err := s.content()
	if err != nil {
		return err
	}
	defer s.release(state)
	if err := s.vault.SaveBest(e.Mean, e.Steps, f); err != nil {
		return err
	}
	return s.sink.Write(metrics.Row{Step: e.Steps, Iter: s.run.Iter(), Seconds: s.seconds(), Values: []metrics.Value{
		{Name: "eval/return", X: e.Mean}, {Name: "eval/length", X: e.Length},
	}})
}

// conclude fills in the result.
func (s *Session) conclude() error {
	if err := s.world.Refresh(); err != nil {
		return err
	}
	_, state, err := s.content()
	if err != nil {
		return err
	}
	defer s.release(state)
	whole, err := arrays(rl.System.Expanded(state))
	if err != nil {
		return err
	}
	s.result = Result{
		Steps: s.run.Steps(), Iter: s.run.Iter(), Episodes: s.scope.Episodes().Count(), Began: s.beganAt,
		Seconds: s.seconds(), StepsPerSecond: s.speed(), ReturnMean: s.returns(),
		WeightsSHA256: checkpoint.WeightsSHA256(weights(s.scope, whole)), StateSHA256: checkpoint.StateSHA256(whole),
		Figures: s.world.Figures(), Dropped: s.world.Dropped(), Exact: s.world.Exact(),
		Interrupted: s.stopped, Evaluation: s.result.Evaluation,
	}
	if err := s.profiled(); err != nil {
		return err
	}
	if s.Part == nil {
		s.result.Player, _ = newPlayer(s.scope, s.world.Trainer().Agent(), s.specs) // evaluation says why there is none
	}
	if p := s.Probe; p != nil && p.State != nil {
		for i := range whole {
			if whole[i], err = whole[i].Load(); err != nil {
				return err
			}
		}
		p.State(whole)
	}
	return nil
}
