package population

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-rl/weft/internal/sweep"
)

var rate = sweep.Dim{Key: "rate", Lo: 1e-4, Hi: 1, Log: true}

func plan(choose string) Plan {
	return Plan{Members: 8, Seed: 3, Steps: 100, Every: 10, Select: choose, Metric: "m", Goal: "max", Mutate: []sweep.Dim{rate}}
}

// climbers is a world whose members climb the faster the nearer their rate is to 0.01. The height
// of a member is all of its state.
type climbers struct {
	mu      sync.Mutex
	study   *Study
	heights map[int]float64
	board   map[Place]float64
	fails   func(m *Member) bool
	wait    func()
	changed func() error
}

func newClimbers(s *Study) *climbers {
	return &climbers{study: s, heights: map[int]float64{}, board: map[Place]float64{}}
}

func (c *climbers) Train(_ context.Context, m *Member, until int64) (Outcome, error) {
	if c.wait != nil {
		c.wait()
	}
	if until == 0 {
		until = c.study.Steps
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails != nil && c.fails(m) {
		return Outcome{}, errors.New("it broke")
	}
	base := c.heights[m.Number]
	height := base + float64(until-m.Begin)*math.Exp(-math.Pow(math.Log10(rate.Number(m.Point[0]))+2, 2))
	return Outcome{Steps: until, Score: height, State: fmt.Sprint(height)}, nil
}

func (c *climbers) Apply(_ context.Context, g int) error {
	x := c.study.Generations[g]
	for _, m := range x.Members {
		if !m.failed() {
			c.board[Place{g, m.Number, *m.Score}] = float64(*m.Score)
			c.heights[m.Number] = float64(*m.Score)
		}
	}
	for _, e := range x.Exploits {
		c.heights[e.Member] = c.board[e.From]
	}
	return nil
}

func (c *climbers) Changed(*Member) error {
	if c.changed != nil {
		return c.changed()
	}
	return nil
}

// evolve runs a plan to its end.
func evolve(t *testing.T, p Plan, workers int, with func(*climbers)) *Study {
	t.Helper()
	s := New(p)
	c := newClimbers(s)
	if with != nil {
		with(c)
	}
	if err := s.Run(t.Context(), workers, c); err != nil {
		t.Fatal(err)
	}
	return s
}

func text(t *testing.T, s *Study) string {
	t.Helper()
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestOrder: a population does not depend on how many members are trained at once, nor on which of
// them is over first.
func TestOrder(t *testing.T) {
	for _, choose := range []string{Truncation, Tournament} {
		want := text(t, evolve(t, plan(choose), 1, nil))
		for workers := 2; workers < 9; workers++ {
			synctest.Test(t, func(t *testing.T) {
				from := rand.New(rand.NewPCG(uint64(workers), 0))
				var mu sync.Mutex
				got := text(t, evolve(t, plan(choose), workers, func(c *climbers) {
					c.wait = func() {
						mu.Lock()
						took := time.Duration(from.IntN(1000)) * time.Second
						mu.Unlock()
						time.Sleep(took)
					}
				}))
				if got != want {
					t.Fatalf("%s with %d workers\n%s\nwant\n%s", choose, workers, got, want)
				}
			})
		}
	}
}

var errKilled = errors.New("killed")

// TestKilled: a population that is killed after any of its events, and goes on from what was
// recorded, ends as one that was not.
func TestKilled(t *testing.T) {
	for _, choose := range []string{Truncation, Tournament} {
		want := text(t, evolve(t, plan(choose), 3, nil))
		for every := 1; every < 12; every++ {
			s := New(plan(choose))
			c := newClimbers(s)
			kept, kills := text(t, s), 0
			for {
				events := 0
				c.changed = func() error {
					if kept = text(t, s); events == every {
						return errKilled
					}
					events++
					return nil
				}
				err := s.Run(t.Context(), 3, c)
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				kills++
				s = &Study{}
				if err := json.Unmarshal([]byte(kept), s); err != nil {
					t.Fatal(err)
				}
				if err := s.Check(); err != nil {
					t.Fatal(err)
				}
				c.study = s
			}
			if got := text(t, s); got != want || kills < 5 {
				t.Errorf("%s, killed %d times after %d events each\n%s\nwant\n%s", choose, kills, every, got, want)
			}
		}
	}
}

// TestEvolves: the best member of a population climbs at least as high as the best of those with
// the settings that it began with, and most of the members climb higher than those.
func TestEvolves(t *testing.T) {
	for _, choose := range []string{Truncation, Tournament} {
		for seed := range uint64(20) {
			p := plan(choose)
			p.Seed = seed
			got := evolve(t, p, 2, nil)
			p.Every = p.Steps // nothing is copied
			fixed := evolve(t, p, 2, nil)
			if got.Best.Score < fixed.Best.Score*(1-1e-12) { // a sum of ten parts is rounded otherwise than one
				t.Errorf("%s, seed %d: the best is %v, without copies %v", choose, seed, got.Best.Score, fixed.Best.Score)
			}
			last := func(s *Study) *Generation { return s.Generations[len(s.Generations)-1] }
			if a, b := got.Ranked(last(got))[4].Value(), fixed.Ranked(last(fixed))[4].Value(); a <= b {
				t.Errorf("%s, seed %d: the median is %v, without copies %v", choose, seed, a, b)
			}
		}
	}
}

// scored returns a study whose first generation has some scores; NaN is a member that failed.
func scored(choose string, scores ...float64) *Study {
	p := plan(choose)
	p.Members = len(scores)
	s := New(p)
	s.Start()
	for i, m := range s.Generations[0].Members {
		if math.IsNaN(scores[i]) {
			m.end(Outcome{}, errors.New("it broke"))
		} else {
			m.end(Outcome{Steps: 10, Score: scores[i]}, nil)
		}
	}
	return s
}

// TestTruncation has decisions worked out by hand: of eight, two copy one of the two best.
func TestTruncation(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		scores []float64
		copies []int // members that are replaced
		from   []int // members that may be copied
	}{
		{[]float64{5, 1, 7, 3, 2, 8, 6, 4}, []int{1, 4}, []int{2, 5}},
		{[]float64{5, 5, 5, 5, 5, 5, 5, 5}, nil, nil},              // nobody is better
		{[]float64{1, 9, 9, 9, 9, 9, 9, 9}, []int{0}, []int{1, 2}}, // one of the worst two is as good as the best
		{[]float64{nan, 1, nan, 3, nan, 8, 6, 4}, []int{0, 2, 4}, []int{5, 6}},
		{[]float64{nan, nan, nan, 3}, []int{0, 1, 2}, []int{3}},
		{[]float64{1, 2}, []int{0}, []int{1}},
		{[]float64{3, 1, 2}, []int{1}, []int{0}},
	} {
		s := scored(Truncation, c.scores...)
		if err := s.decide(0); err != nil {
			t.Fatal(err)
		}
		var copies []int
		for _, e := range s.Generations[0].Exploits {
			copies = append(copies, e.Member)
			if !slices.Contains(c.from, e.From.Member) || e.Steps != 10 || e.After[0] == "" {
				t.Errorf("%v: %+v", c.scores, e)
			}
		}
		if !slices.Equal(copies, c.copies) {
			t.Errorf("%v: members %v copy, want %v", c.scores, copies, c.copies)
		}
	}
}

// TestBoard: the board has the best half of all states there ever were, and who is not on it copies
// from it.
func TestBoard(t *testing.T) {
	s := scored(Tournament, 5, 1, 7, 3)
	if err := s.decide(0); err != nil {
		t.Fatal(err)
	}
	x := s.Generations[0]
	if got := fmt.Sprint(x.Board); got != "[{0 2 7} {0 0 5}]" {
		t.Errorf("the board is %s", got)
	}
	if len(x.Exploits) != 2 || x.Exploits[0].Member != 1 || x.Exploits[1].Member != 3 {
		t.Errorf("%+v", x.Exploits)
	}
	s.Generations = append(s.Generations, &Generation{Members: s.begin(1)})
	for i, score := range []float64{4, 6, 2, 1} { // all but member 1 fall behind the board
		s.Generations[1].Members[i].end(Outcome{Steps: 20, Score: score}, nil)
	}
	if err := s.decide(1); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Generations[1].Board); got != "[{0 2 7} {1 1 6}]" {
		t.Errorf("then the board is %s", got)
	}
	for _, e := range s.Generations[1].Exploits {
		if e.Member == 1 || e.From.Generation == 0 && e.Steps != 10 || e.From.Generation == 1 && e.Steps != 20 {
			t.Errorf("%+v", e)
		}
	}
}

