package rl_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-rl/weft/rl"
)

// loop is a trainer of a few lines: body is what an iteration does.
type loop struct{ body func(*rl.Run) }

func (l loop) Train(run *rl.Run) error {
	for run.Next() {
		l.body(run)
	}
	return run.Err()
}

func (loop) Agent() rl.Agent { return nil }

// stepping returns a loop whose iterations take n steps each and then call body.
func stepping(s *rl.Scope, n int, body func(*rl.Run)) loop {
	return loop{func(r *rl.Run) {
		s.AddSteps(n)
		body(r)
	}}
}

func train(t *testing.T, l rl.Trainer, r *rl.Run) {
	t.Helper()
	if err := rl.Train(l, r); err != nil {
		t.Fatal(err)
	}
}

func TestBudget(t *testing.T) {
	for _, x := range []struct{ budget, iters, steps int64 }{
		{30, 3, 30}, {31, 4, 40}, {1, 1, 10}, {0, 0, 0},
	} {
		s := scope(t)
		n := int64(0)
		var cuts []rl.Cut
		r := rl.NewRun(s, x.budget, func(c rl.Cut) error { cuts = append(cuts, c); return nil })
		train(t, stepping(s, 10, func(*rl.Run) { n++ }), r)
		if n != x.iters || r.Iter() != x.iters || r.Steps() != x.steps || r.Budget() != x.budget {
			t.Errorf("budget %d: %d iterations, %d steps; want %d, %d", x.budget, n, r.Steps(), x.iters, x.steps)
		}
		// A cut before every iteration and one after the last.
		if len(cuts) != int(x.iters)+1 {
			t.Fatalf("budget %d: %d cuts", x.budget, len(cuts))
		}
		for i, c := range cuts {
			if c.Run != r || c.Iter != int64(i) || c.Steps != 10*int64(i) || c.Last != (i == len(cuts)-1) {
				t.Errorf("budget %d: cut %d is %+v", x.budget, i, c)
			}
		}
		if r.Next() || n != x.iters {
			t.Error("a run that is over goes on")
		}
	}
}

func TestCountersAreFrozen(t *testing.T) {
	s := scope(t)
	r := rl.NewRun(s, 40, nil)
	state := func() string {
		return fmt.Sprint(r.Iter(), r.Steps(), r.Progress(), r.Every(10), r.Every(15), r.Key("x"))
	}
	var seen []float64
	train(t, loop{func(r *rl.Run) {
		before := state()
		s.AddSteps(7)
		s.AddSteps(3)
		if after := state(); after != before {
			t.Errorf("counters went from %s to %s between two Nexts", before, after)
		}
		seen = append(seen, float64(r.Iter()), float64(r.Steps()), r.Progress())
	}}, r)
	equal(t, "counters", seen, []float64{0, 0, 0, 1, 10, .25, 2, 20, .5, 3, 30, .75})
	if r.Progress() != 1 {
		t.Errorf("progress %v at the end", r.Progress())
	}
	over := rl.NewRun(s, 15, nil)
	train(t, stepping(s, 10, func(*rl.Run) {}), over)
	if over.Progress() != 1 {
		t.Errorf("progress %v beyond the end", over.Progress())
	}
}

func TestEvery(t *testing.T) {
	s := scope(t)
	var at []int64
	train(t, stepping(s, 10, func(r *rl.Run) {
		if r.Every(25) {
			at = append(at, r.Steps())
		}
		if r.Every(0) || r.Iter() > 0 != r.Every(10) {
			t.Errorf("Every(0) %v, Every(10) %v at %d steps", r.Every(0), r.Every(10), r.Steps())
		}
	}), rl.NewRun(s, 105, nil))
	equal(t, "every 25 steps", at, []int64{30, 50, 80, 100}) // 25, 50, 75 and 100 were crossed
}

func TestRunKeys(t *testing.T) {
	s := scope(t)
	seen := map[[5]uint32]string{}
	train(t, stepping(s, 1, func(r *rl.Run) {
		for _, use := range []string{"act", "loss"} {
			for at, k := range map[string]rl.Key{
				"": r.Key(use), "0": r.Key(use, 0), "1": r.Key(use, 1), "0 1": r.Key(use, 0, 1), "1 0": r.Key(use, 1, 0),
			} {
				name := fmt.Sprint(use, r.Iter(), " ", at)
				if other, twice := seen[rl.System.Words(k)]; twice {
					t.Errorf("%s and %s have one key", name, other)
				}
				seen[rl.System.Words(k)] = name
			}
		}
		if first, again := r.Key("act", 1), r.Key("act", 1); first != again {
			t.Error("a key is consumed")
		}
	}), rl.NewRun(s, 3, nil))
}

