package gym

import (
	"testing"

	"github.com/weft-rl/weft/env/envtest"
)

// Environments of every kind of space keep the contract.
func TestConformance(t *testing.T) {
	needs(t)
	for _, c := range []struct {
		id   string
		opts []envtest.Option
	}{
		{"CartPole-v1", []envtest.Option{envtest.Steps(520)}},
	} {
		t.Run(c.id, func(t *testing.T) {
			e, err := Entry(c.id)
			if err != nil {
				t.Fatal(err)
			}
			envtest.Run(t, e, c.opts...)
		})
	}
}
