package stablehlo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/stablehlo"
)

// Inputs that are sent together are one tensor of words behind the others, without what
// nobody reads.
func TestSent(t *testing.T) {
	m := module(t, "sent", []shapes.Shape{matrix(3, 2), shapes.Make(dtypes.Bool, 5), matrix(9, 9), shapes.Make(dtypes.Float64), matrix(3, 2)},
		func(xs []*Node) []*Node {
			return []*Node{Add(xs[0], xs[4]), LogicalNot(xs[1]), AddScalar(xs[3], 1)}
		})
	sent := []int{0, 1, 2, 3}
	l := stablehlo.Words(m.Main, sent)
	if !slices.Equal(l.Input, []int{0, 1, 3}) || !slices.Equal(l.At, []int{0, 6, 8}) || l.Len != 10 {
		t.Errorf("the layout is %+v", l)
	}
	text, err := stablehlo.Text(m, stablehlo.Options{Sent: sent})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@main(%arg4: tensor<3x2xf32>, %sent: tensor<10xui32>)", "[6:8:1] : (tensor<10xui32>) -> tensor<2xui32>"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}
