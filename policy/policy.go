// Package policy decides how a training loop is distributed: a policy is a pure
// function from a problem (the loop's graph, a cluster, what the user chose) to a
// plan. It never sees the algorithm, only its graph; an algorithm never sees a
// policy.
//
// An author's own policy is a Policy value in their package: it is listed, planned
// and run like those here.
package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// Policy is one way to distribute loops.
type Policy struct {
	Name string
	Doc  string // one line
	// Like names the systems whose way this is.
	Like string
	// Grouping takes a loop apart. An error says why this loop cannot be. A policy
	// that runs the loop as it stands, or lowered, gives an empty grouping.
	Grouping func(g *fdg.Graph) (plan.Grouping, error)
	// Apart takes a loop further apart, for deployments that name a group which Grouping does not
	// form; nil if there is no such way.
	Apart func(g *fdg.Graph) (plan.Grouping, error)
	// AsIs is true when the loop runs as it stands, in one process and in step with itself.
	AsIs bool
	// Lowered is true when the loop becomes one device program.
	Lowered bool
	// Async says whether asynchronous edges make sense for it.
	Async Asynchrony
	// Place assigns replicas to workers; nil is Spread.
	Place func(p *plan.Plan, on plan.Problem) error
}

// Asynchrony is whether a policy's edges may be asynchronous.
type Asynchrony uint8

// The choices.
const (
	Never   Asynchrony = iota // its edges are synchronous
	Allowed                   // the user may ask for it
	Natural                   // what it is meant for; it has a synchronous mode as well
)

// String says it in words.
func (a Asynchrony) String() string {
	return [...]string{"synchronous", "synchronous or asynchronous", "asynchronous or synchronous"}[a]
}

// Builtin returns the policies that come with Weft.
func Builtin() []Policy {
	return []Policy{Plain, SingleLearnerCoarse, SingleLearnerFine, MultiLearner, GPUOnly, Environments, Central}
}

