package rl

// Narrower is a component by environment that can be at some of its environments for a
// while. A replica that keeps something of all of them, and to which others' work comes
// as it is done, goes through an iteration with the rows of that work alone.
type Narrower interface {
	Component
	// Narrow leaves the rows of these environments, which are in order.
	Narrow(to []Span)
	// Widen puts them back among the others.
	Widen()
}

// Breaker is a store of steps whose samples may go over several steps of an environment.
type Breaker interface {
	Component
	// Break tells the store that the next steps of these environments do not follow the last
	// ones that it was given: those in between were dropped, or the environments began anew.
	Break(envs []Span)
}

// Narrowed holds the rows that a Narrower has put aside.
type Narrowed struct {
	to  []Span
	all []Tensor
}

// Narrow returns the rows of some environments, of tensors [env, ...] that have all.
func (n *Narrowed) Narrow(all []Tensor, to []Span) []Tensor {
	n.all, n.to = all, to
	return eachRows(all, func(i int) []Tensor {
		var parts []Tensor
		for _, s := range to {
			parts = append(parts, part(all[i], s.Lo, s.Hi))
		}
		return parts
	})
}

// Widen returns the tensors given to Narrow, with the narrowed rows replaced by rows.
func (n *Narrowed) Widen(rows []Tensor) []Tensor {
	all := n.all
	out := eachRows(rows, func(i int) (parts []Tensor) {
		at, done := 0, 0
		for _, s := range n.to {
			parts = append(parts, part(all[i], at, s.Lo), part(rows[i], done, done+s.Len()))
			at, done = s.Hi, done+s.Len()
		}
		return append(parts, part(all[i], at, all[i].Rows()))
	})
	*n = Narrowed{}
	return out
}

// eachRows puts parts of tensors together. What has no rows is as it is.
func eachRows(all []Tensor, parts func(i int) []Tensor) []Tensor {
	out := make([]Tensor, len(all))
	for i, t := range all {
		if out[i] = t; !t.Ok() || t.Shape().Rank() == 0 {
			continue
		}
		var some []Tensor
		for _, p := range parts(i) {
			if p.Rows() > 0 {
				some = append(some, p)
			}
		}
		out[i] = concat(some)
	}
	return out
}
