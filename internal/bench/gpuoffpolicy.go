package bench

import (
	"context"
	"fmt"
	"time"
)

// gpuOffPolicy measures loops that learn from a table in the device's memory.
var gpuOffPolicy = Benchmark{
	Name:       "offpolicy",
	Doc:        "DQN on CartPole-v1 and SAC on Pendulum-v1 as one device program, Weft under gpu-only beside JAX as it stands and tuned",
	names:      []string{"weft", "jax"},
	cases:      gpuOffPolicyCases,
	contenders: gpuOffPolicyContenders,
	turn:       turn{2 * time.Second, 500 * time.Millisecond},
	precisions: true,
}

// TableSpec is a recipe of Every steps of all environments, followed by as many updates.
type TableSpec struct {
	Algorithm string `json:"algorithm"`
	Envs      int    `json:"envs"`
	Every     int    `json:"every"`
	Updates   int    `json:"updates"`
	Batch     int    `json:"batch"`
	Buffer    int    `json:"buffer"`
	Hidden    []int  `json:"hidden"`
	Way       string `json:"way"` // for a peer, how to run the recipe
}

func (s TableSpec) by(_, way string) (any, bool) {
	s.Way = way
	return s, true
}

func gpuOffPolicyCases(quick bool) (out []Case) {
	for _, s := range []TableSpec{
		{Algorithm: "dqn", Every: 8, Hidden: []int{120, 84}},
		{Algorithm: "sac", Every: 4, Hidden: []int{256, 256}},
	} {
		small, large := s, s
		small.Envs, small.Updates, small.Batch, small.Buffer = 128, s.Every, 256, 128<<10
		large.Envs, large.Updates, large.Batch, large.Buffer = 4096, s.Every, 2048, 1<<20
		if quick {
			small.Envs, small.Buffer = 16, 16<<10
			out = append(out, small.of())
			continue
		}
		out = append(out, small.of(), large.of())
	}
	return out
}

// of returns the case of a recipe.
func (s TableSpec) of() Case {
	return Case{
		ID: fmt.Sprintf("%s,envs=%d", s.Algorithm, s.Envs),
		Title: fmt.Sprintf("%s, %d environments x %d steps, %d updates of %d rows, layers of %v",
			s.Algorithm, s.Envs, s.Every, s.Updates, s.Batch, s.Hidden),
		Work: float64(s.Envs * s.Every), Unit: "steps/s", Spec: s,
	}
}

// loop returns the recipe as Weft's settings.
func (s TableSpec) loop() LoopSpec {
	world := map[string]string{"dqn": "CartPole-v1", "sac": "Pendulum-v1"}[s.Algorithm]
	preset := map[string]string{"dqn": "cleanrl"}[s.Algorithm] // which is what the peers do
	return LoopSpec{Algorithm: s.Algorithm, Env: world, Preset: preset, Set: append(
		tableSettings(s.Envs, s.Every, s.Envs*s.Every, s.Batch, s.Buffer, s.Hidden), fmt.Sprint("updates=", s.Updates))}
}

func gpuOffPolicyContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, gpuOffPolicyPeers)
	if err != nil || !o.wants("weft") {
		return f, err
	}
	var ours []Contender
	for _, p := range o.precisions() {
		ours = append(ours, &inProcess{label: Label{Name: "weft", Path: p}, warm: 2, make: func(ctx context.Context, c Case) (program, error) {
			l, w := c.Spec.(TableSpec).loop(), LoopWay{Policy: "gpu-only"}
			return begin(ctx, func(ctx context.Context, after func()) error { return o.Loop(ctx, l, w, o.onWith(p), after) }), nil
		}})
	}
	f.present = append(ours, f.present...)
	return f, nil
}
