package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/launch/kubernetes/kubernetestest"
	"github.com/weft-rl/weft/internal/run/part"
)

// onKubernetes starts a Kubernetes whose nodes have an image of this program.
func onKubernetes(t *testing.T) *kubernetestest.Cluster {
	return kubernetestest.Start(t, func(path string) {
		do(t, t.TempDir(), 0, "image", "--out", path, "--tag", kubernetestest.Image)
	})
}

// pods adds what has a run trained by three nodes.
func pods(out string, args []string, more ...string) []string {
	return append(on("kubernetes", out, args), append([]string{"--kubernetes", "image=" + kubernetestest.Image, "--kubernetes", "claim=runs", "--kubernetes", "grace=60"}, more...)...)
}

// goneJob waits until nothing of a run is left in the cluster.
func goneJob(t *testing.T, c *kubernetestest.Cluster, run string) {
	t.Helper()
	c.Await(t, "nothing is left of "+run, func() bool {
		return !strings.Contains(c.Kubectl("get", "job,pod,secret,configmap,service,pdb", "-o", "name"), "/"+run+"-")
	})
}

// Runs on Kubernetes end in the bits of the plain loop, whatever happens to their pods and nodes.
// The submitting machine does not see their folder.
func TestKubernetes(t *testing.T) {
	c := onKubernetes(t)
	dir := t.TempDir()
	plain := map[string]event{}
	for name, steps := range map[string]string{"ppo": "98304", "dqn": "6144"} {
		line, _ := do(t, dir, 0, small(name, steps, "--out", "plain-"+name)...)
		plain[name] = parse(t, line)
	}
	const steps = "1048576" // enough for something to happen in between
	line, _ := do(t, dir, 0, small("ppo", steps, "--out", "plain-long")...)
	long := parse(t, line)
	// The claim is mounted where the folder of runs is here.
	real := func(out string) string { return filepath.Join(c.Runs, out) }
	end := func(t *testing.T, p *process, out string, want event) {
		t.Helper()
		line, code := p.end()
		if code != 0 {
			t.Fatalf("exit code %d\n%s\n%s\n%s", code, line, p.stderr.String(), c.Kubectl("get", "pods,jobs,events"))
		}
		sameBits(t, parse(t, line), want)
		c.Kubectl("delete", "job", "--all", "--cascade=foreground")
		goneJob(t, c, out)
	}
	t.Run("ppo and dqn", func(t *testing.T) {
		for name, want := range plain {
			began := time.Now()
			p := start(t, dir, pods("whole-"+name, small(name, fmt.Sprint(want.Steps)))...)
			if !p.until(`"iteration"`, 1) {
				t.Fatalf("it ended early: %s", p.stderr.String())
			}
			t.Logf("%s: first iteration %.1f s after the command", name, time.Since(began).Seconds())
			end(t, p, "whole-"+name, want)
			t.Logf("%s: over %.1f s after the command", name, time.Since(began).Seconds())
		}
	})
	hit := func(t *testing.T, p *process, out string) { // what was done to it was done in time
		t.Helper()
		line, code := p.end()
		if code != 0 {
			t.Fatalf("exit code %d\n%s\n%s\n%s", code, line, p.stderr.String(), c.Kubectl("get", "pods,jobs,events"))
		}
		sameBits(t, parse(t, line), long)
		said, _ := do(t, dir, 0, "status", out, "--json")
		if strings.Contains(said, `"restarts":0`) && strings.Contains(said, `"epoch":1,`) {
			t.Errorf("nothing has happened to it: %.300s\n%s", said, c.Kubectl("logs", "-l", "batch.kubernetes.io/job-completion-index=0", "--tail=-1"))
		}
		c.Kubectl("delete", "job", "--all", "--cascade=foreground")
		goneJob(t, c, out)
	}
	t.Run("a worker's pod is killed", func(t *testing.T) {
		p := start(t, dir, pods("pod", small("ppo", steps))...)
		saved(t, c, real("pod"), 4096)
		c.KillPod(podOf(c, "pod", 1))
		hit(t, p, "pod")
	})
	t.Run("the leading pod is killed", func(t *testing.T) {
		p := start(t, dir, pods("first", small("ppo", steps))...)
		saved(t, c, real("first"), 4096)
		c.KillPod(podOf(c, "first", 0))
		hit(t, p, "first")
	})
	for index, out := range []string{"leadernode", "node"} {
		t.Run("the node is lost of pod "+fmt.Sprint(index), func(t *testing.T) {
			p := start(t, dir, pods(out, small("ppo", steps))...)
			saved(t, c, real(out), 4096)
			node := c.NodeOf(podOf(c, out, index))
			c.Kill(node)
			c.Kubectl("delete", "node", node) // as clouds do
			time.Sleep(2 * time.Second)
			c.Revive(node)
			hit(t, p, out)
		})
	}
	t.Run("a node is drained", func(t *testing.T) {
		for index, out := range []string{"drainleader", "drainworker"} {
			p := start(t, dir, pods(out, small("ppo", steps))...)
			saved(t, c, real(out), 4096)
			node := c.NodeOf(podOf(c, out, index))
			if said := c.Kubectl("drain", node, "--timeout=90s", "--delete-emptydir-data"); !strings.HasSuffix(said, " drained") {
				t.Error(said)
			}
			c.Kubectl("uncordon", node)
			hit(t, p, out)
		}
	})
	t.Run("stopped, resumed", func(t *testing.T) {
		do(t, dir, 0, pods("stop", small("ppo", steps, "--detach"))...)
		saved(t, c, real("stop"), 4096)
		if line, _ := do(t, dir, 0, "status", "stop", "--json"); !strings.Contains(line, `"state":"RUNNING`) || !strings.Contains(line, `"name":"stop"`) {
			t.Errorf("its status is %s", line)
		}
		if line, _ := do(t, dir, 0, "logs", "stop"); line == "" {
			t.Error("it has no log")
		}
		if _, said := do(t, dir, 2, "resume", "stop", "--on", "kubernetes", "--nodes", "2", "--kubernetes", "image=weft:test", "--kubernetes", "claim=runs"); !strings.Contains(said, "still has the run") {
			t.Error(said)
		}
		do(t, dir, 0, "stop", "stop")
		goneJob(t, c, "stop")
		if _, said := do(t, dir, 2, "resume", "stop"); !strings.Contains(said, "weft resume stop --on kubernetes goes on there") {
			t.Error(said)
		}
		p := start(t, dir, "resume", "stop", "--on", "kubernetes", "--nodes", "2", "--kubernetes", "image=weft:test", "--kubernetes", "claim=runs", "--json")
		end(t, p, "stop", long)
		if line, _ := do(t, dir, 0, "status", "stop", "--json"); !strings.Contains(line, `"over":true`) {
			t.Errorf("its status is %s", line)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		p := start(t, dir, pods("ctrlc", small("ppo", steps))...)
		saved(t, c, real("ctrlc"), 4096)
		p.signal(os.Interrupt)
		if line, code := p.end(); code != 130 || !strings.Contains(line, `"event":"interrupted"`) {
			t.Errorf("exit code %d: %s\n%s", code, line, p.stderr.String())
		}
		goneJob(t, c, "ctrlc")
		end(t, start(t, dir, "resume", "ctrlc", "--on", "kubernetes", "--workers", "2", "--kubernetes", "image=weft:test", "--kubernetes", "claim=runs", "--json"), "ctrlc", long)
	})
	t.Run("by hand, then at home", func(t *testing.T) {
		p := start(t, dir, pods("hand", small("ppo", steps, "--dry-run"))...)
		var text strings.Builder
		for p.lines.Scan() {
			fmt.Fprintln(&text, p.lines.Text())
		}
		p.end()
		base := t.TempDir()
		for name, text := range map[string]string{"job.yaml": text.String(), "kustomization.yaml": "resources: [job.yaml]\n"} {
			if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c.Apply(c.Kubectl("kustomize", base))
		c.Await(t, "the job is over", func() bool { return strings.Contains(c.Kubectl("get", "jobs"), "Complete") })
		if out, err := exec.Command("cp", "-r", real("hand"), filepath.Join(dir, "fetched")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		line, _ := do(t, dir, 0, "resume", "fetched", "--json") // which says that it is over
		sameBits(t, parse(t, line), long)
		c.Kubectl("delete", "job,service,secret,configmap,pdb", "-l", "app.kubernetes.io/managed-by=weft")
		goneJob(t, c, "hand")
	})
}

// Runs survive twenty faults in a row, two in each: pods and nodes killed, nodes drained, in an
// order that a seed decides.
func TestKubernetesFaults(t *testing.T) {
	c := onKubernetes(t)
	dir := t.TempDir()
	const steps = "1048576"
	line, _ := do(t, dir, 0, small("ppo", steps, "--out", "plain")...)
	want := parse(t, line)
	order := rand.New(rand.NewPCG(1, 2))
	faults := map[string]int{}
	for run := range 10 {
		out := fmt.Sprintf("run%d", run)
		p := start(t, dir, pods(out, small("ppo", steps))...)
		var did []string
		for range 2 {
			at, err := part.ReadCommitted(filepath.Join(c.Runs, out))
			if err != nil {
				t.Fatal(err)
			}
			saved(t, c, filepath.Join(c.Runs, out), at.Step()+8192)
			index := order.IntN(3)
			pod := podOf(c, out, index)
			c.Await(t, "the pod is there", func() bool { return c.NodeOf(pod) != "" && c.NodeOf(pod) != "<none>" })
			node, kind := c.NodeOf(pod), []string{"pod killed", "node killed", "node drained"}[order.IntN(3)]
			switch kind {
			case "pod killed":
				c.KillPod(pod)
			case "node killed":
				c.Kill(node)
				c.Kubectl("delete", "node", node)
				c.Revive(node)
			default:
				if said := c.Kubectl("drain", node, "--timeout=90s", "--delete-emptydir-data"); !strings.HasSuffix(said, " drained") {
					t.Error(said)
				}
				c.Kubectl("uncordon", node)
			}
			faults[kind]++
			did = append(did, fmt.Sprintf("%s (pod %d)", kind, index))
		}
		line, code := p.end()
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s\n%s\n%s", did, code, line, p.stderr.String(), c.Kubectl("get", "pods,jobs,events"))
		}
		sameBits(t, parse(t, line), want)
		said, _ := do(t, dir, 0, "status", out, "--json")
		t.Logf("%s: %v; %s", out, did, regexp.MustCompile(`"(restarts|epoch)":\d+`).FindAllString(said, 2))
		c.Kubectl("delete", "job", "--all", "--cascade=foreground")
		goneJob(t, c, out)
	}
	t.Logf("none of %v lost", faults)
}

// An author's package is compiled into an image, which the pods run.
func TestKubernetesOwn(t *testing.T) {
	dir := own(t)
	c := kubernetestest.Start(t, func(path string) {
		do(t, dir, 0, "image", "--out", path, "--tag", kubernetestest.Image, "--env", "./env")
	})
	args := func(more ...string) []string {
		return append([]string{
			"train", "ppo", "--env", "./env?numbers=4", "--steps", "6400", "--eval-episodes", "4", "--json",
			"--set", "envs=2", "--set", "horizon=8", "--set", "hidden=8", "--set", "epochs=1", "--set", "minibatches=1",
		}, more...)
	}
	line, _ := do(t, dir, 0, args("--out", "whole")...)
	want := parse(t, line)
	p := start(t, dir, pods("mine", args("--workers", "2"))...)
	line, code := p.end()
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s\n%s", code, line, p.stderr.String(), c.Kubectl("get", "pods,jobs"))
	}
	sameBits(t, parse(t, line), want)
}

// podOf returns the beginning of the name of a run's pod.
func podOf(c *kubernetestest.Cluster, run string, index int) string {
	for name := range strings.FieldsSeq(c.Kubectl("get", "jobs", "-o", "custom-columns=N:.metadata.name", "--no-headers")) {
		if strings.HasPrefix(name, run+"-") {
			return fmt.Sprintf("%s-%d-", name, index)
		}
	}
	return "there is no job of " + run
}

// What Kubernetes refuses is said in a sentence, and leaves nothing behind.
func TestKubernetesRefuses(t *testing.T) {
	c := onKubernetes(t)
	c.Apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: full}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: full}, spec: {hard: {pods: "0"}}}
