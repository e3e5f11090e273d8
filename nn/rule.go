package nn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// The rules are PyTorch's, operation for operation, so that published settings
// mean the same here.

// Adam is the rule of Kingma and Ba (2015), and with Decay that of Loshchilov
// and Hutter (2019), AdamW. Fields that are 0 have their default.
type Adam struct {
	Beta1 float64 // decay of the mean; default .9
	Beta2 float64 // decay of the mean square; default .999
	Eps   float64 // added to the root; default 1e-8, and 1e-5 is usual for PPO
	Decay float64 // decay of the weights, times the learning rate; default none
}

// Slots returns the running mean and mean square.
func (Adam) Slots() []string { return []string{"mean", "square"} }

// Update returns one step.
func (r Adam) Update(p, g *Node, s []*Node, lr, count *Node) (*Node, []*Node) {
	b1, b2, eps := or(r.Beta1, .9), or(r.Beta2, .999), or(r.Eps, 1e-8)
	// The corrections are close to 1 or to 0: float32 would lose digits there.
	rate := number(Div(ConvertDType(lr, dtypes.Float64), correction(b1, count)))
	root := number(Sqrt(correction(b2, count)))
	m, v := average(b1, s[0], g), average(b2, s[1], Square(g))
	if r.Decay != 0 {
		p = Mul(p, OneMinus(MulScalar(lr, r.Decay)))
	}
	denominator := AddScalar(Div(Sqrt(v), root), eps)
	return Sub(p, Mul(rate, Div(m, denominator))), []*Node{m, v}
}

// correction returns 1-beta^count: what a running average that began at 0 has seen.
func correction(beta float64, count *Node) *Node {
	return OneMinus(Pow(ConstAs(count, beta), count))
}

// average returns the running average of x.
func average(beta float64, old, x *Node) *Node {
	return Add(MulScalar(old, beta), MulScalar(x, 1-beta))
}

// SGD is gradient descent. With Momentum it follows the decaying sum of
// gradients; with Nesterov that sum as it will be one step ahead.
type SGD struct {
	Momentum float64 // default none
	Nesterov bool
}

// Slots returns the sum of gradients, if there is momentum.
func (r SGD) Slots() []string {
	if r.Momentum == 0 {
		return nil
	}
	return []string{"momentum"}
}

// Update returns one step.
func (r SGD) Update(p, g *Node, s []*Node, lr, _ *Node) (*Node, []*Node) {
	if r.Momentum == 0 {
		return Sub(p, Mul(lr, g)), s
	}
	sum := Add(MulScalar(s[0], r.Momentum), g)
	step := sum
	if r.Nesterov {
		step = Add(g, MulScalar(sum, r.Momentum))
	}
	return Sub(p, Mul(lr, step)), []*Node{sum}
}

// RMSProp divides gradients by the root of their running mean square (Hinton,
// 2012), without correcting that it began at 0, and with Eps added outside the
// root. Fields that are 0 have their default.
type RMSProp struct {
	Alpha    float64 // decay of the mean square; default .99
	Eps      float64 // default 1e-8
	Momentum float64 // default none
	Centered bool    // divide by the deviation, not by the root mean square
}

// Slots returns the mean square, then what the options ask for.
func (r RMSProp) Slots() []string {
	names := []string{"square"}
	if r.Centered {
		names = append(names, "mean")
	}
	if r.Momentum != 0 {
		names = append(names, "momentum")
	}
	return names
}

// Update returns one step.
func (r RMSProp) Update(p, g *Node, s []*Node, lr, _ *Node) (*Node, []*Node) {
	alpha, eps := or(r.Alpha, .99), or(r.Eps, 1e-8)
	square := average(alpha, s[0], Square(g))
	next, spread := []*Node{square}, square
	if r.Centered {
		mean := average(alpha, s[1], g)
		next = append(next, mean)
		// Not below 0, where rounding takes a steady gradient's variance.
		spread = MaxScalar(Sub(square, Square(mean)), 0.0)
	}
	step := Div(g, AddScalar(Sqrt(spread), eps))
	if r.Momentum != 0 {
		step = Add(MulScalar(s[len(s)-1], r.Momentum), step)
		next = append(next, step)
	}
	return Sub(p, Mul(lr, step)), next
}

// ClipNorm scales gradients down so that their norm, over all parameters
// together, is at most Max, and then follows Rule.
type ClipNorm struct {
	Max  float64 // 0 means no clipping
	Rule rl.Rule // nil means Adam{}
}

func (r ClipNorm) rule() rl.Rule {
	if r.Rule == nil {
		return Adam{}
	}
	return r.Rule
}

// Slots returns the inner rule's.
func (r ClipNorm) Slots() []string { return r.rule().Slots() }

// Update returns one step.
func (r ClipNorm) Update(p, g *Node, s []*Node, lr, count *Node) (*Node, []*Node) {
	if r.Max > 0 {
		// What is added keeps 0/0 away; it is PyTorch's.
		norm := AddScalar(Sqrt(ReduceAllSum(Square(g))), 1e-6)
		g = Mul(g, MinScalar(Div(ConstAs(norm, r.Max), norm), 1.0))
	}
	return r.rule().Update(p, g, s, lr, count)
}
