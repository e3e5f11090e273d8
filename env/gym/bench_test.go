package gym

import (
	"fmt"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// BenchmarkBridge measures a step of all environments through the bridge, without the
// guard. Of environments that do nothing it is what the bridge costs.
func BenchmarkBridge(b *testing.B) {
	needs(b)
	for _, c := range []struct {
		id            string
		envs, workers int
	}{
		{"weft_null:Null", 1, 1}, {"weft_null:Null", 2, 2}, {"weft_null:Null", 64, 1}, {"weft_null:Null", 64, 2},
		{"CartPole-v1", 64, 1}, {"CartPole-v1", 64, 2},
	} {
		b.Run(fmt.Sprintf("%s/envs=%d/workers=%d", c.id, c.envs, c.workers), func(b *testing.B) {
			s := newScope(b, 1)
			x, err := entry(b, c.id).New(s, c.envs, with(func(o *Options) { o.Workers = c.workers }))
			if err != nil {
				b.Fatal(err)
			}
			actions := make([]rl.Tree, 16)
			for i := range actions {
				actions[i] = env.Sample(s, x.Spec(), x.Obs(), rl.NewKey(uint64(i)))
			}
			i := 0
			for b.Loop() {
				x.Step(actions[i%len(actions)])
				i++
			}
			b.ReportMetric(float64(b.N*c.envs)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}
