package env

import (
	"encoding"
	"errors"
	"fmt"
	"io"

	"github.com/weft-rl/weft/rl"
)

// Host is one environment in plain Go. It writes its observations into the row
// it is given and keeps no reference to it. Random numbers come from the key,
// which differs from step to step and from environment to environment; a
// generator that lived from step to step would be state.
//
// The environments of a batch may be stepped at the same time, each by one
// goroutine: what they share they must only read.
//
// A Host that also implements encoding.BinaryMarshaler and BinaryUnmarshaler can
// be saved, and so a run of it resumed exactly; one that implements Drawer can be
// looked at, and io.Closer is called at the end.
type Host interface {
	// Reset begins an episode and writes its first observation.
	Reset(k rl.Key, obs Row)
	// Step applies an action and writes the next observation.
	Step(k rl.Key, action, obs Row) (reward float64, terminated, truncated bool)
}

// Hosts makes n environments of one spec; one makes the environment of a global
// index.
//
//weft:makes
func Hosts(s *rl.Scope, n int, spec Spec, one func(index int) (Host, error)) (Batch, error) {
	spec.Graph, spec.AutoReset = false, SameStep
	spec = spec.own(s, n)
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if spec.Agents > 1 {
		return nil, fmt.Errorf("it has %d agents, and a host environment has one: implement env.Batch", spec.Agents)
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

// hostBatch steps Hosts.
type hostBatch struct {
	spec  Spec
	scope *rl.Scope
	key   rl.Key
	envs  []Host
	age   []int32
	time  int64
	last  rl.Obs
	begun bool
	crew  crew
	film  film
}

func (h *hostBatch) Spec() Spec { return h.spec }

func (h *hostBatch) Obs() rl.Obs {
	if !h.begun {
		h.begin(h.key.Use("reset"))
	}
	return h.last
}

// begin begins an episode everywhere.
func (h *hostBatch) begin(k rl.Key) {
	h.begun = true
	t, first := newTable(h.spec), make([]bool, h.spec.Rows)
	h.each(func(i int) {
		h.envs[i].Reset(keyOf(k, h.spec.First+i), Row{t, i})
		h.film.shoot(i, rl.Tree{})
		first[i] = true
	})
	h.last = t.obs(h.scope, first)
}

// restart goes on from a state without the episodes under way: with new ones.
func (h *hostBatch) restart(s *rl.State) error {
	time := rl.GetSliceN[int64](s, "time", 1)
	if s.Err() != nil {
		return s.Err()
	}
	h.time, h.age = time[0], make([]int32, h.spec.Rows)
	h.begin(h.key.Use("restart").Fold(uint64(h.time)))
	return nil
}

// keyOf returns the key of one environment, by its global index.
func keyOf(k rl.Key, env int) rl.Key { return k.At(0).Fold(uint64(env)) }

// each calls f for every environment, and says which failed.
func (h *hostBatch) each(f func(i int)) {
	if i, err := h.crew.do(len(h.envs), f); err != nil {
		failed(h.spec.First+i, err)
	}
}

// failed stops the run with the failure of an environment, at the place it names.
func failed(env int, err error) {
	var f *rl.Failure
	if errors.As(err, &f) && f.Pos != "" {
		rl.Fail(&rl.Failure{Pos: f.Pos, Err: fmt.Errorf("environment %d: %w", env, f.Err)})
	}
	if f != nil {
		err = f.Err
	}
	rl.Failf("environment %d: %w", env, err)
}

func (h *hostBatch) Step(action rl.Tree) rl.Step {
	h.Obs()
	h.time++
	k := h.key.Fold(uint64(h.time))
	n := h.spec.Rows
	next, final := newTable(h.spec), newTable(h.spec)
	reward, first := make([]float32, n), make([]bool, n)
	term, trunc, over := make([]bool, n), make([]bool, n), make([]bool, n)
	acts := read(action)
	h.each(func(i int) {
		mine := keyOf(k, h.spec.First+i)
		r, te, tr := h.envs[i].Step(mine, Row{acts, i}, Row{final, i})
		h.film.shoot(i, rl.Tree{})
		h.age[i]++
		tr = tr || h.spec.Limit > 0 && int(h.age[i]) >= h.spec.Limit
		reward[i], term[i], trunc[i], over[i] = float32(r), te, tr, te || tr
		if over[i] {
			h.age[i] = 0
			first[i] = true
			h.envs[i].Reset(mine.Use("renew"), Row{next, i})
		} else {
			next.copy(final, i)
		}
	})
	h.last = next.obs(h.scope, first)
	return rl.Step{
		Obs: h.last, Final: final.obs(h.scope, make([]bool, n)), Reward: rl.FromFlat(h.scope, reward, n),
		Terminated: rl.FromFlat(h.scope, term, n), Truncated: rl.FromFlat(h.scope, trunc, n), Over: rl.FromFlat(h.scope, over, n),
	}
}

// SetLimit implements Limiter.
func (h *hostBatch) SetLimit(n int) { h.spec.Limit = n }

// Close closes the hosts that can be.
func (h *hostBatch) Close() error {
	var errs []error
	for i, e := range h.envs {
		if c, ok := e.(io.Closer); ok {
			if err := c.Close(); err != nil {
				errs = append(errs, fmt.Errorf("environment %d: %w", h.spec.First+i, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (h *hostBatch) Axis() rl.Axis { return rl.Envs }

func (h *hostBatch) Save(s *rl.State) {
	h.Obs()
	rl.PutSlice(s, "time", []int64{h.time})
	if s.Restarts() {
		return
	}
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
	if s.Restarts() {
		return h.restart(s)
	}
	h.Obs()
	time, age := rl.GetSliceN[int64](s, "time", 1), rl.GetRowSlice[int32](s, "age")
	if s.Err() == nil && len(age) != len(h.age) {
		return fmt.Errorf("the state is of %d environments, not %d", len(age), len(h.age))
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
