package cost

import (
	"math"

	"github.com/weft-rl/weft/plan"
)

// Ratio is how many times as long as simulated an iteration took, with so many replicas of what is
// replicated: hand-overs of the scheduler, the collector of garbage, caches and parts of cores that
// computations take from each other. Recordings do not show them, because replicas take turns.
type Ratio struct {
	Shards int
	Times  float64
}

// loose bounds a ratio. What lies beyond it is not the plan's doing but that of another program on
// the machine.
const loose = 3

// fit compares recordings with what the model predicts for them on the site they were made on.
func (m *Model) fit(f plan.Facts, site func(workers int) Site, all ...*Recording) {
	var ratios []Ratio
	for _, r := range all {
		x, err := Predict(m, r.Plan, f, site(r.workers()))
		if err != nil || r.Free <= 0 || x.Seconds <= 0 {
			continue
		}
		ratios = append(ratios, r.ratio(x.Seconds))
	}
	m.Ratios = ratios
}

// ratio compares a recording with what is predicted for it.
func (r *Recording) ratio(predicted float64) Ratio {
	return Ratio{r.Plan.Shards, min(max(r.Free/predicted, 1./loose), loose)}
}

// workers returns how many workers a recorded plan needs.
func (r *Recording) workers() int {
	n := 1
	for _, x := range r.Plan.Replicas {
		n = max(n, x.Worker+1)
	}
	return n
}

// ratio returns that of a plan with so many shards: the nearest one's, and between two a mean by
// the logarithm of the number.
func (m *Model) ratio(shards int) float64 {
	switch n := len(m.Ratios); {
	case n == 0:
		return 1
	case n == 1 || shards <= m.Ratios[0].Shards:
		return m.Ratios[0].Times
	case shards >= m.Ratios[n-1].Shards:
		return m.Ratios[n-1].Times
	}
	a, b := m.Ratios[0], m.Ratios[len(m.Ratios)-1]
	at := math.Log(float64(shards)/float64(a.Shards)) / math.Log(float64(b.Shards)/float64(a.Shards))
	return a.Times * math.Pow(b.Times/a.Times, at)
}
