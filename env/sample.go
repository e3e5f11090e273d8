package env

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/weft-rl/weft/rl"
)

// Sample returns a random legal action for every agent of a batch: uniform over what is legal or
// bounded, normal or exponential where a bound is missing. An environment's action depends only on
// the key, its global index and the kind of agent.
//
//weft:refuse sample actions in a graph function, by the draws of its rl.Ctx
func Sample(s *rl.Scope, spec Spec, obs rl.Obs, k rl.Key) rl.Tree {
	if k = k.At(spec.First); spec.Kind != "" {
		k = k.Use(spec.Kind)
	}
	var names []string
	var leaves []rl.Tensor
	for _, l := range spec.Action.Leaves() {
		var legal []bool
		if spec.Masked && rl.Choices(l.Space) > 0 {
			legal = rl.Read[bool](obs.Legal.Leaf(l.Name))
		}
		shape := batched(spec, l.Space.Shape())
		flat := dtypes.MakeAnySlice(shape.DType, shape.Size())
		sampler{l.Space, k.Use(l.Name), l.Space.Shape().Size(), spec.agents()}.fill(flat, legal)
		names, leaves = append(names, l.Name), append(leaves, s.Device().Tensor(flat, shape))
	}
	return rl.NewTree(names, leaves)
}

// SampleGroups does what Sample does for every kind of agent.
//
//weft:refuse sample actions in a graph function, by the draws of its rl.Ctx
func SampleGroups(s *rl.Scope, specs []Spec, obs []rl.Obs, k rl.Key) []rl.Tree {
	out := make([]rl.Tree, len(specs))
	for i, spec := range specs {
		out[i] = Sample(s, spec, obs[i], k)
	}
	return out
}

// sampler draws the values of a simple space.
type sampler struct {
	space  rl.Space
	key    rl.Key
	size   int // numbers of one value
	agents int
}

func (p sampler) fill(flat any, legal []bool) {
	switch x := flat.(type) {
	case []int32:
		fill(x, func(i int) int32 { return int32(p.whole(i, legal)) })
	case []int64:
		fill(x, func(i int) int64 { return int64(p.whole(i, legal)) })
	case []uint8:
		fill(x, func(i int) uint8 { return uint8(p.whole(i, legal)) })
	case []int8:
		fill(x, func(i int) int8 { return int8(p.whole(i, legal)) })
	case []int16:
		fill(x, func(i int) int16 { return int16(p.whole(i, legal)) })
	case []uint16:
		fill(x, func(i int) uint16 { return uint16(p.whole(i, legal)) })
	case []uint32:
		fill(x, func(i int) uint32 { return uint32(p.whole(i, legal)) })
	case []uint64:
		fill(x, func(i int) uint64 { return uint64(p.whole(i, legal)) })
	case []bool:
		fill(x, func(i int) bool { return p.key.IntN(i/(p.size*p.agents), i%(p.size*p.agents), 2) == 1 })
	case []float32:
		fill(x, func(i int) float32 { return float32(p.real(i)) })
	case []float64:
		fill(x, p.real)
	default:
		rl.Failf("actions of %T are not supported", flat)
	}
}

func fill[T any](x []T, draw func(i int) T) {
	for i := range x {
		x[i] = draw(i)
	}
}

// at returns the environment of number i of the batch, and the number's place there.
func (p sampler) at(i int) (row, draw int) { return i / (p.size * p.agents), i % (p.size * p.agents) }

// whole draws number i of a space of whole numbers.
func (p sampler) whole(i int, legal []bool) int {
	row, draw := p.at(i)
	if b, ok := p.space.(rl.Box); ok {
		lo, hi := b.Bounds(i % p.size)
		if math.IsInf(lo, -1) {
			lo = min(0, hi)
		}
		return int(lo) + p.key.IntN(row, draw, int(min(hi-lo, 1<<20))+1)
	}
	groups, start := options(p.space)
	g := i % len(groups)
	n := groups[g]
	if legal == nil {
		return start + p.key.IntN(row, draw, n)
	}
	total, before := 0, 0
	for j, m := range groups {
		if total += m; j < g {
			before += m
		}
	}
	first := i/len(groups)*total + before
	return start + choose(legal[first:first+n], func(n int) int { return p.key.IntN(row, draw, n) })
}

// choose returns one of the true positions; 0 where there is none.
func choose(legal []bool, intN func(int) int) int {
	var open []int
	for i, ok := range legal {
		if ok {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[intN(len(open))]
}

// options returns the numbers of choices that a space of whole numbers offers, one
// after another as a mask has them, and what the first choice is called.
func options(s rl.Space) (groups []int, start int) {
	switch s := s.(type) {
	case rl.Discrete:
		return []int{s.N}, s.Start
	case rl.MultiDiscrete:
		return s.N, 0
	case rl.MultiBinary:
		groups = make([]int, s.N)
		for i := range groups {
			groups[i] = 2
		}
	}
	return groups, 0
}

// real draws number i of a box.
func (p sampler) real(i int) float64 {
	row, draw := p.at(i)
	lo, hi := p.space.(rl.Box).Bounds(i % p.size)
	u := p.key.Uniform(row, 2*draw)
	below, above := math.IsInf(lo, -1), math.IsInf(hi, 1)
	switch {
	case below && above:
		return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*p.key.Uniform(row, 2*draw+1))
	case below:
		return hi + math.Log(u)
	case above:
		return lo - math.Log(u)
	}
	return lo + u*(hi-lo)
}
