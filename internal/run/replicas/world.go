package replicas

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/rendezvous"
	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Config describes a world.
type Config struct {
	// Root is the scope that the replicas' are shards of; the plain loop's own.
	Root *rl.Scope
	// Build constructs the trainer in a scope.
	Build func(*rl.Scope) (rl.Trainer, error)
	// Open is the device of a name, for replicas that have one of their own; nil gives
	// all of them Root's.
	Open func(name string) (*rl.Device, error)
	// Plan says which replicas there are. Without groups it is the loop as it stands.
	Plan plan.Plan
	// Graph says where resources are at home; nil for the plain loop.
	Graph *fdg.Graph
	// Programs are the generated ones of the plan's grouping.
	Programs edge.Grouping
	// Members is how many agents there are to share out, in a plan over agents.
	Members int
	// Restarting is true when environments cannot save their state: what is saved is
	// without the episodes under way.
	Restarting bool
	// Lowered is one iteration of the loop, where it is to be one device program; nil
	// elsewhere.
	Lowered func(rl.Trainer, *rl.Run)
	// Origin is where in the author's source a place in generated code comes from;
	// nil leaves places alone.
	Origin func(pos string) string
	// Until is, for such a program, the number of steps at which Cut wants to see the
	// state next; nil if it never needs to before the end.
	Until  func(steps int64) int64
	Budget int64              // steps
	Cut    func(rl.Cut) error // called by the owner at consistent points
	// Around, unless nil, puts something around the link of every replica, by its
	// number: a network's delays, say.
	Around func(replica int, l edge.Link) edge.Link
	// Here, unless nil, says which replicas are this process's. Links' Join connects
	// them with the others', which are not built. Facts then say how many environments
	// these have.
	Here  func(plan.Replica) bool
	Facts plan.Facts
	// Life is how many processes were lost that had these replicas before, in a plan that
	// can spare them. What they begin with is the newest that the owner has.
	Life int64
	// Abort, unless nil, ends all programs at once.
	Abort context.Context
	// Observe, unless nil, returns the observer of a replica's operations, or nil for
	// none. The plain loop's group is "".
	Observe func(group string, rank int) rl.Observer
	// Profile has every replica's time recorded.
	Profile bool
	// Record, unless nil, returns what is to see all that a replica does, by its number.
	Record func(replica int) timing.Watch
}

// World is all replicas of a run.
type World struct {
	Config
	top      *edge.Topology
	link     *edge.Local
	replicas []*replica
	owner    *replica
	homes    map[string]int // group of each component, by name
	members  map[string]int // member that a component belongs to, in a plan over agents

	from    int64        // steps that the run had when it was loaded
	idle    int64        // steps of an asynchronous run that nothing was sent for
	saves   int          // asked for so far
	live    bool         // programs are running
	running atomic.Int32 // programs
	final   *rl.State

	program func(until func(steps int64) int64) error // runs a loop that is one device program
	drops   int                                       // items in flight that checkpoints cost

	notes  []string      // notes of other processes' replicas
	counts [][]rl.Logged // likewise, by replica

	paced []rl.Logged // samples per insert of an asynchronous run's stores

	known [][]rl.Array // states of other processes' replicas, as they last told them

	tallies []timing.Tally // of other replicas that have ended, by number
	figures []Figures      // figures, by replica
	before  totals         // when they were last written
}

// replica is one running copy of a group's program.
type replica struct {
	world       *World
	group, rank int
	number      int
	scope       *rl.Scope
	trainer     rl.Trainer
	run         *rl.Run // nil, like scope and trainer, if it is another process's
	x           *edge.X // nil in the plain loop
	timing      *timing.Recorder
	watch       timing.Watch // the same, or another; nil without one

	begun   time.Time
	command command // the newest, in an asynchronous run
	saved   int     // the last save that was answered
	pending []told  // reports that came while the owner waited for something else
	again   bool    // the owner begins the iteration once more
}

