package policy_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/weft-rl/weft/algo/a2c"
	_ "github.com/weft-rl/weft/algo/mappo"
	_ "github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

var update = flag.Bool("update", false, "write the golden files")

// graphOf returns the graph of a package of this module.
func graphOf(t *testing.T, pattern string) *fdg.Graph {
	t.Helper()
	results, err := analyze.Analyze(context.Background(), "..", pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Graph == nil {
		t.Fatalf("%s has no graph: %+v", pattern, results)
	}
	return results[0].Graph
}

// problem asks for a plan of a graph whose package has programs.
func problem(g *fdg.Graph, workers int) plan.Problem {
	set, _ := edge.Programs(g.Name)
	return plan.Problem{
		Graph: g, Crossings: set.Crossings(), Cluster: plan.Local(workers, "cpu"), Deployment: plan.Deployment{Workers: workers, Staleness: 1, Queue: 2},
		Facts: plan.Facts{Envs: 11, Block: 1, Graph: true},
	}
}

// The plans of PPO for three workers, before and after fusion.
func TestPlans(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	for _, p := range policy.Builtin() {
		if p.Name == "environments" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			on := problem(g, 2)
			on.Deployment.Replicas = 3 // so that two replicas share a worker
			made, err := p.Make(on)
			if err != nil {
				t.Fatal(err)
			}
			fused := made.Fuse(g, nil)
			if err := fused.Check(on); err != nil {
				t.Errorf("after fusion: %v", err)
			}
			var b strings.Builder
			for _, x := range []plan.Plan{made, fused} {
				if err := x.Print(&b, on.Cluster); err != nil {
					t.Fatal(err)
				}
				b.WriteString("\n----\n")
			}
			golden(t, p.Name+".txt", b.String())
		})
	}
}

// The plan of a loop that is one program on several devices.
func TestTogether(t *testing.T) {
	on := problem(graphOf(t, "./algo/ppo"), 1)
	on.Facts.Envs, on.Facts.Devices, on.Cluster = 12, 3, plan.Local(1, "cuda:0-2")
	made, err := policy.GPUOnly.Make(on)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := made.Print(&b, on.Cluster); err != nil {
		t.Fatal(err)
	}
	golden(t, "gpu-only-together.txt", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is no longer what is printed (go test -update writes it):\n%s", file, got)
	}
}

// What cannot be is refused with what is missing.
func TestRefused(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	for _, x := range []struct {
		policy policy.Policy
		change func(*plan.Problem)
		want   string
	}{
		{policy.Environments, func(*plan.Problem) {}, "no family of agents"},
		{policy.GPUOnly, func(p *plan.Problem) { p.Facts.Graph = false }, "needs an environment that is a graph function"},
		{policy.GPUOnly, func(p *plan.Problem) { p.Facts.Devices = 2 }, "on 2 devices: 11 environments make no equal parts, one for each, so choose a multiple of 2"},
		{policy.SingleLearnerCoarse, func(p *plan.Problem) { p.Deployment.Workers = 12 }, "12 replicas for 11 environments in blocks of 1"},
		{policy.SingleLearnerFine, func(p *plan.Problem) { p.Facts.Block = 4 }, "3 replicas for 11 environments in blocks of 4"},
		{policy.MultiLearner, func(p *plan.Problem) { p.Deployment.Async = true }, "has no asynchronous mode"},
		{policy.Central, func(p *plan.Problem) { p.Cluster = plan.Cluster{} }, "the cluster has no worker"},
		{policy.SingleLearnerCoarse, func(p *plan.Problem) { p.Deployment.Pipeline = true }, "no environments apart from what acts for them"},
		{policy.SingleLearnerFine, func(p *plan.Problem) { p.Deployment.Pipeline, p.Deployment.Replicas = true, 3 }, "3 replicas make no two halves"},
		{policy.SingleLearnerFine, func(p *plan.Problem) { p.Deployment.Devices = []string{"learner:abacus"} }, "computes on abacus, which worker local/0 does not have"},
		{policy.SingleLearnerFine, func(p *plan.Problem) { p.Deployment.Devices = []string{"lerner:cpu"} }, "there is no group lerner; the policy makes environment, learner"},
		{policy.SingleLearnerFine, func(p *plan.Problem) { p.Deployment.Devices = []string{"learner"} }, "not of the form group:device"},
		{policy.SingleLearnerFine, func(p *plan.Problem) { p.Deployment.Devices = []string{"learner:cpu", "learner:cuda"} }, "group learner is given 2, but has 1 replicas"},
		{policy.Plain, func(p *plan.Problem) { p.Deployment.NoFuse = []string{"everything"} }, `no fusion "everything"`},
	} {
		on := problem(g, 3)
		x.change(&on)
		if _, err := x.policy.Make(on); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: error %v, want ...%s...", x.policy.Name, err, x.want)
		}
	}
}

