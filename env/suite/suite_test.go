package suite

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/gomlx/compute/gobackend"

	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/rl"
)

func TestConformance(t *testing.T) {
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) { envtest.Run(t, e) })
	}
}

// recording is the file that testdata/record.py writes.
type recording struct {
	Steps    int
	Timestep float64
	Action   []float64
	Inertia  float64
	Damping  []float64
	Episodes []struct {
		Name         string
		States       [][]float64
		Actions      []float64
		Observations [][]float64
		Rewards      []float64
	}
}

func recorded(t *testing.T) (r recording) {
	t.Helper()
	data, err := os.ReadFile("testdata/cartpole_swingup.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

type (
	stepIn  struct{ State, Action rl.Tree }
	stepOut struct {
		State  rl.Tree
		Reward rl.Tensor
		Obs    rl.Obs
	}
)

// stepper returns a function that moves states, [n][4], by actions.
func stepper(t *testing.T) func(states [][]float64, actions []float64) (next, obs [][]float64, reward []float64) {
	t.Helper()
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	s, d := rl.NewScope(rl.NewDevice(b), 1), swingUp{}
	f := rl.NewFunc(s, "step", func(c *rl.Ctx, in stepIn) stepOut {
		m := d.Step(c, in.State, in.Action)
		return stepOut{m.State, m.Reward, d.Observe(c, m.State)}
	})
	return func(states [][]float64, actions []float64) (next, obs [][]float64, reward []float64) {
		pushes := make([][]float64, len(actions))
		for i, a := range actions {
			pushes[i] = []float64{a}
		}
		out := f.Call(rl.Key{}, stepIn{rl.One(tensor(s, states)), rl.One(tensor(s, pushes))})
		return rows(out.State.At(0), 4), rows(out.Obs.X.At(0), 5), rl.Floats(out.Reward)
	}
}

// TestRecorded: from every recorded state, a step leads where the suite's does.
func TestRecorded(t *testing.T) {
	r, step := recorded(t), stepper(t)
	for _, e := range r.Episodes {
		n := len(e.Actions)
		next, obs, reward := step(e.States[:n], e.Actions)
		for i := range n {
			at := fmt.Sprintf("%s, step %d, from %v", e.Name, i, e.States[i])
			close(t, at+": state", next[i], e.States[i+1], 3e-6)
			close(t, at+": observation", obs[i], e.Observations[i], 6e-6) // an angle of 30 is known to 2e-6
			close(t, at+": reward", reward[i:i+1], e.Rewards[i:i+1], 2e-6)
		}
	}
}

// TestDrift: fifty steps on end stay near the suite's.
func TestDrift(t *testing.T) {
	r, step := recorded(t), stepper(t)
	for _, e := range r.Episodes {
		now := [][]float64{e.States[0]}
		for i := range 50 {
			now, _, _ = step(now, e.Actions[i:i+1])
		}
		close(t, e.Name, now[0], e.States[50], 2e-4)
	}
}

// TestModel: what MuJoCo makes of the model's description is what the constants say.
func TestModel(t *testing.T) {
	r, spec := recorded(t), swingUp{}.Spec()
	close(t, "inertia", []float64{poleInertia()}, []float64{r.Inertia}, 1e-9)
	close(t, "damping", []float64{cartDamping, poleDamping}, r.Damping, 1e-12)
	low, high := spec.Action.(rl.Box).Bounds(0)
	close(t, "action", []float64{low, high}, r.Action, 0)
	if spec.Limit != r.Steps || tau != r.Timestep {
		t.Errorf("episodes have %d steps of %v s, the suite's %d of %v", spec.Limit, tau, r.Steps, r.Timestep)
	}
}

// close fails unless numbers are near each other: by a part of their size, where that is above 1.
func close(t *testing.T, what string, got, want []float64, by float64) {
	t.Helper()
	for i := range want {
		if len(got) != len(want) || math.Abs(got[i]-want[i]) > by*max(1, math.Abs(want[i])) {
			t.Fatalf("%s is %v, want %v", what, got, want)
		}
	}
}

// tensor returns numbers as a tensor [n, k].
func tensor(s *rl.Scope, x [][]float64) rl.Tensor {
	var flat []float32
	for _, row := range x {
		for _, v := range row {
			flat = append(flat, float32(v))
		}
	}
	return rl.FromFlat(s, flat, len(x), len(x[0]))
}

// rows returns a tensor [n, k] as numbers.
func rows(x rl.Tensor, k int) (out [][]float64) {
	flat := rl.Floats(x)
	for i := 0; i < len(flat); i += k {
		out = append(out, flat[i:i+k])
	}
	return out
}
