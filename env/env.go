// Package env is the contract between algorithms and environments.
//
// Algorithms see a Batch: all environments of a run, stepped together. Authors
// of environments write one of two kinds. A graph environment (Dynamics) is
// GoMLX graph code over a batch of states: it runs on any device, and inside one
// device program with the rest of the loop. A host environment (Host) is one
// environment in plain Go, with no thought of batches. Both become a Batch that
// resets itself, delivers the final observation of every episode, counts steps
// and episodes, and stops the run with a sentence when the environment breaks
// its contract.
package env

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// Spec describes a batch of environments.
type Spec struct {
	ID          string
	Obs, Action rl.Space
	Masked      bool // observations carry masks of the legal actions
	Limit       int  // steps after which an episode is truncated; 0 is never
	Agents      int  // agents of one kind in each environment; 0 and 1 are one
	Block       int  // shards are multiples of this many environments; 0 is 1
	AutoReset   AutoReset
	Graph       bool // dynamics are a graph function
	Exact       bool // state can be saved and loaded, so that a run can resume exactly

	Envs  int // environments of the whole run
	First int // global index of the first one of this batch
	Rows  int // environments of this batch
}

// AutoReset is what a batch does when an episode is over.
type AutoReset uint8

// The modes. Foreign environments have others; their adapters translate.
const (
	// SameStep: the step that ends an episode returns the first observation of
	// the next one as Obs, and the last one of the ended one as Final.
	SameStep AutoReset = iota
)

func (a AutoReset) String() string { return "same-step" }

// Batch is environments of one kind, stepped together. It remembers its last
// observation, so that a loop needs no variable that survives an iteration.
type Batch interface {
	rl.Component
	Spec() Spec
	// Obs is the observation to act on; the first call resets.
	Obs() rl.Obs
	// Step moves every environment by its row of action.
	Step(action rl.Tree) rl.Step
}

// Entry offers an environment under its id.
type Entry struct {
	ID  string
	Doc string // one line
	// Options makes a pointer to the struct of the environment's settings, tagged
	// like an algorithm's configuration and with its defaults set; nil if it has
	// none.
	Options func() any
	// New makes n environments, or this replica's shard of them. options is what
	// Options made, set.
	New func(s *rl.Scope, n int, options any) (Batch, error)
}

// ErrNoSnapshot is why an environment cannot resume exactly.
var ErrNoSnapshot = errors.New("the environment cannot save its state")

// Open makes n environments of an entry, registers them as the scope's "env",
// and guards them: what they return is checked against their spec, and their
// steps and episodes are counted. options is what e.Options made, set; nil stands
// for its defaults.
func Open(s *rl.Scope, e Entry, n int, options any) (Batch, error) {
	if n < 1 {
		return nil, fmt.Errorf("environment %s: %d environments asked for, at least 1 is needed", e.ID, n)
	}
	if options == nil && e.Options != nil {
		options = e.Options()
	}
	var g *guard
	err := rl.Catch(func() error {
		b, err := e.New(s, n, options)
		if err != nil {
			return err
		}
		if g, err = newGuard(s, b); err != nil {
			return err
		}
		s.Register("env", g)
		s.SetEnvs(rl.Span{Lo: g.spec.First, Hi: g.spec.First + g.spec.Rows, Of: g.spec.Envs})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("environment %s: %w", e.ID, err)
	}
	return g, nil
}

// own fills in which environments of n a batch in s has.
func (s Spec) own(scope *rl.Scope, n int) Spec {
	s.Block = max(1, s.Block)
	s.Envs = n
	if n%s.Block == 0 && n/s.Block >= scope.Parts() { // else Check will say so
		lo, hi := scope.Own(n, s.Block)
		s.First, s.Rows = lo, hi-lo
	}
	return s
}

// Check reports what is wrong with a spec, all at once.
func (s Spec) Check() error {
	var errs []error
	if s.ID == "" {
		errs = append(errs, errors.New("it has no id"))
	}
	for _, x := range []struct {
		what  string
		space rl.Space
	}{{"observation", s.Obs}, {"action", s.Action}} {
		if x.space == nil || len(x.space.Leaves()) == 0 {
			errs = append(errs, fmt.Errorf("it has no %s space", x.what))
			continue
		}
		for _, l := range x.space.Leaves() {
			if err := checkSpace(l.Space); err != nil {
				errs = append(errs, fmt.Errorf("%s space %s: %w", x.what, l.Name, err))
			}
		}
	}
	if s.Limit < 0 {
		errs = append(errs, fmt.Errorf("its limit of %d steps is negative", s.Limit))
	}
	if s.Block > 1 && s.Envs%s.Block != 0 {
		errs = append(errs, fmt.Errorf("%d environments are no multiple of its block of %d", s.Envs, s.Block))
	}
	if s.Envs > 0 && s.Rows == 0 && s.Envs%max(1, s.Block) == 0 {
		errs = append(errs, fmt.Errorf("%d environments in blocks of %d are too few to give every replica some", s.Envs, max(1, s.Block)))
	}
	return errors.Join(errs...)
}

// checkSpace finds a simple space that holds nothing or has a wrong number of
// bounds.
func checkSpace(s rl.Space) error {
	switch s := s.(type) {
	case rl.Box:
		n := s.Shape().Size()
		for _, b := range [][]float64{s.Low, s.High} {
			if len(b) > 1 && len(b) != n {
				return fmt.Errorf("%d bounds for %d numbers: give one for all or one for each", len(b), n)
			}
		}
		for i := range n {
			if lo, hi := s.Bounds(i); !(lo <= hi) {
				return fmt.Errorf("number %d lies between %v and %v", i, lo, hi)
			}
		}
	case rl.Discrete, rl.MultiDiscrete, rl.MultiBinary:
		groups, _ := options(s)
		if len(groups) == 0 || slices.Min(groups) < 1 {
			return fmt.Errorf("%s has no value", s)
		}
	}
	return nil
}
