package cli_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
)

const clusterSweep = `
search: tpe
trials: 6
window: 2
metric: episode/return_mean
prune: {first: 128, factor: 2}
run:
  algorithm: ppo
  env: Identity-v0
  steps: 512
  eval_episodes: 4
  set: {envs: 4, horizon: 16, hidden: 8}
space:
  set.learning_rate: {from: 1e-4, to: 1e-1, scale: log}
  set.epochs: {from: 1, to: 3}
`

// trainers starts a coordinator and workers that train.
func trainers(t *testing.T, names ...string) (address string) {
	t.Helper()
	t.Setenv(cli.Trains, "1")
	at := coordinator(t)
	for _, name := range names {
		out, _ := serve(t, "worker", "--join", at, "--name", name, "--devices", "cpu", "--store", "store", "--json")
		out.until("joined")
	}
	return at
}

// decided returns the table of a sweep without the address of its cluster.
func decided(t *testing.T, dir string) (out string) {
	t.Helper()
	for line := range strings.Lines(read(t, dir, "trials.json")) {
		if !strings.Contains(line, `"cluster"`) && !strings.Contains(line, "127.0.0.1") && line != " ],\n" {
			out += line
		}
	}
	return strings.ReplaceAll(out, "\"settings\": [\n", "")
}

// TestSweepCluster: a sweep on a cluster decides what a sweep at home decides, interrupted and
// killed on the way too, and its records are where those at home are.
func TestSweepCluster(t *testing.T) {
	t.Chdir(t.TempDir())
	at := trainers(t, "a", "b")
	put(t, "sweep.yaml", clusterSweep)
	do(t, 0, "sweep", "sweep.yaml", "--out", "home", "--parallel", "1")
	do(t, 0, "sweep", "sweep.yaml", "--out", "away", "--cluster", at)
	want := decided(t, "home")
	if got := decided(t, "away"); got != want {
		t.Errorf("on a cluster\n%s\nat home\n%s", got, want)
	}
	contains(t, want, `"pruned"`, `"finished"`)
	if a, b := read(t, "home", "best.yaml"), read(t, "away", "best.yaml"); a != b {
		t.Errorf("the best is\n%s\nat home\n%s", b, a)
	}
	contains(t, do(t, 0, "status", "--cluster", at).out, "away-trial-000", "away-trial-005")
	contains(t, do(t, 0, "metrics", "away/trial-000").out, "episode/return_mean")
	contains(t, do(t, 2, "sweep", "home", "--cluster", at).errors, "--cluster: the trials of home are trained on this machine")
	contains(t, do(t, 2, "sweep", "away", "--processes").errors, "--cluster and --processes: give one of them")
	put(t, "other.yaml", strings.Replace(clusterSweep, "512", "768", 1))
	contains(t, do(t, 1, "sweep", "other.yaml", "--out", "elsewhere/away", "--cluster", at).errors, "the cluster has another run of the name away-trial-00", "weft delete")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopAfter{text: "trial ", times: 2, cancel: cancel}
	if code := cli.Run(ctx, weft.Builtin(), []string{"sweep", "sweep.yaml", "--out", "cut", "--cluster", at}, out, new(bytes.Buffer)); code != 130 {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
	contains(t, out.String(), "interrupted, saved: weft sweep cut goes on")
	if text := do(t, 0, "status", "--cluster", at).out; strings.Contains(text, "running") {
		t.Errorf("runs go on:\n%s", text)
	}
	do(t, 0, "sweep", "cut")
	if got := decided(t, "cut"); got != want {
		t.Errorf("interrupted\n%s\nat home\n%s", got, want)
	}
}

// TestSweepClusterKilled: runs of a sweep that is killed go on, and are found by the next one.
func TestSweepClusterKilled(t *testing.T) {
	t.Chdir(t.TempDir())
	at := trainers(t, "a", "b")
	put(t, "sweep.yaml", clusterSweep)
	do(t, 0, "sweep", "sweep.yaml", "--out", "home", "--parallel", "2")
	kills := 0
	for arg := []string{"sweep.yaml", "--out", "killed", "--cluster", at}; ; arg = []string{"killed"} {
		cmd := exec.Command(os.Args[0], append([]string{"sweep"}, append(arg, "--json")...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		pipe, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if scanned(pipe, `"event":"trial"`) && kills < 3 {
			_ = cmd.Process.Kill() // or it has ended
			kills++
			_ = cmd.Wait()
			continue
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
		break
	}
	if got, want := decided(t, "killed"), decided(t, "home"); got != want || kills < 2 {
		t.Errorf("after %d kills\n%s\nat home\n%s", kills, got, want)
	}
}

// TestSweepClusterAway: a coordinator that is not there ends the sweep, and harms no trial.
func TestSweepClusterAway(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	put(t, "sweep.yaml", clusterSweep)
	contains(t, do(t, 2, "sweep", "sweep.yaml", "--out", "away", "--cluster", "127.0.0.1:1").errors, "127.0.0.1:1")
	absent(t, "away/trials.json")
	contains(t, do(t, 2, "sweep", "sweep.yaml", "--cluster", "10.0.0.1:7700").errors, "on any address but loopback")
	contains(t, do(t, 2, "sweep", "sweep.yaml", "--own-program").errors, "--own-program needs --cluster")
}