func TestLogMeans(t *testing.T) {
	s := scope(t)
	var got []string
	r := rl.NewRun(s, 2, func(c rl.Cut) error {
		for _, l := range c.Logs {
			got = append(got, fmt.Sprintf("%d %s %g", c.Iter, l.Name, l.X))
		}
		return nil
	})
	train(t, stepping(s, 1, func(r *rl.Run) {
		r.Log("z", floats(s, []float64{1, 2, 3}, 3))
		r.Log("a", rl.Scalar(float64(r.Iter())))
		r.Log("z", rl.Scalar(10)) // weighs as one number among four
		r.Log("clipped", rl.FromFlat(s, []bool{true, false, false, false}, 4))
	}), r)
	equal(t, "logs", got, []string{"1 z 4", "1 a 0", "1 clipped 0.25", "2 z 4", "2 a 1", "2 clipped 0.25"})
	fails(t, func() { r.Log("gone", rl.Tensor{}) }, `log "gone"`, "absent", "run_test.go:")
}

func TestValue(t *testing.T) {
	s := scope(t)
	r := rl.NewRun(s, 1, nil)
	if x := r.Value(rl.Mean(floats(s, []float64{1, 2}, 2))); x != 1.5 {
		t.Errorf("value %v", x)
	}
	fails(t, func() { r.Value(floats(s, []float64{1, 2}, 2)) }, "only a scalar has a value, not (Float32)[2]")
}

func TestCutEpisodes(t *testing.T) {
	s := scope(t)
	var got []rl.Episode
	r := rl.NewRun(s, 4, func(c rl.Cut) error { got = append(got, c.Episodes...); return nil })
	train(t, stepping(s, 2, func(*rl.Run) {
		s.Episodes().RecordKinds(0, s.Steps(), nil, [][]float64{{1, 2}}, []bool{true, false})
	}), r)
	equal(t, "episodes", got, []rl.Episode{{Step: 2, Return: 1, Length: 1}, {Step: 4, Return: 1, Length: 1}})
}

func TestCutStops(t *testing.T) {
	sentinel := errors.New("disk full")
	for _, x := range []struct{ cut, want error }{
		{rl.ErrStop, nil}, {fmt.Errorf("interrupted: %w", rl.ErrStop), nil}, {sentinel, sentinel},
	} {
		s := scope(t)
		iters := 0
		r := rl.NewRun(s, 100, func(c rl.Cut) error {
			if c.Iter == 2 {
				return x.cut
			}
			return nil
		})
		l := stepping(s, 1, func(*rl.Run) { iters++ })
		if err := rl.Train(l, r); !errors.Is(err, x.want) || (err == nil) != (x.want == nil) {
			t.Errorf("cut returned %v, the run %v", x.cut, err)
		}
		if iters != 2 || r.Next() || r.Iter() != 2 {
			t.Errorf("%d iterations, then %d: a stopped run must stay so", iters, r.Iter())
		}
	}
}

// forgetful returns nil whatever ended its run.
type forgetful struct{ loop }

func (l forgetful) Train(run *rl.Run) error {
	_ = l.loop.Train(run)
	return nil
}

func TestForgottenErr(t *testing.T) {
	s := scope(t)
	r := rl.NewRun(s, 1, func(rl.Cut) error { return errors.New("disk full") })
	says(t, rl.Train(forgetful{}, r), "disk full")
}

func TestFailureHasLineOfLoop(t *testing.T) {
	s := scope(t)
	a, b := floats(s, []float64{1, 2}, 2), floats(s, []float64{1, 2, 3}, 3)
	line := ""
	err := rl.Train(stepping(s, 1, func(*rl.Run) {
		line = where()
		rl.Stack([]rl.Tensor{a, b}) // the line after
	}), rl.NewRun(s, 10, nil))
	var f *rl.Failure
	if !errors.As(err, &f) {
		t.Fatalf("%T: %v", err, err)
	}
	if want := next(line); f.Pos != want || !strings.HasPrefix(err.Error(), want+": stack: ") || f.Unwrap() == nil {
		t.Errorf("%q at %s, want position %s", err, f.Pos, want)
	}
}

