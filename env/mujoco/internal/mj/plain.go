package mj

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// plain is simulations of a library without a batch interface, for which it does
// what that would: every simulation keeps an mjData, a fixed number of goroutines
// step them, and states and outputs are copied in and out, so that they lie one
// after another. Which goroutine steps which simulation changes no bit.
type plain struct {
	lib    *Lib
	m      object
	rows   []row
	states []float64
	width  int         // numbers of a state
	outs   [][]float64 // outputs, in the order of rows' fields

	op    op // operation under way, and its simulations
	ids   []int32
	count int
	next  atomic.Int64
	wake  chan struct{}
	done  chan struct{}
	hands int
	crew  sync.WaitGroup
}

// row is one simulation: its parts and fields are memory of its mjData.
type row struct {
	args   []uintptr // model and data, as functions take them
	data   object
	state  [][]float64
	fields [][]float64
}

func (l *Lib) newPlain(s *Sims, file string) error {
	p := &plain{lib: l, hands: s.Threads, wake: make(chan struct{}, s.Threads), done: make(chan struct{}, s.Threads)}
	if err := l.guarded(func() error { return p.make(file, s.N) }); err != nil {
		return err
	}
	for range p.hands {
		p.crew.Go(p.work)
	}
	s.engine = p
	s.describe(p)
	return nil
}

// make loads a model and makes simulations of it.
func (p *plain) make(file string, n int) (err error) {
	l := p.lib
	m, err := l.load(file)
	if err != nil {
		return err
	}
	p.m = object{"mjModel", m, l.layout}
	defer func() {
		if err != nil {
			p.free()
		}
	}()
	for range n {
		d := call(l.fn.makeData, m)
		if d == 0 {
			return errors.New("not enough memory for the simulations")
		}
		p.rows = append(p.rows, row{args: []uintptr{m, d}, data: object{"mjData", d, l.layout}})
	}
	if err := p.m.checkState(); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("%s says that it is MuJoCo %s, but is built differently: %w: %s", l.Path, l.Version, err, Install)
	}
	p.bind()
	return nil
}

// check reports whether the layout is the library's: by where arrays are, and by what
// a step does to the first simulation.
func (p *plain) check() error {
	first := p.rows[0]
	if err := p.m.check(modelArrays, p.m); err != nil {
		return err
	}
	if err := first.data.check(dataArrays, p.m); err != nil {
		return err
	}
	if !slices.Equal(p.floats(first, "qpos"), numbers[float64](p, "qpos0")) {
		return errors.New("the first position is not the model's")
	}
	call(p.lib.fn.step, first.args...)
	if got, want := *first.data.number("time"), *p.m.number("opt.timestep"); got != want {
		return fmt.Errorf("a step of %v takes %v", want, got)
	}
	call(p.lib.fn.resetData, first.args...)
	return nil
}

func (p *plain) floats(r row, name string) []float64 { return r.data.floats(name, dataArrays, p.m) }

// bind finds the states' memory, and copies the first ones.
func (p *plain) bind() {
	for i := range p.rows {
		r := &p.rows[i]
		r.state = append(r.state, unsafe.Slice(r.data.number("time"), 1))
		for _, name := range stateArrays {
			r.state = append(r.state, p.floats(*r, name))
		}
	}
	for _, part := range p.rows[0].state {
		p.width += len(part)
	}
	p.states = make([]float64, len(p.rows)*p.width)
	for i := range p.rows {
		p.save(i)
	}
}

// load copies a state into its simulation.
func (p *plain) load(i int) {
	state := p.states[i*p.width:]
	for _, part := range p.rows[i].state {
		state = state[copy(part, state):]
	}
}

// save copies a simulation's state and outputs out of it.
func (p *plain) save(i int) {
	r := &p.rows[i]
	state := p.states[i*p.width:]
	for _, part := range r.state {
		state = state[copy(state, part):]
	}
	for k, x := range r.fields {
		copy(p.outs[k][i*len(x):], x)
	}
}

// component returns a part of a state, which begins with the time.
func (p *plain) component(c Component, i int) []float64 {
	at := i * p.width
	want := slices.Index([]Component{Time, Qpos, Qvel, 0, 0, Ctrl}, c) // in the order of stateArrays
	for k, part := range p.rows[i].state {
		if k == want {
			return p.states[at : at+len(part) : at+len(part)]
		}
		at += len(part)
	}
	return nil
}

func (p *plain) state() []float64 { return p.states }

func (p *plain) output(name string) []float64 {
	n := len(p.floats(p.rows[0], name))
	if n == 0 {
		return nil
	}
	p.outs = append(p.outs, make([]float64, n*len(p.rows)))
	for i := range p.rows {
		p.rows[i].fields = append(p.rows[i].fields, p.floats(p.rows[i], name))
	}
	return p.outs[len(p.outs)-1]
}

func (p *plain) model(name string) (at unsafe.Pointer, n, size int) {
	if name == "opt.timestep" {
		return unsafe.Pointer(p.m.number(name)), 1, 8
	}
	a, ok := modelArrays[name]
	if !ok {
		return nil, 0, 0
	}
	return pointer(p.m.array(name)), p.m.count(a.per) * a.each, a.size
}

func (p *plain) body(name string) int { return p.lib.bodyOf(p.m.at, name) }

func (p *plain) run(op op, ids []int32, first int) error {
	if err := p.lib.failure(); err != nil {
		return err
	}
	p.op, p.ids, p.count = op, ids, len(ids)
	if ids == nil {
		p.count = len(p.rows)
	}
	p.next.Store(0)
	hands := min(p.count, p.hands)
	for range hands {
		p.wake <- struct{}{}
	}
	for range hands {
		select {
		case <-p.done:
		case <-p.lib.failed:
			return fmt.Errorf("environments %d to %d: %w", first, first+len(p.rows)-1, p.lib.failure())
		}
	}
	return nil
}

// work runs as a goroutine of the crew: woken up, it takes simulations until there are
// none left.
func (p *plain) work() {
	for range p.wake {
		for k := p.next.Add(1); int(k) <= p.count; k = p.next.Add(1) {
			i := int(k - 1)
			if p.ids != nil {
				i = int(p.ids[i])
			}
			p.one(i)
		}
		p.done <- struct{}{}
	}
}

func (p *plain) one(i int) {
	fn, args := &p.lib.fn, p.rows[i].args
	p.load(i)
	switch p.op.do {
	case step:
		for range p.op.substeps {
			call(fn.step, args...)
		}
	case forces:
		call(fn.rnePost, args...)
	case reset:
		call(fn.resetData, args...)
	case forward:
		call(fn.forwardData, args...)
	}
	p.save(i)
}

// close ends the goroutines. What the library gave up in the midst of is left to
// it: a thread still stands there.
func (p *plain) close() {
	close(p.wake)
	if p.lib.failure() == nil {
		p.crew.Wait()
		p.free()
	}
}

func (p *plain) free() {
	for _, r := range p.rows {
		call(p.lib.fn.deleteData, r.data.at)
	}
	call(p.lib.fn.deleteModel, p.m.at)
}
