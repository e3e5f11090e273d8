package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policies compares ways to distribute one training loop.
var Policies = Benchmark{
	Name:       "policies",
	Doc:        "PPO under distribution policies: what programs, workers and fusion cost and gain, and which policy wins where; SB3 and RLlib beside it",
	names:      []string{"plain", "coarse", "fine", "learners", "central", "sb3", "rllib"},
	cases:      policyCases,
	contenders: policyContenders,
	heading:    "The fastest, and how many times as fast as the first the others are, by their fastest rounds:",
	summary:    winner,
	turn:       turn{2 * time.Second, 500 * time.Millisecond},
}

// PolicySpec holds a loop and the contenders of its case.
type PolicySpec struct {
	Recipe
	Burn   int       `json:"-"` // microseconds that an environment computes in a step; 0 is CartPole
	Hidden string    `json:"-"` // layers
	Ways   []Way     `json:"-"`
	Peers  bool      `json:"-"` // peers take part
	Whole  WholeSpec `json:"-"` // measure whole runs instead
}

// Way is a deployment.
type Way struct {
	Name     string // of the contender
	Path     string // tells it from others of the same name
	Policy   string
	Workers  int
	Replicas int
	Async    bool
	NoFuse   string
}

// PolicyFunc trains a case in one way with Weft until ctx is done. It calls after at the end of
// every iteration.
type PolicyFunc func(ctx context.Context, p PolicySpec, w Way, after func()) error

var (
	plainWay  = Way{Name: "plain", Path: "1 loop", Policy: "plain", Workers: 1}
	coarse1   = Way{Name: "coarse", Path: "1 worker", Policy: "single-learner-coarse", Workers: 1, NoFuse: "all"}
	coarse2   = Way{Name: "coarse", Path: "2 workers", Policy: "single-learner-coarse", Workers: 2}
	ahead2    = Way{Name: "coarse", Path: "2, async", Policy: "single-learner-coarse", Workers: 2, Async: true}
	fine2     = Way{Name: "fine", Path: "2 workers", Policy: "single-learner-fine", Workers: 2}
	learners2 = Way{Name: "learners", Path: "2 workers", Policy: "multi-learner", Workers: 2}
	central2  = Way{Name: "central", Path: "2 workers", Policy: "central", Workers: 2}
	fused8    = Way{Name: "coarse", Path: "8 fused", Policy: "single-learner-coarse", Workers: 1, Replicas: 8, NoFuse: "groups"}
	unfused8  = Way{Name: "coarse", Path: "8 apart", Policy: "single-learner-coarse", Workers: 1, Replicas: 8, NoFuse: "all"}
	everyWay  = []Way{plainWay, coarse2, ahead2, fine2, learners2, central2}
	allWays   = []Way{plainWay, coarse1, coarse2, ahead2, fine2, learners2, central2, fused8, unfused8}
)

func policyCases(bool) []Case {
	out := []Case{
		policyCase("programs", "the loop as it stands beside its generated programs", 16, 0, "64,64", 4, []Way{plainWay, coarse1}, false),
		policyCase("workers", "an environment that computes for 50 us: one worker, two workers", 16, 50, "64,64", 1, []Way{coarse1, coarse2}, false),
		policyCase("fusion", "8 replicas in one place: one batched call, or eight", 16, 0, "64,64", 1, []Way{fused8, unfused8}, false),
	}
	for _, burn := range []int{0, 10, 50} {
		for _, hidden := range []string{"16", "64,64", "256,256"} {
			id, title := fmt.Sprintf("env=%d,net=%s", burn, hidden), fmt.Sprintf("environment of %d us, layers of %s", burn, hidden)
			out = append(out, policyCase(id, title, 16, burn, hidden, 4, everyWay, false))
		}
	}
	for _, envs := range []int{32, 4} {
		out = append(out, policyCase(fmt.Sprint("peers=", envs), fmt.Sprintf("PPO's recipe with %d environments of CartPole", envs), envs, 0, "64,64", 4, []Way{plainWay, coarse2}, true))
	}
	for _, envs := range []int{32, 128} {
		out = append(out, processCase(envs))
	}
	return out
}

// Two workers in one process, and two processes, both as a user would start them.
var (
	threads2   = Whole{Name: "coarse", Path: "2 threads", Args: "--workers 2"}
	processes2 = Whole{Name: "coarse", Path: "2 procs", Args: "--processes 2"}
)

// processCase compares one process with several on PPO's recipe.
func processCase(envs int) Case {
	args := fmt.Sprintf("ppo --policy single-learner-coarse --eval-episodes 0 --set envs=%d --set horizon=128 --set epochs=4 --set minibatches=4 --set hidden=64,64", envs)
	return Case{
		ID: fmt.Sprint("processes=", envs), Title: fmt.Sprintf("%d environments of CartPole: two workers of one process, two processes", envs), Work: 1, Unit: "steps/s",
		Spec: PolicySpec{Whole: WholeSpec{args, []Whole{threads2, processes2}}},
	}
}

func policyCase(id, title string, envs, burn int, hidden string, epochs int, ways []Way, peers bool) Case {
	r := Recipe{Envs: envs, Horizon: 128, Epochs: epochs, Minibatches: 4}
	return Case{
		ID: id, Title: title, Work: float64(r.Envs * r.Horizon), Unit: "steps/s",
		Spec: PolicySpec{Recipe: r, Burn: burn, Hidden: hidden, Ways: ways, Peers: peers},
	}
}

// winner returns the fastest contender of a case, and all contenders' times relative to the first.
// It compares the fastest rounds, because other processes on the machine can only slow a round
// down.
func winner(results []Result) string {
	var first, least float64
	name, list := "", []string{}
	for i, r := range results {
		if failed(r) {
			continue
		}
		t := fastest(r)
		if i == 0 {
			first = t
		}
		if name == "" || t < least {
			name, least = r.Name+" "+r.Path, t
		}
		if i > 0 && first > 0 {
			list = append(list, fmt.Sprintf("%s %s %sx", r.Name, r.Path, digits(first/t)))
		}
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(list, ", "))
}

func policyContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, policyPeers)
	if err != nil {
		return f, err
	}
	var ours []Contender
	for _, w := range allWays {
		if o.wants(w.Name) {
			ours = append(ours, &inProcess{label: Label{Name: w.Name, Path: w.Path}, make: w.program(o.Policy)})
		}
	}
	f.present = slices.Concat(ours, wholes(o, threads2, processes2), f.present)
	return f, nil
}

// program returns a program that trains a case in this way, or errNoPart if the case does not have
// it.
func (w Way) program(train PolicyFunc) func(context.Context, Case) (program, error) {
	return func(ctx context.Context, c Case) (program, error) {
		p := c.Spec.(PolicySpec)
		for _, x := range p.Ways {
			if x == w {
				return begin(ctx, func(ctx context.Context, after func()) error { return train(ctx, p, w, after) }), nil
			}
		}
		return nil, errNoPart
	}
}
