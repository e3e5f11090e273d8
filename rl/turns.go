package rl

import (
	"slices"

	"github.com/gomlx/compute/shapes"
)

// Where replicas take turns, a batch comes part by part: while the environments of
// one part step, actions are computed for the other. A value of such a batch is
// made when somebody asks for a part of it. Graph functions, which treat rows alone,
// hand that on: the result of a call is one call for each part, made when that part
// is asked for. Whatever else reads such a value asks for all parts. So nothing but
// the order of work changes, and there is no work beside the goroutine of the
// program, which such values belong to.

// inParts is the tensors of a batch that come part by part.
type inParts struct {
	bounds []int // rows [bounds[i], bounds[i+1]) are part i's
	get    func(part int) []Tensor
	got    [][]Tensor // results by part; nil before they were asked for
}

// inPart is a tensor whose rows come part by part.
type inPart struct {
	of   *inParts
	leaf int
	all  *value // the whole tensor, once it was put together
}

// inPartsOf returns tensors of the given shapes whose rows [bounds[i], bounds[i+1]) get
// returns when somebody asks for them, for all tensors at once. Tensors that are not Ok
// stay absent.
func inPartsOf(like []Tensor, bounds []int, get func(part int) []Tensor) []Tensor {
	p := &inParts{bounds: bounds, get: get, got: make([][]Tensor, len(bounds)-1)}
	return p.tensors(like)
}

func (p *inParts) tensors(like []Tensor) []Tensor {
	out := make([]Tensor, len(like))
	for i, t := range like {
		if !t.Ok() {
			continue
		}
		shape := withRows(t.Shape(), p.bounds[len(p.bounds)-1])
		out[i] = Tensor{val: &value{shape: &shape, dev: t.val.dev, parts: &inPart{of: p, leaf: i}}}
	}
	return out
}

func withRows(s shapes.Shape, n int) shapes.Shape {
	dims := slices.Clone(s.Dimensions)
	dims[0] = n
	return shapes.Make(s.DType, dims...)
}

// part asks for one part.
func (p *inParts) part(i int) []Tensor {
	if p.got[i] == nil {
		p.got[i] = p.get(i)
		if !slices.ContainsFunc(p.got, func(t []Tensor) bool { return t == nil }) {
			p.get = nil // with what it was made from
		}
	}
	return p.got[i]
}

// all asks for every part.
func (p *inParts) all() {
	for i := range p.got {
		p.part(i)
	}
}

// holding returns the part that has rows lo to hi, and the number of its first row; it is
// absent where no part has all of them.
func (p *inPart) holding(lo, hi int) (part Tensor, first int) {
	b := p.of.bounds
	for i := range p.of.got {
		if b[i] <= lo && hi <= b[i+1] {
			return p.of.part(i)[p.leaf], b[i]
		}
	}
	return Tensor{}, 0
}

// whole returns the value put together.
func (v *value) whole() *value {
	if v.parts == nil {
		return v
	}
	if v.parts.all == nil {
		p := v.parts.of
		p.all()
		list := make([]Tensor, len(p.got))
		for i, leaves := range p.got {
			list[i] = leaves[v.parts.leaf]
		}
		v.parts.all = concat(list).val
	}
	return v.parts.all
}

// Whole puts what comes part by part among tensors together, for others than the goroutine
// that it comes to. It replaces them in place, and reports whether there were any.
func (system) Whole(leaves []Tensor) bool {
	if boundsOf(leaves) == nil {
		return false
	}
	for i, t := range leaves {
		if t.val != nil && t.val.parts != nil {
			leaves[i] = Tensor{val: t.val.whole()}
		}
	}
	return true
}

// boundsOf returns the parts that the rows of a batch come in; nil if it is whole, or no
// two tensors agree about it.
func boundsOf(in []Tensor) []int {
	var bounds []int
	for _, t := range in {
		if !pending(t) {
			continue
		}
		own := t.val.parts.of.bounds
		if bounds != nil && !slices.Equal(bounds, own) {
			return nil
		}
		bounds = own
	}
	if bounds == nil {
		return nil
	}
	for _, t := range in {
		if t.node != nil || t.Ok() && (t.Shape().Rank() == 0 || t.Rows() != bounds[len(bounds)-1]) {
			return nil
		}
	}
	return bounds
}

// pending reports whether a tensor comes part by part, and was not put together yet.
func pending(t Tensor) bool { return t.val != nil && t.val.parts != nil && t.val.parts.all == nil }

// partOf returns one part of the rows of every tensor.
func partOf(in []Tensor, bounds []int, i int) []Tensor {
	out := make([]Tensor, len(in))
	for j, t := range in {
		if t.Ok() {
			out[j] = part(t, bounds[i], bounds[i+1])
		}
	}
	return out
}

// partLike returns what the first part looks like, without asking for it.
func partLike(in []Tensor, bounds []int) []Tensor {
	out := make([]Tensor, len(in))
	for j, t := range in {
		if t.Ok() {
			out[j] = constantOf(withRows(t.Shape(), bounds[1]-bounds[0]), nil)
		}
	}
	return out
}

// inTurns returns what a function makes of a batch that comes in parts, in the same
// parts; ok is false where the batch is whole, or the function's results are not one
// for each row and of that row alone. call is the function on one part.
func (f *function) inTurns(k Key, in packed, also []Tensor, call func(k Key, in packed, also []Tensor) packed) (out packed, ok bool) {
	if !slices.ContainsFunc(in.leaves, pending) && !slices.ContainsFunc(also, pending) {
		return out, false // on the way of every call
	}
	all := slices.Concat(in.leaves, also)
	bounds := boundsOf(all)
	if bounds == nil || k.own == nil && k.row != 0 {
		return out, false
	}
	n := bounds[len(bounds)-1]
	first := in.with(partLike(in.leaves, bounds))
	if _, err := f.rowwise(first); err != nil {
		return out, false // it looks at all rows
	}
	e := f.compiled(first)
	like := make([]Tensor, len(e.out))
	shapes := e.exe.Outputs()
	for i, present := range e.out {
		if !present {
			continue
		}
		if shapes[0].Rank() == 0 || shapes[0].Dimensions[0] != bounds[1]-bounds[0] {
			return out, false
		}
		like[i] = Tensor{val: &value{shape: &shapes[0], dev: e.dev}}
		shapes = shapes[1:]
	}
	made := inPartsOf(like, bounds, func(i int) []Tensor {
		part := partOf(all, bounds, i)
		rest := len(in.leaves)
		return call(k.rows(Span{bounds[i], bounds[i+1], n}), in.with(part[:rest]), part[rest:]).leaves
	})
	f.scope.owe(made)
	return e.like.with(made), true
}

// rows returns the key for the rows of a part of a batch.
func (k Key) rows(part Span) Key {
	if k.own != nil {
		part.Lo, part.Hi, part.Of = part.Lo+k.own.Lo, part.Hi+k.own.Lo, k.own.Of
	}
	k.own = &owned{Span: part}
	return k
}

// owe remembers calls that are still to be made, with the weights as they are now.
func (s *Scope) owe(made []Tensor) {
	s.owed = slices.DeleteFunc(s.owed, func(p *inParts) bool { return p.get == nil })
	for _, t := range made {
		if t.val != nil && t.val.parts != nil {
			s.owed = append(s.owed, t.val.parts.of)
			return
		}
	}
}

// settle makes the calls that are owed, before something that they read changes.
func (s *Scope) settle() {
	for len(s.owed) > 0 {
		p := s.owed[0]
		s.owed = s.owed[1:]
		p.all()
	}
}
