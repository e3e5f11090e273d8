package device_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// Every device that is listed as usable can be opened, and computes; every other
// says why not.
func TestOpen(t *testing.T) {
	if device.Check(device.Default) != nil {
		t.Errorf("the default %q is none of %q", device.Default, device.Names())
	}
	usable := 0
	for _, info := range device.List() {
		d, err := device.Open(info.Name)
		if info.Usable != (err == nil) || info.Usable == (info.Why != "") {
			t.Errorf("listed as %+v, but %v", info, err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), info.Why) {
				t.Errorf("%s: the list says %q, the error %v", info.Name, info.Why, err)
			}
			continue
		}
		usable++
		x := rl.FromFlat(rl.NewScope(d, 1), []float32{1, 2, 6}, 3)
		if got := rl.Floats(rl.Mean(x)); !slices.Equal(got, []float64{3}) {
			t.Errorf("%s: the mean is %v", info.Name, got)
		}
		if again, err := device.Open(info.Name); again != d {
			t.Errorf("%s was opened twice (%v)", info.Name, err)
		}
	}
	if usable < 2 {
		t.Errorf("only %d devices are usable", usable)
	}
}

func TestUnknown(t *testing.T) {
	for _, name := range []string{"abacus", "", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "xla", "cpu+tf32", "xla:cpu+tf32", "xla:cpu:1+tf32", "+tf32"} {
		err := device.Check(name)
		if err == nil || !strings.Contains(err.Error(), "cpu, xla:cpu, xla:cpu:N, cuda, cuda:N, go") {
			t.Errorf("%q: error %v", name, err)
		}
		if _, err := device.Open(name); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
	for _, name := range []string{"cpu", "xla:cpu", "xla:cpu:1", "cuda", "cuda:0", "cuda:12", "cuda+tf32", "cuda:1+tf32", "go"} {
		if err := device.Check(name); err != nil {
			t.Error(err)
		}
	}
}
