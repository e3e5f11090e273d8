package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/device"
)

// GPU compares whole training loops that are one program of a device.
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
		var ours []Contender
		for _, p := range o.precisions() {
			ours = append(ours, onDevice(o, p, o.onWith(p)))
		}
		f.present = append(ours, f.present...)
	}
	return f, nil
}

// exact is the precision of a device whose name says nothing of one.
const exact = "float32"

// precisions returns the precisions to show: those asked for, or the device's own. On a GPU that is
// two: products may round to TF32, as JAX's do.
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

// onWith returns the device's name with a precision.
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
			return o.Device(ctx, c.Spec.(GPUSpec).Recipe, on, after)
		}), nil
	}}
}
