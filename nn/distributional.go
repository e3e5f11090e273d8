package nn

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// Distributional says what value networks predict of returns, as settings for an algorithm to
// embed: their mean, or their distribution.
type Distributional struct {
	Distribution string  `default:"none" oneof:"none categorical quantile" doc:"what is learnt of returns: none is their mean, categorical the probabilities of fixed values, quantile their quantiles"`
	Atoms        int     `default:"51" unit:"values" range:"[2,)" doc:"values that a categorical distribution is over"`
	VMin         float64 `default:"-10" doc:"the smallest of them: no return should be less"`
	VMax         float64 `default:"10" doc:"the largest of them: no return should be more"`
	Quantiles    int     `default:"200" unit:"quantiles" range:"[1,)" doc:"quantiles that are learnt"`
}

// Validate finds settings that do not go together.
func (d Distributional) Validate() error {
	if d.Distribution == "categorical" && !(d.VMin < d.VMax) {
		return fmt.Errorf("v_min: %g is not below v_max %g", d.VMin, d.VMax)
	}
	return nil
}

// Numbers returns how many numbers describe the return of a choice: 1 if only the mean is learnt.
func (d Distributional) Numbers() int {
	switch d.Distribution {
	case "categorical":
		return d.Atoms
	case "quantile":
		return d.Quantiles
	}
	return 1
}

func (d Distributional) atoms() Atoms { return Atoms{d.Atoms, d.VMin, d.VMax} }

// Mean returns the means of predictions, [..., Numbers], without their last axis. If only means are
// learnt there is no such axis, and predictions are returned as they are.
func (d Distributional) Mean(z *Node) *Node {
	switch d.Distribution {
	case "categorical":
		return d.atoms().Mean(z)
	case "quantile":
		return ReduceMean(z, -1)
	}
	return z
}

// Loss returns, row by row, how far predictions z are from reward + discount next, next being
// predictions too, which are held fixed: the squared error of means, or Huber's loss if delta is
// not 0; the divergence of probabilities; the quantile loss. size is what priorities go by: the
// absolute error of means, otherwise the loss itself.
func (d Distributional) Loss(z, reward, discount, next *Node, delta float64) (loss, size *Node) {
	switch d.Distribution {
	case "categorical":
		loss = KL(StopGradient(d.atoms().Project(Softmax(next, -1), reward, discount)), z)
		return loss, loss
	case "quantile":
		goal := Add(ExpandAxes(reward, -1), Mul(ExpandAxes(discount, -1), next))
		loss = QuantileHuber(z, StopGradient(goal), delta)
		return loss, loss
	}
	td := Sub(z, StopGradient(Add(reward, Mul(discount, next))))
	if delta > 0 {
		return Huber(td, delta), Abs(td)
	}
	return Square(td), Abs(td)
}
