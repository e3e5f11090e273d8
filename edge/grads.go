package edge

import "github.com/weft-rl/weft/rl"

// gradient is a replica's part of one, on its way.
type gradient struct {
	Of     []string
	Weight rl.Tensor
	Sums   []rl.Tensor
}

func (x *X) handOver(edge int, g rl.Grads) gradient {
	out := gradient{Of: rl.System.GradsOf(g)}
	out.Weight, out.Sums = rl.System.HandGrads(g)
	if scribble {
		out.Sums = moved(out.Sums)
	}
	x.weigh(edge, out.Sums)
	return out
}

// Reduce sends this replica's part of a gradient; the other end is Reduced.
func Reduce(x *X, edge int, g rl.Grads) {
	defer x.pass(edge).done()
	toAll(x, edge, x.stamp(edge, Message{}), x.handOver(edge, g))
}

// Reduced returns the sum of all replicas' gradients, in rank order, for the receiver's
// own parameters. In an asynchronous run it is one replica's: they are applied as
// they arrive.
func Reduced(x *X, edge int) rl.Grads {
	defer x.pass(edge).done()
	from := x.ends[edge].from
	if x.loose(edge) {
		return x.gradient(edge)
	}
	parts := make([]gradient, x.replicas(from))
	for r := range parts {
		parts[r] = valueOf[gradient](x.receive(edge, x.top.Number(from, r)))
	}
	return x.sum(parts)
}

// AllReduce returns the sum of all replicas' gradients, in rank order. In an
// asynchronous run every replica is on its own.
func AllReduce(x *X, edge int, g rl.Grads) rl.Grads {
	defer x.pass(edge).done()
	k := x.replicas(x.group)
	if k == 1 || x.top.Async != nil {
		return g
	}
	mine := x.handOver(edge, g)
	first := x.top.Number(x.group, 0)
	if !x.First() {
		x.send(edge, first, Message{Value: mine})
		return x.sum([]gradient{valueOf[gradient](x.receive(edge, first))})
	}
	parts := []gradient{mine}
	for r := 1; r < k; r++ {
		parts = append(parts, valueOf[gradient](x.receive(edge, x.top.Number(x.group, r))))
	}
	total := x.sum(parts)
	for r := 1; r < k; r++ {
		x.send(edge, x.top.Number(x.group, r), Message{Value: cloned(total)})
	}
	return total
}

func (x *X) sum(parts []gradient) rl.Grads {
	weights, sums := make([]rl.Tensor, len(parts)), make([][]rl.Tensor, len(parts))
	for i, p := range parts {
		weights[i], sums[i] = p.Weight, p.Sums
	}
	return rl.System.AddGrads(x.scope, parts[0].Of, weights, sums)
}

// cloned returns a copy in memory of its own, because whoever applies gradients uses
// their memory again.
func cloned(g rl.Grads) gradient {
	weight, sums := rl.System.GradParts(g)
	out := gradient{Of: rl.System.GradsOf(g), Weight: weight, Sums: make([]rl.Tensor, len(sums))}
	for i, t := range sums {
		out.Sums[i] = rl.System.Clone(t)
	}
	return out
}
