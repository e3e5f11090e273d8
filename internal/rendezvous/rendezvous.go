// Package rendezvous is what the replicas of a run tell each other when they meet at Next, as
// data. X is the type of what is logged, rl.Tensor, and E that of an episode, rl.Episode: package
// rl imports this one.
package rendezvous

import "slices"

// Record holds the values that one call of Log logged under a name: those of several replicas are
// parts of one, in the order of their rows.
type Record[X any] struct {
	Name string
	X    []X
}

// Report tells the owner of Next what a replica did in an iteration.
type Report[X, E any] struct {
	Steps    int64 // environment steps so far, over all environments
	Async    bool  // steps count when what they made is used, which may be later
	Logs     []Record[X]
	Episodes []E
	Kinds    []string // kinds of agents, if there are several; known only to replicas with environments
	Second   []Second[E]
}

// Second is the episodes that ended in environments beside the run's own, by the name of
// the component that follows them.
type Second[E any] struct {
	Name     string
	Episodes []E
}

// Verdict tells replicas what the owner of Next decided. Counters follow it everywhere.
type Verdict struct {
	Steps   int64
	More    bool // there is another iteration
	Stopped bool // the whole run ends, by a cut's decision
	// Decided is true at the owner itself, whose counters are right already.
	Decided bool
}

// Peers are the other replicas of a run. One of all is the owner of Next: it is
// told what every one did, decides, and tells them.
type Peers[X, E any] interface {
	// Meet is called at every Next with what this replica did. At the owner it calls
	// lead with what all replicas did, and tells the others the verdict; elsewhere it
	// waits for the verdict.
	Meet(mine Report[X, E], lead func(all Report[X, E]) Verdict) (Verdict, error)
}

// Merge puts the reports of all replicas together, those of every group by rank:
// what is found is what one replica that has all rows would have reported.
func Merge[X, E any](groups [][]Report[X, E]) Report[X, E] {
	var out Report[X, E]
	for _, g := range groups {
		out.Logs = append(out.Logs, mergeLogs(g)...)
		for _, r := range g {
			out.Steps = max(out.Steps, r.Steps)
			out.Episodes = append(out.Episodes, r.Episodes...)
			out.addSecond(r.Second)
			if out.Kinds == nil {
				out.Kinds = r.Kinds
			}
		}
	}
	return out
}

// addSecond joins a replica's episodes of second environments with those of others.
func (r *Report[X, E]) addSecond(list []Second[E]) {
	for _, o := range list {
		i := slices.IndexFunc(r.Second, func(s Second[E]) bool { return s.Name == o.Name })
		if i < 0 {
			i = len(r.Second)
			r.Second = append(r.Second, Second[E]{Name: o.Name})
		}
		r.Second[i].Episodes = append(r.Second[i].Episodes, o.Episodes...)
	}
}

// mergeLogs joins the parts of what replicas logged by the same call: the n-th
// under a name in each.
func mergeLogs[X, E any](group []Report[X, E]) []Record[X] {
	if len(group) == 1 {
		return group[0].Logs
	}
	type call struct {
		name string
		n    int
	}
	var out []Record[X]
	at := map[call]int{}
	for _, r := range group {
		seen := map[string]int{}
		for _, l := range r.Logs {
			c := call{l.Name, seen[l.Name]}
			seen[l.Name]++
			if i, ok := at[c]; ok {
				out[i].X = append(slices.Clip(out[i].X), l.X...)
				continue
			}
			at[c] = len(out)
			out = append(out, l)
		}
	}
	return out
}
