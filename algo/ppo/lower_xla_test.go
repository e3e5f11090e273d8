//go:build xla

package ppo

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// on is the device that the test runs on: its binary can be carried to a machine
// with a GPU and run there with -on=cuda.
var on = flag.String("on", "xla:cpu", "the device to compare with the CPU engine")

// ways are two of how a program may be built, on one device and on several.
var ways = []rl.Chunks{{Most: 2}, {Most: 2, Unroll: 4, Sums: true, Far: true}}

// TestLoweredOnXLA: the program on XLA computes what the CPU engine does, up to
// rounding.
func TestLoweredOnXLA(t *testing.T) {
	if _, err := device.Open(*on); err != nil {
		t.Fatal(err) // it says what to install
	}
	for _, how := range ways {
		want, got := watchedOn(t, "cpu", 3, lower(how)), watchedOn(t, *on, 3, lower(how))
		alike(t, fmt.Sprintf("%+v", how), got, want, 1e-3)
	}
}

// TestSeveralOnXLA: the program on several devices computes what it does on one, up to
// rounding, and follows the same episodes.
func TestSeveralOnXLA(t *testing.T) {
	if *on != "xla:cpu" {
		t.Skip("there may be one device")
	}
	for _, how := range ways {
		want, got := watchedOn(t, *on, 3, lower(how)), watchedOn(t, *on+":0-1", 3, lower(how))
		alike(t, fmt.Sprintf("%+v", how), got, want, 1e-5)
		if !reflect.DeepEqual(got.eps, want.eps) {
			t.Errorf("%+v: episodes %v, want %v", how, got.eps, want.eps)
		}
	}
}

// alike fails unless two runs have the same weights but for rounding.
func alike(t *testing.T, what string, got, want told, tolerance float64) {
	t.Helper()
	moved := 0.0
	for i, a := range want.state {
		x, ok := a.Flat.([]float32)
		if !ok || !strings.HasPrefix(a.Name, "net/") {
			continue
		}
		for j, v := range got.state[i].Flat.([]float32) {
			moved = max(moved, math.Abs(float64(v)))
			if d := math.Abs(float64(v - x[j])); !(d <= tolerance) {
				t.Fatalf("%s: %s is %v in place %d, want %v", what, a.Name, v, j, x[j])
			}
		}
	}
	if moved == 0 || len(got.logs) != len(want.logs) {
		t.Errorf("%s: %d rows of metrics, want %d; the largest weight is %v", what, len(got.logs), len(want.logs), moved)
	}
}

// TestCollectivesOnXLA looks at what XLA made of a program for two devices: gradients
// are all-reduced, weights are never cut, and a loop of steps crosses nowhere. A
// minibatch has as many rows as a layer has units, which must not be taken for each
// other. XLA writes its programs down if its flags say so before it is loaded, so
// this is for a process of its own.
func TestCollectivesOnXLA(t *testing.T) {
	const inside = "WEFT_TEST_COLLECTIVES"
	if os.Getenv(inside) != "" {
		watchedOn(t, "xla:cpu:0-1", 1, lower(rl.Chunks{Most: 1}))
		return
	}
	if *on != "xla:cpu" {
		t.Skip("there may be one device")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCollectivesOnXLA$")
	cmd.Env = append(os.Environ(), inside+"=1", "XLA_FLAGS=--xla_dump_to="+dir+" --xla_dump_hlo_as_text --xla_dump_hlo_module_re=.*f_loop.*")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*after_optimizations.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("programs %q (%v)", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var gradients, others int
	for _, line := range regexp.MustCompile(`= .* (all-[a-z]+|collective-permute|reduce-scatter)\(`).FindAllString(string(text), -1) {
		switch {
		case strings.Contains(line, "all-reduce(") && strings.Contains(line, "f32[64,64]"):
			gradients++
		case !strings.Contains(line, "all-reduce(") && !strings.HasPrefix(line, "= s32["): // numbers of rows
			t.Errorf("it has %s", line)
		default:
			others++
		}
	}
	if gradients < 1 || others > 20 {
		t.Errorf("gradients are all-reduced %d times, and there are %d other collectives", gradients, others)
	}
}
