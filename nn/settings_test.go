package nn_test

import (
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
