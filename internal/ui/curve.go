package ui

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/weft-rl/weft/internal/stat"
	"github.com/weft-rl/weft/internal/study"
)

// curve is a metric of a run.
type curve struct{ steps, seconds, y []float64 }

// axis returns the positions of its points.
func (c curve) axis(time bool) []float64 {
	if time {
		return c.seconds
	}
	return c.steps
}

// curveCache holds the curves that were read last.
type curveCache struct {
	mu     sync.Mutex
	curves map[string]cached
	tick   int64
	points int
}

type cached struct {
	curve
	of   stamp
	used int64
}

// mostPoints bounds the points of curves that are kept in memory: 24 bytes each.
const mostPoints = 4 << 20

// curve returns a metric of a run, read from its record unless it is known.
func (s *Site) curve(x *run, metric string) (curve, error) {
	key := x.ID + "\n" + metric
	if c, ok := s.curves.get(key, x.metrics); ok {
		return c, nil
	}
	quoted, err := json.Marshal(metric)
	if err != nil {
		return curve{}, err
	}
	var c curve
	name := append(quoted, ':')
	err = s.eachLine(x, func(line []byte) {
		y, ok := after(line, name)
		step, has := after(line, []byte(`"step":`))
		if !ok || !has {
			return
		}
		seconds, _ := after(line, []byte(`"seconds":`))
		c.steps, c.seconds, c.y = append(c.steps, step), append(c.seconds, seconds), append(c.y, y)
	})
	if err == nil {
		s.curves.put(key, cached{curve: c, of: x.metrics})
	}
	return c, err
}

func (c *curveCache) get(key string, of stamp) (curve, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.curves[key]
	if !ok || x.of != of {
		return curve{}, false
	}
	c.tick++
	x.used = c.tick
	c.curves[key] = x
	return x.curve, true
}

// put keeps a curve, and drops those that were used longest ago where there are too many points.
func (c *curveCache) put(key string, x cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.curves == nil {
		c.curves = map[string]cached{}
	}
	c.tick++
	x.used = c.tick
	c.points += len(x.y) - len(c.curves[key].y)
	c.curves[key] = x
	for c.points > mostPoints && len(c.curves) > 1 {
		oldest := ""
		for k, y := range c.curves {
			if oldest == "" || y.used < c.curves[oldest].used {
				oldest = k
			}
		}
		c.points -= len(c.curves[oldest].y)
		delete(c.curves, oldest)
	}
}

// line is a curve as the page draws it. Low and High are the ends of an interval, or empty.
type line struct {
	Label string    `json:"label"`
	Runs  []string  `json:"runs"`
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	Low   []float64 `json:"low,omitempty"`
	High  []float64 `json:"high,omitempty"`
}

// thin returns at most n points: of every part of the axis the lowest and the highest, so that no
// peak is lost.
func thin(x, y []float64, n int) (_, _ []float64) {
	if len(x) <= n || n < 4 {
		return x, y
	}
	parts := (n - 2) / 2
	keep := []int{0}
	for p := range parts {
		lo, hi := 1+p*(len(x)-2)/parts, 1+(p+1)*(len(x)-2)/parts
		if lo == hi {
			continue
		}
		low, high := lo, lo
		for i := lo; i < hi; i++ {
			if y[i] < y[low] {
				low = i
			}
			if y[i] > y[high] {
				high = i
			}
		}
		keep = append(keep, min(low, high))
		if low != high {
			keep = append(keep, max(low, high))
		}
	}
	keep = append(keep, len(x)-1)
	a, b := make([]float64, len(keep)), make([]float64, len(keep))
	for i, k := range keep {
		a[i], b[i] = x[k], y[k]
	}
	return a, b
}

// gridPoints is on how many points several runs are joined.
const gridPoints = 120

// intervals is how the ends of bands are estimated: with fewer samples than weft compare takes,
// since there are many points.
var intervals = stat.Bootstrap{Resamples: 400, Level: .95, Seed: 1}

// joined returns the interquartile mean of several runs with its interval, as far as all runs go.
func joined(label string, runs []*run, xs, ys [][]float64) line {
	l := line{Label: fmt.Sprintf("%s (%d runs)", label, len(runs))}
	if len(runs) == 1 {
		l.Label = label + " (1 run)"
	}
	for _, r := range runs {
		l.Runs = append(l.Runs, r.ID)
	}
	b := study.Join(xs, ys, gridPoints, intervals)
	l.X, l.Y, l.Low, l.High = b.X, b.Y, b.Low, b.High
	return l
}
