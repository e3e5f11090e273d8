package rl

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// The estimators take tensors [env, time], or [env, time, agent]: rewards; values of the states
// acted in; next, values of the states reached, *before any reset* (at a truncation the value of
// the final observation, at a termination anything); term, where an episode terminated; done, where
// it terminated or was truncated. A termination cuts the bootstrap, the end of an episode cuts the
// sum: to mistake one for the other biases every value near a time limit.

// GAE returns the generalised advantage estimate (Schulman et al., 2016), and the
// returns that it implies: adv + value.
//
//weft:op batch rows
func GAE(gamma, lambda float64, reward, value, next, term, done Tensor) (adv, ret Tensor) {
	in := []Tensor{reward, value, next, term, done}
	out := estimate("gae", []float64{gamma, gamma * lambda}, in, func(far bool, p []*graph.Node, in []Tensor) []*graph.Node {
		r, v := in[0].Node(), in[1].Node()
		sameEpisode := not(in[4].Node())
		delta := graph.Sub(graph.Add(r, graph.Mul(beyond(in[2], in[3]), p[0])), v)
		decay := graph.Mul(sameEpisode, p[1])
		adv := backward(far, delta, decay)
		return []*graph.Node{adv, graph.Add(adv, v)}
	})
	return out[0], out[1]
}

// NStep returns the n-step return: n rewards, then the value of the state reached,
// or less where the episode ends or the batch does.
//
//weft:op batch rows
func NStep(gamma float64, n int, reward, next, term, done Tensor) Tensor {
	in := []Tensor{reward, next, term, done}
	return estimate(fmt.Sprintf("nstep %d", n), []float64{gamma}, in, func(far bool, p []*graph.Node, in []Tensor) []*graph.Node {
		r, sameEpisode := in[0].Node(), not(in[3].Node())
		boot := graph.Mul(beyond(in[1], in[2]), p[0])
		one := graph.Add(r, boot) // the one-step return
		ret := one
		time := r.Shape().Dimensions[1]
		for range min(n, time) - 1 {
			// One step more: the reward, then the shorter return from the next
			// step, unless the episode or the batch ends here.
			longer := graph.Add(r, graph.Mul(shiftLeft(ret, 1), p[0]))
			last := graph.Sub(graph.OnesLike(r), lastColumn(r))
			keep := graph.Mul(sameEpisode, last)
			ret = graph.Add(graph.Mul(keep, longer), graph.Mul(graph.OneMinus(keep), one))
		}
		return []*graph.Node{ret}
	})[0]
}

// Lambda returns the lambda-return: a mixture of n-step returns that weighs the next
// value by 1-lambda at every step.
//
//weft:op batch rows
func Lambda(gamma, lambda float64, reward, next, term, done Tensor) Tensor {
	in := []Tensor{reward, next, term, done}
	return estimate("lambda", []float64{gamma, lambda}, in, func(far bool, p []*graph.Node, in []Tensor) []*graph.Node {
		r, v, sameEpisode := in[0].Node(), beyond(in[1], in[2]), not(in[3].Node())
		last := lastColumn(r)
		// At the end of an episode or of the batch all the weight is on the value.
		carried := graph.Mul(graph.Mul(sameEpisode, graph.OneMinus(last)), p[1])
		base := graph.Add(r, graph.Mul(graph.Mul(v, graph.OneMinus(carried)), p[0]))
		decay := graph.Mul(carried, p[0])
		return []*graph.Node{backward(far, base, decay)}
	})[0]
}

// VTrace returns the off-policy corrected value target and policy-gradient advantage
// of IMPALA (Espeholt et al., 2018, section 4.1), with importance ratios
// exp(logRatio) clipped at rho for the values and at c for the traces.
//
//weft:op batch rows
func VTrace(gamma, lambda, rho, c float64, logRatio, reward, value, next, term, done Tensor) (target, adv Tensor) {
	in := []Tensor{logRatio, reward, value, next, term, done}
	out := estimate("vtrace", []float64{gamma, gamma * lambda, rho, c}, in, func(far bool, p []*graph.Node, in []Tensor) []*graph.Node {
		gamma, decay, rho, c := p[0], p[1], p[2], p[3]
		ratio, r, v := graph.Exp(in[0].Node()), in[1].Node(), in[2].Node()
		nextValue := beyond(in[3], in[4])
		sameEpisode := not(in[5].Node())
		clipped := graph.Min(ratio, rho)
		delta := graph.Mul(clipped, graph.Sub(graph.Add(r, graph.Mul(nextValue, gamma)), v))
		trace := graph.Mul(graph.Mul(graph.Min(ratio, c), decay), sameEpisode)
		diff := backward(far, delta, trace)
		target := graph.Add(v, diff)
		// The advantage bootstraps from the corrected target of the next state,
		// where there is one in the batch.
		inside := graph.Mul(sameEpisode, graph.OneMinus(lastColumn(r)))
		boot := graph.Add(graph.Mul(inside, shiftLeft(target, 1)), graph.Mul(graph.OneMinus(inside), nextValue))
		adv := graph.Mul(clipped, graph.Sub(graph.Add(r, graph.Mul(boot, gamma)), v))
		return []*graph.Node{target, adv}
	})
	return out[0], out[1]
}

