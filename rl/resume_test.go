package rl_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-rl/weft/rl"
)

// where returns the file and line it is called from.
func where() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// next returns the line after.
func next(pos string) string {
	file, line, _ := strings.Cut(pos, ":")
	n, _ := strconv.Atoi(line)
	return fmt.Sprintf("%s:%d", file, n+1)
}

// learner is a run with something of everything in its state: a phase before the
// loop, memory, parameters and an optimiser, episodes, logs and draws.
type learner struct {
	s     *rl.Scope
	mem   *rl.Slots[rl.Tensor]
	loss  *rl.Loss[fit, pair]
	opt   *rl.Opt
	warm  int64
	trace []string // what was drawn and decided, in order
}

func newLearner(t *testing.T, warm int64) *learner {
	s := scope(t)
	p := params(s, "net", 2, 1)
	return &learner{
		s: s, mem: rl.NewSlots(s, "memory", floats(s, []float64{0}, 1)), loss: regression(s, p),
		opt: rl.NewOpt(s, "opt", heavyBall{}, p), warm: warm,
	}
}

func (l *learner) Agent() rl.Agent { return nil }

func (l *learner) Train(run *rl.Run) error {
	for p := run.Phase("warm", l.warm); p.Next(); {
		l.note("warm", p)
		l.learn(p)
	}
	for run.Next() {
		l.note("main", run)
		x := run.Key("act").Uniform(0, 0)
		l.mem.Set(floats(l.s, []float64{rl.Floats(l.mem.Get())[0] + x}, 1))
		l.s.AddSteps(7)
		l.s.Episodes().RecordKinds(0, l.s.Steps(), nil, [][]float64{{x}}, []bool{x > .5})
		l.learn(run)
		run.Log("memory", l.mem.Get())
		if run.Every(20) {
			run.Log("rare", rl.Scalar(float64(run.Steps())))
		}
	}
	return run.Err()
}

func (l *learner) note(part string, r *rl.Run) {
	l.trace = append(l.trace, fmt.Sprint(part, " ", r.Iter(), r.Steps(), r.Progress(), r.Every(20), r.Key("act")))
}

func (l *learner) learn(r *rl.Run) {
	lo := r.Key("batch").IntN(0, 0, 10)
	g, aux := l.loss.Grad(r.Key("loss"), data(l.s, lo, lo+5))
	l.opt.Apply(g, .1*(1-r.Progress()))
	r.Log("error", aux.X)
}

// cutText returns all that a cut tells, but for the run.
func cutText(c rl.Cut) string {
	return fmt.Sprint(c.Iter, " ", c.Steps, " ", c.Last, " ", c.Logs, " ", c.Episodes)
}

func stateText(s *rl.State) (out []string) {
	for _, a := range s.Arrays() {
		out = append(out, fmt.Sprint(a.Name, a.Shape, a.Flat))
	}
	return out
}

// A run that is saved at any cut, stopped there and continued from the file in
// a new process draws, logs and ends as one that was never stopped.
func TestResumeIsExact(t *testing.T) {
	const budget, warm = 50, 3 // 8 iterations of 7 steps
	whole := newLearner(t, warm)
	var cuts []string
	var states []*rl.State
	var run *rl.Run
	run = rl.NewRun(whole.s, budget, func(c rl.Cut) error {
		cuts = append(cuts, cutText(c))
		st := rl.NewState(whole.s)
		run.Save(st)
		states = append(states, st)
		return nil
	})
	train(t, whole, run)
	if len(cuts) != warm+1+8+1 {
		t.Fatalf("%d cuts", len(cuts))
	}
	last := stateText(states[len(states)-1])
	for at, st := range states {
		part := newLearner(t, warm)
		var got []string
		r := rl.NewRun(part.s, budget, func(c rl.Cut) error { got = append(got, cutText(c)); return nil })
		if err := r.Load(copied(part.s, st)); err != nil {
			t.Fatalf("cut %d: %v", at, err)
		}
		train(t, part, r)
		// Where the run was in the middle of its loop the phase, which is over,
		// comes to its end a second time.
		if at > warm {
			got = got[1:]
		}
		equal(t, fmt.Sprintf("cuts after %d", at), got[1:], cuts[at+1:])
		done := min(at, warm) + max(0, at-warm-1)
		equal(t, fmt.Sprintf("trace after %d", at), part.trace, whole.trace[done:])
		end := rl.NewState(part.s)
		r.Save(end)
		equal(t, fmt.Sprintf("state after %d", at), stateText(end), last)
	}
}

func TestLoadErrors(t *testing.T) {
	l := newLearner(t, 1)
	r := rl.NewRun(l.s, 10, nil)
	st := rl.NewState(l.s)
	train(t, l, r)
	r.Save(st)
	fresh := newLearner(t, 1)
	load := func(st *rl.State) error { return rl.NewRun(fresh.s, 10, nil).Load(st) }
	says(t, load(copied(fresh.s, st, "run/counters")), `state "run/counters" is missing`)
	says(t, load(copied(fresh.s, st, "opt/count")), "component opt", `state "opt/count" is missing`)
	if err := load(copied(fresh.s, st)); err != nil {
		t.Error(err)
	}
}

func TestPhase(t *testing.T) {
	s := scope(t)
	var logs []string
	var r *rl.Run
	r = rl.NewRun(s, 20, func(c rl.Cut) error {
		for _, l := range c.Logs {
			logs = append(logs, fmt.Sprintf("%d %s %g", c.Iter, l.Name, l.X))
		}
		if c.Last != (c.Run == r && c.Steps == 20) {
			t.Errorf("last is %v at %d steps: a phase's end is not the run's", c.Last, c.Run.Steps())
		}
		return nil
	})
	p := r.Phase("offline", 2)
	var progress []float64
	for p.Next() {
		progress = append(progress, p.Progress())
		if p.Key("act") == r.Key("act") {
			t.Error("a phase shares keys with the run")
		}
		p.Log("x", rl.Scalar(1))
	}
	equal(t, "progress", append(progress, p.Progress()), []float64{0, .5, 1})
	if r.Iter() != 0 || r.Steps() != 0 || p.Iter() != 2 || p.Budget() != 2 {
		t.Errorf("run at %d, phase at %d of %d", r.Iter(), p.Iter(), p.Budget())
	}
	train(t, stepping(s, 10, func(r *rl.Run) { r.Log("x", rl.Scalar(2)) }), r)
	equal(t, "logs", logs, []string{"1 offline/x 1", "2 offline/x 1", "1 x 2", "2 x 2"})
	if again := r.Phase("offline", 2); again.Next() {
		t.Error("a phase that is over begins again")
	}
	fails(t, func() { r.Phase("a/b", 1) }, "names have no /")
}

// What stops a phase stops the run, and its error is the run's.
func TestPhaseStopsRun(t *testing.T) {
	sentinel := errors.New("disk full")
	for _, stop := range []error{rl.ErrStop, sentinel} {
		l := newLearner(t, 5)
		n := 0
		r := rl.NewRun(l.s, 100, func(rl.Cut) error {
			if n++; n == 3 {
				return stop
			}
			return nil
		})
		err := rl.Train(l, r)
		if (stop == sentinel) != errors.Is(err, sentinel) || (stop == rl.ErrStop) != (err == nil) {
			t.Errorf("the phase ended with %v, the run with %v", stop, err)
		}
		if n != 3 || len(l.trace) != 2 || l.s.Steps() != 0 {
			t.Errorf("%d cuts and %d iterations after %v", n, len(l.trace), stop)
		}
	}
}
