package replicas

import (
	"slices"

	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/rl"
)

// record gives a replica of so many edges a recorder, if the world is profiled, or what else is to
// see what it does.
func (r *replica) record(edges int) {
	switch w := r.world; {
	case w.Profile:
		r.timing = timing.New(edges)
		r.watch = r.timing
	case w.Record != nil:
		r.watch = w.Record(r.number)
	}
	if r.watch != nil {
		rl.System.Time(r.scope, r.watch)
	}
}

// Tallies returns how the replicas spent their time, by number, once the run has ended; nil if it
// was not recorded.
func (w *World) Tallies() []timing.Tally {
	if !w.Profile || w.owner.timing == nil {
		return nil
	}
	out := slices.Clone(w.tallies)
	out[w.owner.number] = w.owner.timing.Read(true)
	return out
}
