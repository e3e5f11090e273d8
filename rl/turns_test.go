package rl_test

import (
	"fmt"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// inTurns returns rows 0 to n of a vector that come in two parts, and a record of what was
// asked for.
func inTurns(s *rl.Scope, n int, asked *[]string, name string) rl.Tensor {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	like := rl.FromFlat(s, x[:n/2], n/2)
	return rl.System.InParts([]rl.Tensor{like}, []int{0, n / 2, n}, func(part int) []rl.Tensor {
		*asked = append(*asked, fmt.Sprint(name, part))
		if part == 0 {
			return []rl.Tensor{like}
		}
		return []rl.Tensor{rl.FromFlat(s, x[n/2:], n-n/2)}
	})[0]
}

// A function of a batch that comes in parts asks for a part when somebody asks it for
// that, and draws what it would draw for all rows at once.
func TestInTurns(t *testing.T) {
	s := scope(t)
	f := rl.NewFunc(s, "noise", func(c *rl.Ctx, x rl.Tensor) rl.Tensor {
		u := c.Uniform("u", x.Rows(), 3)
		return rl.Wrap(graph.Add(x.Node(), graph.ReduceSum(u, 1)))
	})
	var asked []string
	k := rl.NewKey(7).Use("act")
	x := inTurns(s, 7, &asked, "x")
	y := f.Call(k, x)
	if x.Rows() != 7 || y.Rows() != 7 || len(asked) != 0 {
		t.Fatalf("%v and %v, and %v was asked for", x, y, asked)
	}
	first := rl.Floats(rl.System.Part(y, 0, 3))
	if fmt.Sprint(asked) != "[x0]" {
		t.Errorf("for the first rows %v was asked for", asked)
	}
	var none []string
	want := rl.Floats(f.Call(k, rl.System.Concat([]rl.Tensor{rl.System.Part(inTurns(s, 7, &none, ""), 0, 3), rl.System.Part(inTurns(s, 7, &none, ""), 3, 7)})))
	equal(t, "the first part", first, want[:3])
	equal(t, "all", rl.Floats(y), want)
	equal(t, "rows of both parts", rl.Floats(rl.System.Part(y, 2, 5)), want[2:5])
	if fmt.Sprint(asked) != "[x0 x1]" {
		t.Errorf("asked for %v", asked)
	}
	equal(t, "a sum of all rows", rl.Floats(rl.Mean(inTurns(s, 7, &asked, "x"))), []float64{4})
	mask := rl.System.InParts([]rl.Tensor{rl.FromFlat(s, []bool{true, false, true}, 3)}, []int{0, 3, 7}, func(part int) []rl.Tensor {
		if part == 0 {
			return []rl.Tensor{rl.FromFlat(s, []bool{true, false, true}, 3)}
		}
		return []rl.Tensor{rl.FromFlat(s, make([]bool, 4), 4)}
	})[0]
	equal(t, "what is kept", rl.Floats(rl.Keep(inTurns(s, 7, &asked, "x"), mask)), []float64{0, 2, 0, 4, 5, 6, 7})
}

// What was called before weights change is computed with the weights of then.
func TestOwed(t *testing.T) {
	s := scope(t)
	stats := rl.NewStats(s, "stats", 0)
	norm := rl.NewFunc(s, "norm", func(c *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(stats.Norm(c, x.Node())) })
	var asked []string
	y := norm.Call(rl.Key{}, inTurns(s, 4, &asked, "x"))
	stats.Update(rl.FromFlat(s, []float32{10, 20, 30}, 3))
	if len(asked) != 2 {
		t.Errorf("%v was asked for before the statistics changed", asked)
	}
	equal(t, "as it was", rl.Floats(y), []float64{1, 2, 3, 4})
	if got := rl.Floats(norm.Call(rl.Key{}, inTurns(s, 4, &asked, "x"))); got[0] > 0 {
		t.Errorf("afterwards %v", got)
	}
}

// A function whose result has no row for each of its argument's has all rows.
func TestNotInTurns(t *testing.T) {
	s := scope(t)
	sum := rl.NewFunc(s, "sum", func(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(graph.ReduceAllSum(x.Node())) })
	var asked []string
	equal(t, "the sum", rl.Floats(sum.Call(rl.Key{}, inTurns(s, 4, &asked, "x"))), []float64{10})
}
