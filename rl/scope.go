package rl

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/ml/model"
)

// A component is state with a home: parameters, optimiser, slots, statistics, rollout,
// environments, episodes. It is made in a Scope, which gives it its device, its seed and the range
// of environments it owns, and which knows all of them. A run's state is the state of its scope's
// components and the counters of Run; that is what a checkpoint holds. An author's own type joins
// by implementing rl.Component and calling Scope.Register. When a trainer has been constructed,
// System.Registered goes through all that it refers to: a component that the scope does not know
// would be trained and neither saved nor sent, and is an error that names its field.
//
//   - Spaces live in rl, not in env: networks' heads need them, and nn must not know environments.
//   - One store of GoMLX variables per scope, with the parameters' name as the first part of the
//     path: GoMLX attaches one store to a graph, and a loss may read several networks.

// Scope is where components are made: it gives them their device, their seed
// and the range of environments they own, and knows them all, so that a run can
// save and load them. An algorithm is constructed in one scope for each replica
// and never learns how many there are.
//
//weft:component scope
type Scope struct {
	dev         *Device
	key         Key
	store       *model.Store
	tracing     sync.Mutex // held while graph code reads the store
	vars        map[string]*cell
	names       []string
	components  map[string]Component
	parent      *Scope // scope around a child's
	beside      *Scope // one that was made beside it; of all of them a list, while the trainer is constructed
	complete    bool   // the trainer was constructed
	first       int    // the scope is of shards [first, last) of so many
	last, of    int
	life        int64  // of a replica that takes a lost one's place, which is counted from 1
	envs        *owned // of the environments, once they are known
	second      []Span // of those that were opened beside them
	steps       int64
	episodes    *Episodes
	lower       *Lowering // set while the loop is being made a device program
	notices     notices
	owed        []*inParts // calls for parts of a batch that have not been used yet
	funcs       int        // graph functions and losses declared so far
	observer    Observer   // nil without one
	timer       Timer      // likewise
	observing   bool       // an operation that is observed is under way
	observation Observation
	storage     *Storage  // storage of replays; nil is memory
	stacks      []stacked // observations that are frames joined
	closed      bool
}

// NewScope returns a scope that owns everything: the plain loop's.
func NewScope(d *Device, seed uint64) *Scope {
	s := &Scope{
		dev: d, key: NewKey(seed), store: model.NewStore(), vars: map[string]*cell{},
		components: map[string]Component{}, last: 1, of: 1,
	}
	s.episodes = newEpisodes()
	s.Register("episodes", s.episodes)
	return s
}

// Child returns a scope beside s, with keys of its own: the environments of an
// evaluation, say. Its components are not part of s's state.
//
//weft:makes
func (s *Scope) Child(name string) *Scope {
	c := NewScope(s.dev, 0)
	c.key, c.parent, c.storage = s.key.Use("child").Use(name), s, s.storage
	return c
}

// Above returns the component of a name in the scope that s is a child of, nil where
// there is none: the environments of an evaluation find there what those of the
// training know.
func (s *Scope) Above(name string) Component {
	if s.parent == nil {
		return nil
	}
	return s.parent.components[name]
}

// Beside returns a scope for environments beside those of s: it owns the same part of
// them and draws other numbers. Its components are not part of s's state.
func (s *Scope) Beside(name string) *Scope {
	c := s.Child(name)
	c.parent, c.first, c.last, c.of = nil, s.first, s.last, s.of
	if !s.complete {
		c.beside, s.beside = s.beside, c
	}
	return c
}

// Shard returns a scope for replica r of k: it draws what s would, and owns the r-th
// part of what s owns. Its components are not part of s's state.
func (s *Scope) Shard(r, k int) *Scope { return s.shards(r, r+1, k) }

// shards returns a scope for a replica that has shards [first, last) of k. It shares
// its run with other replicas even where it has all of them: episodes are counted
// by whoever puts them together.
func (s *Scope) shards(first, last, k int) *Scope {
	if k < 1 || first < 0 || first >= last || last > k || s.of != 1 {
		failf("shard %d of %d of a scope that is itself %d of %d", first, k, s.first, s.of)
	}
	c := NewScope(s.dev, 0)
	c.key, c.first, c.last, c.of, c.storage = s.key, first, last, k, s.storage
	c.episodes.shared = true
	return c
}

