package rl

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weft-rl/weft/internal/rendezvous"
)

// run.Next() is the only consistent point: no local variable survives it, counters are frozen
// between two of them. So a run is resumed by loading its state and entering the loop at its top.
// Whoever runs the loop sees every consistent point as a Cut, and does there what has to be done
// between iterations: metrics, evaluation, checkpoints, stopping.
//
// A training function may leave its loop by break or return. Whoever called it then calls
// System.Leave, which ends the iteration as Next would have (counters, logs, episodes, a last cut)
// and marks the run's state as ended: to resume such a run changes nothing, whatever the budget. A
// phase whose loop was left is ended in the same way. The state that is reported is that of the
// last cut, so nothing behind the loop changes it.
//
// Operations return no errors. A failing one panics with a *rl.Failure that carries the file and
// line of the author's call; rl.Train turns it into an error. GoMLX's own panics at graph building
// take the same way. No panic reaches a user.

// ErrStop ends a run without an error, if a cut returns it.
var ErrStop = errors.New("stop")

// Run is a training run as its loop sees it: the budget of steps, the counters,
// the log. Steps are those of environments; an iteration that makes none, because it learns from
// data, counts as one. Next is the only consistent point: a run's state is its components'
// state and Run's counters, and no local variable survives it. Counters are
// frozen between two calls of Next.
//
//weft:run
type Run struct {
	scope  *Scope
	budget int64
	cut    func(Cut) error
	peers  rendezvous.Peers[Tensor, Episode] // nil: the run has one replica

	key      Key
	prefix   string // prefix of log names
	parent   *Run   // run of which this is a member's or agent's view
	outer    *Run   // run around a phase
	phases   map[string]*Run
	inPhase  bool // the budget is in iterations
	started  bool
	stopped  bool // stopped for good, by a cut of its own or of a phase
	ended    bool // the algorithm left the loop: it is not entered again
	entered  bool // the loop is entered again in the middle of an iteration
	loaded   bool // counters are a checkpoint's: the next Next is the one it was taken in
	iter     int64
	steps    int64
	previous int64 // steps at the Next before

	lower  *Lowering // set while the loop is being made a device program
	fusing *fusion   // nil: statement by statement

	mu   sync.Mutex
	logs []record
	// ready is the log of an iteration that a device program made.
	ready []Logged
	err   error
}

// Cut is a consistent point: what the iteration that just ended did. The
// function that NewRun is given sees every one, and may save the run there.
type Cut struct {
	Run      *Run
	Iter     int64 // iterations done
	Steps    int64 // steps done
	Logs     []Logged
	Episodes []Episode // ended in this iteration
	Last     bool      // there is no further iteration: the budget is spent, or the algorithm left its loop
	// Passed is true of a point that a device program went past: its state is not
	// to be had any more.
	Passed bool
}

// Logged is the mean of what was logged under a name in an iteration.
type Logged struct {
	Name string
	X    float64
}

// NewRun returns a run of at least steps environment steps, in whole iterations. cut
// is called at every consistent point, before the first iteration as well; an
// error from it ends the run, ErrStop without failure. It may be nil.
func NewRun(s *Scope, steps int64, cut func(Cut) error) *Run {
	if cut == nil {
		cut = func(Cut) error { return nil }
	}
	return &Run{scope: s, budget: steps, cut: cut, key: s.Key("run"), phases: map[string]*Run{}}
}

// Train runs a trainer's loop to its end. Failures of operations come back as
// errors.
//
//weft:refuse let the runner call Train
func Train(t Trainer, r *Run) error {
	err := Catch(func() error {
		if err := t.Train(r); err != nil {
			return err
		}
		r.leave()
		return nil
	})
	if err != nil {
		return err
	}
	return r.Err() // of a loop that forgot to return it
}

// Next ends an iteration and begins another, if there is to be one.
//
//weft:next
func (r *Run) Next() bool {
	if r.parent != nil {
		failf("Next belongs to the run itself, not to the part of a member")
	}
	if r.whole().stopped || r.ended {
		return false
	}
	if r.entered {
		r.entered = false
		return true
	}
	r.leaveOthers()
	return r.meet()
}

// meet ends an iteration together with the other replicas, and reports whether
// there is another.
func (r *Run) meet() bool {
	r.scope.settle()
	more := r.next()
	if o := r.scope.observer; o != nil && more {
		o.Next(r.iter)
	}
	if t := r.scope.timer; t != nil && more {
		t.Next(r.iter)
	}
	return more
}

