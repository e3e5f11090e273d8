package gym

import (
	"os"
	"os/exec"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft/rl"
)

// A device has its threads as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/weft-rl/weft/engine.(*workers).help"))
}

// needs skips a test where Python, or a package of it, is absent. CI counts what
// is skipped.
func needs(t testing.TB, modules ...string) {
	t.Helper()
	python, err := interpreter("")
	if err != nil {
		t.Skipf("bridge test skipped: %v", err)
	}
	for _, m := range append([]string{"gymnasium"}, modules...) {
		if err := exec.Command(python, "-c", "import "+m).Run(); err != nil {
			t.Skipf("bridge test skipped: %s has no module %s", python, m)
		}
	}
	t.Setenv("PYTHONPATH", "testdata"+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"))
}

var backend = func() *rl.Device {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	return rl.NewDevice(b)
}()

// newScope is a scope that is closed when the test is over.
func newScope(t testing.TB, seed uint64) *rl.Scope {
	s := rl.NewScope(backend, seed)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
