package rl

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
)

// Axis is the axis along which a component's state, or a value, may be split.
type Axis uint8

// The axes.
const (
	None    Axis = iota
	Envs         // environments; sharded in multiples of the environment's block
	Agents       // agents of one group
	Members      // population, ensemble, opponent pool
	Rows         // rows of a learner's batch
)

//weft:pure
func (a Axis) String() string {
	return [...]string{"none", "environments", "agents", "members", "rows"}[a]
}

// Component is state with a home: parameters, an optimiser, a replay buffer, a batch of
// environments. A run's state is its components' state and its counters: a checkpoint holds what
// the components save.
//
// An author's own type joins by implementing Component and registering with
// Scope.Register.
type Component interface {
	// Axis returns the axis along which the state may be split.
	//
	//weft:pure
	Axis() Axis
	// Save puts the whole state.
	//
	//weft:refuse leave saving to the runner, which does it between iterations
	Save(*State)
	// Load takes it back; it returns s.Err() or an error of its own.
	//
	//weft:refuse leave loading to the runner, which does it between iterations
	Load(*State) error
}

// Array is a piece of state: data in row-major order.
type Array struct {
	Name  string
	Shape shapes.Shape
	Flat  any // a slice of the shape's dtype
	// Rows is true when the first axis is the environments that the component's
	// replica owns: the whole is all replicas' rows, one after another.
	Rows bool

	// Source, in place of Flat, gives the data in little-endian order. Only states
	// that System.Viewing returned, and those read from checkpoints, have such arrays.
	Source io.ReaderAt
	// Part is true of arrays that hold what Framing puts others together from.
	Part bool
	// Framing, in place of Flat and Source, says how the data are put together from
	// arrays that are parts.
	Framing *Framing
}

// State is the named arrays that components save and load.
type State struct {
	prefix string
	set    *stateSet
}

type stateSet struct {
	dev      *Device
	storage  *Storage // storage of rings that are loaded
	envs     []Span   // environments of the replica that loads the state
	arrays   map[string]Array
	err      error
	restarts bool
	viewing  bool
}

// NewState returns an empty state whose tensors live on s's device.
func NewState(s *Scope) *State {
	return &State{set: &stateSet{dev: s.dev, storage: s.storage, envs: s.spans(), arrays: map[string]Array{}}}
}

// Viewing makes s a state that holds views of rings instead of copies, and returns it.
func (system) Viewing(s *State) *State {
	s.set.viewing = true
	return s
}

// Release ends the views among arrays, which must not be read any more.
func (system) Release(arrays []Array) {
	for _, a := range arrays {
		if v, ok := a.Source.(*View); ok {
			v.Release()
		}
	}
}

// Restarting removes the episodes under way from s, and returns it. A run whose environments cannot
// be saved resumes from such a state. Environments save and load what outlives an episode, and
// begin new ones when they are loaded.
func (system) Restarting(s *State) *State {
	s.set.restarts = true
	return s
}

// Restarts reports whether s is without the episodes under way.
func (s *State) Restarts() bool { return s.set.restarts }

// At returns the part of the state under a name.
func (s *State) At(name string) *State { return &State{s.prefix + name + "/", s.set} }

// Add puts an array under its name, relative to s.
func (s *State) Add(a Array) {
	a.Name = s.prefix + a.Name
	if _, twice := s.set.arrays[a.Name]; twice {
		failf("state %q is saved twice", a.Name)
	}
	if a.Framing != nil {
		a.Framing = a.Framing.under(s.prefix)
	}
	if v, ok := a.Source.(*View); ok && !s.set.viewing {
		flat, err := a.flat()
		check(err)
		v.Release()
		a.Flat, a.Source = flat, nil
	}
	s.set.arrays[a.Name] = a
}

// AddAll adds arrays that another state has. One that holds no views gets them whole.
func (s *State) AddAll(arrays []Array) {
	if s.set.viewing {
		for _, a := range arrays {
			s.Add(a)
		}
		return
	}
	for _, a := range System.Expanded(arrays) {
		flat, err := a.flat()
		check(err)
		a.Flat, a.Source = flat, nil
		s.Add(a)
	}
}

