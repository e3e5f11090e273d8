package kernel

// TanhGrad32 writes g*(1-y*y), each operation rounded: the gradient through y = tanh(x).
func TanhGrad32(dst, g, y []float32) {
	n := min(len(dst), len(g), len(y))
	cur.tanhGrad(dst[:n], g[:n], y[:n])
}

// AddAct32 writes act(x+y), each operation rounded: Tanh, Logistic or Relu in one pass, others in
// two.
func AddAct32(act UnaryOp, dst, x, y []float32) {
	n := min(len(dst), len(x), len(y))
	if f := cur.addAct[act]; f != nil {
		f(dst[:n], x[:n], y[:n])
		return
	}
	Binary32(Add, dst[:n], x[:n], y[:n])
	Unary32(act, dst[:n], dst[:n])
}
