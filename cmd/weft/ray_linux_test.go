package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/launch/ray/raytest"
)

// onRay adds what has a run trained by three nodes.
func onRay(out string, args []string) []string { return on("ray", out, args) }

// leads waits until the command that leads a run has a node, and returns its name.
func leads(t *testing.T, c *raytest.Cluster, dir, out string) (node string) {
	t.Helper()
	c.Await(t, "the job has a node", func() bool {
		line, _ := do(t, dir, 0, "status", out, "--json")
		node = c.Node(line)
		return node != ""
	})
	return node
}

// otherThan returns another node.
func otherThan(node string) string {
	if node == "n1" {
		return "n2"
	}
	return "n1"
}

// Runs on Ray end in the bits of the plain loop, whatever happens to the nodes of the cluster.
func TestRay(t *testing.T) {
	c := raytest.Start(t)
	dir := t.TempDir()
	plain := map[string]event{}
	for name, steps := range map[string]string{"ppo": "98304", "dqn": "6144", "long": longSteps} {
		line, _ := do(t, dir, 0, small(strings.Replace(name, "long", "ppo", 1), steps, "--out", "plain-"+name)...)
		plain[name] = parse(t, line)
	}
	at := func(out string) string { return filepath.Join(dir, out) }
	end := func(t *testing.T, p *process, out string, want event) {
		t.Helper()
		line, code := p.end()
		if code != 0 {
			t.Fatalf("exit code %d\n%s\n%s", code, line, p.stderr.String())
		}
		sameBits(t, parse(t, line), want)
		noSecrets(t, at(out))
		c.Empty(t)
	}
	begin := func(t *testing.T, out string) *process {
		t.Helper()
		p := start(t, dir, onRay(out, small("ppo", longSteps))...)
		saved(t, c, at(out), 4096)
		return p
	}
	t.Run("ppo and dqn", func(t *testing.T) {
		for _, name := range []string{"ppo", "dqn"} {
			want, began := plain[name], time.Now()
			p := start(t, dir, onRay("whole-"+name, small(name, fmt.Sprint(want.Steps)))...)
			if !p.until(`"iteration"`, 1) {
				t.Fatalf("it ended early: %s", p.stderr.String())
			}
			t.Logf("%s: first iteration %.1f s after the command", name, time.Since(began).Seconds())
			end(t, p, "whole-"+name, want)
		}
	})
	t.Run("measured", func(t *testing.T) {
		p := begin(t, "measured")
		node := leads(t, c, dir, "measured")
		c.Await(t, "Ray has its metrics", func() bool {
			return regexp.MustCompile(`(?m)^ray_weft_steps\{.*run="measured".*\} [1-9]`).MatchString(c.Metrics(node))
		})
		p.signal(os.Interrupt)
		p.end()
		c.Empty(t)
	})
	t.Run("a node is lost", func(t *testing.T) {
		lengthy(t)
		p := begin(t, "node")
		node := otherThan(leads(t, c, dir, "node"))
		c.Kill(node)
		if !p.until("epoch 2 begins", 1) {
			t.Fatalf("it did not go on without the node: %s", p.stderr.String())
		}
		c.Revive(node)
		end(t, p, "node", plain["long"])
	})
	t.Run("the coordinator's node is lost", func(t *testing.T) {
		p := begin(t, "first")
		node := leads(t, c, dir, "first")
		c.Kill(node)
		began := time.Now()
		c.Revive(node)
		further(t, c, at("first"), func() {})
		t.Logf("a checkpoint %.1f s after the node was lost", time.Since(began).Seconds())
		end(t, p, "first", plain["long"])
		if line, _ := do(t, dir, 0, "status", "first", "--json"); strings.Contains(line, `"restarts":0`) {
			t.Errorf("Ray did not start it again: %s", line)
		}
	})
	t.Run("drained", func(t *testing.T) {
		lengthy(t)
		for _, leader := range []bool{true, false} {
			out := fmt.Sprintf("drained-%v", leader)
			p := begin(t, out)
			node := leads(t, c, dir, out)
			if !leader {
				node = otherThan(node)
			}
			c.Drain(node)
			further(t, c, at(out), func() {})
			c.Kill(node) // as an autoscaler does then
			c.Revive(node)
			end(t, p, out, plain["long"])
		}
	})
	t.Run("it grows", func(t *testing.T) {
		lengthy(t)
		c.Kill("n3")
		p := start(t, dir, append(onRay("grow", small("ppo", longSteps)), "--nodes", "2", "--max-workers", "3")...)
		saved(t, c, at("grow"), 4096)
		c.Revive("n3")
		if !p.until("on w0, w1, w2", 1) {
			t.Errorf("it did not grow: %s", p.stderr.String())
		}
		end(t, p, "grow", plain["long"])
	})
	t.Run("seeds", func(t *testing.T) {
		line, _ := do(t, dir, 0, small("ppo", "98304", "--out", "seeds-plain", "--seeds", "2")...)
		want := parse(t, line)
		line, _ = do(t, dir, 0, append(onRay("seeds", small("ppo", "98304", "--seeds", "2")), "--nodes", "2")...)
		sameBits(t, parse(t, line), want)
		c.Empty(t)
	})
	t.Run("stopped, resumed elsewhere", func(t *testing.T) {
		lengthy(t)
		do(t, dir, 0, onRay("stop", small("ppo", longSteps, "--detach"))...)
		saved(t, c, at("stop"), 4096)
		if line, _ := do(t, dir, 0, "status", "stop", "--json"); !strings.Contains(line, `"state":"RUNNING`) {
			t.Errorf("its status is %s", line)
		}
		if _, said := do(t, dir, 2, "resume", "stop", "--on", "ray", "--nodes", "2"); !strings.Contains(said, "still has the run") {
			t.Error(said)
		}
		do(t, dir, 0, "stop", "stop")
		noSecrets(t, at("stop"))
		c.Empty(t)
		end(t, start(t, dir, "resume", "stop", "--on", "ray", "--nodes", "2", "--json"), "stop", plain["long"])
	})
	t.Run("interrupted, resumed at home", func(t *testing.T) {
		lengthy(t)
		p := begin(t, "ctrlc")
		p.signal(os.Interrupt)
		if line, code := p.end(); code != 130 || !strings.Contains(line, `"event":"interrupted"`) {
			t.Errorf("exit code %d: %s\n%s", code, line, p.stderr.String())
		}
		c.Empty(t)
		line, _ := do(t, dir, 0, "resume", "ctrlc", "--json")
		sameBits(t, parse(t, line), plain["long"])
	})
}

