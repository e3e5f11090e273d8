//go:build !xla

package device_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/device"
)

// Without the tag, the devices that need it say how to get them.
func TestWithoutXLA(t *testing.T) {
	for _, name := range []string{"xla:cpu", "cuda", "cuda:1"} {
		_, err := device.Open(name)
		if err == nil || !strings.Contains(err.Error(), "built without cgo") || !strings.Contains(err.Error(), "-tags xla") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
