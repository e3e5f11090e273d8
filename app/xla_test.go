//go:build xla

package app_test

import (
	"testing"

	"github.com/weft-rl/weft/internal/device"
)

// xla sees that there is a plugin to test with.
func xla(t *testing.T) {
	t.Helper()
	if _, err := device.Open("xla:cpu"); err != nil {
		t.Fatal(err) // it says what to install
	}
}

// PPO learns on XLA from the plain loop, as it does on the CPU engine.
func TestLearnsOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	learn := func(on string) event {
		return last(t, do(t, 0, "train", "ppo", "--env", "CartPole-v1", "--device", on, "--steps", "12000",
			"--eval-episodes", "2", "--json", "--out", on))
	}
	there, here := learn("xla:cpu"), learn("cpu")
	if got := there["return_mean"].(float64); got < 40 {
		t.Errorf("the return is %v, want 40; on the CPU engine it is %v", got, here["return_mean"])
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
