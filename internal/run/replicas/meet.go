package replicas

import (
	"slices"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/rendezvous"
	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/rl"
)

// reports is how many messages of an edge may wait in an asynchronous run, where
// it is tokens that set the pace, and how many of a replica's reports.
const reports = 64

// report tells the owner of Next what a replica did in an iteration.
type report = rendezvous.Report[rl.Tensor, rl.Episode]

// told is a message to the owner: what a replica did, or its state.
type told struct {
	Report report
	Seen   Figures
	State  []rl.Array
	Save   int  // number of the save that the state is for
	Final  bool // the program has ended
	// Notes and Counts are those of another process's replica.
	Notes  []string
	Counts []rl.Logged
	Paced  []rl.Logged  // samples per insert of the stores at home with the replica
	Tally  timing.Tally // how a replica that has ended spent its time, if it was recorded
}

// command is a message from the owner. In a synchronous run it is a verdict, or
// asks for the state; in an asynchronous one the newest says all.
type command struct {
	Verdict rendezvous.Verdict
	Save    int // number of the save that is asked for; 0 is none
}

func (r *replica) up() int   { return len(r.world.top.Edges) }
func (r *replica) down() int { return len(r.world.top.Edges) + 1 }

// Meet returns rendezvous.Peers.
func (r *replica) Meet(mine report, lead func(report) rendezvous.Verdict) (rendezvous.Verdict, error) {
	if r.again {
		r.again = false
		return r.resume(mine), nil
	}
	if r == r.world.owner && r.world.Plan.Async {
		r.x.Await(r.up())
		r.x.Turn()
		return r.leadAsync(mine, lead), nil
	}
	r.x.Turn()
	switch {
	case r == r.world.owner:
		return r.lead(mine, lead), nil
	case r.inStep():
		mine.Steps = r.x.Used()
	case r.world.Plan.Async: // what messages did not tell
		mine.Steps = r.x.Uncounted()
	}
	r.x.Put(r.up(), r.world.owner.number, r.tells(told{Report: mine}))
	if r.world.Plan.Async && !r.inStep() {
		return r.followAsync(), nil
	}
	for saving := false; ; saving = r.inStep() {
		c := r.hears(saving)
		if c.Save == 0 {
			return c.Verdict, nil
		}
		r.send(c.Save, false)
	}
}

// inStep reports whether the replica of an asynchronous run goes through the owner's iterations,
// and through none of its own.
func (r *replica) inStep() bool {
	return r.world.Plan.Async && r != r.world.owner && r.world.Plan.Groups[r.group].Over == fdg.None
}

// hears returns the owner's next command. With drop it discards what producers send meanwhile,
// for which they would wait while the owner waits for them.
func (r *replica) hears(drop bool) command {
	for drop {
		if _, v, ok, _ := r.x.Drop(r.down()); ok {
			return edge.As[command](v)
		}
	}
	return edge.As[command](r.x.Take(r.down(), r.world.owner.number))
}

// lead waits for all replicas, decides, and tells them.
func (r *replica) lead(mine report, decide func(report) rendezvous.Verdict) rendezvous.Verdict {
	w := r.world
	groups := make([][]report, len(w.top.Groups))
	for _, o := range w.replicas {
		did := mine
		if o != r {
			did = w.hear(o.number, r.x.Take(r.up(), o.number)).Report
		}
		groups[o.group] = append(groups[o.group], did)
	}
	w.figures[r.number] = r.figures()
	v := decide(rendezvous.Merge(groups))
	tell := v
	tell.Decided = false
	for _, o := range w.others() {
		r.x.Put(r.down(), o.number, command{Verdict: tell})
	}
	return v
}

