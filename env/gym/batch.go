package gym

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"time"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// batch is environments in workers.
type batch struct {
	spec    env.Spec // what all kinds of agents share
	specs   []env.Spec
	kinds   []kind
	scope   *rl.Scope
	options Options
	request request
	python  string
	key     rl.Key

	spawner *spawner
	file    *os.File // of the shared memory
	memory  []byte
	layout  *layout
	workers []*worker
	views   views

	lives    []int64 // by environment: how often it was begun anew
	restarts int64
	last     []rl.Obs
	over     []bool
}

// open makes the environments, or this replica's shard of them.
func open(s *rl.Scope, n int, o Options, r request) (*batch, error) {
	python, err := interpreter(o.Python)
	if err != nil {
		return nil, err
	}
	lo, hi := s.Own(n, 1)
	b := &batch{
		spec:  env.Spec{ID: r.name, Block: 1, Envs: n, First: lo, Rows: hi - lo},
		scope: s, options: o, request: r, python: python, key: s.Key("env").Use("gym"),
		lives: make([]int64, hi-lo), over: make([]bool, hi-lo),
	}
	if err := b.start(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// start runs the workers and learns from them what their environments are.
func (b *batch) start() (err error) {
	if b.spec.Rows == 0 {
		return fmt.Errorf("%d environments are too few to give every replica some", b.spec.Envs)
	}
	if b.file, err = memory(); err != nil {
		return err
	}
	b.spawner = newSpawner()
	n := b.options.Workers
	if n == 0 {
		n = runtime.NumCPU()
	}
	n = min(n, b.spec.Rows)
	for i := range n {
		lo, hi := i*b.spec.Rows/n, (i+1)*b.spec.Rows/n
		b.workers = append(b.workers, &worker{index: i, first: lo, rows: hi - lo, global: b.spec.First + lo, timeout: b.options.Timeout})
	}
	descriptions, err := b.hire(b.workers)
	if err != nil {
		return err
	}
	for i, d := range descriptions {
		if !reflect.DeepEqual(d.Kinds, descriptions[0].Kinds) {
			return fmt.Errorf("environment %d has other spaces than environment %d", b.workers[i].global, b.spec.First)
		}
	}
	if err := b.describe(descriptions[0]); err != nil {
		return err
	}
	b.layout = layoutOf(b.specs)
	if b.memory, err = share(b.file, b.layout.size); err != nil {
		return err
	}
	b.views = viewsOf(b.specs, b.layout, b.memory)
	if err := b.attach(b.workers); err != nil {
		return err
	}
	for i := range b.over {
		b.over[i] = true
	}
	b.last = b.observation()
	return nil
}

// describe makes specs of what workers say.
func (b *batch) describe(d description) error {
	b.kinds = d.Kinds
	b.spec.Limit, b.spec.Turns, b.spec.State = d.Limit, d.Turns, d.State
	b.spec.Exact, b.spec.Why = d.Exact, d.Why
	if !b.options.Exact {
		b.spec.Why = "its option exact is false"
	}
	for i, k := range d.Kinds {
		spec, err := b.specOf(k)
		if err != nil {
			return err
		}
		spec.Mortal = len(d.Mortal) > i && d.Mortal[i]
		b.specs = append(b.specs, spec)
		if err := spec.Check(); err != nil {
			return err
		}
	}
	return nil
}

// specOf is the spec of a kind of agents.
func (b *batch) specOf(k kind) (spec env.Spec, err error) {
	spec = b.spec
	spec.Kind, spec.Masked = k.Name, k.Masked
	if n := len(k.Agents); n > 1 {
		spec.Agents = n
	}
	if spec.Obs, err = spaceOf(k.Obs, b.options.Bounds == "open"); err != nil {
		return spec, err
	}
	spec.Action, err = spaceOf(k.Action, false)
	return spec, err
}

// makeMessage is what a worker is asked first.
type makeMessage struct {
	Do       string      `json:"do"`
	Needs    [][2]string `json:"needs"` // packages and the modules they have
	Adapter  string      `json:"adapter"`
	ID       string      `json:"id"`
	Args     any         `json:"args"`
	Wrappers []wrapper   `json:"wrappers"`
	Atari    *atariArgs  `json:"atari,omitempty"`
	Zoo      *zooArgs    `json:"zoo,omitempty"`
	Seeds    []int       `json:"seeds"`
	Lead     bool        `json:"lead"`  // find out what holds for all workers
	Probe    bool        `json:"probe"` // find out whether state can be saved
}

// hire starts workers, all before it waits for the first: imports take seconds.
func (b *batch) hire(workers []*worker) ([]description, error) {
	ask := makeMessage{
		Do: "make", Needs: [][2]string{{"gymnasium", "gymnasium"}}, Adapter: "weft_gym:Gym",
		ID: b.request.id, Args: b.options.args, Wrappers: []wrapper{}, Atari: b.request.atari, Zoo: b.request.zoo,
	}
	if ask.Zoo != nil {
		ask.Needs, ask.Adapter = append(ask.Needs, [2]string{"pettingzoo", "pettingzoo"}), "weft_zoo:Zoo"
	}
	if b.options.args == nil {
		ask.Args = struct{}{}
	}
	for _, text := range b.options.Wrappers {
		w, err := parseWrapper(text)
		if err != nil {
			return nil, err
		}
		ask.Wrappers = append(ask.Wrappers, w)
	}
	for _, w := range workers {
		if err := w.start(b.spawner, b.python, b.file, b.options.Show); err != nil {
			return nil, err
		}
		ask.Seeds = b.seeds(w)
		ask.Lead = w.index == 0 && b.layout == nil
		ask.Probe = b.options.Exact && ask.Lead
		if err := w.send(ask); err != nil {
			return nil, err
		}
	}
	out := make([]description, len(workers))
	for i, w := range workers {
		if err := w.receive(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// seeds of a worker's environments: of the run's, their global index, and how
// often they were begun.
func (b *batch) seeds(w *worker) []int {
	out := make([]int, w.rows)
	for i := range out {
		out[i] = b.key.IntN(w.global+i, int(b.lives[w.first+i]), 1<<31-1)
	}
	return out
}

// attach shows workers the shared memory; they write their first observations.
func (b *batch) attach(workers []*worker) error {
	return b.each(workers, func(w *worker) error {
		return w.send(struct {
			Do     string  `json:"do"`
			Size   int     `json:"size"`
			Arrays []array `json:"arrays"`
			Of     int     `json:"of"`
			First  int     `json:"first"`
			Rows   int     `json:"rows"`
		}{"attach", b.layout.size, b.layout.arrays, b.spec.Rows, w.first, w.rows})
	})
}

// each sends something to workers, then waits for all of them.
func (b *batch) each(workers []*worker, send func(*worker) error) error {
	for _, w := range workers {
		if err := send(w); err != nil {
			return err
		}
	}
	for _, w := range workers {
		if err := w.receive(&struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// Spec of each kind of agents.
func (b *batch) Spec() []env.Spec { return b.specs }

// Axis of its state: environments.
func (b *batch) Axis() rl.Axis { return rl.Envs }

// Obs is the last observation.
func (b *batch) Obs() []rl.Obs { return b.last }

// Step moves every environment.
func (b *batch) Step(action []rl.Tree) []rl.Step {
	if b.memory == nil {
		b.fail(errors.New("it was closed"))
	}
	b.views.write(action)
	b.recover(b.run())
	out := b.result()
	if b.options.OnFailure == "restart" {
		out = b.inspect(out)
	}
	b.last = make([]rl.Obs, len(out))
	for k := range out {
		b.last[k] = out[k].Obs
	}
	return out
}

// alone is a batch with one kind of agent.
type alone struct{ *batch }

func openAlone(s *rl.Scope, n int, o Options, r request) (env.Batch, error) {
	b, err := open(s, n, o, r)
	if err != nil {
		return nil, err
	}
	return alone{b}, nil
}

func (b alone) Spec() env.Spec              { return b.specs[0] }
func (b alone) Obs() rl.Obs                 { return b.last[0] }
func (b alone) Step(action rl.Tree) rl.Step { return b.batch.Step([]rl.Tree{action})[0] }

// run has all workers do a step, and returns those that failed and why.
func (b *batch) run() (failed map[int]error) {
	note := func(w *worker, err error) {
		if err != nil {
			if failed == nil {
				failed = map[int]error{}
			}
			failed[w.index] = err
		}
	}
	for _, w := range b.workers {
		note(w, w.begin())
	}
	deadline := time.Now().Add(b.options.Timeout)
	for _, w := range b.workers {
		if failed[w.index] == nil {
			note(w, w.finish(deadline))
		}
	}
	return failed
}

// fail stops the run.
func (b *batch) fail(err error) {
	rl.Failf("step %d: environment %s: %w", b.scope.Steps()+int64(b.spec.Envs), b.spec.ID, err)
}

// Close ends the workers and frees the memory. It may be called more than once.
func (b *batch) Close() error {
	var errs []error
	for _, w := range b.workers {
		w.hangUp()
	}
	for _, w := range b.workers {
		w.stop(goodbye)
	}
	if b.spawner != nil {
		b.spawner.close()
		b.spawner = nil
	}
	if b.memory != nil {
		errs = append(errs, unshare(b.memory))
		b.memory = nil
	}
	if b.file != nil {
		errs = append(errs, b.file.Close())
		b.file = nil
	}
	return errors.Join(errs...)
}

// goodbye is how long environments may take to close.
const goodbye = 2 * time.Second
