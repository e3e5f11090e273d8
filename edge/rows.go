package edge

import (
	"reflect"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/rl"
)

// concat puts the rows of all parts together, in their order. What has no rows
// is the first part's.
func concat[T any](x *X, edge int, parts []T) T {
	if len(parts) == 1 || !hasLeaves[T]() {
		return parts[0]
	}
	if x.byMember(edge) {
		return members(x, edge, parts)
	}
	leaves := make([][]rl.Tensor, len(parts))
	for i, p := range parts {
		if leaves[i] = rl.Leaves(p); len(leaves[i]) != len(leaves[0]) {
			rl.Failf("%s: replica %d gave %d tensors, the first one %d", x.top.Edges[edge].Name, i, len(leaves[i]), len(leaves[0]))
		}
	}
	out := make([]rl.Tensor, len(leaves[0]))
	column := make([]rl.Tensor, len(parts))
	for j, t := range leaves[0] {
		if out[j] = t; !t.Ok() || t.Shape().Rank() == 0 {
			continue
		}
		for i := range parts {
			column[i] = leaves[i][j]
		}
		out[j] = rl.System.Concat(column)
	}
	return rl.Rebuild(parts[0], out)
}

// rows returns rows lo to hi of a batch, by cut; of is how many it must have, -1 any number.
func rows[T any](x *X, edge int, v T, lo, hi, of int, cut func(t rl.Tensor, lo, hi int) rl.Tensor) T {
	if !hasLeaves[T]() {
		return v
	}
	if x.byMember(edge) {
		return memberRange(v, lo, hi)
	}
	return rl.Map(v, func(t rl.Tensor) rl.Tensor {
		if t.Shape().Rank() == 0 {
			return t
		}
		if of >= 0 && t.Rows() != of {
			rl.Failf("%s has %d rows where the replicas share out %d", x.top.Edges[edge].Name, t.Rows(), of)
		}
		return cut(t, lo, hi)
	})
}

// byMember reports whether an edge carries slices with an element for every
// member.
func (x *X) byMember(edge int) bool {
	return edge < len(x.top.Edges) && x.top.Edges[edge].Axis == fdg.Agents
}

// members returns a slice with every member's element from the replica that owns it.
func members[T any](x *X, edge int, parts []T) T {
	first := reflect.ValueOf(parts[0])
	out := reflect.MakeSlice(first.Type(), first.Len(), first.Len())
	for r, own := range x.top.Groups[x.ends[edge].from].Own {
		reflect.Copy(out.Slice(own.Lo, own.Hi), reflect.ValueOf(parts[r]).Slice(own.Lo, own.Hi))
	}
	return out.Interface().(T)
}

// memberRange returns a slice with the elements of members lo to hi alone.
func memberRange[T any](v T, lo, hi int) T {
	all := reflect.ValueOf(v)
	out := reflect.MakeSlice(all.Type(), all.Len(), all.Len())
	reflect.Copy(out.Slice(lo, hi), all.Slice(lo, hi))
	return out.Interface().(T)
}

// length returns the number of rows of a batch.
func length[T any](v T) int {
	if hasLeaves[T]() {
		for _, t := range rl.Leaves(v) {
			if t.Ok() && t.Shape().Rank() > 0 {
				return t.Rows()
			}
		}
	}
	return 0
}

// count notes the size of what is sent.
func count[T any](x *X, edge int, v T) {
	if !hasLeaves[T]() {
		return
	}
	leaves := rl.Leaves(v)
	for i := 0; i < len(leaves) && !x.top.Edges[edge].Log; i++ {
		rl.System.MustBeWhole(leaves[i], "sent to other replicas")
	}
	x.weigh(edge, leaves)
}

func (x *X) weigh(edge int, tensors []rl.Tensor) {
	n := bytesIn(tensors)
	x.stats[edge].Bytes += n
	x.sized(edge, n)
}
