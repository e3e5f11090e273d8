//go:build xla

package pjrt

import (
	"flag"
	"os"
	"sync"
	"testing"

	"github.com/gomlx/compute/support/backendtest"

	"github.com/weft-rl/weft/engine/plugin"
)

// kind is the device that the tests run on: the binary of these tests can be carried to a machine
// with a GPU and run there with -device=cuda.
var kind = flag.String("device", "cpu", "the kind of device to test: cpu or cuda")

// TestMain has a CPU pretend to be several devices, which is asked for before the plugin is loaded.
func TestMain(m *testing.M) {
	flag.Parse()
	if *kind == string(plugin.CPU) && os.Getenv("XLA_FLAGS") == "" {
		os.Setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=3")
	}
	os.Exit(m.Run())
}

// shared is the one backend of all tests: a second client of a GPU would find its memory taken.
var shared = sync.OnceValues(func() (*Backend, error) {
	p, err := plugin.Find(plugin.Kind(*kind))
	if err != nil {
		return nil, err
	}
	return New(Options{Plugin: p})
})

func backend(t testing.TB) *Backend {
	t.Helper()
	b, err := shared()
	if err != nil {
		t.Fatal(err) // it says what to install
	}
	return b
}

// TestSuite runs upstream's conformance suite, whole.
func TestSuite(t *testing.T) { backendtest.RunAll(t, backend(t), nil) }

// TestSuiteSpread runs the same with all that is small written out, as on a GPU: products and
// reductions, and what has them inside. The rest of the suite is the same programs.
func TestSuiteSpread(t *testing.T) {
	b := spread(backend(t))
	t.Run("Functions", func(t *testing.T) { backendtest.TestFunctions(t, b) })
	t.Run("SpecialOps", func(t *testing.T) { backendtest.TestSpecialOps(t, b) })
	t.Run("FusedOps", func(t *testing.T) { backendtest.TestFusedOps(t, b) })
	t.Run("DotGeneral", func(t *testing.T) { backendtest.TestDotGeneral(t, b) })
}

// spread returns the backend with thin products and small reductions written out.
func spread(b *Backend) *Backend {
	out := &Backend{options: b.options, client: b.client}
	out.options.Spread = true
	return out
}
