package mj

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// Sims are simulations of one model, stepped together. They are for one
// goroutine at a time.
type Sims struct {
	N       int // simulations
	First   int // what messages call the first one
	Threads int // that step them, the caller's included

	Timestep  float64   // seconds of a substep
	CtrlRange []float64 // low and high of each actuator
	BodyMass  []float64

	width   int // numbers of a state
	lib     *Lib
	handle  uintptr
	args    []uintptr // of the call being made
	cleanup runtime.Cleanup
}

// New makes n simulations of a model file on up to threads threads.
func (l *Lib) New(file string, n, threads int) (*Sims, error) {
	message := make([]byte, 1000)
	m := call(l.fn.loadXML, uintptr(cstring(file)), 0, uintptr(unsafe.Pointer(&message[0])), uintptr(len(message)))
	if m == 0 {
		return nil, fmt.Errorf("model %s: %s", file, upToNul(message))
	}
	defer call(l.fn.deleteModel, m)
	one, err := l.batch(m, 1, 1) // to read the model: what is asked for is given to every simulation
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", file, err)
	}
	defer one.Close()
	s, err := l.batch(m, n, min(n, threads))
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", file, err)
	}
	s.Timestep = one.model("opt.timestep")[0]
	s.CtrlRange, s.BodyMass = slices.Clone(one.model("actuator_ctrlrange")), slices.Clone(one.model("body_mass"))
	if err := one.check(l.Version); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// config is mjBatchConfig.
type config struct {
	threads    int32
	persistent bool
}

// batch makes simulations that each keep an mjData: contact forces are computed
// after a step, from what the step left there.
func (l *Lib) batch(m uintptr, n, threads int) (*Sims, error) {
	message := make([]byte, 1000)
	c := &config{int32(threads), true}
	h := call(l.fn.makeBatch, m, uintptr(n), uintptr(unsafe.Pointer(c)), uintptr(unsafe.Pointer(&message[0])), uintptr(len(message)))
	if h == 0 {
		return nil, errors.New(upToNul(message))
	}
	s := &Sims{N: n, Threads: threads, width: int(int32(call(l.fn.nstate, h))), lib: l, handle: h}
	s.cleanup = runtime.AddCleanup(s, func(h uintptr) { call(l.fn.deleteBatch, h) }, h)
	if got := int(int32(call(l.fn.nthread, h))); got != threads || int32(call(l.fn.persistent, h)) != 1 {
		s.Close()
		return nil, fmt.Errorf("MuJoCo %s made a batch of %d threads, not of %d as asked", l.Version, got, threads)
	}
	return s, nil
}

// Close ends the threads and frees the simulations; their arrays are gone.
func (s *Sims) Close() error {
	if s.handle != 0 {
		s.cleanup.Stop()
		call(s.lib.fn.deleteBatch, s.handle)
		s.handle = 0
	}
	return nil
}

// check compares what the library calls by number with what it calls by name.
func (s *Sims) check(version string) error {
	qpos0 := s.model("qpos0")
	for _, x := range []struct {
		name string
		c    Component
		want int
	}{
		{"time", Time, 1},
		{"qpos", Qpos, len(qpos0)},
		{"qvel", Qvel, len(s.model("dof_armature"))},
		{"ctrl", Ctrl, len(s.model("actuator_ctrlrange")) / 2},
	} {
		if got := len(s.Component(x.c, 0)); got != x.want {
			return fmt.Errorf("MuJoCo %s has another layout of states: %d numbers of %s, not %d", version, got, x.name, x.want)
		}
	}
	if !slices.Equal(qpos0, s.Component(Qpos, 0)) {
		return fmt.Errorf("MuJoCo %s has another layout of states: the first position is not the model's", version)
	}
	return nil
}

// Component is a part of a state, by the library's bit for it.
type Component int

// The parts that environments read and write.
const (
	Time Component = 1 << 0
	Qpos Component = 1 << 1
	Qvel Component = 1 << 2
	Ctrl Component = 1 << 6
)

