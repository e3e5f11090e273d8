package replicas

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Figures count one replica's use of its edges since the run began.
type Figures struct {
	Group string
	Rank  int
	Busy  time.Duration // not waiting
	Wait  time.Duration // time spent waiting for other replicas
	Edges []edge.Stat
}

// figures returns the replica's own, up to now.
func (r *replica) figures() Figures {
	wait := r.x.Wait()
	return Figures{
		Group: r.world.Plan.Groups[r.group].Name, Rank: r.rank,
		Wait: wait, Busy: time.Since(r.begun) - wait, Edges: r.x.Stats(),
	}
}

// Figures returns the figures that all replicas last reported; none of the plain loop.
func (w *World) Figures() []Figures { return w.figures }

// Fused returns how many times replicas called a graph in place of statements, and why
// other parts of their programs could not be one.
func (w *World) Fused() (calls int64, apart []string) {
	for _, r := range w.replicas {
		n, why := rl.System.Fusing(r.run)
		calls += n
		for _, name := range slices.Sorted(maps.Keys(why)) {
			apart = append(apart, fmt.Sprintf("%s: %v", name, why[name]))
		}
	}
	return calls, slices.Compact(apart)
}

// Dropped returns how many items in flight were dropped when the run was saved.
func (w *World) Dropped() int { return w.drops }

// Iteration returns what the edges and replicas did since it was last called, to be
// written with an iteration's metrics. A staleness is in versions, and only of
// asynchronous runs.
func (w *World) Iteration() (out []rl.Logged) {
	if w.top == nil {
		return nil
	}
	add := func(x float64, format string, args ...any) {
		out = append(out, rl.Logged{Name: fmt.Sprintf(format, args...), X: x})
	}
	now := w.totals()
	for i, name := range EdgeNames(w.top.Edges) {
		a, b := w.before.edges[i], now.edges[i]
		add(float64(b.Messages-a.Messages), "edge/%s/messages", name)
		add(float64(b.Bytes-a.Bytes), "edge/%s/bytes", name)
		add((b.Wait - a.Wait).Seconds(), "edge/%s/wait", name)
		add(float64(b.Depth), "edge/%s/depth", name)
		if n := b.Received - a.Received; w.Plan.Async && n > 0 {
			add(float64(b.Stale-a.Stale)/float64(n), "edge/%s/staleness", name)
			add(float64(b.MaxStale), "edge/%s/staleness_max", name)
			add(float64(b.Dropped), "edge/%s/dropped", name)
		}
	}
	if w.Plan.Async {
		if w.keeper() == w.owner {
			w.paced = w.owner.x.PerInsert()
		}
		out = append(out, w.paced...)
	}
	for i, g := range w.top.Groups {
		n := float64(len(g.Own))
		add((now.busy[i]-w.before.busy[i]).Seconds()/n, "group/%s/busy", g.Name)
		add((now.wait[i]-w.before.wait[i]).Seconds()/n, "group/%s/wait", g.Name)
	}
	w.before = now
	return out
}

// EdgeNames returns the names of edges as metrics have them: later ones of the same name are
// numbered.
func EdgeNames(edges []plan.Edge) []string {
	out := make([]string, 0, len(edges))
	for _, e := range edges {
		name := e.Name
		for n := 2; slices.Contains(out, name); n++ {
			name = fmt.Sprintf("%s#%d", e.Name, n)
		}
		out = append(out, name)
	}
	return out
}

// totals are figures added up over replicas.
type totals struct {
	edges      []edge.Stat
	busy, wait []time.Duration // busy and waiting time, by group
}

func (w *World) totals() totals {
	t := totals{
		edges: make([]edge.Stat, len(w.top.Edges)),
		busy:  make([]time.Duration, len(w.top.Groups)), wait: make([]time.Duration, len(w.top.Groups)),
	}
	for i, f := range w.figures {
		group := w.replicas[i].group
		t.busy[group] += f.Busy
		t.wait[group] += f.Wait
		for j, s := range f.Edges {
			e := &t.edges[j]
			e.Messages, e.Received, e.Bytes = e.Messages+s.Messages, e.Received+s.Received, e.Bytes+s.Bytes
			e.Wait, e.Dropped, e.Stale = e.Wait+s.Wait, e.Dropped+s.Dropped, e.Stale+s.Stale
			e.Depth, e.MaxStale = max(e.Depth, s.Depth), max(e.MaxStale, s.MaxStale)
		}
	}
	return t
}