// A loop whose learner is not a gradient cannot have several.
func TestSummable(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	odd := *g
	odd.Nodes = slices.Clone(g.Nodes)
	for i, n := range odd.Nodes {
		if n.Kind == fdg.Apply {
			odd.Nodes[i].Kind = fdg.Op
		}
	}
	for _, p := range []policy.Policy{policy.MultiLearner, policy.Central} {
		if _, err := p.Grouping(&odd); err == nil || !strings.Contains(err.Error(), "cannot be summed") {
			t.Errorf("%s: error %v", p.Name, err)
		}
	}
}

// Every shard is owned once, whatever the numbers.
func TestSpread(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	for workers := 1; workers <= 5; workers++ {
		for shards := 1; shards <= 11; shards++ {
			on := problem(g, workers)
			on.Deployment.Replicas = shards
			made, err := policy.SingleLearnerCoarse.Make(on)
			if err != nil {
				t.Fatal(err)
			}
			fused := made.Fuse(g, nil)
			if err := fused.Check(on); err != nil {
				t.Errorf("%d shards on %d workers, fused: %v", shards, workers, err)
			}
			used := map[int]bool{}
			for _, r := range made.Of("collector") {
				used[r.Worker] = true
			}
			if len(used) != min(workers, shards) {
				t.Errorf("%d shards on %d workers use %d of them", shards, workers, len(used))
			}
			if n := len(fused.Of("collector")); workers > 1 && shards > 1 && n != min(workers, shards) {
				t.Errorf("%d shards on %d workers: %d collectors after fusion", shards, workers, n)
			}
		}
	}
}

// Gradients stay one call a shard.
func TestFuseKeepsLearners(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	on := problem(g, 1)
	on.Deployment.Replicas = 4
	for _, p := range []policy.Policy{policy.MultiLearner, policy.Central} {
		made, err := p.Make(on)
		if err != nil {
			t.Fatal(err)
		}
		if fused := made.Fuse(g, nil); len(fused.Of(made.Groups[0].Name)) != 4 {
			t.Errorf("%s: %d replicas are left of 4, and with them another sum", p.Name, len(fused.Of(made.Groups[0].Name)))
		}
	}
}