// TestFailed: a member that fails is replaced; if all fail, so does the population.
func TestFailed(t *testing.T) {
	for _, choose := range []string{Truncation, Tournament} {
		s := evolve(t, plan(choose), 2, func(c *climbers) {
			c.fails = func(m *Member) bool { return m.Number == 5 && m.Begin == 20 }
		})
		x := s.Generations[2]
		i := slices.IndexFunc(x.Exploits, func(e Exploit) bool { return e.Member == 5 })
		if i < 0 || x.Exploits[i].Error != "it broke" || s.Generations[3].Members[5].Begin == 20 && choose == Truncation {
			t.Errorf("%s: %+v", choose, x)
		}
	}
	s := New(plan(Truncation))
	c := newClimbers(s)
	c.fails = func(*Member) bool { return true }
	if err := s.Run(t.Context(), 2, c); err == nil || !strings.Contains(err.Error(), "all 8 members failed in generation 0; member 0: it broke") {
		t.Error(err)
	}
}

// TestChanged: a record that decides otherwise is refused.
func TestChanged(t *testing.T) {
	s := evolve(t, plan(Truncation), 1, nil)
	s.Generations[3].Members[2].Point = []string{"0.5"}
	if err := s.Check(); err == nil {
		t.Error("a record with other settings was taken")
	}
}

