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
	if want := map[bool]int{false: 1, true: 2}[device.HasXLA]; usable < want {
		t.Errorf("only %d devices are usable", usable)
	}
}

func TestUnknown(t *testing.T) {
	for _, name := range []string{"abacus", "", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "xla", "cpu+tf32", "xla:cpu+tf32", "xla:cpu:1+tf32", "+tf32", "cpu+bf16", "go+bf16", "+bf16", "cuda+", "cuda+float32", "cuda+tf32+bf16", "cuda+bf16:1", "cuda:1-1", "cuda:2-1", "cuda:1-", "cuda:-2", "cuda:0-1-2", "cpu:0-1", "xla:cpu:+1"} {
		err := device.Check(name)
		if err == nil || !strings.Contains(err.Error(), "cpu, xla:cpu, xla:cpu:N, xla:cpu:N-M, cuda, cuda:N, cuda:N-M, go") {
			t.Errorf("%q: error %v", name, err)
		}
		if _, err := device.Open(name); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
	for _, name := range []string{"cpu", "xla:cpu", "xla:cpu:1", "cuda", "cuda:0", "cuda:12", "cuda+tf32", "cuda:1+tf32", "go", "xla:cpu:0-1", "cuda:2-5", "cuda:0-1+tf32", "cuda+bf16", "cuda:1+bf16", "xla:cpu+bf16", "xla:cpu:1+bf16"} {
		if err := device.Check(name); err != nil {
			t.Error(err)
		}
	}
}

// Several devices as one have a name, where there may be several.
func TestSeveral(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		want string
	}{
		{"xla:cpu", 2, "xla:cpu:0-1"}, {"cuda", 4, "cuda:0-3"}, {"cuda:2", 2, "cuda:2-3"}, {"cuda:1+tf32", 3, "cuda:1-3+tf32"}, {"xla:cpu+bf16", 2, "xla:cpu:0-1+bf16"}, {"cpu", 1, "cpu"}, {"cuda:0-1", 1, "cuda:0-1"},
	} {
		got, err := device.Several(c.name, c.n)
		if got != c.want || err != nil || device.Check(got) != nil || c.n > 1 && device.Count(got) != c.n {
			t.Errorf("%d from %s on are %q (%v), of which there are %d; want %s", c.n, c.name, got, err, device.Count(got), c.want)
		}
	}
	for name, want := range map[string]string{"cpu": "cpu is a single device", "cuda:0-1": "2 devices already", "gpu": "unknown device"} {
		if got, err := device.Several(name, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("two from %s on are %q (%v)", name, got, err)
		}
	}
}
