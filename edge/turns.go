package edge

import "github.com/weft-rl/weft/rl"

// inTurns reports whether what is gathered of a group comes part by part.
func (x *X) inTurns(from int) bool {
	return x.top.Turns > 1 && x.top.Groups[from].Own[0].Of > 0 && x.replicas(from) >= x.top.Turns
}

// gatheredInTurns does what Gathered does where replicas take turns: it waits for the first part,
// and for another when somebody asks for its rows. So actions for one part are on
// their way before the rest has arrived.
func gatheredInTurns[T any](x *X, edge int) T {
	x.finish(edge)
	own := x.top.Groups[x.ends[edge].from].Own
	n, k := x.top.Turns, len(own)
	bounds := make([]int, n+1)
	for i := range n {
		bounds[i+1] = own[(i+1)*k/n-1].Hi
	}
	parts := make([]*T, n)
	take := func(i int) T {
		if parts[i] == nil {
			v := concat(x, edge, ranks[T](x, edge, i*k/n, (i+1)*k/n))
			parts[i] = &v
		}
		return *parts[i]
	}
	x.ends[edge].rest = func() {
		for i := range parts {
			take(i)
		}
	}
	first := rl.Leaves(take(0))
	for _, t := range first {
		if t.Ok() && (t.Shape().Rank() == 0 || t.Rows() != bounds[1]) { // it has no rows of environments
			x.finish(edge)
			all := make([]T, n)
			for i := range all {
				all[i] = take(i)
			}
			return concat(x, edge, all)
		}
	}
	return rl.Rebuild(take(0), rl.System.InParts(first, bounds, func(i int) []rl.Tensor {
		leaves := rl.Leaves(take(i))
		for j, t := range leaves {
			if t.Ok() != first[j].Ok() {
				rl.Failf("%s: part %d of the environments gave other tensors than the first", x.top.Edges[edge].Name, i)
			}
		}
		return leaves
	}))
}

// finish takes what is still to come of the last Gathered on an edge.
func (x *X) finish(edge int) {
	if rest := x.ends[edge].rest; rest != nil {
		x.ends[edge].rest = nil
		rest()
	}
}
