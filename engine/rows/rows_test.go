package rows_test

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine/internal/enginetest"
	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/rows"
)

// A loop prints as what one row does.
func TestPrint(t *testing.T) {
	tap := ptxtest.NewTap(t)
	g := NewGraph(tap, "print")
	x := Parameter(g, "x", shapes.Make(dtypes.Float32, 3, 2))
	g.Compile(enginetest.Loop(g, 4, []*Node{x}, func(_ *Node, s []*Node) []*Node { return []*Node{Tanh(s[0])} })...)
	l, err := rows.Of(ptxtest.Whiles(tap.Modules[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `loop of 3 rows, 4 rounds
  in0 f32[3 2]
  result 0: counter
  %0 Float32[2] = load() in0 {0 2 [0 1]} []
  result 1: state, from %0
  %1 Float32[2] = carried() 1
  %2 Float32[2] = map(%1) Tanh
    next %2
`
	if got := l.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Sums of one network do not wait for those of another because a loss adds them up.
func TestRegions(t *testing.T) {
	tap := ptxtest.NewTap(t)
	g := NewGraph(tap, "regions")
	of := func(name string, dims ...int) *Node { return Parameter(g, name, shapes.Make(dtypes.Float32, dims...)) }
	x, a, b := of("x", 64, 4), of("a", 4, 20), of("b", 4, 20)
	layer := func(w *Node) *Node { return Tanh(Dot(x, w).Product()) }
	loss := Add(ReduceSum(layer(a), 1), MulScalar(ReduceSum(layer(b), 1), 0.5))
	grads := Gradient(ReduceAllSum(loss), a)
	mean := ReduceAllMean(grads[0])
	second := DotGeneral(x, []int{0}, nil, Mul(layer(b), BroadcastToDims(mean, 64, 20)), []int{0}, nil)
	g.Compile(grads[0], second, ReduceAllSum(loss))
	rs := rows.Regions(tap.Modules[0].Flatten())
	if len(rs) != 2 {
		t.Fatalf("%d regions, want 2", len(rs))
	}
	for i, r := range rs {
		dots := strings.Count(r.String(), "= dot(")
		if dots != 1 || len(r.Sums) != 2 {
			t.Errorf("region %d has %d products and %d sums, want 1 and 2:\n%s", i, dots, len(r.Sums), r)
		}
	}
}

// TestRegionBranch: what comes out of a branch is read by a region, and not a part of it.
func TestRegionBranch(t *testing.T) {
	tap := ptxtest.NewTap(t)
	g := NewGraph(tap, "branch")
	of := func(name string, dims ...int) *Node { return Parameter(g, name, shapes.Make(dtypes.Float32, dims...)) }
	x, w := of("x", 64, 4), of("w", 4, 20)
	arm := func(by float64) *Function {
		return NewClosure(g, func(*Graph) []*Node { return []*Node{MulScalar(x, by)} })
	}
	chosen := If(GreaterThan(ReduceAllSum(w), ScalarZero(g, dtypes.Float32)), arm(2), arm(3))[0]
	y := Tanh(Dot(chosen, w).Product())
	g.Compile(DotGeneral(chosen, []int{0}, nil, y, []int{0}, nil))
	rs := rows.Regions(tap.Modules[0].Flatten())
	if len(rs) != 1 || strings.Contains(rs[0].String(), "chosen(") {
		t.Fatalf("%d regions: %v", len(rs), rs)
	}
}
