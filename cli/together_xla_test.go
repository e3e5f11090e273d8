//go:build xla

package cli_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/checkpoint"
)

// together returns a run of gpu-only on so many devices as are its workers.
func together(workers, out string, args ...string) []string {
	return append(append([]string{"train"}, args...), "--policy", "gpu-only", "--device", "xla:cpu", "--workers", workers,
		"--eval-episodes", "0", "--json", "--out", out)
}

// arrays returns the state that a run ended with.
func arrays(t *testing.T, dir string) []checkpoint.Array {
	t.Helper()
	d, err := checkpoint.Open(filepath.Join(dir, "checkpoints"), 3)
	if err != nil {
		t.Fatal(err)
	}
	f, _, _, err := d.Latest()
	if err != nil {
		t.Fatal(err)
	}
	return f.Arrays
}

// near fails unless two states are the same but for rounding: flags and integers to the bit.
func near(t *testing.T, what string, got, want []checkpoint.Array) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d arrays, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || g.DType != w.DType || len(g.Data) != len(w.Data) {
			t.Fatalf("%s: %s %v, want %s %v", what, g.Name, g.DType, w.Name, w.DType)
		}
		size := map[string]int{"F32": 4, "F64": 8}[w.DType]
		if size == 0 && string(g.Data) != string(w.Data) {
			t.Errorf("%s: %s differs", what, w.Name)
		}
		for j := 0; size > 0 && j < len(w.Data); j += size {
			x, y := number(g.Data[j:j+size]), number(w.Data[j:j+size])
			if d := math.Abs(x - y); d > 1e-4+1e-3*math.Abs(y) {
				t.Fatalf("%s: number %d of %s is %v, want %v", what, j/size, w.Name, x, y)
			}
		}
	}
}

func number(data []byte) float64 {
	if len(data) == 8 {
		return math.Float64frombits(binary.LittleEndian.Uint64(data))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
}

// Every algorithm that can be one program computes on several devices what it does on
// one: the same state but for rounding, and the same episodes.
func TestTogetherOnXLA(t *testing.T) {
	xla(t)
	small := []string{"--set", "envs=4", "--set", "hidden=8"}
	for _, c := range []struct {
		name    string
		workers []string
		args    []string
	}{
		{"ppo", []string{"2", "4"}, append(small, "--env", "CartPole-v1", "--set", "horizon=16", "--set", "normalize_obs=true", "--set", "normalize_reward=true", "--steps", "192")},
		{"a2c", []string{"2"}, append(small, "--env", "CartPole-v1", "--steps", "100")},
		{"impala", []string{"2"}, append(small, "--env", "CartPole-v1", "--steps", "200")},
		{"dqn", []string{"2"}, append(small, "--env", "CartPole-v1", "--set", "prioritised=true", "--set", "learning_starts=40", "--set", "train_every=4", "--set", "batch=8", "--steps", "192")},
		{"mappo", []string{"2"}, append(small, "--env", "Identity-v0", "--set", "horizon=16", "--steps", "192")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			args := append([]string{c.name}, c.args...)
			want := last(t, do(t, 0, together("1", "one", args...)...))
			for _, n := range c.workers {
				got := last(t, do(t, 0, together(n, n, args...)...))
				for _, k := range []string{"steps", "episodes", "return_mean"} {
					if got[k] != want[k] {
						t.Errorf("%s devices: %s is %v, want %v", n, k, got[k], want[k])
					}
				}
				near(t, n+" devices", arrays(t, n), arrays(t, "one"))
			}
		})
	}
}

// A run on several devices that was stopped goes on there to the same bits, and on
// another number of them to the same state but for rounding.
func TestResumeTogetherOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	run := func(out string) []string {
		return together("2", out, tiny("--checkpoint-steps", "64")[1:]...)
	}
	want := last(t, do(t, 0, run("whole")...))
	interrupt(t, `"iteration"`, 2, run("stopped")...)
	contains(t, read(t, "stopped", "config.yaml"), `device: "xla:cpu"`, "workers: 2")
	for _, n := range []string{"2", "1"} {
		if err := os.CopyFS("on"+n, os.DirFS("stopped")); err != nil { // to compile it takes longer than the rest
			t.Fatal(err)
		}
		got := last(t, do(t, 0, "resume", "on"+n, "--workers", n, "--json"))
		near(t, n+" devices", arrays(t, "on"+n), arrays(t, "whole"))
		if n == "2" && got["state_sha256"] != want["state_sha256"] {
			t.Errorf("the state is %v, want %v", got["state_sha256"], want["state_sha256"])
		}
	}
	contains(t, do(t, 0, "eval", "on2", "--episodes", "2").out, "return")
	contains(t, do(t, 0, planned("--device", "xla:cpu", "--policy", "gpu-only", "--workers", "2")...).out,
		"one device program on 2 devices", "all 0    0-1 of 2  local/0  xla:cpu:0-1", "gradients summed by the devices")
}

// What cannot be shared out is refused in a sentence.
func TestTogetherMistakesOnXLA(t *testing.T) {
	xla(t)
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"--policy gpu-only --device xla:cpu --workers 3", "policy gpu-only on 3 devices: 4 environments make no equal parts"},
		{"--policy gpu-only --device xla:cpu:0-2", "policy gpu-only on 3 devices: 4 environments make no equal parts"},
	} {
		contains(t, do(t, 2, tiny(strings.Fields(c.args)...)...).errors, c.want)
	}
}
