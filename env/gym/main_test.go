package gym

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft/rl"
)

// Workers find the tests' environments. A device has its threads as long as the
// process.
func TestMain(m *testing.M) {
	if err := os.Setenv("PYTHONPATH", "testdata"+string(os.PathListSeparator)+os.Getenv("PYTHONPATH")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/weft-rl/weft/engine.(*workers).help"))
}

// has says whether Python has a module, asked once.
var has sync.Map

// needs skips a test where Python, or a package of it, is absent. CI counts what
// is skipped.
func needs(t testing.TB, modules ...string) {
	t.Helper()
	python, err := interpreter("")
	if err != nil {
		t.Skipf("bridge test skipped: %v", err)
	}
	for _, m := range append([]string{"gymnasium"}, modules...) {
		ask := sync.OnceValue(func() error { return exec.Command(python, "-c", "import "+m).Run() })
		known, _ := has.LoadOrStore(m, ask)
		if err := known.(func() error)(); err != nil {
			t.Skipf("bridge test skipped: %s has no module %s", python, m)
		}
	}
}

// Needs is for the tests outside.
var Needs = needs

var backend = func() *rl.Device {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	return rl.NewDevice(b)
}()

// newScope returns a scope that is closed when the test is over.
func newScope(t testing.TB, seed uint64) *rl.Scope {
	s := rl.NewScope(backend, seed)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
