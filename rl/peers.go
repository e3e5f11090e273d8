package rl

import "github.com/weft-rl/weft/internal/rendezvous"

// What replicas tell each other at Next, of this package's tensors and episodes.
type (
	report = rendezvous.Report[Tensor, Episode]
	record = rendezvous.Record[Tensor]
	second = rendezvous.Second[Episode]
)

// summed returns the sum of what was logged, added up as if one replica had all rows,
// and the number of its elements.
func summed(r record) (sum float64, n int) {
	if r.X[0].Shape().Rank() > 0 {
		return Total(concat(r.X))
	}
	for _, x := range r.X {
		one, _ := Total(x)
		sum += one
	}
	return sum, len(r.X)
}

// Join makes r the run of one replica of several.
func (system) Join(r *Run, p rendezvous.Peers[Tensor, Episode]) { r.peers = p }

// report returns what this replica did since the last Next.
func (r *Run) report() report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := report{Steps: r.scope.Steps()}
	if r.started { // before the first iteration there is nothing to tell
		out.Logs, out.Episodes = r.logs, r.scope.Episodes().take()
		out.Kinds = r.scope.Episodes().kindNames()
		out.Second = r.scope.secondEpisodes()
		r.logs = nil
	}
	return out
}

// lead decides for all replicas.
func (r *Run) lead(all report) rendezvous.Verdict {
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
	return rendezvous.Verdict{Steps: r.steps, More: more, Stopped: r.whole().stopped, Decided: true}
}

// follow does what the owner decided.
func (r *Run) follow(v rendezvous.Verdict) {
	r.count(v.Steps)
	if v.Stopped {
		r.whole().stopped = true
		return
	}
	r.started, r.loaded = v.More, false
}
