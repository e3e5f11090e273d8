package cli_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/weft-rl/weft/internal/cost"
)

// TestSimulate: every policy is predicted on powers of two of a cluster's workers, as far as there
// are environments for them.
func TestSimulate(t *testing.T) {
	t.Chdir(t.TempDir())
	file := write(t, "two.yaml", "machines:\n  fast: {count: 2, cores: 4, speed: 2, price: 1.5, lifetime: 100}\n")
	o := do(t, 0, "simulate", "a2c", "--env", "Identity-v0", "--set", "envs=4", "--set", "hidden=8", "--cluster", file, "--svg", "curves.svg", "--json")
	var s cost.Sweep
	if err := json.Unmarshal([]byte(o.out), &s); err != nil {
		t.Fatal(err)
	}
	seen := map[string][]int{}
	for _, p := range s.Points {
		if seen[p.Policy] = append(seen[p.Policy], p.Workers); p.Seconds <= 0 || p.Price <= 0 || p.Goodput <= 0 || p.Goodput >= 1 || p.Interval <= 0 {
			t.Errorf("%+v", p)
		}
	}
	for _, name := range []string{"single-learner-coarse", "single-learner-fine", "multi-learner", "central"} {
		if got := seen[name]; len(got) < 2 || got[0] != 2 || got[1] != 4 {
			t.Errorf("%s with %v workers; passed over: %v", name, got, s.Passed)
		}
	}
	text, err := os.ReadFile("curves.svg")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(text), "throughput", "multi-learner")
	contains(t, do(t, 2, "simulate", "a2c").errors, "--cluster is needed: a file, or one of cores, gpus, laptop, spot")
}
