package bench

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

// convolution is one layer of the CNN: a square kernel, its channels, its stride,
// and the width of its output.
type convolution struct{ kernel, in, out, stride, side int }

// nature is the network of the DQN paper.
var nature = []convolution{{8, 4, 32, 4, 20}, {4, 32, 64, 2, 9}, {3, 64, 64, 1, 7}}

// natureWidths are its dense layers.
var natureWidths = []int{7 * 7 * 64, 512, 6}

func cnn(batch int) Workload {
	w := Workload{Kind: "cnn", Activation: "relu", Batch: batch, Pass: "gradient"}
	w.Inputs = []Input{{[]int{batch, 84, 84, 4}, 1}}
	for _, c := range nature {
		w.Inputs = append(w.Inputs, weights(c.kernel*c.kernel*c.in, c.kernel, c.kernel, c.in, c.out), bias(c.out))
	}
	w.Inputs = append(w.Inputs, dense(natureWidths)...)
	return w
}

// natureGraph returns the CNN's loss and gradients. GoMLX's gradient of a convolution
// by its input is off by one position for kernels of even size, so that it is
// taken here layer by layer, with inputGradient in between.
func (w Workload) natureGraph(xs []*Node) []*Node {
	params := xs[1:]
	ins, sums := []*Node{xs[0]}, []*Node(nil) // of each convolution: its input, and its output without activation
	for i, c := range nature {
		sum := Add(Convolve(ins[i], params[2*i]).Strides(c.stride).NoPadding().Done(), ExpandAxes(params[2*i+1], 0, 1, 2))
		ins, sums = append(ins, w.activate(sum)), append(sums, sum)
	}
	head := params[2*len(nature):]
	flat := Reshape(ins[len(nature)], -1, natureWidths[0])
	loss := ReduceAllSum(Square(w.forward(append([]*Node{flat}, head...))))
	above := Gradient(loss, append([]*Node{sums[len(nature)-1]}, head...)...)
	v, grads := above[0], above[1:]
	for i := len(nature) - 1; i >= 0; i-- {
		mine := Gradient(ReduceAllSum(Mul(sums[i], StopGradient(v))), params[2*i], params[2*i+1])
		grads = append(mine, grads...)
		if i > 0 {
			down := nature[i].inputGradient(v, params[2*i])
			v = Gradient(ReduceAllSum(Mul(ins[i], StopGradient(down))), sums[i-1])[0]
		}
	}
	return append([]*Node{loss}, grads...)
}

// inputGradient returns the gradient of a convolution without padding by its input:
// a convolution of v, spread out by the stride, with the kernel turned round.
func (c convolution) inputGradient(v, kernel *Node) *Node {
	axes := compute.ConvolveAxesConfig{
		InputBatch: 0, InputSpatial: []int{1, 2}, InputChannels: 3,
		KernelSpatial: []int{0, 1}, KernelInputChannels: 3, KernelOutputChannels: 2,
		OutputBatch: 0, OutputSpatial: []int{1, 2}, OutputChannels: 3,
	}
	edge := [2]int{c.kernel - 1, c.kernel - 1}
	return Convolve(v, Reverse(kernel, 0, 1)).AxesConfig(axes).PaddingPerDim([][2]int{edge, edge}).
		InputDilationPerAxis(c.stride, c.stride).Done()
}
