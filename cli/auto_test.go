package cli_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/internal/cost"
)

// TestPlanAuto: all plans that keep the plain loop's bits are predicted, and what was passed over
// is said.
func TestPlanAuto(t *testing.T) {
	o := do(t, 0, "plan", "ppo", "--auto", "--workers", "2", "--env", "Identity-v0", "--set", "envs=4", "--set", "horizon=8", "--set", "hidden=8", "--format", "json")
	var c cost.Choice
	if err := json.Unmarshal([]byte(o.out), &c); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range c.Candidates {
		got = append(got, x.Policy)
		if x.Seconds <= 0 || x.Bound == "" {
			t.Errorf("%+v", x)
		}
	}
	for _, name := range []string{"plain", "single-learner-coarse", "single-learner-fine"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not among %v; passed over: %v", name, got, c.Passed)
		}
	}
	if passed := strings.Join(c.Passed, "\n"); slices.Contains(got, "multi-learner") || !strings.Contains(passed, "multi-learner: several learners round otherwise") {
		t.Errorf("%v, passed over: %s", got, passed)
	}
}

// TestTrainAuto: a run is trained under what was chosen, to the plain loop's bits; its
// configuration has the choice and not the question.
func TestTrainAuto(t *testing.T) {
	t.Chdir(t.TempDir())
	hash := func(args ...string) string { return state(t, do(t, 0, tiny(append(args, "--json")...)...).out) }
	if a, b := hash("--out", "plain"), hash("--out", "chosen", "--policy", "auto", "--workers", "2"); a != b {
		t.Errorf("%s by the plain loop, %s by what was chosen", a, b)
	}
	text, err := os.ReadFile("chosen/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "policy: auto") {
		t.Errorf("%s", text)
	}
	do(t, 0, "resume", "chosen", "--steps", "512")
	contains(t, do(t, 2, "train", "ppo", "--policy", "auto", "--async").errors, "leave async out, or name a policy")
	contains(t, do(t, 2, "plan", "ppo", "--auto", "--cluster", "c.yaml").errors, "leave --cluster out")
}

// state returns the hash that a run's last line has.
func state(t *testing.T, out string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var done struct {
		State string `json:"state_sha256"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &done); err != nil || done.State == "" {
		t.Fatal(err, lines[len(lines)-1])
	}
	return done.State
}

// TestReview: a run whose plan is slower than it was predicted to be is saved, planned again and
// goes on, once for every plan at most, to the plain loop's bits.
func TestReview(t *testing.T) {
	t.Chdir(t.TempDir())
	back := cli.SetReview(2, 1e-6)
	defer back()
	long := func(args ...string) []string { return tiny(append(args, "--steps", "4096", "--json")...) }
	plain := state(t, do(t, 0, long("--out", "plain")...).out)
	o := do(t, 0, long("--out", "chosen", "--policy", "auto", "--workers", "2")...)
	if got := state(t, o.out); got != plain {
		t.Errorf("%s by the plain loop, %s by what was chosen twice", plain, got)
	}
	contains(t, o.errors, "times as long as predicted; the run goes on under")
	if n := strings.Count(o.errors, "goes on under"); n > 4 {
		t.Errorf("%d reviews of at most four plans:\n%s", n, o.errors)
	}
}
