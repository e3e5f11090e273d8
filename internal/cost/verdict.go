package cost

import (
	"math"
	"slices"
)

// Compared is a plan's predicted and measured seconds of an iteration.
type Compared struct {
	Workload  string  `json:"workload"`
	Policy    string  `json:"policy"`
	Workers   int     `json:"workers"`
	Pipeline  bool    `json:"pipeline,omitempty"`
	Predicted float64 `json:"predicted"`
	Measured  float64 `json:"measured"`
}

// Error returns how far the prediction is off, as a part of what was measured.
func (c Compared) Error() float64 { return math.Abs(c.Predicted-c.Measured) / c.Measured }

// Verdict is how good predictions are.
type Verdict struct {
	Plans        int     `json:"plans"`
	Median       float64 `json:"median_error"`
	Ninetieth    float64 `json:"ninetieth_error"`
	Pairs        int     `json:"pairs"`   // of plans of one workload whose measured times differ by more than 5 %
	Ordered      float64 `json:"ordered"` // part of these pairs that was predicted in the order as measured
	MedianRegret float64 `json:"median_regret"`
	WorstRegret  float64 `json:"worst_regret"`
}

// apartBy is by how much the times of two plans must differ to have an order.
const apartBy = 1.05

// Judge compares predictions with measurements. The regret of a workload is how much longer the
// plan that was predicted to be the fastest takes than the one that is.
func Judge(all []Compared) (v Verdict) {
	var errs, regrets []float64
	ordered := 0
	by, names := map[string][]Compared{}, []string(nil)
	for _, c := range all {
		errs = append(errs, c.Error())
		if by[c.Workload] == nil {
			names = append(names, c.Workload)
		}
		by[c.Workload] = append(by[c.Workload], c)
	}
	for _, name := range names {
		list := by[name]
		for i, a := range list {
			for _, b := range list[:i] {
				if max(a.Measured, b.Measured) < apartBy*min(a.Measured, b.Measured) {
					continue
				}
				v.Pairs++
				if a.Predicted < b.Predicted == (a.Measured < b.Measured) {
					ordered++
				}
			}
		}
		regrets = append(regrets, regret(list))
	}
	v.Plans, v.Ordered = len(all), 1
	if v.Pairs > 0 {
		v.Ordered = float64(ordered) / float64(v.Pairs)
	}
	v.Median, v.Ninetieth = quantile(errs, .5), quantile(errs, .9)
	v.MedianRegret, v.WorstRegret = quantile(regrets, .5), quantile(regrets, 1)
	return v
}

// regret returns how much longer the predicted best takes than the measured best.
func regret(list []Compared) float64 {
	taken, best := list[0], list[0].Measured
	for _, c := range list {
		best = min(best, c.Measured)
		if c.Predicted < taken.Predicted {
			taken = c
		}
	}
	return taken.Measured/best - 1
}

// quantile returns the smallest value that at least the part q of all does not exceed.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	order := slices.Sorted(slices.Values(values))
	return order[min(len(order)-1, max(0, int(math.Ceil(q*float64(len(order))))-1))]
}
