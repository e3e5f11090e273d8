package gym

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-rl/weft/rl"
)

// patience is how often a worker may fail without doing a step in between.
const patience = 3

// recover stops the run over workers that failed, or restarts them.
func (b *batch) recover(failed map[int]error) {
	for _, i := range slices.Sorted(maps.Keys(failed)) {
		w, err := b.workers[i], failed[i]
		if b.options.OnFailure != "restart" {
			b.fail(err)
		}
		if w.failures++; w.failures >= patience {
			b.fail(fmt.Errorf("%w\n(%s failed %d times without a step in between)", err, w.span(), patience))
		}
		if again := b.restart(w); again != nil {
			b.fail(fmt.Errorf("%w\nand restarting it failed: %w", err, again))
		}
		b.tally()
		b.scope.Note(fmt.Sprintf("step %d: %s was restarted with new episodes: %v", b.scope.Steps()+int64(b.spec.Envs), w.span(), err))
	}
}

// tally counts restarts.
func (b *batch) tally() {
	all := int64(0)
	for _, n := range b.restarts {
		all += n
	}
	if all > 0 {
		b.scope.Count("env/restarts", all)
	}
}

// restart runs a worker anew. To its environments this is a step that cuts their
// episodes off: their last known observation is the final one.
func (b *batch) restart(w *worker) error {
	failures := w.failures
	w.stop(0)
	for i := w.first; i < w.first+w.rows; i++ {
		b.lives[i]++
		b.restarts[i]++
	}
	one := []*worker{w}
	d, err := b.hire(one, false)
	if err == nil && !reflect.DeepEqual(d[0].Kinds, b.kinds) {
		err = errors.New("its spaces changed when it was restarted")
	}
	if err == nil {
		err = b.attach(one)
	}
	if err == nil {
		err = b.film.turn(w)
	}
	w.failures = failures
	if err != nil {
		return err
	}
	for i := w.first; i < w.first+w.rows; i++ {
		b.cutOff(i)
	}
	return nil
}

// cutOff ends environment i's episode where it last was seen.
func (b *batch) cutOff(i int) {
	for k, v := range b.views.kinds {
		for j, t := range parts(b.last[k]) {
			copy(v.last[j].at(i), bytesOf(t)[i*v.last[j].row:])
		}
		clear(v.reward.at(i))
		clear(v.terminated.at(i))
		set(v.truncated.at(i))
	}
	set(b.views.over.at(i))
}

// set makes flags true.
func set(flags []byte) {
	for i := range flags {
		flags[i] = 1
	}
}

// inspect finds numbers that the guard would stop the run for, and restarts their
// environments instead.
func (b *batch) inspect(out []rl.Step) []rl.Step {
	failed := map[int]error{}
	for k, spec := range b.specs {
		look := func(what string, space rl.Space, x rl.Tensor) {
			if row, at, v, bad := outside(space, x); bad {
				w := b.worker(row)
				failed[w.index] = &failure{b.spec.First + row, fmt.Sprintf("environment %d: %s is %v (element %d)", b.spec.First+row, strings.TrimSpace(what), v, at)}
			}
		}
		for j, l := range spec.Obs.Leaves() {
			look("observation "+l.Name, l.Space, out[k].Obs.X.At(j))
			look("final observation "+l.Name, l.Space, out[k].Final.X.At(j))
		}
		look("reward", rl.Box{}, out[k].Reward)
		if spec.State > 0 {
			look("state", rl.Box{Dims: []int{spec.State}}, out[k].Obs.State)
			look("final state", rl.Box{Dims: []int{spec.State}}, out[k].Final.State)
		}
	}
	if len(failed) == 0 {
		return out
	}
	b.recover(failed)
	return b.result()
}

// outside finds what is no finite number, or none of the space's: the environment,
// and the place in it.
func outside(space rl.Space, x rl.Tensor) (row, at int, v float64, bad bool) {
	size := max(1, x.Shape().Size()/x.Rows())
	if x.Shape().DType.IsFloat() {
		if i, v, bad := rl.NotFinite(x); bad {
			return i / size, i % size, v, true
		}
	}
	one := max(1, space.Shape().Size()) // of an agent
	row, at, v, bad = rl.Outside(space, x)
	return row * one / size, (row*one + at) % size, v, bad
}

// worker returns the worker that has a row.
func (b *batch) worker(row int) *worker {
	for _, w := range b.workers {
		if row < w.first+w.rows {
			return w
		}
	}
	return nil
}
