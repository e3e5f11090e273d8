package replay_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft/rl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func scope(t testing.TB) *rl.Scope {
	t.Helper()
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// fails runs f, which must stop at a line of a test with a message that holds
// every part.
func fails(t *testing.T, f func(), parts ...string) {
	t.Helper()
	err := rl.Catch(func() error { f(); return nil })
	for _, p := range append(parts, "_test.go:") {
		if err == nil || !strings.Contains(err.Error(), p) || strings.Contains(err.Error(), "goroutine ") {
			t.Errorf("error %v lacks %q, or carries a stack", err, p)
		}
	}
}

// iota32 returns the numbers from lo.
func iota32(s *rl.Scope, lo int, dims ...int) rl.Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(lo + i)
	}
	return rl.FromFlat(s, x, dims...)
}
