package env

import (
	"encoding"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/weft-rl/weft/rl"
)

// Host is one environment in plain Go. It writes its observations into the row
// it is given and keeps no reference to it. Random numbers come from the key,
// which differs from step to step and from environment to environment; a
// generator that lived from step to step would be state.
//
// A Host that also implements encoding.BinaryMarshaler and BinaryUnmarshaler can
// be saved, and so a run of it resumed exactly.
type Host interface {
	// Reset begins an episode and writes its first observation.
	Reset(k rl.Key, obs Row)
	// Step moves by action and writes what is seen then.
	Step(k rl.Key, action, obs Row) (reward float64, terminated, truncated bool)
}

// Row is one environment's part of a tree: its numbers in row-major order, to
// be read (actions) or written (observations).
type Row struct {
	names []string
	flat  []any
	mask  map[string][]bool
}

// Float32 is the numbers of a float32 leaf; "" names the only one.
func (r Row) Float32(name string) []float32 { return leafOf[float32](r, name) }

// Int32 is the numbers of an int32 leaf: discrete actions and observations.
func (r Row) Int32(name string) []int32 { return leafOf[int32](r, name) }

// Uint8 is the numbers of a uint8 leaf: images.
func (r Row) Uint8(name string) []uint8 { return leafOf[uint8](r, name) }

// Legal is the mask of legal actions for a leaf of the action, to be written
// with every observation of a masked environment.
func (r Row) Legal(name string) []bool {
	m, ok := r.mask[name]
	if !ok {
		rl.Failf("the environment's spec has no mask for action %q: set Masked", name)
	}
	return m
}

func leafOf[T float32 | int32 | uint8](r Row, name string) []T {
	for i, n := range r.names {
		if n == name {
			x, ok := r.flat[i].([]T)
			if !ok {
				rl.Failf("leaf %q holds %T", name, r.flat[i])
			}
			return x
		}
	}
	rl.Failf("no leaf %q among %q", name, r.names)
	return nil
}

// Hosts makes n environments of one spec; one makes the environment of a global
// index.
func Hosts(s *rl.Scope, n int, spec Spec, one func(index int) (Host, error)) (Batch, error) {
	spec.Graph, spec.AutoReset = false, SameStep
	spec = spec.own(s, n)
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if spec.Agents > 1 {
		return nil, fmt.Errorf("it has %d agents, a host environment has one: implement Batch", spec.Agents)
	}
	h := &hostBatch{spec: spec, scope: s, key: s.Key("env").At(spec.First), age: make([]int32, spec.Rows)}
	h.spec.Exact = true
	for i := range spec.Rows {
		e, err := one(spec.First + i)
		if err != nil {
			return nil, fmt.Errorf("environment %d: %w", spec.First+i, err)
		}
		h.envs = append(h.envs, e)
		_, out := e.(encoding.BinaryMarshaler)
		_, in := e.(encoding.BinaryUnmarshaler)
		h.spec.Exact = h.spec.Exact && out && in
	}
	return h, nil
}

// hostBatch steps Hosts one after another.
type hostBatch struct {
	spec  Spec
	scope *rl.Scope
	key   rl.Key
	envs  []Host
	age   []int32
	time  int64
	last  rl.Obs
	begun bool
}

func (h *hostBatch) Spec() Spec { return h.spec }

func (h *hostBatch) Obs() rl.Obs {
	if !h.begun {
		h.begun = true
		b := newBoard(h.spec)
		for i, e := range h.envs {
			e.Reset(keyOf(h.key.Use("reset"), h.spec.First+i), b.row(i))
			b.first[i] = true
		}
		h.last = b.obs(h.scope)
	}
	return h.last
}

// keyOf is the key of one environment, by its global index.
func keyOf(k rl.Key, env int) rl.Key { return k.At(0).Fold(uint64(env)) }

func (h *hostBatch) Step(action rl.Tree) rl.Step {
	h.Obs()
	h.time++
	k := h.key.Fold(uint64(h.time))
	n := h.spec.Rows
	next, final := newBoard(h.spec), newBoard(h.spec)
	reward, term := make([]float32, n), make([]bool, n)
	trunc, over := make([]bool, n), make([]bool, n)
	acts := read(action)
	for i, e := range h.envs {
		mine := keyOf(k, h.spec.First+i)
		r, te, tr := e.Step(mine, acts.row(i), final.row(i))
		h.age[i]++
		tr = tr || h.spec.Limit > 0 && int(h.age[i]) >= h.spec.Limit
		reward[i], term[i], trunc[i], over[i] = float32(r), te, tr, te || tr
		if over[i] {
			h.age[i] = 0
			next.first[i] = true
			e.Reset(mine.Use("renew"), next.row(i))
		} else {
			next.copy(final, i)
		}
	}
	h.last = next.obs(h.scope)
	return rl.Step{
		Obs: h.last, Final: final.obs(h.scope), Reward: rl.FromFlat(h.scope, reward, n),
		Terminated: rl.FromFlat(h.scope, term, n), Truncated: rl.FromFlat(h.scope, trunc, n), Over: rl.FromFlat(h.scope, over, n),
	}
}

// board is where hosts write the observations of one step.
type board struct {
	spec   Spec
	leaves []rl.SpaceLeaf
	flat   []any
	masks  []rl.SpaceLeaf
	legal  [][]bool
	first  []bool
}