// TestMove has changes worked out by hand.
func TestMove(t *testing.T) {
	whole, linear := sweep.Dim{Lo: 1, Hi: 8, Whole: true}, sweep.Dim{Lo: 0, Hi: 1}
	small := sweep.Dim{Lo: 1, Hi: 64, Whole: true, Log: true}
	choice := sweep.Dim{Choices: []string{"a", "b", "c"}}
	for _, c := range []struct {
		d     sweep.Dim
		from  string
		rises bool
		want  string
	}{
		{rate, "0.01", true, "0.012"}, {rate, "0.01", false, "0.008"}, {rate, "0.9", true, "1"}, {rate, "0.0001", false, "0.0001"},
		{linear, "0.5", true, "0.7"}, {linear, "0.1", false, "0"}, {whole, "4", true, "5"}, {whole, "8", true, "8"},
		{small, "2", true, "3"}, {small, "2", false, "1"}, {small, "40", true, "48"},
		{choice, "a", true, "b"}, {choice, "a", false, "a"}, {choice, "c", false, "b"},
	} {
		if got := move(c.d, c.from, c.rises); got != c.want {
			t.Errorf("%s rises=%v in %+v: %s, want %s", c.from, c.rises, c.d, got, c.want)
		}
	}
}

// TestFirst: the members begin in different parts of a range.
func TestFirst(t *testing.T) {
	seen := map[int]bool{}
	for _, point := range plan(Truncation).first() {
		seen[int(8*rate.Place(point[0]))] = true
	}
	if len(seen) != 8 {
		t.Errorf("8 members begin in %d of 8 parts of the range", len(seen))
	}
}

// TestAncestors follows copies from the best back to the beginning.
func TestAncestors(t *testing.T) {
	s := New(plan(Truncation))
	s.Generations = []*Generation{
		{Exploits: []Exploit{{Member: 1, From: Place{0, 4, 1}}}},
		{Exploits: []Exploit{{Member: 2, From: Place{1, 1, 1}}, {Member: 3, From: Place{1, 0, 1}}}},
		{}, {},
	}
	s.Best = &Place{3, 2, 9}
	if got := s.Ancestors(); !slices.Equal(got, []int{4, 1, 2, 2}) {
		t.Errorf("%v", got)
	}
	s.Generations[2].Exploits = []Exploit{{Member: 2, From: Place{0, 6, 1}}}
	if got := s.Ancestors(); !slices.Equal(got, []int{6, -1, -1, 2}) {
		t.Errorf("%v", got)
	}
}
