package replicas

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/rl"
)

// metered returns the stores at home with the keeper that count what goes in and out, by name.
func (w *World) metered() (names []string, stores []rl.Metered) {
	k := w.keeper()
	if k.scope == nil {
		return nil, nil
	}
	for _, name := range rl.System.Components(k.scope) {
		if c, ok := rl.System.Component(k.scope, name).(rl.Metered); ok && k.home(name) {
			names, stores = append(names, name), append(stores, c)
		}
	}
	return names, stores
}

// limit returns the proportion that the keeper keeps. That of the loop itself needs no choice:
// every iteration takes from all.
func (w *World) limit() edge.Limit {
	_, stores := w.metered()
	if slices.ContainsFunc(stores, func(s rl.Metered) bool { return !close(s.PerInsert(), w.Plan.SamplesPerInsert) }) {
		return edge.Limit{Ratio: w.Plan.SamplesPerInsert, Tolerance: w.Plan.Tolerance}
	}
	return edge.Limit{}
}

// close reports whether two ratios differ by rounding at most.
func close(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(a, b) }

// limits reports a proportion of samples to inserts that can never be kept: an iteration of the
// keeper takes from all producers at most, and from one at least.
func (w *World) limits() error {
	ratio := w.Plan.SamplesPerInsert
	if ratio == 0 || w.keeper().scope == nil {
		return nil
	}
	names, stores := w.metered()
	if len(stores) == 0 {
		return refusal{fmt.Errorf("--samples-per-insert: no replay table is where %s is, so that nothing can be limited: leave it out, or choose single-learner-coarse", w.Plan.Groups[w.keeper().group].Name)}
	}
	k := 1
	for g, m := range w.top.Groups {
		if w.Plan.Groups[g].Over == fdg.Environments {
			k = max(k, len(m.Own))
		}
	}
	var errs []error
	for i, s := range stores {
		switch loop := s.PerInsert(); {
		case loop == 0:
			errs = append(errs, refusal{fmt.Errorf("--samples-per-insert: table %s does not say how many rows the loop samples for each that it inserts: give it replay.Options.Ratio", names[i])})
		case (ratio < loop || ratio > loop*float64(k)) && !close(ratio, loop) && !close(ratio, loop*float64(k)):
			errs = append(errs, refusal{fmt.Errorf("--samples-per-insert: %g can never be met by table %s: an iteration that takes from all %d replicas samples %g rows for each inserted, and one that takes from a single replica %g; choose between these, or change the loop's updates, batch or steps",
				ratio, names[i], k, loop, loop*float64(k))})
		}
	}
	return errors.Join(errs...)
}
