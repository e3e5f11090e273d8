package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-rl/weft/plan"
)

// planned returns a plan of a small PPO, with more flags.
func planned(args ...string) []string {
	return append([]string{"plan", "ppo", "--env", "Identity-v0", "--set", "envs=4", "--set", "horizon=8", "--set", "hidden=8"}, args...)
}

// TestPlan: what crosses is what the programs really send.
func TestPlan(t *testing.T) {
	o := do(t, 0, planned("--policy", "single-learner-coarse", "--workers", "2", "--replicas", "4", "--format", "json")...)
	var s plan.Sheet
	if err := json.Unmarshal([]byte(o.out), &s); err != nil {
		t.Fatal(err)
	}
	if s.Facts.Envs != 4 || len(s.Before.Of("collector")) != 4 || len(s.After.Of("collector")) != 2 || s.Measured == "" {
		t.Errorf("%+v", s)
	}
	batch := func(p plan.Plan) plan.Edge {
		for _, e := range p.Edges {
			if e.Name == "steps" {
				return e
			}
		}
		t.Fatalf("nothing is called steps in %+v", p.Edges)
		return plan.Edge{}
	}
	a, b := batch(s.Before), batch(s.After)
	if a.Calls != 4 || b.Calls != 2 || a.Bytes == 0 || a.Bytes != b.Bytes {
		t.Errorf("before fusion %+v, after %+v", a, b)
	}
}

func TestPlanForms(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--policy single-learner-coarse --workers 2 --no-fuse graphs", []string{"== nothing is fused ==", "collector 1  1 of 2", "synchronous, the bits", "measured by running"}},
		{"--policy single-learner-coarse --workers 2", []string{"== before fusion ==", "== after fusion ==", "6 compiled graphs are called in an iteration", "adjacent graph work in collector and learner became one call"}},
		{"--policy single-learner-coarse --replicas 2", []string{"== before fusion ==", "== after fusion ==", "2 replicas of collector became 1", "4 edges became variables", "nothing crosses"}},
		{"--policy single-learner-coarse --replicas 2 --no-fuse groups", []string{"2 replicas of collector became 1", "learner 0    0-1 of 2"}},
		{"--policy single-learner-coarse --replicas 2 --no-fuse all", []string{"nothing is fused"}},
		{"--policy central --workers 2 --async --staleness 3", []string{"asynchronous, weights at most 3 versions behind", "reduce"}},
		{"--policy multi-learner --workers 2", []string{"gradients summed in rank order", "all-reduce"}},
		{"--policy plain", []string{"the loop as it stands", "nothing crosses"}},
		{"--policy gpu-only", []string{"one device program", "nothing crosses"}},
		{"--policy single-learner-fine --workers 2 --format dot", []string{"digraph plan {", `"0/learner/0" -> "0/environment/1" [label="act: scatter"]`}},
		{"--policy single-learner-fine --workers 2 --format svg", []string{"<svg ", "environment 1", "shard 1 of 2"}},
		{"--policy single-learner-coarse --workers 2 --placement learner:local/1", []string{"learner 0    0-1 of 2  local/1"}},
	} {
		contains(t, do(t, 0, planned(strings.Fields(c.args)...)...).out, c.want...)
	}
}

// TestPlanMistakes: what cannot be is refused as train refuses it, all at once.
func TestPlanMistakes(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--format pdf --policy plain", []string{`unknown format "pdf"`}},
		{"--policy singel-learner-coarse --set gama=1 --no-fuse most", []string{"did you mean", `"gama"`, `no fusion "most"`}},
		{"--policy single-learner-coarse --workers 5", []string{"5 replicas for 4 environments"}},
		{"--policy environments", []string{"no family of agents"}},
		{"--policy gpu-only --workers 2", []string{"--workers: cpu is a single device", "xla:cpu or cuda"}},
		{"--policy single-learner-fine --device xla:cpu:0-1", []string{"xla:cpu:0-1 is 2 devices", "--policy gpu-only"}},
		{"--device cuda:0-3", []string{"cuda:0-3 is 4 devices", "--policy gpu-only"}},
		{"--policy gpu-only --device xla:cpu:0-1 --workers 2", []string{"xla:cpu:0-1 is 2 devices already"}},
		{"--policy single-learner-fine --workers 2 --async --placement learn:local/0,environment:here", []string{
			"no asynchronous mode", "there is no group learn; the policy makes environment, learner", "no worker here; the cluster has local/0, local/1",
		}},
		{"--policy single-learner-coarse --placement learner", []string{`placement "learner" is not of the form group:worker`}},
		{"--policy single-learner-coarse --workers 2 --placement learner:local/0,learner:local/1", []string{"group learner is given 2 workers, but has 1 replicas"}},
		{"--policy plain --placement all:local/0", []string{"does not split the loop"}},
		{"--cluster absent.yaml", []string{"absent.yaml"}},
	} {
		contains(t, do(t, 2, planned(strings.Fields(c.args)...)...).errors, c.want...)
	}
}