// Anew makes s the scope of a replica that takes the place of one that was lost, for
// the n-th time. Its environments and its run draw other numbers than those before them
// did; what all replicas have alike stays the same. It is called before anything is made
// in the scope.
func (system) Anew(s *Scope, n int64) { s.life = n }

// Span is the part [Lo, Hi) of Of things.
type Span struct{ Lo, Hi, Of int }

// Len returns how many things are in the part.
func (s Span) Len() int { return s.Hi - s.Lo }

// owned is a scope's part of its environments, and of those beside them.
type owned struct {
	Span
	beside []Span // parts of other numbers of environments
}

// of returns the part that a batch of so many rows is of; ok is false where it is of none.
// A number of rows that two parts have, of which each begins elsewhere, tells nothing.
func (o *owned) of(rows int) (own Span, ok bool) {
	if rows == o.Len() {
		own, ok = o.Span, true
	}
	for _, b := range o.beside {
		if b.Len() != rows {
			continue
		}
		if ok && b.Lo != own.Lo {
			failf("a batch of %d rows may be of environments %d to %d of %d, or %d to %d of %d: give the second environments as many as the first, "+
				"or numbers that the replicas can share out evenly", rows, own.Lo, own.Hi-1, own.Of, b.Lo, b.Hi-1, b.Of)
		}
		own, ok = b, true
	}
	return own, ok
}

// SetEnvs tells which environments the scope has. Whoever opens them calls it.
func (s *Scope) SetEnvs(own Span) {
	s.envs = &owned{Span: own}
	s.AddEnvs()
}

// AddEnvs tells which environments the scope has beside those, under another name. What
// is drawn for them goes by their own numbers.
func (s *Scope) AddEnvs(own ...Span) {
	s.second = append(s.second, own...)
	if s.envs != nil {
		s.envs.beside = slices.DeleteFunc(slices.Clone(s.second), func(b Span) bool { return b.Of == s.envs.Of })
	}
}

// Envs returns which environments the scope has, of how many; the zero Span before
// they are known.
//
//weft:own
func (s *Scope) Envs() Span {
	if s.envs == nil {
		return Span{}
	}
	return s.envs.Span
}

// spans returns the scope's parts of all environments that it has.
func (s *Scope) spans() []Span {
	if s.envs == nil {
		return nil
	}
	return append([]Span{s.envs.Span}, s.envs.beside...)
}

// sharded returns the scope's part of the environments, or nil if it has all.
func (s *Scope) sharded() *owned {
	switch {
	case s.envs == nil && s.of > 1:
		return withoutEnvs
	case s.envs == nil || s.envs.Len() == s.envs.Of:
		return nil
	}
	return s.envs
}

// withoutEnvs is the part of a replica of a run without environments: shares of batches, which say
// themselves what rows they are, and no number of rows that would be environments'.
var withoutEnvs = &owned{Span: Span{Of: -1}}

// declare counts a graph function or a loss, and returns its number, from 1.
func (s *Scope) declare() int {
	s.funcs++
	return s.funcs
}

// Use makes d the scope's device, before anything is made in it.
func (system) Use(s *Scope, d *Device) {
	if len(s.names) > 1 { // its episodes are counted by the host
		failf("a scope is moved to another device after %q was made in it", s.names[1])
	}
	s.dev = d
}

// Device returns where the scope's tensors live.
func (s *Scope) Device() *Device { return s.dev }

// Key returns the key of a use that belongs to no iteration, such as initial values
// or an environment's resets.
func (s *Scope) Key(use string) Key {
	k := s.key.Use(use)
	if s.life > 0 && (use == "env" || use == "run") {
		k = k.Use("life").Fold(uint64(s.life))
	}
	return k
}

// Parts returns how many shards there are.
func (s *Scope) Parts() int { return s.of }

