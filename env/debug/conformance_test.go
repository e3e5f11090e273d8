package debug

import (
	"testing"

	"github.com/weft-rl/weft/env/envtest"
)

func TestConformance(t *testing.T) {
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) {
			if e.ID == TwoStep.ID { // which draws nothing
				envtest.Run(t, e, envtest.Deterministic())
				return
			}
			envtest.Run(t, e)
		})
	}
}
