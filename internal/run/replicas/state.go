package replicas

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/rl"
)

// Save puts the state of the whole run, which is that of the plain loop: every
// component from where it is at home, rows put together. It may be called at a
// cut, or when Train has returned.
func (w *World) Save(st *rl.State) {
	if w.Restarting {
		rl.System.Restarting(st)
	}
	if w.top == nil {
		w.owner.run.Save(st)
		return
	}
	all := w.final
	if all == nil {
		all = rl.System.Viewing(rl.NewState(w.owner.scope))
		w.gather(all)
	}
	st.AddAll(all.Arrays())
}

// gather puts the state of all replicas, as they are now.
func (w *World) gather(st *rl.State) {
	if !w.live { // nobody has taken a step yet
		w.merge(st, w.states())
		return
	}
	w.saves++
	w.ask()
	w.collect(st, func(t told) bool { return t.Save == w.saves })
}

// ask tells all others to give their state.
func (w *World) ask() {
	o := w.owner
	if w.Plan.Async {
		o.command.Save = w.saves
		o.post()
		for _, r := range w.stepping() {
			o.x.Put(o.down(), r.number, command{Save: w.saves})
		}
		return
	}
	for _, r := range w.others() {
		o.x.Put(o.down(), r.number, command{Save: w.saves})
	}
}

// collect waits for the states of all others and merges them.
func (w *World) collect(st *rl.State, wanted func(told) bool) {
	o := w.owner
	parts := make([][]rl.Array, len(w.replicas))
	parts[o.number] = o.state()
	if w.Plan.Async {
		w.drain(parts, wanted)
	} else {
		for _, r := range w.others() {
			parts[r.number] = w.hear(r.number, o.x.Take(o.up(), r.number)).State
		}
	}
	w.merge(st, parts)
}

// drain waits for the states that are wanted in an asynchronous run. What is in
// flight meanwhile is dropped, or its senders would wait for an owner that waits
// for them. Of who is gone it is the last that was known.
func (w *World) drain(parts [][]rl.Array, wanted func(told) bool) {
	o := w.owner
	for w.awaits(parts) {
		from, v, ok, dropped := o.x.Drop(o.up())
		w.drops += dropped
		if !ok {
			continue
		}
		switch t := w.hear(from, v); {
		case wanted(t):
			parts[from] = t.State
		case t.State == nil:
			o.pending = append(o.pending, t)
		}
	}
	for _, r := range w.others() {
		if parts[r.number] == nil {
			parts[r.number] = w.known[r.number]
		}
	}
}

// awaits reports whether a state has still to come.
func (w *World) awaits(parts [][]rl.Array) bool {
	return slices.ContainsFunc(w.others(), func(r *replica) bool {
		return parts[r.number] == nil && (w.known[r.number] == nil || !w.owner.x.Gone(r.number))
	})
}

// states returns the states of replicas that are not running.
func (w *World) states() [][]rl.Array {
	parts := make([][]rl.Array, len(w.replicas))
	for i, r := range w.replicas {
		if r.scope == nil {
			rl.Failf("%s is another process's: its state is known while it runs", r)
		}
		parts[i] = r.state()
	}
	return parts
}

// state returns what a replica contributes: what is at home with it, the first of a
// group for all where all have the same.
func (r *replica) state() []rl.Array {
	st := rl.NewState(r.scope)
	if r.world.Restarting {
		rl.System.Restarting(st)
	}
	if !r.world.Plan.Async { // where the last known state of a replica may be asked for later
		rl.System.Viewing(st)
	}
	rl.System.SaveSome(r.scope, st, r.gives)
	return st.Arrays()
}

// gives reports whether a replica's state of a component is part of the run's.
func (r *replica) gives(name string) bool {
	switch member, ok := r.world.members[name]; {
	case r.private(name):
		return false
	case ok:
		own := r.world.top.Groups[r.group].Own[r.rank]
		return r.home(name) && member >= own.Lo && member < own.Hi
	case r.world.Plan.Groups[r.group].Over == fdg.Environments && rl.System.Component(r.scope, name).Axis() != rl.None:
		return r.home(name)
	}
	return r.home(name) && r.rank == 0
}

// private reports whether a component is whole in every replica and yet another's
// nowhere: a table of an asynchronous worker, which holds what that worker saw. It
// is not kept.
func (r *replica) private(name string) bool {
	c := rl.System.Component(r.scope, name)
	_, copied := c.(edge.Copied)
	return r.world.Plan.Async && !copied && c.Axis() == rl.None &&
		r.world.Plan.Groups[r.world.homes[name]].Over == fdg.Environments
}