// Flat returns the data of an array that is not put together from others.
func (system) Flat(a Array) (any, error) { return a.flat() }

// flat returns the data of an array that has them in either way.
func (a Array) flat() (any, error) {
	if a.Source == nil {
		return a.Flat, nil
	}
	flat := makeFlat(a.Shape)
	if a.Shape.Size() == 0 {
		return flat, nil
	}
	return flat, a.readInto(dtypes.UnsafeByteSliceFromAny(flat))
}

// Put saves a tensor; an absent one is not saved.
func (s *State) Put(name string, t Tensor) {
	if t.Ok() {
		flat := makeFlat(t.Shape())
		dtypes.CopyAnySlice(flat, t.host()) // the tensor's memory may be used again
		s.Add(Array{Name: name, Shape: t.Shape(), Flat: flat})
	}
}

// PutRows saves a tensor whose first axis is the environments that the replica
// owns. Whoever has other environments, or all, takes its own back with GetRows.
func (s *State) PutRows(name string, t Tensor) {
	s.Put(name, t)
	s.mark(name)
}

// mark notes that what was put is rows.
func (s *State) mark(name string) {
	if a, ok := s.set.arrays[s.prefix+name]; ok {
		a.Rows = true
		s.set.arrays[a.Name] = a
	}
}

// GetRows does what GetLike does for what PutRows saved: the rows of the replica's own
// environments.
func (s *State) GetRows(name string, like Tensor) Tensor {
	a, ok := s.array(name)
	if !ok {
		return Tensor{}
	}
	a, err := s.own(a)
	if err == nil && !a.Shape.Equal(like.Shape()) {
		err = fmt.Errorf("state %q has rows %s, want %s", a.Name, a.Shape, like.Shape())
	}
	if err != nil {
		s.fail(err)
		return Tensor{}
	}
	return s.set.dev.from(a.Flat, a.Shape)
}

// own returns the part of an array of all environments' rows that belongs to whoever
// loads it. An array that has not the rows of all stays as it is: it may be a
// replica's own, or hold nothing yet.
func (s *State) own(a Array) (Array, error) {
	if a.Shape.Rank() == 0 {
		return a, fmt.Errorf("state %q has no rows", a.Name)
	}
	i := slices.IndexFunc(s.set.envs, func(e Span) bool { return e.Of == a.Shape.Dimensions[0] })
	if i < 0 || s.set.envs[i].Len() == s.set.envs[i].Of {
		return a, nil
	}
	e := s.set.envs[i]
	dims := slices.Clone(a.Shape.Dimensions)
	size := a.Shape.Size() / e.Of
	dims[0] = e.Len()
	part := Array{Name: a.Name, Shape: shapes.Make(a.Shape.DType, dims...), Rows: true}
	part.Flat = makeFlat(part.Shape)
	width := a.Shape.DType.Size()
	copy(dtypes.UnsafeByteSliceFromAny(part.Flat), dtypes.UnsafeByteSliceFromAny(a.Flat)[e.Lo*size*width:e.Hi*size*width])
	return part, nil
}

// Get returns the tensor saved under name.
func (s *State) Get(name string) Tensor {
	a, ok := s.array(name)
	if !ok {
		return Tensor{}
	}
	return s.set.dev.from(a.Flat, a.Shape)
}

// Has reports whether something was saved under name.
func (s *State) Has(name string) bool {
	_, ok := s.set.arrays[s.prefix+name]
	return ok
}

