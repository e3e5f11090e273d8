package runner

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// TestAbsent: an agent that was trained on environments outside of the program is loaded where they
// cannot be made, and acts as it does where they can; to play an episode they are needed.
func TestAbsent(t *testing.T) {
	j := replaying(t)
	train(t, j)
	w, err := takeWeights(t.Context(), j.Dir, PreferBest, &spy{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agentOf(j.withDefaults(), w)
	if err != nil {
		t.Fatal(err)
	}
	here, err := newPlayer(a.world.Scope(), a.world.Trainer().Agent(), a.specs)
	if err != nil {
		t.Fatal(err)
	}
	here.close = a.world.Close
	j.Env.New = func(*rl.Scope, int, any) (env.Batch, error) { return nil, errors.New("there is no Python") }
	there, _, _, err := LoadPlayer(t.Context(), j, PreferBest)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(there.Specs()), fmt.Sprint(here.Specs()); got != want {
		t.Errorf("specs %s, want %s", got, want)
	}
	for i := range 50 {
		x := make([]float64, 4*glimmers)
		for k := range x {
			x[k] = float64((i*31+k)%97) / 97
		}
		got, err := there.Act([]Seen{{X: map[string][]float64{"": x}}}, true)
		want, err2 := here.Act([]Seen{{X: map[string][]float64{"": x}}}, true)
		if err := errors.Join(err, err2); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, want %v, %v", got, want, err)
		}
	}
	if err := errors.Join(here.Close(), there.Close()); err != nil {
		t.Error(err)
	}
	if _, err := EvaluateRun(t.Context(), j, PreferBest, true, 1); err == nil || !strings.Contains(err.Error(), "there is no Python") {
		t.Errorf("evaluated: %v", err)
	}
}

// TestSpecs: checkpoints describe environments with every kind of space, and what they do not
// describe is made.
func TestSpecs(t *testing.T) {
	box := rl.Box{Low: []float64{-1, math.Inf(-1)}, High: []float64{1, 2}, Dims: []int{2}, DType: dtypes.Float32, Frames: 2}
	specs := []env.Spec{
		{ID: "a", Kind: "one", Obs: box, Action: rl.Discrete{N: 3, Start: 1}, State: 4, Masked: true, Limit: 9, Agents: 2, Why: "because"},
		{ID: "a", Kind: "two", Obs: rl.Dict{{Name: "x", Space: rl.MultiBinary{N: 2}}}, Action: rl.MultiDiscrete{N: []int{2, 3}}},
	}
	text, err := formatSpecs(specs)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parseSpecs(text); err != nil || !reflect.DeepEqual(got, specs) {
		t.Errorf("%+v, %v", got, err)
	}
	e := env.Entry{ID: "a", New: func(*rl.Scope, int, any) (env.Batch, error) { return nil, nil }}
	if j := described(Job{Env: e}, text); j.Env.New != nil {
		t.Error("environments that are described are made")
	}
	for _, text := range []string{"", "null", strings.Replace(text, `"Graph":false`, `"Graph":true`, 1)} {
		if j := described(Job{Env: e}, text); j.Env.New == nil {
			t.Errorf("environments of %q are not made", text)
		}
	}
}
