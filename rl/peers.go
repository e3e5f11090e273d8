package rl

import "slices"

// Record is what was logged under a name by one call of Log: by several replicas
// the parts of it, in the order of their rows.
type Record struct {
	Name string
	X    []Tensor
}

// total is the sum of what was logged, added up as if one replica had all rows,
// and the number of its elements.
func (r Record) total() (sum float64, n int) {
	if r.X[0].Shape().Rank() > 0 {
		return Total(concat(r.X))
	}
	for _, x := range r.X {
		one, _ := Total(x)
		sum += one
	}
	return sum, len(r.X)
}

// Report is what a replica did in an iteration.
type Report struct {
	Steps    int64 // environment steps so far, over all environments
	Logs     []Record
	Episodes []Episode
	Kinds    []string // of agents, where there are several; only who has environments knows
	Second   []SecondEpisodes
}

// SecondEpisodes are the episodes that ended in environments beside the run's own, by the
// name of the component that follows them.
type SecondEpisodes struct {
	Name     string
	Episodes []Episode
}

// Verdict is what the owner of Next decided. Counters follow it everywhere.
type Verdict struct {
	Steps   int64
	More    bool // there is another iteration
	Stopped bool // the whole run ends, by a cut's decision
	// Decided is true at the owner itself, whose counters are right already.
	Decided bool
}

// Peers are the other replicas of a run. One of all is the owner of Next: it is
// told what every one did, decides, and tells them.
type Peers interface {
	// Meet is called at every Next with what this replica did. At the owner it calls
	// lead with what all replicas did, and tells the others the verdict; elsewhere it
	// waits for the verdict.
	Meet(mine Report, lead func(all Report) Verdict) (Verdict, error)
}

// Join makes r the run of one replica of several.
func (system) Join(r *Run, p Peers) { r.peers = p }

// report is what this replica did since the last Next.
func (r *Run) report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Report{Steps: r.scope.Steps()}
	if r.started { // before the first iteration there is nothing to tell
		out.Logs, out.Episodes = r.logs, r.scope.Episodes().take()
		out.Kinds = r.scope.Episodes().kindNames()
		out.Second = r.scope.secondEpisodes()
		r.logs = nil
	}
	return out
}

// lead decides for all replicas.
func (r *Run) lead(all Report) Verdict {
	r.scope.steps = all.Steps
	r.scope.episodes.merge(all.Episodes)
	if all.Kinds != nil {
		r.scope.episodes.names = all.Kinds
	}
	for _, o := range all.Second {
		if e, ok := r.scope.components[o.Name].(*Episodes); ok {
			e.merge(o.Episodes)
		}
	}
	more := r.decide(all)
	return Verdict{Steps: r.steps, More: more, Stopped: r.whole().stopped, Decided: true}
}

// follow does what the owner decided.
func (r *Run) follow(v Verdict) {
	r.count(v.Steps)
	if v.Stopped {
		r.whole().stopped = true
		return
	}
	r.started, r.loaded = v.More, false
}

// Merge puts the reports of all replicas together, those of every group by rank:
// what is found is what one replica that has all rows would have reported.
func (system) Merge(groups [][]Report) Report {
	var out Report
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
func (r *Report) addSecond(list []SecondEpisodes) {
	for _, o := range list {
		i := slices.IndexFunc(r.Second, func(s SecondEpisodes) bool { return s.Name == o.Name })
		if i < 0 {
			i = len(r.Second)
			r.Second = append(r.Second, SecondEpisodes{Name: o.Name})
		}
		r.Second[i].Episodes = append(r.Second[i].Episodes, o.Episodes...)
	}
}

// mergeLogs joins the parts of what replicas logged by the same call: the n-th
// under a name in each.
func mergeLogs(group []Report) []Record {
	if len(group) == 1 {
		return group[0].Logs
	}
	type call struct {
		name string
		n    int
	}
	var out []Record
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