// Find returns the policy of that name.
func Find(name string, in []Policy) (Policy, error) {
	var names []string
	for _, p := range in {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Policy{}, fmt.Errorf("there is no policy %q: there are %s", name, strings.Join(names, ", "))
}

// Groupings returns the distinct ways in which policies take a graph apart; policies
// that it cannot take are passed over.
func Groupings(g *fdg.Graph, of []Policy) (out []plan.Grouping) {
	for _, p := range of {
		for _, way := range []func(*fdg.Graph) (plan.Grouping, error){p.Grouping, p.Apart} {
			if way == nil {
				continue
			}
			by, err := way(g)
			known := slices.ContainsFunc(out, func(x plan.Grouping) bool { return x.Name == by.Name })
			if err == nil && len(by.Groups) > 0 && !known {
				out = append(out, by)
			}
		}
	}
	return out
}

// Groups returns how the policy takes a problem's loop apart: by Apart if the deployment gives a
// worker or a device to a group that only Apart forms.
func (p Policy) Groups(on plan.Problem) (plan.Grouping, error) {
	by, err := p.Grouping(on.Graph)
	if err != nil || p.Apart == nil {
		return by, err
	}
	for _, text := range slices.Concat(on.Deployment.Placement, on.Deployment.Devices) {
		name, _, _ := strings.Cut(text, ":")
		if by.Group(name) != nil {
			continue
		}
		if apart, err := p.Apart(on.Graph); err == nil && apart.Group(name) != nil {
			return apart, nil
		}
	}
	return by, nil
}

// Make returns the plan of a policy for a problem, before any fusion. Whatever is
// missing is reported at once, and nothing is planned then.
func (p Policy) Make(on plan.Problem) (plan.Plan, error) {
	d := on.Deployment
	out := plan.Plan{Version: plan.Version, Policy: p.Name, Graph: on.Graph.Name, Lowered: p.Lowered, Queue: d.Queue, MaxWorkers: d.MaxWorkers}
	errs := []error{on.Cluster.Check(), plan.CheckNoFuse(d.NoFuse)}
	by, err := p.Groups(on)
	if err == nil {
		err = splits(on, by)
	}
	if err != nil {
		return out, errors.Join(append(errs, fmt.Errorf("policy %s: %w", p.Name, err))...)
	}
	out.Grouping, out.Owner = by, owner(on.Graph, by)
	errs = append(errs, p.lowering(on))
	out.Shards = 1
	if p.Lowered {
		out.Shards = max(1, on.Facts.Devices)
	}
	if replicated(by) != fdg.None {
		out.Shards = shards(by, on)
		errs = append(errs, capacity(out.Shards, replicated(by), on))
	}
	errs = append(errs, p.asynchrony(&out, on), pipeline(&out, on))
	errs = append(errs, workers(on), d.CheckPlacement(by, on.Cluster))
	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	place := p.Place
	if place == nil {
		place = Spread
	}
	few := on
	few.Cluster.Workers = on.Cluster.Workers[:max(1, min(d.Workers, len(on.Cluster.Workers)))]
	if err := place(&out, few); err != nil {
		return out, fmt.Errorf("policy %s: %w", p.Name, err)
	}
	if err := out.Place(d, on.Cluster); err != nil {
		return out, err
	}
	if err := out.Assign(d, on.Cluster, on.Graph); err != nil {
		return out, err
	}
	out.Edges = slices.Clone(on.Crossings[by.Name])
	return out, out.Check(on)
}

// shards returns how many parts a replicated grouping has.
func shards(by plan.Grouping, on plan.Problem) int {
	d := on.Deployment
	if d.Replicas > 0 {
		return d.Replicas
	}
	n := d.Workers
	if !d.Async && d.MaxWorkers > 0 && sums(on.Graph, by) { // it decides what is computed, so it is the same for any number
		n = max(n, min(d.MaxWorkers, parts(replicated(by), on.Facts)))
	}
	if d.Pipeline {
		n *= 2
	}
	return n
}

// sums reports whether gradients of several parts of the environments are added up, so
// that their number shows in how sums round.
func sums(g *fdg.Graph, by plan.Grouping) bool {
	for _, n := range g.Nodes {
		if x := by.Group(by.Of(n.Fragment)); n.Kind == fdg.Gradient && x != nil && x.Over == fdg.Environments {
			return true
		}
	}
	return false
}

// Sums reports whether results depend on the number of parts, because learners add up gradients in
// step.
func (p Policy) Sums(on plan.Problem) bool {
	by, err := p.Groups(on)
	return err == nil && !on.Deployment.Async && sums(on.Graph, by)
}

// Most returns how many workers a problem has something to do for.
func (p Policy) Most(on plan.Problem) int {
	by, err := p.Groups(on)
	over := replicated(by)
	if err != nil || over == fdg.None {
		return 1
	}
	n := parts(over, on.Facts)
	if on.Deployment.Pipeline {
		n /= 2
	}
	return max(1, n)
}

// owner returns the group that applies gradients, or else the last one.
func owner(g *fdg.Graph, by plan.Grouping) string {
	for _, n := range g.Nodes {
		if n.Kind == fdg.Apply {
			return by.Of(n.Fragment)
		}
	}
	if len(by.Groups) == 0 {
		return ""
	}
	return by.Groups[len(by.Groups)-1].Name
}

// asynchrony sets how edges wait.
func (p Policy) asynchrony(out *plan.Plan, on plan.Problem) error {
	d := on.Deployment
	out.Async = d.Async
	if !d.Async {
		return nil
	}
	if p.Async == Never {
		return fmt.Errorf("policy %s has no asynchronous mode: its replicas move in step", p.Name)
	}
	if !steps(on.Graph) || on.Facts.Envs == 0 {
		return errors.New("--async: the loop steps no environment, and replicas that do not wait for each other would all draw the same batches: leave --async out")
	}
	if err := meeting(on.Graph, out.Grouping, on.Crossings[out.Grouping.Name]); err != nil {
		return fmt.Errorf("policy %s: %w", p.Name, err)
	}
	out.Staleness, out.Producers = d.Staleness, d.Producers
	if d.SamplesPerInsert > 0 {
		if d.Producers > 0 {
			return errors.New("--samples-per-insert decides how many replicas a gather waits for, and so does --producers: leave one of them out")
		}
		out.SamplesPerInsert, out.Tolerance = d.SamplesPerInsert, d.Tolerance
	}
	if out.Staleness == 0 {
		out.Staleness = patience(on.Graph, out)
	}
	return nil
}

// meeting finds edges of an asynchronous plan that a consumer may wait for in vain: those under a
// condition that its producers see otherwise. If all of them are under one condition, whatever
// arrives is of the same place of the loop; then it is enough that something arrives again and
// again. Groups that are not replicated are in step with each other, and take the work of the same
// producers.
func meeting(g *fdg.Graph, by plan.Grouping, edges []plan.Edge) error {
	edges = slices.DeleteFunc(slices.Clone(edges), func(e plan.Edge) bool {
		from, to := by.Group(e.From), by.Group(e.To)
		return from == nil || to == nil || from.Over == fdg.None || to.Over != fdg.None || e.Log || e.Operator == fdg.Broadcast
	})
	for _, e := range edges {
		other := func(o plan.Edge) bool { return o.Under != e.Under }
		if e.Under > 0 && (!e.Lasting || slices.ContainsFunc(edges, other)) {
			return fmt.Errorf("%s (%s) is sent under the condition at %s, which asynchronous replicas and the receiver decide by counts of their own: give the number to a graph function by rl.Scalar and choose there, or leave --async out",
				e.Name, e.Pos, g.Nodes[e.Under].Pos)
		}
	}
	return nil
}

// pipeline lets halves of the environments take turns, if that is asked for.
func pipeline(out *plan.Plan, on plan.Problem) error {
	if !on.Deployment.Pipeline {
		return nil
	}
	if out.Async {
		return errors.New("--pipeline: an asynchronous run has no turns to take")
	}
	if out.Shards%2 != 0 {
		return fmt.Errorf("--pipeline: %d replicas make no two halves: ask for an even number with --replicas", out.Shards)
	}
	return out.Turn(on.Graph)
}

// patience returns how many versions weights may be behind unless the deployment says
// it. Where replicas send gradients each of them makes a version, so that most are
// as many behind as there are others; a lower bound would throw them away.
func patience(g *fdg.Graph, out *plan.Plan) int {
	for _, n := range g.Nodes {
		if n.Kind == fdg.Gradient && out.Grouping.Of(n.Fragment) != out.Owner {
			return 2 * out.Shards
		}
	}
	return 1
}

// lowering checks that the loop can be one device program.
func (p Policy) lowering(on plan.Problem) error {
	f := on.Facts
	switch {
	case !p.Lowered:
	case !f.Graph:
		return fmt.Errorf("policy %s needs an environment that is a graph function: this one runs on the host, so use single-learner-coarse or -fine", p.Name)
	case f.Devices > 1 && f.Envs%f.Devices != 0:
		return fmt.Errorf("policy %s on %d devices: %d environments make no equal parts, one for each, so choose a multiple of %d", p.Name, f.Devices, f.Envs, f.Devices)
	}
	return nil
}

// replicated returns the axis that a grouping replicates over.
func replicated(by plan.Grouping) fdg.Axis {
	for _, g := range by.Groups {
		if g.Over != fdg.None {
			return g.Over
		}
	}
	return fdg.None
}

// workers checks that the cluster has as many as are asked for.
func workers(on plan.Problem) error {
	if n := len(on.Cluster.Workers); n > 0 && on.Deployment.Workers > n {
		return fmt.Errorf("%d workers are asked for, but the cluster has %d: add %d, or ask for fewer with --workers", on.Deployment.Workers, n, on.Deployment.Workers-n)
	}
	return nil
}

// capacity checks that there is something for every shard.
func capacity(shards int, over fdg.Axis, on plan.Problem) error {
	f, most := on.Facts, parts(over, on.Facts)
	switch {
	case shards <= most:
		return nil
	case over == fdg.Agents:
		return fmt.Errorf("%d replicas for %d agents: give each at least one, with --workers %d or fewer", shards, most, most)
	}
	return fmt.Errorf("%d replicas for %d environments in blocks of %d: give each at least one block, with --workers %d or fewer, or more environments", shards, f.Envs, max(1, f.Block), most)
}

// parts returns how many there can be of what is split.
func parts(over fdg.Axis, f plan.Facts) int {
	if over == fdg.Agents {
		return max(1, f.Agents)
	}
	if f.Envs == 0 { // learners share batches out, of any size
		return math.MaxInt32
	}
	return f.Envs / max(1, f.Block)
}

// Spread puts the shards of every replicated group on the workers in turn, in
// contiguous ranges, and every other group on the first worker. Of shards that take
// turns each part is spread over all workers, so that none of them is idle while
// another part has its turn.
func Spread(p *plan.Plan, on plan.Problem) error {
	workers := on.Cluster.Workers
	if len(p.Groups) == 0 {
		p.Replicas = []plan.Replica{{Group: "all", Last: p.Shards, Device: workers[0].Devices[0]}}
		return nil
	}
	for _, g := range p.Groups {
		if g.Over == fdg.None {
			p.Replicas = append(p.Replicas, plan.Replica{Group: g.Name, Last: p.Shards, Device: workers[0].Devices[0]})
			continue
		}
		part := p.Shards / max(1, p.Turns)
		for s := range p.Shards {
			w := s % part * len(workers) / max(part, len(workers))
			if part < len(workers) {
				w = s % part
			}
			p.Replicas = append(p.Replicas, plan.Replica{Group: g.Name, Rank: s, First: s, Last: s + 1, Worker: w, Device: workers[w].Devices[0]})
		}
	}
	return nil
}
