package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/launch/slurm/slurmtest"
	"github.com/weft-rl/weft/internal/run/part"
)

// awaiter waits until something holds.
type awaiter interface {
	Await(t *testing.T, what string, holds func() bool)
}

// saved waits until a run of a folder has a checkpoint beyond a step.
func saved(t *testing.T, a awaiter, out string, step int64) {
	t.Helper()
	a.Await(t, "a checkpoint", func() bool {
		c, err := part.ReadCommitted(out)
		return err == nil && c.Step() > step
	})
}

// small returns a small run of an algorithm, with so many steps.
func small(algorithm, steps string, more ...string) []string {
	args := []string{"train", algorithm, "--env", "CartPole-v1", "--steps", steps, "--checkpoint-steps", "2048", "--eval-episodes", "4", "--json", "--set", "envs=4", "--set", "hidden=16"}
	if algorithm == "ppo" {
		args = append(args, "--set", "horizon=16", "--set", "epochs=1", "--set", "minibatches=2")
	}
	return append(args, more...)
}

// onSlurm adds what has a run trained by three nodes.
func onSlurm(out string, args []string) []string { return on("slurm", out, args) }

// on adds what has a run trained by three nodes of an engine.
func on(engine, out string, args []string) []string {
	return append(args, "--policy", "single-learner-coarse", "--on", engine, "--nodes", "3", "--out", out)
}

