package gym

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Save puts the state of every environment, as Python pickles it, or, of a state
// without the episodes under way, how often they were begun.
func (b *batch) Save(s *rl.State) {
	b.begin()
	rl.PutRowSlice(s, "lives", b.lives)
	rl.PutRowSlice(s, "restarts", b.restarts)
	if s.Restarts() {
		return
	}
	if !b.spec.Exact {
		rl.Fail(fmt.Errorf("environment %s: %w: %s", b.spec.ID, env.ErrNoSnapshot, b.spec.Why))
	}
	for i, t := range rl.Leaves(b.last) {
		s.PutRows(fmt.Sprint("obs", i), t)
	}
	for i, data := range b.save() {
		rl.PutSlice(s, fmt.Sprint("env", b.spec.First+i), data)
	}
}

// save returns every environment's state.
func (b *batch) save() (out [][]byte) {
	check := func(err error) {
		if err != nil {
			rl.Fail(fmt.Errorf("environment %s: saving its state: %w", b.spec.ID, err))
		}
	}
	for _, w := range b.workers {
		check(w.send(map[string]string{"do": "save"}))
	}
	for _, w := range b.workers {
		parts, err := w.saved(b.layout.row())
		check(err)
		out = append(out, parts...)
	}
	return out
}

// saved returns the states of a worker's environments, each of which shows so many bytes.
func (w *worker) saved(shown int) (out [][]byte, err error) {
	var reply struct {
		Sizes []int `json:"sizes"`
	}
	if err := w.receive(&reply); err != nil {
		return nil, err
	}
	if len(reply.Sizes) != w.rows {
		return nil, w.senseless(fmt.Sprintf("%d states of %d environments", len(reply.Sizes), w.rows))
	}
	sum, most := 0, stateRoom+stateRows*shown
	for i, n := range reply.Sizes {
		if sum += n; n < 0 || n > most || int64(sum) > math.MaxUint32 {
			return nil, w.senseless(fmt.Sprintf("a state of environment %d of %d bytes, where one that shows %d may have %d, "+
				"and all of a worker 4 GiB: exact=false does without states", w.global+i, n, shown, most))
		}
	}
	data, err := w.bytes(sum)
	if err != nil {
		return nil, err
	}
	for _, n := range reply.Sizes {
		out, data = append(out, data[:n:n]), data[n:]
	}
	return out, nil
}

// Load takes the state back; without the episodes under way, new ones begin.
func (b *batch) Load(s *rl.State) error {
	b.begin()
	lives, restarts := rl.GetRowSliceN[int64](s, "lives", b.spec.Rows), rl.GetRowSliceN[int64](s, "restarts", b.spec.Rows)
	if s.Err() != nil {
		return s.Err()
	}
	b.lives, b.restarts = lives, restarts
	b.tally()
	if s.Restarts() {
		return b.renew()
	}
	if !b.spec.Exact {
		return env.ErrNoSnapshot
	}
	leaves := rl.Leaves(b.last)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i] = s.GetRows(fmt.Sprint("obs", i), t)
		}
	}
	parts := make([][]byte, b.spec.Rows)
	for i := range parts {
		parts[i] = rl.GetSlice[byte](s, fmt.Sprint("env", b.spec.First+i))
	}
	if s.Err() != nil {
		return s.Err()
	}
	b.last = rl.Rebuild(b.last, leaves)
	return b.load(parts)
}

// load gives workers their environments' states.
func (b *batch) load(parts [][]byte) error {
	return b.each(b.workers, func(w *worker) error {
		mine := parts[w.first : w.first+w.rows]
		sizes := make([]int, len(mine))
		for i, p := range mine {
			sizes[i] = len(p)
		}
		if err := w.send(map[string]any{"do": "load", "sizes": sizes}); err != nil {
			return err
		}
		return w.frame('b', slices.Concat(mine...))
	})
}

// renew begins new episodes everywhere, with other seeds than any before.
func (b *batch) renew() error {
	for i := range b.lives {
		b.lives[i]++
		b.over[i] = true
	}
	err := b.each(b.workers, func(w *worker) error {
		return w.send(map[string]any{"do": "reset", "seeds": b.seeds(w)})
	})
	b.last = b.observation()
	return err
}
