package gym

import (
	"errors"
	"fmt"
	"maps"
	"slices"

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
		b.restarts += int64(w.rows)
		b.scope.Count("env/restarts", b.restarts)
		b.scope.Note(fmt.Sprintf("step %d: %s was restarted with new episodes: %v", b.scope.Steps()+int64(b.spec.Envs), w.span(), err))
	}
}

// restart runs a worker anew. To its environments this is a step that cuts their
// episodes off: their last known observation is the final one.
func (b *batch) restart(w *worker) error {
	failures := w.failures
	w.stop(0)
	for i := w.first; i < w.first+w.rows; i++ {
		b.lives[i]++
	}
	one := []*worker{w}
	d, err := b.hire(one)
	if err == nil && d[0].Kinds[0].Masked != b.spec.Masked {
		err = errors.New("it has other spaces now")
	}
	if err == nil {
		err = b.attach(one)
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
	v := &b.views
	for j := range v.final {
		copy(v.final[j].at(i), bytesOf(b.last.X.At(j))[i*v.final[j].row:])
	}
	for j := range v.finalMask {
		copy(v.finalMask[j].at(i), bytesOf(b.last.Legal.At(j))[i*v.finalMask[j].row:])
	}
	clear(v.reward.at(i))
	clear(v.terminated.at(i))
	for k := range v.truncated.at(i) {
		v.truncated.at(i)[k] = 1
	}
}

// inspect finds numbers that the guard would stop the run for, and restarts their
// environments instead.
func (b *batch) inspect(out rl.Step) rl.Step {
	failed := map[int]error{}
	look := func(what string, space rl.Space, x rl.Tensor) {
		if row, at, v, bad := outside(space, x); bad {
			w := b.worker(row)
			failed[w.index] = &failure{b.spec.First + row, fmt.Sprintf("environment %d: %s is %v (element %d)", b.spec.First+row, what, v, at)}
		}
	}
	for j, l := range b.spec.Obs.Leaves() {
		look("observation "+l.Name, l.Space, out.Obs.X.At(j))
		look("final observation "+l.Name, l.Space, out.Final.X.At(j))
	}
	look("reward", rl.Box{}, out.Reward)
	if len(failed) == 0 {
		return out
	}
	b.recover(failed)
	return b.result()
}

// outside finds what is no finite number, or none of the space's.
func outside(space rl.Space, x rl.Tensor) (row, at int, v float64, bad bool) {
	size := max(1, x.Shape().Size()/x.Rows())
	if x.Shape().DType.IsFloat() {
		if i, v, bad := rl.NotFinite(x); bad {
			return i / size, i % size, v, true
		}
	}
	return rl.Outside(space, x)
}

// worker is the one that has a row.
func (b *batch) worker(row int) *worker {
	for _, w := range b.workers {
		if row < w.first+w.rows {
			return w
		}
	}
	return nil
}
