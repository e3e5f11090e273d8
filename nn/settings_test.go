package nn_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestSharing: unless a setting says otherwise, policy and value share a network where pictures are
// seen, which would be computed twice, and nowhere else.
func TestSharing(t *testing.T) {
	vector := rl.Box{Dims: []int{3}}
	picture := rl.Box{Low: []float64{0}, High: []float64{255}, Dims: []int{36, 36, 2}, DType: dtypes.Uint8}
	for set, want := range map[string][2]bool{"": {false, true}, "true": {true, true}, "false": {false, false}} {
		s := &nn.Sharing{}
		if err := config.Defaults(s); err != nil {
			t.Fatal(err)
		}
		if set != "" {
			s.Shared = set
		}
		if got := [2]bool{s.Shares(vector), s.Shares(picture)}; got != want {
			t.Errorf("shared=%q: vectors and pictures %v, want %v", set, got, want)
		}
	}
}

// TestRate: step sizes at the start, at a quarter, in the middle and at the end of the budget.
func TestRate(t *testing.T) {
	for anneal, want := range map[string][]float64{
		"constant": {2, 2, 2, 2}, "linear": {2, 1.5, 1, 0}, "cosine": {2, 1 + math.Sqrt2/2, 1, 0},
	} {
		r := nn.Rate{LearningRate: 2, Anneal: anneal}
		near(t, anneal, []float64{r.At(0), r.At(.25), r.At(.5), r.At(1)}, want, 1e-12)
	}
}

// TestView: networks see observations as they are, or standardised by statistics that were known
// beforehand and kept within the bound.
func TestView(t *testing.T) {
	space := rl.Dict{{Name: "a", Space: box(1)}, {Name: "b", Space: box(2)}}
	tree := rl.NewTree([]string{"a", "b"}, []rl.Tensor{rl.FromFlat(scope(t), []float32{3, 9}, 2, 1), rl.FromFlat(scope(t), []float32{1, 2, 3, 4}, 2, 2)})
	for normalize, want := range map[bool][]float64{false: {3, 1, 2, 9, 3, 4}, true: {1, 0, 1, 2, 2, 2}} {
		s := scope(t)
		v := nn.Standard{NormalizeObs: normalize, ClipObs: 2}.View(s, "observations", space)
		known := func(to *rl.Stats) error {
			return to.Adopt([]rl.Tensor{rl.FromFlat(s, []float64{100}), rl.FromFlat(s, []float64{1, 1, 1}, 3), rl.FromFlat(s, []float64{400, 100, 100}, 3)})
		}
		if err := v.Know(known); err != nil {
			t.Fatal(err)
		}
		got := rl.NewFunc(s, "view", func(c *rl.Ctx, x rl.Tree) rl.Tensor {
			return rl.Wrap(nn.Features(v.Sees, v.Of(c, rl.Obs{X: x}).X))
		}).Call(rl.Key{}, tree)
		near(t, "seen", rl.Floats(got), want, 1e-5)
	}
}
