// Package population trains several members of one algorithm side by side, and moves what works
// from one to another: after every generation, which is a number of steps, members that fall behind
// copy the state and the settings of better ones, and change the settings a little. This is
// population-based training (Jaderberg et al., 2017).
//
// A decision depends on the plan, the number of the generation and the members' scores. It does not
// depend on which member is over first: a generation is decided when all its members are over. So a
// population with any number of workers, killed and resumed at any moment, makes the same
// decisions.
package population

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-rl/weft/internal/sweep"
)

// Plan says what a population is and how it is selected.
type Plan struct {
	Members int         `json:"members"`
	Seed    uint64      `json:"seed"`  // seed of the decisions
	Steps   int64       `json:"steps"` // steps of a member in all
	Every   int64       `json:"every"` // steps of a generation
	Select  string      `json:"select"`
	Metric  string      `json:"metric"`
	Goal    string      `json:"goal"`
	Mutate  []sweep.Dim `json:"mutate"`
}

// Ways to select members.
const (
	Truncation = "truncation" // the worst quarter copies the best quarter
	Tournament = "tournament" // all copy from a board of the best states there ever were
)

// Generations returns the number of generations.
func (p Plan) Generations() int { return int((p.Steps + p.Every - 1) / p.Every) }

// quarter returns how many members the worst or the best quarter has.
func (p Plan) quarter() int { return max(1, p.Members/4) }

// Until returns the steps at which a member that is at begin steps ends its generation; 0 is the
// end of its run.
func (p Plan) Until(begin int64) int64 {
	if until := (begin/p.Every + 1) * p.Every; until < p.Steps {
		return until
	}
	return 0
}

// Member is a member in one generation.
type Member struct {
	Number  int          `json:"member"`
	Point   []string     `json:"settings"` // values of the settings that change, as in Plan.Mutate
	Begin   int64        `json:"begin"`    // steps at which the generation begins
	Over    bool         `json:"over"`
	Steps   int64        `json:"steps"` // steps at which it is over
	Score   *sweep.Value `json:"score"` // nil until it is over; null as well without a value
	Weights string       `json:"weights_sha256,omitempty"`
	State   string       `json:"state_sha256,omitempty"`
	Error   string       `json:"error,omitempty"` // why it failed
}

// Place names a state: that of a member at the end of a generation.
type Place struct {
	Generation int         `json:"generation"`
	Member     int         `json:"member"`
	Score      sweep.Value `json:"score"`
}

// Exploit is a copy of a state into a member, with the settings that go with it, changed.
type Exploit struct {
	Member int         `json:"member"`
	Score  sweep.Value `json:"score"` // score of the member that is replaced
	From   Place       `json:"from"`
	Steps  int64       `json:"steps"`           // steps of the state that is copied
	Error  string      `json:"error,omitempty"` // why the replaced member failed, if it did
	Before []string    `json:"before"`          // settings of the state that is copied
	After  []string    `json:"after"`           // settings that the member goes on with
}

// Generation is a number of steps of all members, and what was decided after it.
type Generation struct {
	Members  []*Member `json:"members"`
	Exploits []Exploit `json:"exploits"`
	Board    []Place   `json:"board,omitempty"` // board of the best states, of a tournament
	Decided  bool      `json:"decided"`         // the exploits are known
	Applied  bool      `json:"applied"`         // and done
}

// Outcome is where a member stands after a generation.
type Outcome struct {
	Steps          int64
	Score          float64 // NaN if it has none
	Weights, State string  // hashes
}

// World does what a population decides.
type World interface {
	// Train trains a member until it has done so many steps, or to its end if until is 0. An error
	// is the member's; what ctx ends is none.
	Train(ctx context.Context, m *Member, until int64) (Outcome, error)
	// Apply does what was decided after generation g. It may have been called before for the same
	// generation, and been interrupted anywhere.
	Apply(ctx context.Context, g int) error
	// Changed is called after everything that happens. m is the member that it happened to; nil
	// after a decision.
	Changed(m *Member) error
}

// Study is a population as far as it has come.
type Study struct {
	Plan
	Generations []*Generation `json:"generations"`
	Best        *Place        `json:"best,omitempty"` // best state at the end
}