// next does what Next does for the replica's own part: it decides, or hears what was decided.
func (r *Run) next() bool {
	if r.peers == nil {
		return r.decide(r.report())
	}
	v, err := r.peers.Meet(r.report(), r.lead)
	if err != nil {
		Fail(err)
	}
	if !v.Decided {
		r.follow(v)
	}
	return v.More
}

// decide does what the owner of Next does with what was done: it counts, hands the
// cut to whoever runs the loop, and says whether there is another iteration.
func (r *Run) decide(done report) bool {
	if r.started && !r.inPhase && done.Steps == r.steps && !done.Async { // no environment was stepped
		done.Steps++
		r.scope.steps = done.Steps
	}
	r.count(done.Steps)
	last := r.ended || r.done() >= r.budget
	if err := r.cut(r.take(done, last)); err != nil {
		r.whole().stop(err)
		return false
	}
	r.started, r.loaded = !last, false
	return !last
}

// count moves the counters to the next iteration.
func (r *Run) count(steps int64) {
	switch {
	case r.started:
		r.iter++
		r.previous, r.steps = r.steps, steps
	case !r.loaded:
		r.steps = steps
		r.previous = r.steps
	}
}

// whole returns the run that r is a phase or a view of: what stops one stops all.
func (r *Run) whole() *Run {
	r = r.root()
	for r.outer != nil {
		r = r.outer
	}
	return r
}

func (r *Run) stop(err error) {
	r.stopped = true
	if !errors.Is(err, ErrStop) {
		r.err = err
	}
}

// done returns what the budget counts.
func (r *Run) done() int64 {
	if r.inPhase {
		return r.iter
	}
	return r.steps
}

func (r *Run) take(done report, last bool) Cut {
	c := Cut{Run: r, Iter: r.iter, Steps: r.steps, Last: last && !r.inPhase || r.whole().ended}
	if r.started {
		c.Logs, c.Episodes = means(done.Logs), done.Episodes
		if r.ready != nil {
			c.Logs, r.ready = r.ready, nil
		}
	}
	return c
}

// Err returns why the run ended early, or nil.
//
//weft:pure
func (r *Run) Err() error { return r.whole().err }

// Stopped reports whether the run ended early, by a cut's decision, wherever that was
// made.
func (system) Stopped(r *Run) bool { return r.whole().stopped }

// Iter returns the number of iterations done.
//
//weft:pure counter
func (r *Run) Iter() int64 { return r.root().counting().iter }

// Steps returns the number of environment steps done, over all environments.
//
//weft:pure counter
func (r *Run) Steps() int64 { return r.root().counting().steps }

// Budget returns the number of steps asked for.
//
//weft:pure
func (r *Run) Budget() int64 { return r.root().budget }

// Progress returns the part of the budget that is done, from 0 to 1.
//
//weft:pure counter
func (r *Run) Progress() float64 {
	r = r.root().counting()
	return min(1, float64(r.done())/float64(max(1, r.budget)))
}

// Every reports whether a multiple of n steps was crossed by the iteration
// before.
//
//weft:pure counter
func (r *Run) Every(n int64) bool {
	r = r.root().counting()
	return n > 0 && r.steps/n != r.previous/n
}

// Key names a random draw of this iteration. at tells apart the draws of one
// use: positions in the iteration's loops.
//
//weft:pure device=edge.KeyAt index=1+
func (r *Run) Key(use string, at ...int) Key {
	k := r.key.Use(use)
	if l := r.root().lower; l != nil {
		k = k.foldNode(l.iter, &keyFold{node: l.iter})
		k.in.path.l = l
	} else {
		k = k.iteration(uint64(r.Iter()))
	}
	k.own = r.scope.sharded()
	for _, i := range at {
		k = k.Fold(uint64(i))
	}
	return k
}

// Log records a tensor under a name. The metric is the mean over all elements of all tensors that
// an iteration logs under the name.
//
//weft:op log rows
func (r *Run) Log(name string, x Tensor) {
	if l := r.root().lower; l != nil {
		l.log(r.prefix+name, x)
		return
	}
	if x.val == nil {
		failf("log %q: the tensor is %s", name, x.describe())
	}
	o := r.scope.Observed()
	root := r.root()
	root.mu.Lock()
	root.logs = append(root.logs, record{Name: r.prefix + name, X: []Tensor{x}})
	root.mu.Unlock()
	if o != nil {
		o.End(Operation{Kind: "rl.Run.Log", Name: r.prefix + name, In: []Leaf{{name, x}}})
	}
}

