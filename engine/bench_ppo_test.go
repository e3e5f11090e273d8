package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// ppoStep returns one minibatch of PPO on CartPole: rows taken from the rollout by index, clipped
// surrogate, value loss and entropy, gradients clipped by their norm, Adam. It returns the new
// parameters, moments and the loss.
func ppoStep(obs, act, logp, adv, ret, index, step *Node, ps, ms, vs []*Node) []*Node {
	take := func(x *Node) *Node { return Gather(x, index) }
	obs, act, logp, adv, ret = take(obs), take(act), take(logp), take(adv), take(ret)
	adv = Div(Sub(adv, ReduceAllMean(adv)), AddScalar(Sqrt(ReduceAllMean(Square(Sub(adv, ReduceAllMean(adv))))), 1e-8))
	all := LogSoftmax(cartpole.forward(append([]*Node{obs}, ps[:6]...)))
	now := ReduceSum(Mul(all, OneHot(act, 2, dtypes.Float32)), -1)
	ratio := Exp(Sub(now, logp))
	surrogate := Min(Mul(ratio, adv), Mul(ClipScalar(ratio, 0.8, 1.2), adv))
	value := Squeeze(cartpole.forward(append([]*Node{obs}, ps[6:]...)), -1)
	entropy := Neg(ReduceSum(Mul(Exp(all), all), -1))
	loss := Add(Neg(ReduceAllMean(Add(surrogate, MulScalar(entropy, 0.01)))),
		MulScalar(ReduceAllMean(Square(Sub(value, ret))), 0.5))
	grads := Gradient(loss, ps...)
	norm := ScalarZero(loss.Graph(), dtypes.Float32)
	for _, g := range grads {
		norm = Add(norm, ReduceAllSum(Square(g)))
	}
	scale := MinScalar(Div(Scalar(loss.Graph(), dtypes.Float32, 0.5), AddScalar(Sqrt(norm), 1e-6)), 1)
	c1 := Sub(ScalarOne(loss.Graph(), dtypes.Float32), Pow(Scalar(loss.Graph(), dtypes.Float32, 0.9), step))
	c2 := Sub(ScalarOne(loss.Graph(), dtypes.Float32), Pow(Scalar(loss.Graph(), dtypes.Float32, 0.999), step))
	var outs [3][]*Node
	for i, g := range grads {
		g = Mul(g, scale)
		m := Add(MulScalar(ms[i], 0.9), MulScalar(g, 0.1))
		v := Add(MulScalar(vs[i], 0.999), MulScalar(Square(g), 0.001))
		p := Sub(ps[i], Div(MulScalar(Div(m, c1), 3e-4), AddScalar(Sqrt(Div(v, c2)), 1e-5)))
		outs[0], outs[1], outs[2] = append(outs[0], p), append(outs[1], m), append(outs[2], v)
	}
	return append(append(append(outs[0], outs[1]...), outs[2]...), AddScalar(step, 1), loss)
}

// ppoCall compiles the step for a rollout and a minibatch size.
func ppoCall(b testing.TB, backend *Backend, rollout, batch int) *Call {
	g := NewGraph(backend, "ppo")
	r := rand.New(rand.NewPCG(1, 2))
	var bufs []compute.Buffer
	param := func(d dtypes.DType, dims ...int) *Node {
		s := shapes.Make(d, dims...)
		buf, flat, err := backend.NewSharedBuffer(0, s)
		if err != nil {
			b.Fatal(err)
		}
		switch x := flat.(type) {
		case []float32:
			for i := range x {
				x[i] = float32(r.NormFloat64()) / 8
			}
		case []int32:
			for i := range x {
				x[i] = int32(r.IntN(map[bool]int{true: rollout, false: 2}[len(dims) == 2]))
			}
		}
		bufs = append(bufs, buf)
		return Parameter(g, s.String()+string(rune('a'+len(bufs))), s)
	}
	f := dtypes.Float32
	obs, act := param(f, rollout, 4), param(dtypes.Int32, rollout)
	logp, adv, ret := param(f, rollout), param(f, rollout), param(f, rollout)
	index, step := param(dtypes.Int32, batch, 1), param(f)
	var groups [3][]*Node
	for i := range groups {
		for _, out := range []int{2, 1} {
			for _, d := range [][]int{{4, 64}, {64}, {64, 64}, {64}, {64, out}, {out}} {
				groups[i] = append(groups[i], param(f, d...))
			}
		}
	}
	for _, v := range bufs[len(bufs)-12:] { // second moments are positive
		flat, _ := v.Data()
		for i, x := range flat.([]float32) {
			flat.([]float32)[i] = x * x
		}
	}
	if err := g.Compile(ppoStep(obs, act, logp, adv, ret, index, step, groups[0], groups[1], groups[2])...); err != nil {
		b.Fatal(err)
	}
	call, err := g.Executable().(*Executable).Bind(bufs, nil)
	if err != nil {
		b.Fatal(err)
	}
	return call
}

// carry makes the outputs of a step the inputs of the next.
func carry(call *Call) error {
	for i := range 36 {
		if err := call.Swap(7+i, i); err != nil {
			return err
		}
	}
	return call.Swap(6, 36)
}

// BenchmarkPPO measures a minibatch of 4096 of a rollout of 128 x 128, and one of 128 of 4 x 128.
func BenchmarkPPO(b *testing.B) {
	for _, size := range []struct {
		name           string
		rollout, batch int
	}{{"128x128", 16384, 4096}, {"4x128", 512, 128}} {
		b.Run(size.name, func(b *testing.B) {
			call := ppoCall(b, newBackend(b, ""), size.rollout, size.batch)
			b.ReportAllocs()
			for b.Loop() {
				if err := call.Run(); err != nil {
					b.Fatal(err)
				}
				if err := carry(call); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size.batch*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