// Component is the memory of a part of simulation i's state: written, it is the
// state at the next call.
func (s *Sims) Component(c Component, i int) []float64 {
	size := new(int32)
	first := call(s.lib.fn.component, s.handle, uintptr(c), uintptr(unsafe.Pointer(size)))
	if first == 0 || *size == 0 {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Add(pointer(first), 8*i*s.width)), int(*size))
}

// State is the memory of all states, one after another: everything that decides
// how the simulations go on, the solver's warm start included.
func (s *Sims) State() []float64 {
	return unsafe.Slice((*float64)(pointer(call(s.lib.fn.state, s.handle))), s.N*s.width)
}

// Output is the memory of a derived field of mjData, simulation by simulation,
// filled by every call from now on; nil if there is no such field of numbers.
func (s *Sims) Output(name string) []float64 { return field[float64](s, s.lib.fn.output, name) }

// model is a field of mjModel, simulation by simulation.
func (s *Sims) model(name string) []float64 { return field[float64](s, s.lib.fn.expand, name) }

// field is the memory of a field whose elements are of type T.
func field[T float64 | float32 | int32](s *Sims, fn uintptr, name string) []T {
	sizes := new([2]int32)
	at := call(fn, s.handle, uintptr(cstring(name)), uintptr(unsafe.Pointer(&sizes[0])), uintptr(unsafe.Pointer(&sizes[1])))
	if at == 0 || sizes[0] == 0 || uintptr(sizes[1]) != unsafe.Sizeof(*new(T)) {
		return nil
	}
	return unsafe.Slice((*T)(pointer(at)), s.N*int(sizes[0]))
}

// Body is the index of a body, -1 if there is none of that name.
func (s *Sims) Body(name string) int {
	const objBody = 1
	return int(int32(call(s.lib.fn.name2id, call(s.lib.fn.model, s.handle), objBody, uintptr(cstring(name)))))
}

// The stages of a forward computation.
const (
	stageNone = 0
	stageAcc  = 3
)

// Step advances all simulations by substeps.
func (s *Sims) Step(substeps int) error {
	return s.run(s.lib.fn.step, nil, uintptr(substeps), stageNone)
}

// Forces computes accelerations and forces on bodies (cfrc_ext) from what the
// last step left behind. MuJoCo's function has the arguments of the callback
// that the batch expects, but for two it does not look at. Outputs are not
// filled by that call, but by the next, which computes nothing.
func (s *Sims) Forces() error {
	if err := s.run(s.lib.fn.apply, nil, s.lib.fn.rnePost, 0, 0); err != nil {
		return err
	}
	return s.run(s.lib.fn.forward, nil, stageNone)
}

// Reset puts simulations back to the model's defaults, without deriving
// anything.
func (s *Sims) Reset(ids []int32) error { return s.run(s.lib.fn.reset, ids, 0, stageNone) }

// Forward derives everything from the states of simulations.
func (s *Sims) Forward(ids []int32) error { return s.run(s.lib.fn.forward, ids, stageAcc) }

// run calls a function of (batch, ids, number of ids, ...) on the simulations of
// ids, all of them if it is nil. The arguments' memory is kept: a call from
// within a training loop allocates nothing.
func (s *Sims) run(fn uintptr, ids []int32, args ...uintptr) error {
	s.args = append(s.args[:0], s.handle, uintptr(unsafe.Pointer(unsafe.SliceData(ids))), uintptr(len(ids)))
	s.args = append(s.args, args...)
	failed := call(fn, s.args...)
	runtime.KeepAlive(ids)
	runtime.KeepAlive(s)
	return s.done(failed)
}

// done is what the failed simulations of a call say.
func (s *Sims) done(failed uintptr) error {
	if int32(failed) == 0 {
		return nil
	}
	status := unsafe.Slice((*int32)(pointer(call(s.lib.fn.status, s.handle))), s.N)
	var errs []error
	for i, x := range status {
		if x != 0 {
			errs = append(errs, fmt.Errorf("environment %d: %s", s.First+i, text(call(s.lib.fn.failure, s.handle, uintptr(i)))))
		}
	}
	return errors.Join(errs...)
}

// upToNul is the text in a buffer that C has written.
func upToNul(b []byte) string {
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