// means reduces the log of an iteration, names in order of first use.
func means(logs []record) []Logged {
	var out []Logged
	count := map[string]int{}
	index := map[string]int{}
	for _, l := range logs {
		i, ok := index[l.Name]
		if !ok {
			i = len(out)
			index[l.Name] = i
			out = append(out, Logged{Name: l.Name})
		}
		sum, n := summed(l)
		out[i].X += sum
		count[l.Name] += n
	}
	for i := range out {
		out[i].X /= float64(count[out[i].Name])
	}
	return out
}

// Value returns a scalar tensor as a Go number that control may depend on. It makes
// fragments wait for each other.
//
//weft:op value shape=one device=edge.Number
func (r *Run) Value(x Tensor) float64 {
	x.whole("read by run.Value")
	o := r.scope.Observed()
	v := Floats(x)
	if len(v) != 1 {
		failf("only a scalar has a value, not %s", x.Shape())
	}
	if o != nil {
		o.End(Operation{Kind: "rl.Run.Value", Name: r.prefix, In: []Leaf{{"value", x}}})
	}
	return v[0]
}

// Phase returns a part of the run with counters of its own and a budget of n
// iterations: updates on a data set, say. It resumes where it was.
//
//weft:moves
func (r *Run) Phase(name string, n int64) *Run {
	if r.parent != nil || strings.Contains(name, "/") {
		failf("phase %q: phases belong to the run itself, and their names have no /", name)
	}
	p, ok := r.phases[name]
	if !ok {
		p = NewRun(r.scope, n, r.cut)
		p.peers = r.peers
		r.phases[name] = p
	}
	p.key, p.prefix, p.inPhase, p.budget = r.key.Use("phase").Use(name), r.prefix+name+"/", true, n
	p.outer = r
	return p
}

// At returns the run as a member or an agent sees it: with keys and log names of its
// own, and the same counters.
//
//weft:moves
func (r *Run) At(scope string, i int) *Run {
	return &Run{
		scope: r.scope, parent: r.root(), prefix: fmt.Sprintf("%s%s%d/", r.prefix, scope, i),
		key: r.key.Use(scope).Fold(uint64(i)),
	}
}

func (r *Run) root() *Run {
	if r.parent != nil {
		return r.parent
	}
	return r
}

// Scope returns where the run's components were made.
//
//weft:refuse make components in the constructor, in the scope that it is given
func (r *Run) Scope() *Scope { return r.scope }

// Save puts the counters and every component of the run's scope. It may be
// called at a cut only.
//
//weft:refuse leave saving to the runner, which does it between iterations
func (r *Run) Save(s *State) {
	r.saveCounters(s)
	r.scope.saveSome(s, func(string) bool { return true })
}

// saveCounters puts the counters alone, the run's and its scope's.
func (r *Run) saveCounters(s *State) {
	r.counters(s.At("run"))
	r.scope.saveCounters(s)
}

func (r *Run) counters(s *State) {
	PutSlice(s, "counters", []int64{r.iter, r.steps, r.previous})
	if r.ended {
		PutSlice(s, "ended", []bool{true})
	}
	for name, p := range r.phases {
		p.counters(s.At("phase").At(name))
	}
}

// Load gives the run the state that Save put, so that its loop goes on from
// there when entered at its top.
//
//weft:refuse leave loading to the runner, which does it between iterations
func (r *Run) Load(s *State) error { return r.loadSome(s, func(string) bool { return true }) }

// loadSome does what Load does for a replica that has use of the components for whose names
// want is true.
func (r *Run) loadSome(s *State, want func(name string) bool) error {
	if err := r.scope.loadSome(s, want); err != nil {
		return err
	}
	return r.loadCounters(s.At("run"))
}

func (r *Run) loadCounters(s *State) error {
	c := GetSliceN[int64](s, "counters", 3)
	if s.Err() != nil {
		return s.Err()
	}
	r.iter, r.steps, r.previous = c[0], c[1], c[2]
	r.started, r.loaded, r.stopped, r.err = false, true, false, nil
	r.ended, r.entered = s.Has("ended"), false
	for _, name := range s.At("phase").children() {
		if err := r.Phase(name, 0).loadCounters(s.At("phase").At(name)); err != nil {
			return err
		}
	}
	return nil
}
