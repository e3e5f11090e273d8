package bench

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Workload is a computation for a backend, in float32. Python contenders get it as JSON.
type Workload struct {
	Kind       string  `json:"kind"`                 // "mlp", "cnn" or "product"
	Widths     []int   `json:"widths,omitempty"`     // mlp: of all layers; product: the side of its square matrices
	Activation string  `json:"activation,omitempty"` // between layers: "tanh" or "relu"
	Batch      int     `json:"batch,omitempty"`
	Pass       string  `json:"pass"`    // "forward", "gradient" (of all weights) or "adam" (the same, and a step)
	Threads    int     `json:"threads"` // 0 leaves the number to the contender
	Inputs     []Input `json:"inputs"`  // the batch first, then weights and biases

	// Scaling restricts the workload to contenders that run on a given number of threads.
	Scaling bool `json:"-"`
}

// on returns the workload for a contender with a number of threads; 0 leaves it open.
func (w Workload) on(threads int) (Workload, error) {
	if w.Scaling != (threads > 0) {
		return w, errNoPart
	}
	w.Threads = threads
	return w, nil
}

// Input is a tensor of numbers that every contender can compute: see values.
type Input struct {
	Dims  []int   `json:"dims"`
	Scale float32 `json:"scale"`
}

// Adam's constants. The step size is tiny because these steps repeat for as long
// as the measurement lasts: the weights must not go where numbers are denormal.
const (
	adamRate, adamEps    = 1e-6, 1e-8
	adamBeta1, adamBeta2 = .9, .999
)

func mlp(widths []int, activation string, batch int, pass string) Workload {
	w := Workload{Kind: "mlp", Widths: widths, Activation: activation, Batch: batch, Pass: pass}
	w.Inputs = append([]Input{{[]int{batch, widths[0]}, 1}}, dense(widths)...)
	return w
}

func product(side int) Workload {
	in := Input{[]int{side, side}, 1}
	return Workload{Kind: "product", Widths: []int{side}, Pass: "forward", Inputs: []Input{in, in}}
}

// dense returns the weights and biases of dense layers.
func dense(widths []int) (out []Input) {
	for i, n := range widths[1:] {
		out = append(out, weights(widths[i], widths[i], n), bias(n))
	}
	return out
}

// weights returns uniform weights with the variance that keeps activations as large as inputs.
func weights(fanIn int, dims ...int) Input {
	return Input{dims, float32(math.Sqrt(12 / float64(fanIn)))}
}

func bias(n int) Input { return Input{[]int{n}, .1} }

// values returns pseudo-random numbers between -scale/2 and scale/2, exact in
// float32 up to the last multiplication.
func (x Input) values(seed int) []float32 {
	out := make([]float32, shapes.Make(dtypes.Float32, x.Dims...).Size())
	for i := range out {
		out[i] = (float32(scramble(uint32(i), uint32(seed))>>8)/(1<<24) - .5) * x.Scale
	}
	return out
}

// scramble returns an integer hash that NumPy can compute too.
func scramble(i, seed uint32) uint32 {
	h := i*0x9E3779B1 + (seed+1)*0x85EBCA6B
	h = (h ^ h>>15) * 0x2C1B3C6D
	h = (h ^ h>>12) * 0x297A2D39
	return h ^ h>>15
}

// FLOP counts multiplications and additions of the matrix products: forward two
// for a weight and a row, forward and backward six, as if the batch had a
// gradient too. Activations and optimisers are free.
func (w Workload) FLOP() float64 {
	total, rows := 0., float64(w.Batch)
	widths := w.Widths
	switch w.Kind {
	case "product":
		return 2 * math.Pow(float64(widths[0]), 3)
	case "cnn":
		widths = natureWidths
		for _, c := range nature {
			total += float64(c.side * c.side * c.kernel * c.kernel * c.in * c.out)
		}
	}
	for i, n := range widths[1:] {
		total += float64(widths[i] * n)
	}
	if w.Pass == "forward" {
		return 2 * total * rows
	}
	return 6 * total * rows
}

// args returns all inputs of the graph: with Adam, its two moments and its clock
// stand behind the weights.
func (w Workload) args() []Input {
	args := append([]Input(nil), w.Inputs...)
	if w.Pass != "adam" {
		return args
	}
	for range 2 {
		for _, x := range w.Inputs[1:] {
			args = append(args, Input{x.Dims, 0})
		}
	}
	return append(args, Input{})
}

// feeds reports whether output i is input i of the next run, for all but the first.
func (w Workload) feeds() bool { return w.Pass == "adam" }

// graph returns the work as a GoMLX graph.
func (w Workload) graph(xs []*Node) []*Node {
	n := len(w.Inputs)
	switch {
	case w.Kind == "product":
		return []*Node{Dot(xs[0], xs[1]).Product()}
	case w.Kind == "cnn":
		return w.natureGraph(xs)
	case w.Pass == "forward":
		return []*Node{w.forward(xs)}
	}
	loss := ReduceAllSum(Square(w.forward(xs[:n])))
	grads := Gradient(loss, xs[1:n]...)
	if w.Pass == "adam" {
		return append([]*Node{loss}, adam(xs[1:], grads)...)
	}
	return append([]*Node{loss}, grads...)
}

// forward applies dense layers with these weights and biases to the batch.
func (w Workload) forward(xs []*Node) *Node {
	h, rest := xs[0], xs[1:]
	for ; len(rest) > 0; rest = rest[2:] {
		h = Add(Dot(h, rest[0]).Product(), ExpandAxes(rest[1], 0))
		if len(rest) > 2 {
			h = w.activate(h)
		}
	}
	return h
}

func (w Workload) activate(x *Node) *Node {
	switch w.Activation {
	case "tanh":
		return Tanh(x)
	case "relu":
		return MaxScalar(x, 0)
	}
	panic(fmt.Errorf("activation %q", w.Activation))
}

// adam returns weights, first moments, second moments and the clock after a step.
func adam(state, grads []*Node) []*Node {
	n := len(grads)
	t := AddScalar(state[3*n], 1)
	decay := func(beta float64) *Node { return OneMinus(Pow(Scalar(t.Graph(), t.DType(), beta), t)) }
	rate, root := MulScalar(Reciprocal(decay(adamBeta1)), adamRate), Sqrt(decay(adamBeta2))
	out := make([]*Node, 3*n+1)
	for i, g := range grads {
		m := Add(MulScalar(state[n+i], adamBeta1), MulScalar(g, 1-adamBeta1))
		v := Add(MulScalar(state[2*n+i], adamBeta2), MulScalar(Square(g), 1-adamBeta2))
		step := Div(Mul(m, rate), AddScalar(Div(Sqrt(v), root), adamEps))
		out[i], out[n+i], out[2*n+i] = Sub(state[i], step), m, v
	}
	out[3*n] = t
	return out
}
