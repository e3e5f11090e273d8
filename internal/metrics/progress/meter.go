package progress

import (
	"math"
	"slices"
	"time"
)

// window is how far back the rate of steps looks.
const window = 10 * time.Second

// meter measures the recent rate of steps.
type meter struct{ samples []sample }

type sample struct {
	at    time.Time
	steps int64
}

// add takes a sample, and drops those that the window does not need: all
// before it but one.
func (m *meter) add(at time.Time, steps int64) {
	if n := len(m.samples); n > 0 && steps < m.samples[n-1].steps {
		m.samples = m.samples[:0] // the run was rolled back
	}
	m.samples = append(m.samples, sample{at, steps})
	old := 0
	for old+1 < len(m.samples) && at.Sub(m.samples[old+1].at) >= window {
		old++
	}
	m.samples = slices.Delete(m.samples, 0, old)
}

// rate returns the speed in steps a second; NaN before there are two samples at two times.
func (m *meter) rate() float64 {
	first, last := m.samples[0], m.samples[len(m.samples)-1]
	return perSecond(last.steps-first.steps, last.at.Sub(first.at))
}

func perSecond(steps int64, d time.Duration) float64 {
	if d <= 0 {
		return math.NaN()
	}
	return float64(steps) / d.Seconds()
}