// New constructs a world. Nothing runs yet.
func New(c Config) (*World, error) {
	w := &World{Config: c}
	if len(c.Plan.Groups) == 0 {
		return w, w.plain()
	}
	if len(c.Programs.Programs) != len(c.Plan.Groups) {
		return nil, fmt.Errorf("policy %s makes %d groups, but programs were generated for %d: run weft generate",
			c.Plan.Policy, len(c.Plan.Groups), len(c.Programs.Programs))
	}
	for g, group := range c.Plan.Groups {
		for _, r := range c.Plan.Of(group.Name) {
			if err := w.add(g, r); err != nil {
				return nil, errors.Join(err, w.Close())
			}
		}
	}
	if w.owner == nil {
		return nil, fmt.Errorf("policy %s names %q as the group that decides, which has no replica", c.Plan.Policy, c.Plan.Owner)
	}
	if len(w.here()) == 0 {
		return nil, fmt.Errorf("policy %s gives this process no replica", c.Plan.Policy)
	}
	if err := w.alike(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.homes = homes(c.Graph, c.Plan.Grouping, w.owner.group, w.here()[0].scope)
	w.top = w.topology()
	if err := errors.Join(w.limits(), w.inPart()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.findMembers()
	w.link = edge.NewLocal(len(w.replicas), w.queues())
	w.counts, w.known = make([][]rl.Logged, len(w.replicas)), make([][]rl.Array, len(w.replicas))
	w.figures, w.tallies = make([]Figures, len(w.replicas)), make([]timing.Tally, len(w.replicas))
	w.before = w.totals()
	return w, nil
}

// plain makes the one replica of the loop as it stands.
func (w *World) plain() error {
	t, err := w.build(w.Root)
	if err != nil {
		return err
	}
	w.observe("", 0, w.Root)
	w.owner = &replica{world: w, scope: w.Root, trainer: t, run: rl.NewRun(w.Root, w.Budget, w.Cut)}
	w.replicas, w.tallies = []*replica{w.owner}, make([]timing.Tally, 1)
	w.owner.record(0)
	return nil
}

// build constructs the trainer in a scope, which must know all of its components.
func (w *World) build(s *rl.Scope) (rl.Trainer, error) {
	t, err := w.Build(s)
	if err != nil {
		return nil, err
	}
	return t, rl.System.Registered(s, t)
}

// observe gives a replica's scope its observer, if there is to be one. The trainer
// is constructed unobserved.
func (w *World) observe(group string, rank int, s *rl.Scope) {
	if w.Observe == nil {
		return
	}
	if o := w.Observe(group, rank); o != nil {
		rl.System.Observe(s, o)
	}
}

// add makes a replica of a group; of one that is another process's, only its name.
func (w *World) add(g int, at plan.Replica) error {
	r := &replica{world: w, group: g, rank: at.Rank, number: len(w.replicas)}
	w.replicas = append(w.replicas, r)
	if w.owner == nil && w.Plan.Groups[g].Name == w.Plan.Owner {
		w.owner = r
	}
	if w.Here != nil && !w.Here(at) {
		return nil
	}
	r.scope = rl.System.Shards(w.Root, 0, 1, 1)
	if w.Plan.Groups[g].Over == fdg.Environments {
		r.scope = rl.System.Shards(w.Root, at.First, at.Last, w.Plan.Shards)
	}
	rl.System.Anew(r.scope, w.Life)
	var err error
	if w.Open != nil && at.Device != "" {
		dev, err := w.Open(at.Device)
		if err != nil {
			return err
		}
		rl.System.Use(r.scope, dev)
	}
	if r.trainer, err = w.build(r.scope); err != nil {
		return err
	}
	w.observe(w.Plan.Groups[g].Name, at.Rank, r.scope)
	r.record(len(w.Programs.Edges) + edge.Control)
	cut := w.Cut
	if r != w.owner {
		cut = nil
	}
	r.run = rl.NewRun(r.scope, w.Budget, cut)
	rl.System.Join(r.run, r)
	if w.Plan.Graphs {
		rl.System.Fuse(r.run)
	}
	return nil
}

// alike gives replicas on another device than the owner's the weights that the owner
// begins with: those that they made themselves are rounded otherwise.
func (w *World) alike() error {
	if w.owner.scope == nil {
		return nil
	}
	for _, r := range w.here() {
		if r.scope.Device() == w.owner.scope.Device() {
			continue
		}
		st := rl.NewState(r.scope)
		rl.System.SaveWeights(w.owner.scope, st)
		if err := rl.System.LoadWeights(r.scope, st); err != nil {
			return err
		}
	}
	return nil
}

// Devices returns the devices that this process computes on, in the order of its replicas.
func (w *World) Devices() (out []*rl.Device) {
	for _, r := range w.here() {
		if d := r.scope.Device(); !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// here returns the replicas of this process.
func (w *World) here() (out []*replica) {
	for _, r := range w.replicas {
		if r.scope != nil {
			out = append(out, r)
		}
	}
	return out
}

// Links returns the links of this process's replicas, to be joined with those of other processes;
// nil in the plain loop.
func (w *World) Links() *edge.Local { return w.link }

// topology returns who has what.
func (w *World) topology() *edge.Topology {
	top := &edge.Topology{Edges: w.Programs.Edges, Turns: w.Plan.Turns}
	if w.Plan.Async {
		top.Async = &edge.Async{Staleness: w.Plan.Staleness, Producers: w.Plan.Producers, Whole: len(w.wholly()) > 0}
		top.Async.Limit = w.limit()
	}
	for g, group := range w.Plan.Groups {
		m := edge.Members{Name: group.Name}
		for _, r := range w.of(g) {
			own := rl.Span{}
			switch group.Over {
			case fdg.Environments:
				own = w.envs(r)
			case fdg.Agents, fdg.Members:
				at := w.Plan.Of(group.Name)[r.rank]
				own.Lo, _ = rl.System.Shard(w.Members, 1, at.First, w.Plan.Shards)
				_, own.Hi = rl.System.Shard(w.Members, 1, at.Last-1, w.Plan.Shards)
				own.Of = w.Members
			}
			m.Own = append(m.Own, own)
			var on *rl.Device
			if r.scope != nil {
				on = r.scope.Device()
			}
			m.On = append(m.On, on)
		}
		top.Groups = append(top.Groups, m)
	}
	return top
}

// envs returns the environments of a replica, also of another process's.
func (w *World) envs(r *replica) rl.Span {
	if r.scope != nil {
		return r.scope.Envs()
	}
	if w.Facts.Envs == 0 { // the run has none
		return rl.Span{}
	}
	at := w.Plan.Of(w.Plan.Groups[r.group].Name)[r.rank]
	lo, _ := rl.System.Shard(w.Facts.Envs, w.Facts.Block, at.First, w.Plan.Shards)
	_, hi := rl.System.Shard(w.Facts.Envs, w.Facts.Block, at.Last-1, w.Plan.Shards)
	return rl.Span{Lo: lo, Hi: hi, Of: w.Facts.Envs}
}

// findMembers learns which component belongs to which member of a family.
func (w *World) findMembers() {
	w.members = map[string]int{}
	g := slices.IndexFunc(w.Plan.Groups, func(x plan.Group) bool { return x.Over == fdg.Agents })
	if g < 0 || w.Programs.Member == nil {
		return
	}
	any := w.here()[0]
	for j := range w.Members {
		for _, c := range w.Programs.Member(any.trainer, j) {
			for _, name := range rl.System.Components(any.scope) {
				if rl.System.Component(any.scope, name) == c {
					w.members[name], w.homes[name] = j, g
				}
			}
		}
	}
}

// of returns the replicas of a group.
func (w *World) of(group int) (out []*replica) {
	for _, r := range w.replicas {
		if r.group == group {
			out = append(out, r)
		}
	}
	return out
}

// Close gives back what the replicas' environments hold.
func (w *World) Close() error {
	errs := []error{w.Root.Close()}
	for _, r := range w.here() {
		errs = append(errs, r.scope.Close())
	}
	return errors.Join(errs...)
}

// Notes returns what all replicas have to tell since the last time.
func (w *World) Notes() (out []string) {
	for _, r := range w.here() {
		out = append(out, rl.System.TakeNotes(r.scope)...)
	}
	out = append(out, w.notes...)
	w.notes = nil
	return out
}

// Counts returns how often things happened, over all replicas, by name.
func (w *World) Counts() (out []rl.Logged) {
	for _, r := range w.replicas {
		list := r.countsHere()
		if r.scope == nil {
			list = w.counts[r.number]
		}
		for _, c := range list {
			i, found := slices.BinarySearchFunc(out, c.Name, func(l rl.Logged, name string) int { return strings.Compare(l.Name, name) })
			if !found {
				out = slices.Insert(out, i, rl.Logged{Name: c.Name})
			}
			out[i].X += c.X
		}
	}
	return out
}

// countsHere returns a replica's own.
func (r *replica) countsHere() []rl.Logged {
	if r.scope == nil {
		return nil
	}
	return rl.System.Counts(r.scope)
}

// Leads reports whether the replica that decides is this process's. If it is not,
// there is nothing to be had of the run but Train.
func (w *World) Leads() bool { return w.owner.scope != nil }

// Scope returns the owner's: its parameters are the run's, its episodes are all
// replicas'.
func (w *World) Scope() *rl.Scope { return w.owner.scope }

// Trainer returns the owner's.
func (w *World) Trainer() rl.Trainer { return w.owner.trainer }

// Run returns the owner's: its counters are the run's.
func (w *World) Run() *rl.Run { return w.owner.run }

// Exact reports whether the run gives the bits of the plain loop: asynchronous
// ones do not.
func (w *World) Exact() bool { return !w.Plan.Async }

// Train runs all programs to their end, or to the first failure, which stops the
// others. It returns when none is left.
func (w *World) Train(ctx context.Context) error {
	ballast()
	if w.Lowered != nil {
		return w.trainLowered()
	}
	if w.top == nil {
		return rl.Train(w.owner.trainer, w.owner.run)
	}
	// An interruption acts at the next cut, where the run can be saved; this context
	// ends when a program fails, or the run is given up.
	ctx = context.WithoutCancel(ctx)
	if w.Abort != nil {
		ctx = w.Abort
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := w.connect(ctx); err != nil {
		return err
	}
	w.live = true
	w.running.Store(int32(len(w.here()))) // before any begins: who waits for one that has not yet is not stuck
	defer w.watch(stop)()
	var all sync.WaitGroup
	var left atomic.Int64 // programs that did not come to their end
	for _, r := range w.here() {
		if left.Add(1); r != w.owner {
			all.Go(func() { left.Add(w.settle(r.train(), stop)) })
		}
	}
	if w.Leads() {
		left.Add(w.settle(w.owner.train(), stop))
	}
	all.Wait()
	w.live = false
	// Where the owner spares replicas, it may leave as soon as they have told it all.
	spared := w.Plan.Sparing() && !w.Leads() && left.Load() == 0
	if err := context.Cause(ctx); err != nil && !spared {
		return err
	}
	if !w.Leads() {
		if rl.System.Stopped(w.here()[0].run) {
			return ErrEnded
		}
		return nil
	}
	return w.owner.run.Err()
}

// Compile makes the device program of a loop that is to be one, and does nothing
// elsewhere. Train does it where it was not done before.
func (w *World) Compile() (err error) {
	if w.Lowered == nil || w.program != nil {
		return nil
	}
	w.program, err = rl.System.Lower(w.owner.run, rl.Chunks{}, func(run *rl.Run) { w.Lowered(w.owner.trainer, run) })
	return w.traced(err)
}

// ErrEnded is why a process's replicas stopped when another one's, which decides,
// ended the run early. That one knows the reason.
var ErrEnded = errors.New("the run was ended where it is decided about")

// trainLowered runs the loop as one device program.
func (w *World) trainLowered() error {
	if err := w.Compile(); err != nil {
		return err
	}
	until := w.Until
	if until == nil {
		until = func(int64) int64 { return math.MaxInt64 }
	}
	if t := w.owner.timing; t != nil {
		return w.traced(t.Whole(func() error { return w.program(until) }, w.owner.run.Iter))
	}
	return w.traced(w.program(until))
}

// traced gives a failure in generated code its place in the author's.
func (w *World) traced(err error) error {
	var f *rl.Failure
	if errors.As(err, &f) && w.Origin != nil {
		f.Pos = w.Origin(f.Pos)
	}
	return err
}

// settle stops everything if a program failed. The first cause counts: who was
// stopped by it fails as well, and is not heard. It is -1 if the program came to its end.
func (w *World) settle(err error, stop context.CancelCauseFunc) int64 {
	if err != nil && !errors.Is(err, edge.ErrStopped) {
		stop(err)
	}
	if err != nil {
		return 0
	}
	return -1
}

// queues returns how many messages of each edge may wait.
func (w *World) queues() []int {
	n := len(w.top.Edges)
	queues := make([]int, n+edge.Control)
	for i := range queues {
		queues[i] = 1
		if w.Plan.Async {
			queues[i] = reports
		}
	}
	if w.Plan.Async {
		// A producer that is c iterations ahead uses weights that are at most c+1
		// versions behind when its work is used.
		queues[n+2] = min(w.Plan.Queue, w.Plan.Staleness-1)
	}
	return queues
}

// connect makes the ends of all edges.
func (w *World) connect(ctx context.Context) error {
	for _, r := range w.here() {
		link := w.link.Link(r.number)
		if w.Around != nil {
			link = w.Around(r.number, link)
		}
		var err error
		if r.x, err = edge.New(ctx, w.top, r.group, r.rank, r.scope, link); err != nil {
			return err
		}
		if r.watch != nil {
			r.x.Trace(r.watch)
		}
	}
	if k := w.keeper(); k.scope != nil {
		k.x.Partly(w.partly())
		k.x.Follows(w.follows())
		k.x.Paces(w.metered())
	}
	return nil
}

// train runs a replica's program and, when it has ended, gives the owner what is
// at home with it.
func (r *replica) train() error {
	r.begun = time.Now()
	r.command.Verdict = rendezvous.Verdict{Steps: r.world.from, More: true}
	defer r.world.running.Add(-1)
	return rl.Catch(func() error {
		if !r.world.Leads() && r.world.Plan.Sparing() {
			r.send(0, false) // it may be lost before it is asked
		}
		if err := r.program(); err != nil {
			return err
		}
		return r.farewell()
	})
}

// program runs the replica's program. That of an owner which loses a replica in the
// midst of what it takes from it is entered again: no local variable survives Next.
func (r *replica) program() error {
	for {
		err := rl.Catch(func() error { return r.world.Programs.Programs[r.group](r.trainer, r.run, r.x) })
		if errors.Is(err, edge.ErrDeparted) {
			r.again = true
			continue
		}
		if err != nil || !rl.System.Leave(r.run) {
			return err
		}
		// In an asynchronous run a replica may be the first to see why the loop is left:
		// it goes on until the owner has seen it too.
		if !r.world.Plan.Async {
			return fmt.Errorf("%s left the training loop, and %s, which decides, did not: leave it under a condition that is the same in every replica",
				r, r.world.owner)
		}
	}
}

// home reports whether a component is at home with the replica's group.
func (r *replica) home(name string) bool { return r.world.homes[name] == r.group }

// homes returns the groups where components are at home, by their names, which are those
// of any replica; owner is the group that decides. What the
// graph does not name is the owner's, or, by environment, that of the environments.
func homes(g *fdg.Graph, by plan.Grouping, owner int, any *rl.Scope) map[string]int {
	group := func(fragment string) int {
		name := by.Of(fragment)
		return slices.IndexFunc(by.Groups, func(x plan.Group) bool { return x.Name == name })
	}
	envs := owner
	named := map[string]int{}
	for _, r := range g.Resources {
		at := group(r.Home)
		if at < 0 {
			continue
		}
		named[r.Name] = at
		if r.Kind == "environments" {
			envs = at
		}
	}
	out := map[string]int{}
	for _, name := range rl.System.Components(any) {
		at, ok := named[name]
		if !ok {
			if at = owner; rl.System.Component(any, name).Axis() == rl.Envs {
				at = envs
			}
		}
		out[name] = at
	}
	out["env"], out["episodes"] = envs, envs
	return out
}
