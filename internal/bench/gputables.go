package bench

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// gpuPolicies measures which way of dividing a loop between the CPU and a device is fastest (MSRL's
// Fig. 8).
var gpuPolicies = Benchmark{
	Name:       "policies",
	Doc:        "PPO on CartPole-v1 with a device: everything on it, environments on the CPU, acting on the CPU too; small and large networks",
	names:      []string{"gpu-only", "coarse", "fine"},
	cases:      gpuPolicyCases,
	contenders: loopContenders(gpuWays),
	heading:    "The fastest, and how many times as fast as the first the others are, by their fastest rounds:",
	summary:    winner,
	turn:       turn{2 * time.Second, 500 * time.Millisecond},
}

// gpuTag measures how Tag scales with environments and agents (MSRL's Fig. 7 and 10).
var gpuTag = Benchmark{
	Name:       "tag",
	Doc:        "MAPPO on Tag-v0 as one device program, as environments and agents grow; all agents learn, or taggers alone",
	names:      []string{"weft"},
	cases:      tagCases,
	contenders: loopContenders([]LoopWay{{Name: "weft", Path: "gpu-only", Policy: "gpu-only"}}),
	turn:       turn{2 * time.Second, 500 * time.Millisecond},
}

// LoopSpec holds a loop and its settings.
type LoopSpec struct {
	Algorithm string
	Env       string   // id
	Options   []string // options of the environment, key=value
	Burn      int      // microseconds that each environment computes on the host in a step; replaces Env
	Preset    string   // preset of the algorithm; "" is the default
	Set       []string // settings of the algorithm, key=value
}

// LoopWay says how a loop is run.
type LoopWay struct {
	Name, Path string // of the contender
	Policy     string
	Devices    []string // of groups
	Pipeline   bool
}

// LoopFunc trains a loop with Weft until ctx is done. It calls after at the end of every iteration.
type LoopFunc func(ctx context.Context, l LoopSpec, w LoopWay, device string, after func()) error

// gpuWays lists the ways by how much they leave to the device: everything; everything, with
// collecting and learning as two programs; learning and acting; learning alone.
var gpuWays = []LoopWay{
	{Name: "gpu-only", Path: "1 graph", Policy: "gpu-only"},
	{Name: "coarse", Path: "2 graphs", Policy: "single-learner-coarse"},
	{Name: "coarse", Path: "act: cpu", Policy: "single-learner-coarse", Devices: []string{"collector:cpu"}},
	{Name: "fine", Path: "env: cpu", Policy: "single-learner-fine"},
	{Name: "fine", Path: "halves", Policy: "single-learner-fine", Pipeline: true},
}

func gpuPolicyCases(quick bool) (out []Case) {
	envs, nets, horizon := []int{128, 2048}, []string{"64,64", "1024,1024,1024"}, 128
	if quick {
		envs, nets, horizon = []int{32}, []string{"64,64"}, 32
	}
	for _, n := range envs {
		for _, hidden := range nets {
			out = append(out, gpuPolicyCase(n, horizon, 0, hidden))
		}
	}
	return append(out, gpuPolicyCase(envs[0], horizon, 50, nets[0]))
}

// gpuPolicyCase returns PPO's recipe, on CartPole or on environments that compute on the host for
// some microseconds a step.
func gpuPolicyCase(n, horizon, burn int, hidden string) Case {
	id, title := fmt.Sprintf("envs=%d", n), fmt.Sprintf("%d environments", n)
	if burn > 0 {
		id, title = fmt.Sprintf("%s,us=%d", id, burn), fmt.Sprintf("%s of %d us on the host", title, burn)
	}
	return Case{
		ID:    fmt.Sprintf("%s,net=%s", id, strings.ReplaceAll(hidden, ",", "x")),
		Title: fmt.Sprintf("%s x %d steps, layers of %s", title, horizon, hidden),
		Work:  float64(n * horizon), Unit: "steps/s",
		Spec: LoopSpec{Algorithm: "ppo", Env: "CartPole-v1", Burn: burn, Set: []string{
			fmt.Sprint("envs=", n), fmt.Sprint("horizon=", horizon), "epochs=4", "minibatches=4", "anneal=constant", "hidden=" + hidden,
		}},
	}
}

// tagSize holds the size of a game of tag and of its batches.
type tagSize struct {
	id                   string
	envs, horizon, parts int
	runners              int
	still                bool // only taggers learn
}

// tagSizes lists games of 5 taggers and 100 runners in more and more environments, and of more and
// more runners in 2,000 environments, with all agents learning and with taggers alone, up to
// WarpDrive's 1,000 agents. The horizon of the largest is what memory allows, and minibatches grow
// with the batch.
var tagSizes = []tagSize{
	{"all,envs=60", 60, 50, 4, 100, false},
	{"all,envs=500", 500, 50, 4, 100, false},
	{"all,envs=2000", 2000, 50, 8, 100, false},
	{"all,agents=15", 2000, 50, 4, 10, false},
	{"all,agents=1000", 2000, 10, 16, 995, false},
	{"taggers,envs=60", 60, 50, 4, 100, true},
	{"taggers,envs=2000", 2000, 50, 4, 100, true},
	{"taggers,agents=1000,envs=500", 500, 50, 4, 995, true},
	{"taggers,agents=1000,envs=2000", 2000, 50, 4, 995, true},
}

func tagCases(quick bool) (out []Case) {
	sizes := tagSizes
	if quick {
		sizes = []tagSize{{"all,envs=4", 4, 10, 2, 10, false}, {"taggers,envs=4", 4, 10, 2, 10, true}}
	}
	for _, s := range sizes {
		who, options := "all agents learn", []string{"taggers=5", fmt.Sprint("runners=", s.runners), "length=100"}
		if s.still {
			who, options = "taggers learn", append(options, "runner_policy=still")
		}
		if s.runners > 500 {
			options = append(options, "size=60")
		}
		out = append(out, Case{
			ID:    s.id,
			Title: fmt.Sprintf("%d environments x %d steps, 5 taggers and %d runners, %s", s.envs, s.horizon, s.runners, who),
			Work:  float64(s.envs * s.horizon), Unit: "steps/s",
			Spec: LoopSpec{Algorithm: "mappo", Env: "Tag-v0", Options: options, Set: []string{
				fmt.Sprint("envs=", s.envs), fmt.Sprint("horizon=", s.horizon), fmt.Sprint("minibatches=", s.parts), "anneal=constant",
			}},
		})
	}
	return out
}

// loopContenders returns a contender for each way of training a loop with Weft.
func loopContenders(ways []LoopWay) func(context.Context, Options) (field, error) {
	return func(_ context.Context, o Options) (field, error) {
		f := field{close: func() error { return nil }}
		for _, w := range ways {
			if o.wants(w.Name) {
				f.present = append(f.present, &inProcess{
					label: Label{Name: w.Name, Path: w.Path}, make: w.program(o), warm: 2, limit: o.Limit, // graphs of parts of a loop are made in its second iteration
				})
			}
		}
		return f, nil
	}
}

func (w LoopWay) program(o Options) func(context.Context, Case) (program, error) {
	return func(ctx context.Context, c Case) (program, error) {
		l := c.Spec.(LoopSpec)
		if l.Burn > 0 && w.Policy == "gpu-only" { // what the host computes is no part of a device program
			return nil, errNoPart
		}
		return begin(ctx, func(ctx context.Context, after func()) error { return o.Loop(ctx, l, w, o.On, after) }), nil
	}
}
