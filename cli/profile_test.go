package cli_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/profile"
	"github.com/weft-rl/weft/plan"
)

// profiled returns the profile that the command prints for a small PPO, with more flags.
func profiled(t *testing.T, args ...string) *profile.Profile {
	t.Helper()
	small := []string{"profile", "ppo", "--env", "Identity-v0", "--set", "envs=4", "--set", "horizon=8", "--set", "hidden=8", "--json"}
	p, err := profile.Read([]byte(do(t, 0, append(small, args...)...).out))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shows returns the classes that a replica spent time on.
func shows(r profile.Replica) (out []profile.Class) {
	by := r.By()
	for _, c := range profile.Classes {
		if by[c] > 0 {
			out = append(out, c)
		}
	}
	return out
}

// TestProfile: every operation of the loop is in the profile as often as the loop does it, under a
// policy at the replica that does it, with what crosses.
func TestProfile(t *testing.T) {
	t.Chdir(t.TempDir())
	p := profiled(t, "--steps", "320", "--time", "0")
	loop := p.Replicas[0]
	for _, c := range []profile.Class{profile.Environment, profile.Inference, profile.Gradient, profile.Application, profile.Replay, profile.Statistics} {
		if !slices.Contains(shows(loop), c) {
			t.Errorf("the loop shows no %s: %v", c, shows(loop))
		}
	}
	i := slices.IndexFunc(loop.Operations, func(o profile.Operation) bool { return o.Class == profile.Environment })
	if loop.Iterations != 8 || loop.Operations[i].Calls != 64 {
		t.Errorf("%d steps in %d iterations", loop.Operations[i].Calls, loop.Iterations)
	}

	p = profiled(t, "--steps", "320", "--time", "0", "--policy", "single-learner-coarse", "--workers", "2", "--no-fuse", "graphs", "--svg", "bars.svg", "--trace", "timeline.json")
	if len(p.Replicas) != 3 || p.Replicas[1].String() != "collector 1" || p.Replicas[2].String() != "learner 0" {
		t.Fatalf("%+v", p.Replicas)
	}
	if collector, learner := shows(p.Replicas[1]), shows(p.Replicas[2]); !slices.Contains(collector, profile.Environment) || slices.Contains(collector, profile.Gradient) ||
		slices.Contains(learner, profile.Environment) || !slices.Contains(learner, profile.Gradient) {
		t.Errorf("collector %v, learner %v", collector, learner)
	}
	steps := slices.IndexFunc(p.Edges, func(e plan.Edge) bool { return e.Name == "steps" })
	at := slices.IndexFunc(p.Replicas[1].Edges, func(e profile.Edge) bool { return e.Edge == steps })
	if e := p.Replicas[1].Edges[at]; e.Sent != 8 || e.Bytes == 0 {
		t.Errorf("%+v", e)
	}
	for name, want := range map[string]string{"bars.svg": "</svg>", "timeline.json": `"collector 1"`} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, string(text), want)
	}
}

// TestProfileForms: plans of every kind can be profiled.
func TestProfileForms(t *testing.T) {
	for _, args := range []string{
		"--policy single-learner-fine --workers 2 --pipeline", "--policy multi-learner --workers 2", "--policy central --async --workers 2", "--policy gpu-only",
	} {
		p := profiled(t, append([]string{"--steps", "640", "--time", "0"}, strings.Fields(args)...)...)
		if p.Overhead.PerEvent <= 0 {
			t.Errorf("%s: %+v", args, p.Overhead)
		}
	}
	contains(t, do(t, 1, "profile", "ppo", "--env", "Identity-v0", "--steps", "16", "--set", "envs=4", "--set", "horizon=8", "--set", "hidden=8").errors, "recorded no iteration", "train for more")
}

// TestTrainProfile: to record a run changes none of its bits, and its folder has the profile.
func TestTrainProfile(t *testing.T) {
	t.Chdir(t.TempDir())
	hash := func(args ...string) string {
		o := do(t, 0, tiny(append(args, "--policy", "single-learner-coarse", "--workers", "2", "--json")...)...)
		lines := strings.Split(strings.TrimSpace(o.out), "\n")
		var done struct {
			StateSHA256 string `json:"state_sha256"`
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &done); err != nil {
			t.Fatal(err)
		}
		return done.StateSHA256
	}
	if a, b := hash("--out", "plain"), hash("--out", "recorded", "--profile"); a != b {
		t.Errorf("%s without a profile, %s with one", a, b)
	}
	contains(t, do(t, 0, "profile", "recorded").out, "learner 0", "who waits for whom", "recording took")
	contains(t, do(t, 2, "profile", "plain").errors, "plain has no profile.json: it was trained without --profile")
}