// merge puts the replicas' states together. Counters and finished episodes are
// the owner's.
func (w *World) merge(st *rl.State, parts [][]rl.Array) {
	rl.System.SaveCounters(w.owner.run, st)
	counted := rl.NewState(w.owner.scope)
	rl.System.SaveSome(w.owner.scope, counted, w.owner.follows)
	for _, a := range counted.Arrays() {
		if !a.Rows {
			st.Add(a)
		}
	}
	var names []string
	byName := map[string][]rl.Array{}
	for _, part := range parts {
		for _, a := range part {
			if name, _, _ := strings.Cut(a.Name, "/"); !a.Rows && w.owner.follows(name) {
				continue
			}
			if byName[a.Name] == nil {
				names = append(names, a.Name)
			}
			byName[a.Name] = append(byName[a.Name], a)
		}
	}
	for _, name := range names {
		if list := byName[name]; list[0].Rows {
			st.Add(join(list))
		} else {
			st.Add(list[0])
		}
	}
}

// follows reports whether a component follows episodes, which the owner counts for all
// replicas.
func (r *replica) follows(name string) bool {
	_, ok := rl.System.Component(r.scope, name).(*rl.Episodes)
	return ok
}

// join returns all rows, one replica's after another's.
func join(parts []rl.Array) rl.Array {
	if len(parts) == 1 {
		return parts[0]
	}
	out := rl.Array{Name: parts[0].Name, Rows: true}
	dims := slices.Clone(parts[0].Shape.Dimensions)
	var data []byte
	dims[0] = 0
	for _, p := range parts {
		dims[0] += p.Shape.Dimensions[0]
		data = append(data, dtypes.UnsafeByteSliceFromAny(p.Flat)...)
	}
	out.Shape = shapes.Make(parts[0].Shape.DType, dims...)
	out.Flat = dtypes.MakeAnySlice(out.Shape.DType, out.Shape.Size())
	copy(dtypes.UnsafeByteSliceFromAny(out.Flat), data)
	return out
}

// Load gives every replica its part of a whole run's state, whatever policy and
// number of workers it was saved by. fill makes a State for a scope.
func (w *World) Load(fill func(*rl.Scope) (*rl.State, error)) error {
	for _, r := range w.here() {
		st, err := fill(r.scope)
		if err != nil {
			return err
		}
		want := func(name string) bool {
			if w.top != nil && r.private(name) {
				return false
			}
			return w.top == nil || r.follows(name) || r.home(name) || rl.System.Component(r.scope, name).Axis() == rl.None
		}
		if err := rl.System.LoadSome(r.run, st, want); err != nil {
			return err
		}
	}
	w.from = w.here()[0].run.Steps()
	return nil
}

// Rejoin gives replicas that take the place of lost ones the weights of a whole run's
// state. Their environments begin new episodes.
func (w *World) Rejoin(fill func(*rl.Scope) (*rl.State, error), steps int64) error {
	w.from = steps
	return w.LoadWeights(fill)
}

// Refresh brings the owner's copies of parameters and statistics that are at home
// elsewhere up to date: what is evaluated is the whole agent.
func (w *World) Refresh() error {
	away := func(name string) bool {
		switch c := rl.System.Component(w.owner.scope, name).(type) {
		case *rl.Params, *rl.Stats:
			return !w.owner.gives(name)
		case rl.Weighted: // what wrappers know
			return !w.owner.gives(name) && w.keeps(c)
		}
		return false
	}
	if w.top == nil || !slices.ContainsFunc(rl.System.Components(w.owner.scope), away) {
		return nil
	}
	st := rl.System.Viewing(rl.NewState(w.owner.scope))
	if err := rl.Catch(func() error { w.Save(st); return nil }); err != nil {
		return err
	}
	if w.final == nil {
		defer rl.System.Release(st.Arrays())
	}
	return rl.System.LoadWeights(w.owner.scope, st)
}

// keeps reports whether there is anything in a component that an agent needs.
func (w *World) keeps(c rl.Weighted) bool {
	st := rl.NewState(w.owner.scope)
	c.SaveWeights(st)
	return len(st.Arrays()) > 0
}

// LoadWeights gives every replica the parameters and statistics of a state.
func (w *World) LoadWeights(fill func(*rl.Scope) (*rl.State, error)) error {
	for _, r := range w.here() {
		st, err := fill(r.scope)
		if err == nil {
			err = rl.System.LoadWeights(r.scope, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// String names a replica in messages.
func (r *replica) String() string {
	if r.world.top == nil {
		return "the loop"
	}
	return fmt.Sprintf("%s %d", r.world.Plan.Groups[r.group].Name, r.rank)
}
