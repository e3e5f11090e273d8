package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// interpreter returns the one whose packages are tested.
func interpreter() string {
	if p := os.Getenv("WEFT_BENCH_PYTHON"); p != "" {
		return p
	}
	return "python3"
}

// open starts peers for a test.
func open(t *testing.T, python string, peers []peer) field {
	t.Helper()
	f, err := startPeers(t.Context(), Options{Python: python}, peers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestPeersAgree: peers compute what the contenders in Go compute.
func TestPeersAgree(t *testing.T) {
	f := open(t, interpreter(), enginePeers)
	for _, a := range f.absent {
		t.Run(a.Name, func(t *testing.T) { t.Skipf("%s: %s", a.Why, a.Install) })
	}
	for _, c := range f.present {
		p := c.(*python)
		t.Run(p.peer.name+" "+p.path, func(t *testing.T) {
			for name, w := range small {
				w.Scaling = p.threads > 0
				if _, err := p.Prepare(t.Context(), Case{Spec: w}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				a, err := p.ask(t.Context(), request{Do: "values", Way: p.path})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				want := reference(t, w)
				if w.feeds() {
					want = want[:len(want)-1] // everyone keeps time in their own way
				}
				if err := near(pairs(a.Values), want); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				p.Release()
			}
		})
	}
}

func pairs(values [][]float64) (out [][2]float64) {
	for _, v := range values {
		out = append(out, [2]float64{v[0], v[1]})
	}
	return out
}

// TestPeersLearn: a peer that trains gets better at it; its episodes, which
// last 20 steps in the beginning, become longer.
func TestPeersLearn(t *testing.T) {
	peers := slices.DeleteFunc(slices.Clone(ppoPeers), func(p peer) bool { return p.name == "rlox" }) // which tells no lengths
	f := open(t, interpreter(), peers)
	for _, a := range f.absent {
		t.Run(a.Name, func(t *testing.T) { t.Skipf("%s: %s", a.Why, a.Install) })
	}
	for _, c := range f.present {
		p := c.(*python)
		t.Run(p.peer.name, func(t *testing.T) {
			if _, err := p.Prepare(t.Context(), recipeCase(16)); err != nil {
				t.Fatal(err)
			}
			length := 0.
			for range 40 {
				a, err := p.ask(t.Context(), request{Do: "values", Way: p.path})
				if err != nil {
					t.Fatal(err)
				}
				if length = a.Values[0][0]; length > 50 {
					return
				}
				if _, err := p.Measure(t.Context(), time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			t.Errorf("episodes still last %.0f steps", length)
		})
	}
}

// interpreterOf returns a program that is called like Python and does what a shell
// script says.
func interpreterOf(t *testing.T, script string) string {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(file, []byte("#!"+sh+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

var onePeer = []peer{{"p", "torch_engine.py", "pip install p", []way{{"eager", 0}}}}

func TestProcess(t *testing.T) {
	f := open(t, interpreterOf(t, `test -f "$1" || exit 1
echo '{"ready": "1.2"}'
while read -r line; do
	case $line in
	*prepare*) echo '{"calls": 1, "seconds": 0.25}';;
	*measure*) echo '{"calls": 4, "seconds": 0.5}';;
	*) echo '{"error": "RuntimeError: no"}';;
	esac
done`), onePeer)
	if len(f.present) != 1 || len(f.absent) != 0 {
		t.Fatalf("%d present, absent %v", len(f.present), f.absent)
	}
	p := f.present[0]
	if got, want := p.Label(), (Label{"p", "eager", "1.2"}); got != want {
		t.Errorf("label %v, want %v", got, want)
	}
	s, err := p.Prepare(t.Context(), recipeCase(4))
	if err != nil || s != (Sample{Calls: 1, Seconds: .25}) {
		t.Errorf("prepare: %v, %v", s, err)
	}
	if s, err = p.Measure(t.Context(), time.Second); err != nil || s != (Sample{Calls: 4, Seconds: .5}) {
		t.Errorf("measure: %v, %v", s, err)
	}
	if _, err = p.(*python).ask(t.Context(), request{Do: "values"}); err == nil || err.Error() != "RuntimeError: no" {
		t.Errorf("values: %v", err)
	}
}

func TestAbsent(t *testing.T) {
	for name, c := range map[string]struct{ python, why string }{
		"no interpreter": {filepath.Join(t.TempDir(), "none"), "no "},
		"no package":     {interpreterOf(t, `echo '{"absent": "No module named p"}'`), "No module named p"},
		"broken":         {interpreterOf(t, "echo first >&2; echo 'SyntaxError: what' >&2; exit 1"), "SyntaxError: what"},
		"talks nonsense": {interpreterOf(t, "echo hello"), "hello"},
	} {
		f := open(t, c.python, onePeer)
		if len(f.present) != 0 || len(f.absent) != 1 {
			t.Errorf("%s: %d present, absent %v", name, len(f.present), f.absent)
			continue
		}
		if a := f.absent[0]; !strings.Contains(a.Why, c.why) || !strings.Contains(a.Install, "pip install p") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestDeath: a process that ends is an error, a benchmark that is interrupted
// another, and neither leaves anything running.
func TestDeath(t *testing.T) {
	f := open(t, interpreterOf(t, `echo '{"ready": "1"}'; read -r line; echo killed >&2`), onePeer)
	if _, err := f.present[0].Prepare(t.Context(), recipeCase(4)); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("after its death: %v", err)
	}
	f.present[0].Release()

	ctx, stop := context.WithCancel(t.Context())
	f, err := startPeers(ctx, Options{Python: interpreterOf(t, `echo '{"ready": "1"}'; read -r line; exec cat`)}, onePeer)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := f.present[0].Prepare(ctx, recipeCase(4)); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interruption: %v", err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}
