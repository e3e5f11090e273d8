package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Conv is one layer of a CNN: a square kernel without padding.
type Conv struct{ Channels, Kernel, Stride int }

// CNN is layers of convolutions, then one dense layer, all with an activation.
type CNN struct {
	Layers []Conv
	Units  int        // units of the dense layer; 0 leaves it out and gives flat features
	Act    Activation // none means relu
	Gain   float64    // 0 means the square root of 2
	Noise  Noise      // noise of the dense layer
}

// NatureCNN is the network of Mnih et al. (2015) for stacked Atari frames.
var NatureCNN = CNN{Layers: []Conv{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}}, Units: 512}

// SmallCNN is the network of Young and Tian (2019) for MinAtar's 10x10 pictures.
var SmallCNN = CNN{Layers: []Conv{{16, 3, 1}}, Units: 128}

// CNNFor returns the network for pictures of a height and width: NatureCNN where its layers fit,
// and SmallCNN for smaller ones.
func CNNFor(height, width int) CNN {
	if NatureCNN.fits(height) && NatureCNN.fits(width) {
		return NatureCNN
	}
	return SmallCNN
}

// fits reports whether every kernel fits into what the layer before it leaves of a side.
func (n CNN) fits(side int) bool {
	for _, l := range n.Layers {
		if side < l.Kernel {
			return false
		}
		side = (side-l.Kernel)/l.Stride + 1
	}
	return true
}

// Apply returns the features of images x, [..., height, width, channels]. Bytes are
// scaled from 0..255 to 0..1; other numbers are taken as they are.
func (n CNN) Apply(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	if x.Rank() < 4 {
		rl.Failf("a CNN needs images [rows..., height, width, channels], not %s", x.Shape())
	}
	dims := x.Shape().Dimensions
	lead, image := append([]int(nil), dims[:len(dims)-3]...), dims[len(dims)-3:]
	x = Reshape(pixels(x), append([]int{size(lead)}, image...)...)
	for i, l := range n.Layers {
		x = n.activate(l.apply(c, sc.At("conv_%d", i), x, or(n.Gain, math.Sqrt2)))
	}
	x = Reshape(x, append(lead, size(x.Shape().Dimensions[1:]))...)
	if n.Units == 0 {
		return x
	}
	return n.activate(n.Noise.Dense(c, sc.At("dense"), x, n.Units, or(n.Gain, math.Sqrt2)))
}

func (n CNN) activate(x *Node) *Node {
	return activation.Apply(or(n.Act, activation.TypeRelu), x)
}

// apply convolves [rows, height, width, channels].
func (l Conv) apply(c *rl.Ctx, sc *model.Scope, x *Node, gain float64) *Node {
	d := x.Shape().Dimensions
	if l.Channels < 1 || l.Kernel < 1 || l.Stride < 1 {
		rl.Failf("layer %s: channels %d, kernel %d and stride %d must be at least 1", sc.Scope(), l.Channels, l.Kernel, l.Stride)
	}
	if l.Kernel > min(d[1], d[2]) {
		rl.Failf("layer %s: a kernel of %d does not fit into %dx%d: use larger images or fewer layers", sc.Scope(), l.Kernel, d[1], d[2])
	}
	w := Param(c, sc, "weights", Orthogonal(gain), l.Kernel, l.Kernel, d[3], l.Channels)
	b := Param(c, sc, "biases", Fill(0), l.Channels)
	x, w = oddSized(x, w)
	return Add(Convolve(x, w).Strides(l.Stride).NoPadding().Done(), ExpandLeftToRank(b, 4))
}

// oddSized returns images and a kernel with a row and a column of zeros added at the
// end where the kernel's size is even, which changes nothing of the result:
// GoMLX v0.28.1 takes the gradient by the input of an even-sized convolution at
// positions that are off by one.
func oddSized(x, w *Node) (_, _ *Node) {
	if w.Shape().Dimensions[0]%2 == 1 {
		return x, w
	}
	grow := func(x *Node, axis int) *Node { return GrowRight(GrowRight(x, axis, 1, 0), axis+1, 1, 0) }
	return grow(x, 1), grow(w, 0)
}

// pixels returns numbers for the network: bytes from 0 to 1.
func pixels(x *Node) *Node {
	if x.DType() == dtypes.Uint8 {
		return MulScalar(number(x), 1.0/255)
	}
	return number(x)
}