// Runs on Slurm end in the bits of the plain loop, whatever happens to their nodes and jobs.
func TestSlurm(t *testing.T) {
	s := slurmtest.Start(t)
	dir := t.TempDir()
	plain := map[string]event{}
	for name, steps := range map[string]string{"ppo": "393216", "dqn": "6144", "long": longSteps} {
		line, _ := do(t, dir, 0, small(strings.Replace(name, "long", "ppo", 1), steps, "--out", "plain-"+name)...)
		plain[name] = parse(t, line)
	}
	steps := fmt.Sprint(plain["ppo"].Steps)
	at := func(out string) string { return filepath.Join(dir, out) }
	end := func(t *testing.T, p *process, want event) {
		t.Helper()
		line, code := p.end()
		if code != 0 {
			t.Fatalf("exit code %d\n%s\n%s\n%s", code, line, p.stderr.String(), outputs(dir))
		}
		sameBits(t, parse(t, line), want)
	}
	t.Run("ppo and dqn", func(t *testing.T) {
		for _, name := range []string{"ppo", "dqn"} {
			want := plain[name]
			end(t, start(t, dir, onSlurm("whole-"+name, small(name, fmt.Sprint(want.Steps)))...), want)
			noSecrets(t, at("whole-"+name))
		}
	})
	t.Run("a node is lost", func(t *testing.T) {
		p := start(t, dir, onSlurm("node", small("ppo", steps))...)
		saved(t, s, at("node"), 4096)
		s.Kill("n2")
		if !p.until("epoch 2 begins", 1) {
			t.Fatalf("it did not go on without the node: %s", p.stderr.String())
		}
		s.Revive("n2") // or Slurm would have the job wait for it
		end(t, p, plain["ppo"])
	})
	t.Run("the coordinator's node is lost", func(t *testing.T) {
		p := start(t, dir, onSlurm("first", small("ppo", steps))...)
		saved(t, s, at("first"), 4096)
		s.Kill("n1")
		s.Requeued(t, "first")
		s.Revive("n1")
		s.Again(t, "first")
		end(t, p, plain["ppo"])
		noSecrets(t, at("first"))
	})
	t.Run("the time limit comes", func(t *testing.T) {
		p := start(t, dir, onSlurm("limit", small("ppo", longSteps))...) // it must not end before the second limit
		for _, news := range []string{"epoch 1 begins", "epoch 2 begins"} {
			if !p.until(news, 1) || !p.until(`"iteration"`, 2) {
				t.Fatalf("it ended early: %s\n%s", p.stderr.String(), outputs(dir))
			}
			s.Ask("scancel", "--signal=USR1", "--batch", "--name=limit")
			s.Again(t, "limit")
		}
		end(t, p, plain["long"])
		do(t, dir, 0, "eval", "limit", "--episodes", "2")
	})
	t.Run("stopped, resumed elsewhere", func(t *testing.T) {
		do(t, dir, 0, onSlurm("stop", small("ppo", steps, "--detach"))...)
		saved(t, s, at("stop"), 4096)
		if line, _ := do(t, dir, 0, "status", "stop", "--json"); !strings.Contains(line, `"state":"RUNNING`) {
			t.Errorf("its status is %s", line)
		}
		if _, said := do(t, dir, 2, "resume", "stop", "--on", "slurm", "--nodes", "2"); !strings.Contains(said, "still has the run") {
			t.Error(said)
		}
		do(t, dir, 0, "stop", "stop")
		noSecrets(t, at("stop"))
		if line, _ := do(t, dir, 0, "logs", "stop"); !strings.Contains(line, "is good") {
			t.Errorf("its log ends with %s", line)
		}
		end(t, start(t, dir, "resume", "stop", "--on", "slurm", "--nodes", "2", "--json"), plain["ppo"])
	})
	t.Run("it grows", func(t *testing.T) {
		s.Ask("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=test")
		p := start(t, dir, append(onSlurm("grow", small("ppo", steps)), "--nodes", "2", "--max-workers", "3")...)
		saved(t, s, at("grow"), 4096)
		s.Ask("scontrol", "update", "NodeName=n3", "State=RESUME")
		s.Ask("scontrol", "requeue", s.Job("grow"))
		s.Again(t, "grow")
		if !p.until("on w0, w1, w2", 1) {
			t.Fatalf("it did not grow: %s\n%s", p.stderr.String(), outputs(dir))
		}
		end(t, p, plain["ppo"])
	})
	t.Run("heterogeneous", func(t *testing.T) {
		p := start(t, dir, append(onSlurm("het", small("ppo", steps)), "--nodes", "1", "--slurm", "hetjob", "--slurm", "nodes=2")...)
		saved(t, s, at("het"), 4096)
		s.Ask("scancel", "--signal=USR1", "--batch", "--name=het")
		s.Again(t, "het")
		if !p.until("on w0, w1, w2", 2) {
			t.Errorf("it did not go on with all of its nodes: %s", p.stderr.String())
		}
		end(t, p, plain["ppo"])
		noSecrets(t, at("het"))
	})
	t.Run("seeds", func(t *testing.T) {
		line, _ := do(t, dir, 0, small("ppo", steps, "--out", "seeds-plain", "--seeds", "3")...)
		want := parse(t, line)
		do(t, dir, 0, onSlurm("seeds", small("ppo", steps, "--seeds", "3", "--nodes", "1", "--detach", "--slurm", "array=%2"))...)
		saved(t, s, at("seeds/seed2"), 4096)
		if p := start(t, dir, "status", "seeds", "--json"); !p.until(`"engine":"slurm"`, 3) {
			t.Errorf("it has not the status of all: %s", p.stderr.String())
		}
		do(t, dir, 0, "stop", "seeds")
		line, _ = do(t, dir, 0, "resume", "seeds", "--on", "slurm", "--nodes", "2", "--json")
		sameBits(t, parse(t, line), want)
	})
	t.Run("a population", func(t *testing.T) {
		args := func(out string, more ...string) []string {
			return small("ppo", "12288", append([]string{"--population", "4", "--mutate", "learning_rate=1e-4..1e-2", "--exploit-every", "4096", "--out", out}, more...)...)
		}
		line, _ := do(t, dir, 0, args("members-plain")...)
		p := start(t, dir, args("members", "--on", "slurm", "--nodes", "3")...)
		if !p.until(`"event":"generation"`, 1) {
			t.Fatalf("it ended early: %s\n%s", p.stderr.String(), outputs(dir))
		}
		s.Ask("scancel", "--signal=USR1", "--batch", s.Job("members"))
		s.Again(t, "members")
		end(t, p, parse(t, line))
	})
	t.Run("cancelled", func(t *testing.T) {
		p := start(t, dir, onSlurm("cancel", small("ppo", steps))...)
		saved(t, s, at("cancel"), 4096)
		s.Ask("scancel", "--name=cancel")
		if line, code := p.end(); code != 130 {
			t.Fatalf("exit code %d: %s\n%s", code, line, p.stderr.String())
		}
		noSecrets(t, at("cancel"))
		line, _ := do(t, dir, 0, "resume", "cancel", "--json")
		sameBits(t, parse(t, line), plain["ppo"])
	})
	t.Run("by hand", func(t *testing.T) {
		p := start(t, dir, onSlurm("hand", small("ppo", steps, "--dry-run"))...)
		var script strings.Builder
		for p.lines.Scan() {
			fmt.Fprintln(&script, p.lines.Text())
		}
		p.end()
		cmd := exec.Command("sbatch", "--wait")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(script.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		line, _ := do(t, dir, 0, "resume", "hand", "--json") // which says that it is over
		sameBits(t, parse(t, line), plain["ppo"])
	})
}

// An author's package is compiled where the run is submitted, and the nodes run that program.
func TestSlurmOwn(t *testing.T) {
	slurmtest.Start(t)
	dir := own(t)
	args := func(more ...string) []string {
		return append([]string{
			"train", "ppo", "--env", "./env?numbers=4", "--steps", "6400", "--eval-episodes", "4", "--json",
			"--set", "envs=2", "--set", "horizon=8", "--set", "hidden=8", "--set", "epochs=1", "--set", "minibatches=1",
		}, more...)
	}
	line, _ := do(t, dir, 0, args("--out", "whole")...)
	want := parse(t, line)
	p := start(t, dir, onSlurm("mine", args("--workers", "2"))...)
	line, code := p.end()
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s\n%s", code, line, p.stderr.String(), outputs(dir))
	}
	sameBits(t, parse(t, line), want)
	if left, _ := filepath.Glob(filepath.Join(dir, ".programs", "weft-*")); len(left) != 1 {
		t.Errorf("programs %q", left)
	}
}