const twoHosts = `workers:
  a: {host: one, cores: 8, memory: 32, devices: [cpu]}
  b.example: {host: two, cores: 4, devices: ["cuda:0", cpu]}
`

func TestPlanCluster(t *testing.T) {
	file := write(t, "cluster.yaml", twoHosts)
	o := do(t, 0, planned("--policy", "single-learner-coarse", "--cluster", file)...)
	contains(t, o.out, "collector 0  0 of 2    a          cpu", "collector 1  1 of 2    b.example  cuda:0")
	o = do(t, 0, planned("--policy", "single-learner-coarse", "--cluster", file, "--device", "cpu", "--workers", "1")...)
	if strings.Contains(o.out, "b.example") {
		t.Errorf("one worker is asked for:\n%s", o.out)
	}
	o = do(t, 2, planned("--policy", "single-learner-coarse", "--cluster", file, "--workers", "3")...)
	contains(t, o.errors, "3 workers are asked for, but the cluster has 2: add 1")
	bad := write(t, "bad.yaml", "workers:\n  a: {cores: none, size: 3}\nqueue: 3\n")
	o = do(t, 2, planned("--policy", "single-learner-coarse", "--cluster", bad)...)
	contains(t, o.errors, "bad.yaml:2: cores", `unknown setting "size"`, "bad.yaml:3: queue is not of a worker")
	none := write(t, "none.yaml", "")
	contains(t, do(t, 2, planned("--policy", "single-learner-coarse", "--cluster", none)...).errors, "the cluster has no worker")
}

const deployed = `policy: single-learner-coarse
workers: 2
replicas: 4
no_fuse: [replicas]
placement:
  learner: local/1
  collector: [local/0, local/1]
`

// TestDeployment: a file decides, flags override it, and a run's folder keeps it.
func TestDeployment(t *testing.T) {
	t.Chdir(t.TempDir())
	file := write(t, "deploy.yaml", deployed)
	o := do(t, 0, planned("--deployment", file)...)
	contains(t, o.out, "learner 0    0-3 of 4  local/1", "collector 1  1 of 4    local/0", "collector 2  2 of 4    local/1")
	plain := last(t, do(t, 0, tiny("--json", "--out", "plain")...))
	e := last(t, do(t, 0, tiny("--json", "--deployment", file, "--out", "deployed")...))
	if e["policy"] != "single-learner-coarse" || e["state_sha256"] != plain["state_sha256"] || e["weights_sha256"] != plain["weights_sha256"] {
		t.Errorf("%v, want the bits of %v", e, plain)
	}
	again := last(t, do(t, 0, tiny("--json", "--config", "deployed/config.yaml", "--policy", "single-learner-fine", "--placement", "learner:local/0", "--out", "other")...))
	if again["policy"] != "single-learner-fine" || again["state_sha256"] != plain["state_sha256"] {
		t.Errorf("%v", again)
	}
	turns := write(t, "turns.yaml", "policy: single-learner-fine\npipeline: true\ndevices:\n  learner: cpu\n  environment: [cpu]\n")
	again = last(t, do(t, 0, tiny("--json", "--deployment", turns, "--out", "turns")...))
	if again["policy"] != "single-learner-fine" || again["state_sha256"] != plain["state_sha256"] {
		t.Errorf("%v", again)
	}
	contains(t, do(t, 2, tiny("--policy", "single-learner-fine", "--devices", "learner:abacus")...).errors, `unknown device "abacus"`)
	bad := write(t, "bad.yaml", "policy: single-learner-coarse\nsteps: 3\nworkes: 2\n")
	contains(t, do(t, 2, tiny("--deployment", bad)...).errors, `bad.yaml:2: unknown setting "steps"`, `bad.yaml:3: unknown setting "workes", did you mean "workers"`)
}
