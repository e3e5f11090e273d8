package gym

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// catalogue remembers the descriptions of an entry's environments, by request.
// To find out takes a Python process and seconds; all replicas of a run and its
// evaluations have their environments from one entry, and find out once.
type catalogue struct {
	mu    sync.Mutex
	known map[string]description
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
		lives: make([]int64, hi-lo), restarts: make([]int64, hi-lo), over: make([]bool, hi-lo),
	}
	if err := b.learn(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// learn finds out what the environments are. If nobody knows, the first worker is
// started to tell, and then waits for its work.
func (b *batch) learn() error {
	if b.spec.Rows == 0 {
		return fmt.Errorf("%d environments are too few to give every replica some", b.spec.Envs)
	}
	n := b.options.Workers
	if n == 0 {
		n = max(1, runtime.NumCPU()/b.scope.Parts())
	}
	n = min(n, b.spec.Rows)
	for i := range n {
		lo, hi := i*b.spec.Rows/n, (i+1)*b.spec.Rows/n
		b.workers = append(b.workers, &worker{index: i, first: lo, rows: hi - lo, global: b.spec.First + lo, timeout: b.options.Timeout})
	}
	ask, err := b.ask()
	if err != nil {
		return err
	}
	text, err := json.Marshal([]any{b.python, ask, b.options.Exact})
	if err != nil {
		return err
	}
	c := b.request.seen
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.known[string(text)]
	if !ok {
		all, err := b.hire(b.workers[:1], true)
		if err != nil {
			return err
		}
		d = all[0]
		if c.known == nil {
			c.known = map[string]description{}
		}
		c.known[string(text)] = d
	}
	if b.options.Workers == 0 && d.Cost > 0 && d.Cost*float64(b.spec.Rows) < together.Seconds() {
		b.gather()
	}
	return b.describe(d)
}

// together is how long a step of all environments may take to be one process's. To
// wake a second core costs about 45 us, three times as much as the rest of the bridge.
const together = 100 * time.Microsecond

// gather leaves all environments to one process.
func (b *batch) gather() {
	b.workers[0].stop(goodbye)
	b.workers = []*worker{{rows: b.spec.Rows, global: b.spec.First, timeout: b.options.Timeout}}
}

// describe makes specs of what a worker says.
func (b *batch) describe(d description) error {
	b.kinds, b.rate = d.Kinds, d.Rate
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
	return b.check()
}

// check checks that the rows of all environments can lie in shared memory. Sizes are
// multiplied as floating-point numbers, which do not overflow.
func (b *batch) check() error {
	if len(b.specs) == 0 {
		return errors.New("it has no agents")
	}
	row := 2 * 4 * float64(b.spec.State)
	for _, s := range b.specs {
		agents := float64(max(1, s.Agents))
		for _, x := range slices.Concat(s.Obs.Leaves(), s.Obs.Leaves(), s.Action.Leaves()) { // of both times
			size := agents * float64(x.Space.Shape().DType.Size())
			for _, n := range x.Space.Shape().Dimensions {
				size *= float64(n)
			}
			row += size
		}
		for _, x := range masks(s) {
			row += 2 * agents * float64(rl.Choices(x.Space))
		}
	}
	if total := row * float64(b.spec.Rows); total > maxShared {
		return fmt.Errorf("observations of %d environments take %.3g bytes, and shared memory is limited to %d: use fewer environments or smaller observations", b.spec.Rows, total, int64(maxShared))
	}
	return nil
}

// specOf returns the spec of a kind of agents.
func (b *batch) specOf(k kind) (spec env.Spec, err error) {
	spec = b.spec
	spec.Kind, spec.Masked = k.Name, k.Masked
	if n := len(k.Agents); n > 1 {
		spec.Agents = n
	}
	if spec.Obs, err = spaceOf(k.Obs, b.options.Bounds == "open"); err != nil {
		return spec, err
	}
	if a := b.request.atari; a != nil && a.Stack > 1 {
		if box, ok := spec.Obs.(rl.Box); ok {
			box.Frames = a.Stack
			spec.Obs = box
		}
	}
	spec.Action, err = spaceOf(k.Action, false)
	return spec, err
}

// begin starts the workers, once: their environments show what they see first.
func (b *batch) begin() {
	if b.closed {
		b.fail(errors.New("it was closed"))
	}
	if b.begun {
		return
	}
	if err := b.start(); err != nil {
		b.fail(err)
	}
	for i := range b.over {
		b.over[i] = true
	}
	b.last, b.begun = b.observation(), true
	b.shoot()
}

// start runs the workers that are not running yet, and shares memory with all.
func (b *batch) start() (err error) {
	var idle []*worker
	for _, w := range b.workers {
		if w.cmd == nil {
			idle = append(idle, w)
		}
	}
	descriptions, err := b.hire(idle, false)
	if err != nil {
		return err
	}
	for i, d := range descriptions {
		if !reflect.DeepEqual(d.Kinds, b.kinds) {
			return fmt.Errorf("the spaces of environment %d differ from those of the first of its kind", idle[i].global)
		}
	}
	b.layout = layoutOf(b.specs)
	if b.memory, err = share(b.file, b.layout.size); err != nil {
		return err
	}
	b.views = viewsOf(b.specs, b.layout, b.memory)
	if err := b.attach(b.workers); err != nil {
		return err
	}
	return b.film.turn(b.film.worker)
}

// makeMessage is the first message to a worker.
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

// ask returns the message without what differs from worker to worker.
func (b *batch) ask() (makeMessage, error) {
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
			return ask, err
		}
		ask.Wrappers = append(ask.Wrappers, w)
	}
	return ask, nil
}

// hire starts workers, all before it waits for the first: imports take seconds.
func (b *batch) hire(workers []*worker, lead bool) ([]description, error) {
	ask, err := b.ask()
	if err != nil {
		return nil, err
	}
	if b.spawner == nil {
		if b.file, err = memory(); err != nil {
			return nil, err
		}
		b.spawner = newSpawner()
	}
	ask.Lead, ask.Probe = lead, lead && b.options.Exact
	for _, w := range workers {
		if err := w.start(b.spawner, b.python, b.file, b.options.Show); err != nil {
			return nil, err
		}
		ask.Seeds = b.seeds(w)
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
			Limit  int     `json:"limit"`
		}{"attach", b.layout.size, b.layout.arrays, b.spec.Rows, w.first, w.rows, b.limit})
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