// outputs returns the ends of what jobs have printed.
func outputs(dir string) string {
	out, _ := exec.Command("bash", "-c", "tail -n 20 "+dir+"/slurm-*.out").CombinedOutput() // for a person
	return string(out)
}

// noSecrets sees that a job has left no certificates.
func noSecrets(t *testing.T, out string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(out, "job", "certs")); err == nil {
		t.Errorf("%s has certificates of a job that is over", out)
	}
}

// What Slurm refuses is said in a sentence, and leaves nothing behind.
func TestSlurmRefuses(t *testing.T) {
	slurmtest.Start(t)
	for _, c := range []struct {
		more []string
		want string
		code int
	}{
		{[]string{"--nodes", "9"}, "sinfo shows nodes and partitions", 1},
		{[]string{"--nodes", "2", "--slurm", "partition=none"}, "invalid partition", 1},
		{[]string{"--nodes", "2", "--slurm", "cpus-per-task=64"}, "More processors requested than permitted", 1},
		{[]string{"--nodes", "2", "--slurm", "gres=gpu:8"}, "sbatch of Slurm says", 1},
		{[]string{"--nodes", "2", "--slurm", "time=1"}, "too short to save the run", 2},
		{[]string{"--nodes", "2", "--slurm", "partition=small"}, "sbatch of Slurm says", 1},
		{[]string{"--nodes", "1", "--slurm", "partition=small", "--slurm", "time=60"}, "sbatch of Slurm says", 1},
		{[]string{"--nodes", "2", "--slurm", "partition=others"}, "sbatch of Slurm says", 1},
		{[]string{"--nodes", "2", "--seeds", "2", "--slurm", "partition=none"}, "invalid partition", 1},
		{[]string{"--workers", "2", "--max-workers", "3"}, "--max-workers on slurm needs --nodes N", 2},
	} {
		dir := t.TempDir()
		_, said := do(t, dir, c.code, append(small("ppo", "4096", "--policy", "single-learner-coarse", "--on", "slurm"), c.more...)...)
		if !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: %s", c.more, said)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%q: %v is left", c.more, left)
		}
	}
	path := filepath.Join(t.TempDir(), "slurm.conf")
	text := "ClusterName=weft\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nMessageTimeout=2\nNodeName=n1\nPartitionName=all Nodes=n1\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLURM_CONF", path)
	dir := t.TempDir()
	_, said := do(t, dir, 1, onSlurm("away", small("ppo", "4096"))...)
	if !strings.Contains(said, "scontrol ping asks whether Slurm's controller runs") || strings.Count(said, "\n") != 1 {
		t.Error(said)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