// Of two ways to take a loop apart with one name, one is generated.
func TestGroupings(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	twin := policy.SingleLearnerCoarse
	twin.Name = "twin"
	var names []string
	for _, x := range policy.Groupings(g, append(policy.Builtin(), twin)) {
		names = append(names, x.Name)
		if err := x.Check(g); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(names, " "); got != "coarse fine learners central" {
		t.Errorf("groupings %s", got)
	}
}

// TestPatience: unless it is told, a policy lets weights be as old as its replicas
// make them: one version where they send batches, more where each makes a version.
func TestPatience(t *testing.T) {
	g := graphOf(t, "./algo/a2c")
	for _, c := range []struct {
		policy policy.Policy
		asked  int
		want   int
	}{{policy.SingleLearnerCoarse, 0, 1}, {policy.Central, 0, 6}, {policy.Central, 1, 1}, {policy.SingleLearnerCoarse, 4, 4}} {
		on := problem(g, 3)
		on.Deployment.Async, on.Deployment.Staleness = true, c.asked
		made, err := c.policy.Make(on)
		if err != nil {
			t.Fatal(err)
		}
		if made.Staleness != c.want {
			t.Errorf("%s, asked for %d: %d versions, want %d", c.policy.Name, c.asked, made.Staleness, c.want)
		}
	}
}

// TestGrowing: a run that may have more workers is split into as many parts as it has
// workers, unless their number decides what it computes: then into as many as it may have.
func TestGrowing(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	for _, c := range []struct {
		policy     policy.Policy
		async      bool
		most       int
		want, room int
	}{
		{policy.SingleLearnerCoarse, false, 8, 3, 11}, {policy.SingleLearnerFine, false, 8, 3, 11},
		{policy.MultiLearner, false, 8, 8, 11}, {policy.MultiLearner, false, 20, 11, 11}, {policy.MultiLearner, false, 0, 3, 11},
		{policy.Central, false, 8, 8, 11}, {policy.Central, true, 8, 3, 11}, {policy.GPUOnly, false, 8, 1, 1},
	} {
		on := problem(g, 3)
		on.Deployment.Async, on.Deployment.MaxWorkers = c.async, c.most
		made, err := c.policy.Make(on)
		if err != nil {
			t.Fatal(err)
		}
		if room := c.policy.Most(on); made.Shards != c.want || made.MaxWorkers != c.most || room != c.room {
			t.Errorf("%s, async %t, up to %d: %d parts and %d in all, want %d and %d", c.policy.Name, c.async, c.most, made.Shards, room, c.want, c.room)
		}
	}
}

// Devices go to the groups that are given them; environments that stand alone are the
// CPU's.
func TestDevices(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	devices := func(p policy.Policy, list ...string) (out []string) {
		t.Helper()
		on := problem(g, 2)
		on.Cluster = plan.Local(2, "cuda", "cuda:1", "cpu")
		on.Deployment.Devices = list
		made, err := p.Make(on)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range made.Fuse(g, nil).Replicas {
			out = append(out, r.Group+" "+r.Device)
		}
		return out
	}
	for _, x := range []struct {
		policy  policy.Policy
		devices []string
		want    []string
	}{
		{policy.SingleLearnerFine, nil, []string{"environment cpu", "environment cpu", "learner cuda"}},
		{policy.SingleLearnerFine, []string{"environment:cuda"}, []string{"environment cuda", "environment cuda", "learner cuda"}},
		{policy.SingleLearnerCoarse, nil, []string{"collector cuda", "collector cuda", "learner cuda"}},
		{policy.SingleLearnerCoarse, []string{"collector:cpu"}, []string{"collector cpu", "collector cpu", "learner cuda"}},
		{policy.MultiLearner, []string{"learner:cuda", "learner:cuda:1"}, []string{"learner cuda", "learner cuda:1"}},
	} {
		if got := devices(x.policy, x.devices...); !slices.Equal(got, x.want) {
			t.Errorf("%s with %v: %v, want %v", x.policy.Name, x.devices, got, x.want)
		}
	}
}

// Each of the halves that take turns is spread over all workers, and fusion keeps them
// apart. What needs all environments at once takes no turns.
func TestTurns(t *testing.T) {
	g := graphOf(t, "./algo/ppo")
	on := problem(g, 2)
	on.Deployment.Pipeline, on.Deployment.Replicas = true, 8
	made, err := policy.SingleLearnerFine.Make(on)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	fused := made.Fuse(g, nil)
	for _, r := range fused.Of("environment") {
		got = append(got, r.First, r.Worker)
	}
	if want := []int{0, 0, 2, 1, 4, 0, 6, 1}; !slices.Equal(got, want) || made.Turns != 2 {
		t.Errorf("shards and workers %v, want %v; %d turns", got, want, made.Turns)
	}
	odd := *g
	odd.Nodes = slices.Clone(g.Nodes)
	for i, n := range odd.Nodes {
		odd.Nodes[i].Whole = n.Whole || n.Op == "rl.Func.Rows"
	}
	on.Graph = &odd
	if _, err := policy.SingleLearnerFine.Make(on); err == nil || !strings.Contains(err.Error(), "needs all environments at once") {
		t.Errorf("error %v", err)
	}
}