// estimate returns op for tensors that must all be [env, time, ...] alike: a column
// would be broadcast silently. Numbers that a schedule may change are inputs of the
// program like any other, so that it is compiled once.
func estimate(name string, numbers []float64, in []Tensor, build func(far bool, p []*graph.Node, in []Tensor) []*graph.Node) []Tensor {
	for i, t := range in {
		if t.Shape().Rank() < 2 || !slices.Equal(t.Shape().Dimensions, in[0].Shape().Dimensions) {
			failf("%s: tensor %d has shape %s, the first %s; all are [env, time] or [env, time, agent]", name, i+1, t.Shape(), in[0].Shape())
		}
	}
	all := slices.Clone(in)
	for _, x := range numbers {
		all = append(all, Scalar(x))
	}
	return op(name, all, func(c *Ctx, all []Tensor) []Tensor {
		var out []Tensor
		for _, n := range build(!c.dev.shared, nodes(all[len(in):]), all[:len(in)]) {
			out = append(out, Wrap(n))
		}
		return out
	})
}

func nodes(in []Tensor) []*graph.Node {
	out := make([]*graph.Node, len(in))
	for i, t := range in {
		out[i] = t.Node()
	}
	return out
}

// beyond returns the value of the state reached, 0 where the episode terminated,
// whatever next holds there.
func beyond(next, term Tensor) *graph.Node {
	return graph.Where(term.Node(), graph.ZerosLike(next.Node()), next.Node())
}

// backward returns the recurrence x[t] = base[t] + decay[t] x[t+1] from the last column
// to the first, with 0 after the end. On a device that is far, where every column
// would be a kernel of its own, sums are taken over twice as many columns in every
// round instead: the same numbers but for rounding.
func backward(far bool, base, decay *graph.Node) *graph.Node {
	time := base.Shape().Dimensions[1]
	if far {
		for d := 1; d < time; d *= 2 {
			base = graph.Add(base, graph.Mul(decay, shiftLeft(base, d)))
			decay = graph.Mul(decay, shiftLeft(decay, d))
		}
		return base
	}
	columns := make([]*graph.Node, time)
	carry := graph.ZerosLike(at(base, 0))
	for t := time - 1; t >= 0; t-- {
		carry = graph.Add(at(base, t), graph.Mul(at(decay, t), carry))
		columns[t] = carry
	}
	return graph.Concatenate(columns, 1)
}

// at returns column t of [env, time], as [env, 1].
func at(x *graph.Node, t int) *graph.Node {
	return graph.SliceAxis(x, 1, graph.AxisRange(t, t+1))
}

// shiftLeft moves [env, time] so many steps to the left and puts 0 at the end.
func shiftLeft(x *graph.Node, steps int) *graph.Node {
	if x.Shape().Dimensions[1] <= steps {
		return graph.ZerosLike(x)
	}
	zero := graph.ZerosLike(graph.SliceAxis(x, 1, graph.AxisRange(0, steps)))
	return graph.Concatenate([]*graph.Node{graph.SliceAxis(x, 1, graph.AxisRange(steps)), zero}, 1)
}

// lastColumn returns 1 in the last column and 0 elsewhere.
func lastColumn(x *graph.Node) *graph.Node {
	t := graph.Iota(x.Graph(), x.Shape(), 1)
	return graph.ConvertDType(graph.Equal(t, graph.ConstAs(t, x.Shape().Dimensions[1]-1)), x.DType())
}

// not returns 1 where a bool is false.
func not(b *graph.Node) *graph.Node {
	return graph.ConvertDType(graph.LogicalNot(b), dtypes.Float32)
}
