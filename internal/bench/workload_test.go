package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
)

// small are workloads of every kind, quickly done.
var small = map[string]Workload{
	"forward":  cartPole(5, "forward"),
	"gradient": cartPole(9, "gradient"),
	"relu":     mlp([]int{17, 32, 6}, "relu", 8, "gradient"),
	"adam":     mlp([]int{17, 32, 6}, "relu", 8, "adam"),
	"cnn":      cnn(1),
	"product":  product(37),
}

// digest returns what outputs are compared by: the sum of magnitudes, and a sum with
// weights. Its twin is in peers/work.py.
func digest(x []float32) (d [2]float64) {
	for i, w := range (Input{Dims: []int{len(x)}, Scale: 1}).values(0) {
		d[0] += math.Abs(float64(x[i]))
		d[1] += float64(x[i]) * float64(w)
	}
	return d
}

// digests runs a workload once.
func digests(t testing.TB, w Workload, b compute.Backend, path string) (out [][2]float64) {
	t.Helper()
	p, err := w.compile(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for _, o := range p.(computation).outputs() {
		out = append(out, digest(flat(t, o)))
	}
	return out
}

func flat(t testing.TB, b compute.Buffer) []float32 {
	t.Helper()
	s, err := b.Shape()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, s.Size())
	if err := b.ToFlatData(x); err != nil {
		t.Fatal(err)
	}
	return x
}

func openGo(int) (compute.Backend, error) { return gobackend.New("ops_sequential") }

// reference returns what GoMLX's Go backend makes of a workload.
func reference(t testing.TB, w Workload) [][2]float64 {
	b, err := openGo(0)
	if err != nil {
		t.Fatal(err)
	}
	return digests(t, w, b, pathExecute)
}

// near compares digests, relative to the magnitude of what they are digests of.
func near(got, want [][2]float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for i := range want {
		for j := range want[i] {
			if d := math.Abs(got[i][j] - want[i][j]); !(d <= 1e-4*want[i][0]) {
				return fmt.Errorf("output %d: digest %v, want %v", i, got[i], want[i])
			}
		}
	}
	return nil
}

func TestNear(t *testing.T) {
	want := [][2]float64{{2, .1}}
	if err := near([][2]float64{{2.0001, .1}}, want); err != nil {
		t.Error(err)
	}
	for _, bad := range [][][2]float64{nil, {{2, .2}}, {{math.NaN(), .1}}} {
		if near(bad, want) == nil {
			t.Errorf("%v passes for %v", bad, want)
		}
	}
}

// TestAgree: every contender in Go computes the same.
func TestAgree(t *testing.T) {
	ways := []struct {
		name, path string
		open       func(int) (compute.Backend, error)
		threads    int
	}{
		{"weft", pathLean, openEngine, 0}, {"weft", pathLean, openEngine, 1}, {"weft", pathLean, openEngine, 2},
		{"weft", pathExecute, openEngine, 0}, {"weft", pathExec, openEngine, 0}, {"go", pathExec, openGo, 0},
	}
	if open, why := otherBackend(t.Context(), "xla", interpreter()); why == nil {
		x := ways[3]
		x.name, x.open = "xla", open
		ways = append(ways, x)
	} else {
		t.Logf("without xla: %s", why.Why)
	}
	for name, w := range small {
		want := reference(t, w)
		for _, x := range ways {
			b, err := x.open(x.threads)
			if err != nil {
				t.Fatal(err)
			}
			if err := near(digests(t, w, b, x.path), want); err != nil {
				t.Errorf("%s: %s through %s, %d threads: %v", name, x.name, x.path, x.threads, err)
			}
		}
	}
}

