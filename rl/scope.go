package rl

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/ml/model"
)

// Scope is where components are made: it gives them their device, their seed
// and the range of environments they own, and knows them all, so that a run can
// save and load them. An algorithm is constructed in one scope for each replica
// and never learns how many there are.
type Scope struct {
	dev        *Device
	key        Key
	store      *model.Store
	tracing    sync.Mutex // held while graph code reads the store
	vars       map[string]*cell
	names      []string
	components map[string]Component
	parent     *Scope // of a child's
	shard, of  int
	steps      int64
	episodes   *Episodes
	lower      *Lowering // while the loop is being made a device program
	notices    notices
	closed     bool
}

// NewScope is a scope that owns everything: the plain loop's.
func NewScope(d *Device, seed uint64) *Scope {
	s := &Scope{
		dev: d, key: NewKey(seed), store: model.NewStore(), vars: map[string]*cell{},
		components: map[string]Component{}, of: 1,
	}
	s.episodes = newEpisodes()
	s.Register("episodes", s.episodes)
	return s
}

// Child is a scope beside s, with keys of its own: the environments of an
// evaluation, say. Its components are not part of s's state.
func (s *Scope) Child(name string) *Scope {
	c := NewScope(s.dev, 0)
	c.key, c.parent = s.key.Use("child").Use(name), s
	return c
}

// Above is the component of a name in the scope that s is a child of, nil where
// there is none: the environments of an evaluation find there what those of the
// training know.
func (s *Scope) Above(name string) Component {
	if s.parent == nil {
		return nil
	}
	return s.parent.components[name]
}

// Beside is a scope for environments beside those of s: it owns the same part of
// them and draws other numbers. Its components are not part of s's state.
func (s *Scope) Beside(name string) *Scope {
	c := s.Child(name)
	c.parent, c.shard, c.of = nil, s.shard, s.of
	return c
}

// Shard is a scope for replica r of k: it draws what s would, and owns the r-th
// part of what s owns. Its components are not part of s's state.
func (s *Scope) Shard(r, k int) *Scope {
	if k < 1 || r < 0 || r >= k || s.of != 1 {
		failf("shard %d of %d of a scope that is itself %d of %d", r, k, s.shard, s.of)
	}
	c := NewScope(s.dev, 0)
	c.key, c.shard, c.of = s.key, r, k
	return c
}

// Device is where the scope's tensors live.
func (s *Scope) Device() *Device { return s.dev }

// Key is the key of a use that belongs to no iteration, such as initial values
// or an environment's resets.
func (s *Scope) Key(use string) Key { return s.key.Use(use) }

// Own is the range [lo, hi) of n things that this replica owns, in multiples of
// block.
func (s *Scope) Own(n, block int) (lo, hi int) {
	blocks := n / block
	return s.shard * blocks / s.of * block, (s.shard + 1) * blocks / s.of * block
}

// Register makes c part of the scope's state, under a name of its own.
func (s *Scope) Register(name string, c Component) {
	if _, twice := s.components[name]; twice {
		failf("two components are called %q: give each its own name", name)
	}
	s.names = append(s.names, name)
	s.components[name] = c
}

// AddSteps counts environment steps, over all environments.
func (s *Scope) AddSteps(n int) { s.steps += int64(n) }

// Steps is the number of environment steps taken so far.
func (s *Scope) Steps() int64 { return s.steps }

// Episodes are the episodes of the scope's environments: of those called "env",
// where there are several.
func (s *Scope) Episodes() *Episodes { return s.episodes }

// EpisodesOf are the episodes of the environments of a name. Asking for another
// than "env" makes them part of the scope's state.
func (s *Scope) EpisodesOf(env string) *Episodes {
	if env == "env" {
		return s.episodes
	}
	name := "episodes of " + env
	if e, ok := s.components[name].(*Episodes); ok {
		return e
	}
	e := newEpisodes()
	s.Register(name, e)
	return e
}

// Save puts the state of every component.
func (s *Scope) Save(st *State) {
	PutSlice(st, "steps", []int64{s.steps})
	PutSlice(st, "key", s.key.w[:])
	for _, name := range s.names {
		s.components[name].Save(st.At(name))
	}
}

// Load gives every component its state back.
func (s *Scope) Load(st *State) error {
	steps, key := GetSliceN[int64](st, "steps", 1), GetSliceN[uint32](st, "key", 4)
	if st.Err() == nil && [4]uint32(key) != s.key.w {
		return errors.New("the state is that of another seed")
	}
	for _, name := range s.names {
		if err := s.components[name].Load(st.At(name)); err != nil {
			return fmt.Errorf("component %s: %w", name, err)
		}
	}
	if err := st.Err(); err != nil {
		return err
	}
	s.steps = steps[0]
	return nil
}

// Params are the scope's parameters, in the order they were made.
func (s *Scope) Params() []*Params {
	var out []*Params
	for _, name := range s.names {
		if p, ok := s.components[name].(*Params); ok {
			out = append(out, p)
		}
	}
	return out
}

// SaveWeights puts what LoadWeights takes over.
func (s *Scope) SaveWeights(st *State) {
	for _, name := range s.names {
		switch c := s.components[name].(type) {
		case *Params, *Stats:
			c.Save(st.At(name))
		case Weighted:
			c.SaveWeights(st.At(name))
		}
	}
}

// Weighted is a component of which an agent needs a part, such as environments
// that normalise what it sees. SaveWeights puts a part of what Save puts.
type Weighted interface {
	Component
	SaveWeights(*State)
	LoadWeights(*State) error
}

// Close closes the components that hold more than memory, the last made first.
func (s *Scope) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, name := range slices.Backward(s.names) {
		if c, ok := s.components[name].(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// own checks that parameters were made in s: what computes on them reads s's.
func (s *Scope) own(params []*Params) {
	for _, p := range params {
		if p.scope != s {
			failf("parameters %q belong to another scope", p.name)
		}
	}
}

// LoadWeights takes over what an agent is made of, parameters and statistics,
// and leaves everything else as it is: for evaluation, and for a run that starts
// from another's weights.
func (s *Scope) LoadWeights(st *State) error {
	for _, name := range s.names {
		var err error
		switch c := s.components[name].(type) {
		case *Params, *Stats:
			err = c.Load(st.At(name))
		case Weighted:
			err = c.LoadWeights(st.At(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
