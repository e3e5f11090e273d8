package nn

import (
	"math"

	"github.com/weft-rl/weft/rl"
)

// Schedule is a setting that changes as a run goes on: a function of the part of
// the budget that is done, from 0 to 1.
//
//	opt.Apply(g, lr(run.Progress()))
//
//weft:pure
type Schedule func(progress float64) float64

// Constant returns x throughout.
//
//weft:pure
func Constant(x float64) Schedule { return func(float64) float64 { return x } }

// Linear goes straight from one value to another.
//
//weft:pure
func Linear(from, to float64) Schedule {
	return func(p float64) float64 { return from + (to-from)*unit(p) }
}

// Cosine goes from one value to another, slowly at both ends (Loshchilov and
// Hutter, 2017).
//
//weft:pure
func Cosine(from, to float64) Schedule {
	return func(p float64) float64 { return to + (from-to)*(1+math.Cos(math.Pi*unit(p)))/2 }
}

// Point is a value at a part of the budget.
type Point struct{ At, X float64 }

// Piecewise goes straight from point to point, and stays at the first before it
// and at the last after it. Points are in the order of At; two with the same At
// are a jump, and the later one holds there.
//
//weft:pure
func Piecewise(points ...Point) Schedule {
	if len(points) == 0 {
		rl.Failf("a piecewise schedule needs at least one point")
	}
	for i := 1; i < len(points); i++ {
		if !(points[i].At >= points[i-1].At) {
			rl.Failf("point %d of a schedule is at %g, after one at %g: give them in order", i, points[i].At, points[i-1].At)
		}
	}
	return func(p float64) float64 {
		last := len(points) - 1
		for i := last; i >= 0; i-- {
			a := points[i]
			switch {
			case p < a.At:
				continue
			case i == last:
				return a.X
			}
			b := points[i+1]
			return a.X + (b.X-a.X)*(p-a.At)/(b.At-a.At)
		}
		return points[0].X
	}
}

// Warmup returns s, scaled by a factor that rises from from to 1 over the first part
// of the budget.
//
//weft:pure
func Warmup(part, from float64, s Schedule) Schedule {
	return func(p float64) float64 {
		if p >= part {
			return s(p)
		}
		return s(p) * (from + (1-from)*unit(p/part))
	}
}

// unit returns p kept between 0 and 1.
func unit(p float64) float64 { return min(1, max(0, p)) }