// What Ray refuses is said in a sentence, and leaves nothing behind.
func TestRayRefuses(t *testing.T) {
	c := raytest.Start(t)
	refused := func(t *testing.T, want string, code int, more ...string) {
		t.Helper()
		dir := t.TempDir()
		_, said := do(t, dir, code, append(small("ppo", "4096", "--policy", "single-learner-coarse", "--on", "ray"), more...)...)
		if !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: %s", more, said)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%q: %v is left", more, left)
		}
		c.Empty(t)
	}
	refused(t, "ask for less with --nodes", 1, "--nodes", "9")
	refused(t, "the cluster of Ray has no room for 2 workers with CPU 1, GPU 8 each", 1, "--nodes", "2", "--ray", "gpus=8")
	refused(t, "the cluster of Ray has no room", 1, "--workers", "2", "--seeds", "2", "--ray", "cpus=64")
	refused(t, "there is no Ray at 127.0.0.1:1", 1, "--nodes", "2", "--ray", "address=127.0.0.1:1")
	refused(t, "is Ray's dashboard: name the cluster itself", 1, "--nodes", "2", "--ray", "address=http://127.0.0.1:8265")
	refused(t, "/bin/false cannot run the driver of Ray", 1, "--nodes", "2", "--ray", "python=/bin/false")
	refused(t, "there is no such option", 2, "--nodes", "2", "--ray", "queue=fast")
	refused(t, "--max-workers: 2 are fewer than the 3", 2, "--nodes", "3", "--max-workers", "2")
}

// The trainable of docs/ray.md is one that Ray Tune takes.
func TestRayTune(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(bin)+":"+os.Getenv("PATH")) // of the nodes
	c := raytest.Start(t)
	page, err := os.ReadFile("../../docs/ray.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?ms)^```python\n(.*?)^```").FindSubmatch(page)
	if m == nil {
		t.Fatal("the page has no program")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Getenv("WEFT_PYTHON"), "-c", string(m[1]))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "RAY_AIR_NEW_OUTPUT=0", "RAY_ADDRESS="+c.Address)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "{'learning_rate': 0.001}") {
		t.Errorf("%v\n%s", err, out)
	}
}
