package rl

import (
	"errors"
	"fmt"
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
	shard, of  int
	steps      int64
	episodes   *Episodes
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
	c.key = s.key.Use("child").Use(name)
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

// Replica is which of how many replicas the scope is of.
func (s *Scope) Replica() (r, k int) { return s.shard, s.of }

// Own is the range [lo, hi) of n things that this replica owns, in multiples of
// block.
func (s *Scope) Own(n, block int) (lo, hi int) {
	if block < 1 || n%block != 0 {
		failf("%d environments are no multiple of their block of %d", n, block)
	}
	if n/block < s.of {
		failf("%d replicas are too many for %d environments in blocks of %d: that makes only %d shard(s)", s.of, n, block, n/block)
	}
	return Shard(n, block, s.shard, s.of)
}

// Shard is the range [lo, hi) of n things, in multiples of block, that part r of
// k owns.
func Shard(n, block, r, k int) (lo, hi int) {
	blocks := n / block
	return r * blocks / k * block, (r + 1) * blocks / k * block
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

// Episodes are the episodes of the scope's environments.
func (s *Scope) Episodes() *Episodes { return s.episodes }

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
		}
	}
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
		switch c := s.components[name].(type) {
		case *Params, *Stats:
			if err := c.Load(st.At(name)); err != nil {
				return err
			}
		}
	}
	return nil
}
