package search

import (
	"reflect"
	"testing"
)

// TestPlans: eight simulations of four actions are one for each, then two more for each of two.
func TestPlans(t *testing.T) {
	for _, c := range []struct {
		considered, simulations int
		want                    []int32
	}{
		{4, 8, []int32{0, 0, 0, 0, 1, 1, 2, 2}},
		{4, 3, []int32{0, 0, 0}},
		{1, 4, []int32{0, 1, 2, 3}},
		{2, 5, []int32{0, 0, 1, 1, 2}},
		{3, 10, []int32{0, 0, 0, 1, 1, 2, 2, 3, 3, 4}},
	} {
		if got := plans(c.considered, c.simulations)[c.considered]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d actions, %d simulations: %v, not %v", c.considered, c.simulations, got, c.want)
		}
	}
}