// Own returns the range [lo, hi) of n things that this replica owns, in multiples of
// block.
//
//weft:own
func (s *Scope) Own(n, block int) (lo, hi int) {
	if block < 1 || n%block != 0 {
		failf("%d environments are no multiple of their block of %d", n, block)
	}
	if n/block < s.of {
		failf("%d replicas are too many for %d environments in blocks of %d: that makes only %d shard(s)", s.of, n, block, n/block)
	}
	lo, _ = shard(n, block, s.first, s.of)
	_, hi = shard(n, block, s.last-1, s.of)
	return lo, hi
}

// shard returns the range [lo, hi) of n things, in multiples of block, that part r of
// k owns.
func shard(n, block, r, k int) (lo, hi int) {
	blocks := n / block
	return r * blocks / k * block, (r + 1) * blocks / k * block
}

// Register makes c part of the scope's state, under a name of its own.
//
//weft:registers name=0 component=1
func (s *Scope) Register(name string, c Component) {
	if _, twice := s.components[name]; twice {
		failf("two components are called %q: give each its own name", name)
	}
	s.names = append(s.names, name)
	s.components[name] = c
}

// AddSteps counts environment steps, over all environments.
func (s *Scope) AddSteps(n int) { s.steps += int64(n) }

// Steps returns the number of environment steps taken so far.
func (s *Scope) Steps() int64 { return s.steps }

// Episodes returns the episodes of the scope's environments: of those called "env",
// where there are several.
func (s *Scope) Episodes() *Episodes { return s.episodes }

// EpisodesOf returns the episodes of the environments of a name. Asking for another
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
	e.shared = s.episodes.shared
	s.Register(name, e)
	return e
}

// secondEpisodes takes the episodes that ended in second environments.
func (s *Scope) secondEpisodes() (out []second) {
	for _, name := range s.names {
		if e, ok := s.components[name].(*Episodes); ok && e != s.episodes && len(e.fresh) > 0 {
			out = append(out, second{Name: name, Episodes: e.take()})
		}
	}
	return out
}

// Save puts the state of every component.
func (s *Scope) Save(st *State) {
	s.saveCounters(st)
	s.saveSome(st, func(string) bool { return true })
}

func (s *Scope) saveCounters(st *State) {
	PutSlice(st, "steps", []int64{s.steps})
	PutSlice(st, "key", s.key.w[:])
}

// saveSome puts the state of the components for whose names want is true.
func (s *Scope) saveSome(st *State, want func(name string) bool) {
	for _, name := range s.names {
		if want(name) {
			s.components[name].Save(st.At(name))
		}
	}
}

// Load gives every component its state back.
func (s *Scope) Load(st *State) error { return s.loadSome(st, func(string) bool { return true }) }

// Component returns the component of a name, or nil.
func (system) Component(s *Scope, name string) Component { return s.components[name] }

// Components returns the names of all, in the order they were made.
func (system) Components(s *Scope) []string { return s.names }

// loadSome gives the components for whose names want is true their state back,
// and the scope its counters.
func (s *Scope) loadSome(st *State, want func(name string) bool) error {
	steps, key := GetSliceN[int64](st, "steps", 1), GetSliceN[uint32](st, "key", 4)
	if st.Err() == nil && [4]uint32(key) != s.key.w {
		return errors.New("the state was saved by a run with another seed")
	}
	for _, name := range s.names {
		if !want(name) {
			continue
		}
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

// Params returns the scope's parameters, in the order they were made.
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
func (system) SaveWeights(s *Scope, st *State) {
	for _, name := range s.names {
		switch c := s.components[name].(type) {
		case *Params, *Stats:
			c.Save(st.At(name))
		case Weighted:
			c.SaveWeights(st.At(name))
		}
	}
}

// Weighted is a component of which an agent needs a part, such as environments that normalise
// observations. SaveWeights puts a part of the state that Save puts.
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

// LoadWeights loads an agent's parameters and statistics and nothing else, for evaluation, and for
// a run that starts from another's weights.
func (system) LoadWeights(s *Scope, st *State) error {
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
