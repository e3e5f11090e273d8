//go:build xla

package cli_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/internal/device"
)

// xla checks that there is a plugin to test with.
func xla(t *testing.T) {
	t.Helper()
	if _, err := device.Open("xla:cpu"); err != nil {
		t.Fatal(err) // it says what to install
	}
}

// PPO learns on XLA from the plain loop, as it does on the CPU engine, also with products that
// round to bfloat16.
func TestLearnsOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	learn := func(on string) event {
		return last(t, do(t, 0, "train", "ppo", "--env", "CartPole-v1", "--device", on, "--steps", "12000",
			"--eval-episodes", "2", "--json", "--out", on))
	}
	for _, on := range []string{"xla:cpu", "xla:cpu+bf16"} {
		if got := learn(on)["return_mean"].(float64); got < 40 {
			t.Errorf("%s: the return is %v, want 40", on, got)
		}
	}
}

// A run on XLA that was stopped and resumed ends as one that was not.
func TestResumeOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--json", "--out", "whole", "--device", "xla:cpu")...))
	interrupt(t, `"iteration"`, 2, tiny("--json", "--out", "mine", "--device", "xla:cpu", "--checkpoint-steps", "64")...)
	contains(t, read(t, "mine", "config.yaml"), `device: "xla:cpu"`)
	got := last(t, do(t, 0, "resume", "mine", "--json"))
	for _, k := range []string{"steps", "weights_sha256", "state_sha256"} {
		if got[k] != want[k] {
			t.Errorf("%s is %v, want %v", k, got[k], want[k])
		}
	}
	contains(t, do(t, 0, "eval", "mine", "--episodes", "2").out, "return")
}

// Environments on the CPU, the rest on XLA: halves that take turns give the bits of all
// at once, and what is resumed ends as what was not.
func TestMixedOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	fine := func(more ...string) []string {
		return tiny(append([]string{"--json", "--device", "xla:cpu", "--policy", "single-learner-fine"}, more...)...)
	}
	contains(t, do(t, 0, planned("--device", "xla:cpu", "--policy", "single-learner-fine", "--pipeline")...).out,
		"environment 1  1 of 2    local/0  cpu", "learner 0      0-1 of 2  local/0  xla:cpu")
	want := last(t, do(t, 0, fine("--out", "whole")...))
	same := func(what string, got event) {
		t.Helper()
		for _, k := range []string{"steps", "weights_sha256", "state_sha256"} {
			if got[k] != want[k] {
				t.Errorf("%s: %s is %v, want %v", what, k, got[k], want[k])
			}
		}
	}
	same("halves", last(t, do(t, 0, fine("--pipeline", "--out", "halves")...)))
	same("workers", last(t, do(t, 0, fine("--workers", "2", "--out", "workers")...)))
	same("halves of workers", last(t, do(t, 0, fine("--workers", "2", "--pipeline", "--out", "both")...)))
	interrupt(t, `"iteration"`, 2, fine("--pipeline", "--out", "mine", "--checkpoint-steps", "64")...)
	same("resumed", last(t, do(t, 0, "resume", "mine", "--json")))
}

// Learners on devices of their own are learners on one device.
func TestLearnersOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	train := func(out string, more ...string) event {
		return last(t, do(t, 0, tiny(append([]string{"--json", "--device", "xla:cpu", "--policy", "multi-learner", "--workers", "2", "--out", out}, more...)...)...))
	}
	want, got := train("one"), train("two", "--devices", "learner:xla:cpu:0,learner:xla:cpu:1")
	for _, k := range []string{"steps", "weights_sha256", "state_sha256"} {
		if got[k] != want[k] {
			t.Errorf("%s is %v, want %v", k, got[k], want[k])
		}
	}
}

// Acting on the CPU and learning on XLA learns what the CPU does alone, to rounding.
func TestCoarseOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	train := func(out string, more ...string) event {
		return last(t, do(t, 0, append([]string{"train", "ppo", "--env", "CartPole-v1", "--set", "envs=8", "--set", "horizon=32", "--steps", "2000",
			"--eval-episodes", "0", "--policy", "single-learner-coarse", "--json", "--out", out}, more...)...))
	}
	here := train("cpu")
	there := train("xla", "--device", "xla:cpu", "--devices", "collector:cpu")
	if a, b := there["return_mean"].(float64), here["return_mean"].(float64); a < .9*b || a > 1.1*b {
		t.Errorf("the return is %v, on the CPU %v", a, b)
	}
}

// Chains of steps, of draws and of a network's memory, are loops on XLA's CPU: it needed
// minutes for them otherwise. They give what the CPU engine does, to rounding.
func TestChainsOnXLA(t *testing.T) {
	xla(t)
	for name, args := range map[string][]string{
		"memory": {"ppo", "--env", "CartPole-v1", "--set", "memory=8", "--set", "hidden=8", "--set", "horizon=128", "--steps", "1024"},
		"draws":  {"mappo", "--env", "mpe/simple_spread-v3", "--set", "hidden=8", "--set", "envs=8", "--set", "horizon=25", "--steps", "800"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			train := func(on string) event {
				return last(t, do(t, 0, append(append([]string{"train"}, args...), "--policy", "gpu-only", "--device", on,
					"--eval-episodes", "0", "--json", "--out", on)...))
			}
			here, there := train("cpu"), train("xla:cpu")
			a, b := there["return_mean"].(float64), here["return_mean"].(float64)
			if d := math.Abs(a - b); d > .1*math.Abs(b) || there["steps"] != here["steps"] {
				t.Errorf("the return is %v after %v steps, on the CPU engine %v after %v", a, there["steps"], b, here["steps"])
			}
		})
	}
}
