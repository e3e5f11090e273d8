package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine"
)

// Engine compares the CPU engine with other backends on the same computations.
var Engine = Benchmark{
	Name:       "engine",
	Doc:        "networks of reinforcement learning on the CPU engine, GoMLX's Go backend, XLA, torch and JAX",
	names:      []string{"weft", "go", "xla", "torch", "jax"},
	cases:      engineCases,
	contenders: engineContenders,
	turn:       turn{300 * time.Millisecond, 100 * time.Millisecond},
}

func engineCases(quick bool) []Case {
	images, side := 256, 1024
	if quick {
		images, side = 32, 512
	}
	cases := []Case{workCase("forward/batch=1", "4-64-64-2 tanh, forward, batch 1", cartPole(1, "forward"))}
	for _, n := range []int{1, 64, 1024, 4096} {
		cases = append(cases, gradientCase(n))
	}
	cases = append(cases,
		workCase("sac/batch=256", "17-256-256-6 ReLU, forward, backward and Adam, batch 256", mlp([]int{17, 256, 256, 6}, "relu", 256, "adam")),
		workCase(fmt.Sprintf("cnn/batch=%d", images), fmt.Sprintf("Nature CNN 84x84x4, forward and backward, batch %d", images), cnn(images)),
		productCase(side),
	)
	for _, c := range []Case{gradientCase(1024), gradientCase(4096), productCase(side)} {
		w := c.Spec.(Workload)
		w.Scaling = true
		c.ID, c.Title, c.Spec = "threads/"+c.ID, c.Title+", 1 thread and 2", w
		cases = append(cases, c)
	}
	return cases
}

func cartPole(batch int, pass string) Workload { return mlp([]int{4, 64, 64, 2}, "tanh", batch, pass) }

func gradientCase(batch int) Case {
	return workCase(fmt.Sprintf("mlp/batch=%d", batch), fmt.Sprintf("4-64-64-2 tanh, forward and backward, batch %d", batch), cartPole(batch, "gradient"))
}

func productCase(side int) Case {
	return workCase(fmt.Sprintf("product/side=%d", side), fmt.Sprintf("product %dx%d, the machine's ceiling", side, side), product(side))
}

func workCase(id, title string, w Workload) Case {
	return Case{ID: id, Title: title, Work: w.FLOP() / 1e9, Unit: "GFLOP/s", Spec: w}
}

func engineContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, enginePeers)
	if err != nil {
		return f, err
	}
	f.present = append(goContenders(ctx, o, &f.absent), f.present...)
	return f, nil
}

// goContenders returns the contenders in this process, the engine first.
func goContenders(ctx context.Context, o Options, absent *[]Absence) (out []Contender) {
	if o.wants("weft") {
		for _, path := range []string{pathLean, pathExecute, pathExec} {
			out = append(out, gomlx("weft", path, 0, openEngine))
		}
		for n := 1; n <= 2; n++ {
			out = append(out, gomlx("weft", pathLean, n, openEngine))
		}
	}
	for _, name := range []string{"go", "xla"} {
		if !o.wants(name) {
			continue
		}
		open, why := otherBackend(ctx, name, o.Python)
		if why != nil {
			*absent = append(*absent, *why)
			continue
		}
		for _, path := range []string{pathExecute, pathExec} {
			out = append(out, gomlx(name, path, 0, open))
		}
	}
	return out
}

func openEngine(threads int) (compute.Backend, error) {
	if threads == 0 {
		return engine.New("")
	}
	return engine.New(fmt.Sprintf("threads=%d", threads))
}
