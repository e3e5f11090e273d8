package rl

// together is how plain loops that are learners of one run meet, each on a device
// of its own and with its own environments: at gradients, which are summed, and
// where an operation needs all rows. It defines what replicated learners compute,
// in the plainest way; generated programs are compared with it.
type together interface {
	// Own is the loop's environments.
	Own() Span
	// All is the rows of all loops, and where this one's begin and end.
	All(mine Tensor) (all Tensor, lo, hi int)
	// Sum adds the parts of a gradient, in the order of the loops.
	Sum(weight Tensor, sums []Tensor) (Tensor, []Tensor)
	// Whole reports whether a graph function needs all rows.
	Whole(function string) bool
}

// JoinLoops makes the loop that computes on d one of several.
func (system) JoinLoops(d *Device, t together) { d.together = t }

// meeting returns the meeting of the loop that values belong to, or nil.
func meeting(in []Tensor) together {
	for _, t := range in {
		if t.val != nil && t.val.dev != nil {
			return t.val.dev.together
		}
	}
	return nil
}

// allRows returns all loops' rows of those tensors that are a loop's environments.
func allRows(m together, in []Tensor) []Tensor {
	out := make([]Tensor, len(in))
	for i, t := range in {
		if out[i] = t; t.Ok() && t.Shape().Rank() > 0 && t.Rows() == m.Own().Len() {
			out[i], _, _ = m.All(t)
		}
	}
	return out
}
