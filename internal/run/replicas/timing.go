package replicas

import (
	"slices"

	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/rl"
)

// record gives a replica a recorder, with so many edges, if the world is profiled.
func (r *replica) record(edges int) {
	if r.world.Profile {
		r.timing = timing.New(edges)
		rl.System.Time(r.scope, r.timing)
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
