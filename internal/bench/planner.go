package bench

import (
	"fmt"
	"slices"
)

// Planner compares what the cost model predicts with what is measured. The command line runs it.
var Planner = Benchmark{
	Name:  "planner",
	Doc:   "predicted and measured times of an iteration: algorithms, environments, networks, policies and workers; the regret of --policy auto",
	cases: plannerCases,
}

// PlannerSpec is a workload of Planner.
type PlannerSpec struct {
	Algorithm string
	Env       string
	Burn      int // microseconds that an environment computes in a step; 0 is Env itself
	Set       []string
	Workers   int // at most
}

func plannerCases(quick bool) (out []Case) {
	add := func(algorithm, env string, burn, workers int, hidden string, set ...string) {
		id := fmt.Sprintf("%s,env=%d,net=%s,workers=%d", algorithm, burn, hidden, workers)
		out = append(out, Case{ID: id, Title: id, Unit: "steps/s", Spec: PlannerSpec{algorithm, env, burn, slices.Concat(set, []string{"hidden=" + hidden}), workers}})
	}
	rollout := []string{"envs=8", "horizon=32"}
	ppo := slices.Concat(rollout, []string{"epochs=2", "minibatches=4", "anneal=constant"})
	burns, nets, workers := []int{0, 10, 100, 1000, 5000}, []string{"64,64", "256,256", "1024,1024,1024"}, []int{2, 4}
	if quick {
		burns, nets, workers = []int{0, 100}, []string{"64,64"}, []int{2}
	}
	for _, burn := range burns {
		for _, net := range nets {
			if burn < 5000 || net == nets[0] {
				add("ppo", "CartPole-v1", burn, workers[0], net, ppo...)
			}
		}
	}
	for _, w := range workers[1:] {
		add("ppo", "CartPole-v1", 100, w, "64,64", ppo...)
		add("ppo", "CartPole-v1", 1000, w, "64,64", ppo...)
	}
	for _, name := range []string{"a2c", "impala"} {
		add(name, "CartPole-v1", 0, workers[0], "64,64", rollout...)
		add(name, "CartPole-v1", 100, workers[0], "64,64", rollout...)
	}
	add("dqn", "CartPole-v1", 0, workers[0], "64,64", "envs=8", "learning_starts=256")
	add("dqn", "CartPole-v1", 100, workers[0], "64,64", "envs=8", "learning_starts=256")
	add("sac", "Pendulum-v1", 0, workers[0], "64,64", "envs=8", "learning_starts=256")
	return out
}