func TestForeignPanicsBecomeErrors(t *testing.T) {
	s := scope(t)
	cause := errors.New("the cause")
	var none []int
	for _, x := range []struct {
		do    func()
		want  string
		stack bool // an error explains itself, anything else needs one
	}{
		{func() { panic(cause) }, "the cause", false},
		{func() { panic("a text") }, "a text", true},
		{func() { panic(7) }, "7", true},
		{func() { _ = none[len(none)] }, "index out of range", true},
	} {
		err := rl.Train(stepping(s, 1, func(*rl.Run) { x.do() }), rl.NewRun(s, 10, nil))
		if err == nil || !strings.HasPrefix(err.Error(), "run_test.go:") || !strings.Contains(err.Error(), x.want) ||
			strings.Contains(err.Error(), "goroutine ") != x.stack {
			t.Errorf("panic of %q became %v", x.want, err)
		}
		if x.want == cause.Error() && !errors.Is(err, cause) {
			t.Errorf("%v does not wrap the cause", err)
		}
	}
}

func TestFail(t *testing.T) {
	cause := errors.New("the cause")
	inner := rl.Catch(func() error { rl.Fail(cause); return nil })
	again := rl.Catch(func() error { rl.Fail(fmt.Errorf("around: %w", inner)); return nil })
	if !errors.Is(inner, cause) || again.Error() != inner.Error() {
		t.Errorf("%q became %q: the first position counts", inner, again)
	}
	says(t, rl.Catch(func() error { rl.Failf("%d of %d", 1, 2); return nil }), "run_test.go:", ": 1 of 2")
	if err := rl.Catch(func() error { return cause }); err != cause {
		t.Errorf("an error became %v", err)
	}
	if (&rl.Failure{Err: cause}).Error() != "the cause" {
		t.Error("a failure without position has one")
	}
}

func TestAt(t *testing.T) {
	s := scope(t)
	var names []string
	r := rl.NewRun(s, 4, func(c rl.Cut) error {
		for _, l := range c.Logs {
			names = append(names, fmt.Sprint(l.Name, "=", l.X))
		}
		return nil
	})
	train(t, stepping(s, 2, func(r *rl.Run) {
		a, b := r.At("agent", 0), r.At("agent", 1)
		deep := b.At("member", 3)
		for _, v := range []*rl.Run{a, b, deep} {
			if v.Iter() != r.Iter() || v.Steps() != r.Steps() || v.Progress() != r.Progress() || v.Every(2) != r.Every(2) ||
				v.Budget() != r.Budget() || v.Scope() != s || v.Err() != nil {
				t.Errorf("a view has other counters at iteration %d", r.Iter())
			}
			v.Log("loss", rl.Scalar(float64(v.Iter())))
		}
		if a.Key("act") == b.Key("act") || a.Key("act") == r.Key("act") || deep.Key("act") == b.Key("act") {
			t.Error("views share keys")
		}
		if a.Key("act") != r.At("agent", 0).Key("act") {
			t.Error("a view's keys depend on more than its name")
		}
	}), r)
	equal(t, "logs", names, []string{
		"agent0/loss=0", "agent1/loss=0", "agent1/member3/loss=0", "agent0/loss=1", "agent1/loss=1", "agent1/member3/loss=1",
	})
	fails(t, func() { r.At("agent", 0).Next() }, "Next belongs to the run itself")
	fails(t, func() { r.At("agent", 0).Phase("x", 1) }, "phases belong to the run itself")
}

func TestRunOfNothing(t *testing.T) {
	if r := rl.NewRun(scope(t), 0, nil); r.Progress() != 0 || math.IsNaN(r.Progress()) || r.Next() {
		t.Error("a run of no steps has something to do")
	}
}

// TestStepless: an iteration that steps no environment counts as one step, beside others that do;
// and a resumed run goes on counting.
func TestStepless(t *testing.T) {
	s := scope(t)
	var steps []int64
	r := rl.NewRun(s, 9, func(c rl.Cut) error { steps = append(steps, c.Steps); return nil })
	for r.Next() {
		if r.Iter() == 2 {
			s.AddSteps(4)
		}
	}
	equal(t, "steps", steps, []int64{0, 1, 2, 6, 7, 8, 9})
	st := rl.NewState(s)
	r.Save(st)
	again := rl.NewRun(s, 11, nil)
	if err := again.Load(st); err != nil {
		t.Fatal(err)
	}
	n := 0
	for again.Next() {
		n++
	}
	if n != 2 || again.Steps() != 11 {
		t.Errorf("it went on for %d iterations to %d steps, want 2 to 11", n, again.Steps())
	}
}
