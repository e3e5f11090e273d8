package mj

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Sims are simulations of one model, stepped together. They are for one
// goroutine at a time.
type Sims struct {
	Lib     *Lib
	N       int // simulations
	First   int // number of the first simulation in messages
	Threads int // threads that step them

	Timestep  float64   // seconds of a substep
	CtrlRange []float64 // low and high of each actuator
	BodyMass  []float64

	engine  engine
	cleanup runtime.Cleanup
}

// engine is how a version simulates: by its batch interface, or one mjData at a
// time. The memory that it gives is valid until it is closed.
type engine interface {
	component(c Component, i int) []float64
	state() []float64
	output(name string) []float64
	// model is the memory of a field of mjModel: elements, and bytes of one.
	model(name string) (at unsafe.Pointer, n, size int)
	body(name string) int
	// run does something to the simulations of ids, to all of them if it is nil.
	run(op op, ids []int32, first int) error
	close()
}

// op is an operation on simulations.
type op struct {
	do       verb
	substeps int // substeps of a step
}

type verb int

const (
	step verb = iota
	forces
	reset
	forward
)

// New makes n simulations of a model file on up to threads threads.
func (l *Lib) New(file string, n, threads int) (s *Sims, err error) {
	s = &Sims{Lib: l, N: n, Threads: min(n, threads)}
	if l.layout == nil {
		err = l.newBatch(s, file)
	} else {
		err = l.newPlain(s, file)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", file, err)
	}
	s.cleanup = runtime.AddCleanup(s, engine.close, s.engine)
	return s, nil
}

// load reads a model file.
func (l *Lib) load(file string) (model uintptr, err error) {
	message := make([]byte, 1000)
	m := call(l.fn.loadXML, uintptr(cstring(file)), 0, uintptr(unsafe.Pointer(&message[0])), uintptr(len(message)))
	if m == 0 {
		return 0, fmt.Errorf("MuJoCo %s cannot read it: %s", l.Version, strings.Join(strings.Fields(upToNul(message)), " "))
	}
	return m, nil
}

// describe takes from the model what environments want to know.
func (s *Sims) describe(e engine) {
	s.Timestep = numbers[float64](e, "opt.timestep")[0]
	s.CtrlRange, s.BodyMass = slices.Clone(numbers[float64](e, "actuator_ctrlrange")), slices.Clone(numbers[float64](e, "body_mass"))
}

// numbers returns a field of mjModel whose elements are of type T, nil if it has none.
func numbers[T float64 | float32 | int32](e engine, name string) []T {
	at, n, size := e.model(name)
	if at == nil || n == 0 || uintptr(size) != unsafe.Sizeof(*new(T)) {
		return nil
	}
	return unsafe.Slice((*T)(at), n)
}

// Close ends the threads and frees the simulations; their arrays are gone.
func (s *Sims) Close() error {
	if s.engine != nil {
		s.cleanup.Stop()
		s.engine.close()
		s.engine = nil
	}
	return nil
}

// Component is a part of a state, by the bit that the batch interface has for it.
type Component int

// The parts that environments read and write.
const (
	Time Component = 1 << 0
	Qpos Component = 1 << 1
	Qvel Component = 1 << 2
	Ctrl Component = 1 << 6
)

// Component returns the memory of a part of simulation i's state: written, it is the
// state at the next call.
func (s *Sims) Component(c Component, i int) []float64 { return s.engine.component(c, i) }

// State returns the memory of all states, one after another: everything that decides
// how the simulations go on, the solver's warm start included.
func (s *Sims) State() []float64 { return s.engine.state() }

// Output returns the memory of a derived field of mjData, simulation by simulation,
// filled by every call from now on; nil if there is no such field of numbers.
func (s *Sims) Output(name string) []float64 { return s.engine.output(name) }

// Body returns the index of a body, -1 if there is none of that name.
func (s *Sims) Body(name string) int { return s.engine.body(name) }

// bodyOf returns the index of a body of a model.
func (l *Lib) bodyOf(model uintptr, name string) int {
	const objBody = 1
	return int(int32(call(l.fn.name2id, model, objBody, uintptr(cstring(name)))))
}

// Step advances all simulations by substeps.
func (s *Sims) Step(substeps int) error { return s.run(op{step, substeps}, nil) }

// Forces computes accelerations and forces on bodies (cfrc_ext) from what the
// last step left behind.
func (s *Sims) Forces() error { return s.run(op{do: forces}, nil) }

// Reset puts simulations back to the model's defaults, without deriving
// anything.
func (s *Sims) Reset(ids []int32) error { return s.run(op{do: reset}, ids) }

// Forward derives everything from the states of simulations.
func (s *Sims) Forward(ids []int32) error { return s.run(op{do: forward}, ids) }

func (s *Sims) run(op op, ids []int32) error {
	err := s.engine.run(op, ids, s.First)
	runtime.KeepAlive(s)
	return err
}

// upToNul returns the text in a buffer that C has written.
func upToNul(b []byte) string {
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