// New returns a population that has not begun.
func New(p Plan) *Study { return &Study{Plan: p} }

// Check reports whether a study that was read can go on: what it decided is what it would decide.
func (s *Study) Check() error {
	for g, x := range s.Generations {
		if len(x.Members) != s.Members {
			return fmt.Errorf("generation %d has %d members, not %d: the record is damaged", g, len(x.Members), s.Members)
		}
		for i, want := range s.begin(g) {
			if got := x.Members[i]; got.Number != i || got.Begin != want.Begin || !slices.Equal(got.Point, want.Point) {
				return fmt.Errorf("member %d of generation %d has the settings %q from step %d on, and should have %q from step %d on: the record is damaged",
					i, g, got.Point, got.Begin, want.Point, want.Begin)
			}
		}
	}
	return nil
}

// Start makes the first generation, if there is none.
func (s *Study) Start() {
	if len(s.Generations) == 0 {
		s.Generations = append(s.Generations, &Generation{Members: s.begin(0)})
	}
}

// begin returns the members of generation g before it begins.
func (s *Study) begin(g int) (out []*Member) {
	if g == 0 {
		for i, point := range s.first() {
			out = append(out, &Member{Number: i, Point: point})
		}
		return out
	}
	before := s.Generations[g-1]
	for _, m := range before.Members {
		out = append(out, &Member{Number: m.Number, Point: m.Point, Begin: m.Steps})
	}
	for _, e := range before.Exploits {
		out[e.Member].Point, out[e.Member].Begin = e.After, e.Steps
	}
	return out
}

// Run trains members, so many at a time, generation by generation, until the last one is over or
// ctx is done.
func (s *Study) Run(ctx context.Context, workers int, w World) error {
	for g := 0; s.Best == nil || g < len(s.Generations); g++ {
		if g == len(s.Generations) {
			s.Generations = append(s.Generations, &Generation{Members: s.begin(g)})
			if err := w.Changed(nil); err != nil {
				return err
			}
		}
		x := s.Generations[g]
		if x.Applied {
			continue
		}
		if err := s.train(ctx, workers, w, x); err != nil {
			return err
		}
		if err := s.decide(g); err != nil {
			return err
		}
		if err := w.Changed(nil); err != nil {
			return err
		}
		if err := w.Apply(ctx, g); err != nil {
			return err
		}
		x.Applied = true
		if err := w.Changed(nil); err != nil {
			return err
		}
	}
	return nil
}

// train trains the members of a generation that are not over.
func (s *Study) train(ctx context.Context, workers int, w World, x *Generation) error {
	type result struct {
		m   *Member
		out Outcome
		err error
	}
	results := make(chan result)
	running, next := 0, 0
	var failed error
	for {
		for ; failed == nil && ctx.Err() == nil && running < workers && next < len(x.Members); next++ {
			if m := x.Members[next]; !m.Over {
				running++
				go func() {
					out, err := w.Train(ctx, m, s.Until(m.Begin))
					results <- result{m, out, err}
				}()
			}
		}
		if running == 0 {
			return errors.Join(failed, context.Cause(ctx))
		}
		r := <-results
		running--
		if ctx.Err() != nil { // how far it came is in its folder
			continue
		}
		r.m.end(r.out, r.err)
		if failed == nil {
			failed = w.Changed(r.m)
		}
	}
}

// end notes how a member's generation ended.
func (m *Member) end(out Outcome, err error) {
	m.Over = true
	if err != nil {
		m.Steps, m.Error = m.Begin, err.Error()
		return
	}
	score := sweep.Value(out.Score)
	m.Steps, m.Score, m.Weights, m.State = out.Steps, &score, out.Weights, out.State
}

// failed reports whether a member's run ended in an error.
func (m *Member) failed() bool { return m.Error != "" }

// Value returns a member's score; NaN if it has none.
func (m *Member) Value() float64 {
	if m.Score == nil {
		return math.NaN()
	}
	return float64(*m.Score)
}

// good returns a score as a number that is better if it is larger.
func (p Plan) good(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return math.Inf(-1)
	case p.Goal == "min":
		return -x
	}
	return x
}

// Better reports whether score a is better than score b; no score is better than NaN's.
func (p Plan) Better(a, b float64) bool { return p.good(a) > p.good(b) }
