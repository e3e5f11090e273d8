package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestRelaxed: what is drawn is what Sample draws, exactly one-hot and legal, and its gradient is
// that of the softmax of the noisy logits.
func TestRelaxed(t *testing.T) {
	const rows, options, temperature = 50, 4, .5
	s := scope(t)
	type in struct{ Logits, Legal, Weight rl.Tensor }
	type out struct{ Hot, Grad rl.Tensor }
	relaxed := rl.NewFunc(s, "relaxed", func(c *rl.Ctx, x in) out {
		logits := x.Logits.Node()
		hot := nn.Categorical(logits, x.Legal).Relaxed(c, "choice", temperature)
		grad := graph.Gradient(graph.ReduceAllSum(graph.Mul(hot, x.Weight.Node())), logits)[0]
		return out{rl.Wrap(hot), rl.Wrap(grad)}
	})
	sample := rl.NewFunc(s, "sample", func(c *rl.Ctx, x in) rl.Tree {
		return nn.Categorical(x.Logits.Node(), x.Legal).Sample(c, "choice")
	})
	gumbel := rl.NewFunc(s, "gumbel", func(c *rl.Ctx, _ in) rl.Tensor { return rl.Wrap(c.Gumbel("choice", rows, 1, options)) })
	logits, weight := wave(rows*options, 0), wave(rows*options, 1)
	legal := make([]bool, rows*options)
	for i := range legal {
		legal[i] = i%options != i/options%5 // of every fifth row all are
	}
	x := in{rl.FromFlat(s, logits, rows, options), rl.FromFlat(s, legal, rows, options), rl.FromFlat(s, weight, rows, options)}
	y := relaxed.Call(rl.NewKey(5), x)
	hot, noise, grad := rl.Floats(y.Hot), rl.Floats(gumbel.Call(rl.NewKey(5), x)), rl.Floats(y.Grad)
	var want []float64
	for r, a := range rl.Read[int32](sample.Call(rl.NewKey(5), x).Leaf("")) {
		p, total, mean := make([]float64, options), 0., 0.
		for i := range options {
			at := r*options + i
			if one := int32(i) == a; hot[at] != map[bool]float64{true: 1}[one] || one && !legal[at] {
				t.Fatalf("row %d: %v is drawn, one-hot %v, legal %v", r, a, hot[r*options:at+1], legal[at])
			}
			if legal[at] {
				p[i] = math.Exp((float64(logits[at]) + noise[at]) / temperature)
			}
			total += p[i]
		}
		for i := range p {
			p[i] /= total
			mean += p[i] * float64(weight[r*options+i])
		}
		for i := range p {
			want = append(want, p[i]*(float64(weight[r*options+i])-mean)/temperature)
		}
	}
	near(t, "gradients", grad, want, 1e-5)
}
