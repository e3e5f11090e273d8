package nn

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Activation is GoMLX's: activation.TypeTanh, activation.TypeRelu and so on.
type Activation = activation.Type

// ActivationNamed returns the activation that a configuration names: "tanh", "relu",
// "silu".
func ActivationNamed(name string) (Activation, error) {
	a, err := activation.TypeString(strings.ReplaceAll(name, "_", ""))
	if err != nil {
		return 0, fmt.Errorf("no activation %q: take one of %s", name, strings.ToLower(strings.Join(activation.TypeStrings(), ", ")))
	}
	return a, nil
}

// Dense returns x times an orthogonal matrix of the given gain, plus a bias that
// starts at 0. It acts on the last axis of x, which may have any dtype.
func Dense(c *rl.Ctx, sc *model.Scope, x *Node, units int, gain float64) *Node {
	if units < 1 {
		rl.Failf("layer %s has %d units: it needs at least 1", sc.Scope(), units)
	}
	w, b := denseParams(c, sc, lastDim(x), units, gain)
	return affine(number(x), w, b)
}

func denseParams(c *rl.Ctx, sc *model.Scope, in, units int, gain float64) (w, b *Node) {
	return Param(c, sc, "weights", Orthogonal(gain), in, units), Param(c, sc, "biases", Fill(0), units)
}

// affine returns x w + b on the last axis. It is plain graph code: GoMLX's fused
// layer would compute the product again for its gradient.
func affine(x, w, b *Node) *Node {
	lead := leadDims(x)
	y := DotProduct(Reshape(x, size(lead), lastDim(x)), w)
	if b != nil {
		y = Add(y, ExpandLeftToRank(b, 2))
	}
	return Reshape(y, append(lead, lastDim(w))...)
}

// MLP is a perceptron: hidden layers with an activation, then a layer of Out
// units without. With Out 0 it ends with the last hidden layer.
type MLP struct {
	Hidden  []int
	Act     Activation // activation of the hidden layers; none means tanh
	Gain    float64    // gain of the hidden layers; 0 means the square root of 2
	Out     int
	OutGain float64 // 0 means 1; policies start well with .01
	Noise   Noise   // noise of all layers
	Norm    bool    // divide hidden layers by their root mean square before the activation
}

// Apply returns the network's output for x, [..., features].
func (m MLP) Apply(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	act := or(m.Act, activation.TypeTanh)
	for i, units := range m.Hidden {
		x = m.Noise.Dense(c, sc.At("hidden_%d", i), x, units, or(m.Gain, math.Sqrt2))
		if m.Norm {
			x = RMSNorm(c, sc.At("hidden_%d", i), x)
		}
		x = activation.Apply(act, x)
	}
	if m.Out == 0 {
		return number(x)
	}
	return m.Noise.Dense(c, sc.At("out"), x, m.Out, or(m.OutGain, 1))
}

// or returns x, or the default where x is not set.
func or[T comparable](x, otherwise T) T {
	var zero T
	if x == zero {
		return otherwise
	}
	return x
}

// number returns x as float32.
func number(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }

func lastDim(x *Node) int { return x.Shape().Dimensions[x.Rank()-1] }

// leadDims returns all dimensions but the last, in a slice of their own.
func leadDims(x *Node) []int { return append([]int(nil), x.Shape().Dimensions[:x.Rank()-1]...) }
