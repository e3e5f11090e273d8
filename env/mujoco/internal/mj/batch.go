package mj

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// batch is simulations by the library's batch interface (mjb_*), which names every
// array, so that no layout of a C struct is known here. It steps on threads of its
// own, several substeps to a call, with the same bits for any number of threads.
type batch struct {
	lib    *Lib
	handle uintptr
	n      int       // simulations
	width  int       // numbers of a state
	args   []uintptr // arguments of the call being made
}

func (l *Lib) newBatch(s *Sims, file string) error {
	m, err := l.load(file)
	if err != nil {
		return err
	}
	defer call(l.fn.deleteModel, m)
	one, err := l.batchOf(m, 1, 1) // to read the model: what is asked for is given to every simulation
	if err != nil {
		return err
	}
	defer one.close()
	if err := one.check(); err != nil {
		return err
	}
	s.describe(one)
	s.engine, err = l.batchOf(m, s.N, s.Threads)
	return err
}

// config is mjBatchConfig.
type config struct {
	threads    int32
	persistent bool
}

// batchOf makes simulations that each keep an mjData: contact forces are computed
// after a step, from what the step left there.
func (l *Lib) batchOf(m uintptr, n, threads int) (*batch, error) {
	message := make([]byte, 1000)
	c := &config{int32(threads), true}
	h := call(l.fn.makeBatch, m, uintptr(n), uintptr(unsafe.Pointer(c)), uintptr(unsafe.Pointer(&message[0])), uintptr(len(message)))
	if h == 0 {
		return nil, errors.New(upToNul(message))
	}
	b := &batch{lib: l, handle: h, n: n, width: int(int32(call(l.fn.nstate, h)))}
	if got := int(int32(call(l.fn.nthread, h))); got != threads || int32(call(l.fn.persistent, h)) != 1 {
		b.close()
		return nil, fmt.Errorf("MuJoCo %s made a batch of %d threads, not of %d as asked", l.Version, got, threads)
	}
	return b, nil
}

func (b *batch) close() { call(b.lib.fn.deleteBatch, b.handle) }

// check compares what the library calls by number with what it calls by name.
func (b *batch) check() error {
	version, qpos0 := b.lib.Version, numbers[float64](b, "qpos0")
	for _, x := range []struct {
		name string
		c    Component
		want int
	}{
		{"time", Time, 1},
		{"qpos", Qpos, len(qpos0)},
		{"qvel", Qvel, len(numbers[float64](b, "dof_armature"))},
		{"ctrl", Ctrl, len(numbers[float64](b, "actuator_ctrlrange")) / 2},
	} {
		if got := len(b.component(x.c, 0)); got != x.want {
			return fmt.Errorf("MuJoCo %s has another layout of states: %d numbers of %s, not %d", version, got, x.name, x.want)
		}
	}
	if !slices.Equal(qpos0, b.component(Qpos, 0)) {
		return fmt.Errorf("MuJoCo %s has another layout of states: the first position is not the model's", version)
	}
	return nil
}

func (b *batch) component(c Component, i int) []float64 {
	size := new(int32)
	first := call(b.lib.fn.component, b.handle, uintptr(c), uintptr(unsafe.Pointer(size)))
	if first == 0 || *size == 0 {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Add(pointer(first), 8*i*b.width)), int(*size))
}

func (b *batch) state() []float64 {
	return unsafe.Slice((*float64)(pointer(call(b.lib.fn.state, b.handle))), b.n*b.width)
}

func (b *batch) output(name string) []float64 {
	at, n, size := b.field(b.lib.fn.output, name)
	if at == nil || size != 8 {
		return nil
	}
	return unsafe.Slice((*float64)(at), b.n*n)
}

// model gives every simulation a field of its own, and is the first one's: it is
// for simulations that are not stepped.
func (b *batch) model(name string) (at unsafe.Pointer, n, size int) {
	return b.field(b.lib.fn.expand, name)
}

// field returns the first simulation's memory of a field.
func (b *batch) field(fn uintptr, name string) (at unsafe.Pointer, n, size int) {
	sizes := new([2]int32)
	first := call(fn, b.handle, uintptr(cstring(name)), uintptr(unsafe.Pointer(&sizes[0])), uintptr(unsafe.Pointer(&sizes[1])))
	if first == 0 || sizes[0] == 0 {
		return nil, 0, 0
	}
	return pointer(first), int(sizes[0]), int(sizes[1])
}

func (b *batch) body(name string) int { return b.lib.bodyOf(call(b.lib.fn.model, b.handle), name) }

// The stages of a forward computation.
const (
	stageNone = 0
	stageAcc  = 3
)

func (b *batch) run(op op, ids []int32, first int) error {
	fn := &b.lib.fn
	switch op.do {
	case step:
		return b.done(b.each(fn.step, ids, uintptr(op.substeps), stageNone), first)
	case forces:
		// MuJoCo's function has the arguments of the callback that the batch expects,
		// but for two it does not look at. Outputs are not filled by that call, but by
		// the next, which computes nothing.
		if failed := b.each(fn.apply, ids, fn.rnePost, 0, 0); failed != 0 {
			return b.done(failed, first)
		}
		return b.done(b.each(fn.forward, ids, stageNone), first)
	case reset:
		return b.done(b.each(fn.reset, ids, 0, stageNone), first)
	default:
		return b.done(b.each(fn.forward, ids, stageAcc), first)
	}
}

// each calls a function of (batch, ids, number of ids, ...), which says how many
// simulations failed. The arguments' memory is kept: a call from within a training
// loop allocates nothing.
func (b *batch) each(fn uintptr, ids []int32, args ...uintptr) (failed int32) {
	b.args = append(b.args[:0], b.handle, uintptr(unsafe.Pointer(unsafe.SliceData(ids))), uintptr(len(ids)))
	b.args = append(b.args, args...)
	failed = int32(call(fn, b.args...))
	runtime.KeepAlive(ids)
	return failed
}

// done returns what the failed simulations of a call say.
func (b *batch) done(failed int32, first int) error {
	if failed == 0 {
		return nil
	}
	status := unsafe.Slice((*int32)(pointer(call(b.lib.fn.status, b.handle))), b.n)
	var errs []error
	for i, x := range status {
		if x != 0 {
			errs = append(errs, fmt.Errorf("environment %d: %s", first+i, text(call(b.lib.fn.failure, b.handle, uintptr(i)))))
		}
	}
	return errors.Join(errs...)
}
