package data_test

import (
	"reflect"
	"testing"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

// TestDescribe: a set that is described has its description, as many episodes and steps, and no
// rows.
func TestDescribe(t *testing.T) {
	m := data.Meta{Env: "a", Obs: rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{2}}, Action: rl.Discrete{N: 3}, Episodes: 3, Steps: 11}
	name, err := data.Describe(m)
	if err != nil {
		t.Fatal(err)
	}
	s, err := data.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Meta(); got.Env != m.Env || got.Action != m.Action || got.Steps != 11 {
		t.Errorf("%+v", got)
	}
	if got, want := s.Starts(), []int64{0, 4, 9, 14}; !reflect.DeepEqual(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
	if err := s.Gather(0, []int64{0}, make([]float32, 2)); err == nil {
		t.Error("it has rows")
	}
	if _, err := data.Open("described:{"); err == nil {
		t.Error("half a description is one")
	}
}
