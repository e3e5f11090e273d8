package replay

import (
	"strings"

	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/rl"
)

// shareFrom is the size of an observation, in bytes, from which it is stored once, as the
// successor of one step and the observation of the next. What is known of each costs 16
// bytes and an access.
const shareFrom = 256

// share finds tensors that are to have their memory in common, which get the same number
// above 0: observations that are stacks of frames, and large ones that are there again as
// the step's successor. A device program has whole rows.
func (t *store[E]) share(names []string, leaves []rl.Tensor, roles []role) []int {
	out := make([]int, len(leaves))
	if t.scope.Lowering() != nil {
		return out
	}
	for i, x := range leaves {
		if !x.Ok() || t.apart(i) || roles[i] == ofAll || roles[i] == ofPatch || x.Shape().Size() == 0 {
			continue
		}
		row := rowOf(x)
		first := twin(names, leaves, roles, i)
		switch large := row.Size()*row.DType.Size() >= shareFrom; {
		case first >= 0 && (large || t.scope.Stacked(row) > 1):
			out[first], out[i] = first+1, first+1
		case out[i] == 0 && t.scope.Stacked(row) > 1:
			out[i] = i + 1
		}
	}
	return out
}

// twin returns the tensor of the first step that tensor i of the last step is the
// successor of: the one at the same place in another field, and of the same shape. It is
// -1 if there is none.
func twin(names []string, leaves []rl.Tensor, roles []role, i int) int {
	_, place, _ := strings.Cut(names[i], ".")
	for j, name := range names {
		_, other, _ := strings.Cut(name, ".")
		if roles[i] == ofLast && roles[j] == ofFirst && other == place && leaves[j].Ok() && leaves[j].Shape().Equal(leaves[i].Shape()) {
			return j
		}
	}
	return -1
}

// rowOf returns the shape of a row of x.
func rowOf(x rl.Tensor) shapes.Shape {
	return shapes.Make(x.Shape().DType, x.Shape().Dimensions[1:]...)
}