`)
	c.Await(t, "the quota is known", func() bool { return strings.Contains(c.Kubectl("get", "quota", "-n", "full"), "pods: 0/0") })
	for _, x := range []struct {
		more []string
		want string
		code int
	}{
		{[]string{"nodes=9"}, "9 nodes are asked for, and the cluster has 3", 1},
		{[]string{"gpus=8"}, "a pod asks for 8 of nvidia.com/gpu, and no node of the cluster has more than 0", 1},
		{[]string{"cpus=64"}, "a pod asks for 64 CPUs", 1},
		{[]string{"context=nowhere"}, `context "nowhere" does not exist; kubectl config get-contexts lists`, 1},
		{[]string{"context=nobody"}, "log in again", 1},
		{[]string{"context=poor"}, `User "poor" cannot`, 1},
		{[]string{"namespace=absent"}, `namespaces "absent" not found`, 1},
		{[]string{"namespace=full"}, "exceeded quota: few", 1},
		{[]string{"image=elsewhere:1"}, "the image cannot be pulled: ", 1},
		{[]string{"gpus=few"}, "is no whole number", 2},
	} {
		dir := t.TempDir()
		args := append(small("ppo", "4096", "--policy", "single-learner-coarse", "--on", "kubernetes", "--out", "refused"), "--kubernetes", "claim=runs")
		if n, ok := strings.CutPrefix(x.more[0], "nodes="); ok {
			args = append(args, "--nodes", n, "--kubernetes", "image=weft:test")
		} else {
			args = append(args, "--nodes", "2", "--kubernetes", "image=weft:test", "--kubernetes", x.more[0])
		}
		_, said := do(t, dir, x.code, args...)
		if !strings.Contains(said, x.want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: %s", x.more, said)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%q: %v is left", x.more, left)
		}
		goneJob(t, c, "refused")
	}
	if left := c.Kubectl("get", "job,pod,secret,service,pdb", "-n", "full", "-o", "name"); left != "" {
		t.Errorf("%s is left", left)
	}
}