func newBoard(spec Spec) *board {
	b := &board{spec: spec, leaves: spec.Obs.Leaves(), first: make([]bool, spec.Rows)}
	for _, l := range b.leaves {
		b.flat = append(b.flat, dtypes.MakeAnySlice(l.Space.Shape().DType, spec.Rows*size(l.Space)))
	}
	if spec.Masked {
		for _, l := range spec.Action.Leaves() {
			if n := rl.Choices(l.Space); n > 0 {
				b.masks, b.legal = append(b.masks, l), append(b.legal, make([]bool, spec.Rows*n))
			}
		}
	}
	return b
}

func size(s rl.Space) int { return max(1, s.Shape().Size()) }

// row is environment i's part of the board.
func (b *board) row(i int) Row {
	r := Row{mask: map[string][]bool{}}
	for j, l := range b.leaves {
		r.names = append(r.names, l.Name)
		r.flat = append(r.flat, part(b.flat[j], i, size(l.Space)))
	}
	for j, l := range b.masks {
		n := rl.Choices(l.Space)
		r.mask[l.Name] = b.legal[j][i*n : (i+1)*n]
	}
	return r
}

// part is elements [i*n, (i+1)*n) of a slice.
func part(flat any, i, n int) any {
	switch x := flat.(type) {
	case []float32:
		return x[i*n : (i+1)*n]
	case []int32:
		return x[i*n : (i+1)*n]
	case []uint8:
		return x[i*n : (i+1)*n]
	}
	rl.Failf("observations of %T are not supported: use float32, int32 or uint8", flat)
	return nil
}

// copy takes environment i's observation over from another board.
func (b *board) copy(from *board, i int) {
	for j, l := range b.leaves {
		n := size(l.Space)
		dtypes.CopyAnySlice(part(b.flat[j], i, n), part(from.flat[j], i, n))
	}
	for j, l := range b.masks {
		n := rl.Choices(l.Space)
		copy(b.legal[j][i*n:(i+1)*n], from.legal[j][i*n:])
	}
}

// obs makes tensors of the board.
func (b *board) obs(s *rl.Scope) rl.Obs {
	names, leaves := make([]string, len(b.leaves)), make([]rl.Tensor, len(b.leaves))
	for j, l := range b.leaves {
		names[j] = l.Name
		shape := l.Space.Shape()
		leaves[j] = s.Device().Tensor(b.flat[j], shapes.Make(shape.DType, append([]int{b.spec.Rows}, shape.Dimensions...)...))
	}
	o := rl.Obs{X: rl.NewTree(names, leaves), First: rl.FromFlat(s, b.first, b.spec.Rows)}
	if len(b.masks) > 0 {
		names, legal := make([]string, len(b.masks)), make([]rl.Tensor, len(b.masks))
		for j, l := range b.masks {
			names[j] = l.Name
			legal[j] = rl.FromFlat(s, b.legal[j], b.spec.Rows, rl.Choices(l.Space))
		}
		o.Legal = rl.NewTree(names, legal)
	}
	return o
}

// actions are a tree of actions on the host, read from the device once for all
// environments.
type actions struct {
	names []string
	flat  []any
	size  []int
}

func read(t rl.Tree) actions {
	a := actions{names: t.Names()}
	for j := range t.Len() {
		x := t.At(j)
		a.size = append(a.size, x.Shape().Size()/x.Rows())
		switch x.Shape().DType {
		case dtypes.Float32:
			a.flat = append(a.flat, rl.Read[float32](x))
		case dtypes.Uint8:
			a.flat = append(a.flat, rl.Read[uint8](x))
		default:
			a.flat = append(a.flat, rl.Read[int32](x))
		}
	}
	return a
}

// row is environment i's part.
func (a actions) row(i int) Row {
	r := Row{names: a.names, flat: make([]any, len(a.flat))}
	for j, x := range a.flat {
		r.flat[j] = part(x, i, a.size[j])
	}
	return r
}

func (h *hostBatch) Axis() rl.Axis { return rl.Envs }

func (h *hostBatch) Save(s *rl.State) {
	h.Obs()
	rl.PutSlice(s, "time", []int64{h.time})
	rl.PutRowSlice(s, "age", h.age)
	for i, t := range rl.Leaves(h.last) {
		s.PutRows(fmt.Sprint("obs", i), t)
	}
	for i, e := range h.envs {
		m, ok := e.(encoding.BinaryMarshaler)
		if !ok {
			rl.Fail(ErrNoSnapshot)
		}
		data, err := m.MarshalBinary()
		if err != nil {
			rl.Failf("environment %d: %w", h.spec.First+i, err)
		}
		rl.PutSlice(s, fmt.Sprint("host", h.spec.First+i), data)
	}
}

func (h *hostBatch) Load(s *rl.State) error {
	h.Obs()
	time, age := rl.GetSliceN[int64](s, "time", 1), rl.GetRowSlice[int32](s, "age")
	if s.Err() == nil && len(age) != len(h.age) {
		return fmt.Errorf("%d environments were saved, there are %d", len(age), len(h.age))
	}
	leaves := rl.Leaves(h.last)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i] = s.GetRows(fmt.Sprint("obs", i), t)
		}
	}
	for i, e := range h.envs {
		data := rl.GetSlice[byte](s, fmt.Sprint("host", h.spec.First+i))
		if s.Err() != nil {
			return s.Err()
		}
		m, ok := e.(encoding.BinaryUnmarshaler)
		if !ok {
			return ErrNoSnapshot
		}
		if err := m.UnmarshalBinary(data); err != nil {
			return fmt.Errorf("environment %d: %w", h.spec.First+i, err)
		}
	}
	if s.Err() != nil {
		return s.Err()
	}
	h.time, h.age, h.last = time[0], age, rl.Rebuild(h.last, leaves)
	return nil
}
