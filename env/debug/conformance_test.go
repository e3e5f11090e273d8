package debug

import (
	"testing"

	"github.com/weft-rl/weft/env/envtest"
)

func TestConformance(t *testing.T) {
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) { envtest.Run(t, e) })
	}
}
