package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/device"
)

// GPU compares whole training loops that run as one device program.
var GPU = Benchmark{
	Name:       "gpu",
	Doc:        "PPO on CartPole-v1 as one device program, Weft under gpu-only beside JAX as it stands and tuned",
	names:      []string{"weft", "jax"},
	cases:      gpuCases,
	contenders: gpuContenders,
	turn:       turn{2 * time.Second, 500 * time.Millisecond},
	tables:     []Benchmark{gpuPolicies, gpuTag, gpuOffPolicy},
	precisions: true,
}

// GPUSpec holds a recipe, the width of its networks and, for a peer, how to run it.
type GPUSpec struct {
	Recipe
	Width int    `json:"width"` // units of both hidden layers
	Way   string `json:"way"`
}

func (g GPUSpec) by(_, way string) (any, bool) {
	g.Way = way
	return g, true
}

// DeviceFunc trains the recipe with Weft as one device program until ctx is done. It calls after at
// the end of every iteration.
type DeviceFunc func(ctx context.Context, g GPUSpec, device string, after func()) error

func gpuCases(quick bool) (out []Case) {
	if quick {
		return []Case{gpuCase(128, 32, 64)}
	}
	return []Case{
		gpuCase(128, 128, 64), gpuCase(2048, 128, 64), gpuCase(65536, 32, 64),
		gpuCase(2048, 128, 128), gpuCase(2048, 128, 256), gpuCase(2048, 128, 1024),
	}
}

// gpuCase returns the case of a number of environments. Its name contains the networks' width
// unless that is the usual one.
func gpuCase(envs, horizon, width int) Case {
	r := Recipe{Envs: envs, Horizon: horizon, Epochs: 4, Minibatches: 4}
	id := fmt.Sprintf("%dx%d", envs, horizon)
	if width != 64 {
		id = fmt.Sprintf("%s,net=%dx%d", id, width, width)
	}
	return Case{
		ID: id,
		Title: fmt.Sprintf("%d environments x %d steps, %d epochs x %d minibatches, networks of 2x%d",
			envs, horizon, r.Epochs, r.Minibatches, width),
		Work: float64(envs * horizon),
		Unit: "steps/s",
		Spec: GPUSpec{Recipe: r, Width: width},
	}
}

func gpuContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, gpuPeers)
	if err != nil {
		return f, err
	}
	if o.wants("weft") {
		var ours []Contender
		for _, p := range o.precisions() {
			ours = append(ours, onDevice(o, p, o.onWith(p)))
		}
		f.present = append(ours, f.present...)
	}
	return f, nil
}

// exact is the precision of a device whose name contains none.
const exact = "float32"

// precisions returns the precisions to measure: those of the options, or else the device's own. A
// GPU has two: products may round to TF32, as JAX's do.
func (o Options) precisions() []string {
	_, own, named := strings.Cut(o.On, "+")
	switch {
	case len(o.Precisions) > 0:
		return o.Precisions
	case named:
		return []string{own}
	case strings.HasPrefix(o.On, "cuda"):
		return []string{"tf32", exact}
	}
	return []string{exact}
}

// onWith returns the device's name with a precision added.
func (o Options) onWith(precision string) string {
	plain, _, _ := strings.Cut(o.On, "+")
	if precision == exact {
		return plain
	}
	return plain + "+" + precision
}

func (o Options) checkPrecisions() error {
	var errs []error
	if len(o.Precisions) > 0 && strings.Contains(o.On, "+") {
		errs = append(errs, fmt.Errorf("--precision: device %s has one in its name", o.On))
	}
	for _, p := range o.Precisions {
		if device.Check(o.onWith(p)) != nil {
			errs = append(errs, fmt.Errorf("--precision: device %s has no %q: cuda has float32, tf32 and bf16, xla:cpu float32 and bf16", o.On, p))
		}
	}
	return errors.Join(errs...)
}

func onDevice(o Options, path, on string) Contender {
	return &inProcess{label: Label{Name: "weft", Path: path}, warm: 1, make: func(ctx context.Context, c Case) (program, error) {
		return begin(ctx, func(ctx context.Context, after func()) error {
			return o.Device(ctx, c.Spec.(GPUSpec), on, after)
		}), nil
	}}
}