// leadAsync takes the reports that have arrived, without blocking, and counts the steps of what was
// used.
func (r *replica) leadAsync(mine report, decide func(report) rendezvous.Verdict) rendezvous.Verdict {
	groups := [][]report{{mine}}
	for _, o := range r.world.stepping() {
		r.pending = append(r.pending, r.world.hear(o.number, r.x.Take(r.up(), o.number)))
	}
	r.receive()
	for _, t := range r.pending {
		groups = append(groups, []report{t.Report})
	}
	r.pending = nil
	r.world.figures[r.number] = r.figures()
	for _, g := range groups[1:] {
		r.world.idle += g[0].Steps
	}
	all := rendezvous.Merge(groups)
	all.Steps, all.Async = r.world.from+r.world.idle+r.x.Taken(), true
	v := decide(all)
	r.command.Verdict = v
	r.command.Verdict.Decided = false
	r.post()
	for _, o := range r.world.stepping() {
		r.x.Put(r.down(), o.number, command{Verdict: r.command.Verdict})
	}
	return v
}

// resume goes on with an iteration that lost the replica it took from: what was logged
// in it stays its own, and nothing is counted before it ends.
func (r *replica) resume(mine report) rendezvous.Verdict {
	r.x.Turn()
	mine.Steps = 0
	r.pending = append(r.pending, told{Report: mine})
	return rendezvous.Verdict{More: true, Decided: true}
}

// receive files the reports that have arrived.
func (r *replica) receive() {
	for {
		from, v, ok := r.x.Poll(r.up())
		if !ok {
			return
		}
		r.pending = append(r.pending, r.world.hear(from, v))
	}
}

// post tells all others the newest command, but for those that wait for each.
func (r *replica) post() {
	for _, o := range r.world.others() {
		if !o.inStep() {
			r.x.PostTo(r.down(), o.number, r.command)
		}
	}
}

// followAsync does what the newest command says, without waiting for one.
func (r *replica) followAsync() rendezvous.Verdict {
	for {
		_, v, ok := r.x.Poll(r.down())
		if !ok {
			break
		}
		r.command = edge.As[command](v)
	}
	if r.command.Save > r.saved {
		r.saved = r.command.Save
		r.send(r.saved, false)
	}
	return r.command.Verdict
}

// send gives the owner the state of what is at home here.
func (r *replica) send(save int, final bool) {
	r.x.Put(r.up(), r.world.owner.number, r.tells(told{State: r.state(), Save: save, Final: final}))
}

// tells adds to a message what the owner cannot see for itself.
func (r *replica) tells(t told) told {
	t.Seen, t.Paced = r.figures(), r.x.PerInsert()
	if t.Final && r.timing != nil {
		t.Tally = r.timing.Read(true)
	}
	if !r.world.Leads() {
		t.Notes, t.Counts = rl.System.TakeNotes(r.scope), rl.System.Counts(r.scope)
	}
	return t
}

// hear returns what a replica told, whose figures are kept.
func (w *World) hear(from int, v any) told {
	t := edge.As[told](v)
	w.figures[from] = t.Seen
	if t.Final {
		w.tallies[from] = t.Tally
	}
	if w.replicas[from] == w.keeper() {
		w.paced = t.Paced
	}
	if w.replicas[from].scope == nil {
		w.notes, w.counts[from] = append(w.notes, t.Notes...), t.Counts
		if t.State != nil && w.Plan.Sparing() {
			w.known[from] = t.State
		}
	}
	return t
}

// farewell returns the last thing a replica does: others give their state, the owner
// keeps it, since their scopes may be gone when it is asked for.
func (r *replica) farewell() error {
	if r != r.world.owner {
		r.send(0, true)
		if r.inStep() {
			r.hears(true) // all have given theirs
		}
		return nil
	}
	r.world.final = rl.System.Viewing(rl.NewState(r.scope))
	r.world.collect(r.world.final, func(t told) bool { return t.Final })
	for _, o := range r.world.stepping() {
		r.x.Put(r.down(), o.number, command{})
	}
	return nil
}

// stepping returns the replicas that are in step with the owner of an asynchronous run.
func (w *World) stepping() (out []*replica) {
	return slices.DeleteFunc(w.others(), func(r *replica) bool { return !r.inStep() })
}

func (w *World) others() (out []*replica) {
	for _, r := range w.replicas {
		if r != w.owner {
			out = append(out, r)
		}
	}
	return out
}
