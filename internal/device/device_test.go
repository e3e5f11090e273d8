package device_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// Every device that has a name can be opened, and computes.
func TestOpen(t *testing.T) {
	if !slices.Contains(device.Names(), device.Default) {
		t.Errorf("the default %q is none of %q", device.Default, device.Names())
	}
	for _, name := range device.Names() {
		d, err := device.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		x := rl.FromFlat(rl.NewScope(d, 1), []float32{1, 2, 6}, 3)
		if got := rl.Floats(rl.Mean(x)); !slices.Equal(got, []float64{3}) {
			t.Errorf("%s: the mean is %v", name, got)
		}
	}
}

func TestOpenUnknown(t *testing.T) {
	if _, err := device.Open("abacus"); err == nil || !strings.Contains(err.Error(), device.Default) {
		t.Errorf("error %v", err)
	}
}