// children returns the names directly under s that have more below them, sorted.
func (s *State) children() []string {
	var out []string
	for name := range s.set.arrays {
		if rest, ok := strings.CutPrefix(name, s.prefix); ok {
			if child, _, deeper := strings.Cut(rest, "/"); deeper {
				out = append(out, child)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stored returns an array as it was added.
func (s *State) stored(name string) (Array, bool) {
	a, ok := s.set.arrays[s.prefix+name]
	if !ok {
		s.fail(fmt.Errorf("state %q is missing", s.prefix+name))
	}
	return a, ok
}

// array returns an array with its data in Flat.
func (s *State) array(name string) (Array, bool) {
	a, ok := s.stored(name)
	if !ok || a.Source == nil {
		return a, ok
	}
	flat, err := a.flat()
	if err != nil {
		s.fail(fmt.Errorf("state %q: %w", a.Name, err))
		return a, false
	}
	a.Flat, a.Source = flat, nil
	return a, true
}

// GetLike does what Get does for a tensor that must have like's shape.
func (s *State) GetLike(name string, like Tensor) Tensor {
	a, ok := s.array(name)
	if ok && !a.Shape.Equal(like.Shape()) {
		s.fail(fmt.Errorf("state %q has shape %s, want %s", a.Name, a.Shape, like.Shape()))
		ok = false
	}
	if !ok {
		return Tensor{}
	}
	return s.set.dev.from(a.Flat, a.Shape)
}

func (s *State) fail(err error) {
	if s.set.err == nil {
		s.set.err = err
	}
}

// Err returns the first thing that was missing or had another shape.
func (s *State) Err() error { return s.set.err }

// Arrays returns all arrays in name order.
func (s *State) Arrays() []Array {
	out := make([]Array, 0, len(s.set.arrays))
	for _, a := range s.set.arrays {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Array) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// PutSlice saves Go numbers.
func PutSlice[T gotype.Supported](s *State, name string, x []T) {
	s.Add(Array{Name: name, Shape: shapes.Make(dtypes.FromGenericsType[T](), len(x)), Flat: slices.Clone(x)})
}

// PutRowSlice saves Go numbers, one for each environment that the replica owns.
func PutRowSlice[T gotype.Supported](s *State, name string, x []T) {
	PutSlice(s, name, x)
	s.mark(name)
}

// PutRowTable saves Go numbers, equally many for each of the rows environments
// that the replica owns.
func PutRowTable[T gotype.Supported](s *State, name string, rows int, x []T) {
	shape := shapes.Make(dtypes.FromGenericsType[T](), rows, len(x)/max(1, rows))
	s.Add(Array{Name: name, Shape: shape, Flat: slices.Clone(x), Rows: true})
}

// GetRowSliceN does what GetRowSlice does of exactly n numbers.
func GetRowSliceN[T gotype.Supported](s *State, name string, n int) []T {
	x := GetRowSlice[T](s, name)
	if s.Err() == nil && len(x) != n {
		s.fail(fmt.Errorf("state %q has %d elements, want %d", s.prefix+name, len(x), n))
		return make([]T, n)
	}
	return x
}

// GetRowSlice returns what PutRowSlice or PutRowTable saved, for the replica's own
// environments.
func GetRowSlice[T gotype.Supported](s *State, name string) []T {
	a, ok := s.array(name)
	if !ok {
		return nil
	}
	a, err := s.own(a)
	if err != nil {
		s.fail(err)
		return nil
	}
	x, ok := a.Flat.([]T)
	if !ok {
		s.fail(fmt.Errorf("state %q holds %s", a.Name, a.Shape.DType))
	}
	return slices.Clone(x)
}

// GetSlice returns what PutSlice saved.
func GetSlice[T gotype.Supported](s *State, name string) []T {
	a, ok := s.array(name)
	if !ok {
		return nil
	}
	x, ok := a.Flat.([]T)
	if !ok {
		s.fail(fmt.Errorf("state %q holds %s", a.Name, a.Shape.DType))
	}
	return slices.Clone(x)
}

// GetSliceN does what GetSlice does of exactly n numbers.
func GetSliceN[T gotype.Supported](s *State, name string, n int) []T {
	x := GetSlice[T](s, name)
	if s.Err() == nil && len(x) != n {
		s.fail(fmt.Errorf("state %q has %d elements, want %d", s.prefix+name, len(x), n))
		return make([]T, n)
	}
	return x
}

// reader returns the array's data in either form.
func (a Array) reader() io.ReaderAt {
	if a.Source != nil || a.Shape.Size() == 0 {
		return a.Source
	}
	return bytes.NewReader(dtypes.UnsafeByteSliceFromAny(a.Flat))
}
