// Package trial runs a loop as plain Go or as generated programs, and says what
// came out: the state at the end, and what was logged.
package trial

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Outcome is what a run left.
type Outcome struct {
	Loop, Grouping string
	Replicas       int
	Weights, State string // digests
	Logs           []string
	Values         []float64 // of all parameters
	Moved          bool      // the weights are not those of the start
	Steps          int64
	Err            string
	Fused          int64    // calls of graphs in place of statements
	Apart          []string // why others were not
	Arrays         []string // of the state, with sums of their numbers
	Counts         []string // operations by iteration, as one process would make them
	Work           string   // digest of all that operations were given and made, in any order
	Traces         []string // digests of the same by replica, in order
	Early          [][]Call // calls of the first iterations, by replica
	Taken          []string // ways through branches, as fault.Taken has them
}

// Config is one run.
type Config struct {
	Build      func(*rl.Scope) (rl.Trainer, error)
	Plan       plan.Plan // without groups, the plain loop
	Graph      *fdg.Graph
	Programs   edge.Grouping
	Members    int // of a family
	Iterations int
	Around     func(int, edge.Link) edge.Link
	// Lowered is one iteration of the loop as a device program, which is to be seen
	// again after Until steps.
	Lowered func(rl.Trainer, *rl.Run)
	Until   int64
	Seed    uint64 // 0 for Seed
}

// Seed is that of every run that names no other.
const Seed = 7

// Root is the scope of every run. A seed of 0 stands for Seed.
func Root(seed uint64) *rl.Scope {
	d, err := device.Open(device.Default)
	if err != nil {
		panic(err)
	}
	return rl.NewScope(d, cmp.Or(seed, Seed))
}

// Run runs to the end.
func Run(c Config) (out Outcome) {
	var w *replicas.World
	done, start := 0, ""
	cut := func(cut rl.Cut) error {
		if done == 0 {
			all := rl.NewState(w.Scope())
			w.Scope().Save(all)
			start = digest(only(w.Scope(), all), nil)
		}
		for _, l := range cut.Logs {
			out.Logs = append(out.Logs, fmt.Sprintf("%d %s %v", cut.Iter, l.Name, l.X))
		}
		for _, e := range cut.Episodes {
			out.Logs = append(out.Logs, fmt.Sprintf("%d episode %v", cut.Iter, e))
		}
		if done++; done <= c.Iterations {
			return nil
		}
		st := rl.NewState(w.Scope())
		w.Save(st)
		out.State, out.Arrays = digest(whole(w, st), nil), summary(whole(w, st))
		out.Weights, out.Values = Weights(w.Scope(), st)
		out.Moved, out.Steps = out.Weights != start, cut.Steps
		return rl.ErrStop
	}
	var err error
	var seen Witnesses
	w, err = replicas.New(replicas.Config{
		Observe: seen.Observe, Root: Root(c.Seed), Build: c.Build, Plan: c.Plan, Graph: c.Graph, Programs: c.Programs, Members: c.Members,
		Budget: 1 << 40, Cut: cut, Around: c.Around, Lowered: c.Lowered, Until: func(int64) int64 { return c.Until },
	})
	if err == nil {
		err = w.Train(context.Background())
	}
	if err != nil {
		out.Err = err.Error()
	}
	slices.Sort(out.Logs)
	out.Early = seen.Early()
	out.Counts, out.Work, out.Traces = seen.counts(c.Plan), seen.work(), seen.traces()
	if w != nil {
		out.Fused, out.Apart = w.Fused()
	}
	return out
}

// Planned is a grouping with k replicas of what is replicated.
func Planned(by plan.Grouping, g *fdg.Graph, k int) plan.Plan {
	p := plan.Plan{Version: plan.Version, Policy: by.Name, Grouping: by, Shards: k}
	if g == nil {
		return p
	}
	for _, group := range by.Groups {
		if group.Over == fdg.None {
			p.Replicas = append(p.Replicas, plan.Replica{Group: group.Name, Last: k})
			continue
		}
		for r := range k {
			p.Replicas = append(p.Replicas, plan.Replica{Group: group.Name, Rank: r, First: r, Last: r + 1})
		}
	}
	for _, n := range g.Nodes {
		if n.Kind == fdg.Apply {
			p.Owner = by.Of(n.Fragment)
		}
	}
	return p
}

// whole is a state without the statistics of episodes of further environments,
// which are not part of a run's report.
func whole(w *replicas.World, st *rl.State) *rl.State {
	out := rl.NewState(w.Scope())
	for _, a := range st.Arrays() {
		if !strings.HasPrefix(a.Name, "episodes of ") {
			out.Add(a)
		}
	}
	return out
}

// Weights are the digest and the numbers of a state's parameters and statistics.
func Weights(s *rl.Scope, st *rl.State) (sum string, values []float64) {
	sum = digest(only(s, st), &values)
	return sum, values
}

// only is the parameters and statistics of a state.
func only(s *rl.Scope, st *rl.State) *rl.State {
	out := rl.NewState(s)
	for _, name := range rl.System.Components(s) {
		switch rl.System.Component(s, name).(type) {
		case *rl.Params, *rl.Stats:
			for _, a := range st.Arrays() {
				if strings.HasPrefix(a.Name, name+"/") {
					out.Add(a)
				}
			}
		}
	}
	return out
}

// digest is that of all arrays of a state, whose numbers it may collect.
func digest(st *rl.State, values *[]float64) string {
	h := sha256.New()
	for _, a := range st.Arrays() {
		fmt.Fprintln(h, a.Name, a.Shape)
		h.Write(dtypes.UnsafeByteSliceFromAny(a.Flat))
		if flat, ok := a.Flat.([]float32); ok && values != nil {
			for _, x := range flat {
				*values = append(*values, float64(x))
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// summary returns a line for every array of a state: its name, its shape, the sum of
// its numbers and one that depends on their order.
func summary(st *rl.State) (out []string) {
	for _, a := range st.Arrays() {
		sum, weighted := 0., 0.
		v := reflect.ValueOf(a.Flat)
		for i := range v.Len() {
			x := 0.
			switch e := v.Index(i); {
			case e.CanFloat():
				x = e.Float()
			case e.CanInt():
				x = float64(e.Int())
			case e.CanUint():
				x = float64(e.Uint())
			case e.Kind() == reflect.Bool && e.Bool():
				x = 1
			}
			sum, weighted = sum+x, weighted+x*float64(i%7)
		}
		out = append(out, fmt.Sprintln(strings.ReplaceAll(a.Name, " ", "_"), strings.ReplaceAll(a.Shape.String(), " ", ""), sum, weighted))
	}
	return out
}
