package nn_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

const gamma = .9

// batch returns rewards and ends of 2 environments over time.
func batch(s *rl.Scope, time int, phase float64) (reward, done rl.Tensor, r []float32, d []bool) {
	r, d = wave(2*time, phase), make([]bool, 2*time)
	for i := range d {
		d[i] = i%4 == 2 || i%5 == 4
	}
	return rl.FromFlat(s, r, 2, time), rl.FromFlat(s, d, 2, time), r, d
}

func scaled(s *rl.Scope, r *nn.Returns) float64 {
	return eval(s, func(c *rl.Ctx, x []*node) []*node { return []*node{r.Scale(c, x[0])} }, rl.FromFlat(s, []float32{2}, 1))[0][0]
}

func TestReturns(t *testing.T) {
	s := scope(t)
	norm := nn.NewReturns(s, "returns", 2, gamma, 0)
	if x := scaled(s, norm); x != 2 {
		t.Errorf("before any update 2 becomes %g", x)
	}
	var all []float64
	running := make([]float64, 2)
	for i, time := range []int{5, 1, 8} {
		reward, done, r, d := batch(s, time, float64(i))
		norm.Update(reward, done)
		for e := range running {
			for k := range time {
				running[e] = gamma*running[e] + float64(r[e*time+k])
				all = append(all, running[e])
				if d[e*time+k] {
					running[e] = 0
				}
			}
		}
		_, variance := moments(all)
		near(t, "scaled", []float64{scaled(s, norm)}, []float64{2 / math.Sqrt(variance+1e-8)}, 1e-5)
	}
}

func TestReturnsClip(t *testing.T) {
	s := scope(t)
	norm := nn.NewReturns(s, "returns", 2, gamma, .5)
	reward, done, _, _ := batch(s, 4, 0)
	norm.Update(reward, done)
	near(t, "clipped", []float64{scaled(s, norm)}, []float64{.5}, 0)
}

// A loaded normaliser goes on as the saved one does.
func TestReturnsSave(t *testing.T) {
	s := scope(t)
	a := nn.NewReturns(s, "returns", 2, gamma, 0)
	reward, done, _, _ := batch(s, 4, 0)
	a.Update(reward, done)
	st := rl.NewState(s)
	s.Save(st)
	s2 := scope(t)
	b := nn.NewReturns(s2, "returns", 2, gamma, 0)
	if err := s2.Load(st); err != nil {
		t.Fatal(err)
	}
	update := func(s *rl.Scope, r *nn.Returns) []float64 {
		before := scaled(s, r)
		reward, done, _, _ := batch(s, 3, 5)
		r.Update(reward, done)
		return []float64{before, scaled(s, r)}
	}
	if x, y := update(s, a), update(s2, b); !reflect.DeepEqual(x, y) {
		t.Errorf("saved %v, loaded %v", x, y)
	}
	s3 := scope(t)
	nn.NewReturns(s3, "returns", 3, gamma, 0)
	if err := s3.Load(st); err == nil || !strings.Contains(err.Error(), "running") {
		t.Errorf("loading for other environments: %v", err)
	}
	if a.Axis() != rl.Envs {
		t.Errorf("axis %s", a.Axis())
	}
}

// TestReturnsInPart: environments whose rewards come apart are each followed as if they
// were alone.
func TestReturnsInPart(t *testing.T) {
	s := scope(t)
	norm := nn.NewReturns(s, "returns", 2, gamma, 0)
	var all []float64
	running := make([]float64, 2)
	for i, e := range []int{0, 0, 1, 0, 1, 1} {
		const time = 4
		r, d := wave(time, float64(i)), make([]bool, time)
		d[i%time] = i > 0
		norm.Narrow([]rl.Span{{Lo: e, Hi: e + 1, Of: 2}})
		norm.Update(rl.FromFlat(s, r, 1, time), rl.FromFlat(s, d, 1, time))
		norm.Widen()
		for k := range time {
			running[e] = gamma*running[e] + float64(r[k])
			all = append(all, running[e])
			if d[k] {
				running[e] = 0
			}
		}
		_, variance := moments(all)
		near(t, "scaled", []float64{scaled(s, norm)}, []float64{2 / math.Sqrt(variance+1e-8)}, 1e-5)
	}
}
