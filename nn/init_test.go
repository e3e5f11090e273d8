package nn_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

func TestOrthogonal(t *testing.T) {
	for _, c := range []struct {
		dims []int
		gain float64
	}{
		{[]int{7, 3}, 1}, {[]int{3, 7}, math.Sqrt2}, {[]int{32, 32}, .01},
		{[]int{3, 3, 2, 5}, 2}, {[]int{1, 1, 2, 5}, 2}, {[]int{1, 1}, 3}, {[]int{4, 2}, 0},
	} {
		q := nn.Orthogonal(c.gain)(rl.NewKey(3), c.dims)
		cols := c.dims[len(c.dims)-1]
		rows := len(q) / cols
		at := func(vector, i int) float64 { return q[i*cols+vector] }
		n, length := cols, rows
		if rows < cols {
			at = func(vector, i int) float64 { return q[vector*cols+i] }
			n, length = rows, cols
		}
		for a := range n {
			for b := range n {
				dot, want := 0.0, 0.0
				for i := range length {
					dot += at(a, i) * at(b, i)
				}
				if a == b {
					want = c.gain * c.gain
				}
				if math.Abs(dot-want) > 1e-12*(1+want) {
					t.Errorf("%v: vectors %d and %d have product %g, want %g", c.dims, a, b, dot, want)
				}
			}
		}
	}
}

// Rotations and reflections are equally likely, and so is every direction.
func TestOrthogonalUniform(t *testing.T) {
	const n = 4000
	var quadrant [4]int
	rotations, above45 := 0, 0
	for seed := range n {
		q := nn.Orthogonal(1)(rl.NewKey(uint64(seed)), []int{2, 2})
		i := 0
		if q[0] < 0 {
			i++
		}
		if q[2] < 0 {
			i += 2
		}
		quadrant[i]++
		if q[0]*q[3]-q[1]*q[2] > 0 {
			rotations++
		}
		if math.Abs(q[0]) > math.Abs(q[2]) {
			above45++
		}
	}
	// Five deviations of a binomial count.
	for i, k := range quadrant {
		if math.Abs(float64(k)-n/4) > 5*math.Sqrt(n*.25*.75) {
			t.Errorf("quadrant %d: %d of %d", i, k, n)
		}
	}
	for what, k := range map[string]int{"rotations": rotations, "below the diagonal": above45} {
		if math.Abs(float64(k)-n/2) > 5*math.Sqrt(n*.25) {
			t.Errorf("%s: %d of %d", what, k, n)
		}
	}
}

func TestInitOrder(t *testing.T) {
	made := func(seed uint64, names ...string) map[string][]float64 {
		p := rl.NewParams(seeded(t, seed), "p", func(c *rl.Ctx, sc *model.Scope) {
			for _, name := range names {
				x := graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 3))
				nn.MLP{Hidden: []int{4}, Out: 2}.Apply(c, sc.At("%s", name), x)
			}
		})
		return weights(p)
	}
	ab := made(1, "a", "b")
	if ba := made(1, "b", "a"); !reflect.DeepEqual(ab, ba) {
		t.Error("weights depend on the order in which networks are made")
	}
	if len(ab) != 8 {
		t.Errorf("%d tensors, want 8", len(ab))
	}
	const path = "hidden_0/weights"
	if reflect.DeepEqual(ab["a/"+path], ab["b/"+path]) {
		t.Error("two paths have the same weights")
	}
	if reflect.DeepEqual(ab["a/"+path], made(2, "a")["a/"+path]) {
		t.Error("two seeds have the same weights")
	}
	if !reflect.DeepEqual(ab["a/hidden_0/biases"], make([]float64, 4)) {
		t.Error("biases do not start at 0")
	}
}

func BenchmarkOrthogonal(b *testing.B) {
	for b.Loop() {
		nn.Orthogonal(1)(rl.NewKey(1), []int{3136, 512})
	}
}
