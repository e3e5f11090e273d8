package bench

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// GPU compares whole training loops that are one program of a device.
var GPU = Benchmark{
	Name:       "gpu",
	Doc:        "PPO on CartPole-v1 as one device program, Weft under gpu-only beside JAX as it stands and tuned",
	names:      []string{"weft", "jax"},
	cases:      gpuCases,
	contenders: gpuContenders,
	turn:       turn{2 * time.Second, 500 * time.Millisecond},
	tables:     []Benchmark{gpuPolicies, gpuTag},
}

// GPUSpec is a recipe and, for a peer, how it is to go about it.
type GPUSpec struct {
	Recipe
	Way string `json:"way"`
}

func (g GPUSpec) by(_, way string) (any, bool) {
	g.Way = way
	return g, true
}

// DeviceFunc trains the recipe with Weft as one program of the device until ctx is
// done, and calls after every iteration.
type DeviceFunc func(ctx context.Context, r Recipe, device string, after func()) error

func gpuCases(quick bool) []Case {
	sizes := []Recipe{{Envs: 128, Horizon: 128}, {Envs: 2048, Horizon: 128}, {Envs: 65536, Horizon: 32}}
	if quick {
		sizes = []Recipe{{Envs: 128, Horizon: 32}}
	}
	var out []Case
	for _, r := range sizes {
		r.Epochs, r.Minibatches = 4, 4
		out = append(out, Case{
			ID:    fmt.Sprintf("%dx%d", r.Envs, r.Horizon),
			Title: fmt.Sprintf("%d environments x %d steps, %d epochs x %d minibatches", r.Envs, r.Horizon, r.Epochs, r.Minibatches),
			Work:  float64(r.Envs * r.Horizon),
			Unit:  "steps/s",
			Spec:  GPUSpec{Recipe: r},
		})
	}
	return out
}

func gpuContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, gpuPeers)
	if err != nil {
		return f, err
	}
	if o.wants("weft") {
		ours := []Contender{onDevice(o, "float32", o.On)}
		if strings.HasPrefix(o.On, "cuda") { // where products may round to TF32, as JAX's do
			ours = append([]Contender{onDevice(o, "tf32", o.On+"+tf32")}, ours...)
		}
		f.present = append(ours, f.present...)
	}
	return f, nil
}

func onDevice(o Options, path, device string) Contender {
	return &inProcess{label: Label{Name: "weft", Path: path}, make: func(ctx context.Context, c Case) (program, error) {
		p := begin(ctx, func(ctx context.Context, after func()) error {
			return o.Device(ctx, c.Spec.(GPUSpec).Recipe, device, after)
		})
		if err := p.Run(); err != nil { // it compiles, which is not what is measured
			p.Close()
			return nil, err
		}
		return p, nil
	}}
}