// TestGradient: moved along the signs of a gradient, one input at a time, the
// loss changes as the gradient says.
func TestGradient(t *testing.T) {
	for _, name := range []string{"gradient", "relu", "cnn"} {
		w := small[name]
		b, err := openEngine(0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.compile(b, pathExecute)
		if err != nil {
			t.Fatal(err)
		}
		x := p.(*execute)
		if err := x.Run(); err != nil {
			t.Fatal(err)
		}
		var grads [][]float32
		for _, o := range x.outs {
			grads = append(grads, flat(t, o))
		}
		for i := 1; i < len(x.inputs); i++ {
			kept, value := x.inputs[i], flat(t, x.inputs[i])
			// So far that the loss changes by a hundredth or so.
			eps := .01 * float64(grads[0][0]) / digest(grads[i])[0]
			want, change := 0., 0.
			for _, sign := range []float32{1, -1} {
				moved := make([]float32, len(value))
				for j, g := range grads[i] {
					step := float32(math.Copysign(eps, float64(g))) * sign
					moved[j] = value[j] + step
					want += math.Abs(float64(g)) * math.Abs(float64(moved[j]-value[j]))
				}
				s, err := kept.Shape()
				if err != nil {
					t.Fatal(err)
				}
				if x.inputs[i], err = b.BufferFromFlatData(0, moved, s); err != nil {
					t.Fatal(err)
				}
				if err := x.Run(); err != nil {
					t.Fatal(err)
				}
				change += float64(sign) * float64(flat(t, x.outs[0])[0])
			}
			x.inputs[i] = kept
			if math.Abs(change-want) > .02*want {
				t.Errorf("%s, input %d: the loss changes by %v, want %v", name, i, change, want)
			}
		}
		p.Close()
	}
}

// TestFeeds: Adam's state goes from one run to the next, on every path alike.
func TestFeeds(t *testing.T) {
	w := small["adam"]
	for _, path := range []string{pathLean, pathExecute} {
		b, err := openEngine(0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.compile(b, path)
		if err != nil {
			t.Fatal(err)
		}
		for run := range 3 {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			outs := p.(computation).outputs()
			if clock := flat(t, outs[len(outs)-1])[0]; int(clock) != run+1 {
				t.Errorf("%s: Adam's clock is %v after run %d", path, clock, run+1)
			}
		}
		p.Close()
	}
}

func TestFLOP(t *testing.T) {
	for _, c := range []struct {
		w    Workload
		want float64
	}{
		{cartPole(10, "forward"), 2 * 10 * (4*64 + 64*64 + 64*2)},
		{cartPole(10, "gradient"), 6 * 10 * (4*64 + 64*64 + 64*2)},
		{product(100), 2e6},
		{cnn(2), 6 * 2 * (400*32*256 + 81*64*512 + 49*64*576 + 3136*512 + 512*6)},
	} {
		if got := c.w.FLOP(); got != c.want {
			t.Errorf("%s: %v, want %v", c.w.Kind, got, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	x := Input{Dims: []int{1000}, Scale: 2}.values(3)
	sum, lo, hi := 0., 0., 0.
	for _, v := range x {
		sum, lo, hi = sum+float64(v), min(lo, float64(v)), max(hi, float64(v))
	}
	if lo < -1 || hi > 1 || lo > -.9 || hi < .9 || math.Abs(sum) > 60 {
		t.Errorf("from %v to %v with sum %v", lo, hi, sum)
	}
}

// TestParts: a contender that is told its threads takes no part elsewhere, nor
// any other where threads are told.
func TestParts(t *testing.T) {
	w := small["forward"]
	for _, c := range []struct {
		scaling bool
		threads int
		part    bool
	}{{false, 0, true}, {false, 1, false}, {true, 0, false}, {true, 2, true}} {
		w.Scaling = c.scaling
		_, err := gomlx("weft", pathLean, c.threads, openEngine).Prepare(t.Context(), Case{Spec: w})
		if (err == nil) != c.part || err != nil && !errors.Is(err, errNoPart) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// BenchmarkEngine measures the cases of weft bench engine --quick for the contenders
// in this process, for benchstat.
func BenchmarkEngine(b *testing.B) {
	var absent []Absence
	contenders := goContenders(context.Background(), Options{Python: interpreter()}, &absent)
	for _, c := range engineCases(true) {
		for _, x := range contenders {
			p, err := x.(*inProcess).make(context.Background(), c)
			if errors.Is(err, errNoPart) {
				continue
			}
			b.Run(c.ID+"/"+x.Label().Name+"-"+x.Label().Path, func(b *testing.B) {
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := p.Run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(c.Work*float64(b.N)/b.Elapsed().Seconds(), c.Unit)
			})
			if err == nil {
				p.Close()
			}
		}
	}
}

// computation is a program whose results can be looked at.
type computation interface{ outputs() []compute.Buffer }

func (l *lean) outputs() []compute.Buffer {
	return l.calls[(l.next+len(l.calls)-1)%len(l.calls)].Outputs()
}

func (x *execute) outputs() []compute.Buffer { return x.outs }

func (x *viaExec) outputs() (out []compute.Buffer) {
	for _, o := range x.outs {
		if b, err := o.Buffer(x.backend, 0); err == nil {
			out = append(out, b)
		}
	}
	return out
}
