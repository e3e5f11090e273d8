package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bowl returns a function of two settings whose least value, 0, is at x = 0.3 and y = 0.01.
func bowl(point []string) float64 {
	x, _ := strconv.ParseFloat(point[0], 64)
	y, _ := strconv.ParseFloat(point[1], 64)
	return (x-.3)*(x-.3) + .1*math.Pow(math.Log10(y)+2, 2)
}

var bowlDims = []Dim{{Key: "x", Lo: 0, Hi: 1}, {Key: "y", Lo: 1e-4, Hi: 1, Log: true}}

const bowlSteps = 81

// learn trains a trial of the bowl: what it gets is off by an error that shrinks with its steps.
func learn(_ context.Context, t *Trial, until int64) (Outcome, error) {
	if until == 0 {
		until = bowlSteps
	}
	return Outcome{Steps: until, Score: bowl(t.Point) + .1/float64(until), Ended: until == bowlSteps}, nil
}

func study(t *testing.T, p Plan, before []*Trial) *Study {
	t.Helper()
	s, err := New(p, before)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// explore runs a plan to its end with some workers.
func explore(t *testing.T, p Plan, workers int, train Train) *Study {
	t.Helper()
	s := study(t, p, nil)
	if err := s.Run(t.Context(), workers, train, func(*Trial) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if len(s.Trials) != p.Trials || slices.ContainsFunc(s.Trials, func(x *Trial) bool { return !x.settled() }) {
		t.Fatalf("%d trials, want %d that are settled", len(s.Trials), p.Trials)
	}
	return s
}

// text returns all that a study knows.
func text(t *testing.T, s *Study) string {
	t.Helper()
	out, err := json.Marshal(s.Trials)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func plans() map[string]Plan {
	out := map[string]Plan{}
	for name, search := range map[string]Search{"random": Random(bowlDims), "tpe": TPE(bowlDims)} {
		out[name] = Plan{Search: search, Trials: 40, Seed: 7, Window: 4, Factor: 3, Minimum: true}
		p := out[name]
		p.Rungs = []int64{3, 9, 27}
		out[name+" pruned"] = p
	}
	return out
}

// TestOrder: a study does not depend on how many trials are trained at once, nor on which of them
// is over first.
func TestOrder(t *testing.T) {
	for name, p := range plans() {
		t.Run(name, func(t *testing.T) {
			want := text(t, explore(t, p, 1, learn))
			for workers := 2; workers < 9; workers++ {
				synctest.Test(t, func(t *testing.T) {
					got := text(t, explore(t, p, workers, shuffled(uint64(workers))))
					if got != want {
						t.Fatalf("with %d workers\n%s\nwant\n%s", workers, got, want)
					}
				})
			}
		})
	}
}

// shuffled trains every trial for a random time of the bubble's clock, so that those that are
// trained side by side end in any order.
func shuffled(seed uint64) func(context.Context, *Trial, int64) (Outcome, error) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(ctx context.Context, t *Trial, until int64) (Outcome, error) {
		mu.Lock()
		took := time.Duration(rng.IntN(1000)) * time.Second
		mu.Unlock()
		time.Sleep(took)
		return learn(ctx, t, until)
	}
}

var errKilled = errors.New("killed")

// TestKilled: a study that is killed after any of its events, and goes on from what was recorded,
// ends as one that was not.
func TestKilled(t *testing.T) {
	for name, p := range plans() {
		t.Run(name, func(t *testing.T) {
			whole := explore(t, p, 3, learn)
			want := text(t, whole)
			var kept []*Trial
			kills := 0
			for {
				s := study(t, p, kept)
				events := 0
				err := s.Run(t.Context(), 3, learn, func(*Trial) error {
					kept = nil
					if err := json.Unmarshal([]byte(text(t, s)), &kept); err != nil {
						t.Fatal(err)
					}
					if events++; events == 5 {
						return errKilled
					}
					return nil
				})
				if err == nil {
					if got := text(t, s); got != want {
						t.Errorf("after %d kills\n%s\nwant\n%s", kills, got, want)
					}
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				kills++
			}
			if kills < 5 {
				t.Errorf("it was killed %d times", kills)
			}
		})
	}
}

// TestChanged: a record of another sweep is refused.
func TestChanged(t *testing.T) {
	p := plans()["tpe"]
	s := explore(t, p, 1, learn)
	p.Seed++
	if _, err := New(p, s.Trials); err == nil {
		t.Error("the record of another seed was taken")
	}
}

// TestTPE: over the same seeds TPE finds better settings than random search with as many trials.
func TestTPE(t *testing.T) {
	wins, tpe, random := 0, 0., 0.
	for seed := range uint64(20) {
		p := Plan{Trials: 60, Seed: seed, Window: 4, Factor: 3, Minimum: true, Search: TPE(bowlDims)}
		a := *explore(t, p, 4, learn).Best().Score
		p.Search = Random(bowlDims)
		b := *explore(t, p, 4, learn).Best().Score
		tpe, random = tpe+a/20, random+b/20
		if a < b {
			wins++
		}
	}
	t.Logf("the best of 60 trials is %.5f on average with TPE, %.5f at random; TPE is better on %d of 20 seeds", tpe, random, wins)
	if wins < 16 || tpe > random/2 {
		t.Errorf("the best is %.5f with TPE, %.5f at random, better on %d of 20 seeds", tpe, random, wins)
	}
}

// TestPrune: stopping trials early costs a fraction of the steps and finds the same settings or
// almost as good ones.
func TestPrune(t *testing.T) {
	for seed := range uint64(5) {
		p := Plan{Trials: 60, Seed: seed, Window: 4, Factor: 3, Minimum: true, Search: Random(bowlDims)}
		all := explore(t, p, 4, learn)
		p.Rungs = []int64{3, 9, 27}
		some := explore(t, p, 4, learn)
		if !slices.Equal(all.Best().Point, some.Best().Point) {
			t.Errorf("seed %d: the best is %v, with pruning %v", seed, all.Best().Point, some.Best().Point)
		}
		if some.Steps() > all.Steps()/3 {
			t.Errorf("seed %d: %d steps, without pruning %d", seed, some.Steps(), all.Steps())
		}
		t.Logf("seed %d: %d steps with pruning, %d without", seed, some.Steps(), all.Steps())
	}
}

// TestPasses has rungs worked out by hand: of three, one passes, and of equal ones the first.
func TestPasses(t *testing.T) {
	scores := []float64{5, 4, 6, 6, math.NaN(), 7, 5.5, 5.8}
	//                  1st of 1, 2nd of 2, 1st of 3, 2nd of 4, last, 1st of 6, 4th of 7, 4th of 8
	want := []Status{Finished, Pruned, Finished, Pruned, Pruned, Finished, Pruned, Pruned}
	p := Plan{Search: Grid{{Key: "n", Choices: []string{"0", "1", "2", "3", "4", "5", "6", "7"}}}, Trials: 8, Factor: 3, Rungs: []int64{1}}
	s := explore(t, p, 1, func(_ context.Context, x *Trial, until int64) (Outcome, error) {
		return Outcome{Steps: max(1, until), Score: scores[x.Number]}, nil
	})
	for i, x := range s.Trials {
		if x.Status != want[i] {
			t.Errorf("trial %d is %s, want %s", i, x.Status, want[i])
		}
	}
	if s.Best().Number != 5 {
		t.Errorf("the best is %d", s.Best().Number)
	}
}

// TestFailed: a trial that fails is the worst of all, and the others go on.
func TestFailed(t *testing.T) {
	p := Plan{Search: Random(bowlDims), Trials: 6, Seed: 1, Factor: 3}
	s := explore(t, p, 2, func(_ context.Context, x *Trial, _ int64) (Outcome, error) {
		if x.Number == 2 {
			return Outcome{Steps: 1, Score: 99}, fmt.Errorf("it broke")
		}
		return Outcome{Steps: 2, Score: float64(x.Number)}, nil
	})
	if s.Trials[2].Status != Failed || s.Trials[2].Error != "it broke" || s.Best().Number != 5 {
		t.Errorf("%s, best %d", text(t, s), s.Best().Number)
	}
}
