package kernel

// GradOp is the way back through an activation, from its output y: what a product's epilogue can do with the
// gradient it has just computed.
type GradOp uint8

// The gradients.
const (
	NoGrad GradOp = iota
	TanhGrad
	LogisticGrad
	ReluGrad
)

func (o GradOp) apply(dst, g, y []float32) {
	switch o {
	case TanhGrad:
		TanhGrad32(dst, g, y)
	case LogisticGrad:
		LogisticGrad32(dst, g, y)
	case ReluGrad:
		ReluGrad32(dst, g, y)
	}
}

// TanhGrad32 writes g*(1-y*y), each operation rounded: the gradient through y = tanh(x).
func TanhGrad32(dst, g, y []float32) {
	n := min(len(dst), len(g), len(y))
	cur.tanhGrad(dst[:n], g[:n], y[:n])
}

// LogisticGrad32 writes g*(y*(1-y)), each operation rounded: the gradient through y = logistic(x).
func LogisticGrad32(dst, g, y []float32) {
	n := min(len(dst), len(g), len(y))
	cur.logisticGrad(dst[:n], g[:n], y[:n])
}

// ReluGrad32 writes g where y > 0, else +0. y may be the input or the output of the relu.
func ReluGrad32(dst, g, y []float32) {
	n := min(len(dst), len(g), len(y))
	cur.reluGrad(dst[:n], g[:n], y[:n])
}

// AddAct32 writes act(x+y), each operation rounded: Tanh, Logistic or Relu in one pass, others in two.
func AddAct32(act UnaryOp, dst, x, y []float32) {
	n := min(len(dst), len(x), len(y))
	if f := cur.addAct[act]; f != nil {
		f(dst[:n], x[:n], y[:n])
		return
	}
	Binary32(Add, dst[:n], x[:n], y[:n])
	Unary32(act, dst[:n], dst[:n])
}
